# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A test that is asked whether it notices something, as a child that may take so long: a change can make it run for ever."""
import os
import resource
import signal
import subprocess

MUTE = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}


def passes(words, seconds, processor_seconds, **more):
    """False: it failed, or was too slow. Each of its processes has processor_seconds: Check gives each test a group of its own, which
    killing the program would leave behind."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(words, start_new_session=True, preexec_fn=limit, **MUTE, **more) as child:
        try:
            return child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return False
