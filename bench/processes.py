# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a command costs with all that it starts, processes that go on for a moment after it included."""
import collections
import ctypes
import os
import resource
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36

# Seconds of the clock until the command ends, seconds of processors of all, what it answered: exit code and output.
Cost = collections.namedtuple("Cost", "clock cpu answer")


def adopt():
    """Processes whose parent has gone are ours from now on. False: that cannot be had here."""
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def cost(argv):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    clock = time.monotonic() - begun
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, (done.returncode, done.stdout))
