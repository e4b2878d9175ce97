# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Indexed Job without a cluster: its manifest against the schemas of Kubernetes, and its container's command with each index, one of
which is killed and begun again, as the Job would."""
import glob
import os
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from lib_cli import CUVET, ROOT, cuvet, equal, main, package, read, samples, scratch, test, write  # noqa: E402

import kubernetes_validate  # noqa: E402
import yaml  # noqa: E402

MANIFEST = os.path.join(ROOT, "contrib", "scale", "cuvet-job.yaml")


def manifest():
    with open(MANIFEST, encoding="utf-8") as file:
        made, = yaml.safe_load_all(file)
    return made


@test
def fits_the_schemas():
    made = manifest()
    for version in ("1.29", "1.30", "1.31"):
        kubernetes_validate.validate(made, version, strict=True)
    made["spec"]["completionsMode"] = made["spec"].pop("completionMode")
    try:
        kubernetes_validate.validate(made, "1.29", strict=True)
    except kubernetes_validate.ValidationError:
        return
    raise AssertionError("a manifest with a wrong word passed")


def container():
    one, = manifest()["spec"]["template"]["spec"]["containers"]
    return one


@test
def the_parts_are_those_of_the_job():
    spec, args = manifest()["spec"], container()["args"]
    equal(int(args[args.index("--shards") + 1]), spec["completions"], "--shards")
    assert args[args.index("--jobs") + 1] == container()["resources"]["requests"]["cpu"], "processors"


def start(folder, index, command):
    """The command of the container, with the volume at another place, and what Kubernetes sets."""
    argv = [word.replace("/data", folder) for word in container()["command"] + container()["args"]]
    equal(argv[:3], ["python3", "-m", "cuvet.shard"], "the runner")
    return subprocess.Popen([sys.executable, *argv[1:]], env=dict(os.environ, CUVET=command, JOB_COMPLETION_INDEX=str(index)),
                            stderr=subprocess.DEVNULL)


@test
def every_index_and_one_killed():
    multi, folder = read("multi.fatbin"), scratch()
    names = samples() + [write(multi * 150) for _ in range(8)] + [package(**{"a.fatbin": multi}), os.path.join(folder, "not-there")]
    listed = write(b"".join(os.fsencode(name) + b"\n" for name in names), "list", folder)
    slow = os.path.join(folder, "slow")
    with open(slow, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\n[ "$1" = --version ] || sleep 0.5\nexec "%s" "$@"\n' % CUVET)
    os.chmod(slow, 0o755)
    first = start(folder, 0, slow)
    end = time.monotonic() + 60
    while not glob.glob(os.path.join(folder, "results", "attempts", "*", "*")) and time.monotonic() < end:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    equal(first.wait(60), -signal.SIGKILL, "the first pod")
    for index in range(manifest()["spec"]["completions"]):
        equal(start(folder, index, CUVET).wait(120), 0, "index %d" % index)
    report = os.path.join(folder, "report")
    one = cuvet("scan", "--format=ndjson", "--files-from", listed)
    merge = [sys.executable, "-m", "cuvet.shard", "merge", "--files-from", listed, "--out", os.path.join(folder, "results"), "-o", report]
    equal(subprocess.run(merge, check=False).returncode, one.rc, "merge")
    with open(report, "rb") as file:
        equal(file.read(), one.raw, "the report")


main()
