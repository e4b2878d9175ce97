# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An array of Slurm on two nodes, which are two slurmd of this machine; one of them is killed in the middle with all that runs on it.
The report is that of one process. Needs root and slurm-wlm with munge; the daemons live in a folder of their own and end with the test."""
import getpass
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from lib_cli import CUVET, ROOT, cuvet, equal, main, package, read, samples, scratch, test, write  # noqa: E402

SCRIPT = os.path.join(ROOT, "contrib", "scale", "cuvet-array.sbatch")
RUNNER = os.path.join(ROOT, "python", "src", "cuvet", "shard.py")
CONFIG = """ClusterName=cuvettest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=300
SchedulerParameters=batch_sched_delay=0,sched_interval=2,requeue_delay=1
BatchStartTimeout=20
NodeName=first NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=2 State=UNKNOWN
NodeName=second NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


class Cluster:
    """munged, slurmctld and two slurmd, by hand."""

    def __init__(self):
        self.folder, self.processes = scratch(), {}
        os.chmod(self.folder, 0o755)
        for name in ("munge", "state", "spool-first", "spool-second"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        ctld, one, two = ports(3)
        host = socket.gethostname().split(".")[0]
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=self.folder, host=host, ctld=ctld, one=one, two=two))
        self.env = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        self.start("munged", "munged", "-F", "-f", "--key-file", self.key(), "--socket", self.path("munge/socket"),
                   "--pid-file", self.path("munge/pid"), "--log-file", self.path("munge/log"), "--seed-file", self.path("munge/seed"))
        self.wait(lambda: os.path.exists(self.path("munge/socket")), "munged")
        self.start("slurmctld", "slurmctld", "-D", "-c", "-f", self.path("slurm.conf"))
        for node in ("first", "second"):
            self.node(node)
        self.wait(lambda: self.ask("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"], "two nodes")

    def path(self, name):
        return os.path.join(self.folder, name)

    def key(self):
        with open(os.open(self.path("munge/key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(128))
        return self.path("munge/key")

    def start(self, name, *argv):
        with open(self.path(name + ".out"), "ab") as out:
            self.processes[name] = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                    start_new_session=True)

    def node(self, name):
        self.start(name, "slurmd", "-D", "-N", name, "-f", self.path("slurm.conf"))

    def ask(self, *argv):
        told = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        return told.stdout.strip()

    def wait(self, ready, what, seconds=120):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                raise AssertionError("%s: not in %d seconds\n%s" % (what, seconds, self.logs()))
            time.sleep(0.2)

    def logs(self):
        told = []
        for path in sorted(glob.glob(self.path("*.log")) + glob.glob(self.path("*.out"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                told.append("== %s\n%s" % (os.path.basename(path), file.read()[-1500:]))
        return "\n".join(told)

    def tree(self, pid):
        """This process and those that come from it, and steps of its node, which are no children of it."""
        parents, found = {}, {pid}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                        parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        for _ in range(len(parents)):
            more = {child for child, parent in parents.items() if parent in found} - found
            if not more:
                break
            found |= more
        return found

    def kill_node(self, name):
        """As if the machine had lost its power: slurmd, the steps, the runner and the command, all at once."""
        steps = self.steps(name)
        pids = self.tree(self.processes[name].pid)
        for step in steps:
            pids |= self.tree(step)
        # All stand still before the first one dies: nobody is left to say so.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        self.processes.pop(name).wait()
        return steps

    def steps(self, name):
        """What runs for jobs on this node: processes that Slurm told its name and our configuration, and slurmstepd above them."""
        found = set()
        for entry in os.listdir("/proc"):
            try:
                with open("/proc/%s/environ" % entry, "rb") as file:
                    environ = file.read().split(b"\0")
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if b"SLURMD_NODENAME=" + name.encode() not in environ or \
                    b"SLURM_CONF=" + self.path("slurm.conf").encode() not in environ:
                continue
            found.add(int(entry))
            with open("/proc/%d/comm" % parent, encoding="utf-8") as file:
                if file.read().startswith("slurmstepd"):
                    found.add(parent)
        return found

    def end(self):
        for name in ("first", "second"):
            if name in self.processes:
                self.kill_node(name)
        for process in self.processes.values():
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def slow(seconds, folder):
    path = os.path.join(folder, "slow-cuvet")
    with open(path, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\n[ "$1" = --version ] || sleep %g\nexec "%s" "$@"\n' % (seconds, CUVET))
    os.chmod(path, 0o755)
    return path


def inputs():
    multi = read("multi.fatbin")
    wheel = package(**{"a.fatbin": multi, "b.txt": b"text"})
    hostile = sorted(glob.glob(os.path.join(ROOT, "corpus", "hostile", "CV-FATBIN-0*")))[:12]
    # Larger than what goes together: one call each.
    large = [write(multi * (150 + i)) for i in range(8)]
    return samples()[:10] + hostile + large + [wheel, os.path.join(scratch(), "not-there"), write(b"")]


def results(out):
    return len(glob.glob(os.path.join(out, "results", "*", "*.ndjson")))


class Array:
    """An array of four tasks over the inputs, by the script that is shipped."""

    def __init__(self, cluster):
        self.cluster, self.names, self.where = cluster, inputs(), scratch()
        self.out = os.path.join(self.where, "out")
        self.listed = write(b"".join(os.fsencode(name) + b"\n" for name in self.names), "list", self.where)
        self.job = self.submit()

    def submit(self):
        env = dict(self.cluster.env, CUVET=slow(1.5, self.where), CUVET_RUNNER="%s %s" % (sys.executable, RUNNER),
                   CUVET_LIST=self.listed, CUVET_OUT=self.out, CUVET_SHARDS="4", CUVET_ARGUMENTS="--jobs 1")
        told = subprocess.run(["sbatch", "--parsable", "--array=0-3", "--cpus-per-task=1", "--output=%s/job-%%a.log" % self.where,
                               "--export=ALL", SCRIPT], env=env, capture_output=True, text=True, timeout=60, check=False)
        equal(told.returncode, 0, told.stderr)
        return told.stdout.strip()

    def wait_for_some(self):
        self.cluster.wait(lambda: results(self.out) >= 2, "some results")
        equal("second" in self.cluster.ask("squeue", "-h", "-r", "-t", "R", "-o", "%N").split(), True, "the second node works")

    def wait_for_all(self):
        self.cluster.wait(lambda: not self.cluster.ask("squeue", "-h", "-r", "-j", self.job, "-t", "PD,R,CF,CG", "-o", "%i"),
                          "the array", 240)

    def shown(self):
        return self.cluster.ask("scontrol", "show", "job", self.job)

    def merge(self):
        return subprocess.run([sys.executable, RUNNER, "merge", "--files-from", self.listed, "--out", self.out, "-o",
                               os.path.join(self.where, "merged")], capture_output=True, timeout=120, check=False).returncode

    def check_report(self):
        one = cuvet("scan", "--format=ndjson", "--files-from", self.listed)
        equal(self.merge(), one.rc, "exit code of the merge")
        with open(os.path.join(self.where, "merged"), "rb") as file:
            equal(file.read(), one.raw, "the report")


@test
def a_killed_node_loses_no_file():
    cluster = Cluster()
    try:
        node_that_dies(cluster)
        cluster.node("second")
        cluster.wait(lambda: cluster.ask("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"], "two nodes")
        task_that_dies(cluster)
    finally:
        cluster.end()


def node_that_dies(cluster):
    """Slurm has its tasks begun again on the node that is left."""
    array = Array(cluster)
    array.wait_for_some()
    steps = cluster.kill_node("second")
    done = results(array.out)
    assert len(steps) >= 6 and done < len(array.names), "%d processes of steps were killed, %d results" % (len(steps), done)
    cluster.wait(lambda: cluster.ask("sinfo", "-h", "-n", "second", "-o", "%T").startswith("down"), "the node is seen to be down")
    array.wait_for_all()
    assert "Restarts=1" in array.shown(), "no task was requeued:\n" + array.shown()
    array.check_report()
    print("slurm: %d inputs, %d done when the node was killed with %d processes" % (len(array.names), done, len(steps)))


def task_that_dies(cluster):
    """The node lives: Slurm says that the task failed, the merge refuses, the same array once more does what is left."""
    array = Array(cluster)
    array.wait_for_some()
    runners = [pid for pid in cluster.steps("second") if pid not in cluster.tree(cluster.processes["second"].pid) and
               runs_runner(pid)]
    assert runners, "no runner on the second node"
    for pid in runners:
        os.kill(pid, signal.SIGKILL)
    array.wait_for_all()
    equal(array.merge(), 8, "a merge without all results")
    array.job = array.submit()
    array.wait_for_all()
    array.check_report()


def runs_runner(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return RUNNER.encode() in file.read()
    except OSError:
        return False


if getpass.getuser() != "root" or not all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "munged")):
    print("SKIPPED: slurm: needs root, slurm-wlm and munge")
    sys.exit(77)
# Told to end, it ends the daemons as well.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
main()
