# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cage: what dies in it, what is refused, what still works, and what the command says about it.

tests/programs/cage_probe.c enters it by the code of the command and tries one thing; the tables here say how that has to end."""
import errno
import functools
import os
import re
import resource
import signal
import socket
import subprocess
import time

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, ROOT, USAGE, Skip, bad_container, cuvet, equal, main, read, sample, scratch,
                     test, write)

PROBE = os.path.join(os.environ.get("CV_BUILD") or os.path.dirname(CUVET), "tests", "cage_probe")
FULL = re.compile(r"^seccomp, landlock abi [1-9]\d*, rlimits$")
DIES, OK = "dies", "ok"
INTERNAL, SANDBOX = 5, 6


def state():
    return cuvet("--version").out.splitlines()[-1].split(": ", 1)[1]


def need(*tiers):
    """Skip, and say so, where the build or the kernel has no such tier."""
    s = state()
    if not all(t in s.split(";")[0] for t in tiers or ("seccomp", "landlock", "rlimits")):
        raise Skip("sandbox: " + s)


def attempt(mode, name, *more, deny=None, stdout=subprocess.DEVNULL):
    argv = [PROBE, "deny", deny] if deny else []
    mine = scratch()  # what nothing stops is made there, also by a name without a folder
    p = subprocess.run(argv + [PROBE, mode, name, *more], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE,
                       timeout=60, check=False, cwd=mine, env=dict(os.environ, CV_TMP=mine))
    if p.returncode < 0:
        return DIES if -p.returncode == signal.SIGSYS else "signal %d" % -p.returncode
    if p.returncode != 0:
        return "exit %d" % p.returncode
    said = p.stderr.decode().strip()
    return said if said == OK else errno.errorcode[int(said)]


# attempt: how it ends, in every cage or in (plain, with threads, with a channel for inputs)
WORKS = {
    "nothing": OK, "write_stdout": OK, "random": OK, "clock": OK, "memory": OK, "guard_page": OK,
    "fstat": OK, "signal_itself": OK, "processors": OK, "advise": OK, "is_terminal": "ENOTTY",
    "thread": (DIES, OK, DIES),
    "receive": (DIES, DIES, OK), "receive_other": DIES,
}
REFUSED = {
    "memory_beyond": "ENOMEM", "inherited": "EBADF", "write_input": "EBADF",
    "open_read": "EACCES", "open_path": "EACCES", "own_memory_read": "EACCES", "reopen_directory": "EACCES",
    "stat_name": "EACCES", "stat_open_file": "EACCES", "stat_empty_path": "EACCES", "stat_empty_path_of_process": "EACCES",
    "clone3": "ENOSYS", "statx": "ENOSYS", "statx_open_file": "ENOSYS", "unknown": "ENOSYS",
}
FORBIDDEN = """
    socket socket_unix socket_netlink socketpair connect connect_tcp bind sendmsg
    execve execveat fork new_user_space unshare setns
    ptrace ptrace_parent process_vm_readv kill_parent kill_itself tgkill_parent pidfd_open wait
    open_write open_both open_create open_truncate open_unnamed openat2 open_handle
    readlink list_directory unlink mkdir rename link symlink mknod chmod chown truncate chdir chroot mount
    mmap_exec mmap_file mprotect_exec pkey_mprotect shm memfd personality
    undo_no_new_privs dumpable another_filter raise_limit
    type_into_terminal duplicate duplicate_fcntl own_signal_io pipe
    set_user capabilities io_uring bpf userfaultfd perf keys module kexec settime poll
    no_such_number x32
    reopen_input own_memory shared_memory_file execute_file
    statfs_open_file attribute_read process_vm_writev take_descriptor compare_processes queue_signal
    limits_of_parent processors_of_parent session old_ring new_mount mount_tree ruleset poison_page
    inotify fanotify lock_file set_lease set_flags control_file clone_file console_type
    copy_between_files sendfile splice
""".split()


def expected():
    table = {name: (how if isinstance(how, tuple) else (how,) * 3) for name, how in {**WORKS, **REFUSED}.items()}
    table.update({name: (DIES,) * 3 for name in FORBIDDEN})
    return table


@test
def what_happens_inside():
    need()
    got = {name: tuple(attempt(mode, name) for mode in ("plain", "threads", "channel")) for name in expected()}
    equal({k: v for k, v in got.items() if v != expected()[k]}, {}, "different from the table")
    # Another table of system calls: filtered, or not there at all.
    assert attempt("plain", "int80") in (DIES, "signal %d" % signal.SIGSEGV), "int80"


@test
def the_table_has_every_attempt():
    with open(os.path.join(ROOT, "tests", "programs", "cage_probe.c"),
              encoding="utf-8") as f:
        names = set(re.findall(r"\bTRY\((\w+),", f.read())) - {"id"}
    tried = set(expected()) | set(below()) | {"int80", "write_beyond"}
    equal(sorted(names ^ tried), [], "in one place only")


# Attempts in a cage that may write files, where a descriptor of their directory was left open. Columns: all tiers, no
# seccomp, no Landlock, neither. The last one is what shows that an attempt is one: it works where nothing stops it.
TIERS = (None, "seccomp", "landlock", "landlock,seccomp")
BY_NAME = """
    save_above save_absolute save_over save_elsewhere open_old_write replace_old move_out move_in remove_old remove_beside
    link_below mkdir_below symlink_below mknod_below create_executable create_plain mkdir_executable
""".split()
BY_DESCRIPTOR = """
    access_below list_below chdir_below chmod_output chmod_below touch_output touch_below truncate_output sync_output
    write_at pass_directory_out
""".split()
# Whether they work where nothing stops them depends on the kernel or the file system.
DEPENDS = """
    create_unnamed_below openat2_below openat2_beneath openat2_in_root access2_below chmod2_below chmod2_output chown_below
    attribute_output readlink_below map_output link_output watch_directory name_to_handle punch_hole collapse room_upper_half
""".split()
NOT_RUN = "not run"
OF_FILES = {
    "save": (OK,) * 4, "save_draft": (OK,) * 4, "write_output": (OK,) * 4, "room": (OK,) * 4,
    "read_output": ("EBADF",) * 4, "receive_from_porter": ("EAGAIN",) * 4,
    "open_old_read": ("EACCES", "EACCES", "EACCES", OK), "reopen_output": ("EACCES", "EACCES", "EACCES", OK),
    "stat_empty_path_below": ("EACCES", OK, "EACCES", OK), "stat_upper_half": ("EACCES", OK, "EACCES", OK),
    "statx_below": ("ENOSYS", NOT_RUN, "ENOSYS", NOT_RUN),
    "standard_input": (OK,) * 4, "standard_input_write": (OK,) * 4,  # /dev/null
    "open_write": (DIES, "EACCES", DIES, NOT_RUN), "open_read": ("EACCES", "EACCES", "EACCES", OK),
    "execve": (DIES, "EACCES", DIES, NOT_RUN), "socket": (DIES, OK, DIES, OK), "thread": (DIES, OK, DIES, OK),
    "connect_tcp": (DIES, "EACCES", DIES, NOT_RUN), "kill_parent": (DIES, "EPERM", DIES, OK),
}
SINCE = {"connect_tcp": 4, "kill_parent": 6}  # ABI of Landlock; before it, nothing stands in for seccomp


def below():
    table = {name: (DIES, "EACCES", DIES, OK) for name in BY_NAME}
    table.update({name: (DIES, OK, DIES, OK) for name in BY_DESCRIPTOR})
    table.update({name: (DIES, NOT_RUN, DIES, NOT_RUN) for name in DEPENDS})
    return {**table, **OF_FILES}


def attempt_below(name, deny):
    """@return how it ended, and what has changed in the directory and above it."""
    above = scratch()
    d = os.path.join(above, "out")
    os.mkdir(d)
    os.chmod(write(b"old", "old", d), 0o640)
    write(b"beside", "beside", above)
    before = os.stat(os.path.join(d, "old"))
    with open(os.path.join(scratch(), "report"), "wb") as report:
        got = attempt("files", name, d, deny=deny, stdout=report)
    changed = sorted(set(os.listdir(above)) ^ {"beside", "out"}) + sorted(set(os.listdir(d)) ^ {"old"})
    if "old" not in changed:
        after = os.stat(os.path.join(d, "old"))
        if (after.st_mode, after.st_mtime_ns, after.st_nlink, after.st_uid) != (before.st_mode, before.st_mtime_ns, 1,
                                                                             before.st_uid):
            changed.append("attributes of old")
        if open(os.path.join(d, "old"), "rb").read() != b"old":
            changed.append("content of old")
    modes = {os.stat(os.path.join(d, f)).st_mode & 0o7111 for f in os.listdir(d) if os.path.isfile(os.path.join(d, f))}
    return got, changed + (["executable files"] if modes - {0} else [])


MADE = {"save": ["0000-file.sm_90.cubin"], "save_draft": ["made"]}


@test
def files_and_their_directory():
    """Each tier alone: what the other one is for when a kernel lacks it. Nothing here gets worse than that."""
    need()
    wrong, abi = {}, int(re.search(r"abi (\d+)", state()).group(1))
    for name, want in below().items():
        if abi < SINCE.get(name, 0):
            continue
        for deny, end in zip(TIERS, want):
            if end == NOT_RUN:
                continue
            got, changed = attempt_below(name, deny)
            harmless = deny is None or end != OK or name in MADE
            if got != end or (harmless and changed != MADE.get(name, [])):
                wrong[name, deny] = (got, changed)
    equal(wrong, {}, "different from the table")


@test
def reports_that_go_to_a_file_have_an_end():
    need("rlimits")
    with open(os.path.join(scratch(), "report"), "wb") as f:
        equal(attempt("plain", "write_beyond", stdout=f), "EFBIG", "behind the largest size")
        equal(attempt("plain", "write_stdout", stdout=f), OK, "before it")
    equal(attempt("plain", "write_stdout", stdout=subprocess.PIPE), OK, "a pipe")


# ---- the command ----


@functools.lru_cache(maxsize=1)
def big():
    """Bytes that take a scan some seconds, and little place: now and then one that is no hole, which would be passed over."""
    path = os.path.join(scratch(), "bytes")
    with open(path, "wb", 0) as f:
        f.truncate(6 << 30)
        for at in range(0, 6 << 30, 200 << 10):
            os.pwrite(f.fileno(), b"x", at)
    return path


def status(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def limits(pid):
    with open("/proc/%d/limits" % pid, encoding="ascii") as f:
        return {line[:26].strip(): line[26:].split()[:2] for line in f.readlines()[1:]}


def descriptors(pid):
    found = {}
    for n in os.listdir("/proc/%d/fd" % pid):
        try:
            found[int(n)] = os.readlink("/proc/%d/fd/%s" % (pid, n))
        except FileNotFoundError:  # closed by now: the process goes on while we look
            pass
    return found


def caged(p):
    for _ in range(500):
        if p.poll() is not None:
            raise AssertionError("it ended before it could be looked at: %d" % p.returncode)
        if status(p.pid).get("Seccomp") == "2":
            return
        time.sleep(0.01)
    raise AssertionError("it never entered the cage")


def end(p):
    p.kill()
    p.communicate()


@test
def the_running_command_is_caged():
    need()
    path, (r, w) = big(), os.pipe()
    for args in (["scan"], ["scan", "-j3"], ["list"], ["map"], ["dump"], ["unpack", "-d", scratch()]):
        p = subprocess.Popen([CUVET, *args, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, pass_fds=(r, w))
        try:
            caged(p)
            s, l, fds = status(p.pid), limits(p.pid), descriptors(p.pid)
            equal((s["NoNewPrivs"], s["Seccomp"]), ("1", "2"), " ".join(args))
            out = 1 if args[0] == "unpack" else 0
            equal(fds[0], "/dev/null", "standard input")
            kept = sorted(v.split(":")[0] for k, v in fds.items() if k > 2)
            equal(kept, sorted([path] + ["socket"] * out), "descriptors of " + args[0])
            equal(l["Max core file size"], ["0", "0"], "core")
            free = next(n for n in range(1000) if n not in fds)
            equal(l["Max open files"], [str(out and free + 1)] * 2, "open files of " + args[0])
            equal(l["Max file size"] == ["0", "0"], not out, "file size of " + args[0])
            for name in ("Max address space", "Max cpu time"):
                assert "unlimited" not in l[name], (name, l[name])
        finally:
            end(p)
    os.close(r)
    os.close(w)


@test
def the_state_is_told():
    s = state()
    with_notes = cuvet("scan", "--notes", sample("multi.fatbin")).out.splitlines()
    equal(with_notes[-1], "sandbox: " + s, "text")
    v, = cuvet("scan", "--format=ndjson", sample("multi.fatbin")).objects("verdict")
    equal(v["sandbox"], s, "ndjson")
    v, = cuvet("list", "--format=ndjson", sample("multi.fatbin")).objects("verdict")
    equal(v["sandbox"], s, "list")
    v, = cuvet("scan", "--no-sandbox", "--format=ndjson", sample("multi.fatbin")).objects("verdict")
    equal(v["sandbox"], "off (--no-sandbox)", "switched off")
    equal(subprocess.run([PROBE, "state"], capture_output=True, text=True, check=False).stdout, s + "\n", "probe")
    assert FULL.match(s) or "; missing: " in s or s == "off (sanitizer build)", s


@test
def without_a_sandbox():
    path = big()
    p = subprocess.Popen([CUVET, "scan", "--no-sandbox", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    try:
        time.sleep(0.3)
        equal((p.poll(), status(p.pid)["Seccomp"]), (None, status(os.getpid())["Seccomp"]), "while it runs")
    finally:
        end(p)
    equal(cuvet("scan", "--no-sandbox", write(bad_container())).rc, FINDINGS, "exit")


@test
def one_that_is_required():
    good = sample("multi.fatbin")
    s = state()
    for args in (["scan"], ["list"], ["map"], ["dump"], ["unpack", "-d", scratch()]):
        r = cuvet(*args, "--sandbox=required", good)
        equal(r.rc, CLEAN if FULL.match(s) else SANDBOX, " ".join(args))
        equal(cuvet(*args, "--sandbox=auto", "--force" if args[0] == "unpack" else "--limits=strict", good).rc, CLEAN,
              "auto: " + " ".join(args))
        r = cuvet(*args, "--sandbox=required", "--no-sandbox", good)
        equal((r.rc, r.out), (USAGE, ""), "both")
    equal(cuvet("scan", "--sandbox=never", good).rc, USAGE, "another word")
    equal(cuvet("scan", "--sandbox=auto", "--no-sandbox", good).rc, CLEAN, "auto and off")


@test
def kernels_that_lack_something():
    need()
    good, bad = sample("multi.fatbin"), write(bad_container())
    for deny, missing, there in (("landlock", "landlock (Function not implemented)", "seccomp, rlimits"),
                                 ("seccomp", "seccomp (Function not implemented)", "rlimits"),
                                 ("rlimits", "rlimits (Operation not permitted)", "seccomp, landlock"),
                                 ("landlock,seccomp,rlimits", "landlock (", "none; missing: landlock")):
        def run(*args):
            return subprocess.run([PROBE, "deny", deny, CUVET, *args], capture_output=True, text=True, check=False)

        p = run("scan", "--sandbox=required", good)
        equal((p.returncode, p.stdout), (SANDBOX, ""), deny)
        assert "the sandbox is required" in p.stderr and missing in p.stderr, p.stderr
        p = run("scan", "--notes", bad)
        equal((p.returncode, p.stderr), (FINDINGS, ""), deny)
        equal(p.stdout.splitlines()[:-1], cuvet("scan", "--notes", bad).out.splitlines()[:-1], deny)
        last = p.stdout.splitlines()[-1]
        assert missing in last and there in last, last
        assert missing in run("--version").stdout, deny
        d = os.path.join(scratch(), "out")
        equal((run("unpack", "-d", d, good).returncode, len(os.listdir(d))), (CLEAN, 8), deny)
        p = run("scan", "--sandbox=required", "--format=sarif", good)
        equal(p.returncode, SANDBOX, "sarif")
        assert '"exitCode": 6' in p.stdout, p.stdout[-500:]


# ---- more inputs than descriptors ----


def few(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


def run_with(n, *args, stdin=b"", **more):
    return subprocess.run([CUVET, *args], input=stdin, capture_output=True, preexec_fn=few(n) if n else None,
                          check=False, timeout=120, **more)


def crowd():
    d = scratch()
    good, bad, ptx = read("default.fatbin"), bad_container(), read("plain.ptx")
    for i in range(60):
        where = os.path.join(d, "d%d" % (i % 7))
        os.makedirs(where, exist_ok=True)
        write((good, bad, ptx, b"")[i % 4], "f%02d" % i, where)
    os.symlink("absent", os.path.join(d, "d1", "dangling"))
    os.mkfifo(os.path.join(d, "d6", "pipe"))
    return d


@test
def more_inputs_than_descriptors():
    d = crowd()
    forms = [["scan", "-r"], ["scan", "-r", "-v"], ["scan", "-r", "--format=ndjson"], ["scan", "-r", "-j3"],
             ["scan", "-r", "--format=sarif"], ["list", "-r"]]
    for args in forms:
        args = args + [d, "no/such/file", d, "-", sample("multi.fatbin")]
        want = run_with(0, *args, stdin=read("default.fatbin"))
        equal(want.returncode, IO, " ".join(args))
        for n in (10, 28, 40, 64, 150):
            p = run_with(n, *args, stdin=read("default.fatbin"))
            equal((p.returncode, p.stdout, p.stderr), (want.returncode, want.stdout, want.stderr),
                  "%d descriptors: %s" % (n, " ".join(args)))


def ordinary(limit):
    """In a new process: with so few descriptors, and as somebody who is not root."""
    few(limit)()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


@test
def descriptors_on_their_way():
    """Those of anybody but root count against the limit until they have arrived: the opener has to wait for that."""
    d = scratch()
    os.chmod(d, 0o755)
    for i in range(300):
        os.chmod(write(read("default.fatbin"), "f%03d" % i, d), 0o644)
    try:
        # A coverage build would write its profile where the ordinary user may not.
        p = subprocess.run([CUVET, "scan", "-r", "-j3", "-v", "."], cwd=d, capture_output=True, preexec_fn=lambda: ordinary(40), check=False,
                           timeout=120, stdin=subprocess.DEVNULL, env=dict(os.environ, LLVM_PROFILE_FILE="/dev/null"))
    except PermissionError:
        raise Skip("the command is where only root gets to")
    equal((p.returncode, p.stderr, p.stdout.count(b": clean;")), (CLEAN, b"", 300), "as an ordinary user")


def hold_on_the_way(end):
    """A process of the same user with twenty descriptors on their way, for a second."""
    child = os.fork()
    if child:
        return child
    try:
        ordinary(100)
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for _ in range(20):
            socket.send_fds(left, [b"x"], [end])
        os.write(end, b"sent")
        time.sleep(1)
        right.close()
    finally:
        os._exit(0)


@test
def descriptors_of_others_on_their_way():
    """Others of the same user have more on their way than this process may open: files wait until those have arrived."""
    d = scratch()
    os.chmod(d, 0o777)
    os.chmod(write(read("multi.fatbin"), "f", d), 0o644)
    for args in (["unpack", "-d", "out", "f"], ["scan", "f"]):
        begin, end = os.pipe()
        child = hold_on_the_way(end)
        equal(os.read(begin, 4), b"sent", "descriptors are on their way")
        try:
            p = subprocess.run([CUVET, *args], cwd=d, capture_output=True, preexec_fn=lambda: ordinary(12), check=False,
                               timeout=120, stdin=subprocess.DEVNULL, env=dict(os.environ, LLVM_PROFILE_FILE="/dev/null"))
        except PermissionError:
            raise Skip("the command is where only root gets to")
        finally:
            os.waitpid(child, 0)
            os.close(begin)
            os.close(end)
        equal((p.returncode, p.stderr), (CLEAN, b""), " ".join(args))
    assert os.listdir(os.path.join(d, "out")), "something was unpacked"


@test
def more_pieces_than_descriptors():
    paths = [sample("multi.fatbin"), write(bad_container()), sample("plain.ptx")] * 20
    for args in (["dump", "--header"], ["unpack"]):
        results = []
        for n in (0, 12, 40):
            d = os.path.join(scratch(), "out")
            p = run_with(n, *args, *(["-d", d] if args[0] == "unpack" else []), *paths)
            files = {f: open(os.path.join(d, f), "rb").read() for f in os.listdir(d)} if args[0] == "unpack" else {}
            results.append((p.returncode, p.stdout, p.stderr, files))
        equal(results[1], results[0], "few descriptors: " + args[0])
        equal(results[2], results[0], "some descriptors: " + args[0])
        equal(bool(results[0][3]), args[0] == "unpack", "files")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(n) for n in f.read().split()]


@test
def the_opener():
    """It stays outside, ends with the command, and its loss is no silent end."""
    need()
    d = scratch()
    pipe = os.path.join(d, "pipe")
    os.mkfifo(pipe)
    args = [CUVET, "scan", "--format=ndjson", *[sample("default.fatbin")] * 50, pipe]
    for how in ("lost", "orphaned", "fed"):
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=few(40))
        caged(p)
        opener, = children(p.pid)
        equal((status(opener)["Seccomp"], limits(p.pid)["Max file size"]), ("0", ["0", "0"]), "states")
        links = [v for k, v in descriptors(p.pid).items() if k > 2]
        assert len([v for v in links if v.startswith("socket:")]) == 1, links
        first = b""
        while first.count(b'"verdict":"clean"') < 50:  # now the opener waits for somebody to write into the pipe
            first += p.stdout.readline()
        if how == "lost":
            os.kill(opener, signal.SIGKILL)
            out, err = p.communicate()
            equal((p.returncode, out), (INTERNAL, b""), how)
            assert b"opens the inputs is gone" in err, err
        elif how == "orphaned":
            end(p)
            for _ in range(200):
                if not os.path.exists("/proc/%d" % opener) or status(opener)["State"].startswith("Z"):
                    break
                time.sleep(0.01)
            else:
                raise AssertionError("the opener lives on")
        else:
            with open(pipe, "wb") as f:
                f.write(bad_container())
            out, err = p.communicate()
            equal((p.returncode, err, out.count(b'"verdict":')), (FINDINGS, b"", 1), how)


@test
def names_of_any_length():
    long = "x" * 100000
    args = ["scan", *["absent"] * 40, long, "./" * 2000 + "y", "", "\x1b]0;x\x07"]
    equal(run_with(40, *args).stdout, run_with(0, *args).stdout, "names")


@test
def a_process_substitution():
    """What the caller hands down by number is an input like any other, and open while it is opened."""
    r, w = os.pipe()
    os.write(w, bad_container())
    os.close(w)
    p = subprocess.run([CUVET, "scan", "/dev/fd/%d" % r], capture_output=True, pass_fds=(r,), check=False)
    os.close(r)
    equal(p.returncode, FINDINGS, "exit")


# ---- a compiler, which the cage could not start ----


def compiler(body):
    path = write(b"", "compiler")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + body)
    os.chmod(path, 0o700)
    return path


def gone(pid):
    return not os.path.exists("/proc/%d" % pid) or status(pid)["State"].startswith("Z")


def soon(what, *args):
    for _ in range(1000):
        found = what(*args)
        if found:
            return found
        time.sleep(0.01)
    return False


@test
def a_compiler_through_the_broker():
    want = read("plain.sm_90.rdc.cubin")
    good = compiler('while [ "$1" != -o ]; do shift; done\n/bin/cp "%s" "$2"\n' % sample("plain.sm_90.rdc.cubin"))
    for more in ([], ["--no-sandbox"], ["--sandbox=required"] if FULL.match(state()) else []):
        for paths in ([sample("ptx-only.fatbin")], [sample("ptx-only.fatbin")] * 40):
            out = os.path.join(scratch(), "out.cubin")
            args = ["-o", out] if len(paths) == 1 else []
            p = run_with(40, "select", "--arch=sm_90", "--compiler", good, "--format=ndjson", *more, *args, *paths)
            equal((p.returncode, p.stderr), (CLEAN, b""), "%d files" % len(paths))
            equal(p.stdout.count(b'"status":"OK"'), len(paths), p.stdout)
            if args:
                equal(open(out, "rb").read(), want, "what it wrote")
    r = cuvet("select", "--arch=sm_90", "--compiler", compiler("exit 3\n"), sample("ptx-only.fatbin"))
    equal(r.rc, FINDINGS, "one that fails")
    assert "CV-COMPILE-" in r.out, r.out


@test
def nobody_stays_behind():
    need()
    slow = compiler("exec /bin/sleep 100\n")

    def sleepers(pid):
        """Below a process: those that have become what the compiler becomes."""
        found = [c for c in children(pid) if b"sleep" in open("/proc/%d/cmdline" % c, "rb").read()]
        return found + [s for c in children(pid) for s in sleepers(c)]

    for how in (signal.SIGKILL, signal.SIGTERM):
        tmp = scratch()
        p = subprocess.Popen([CUVET, "select", "--arch=sm_90", "--compiler", slow, sample("ptx-only.fatbin")],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=dict(os.environ, TMPDIR=tmp))
        caged(p)
        assert soon(sleepers, p.pid), "the compiler was not started"
        broker, = children(p.pid)
        pid, = sleepers(broker)
        home = os.readlink("/proc/%d/cwd" % pid)
        equal((status(broker)["NoNewPrivs"], status(pid)["NoNewPrivs"]), ("1", "1"), "privileges")
        equal([v for k, v in sorted(descriptors(broker).items()) if k < 2], ["/dev/null"] * 2, "of the broker")
        assert os.path.isdir(home) and os.path.dirname(home) == tmp, home
        p.send_signal(how)
        p.wait()
        assert soon(gone, broker), "the broker lives on"
        assert soon(gone, pid), "the compiler lives on"
        equal(os.listdir(tmp), [], "its directory")
        p.stdout.close()
        p.stderr.close()


# ---- files that come out ----

NAMELESS = (None, "unnamed")  # with files that have no name until they are finished, and without


def denied(deny, *args):
    return ([PROBE, "deny", deny] if deny else []) + [CUVET, *args]


def porters(pid):
    """Those that are ready: the signals of a terminal are nothing to them."""
    return [c for c in children(pid) if int(status(c)["SigIgn"], 16) >> (signal.SIGTSTP - 1) & 1 and status(c)["NoNewPrivs"] == "1"]


def link_of(where, *more):
    return ["link", "-arch=sm_75", sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin"), "-o", os.path.join(where, "out"),
            *more]


@test
def nothing_half_written_stays():
    """Killed while it waits for an input: by a signal for it alone, or for its whole group, as a terminal sends it."""
    for deny in NAMELESS:
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for group in (False, True):
                if group and how == signal.SIGKILL and deny:
                    continue  # the porter too: then a file that has a name stays
                d = scratch()
                write(b"old", "out", d)
                pipe = os.path.join(scratch(), "pipe")
                os.mkfifo(pipe)
                p = subprocess.Popen(denied(deny, *link_of(d, pipe)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
                assert soon(porters, p.pid), "there is no porter"
                equal(len(os.listdir(d)), 2 if deny else 1, "while it runs")
                (os.killpg if group else os.kill)(p.pid, how)
                p.wait()
                assert soon(lambda: os.listdir(d) == ["out"]), (deny, how, os.listdir(d))
                equal(open(os.path.join(d, "out"), "rb").read(), b"old", "the file that was there")


@test
def results_are_the_same_without_nameless_files():
    for args in (link_of, lambda d: ["finalize", "--arch=sm_103", sample("plain.sm_100.cubin"), "-o", os.path.join(d, "out")],
                 lambda d: ["select", "--arch=sm_75", sample("two_a.sm_75.rdc.cubin"), "-o", os.path.join(d, "out")],
                 lambda d: ["unpack", "-d", d, sample("multi.fatbin")]):
        found = []
        for deny in NAMELESS:
            for old in (False, True):
                d = scratch()
                if old and args is not None and args(d)[0] not in ("unpack", "select"):
                    os.chmod(write(b"old", "out", d), 0o600)
                p = subprocess.run(denied(deny, *args(d)), capture_output=True, check=False, preexec_fn=lambda: os.umask(0o027))
                equal(p.returncode, CLEAN, args(d)[0])
                found.append({f: (open(os.path.join(d, f), "rb").read(), os.stat(os.path.join(d, f)).st_mode & 0o7777)
                              for f in os.listdir(d)})
        assert found[0] and all(m == 0o640 for _, m in found[0].values()), found[0].keys()
        equal([f == found[0] for f in found], [True] * 4, args("d")[0])


@test
def a_disk_that_is_full():
    def short():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for deny in NAMELESS:
        for args in (link_of, lambda d: ["unpack", "--force", "-d", d, sample("multi.fatbin")]):
            d = scratch()
            write(b"old", "out", d)
            p = subprocess.run(denied(deny, *args(d)), capture_output=True, check=False, preexec_fn=short)
            equal(p.returncode, IO, args(d)[0])
            assert p.stderr, "nothing was said"
            small = [f for f in os.listdir(d) if f != "out"]
            assert all(f.endswith(".ptx") for f in small), small  # the one that fits
            equal(open(os.path.join(d, "out"), "rb").read(), b"old", "the file that was there")


@test
def directories_that_take_no_file():
    if os.geteuid() != 0:
        other = None
    else:
        def other():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    d = scratch()
    os.chmod(d, 0o755)
    for name in ("two_a.sm_75.rdc.cubin", "two_b.sm_75.rdc.cubin"):
        os.chmod(write(read(name), name, d), 0o644)
    where = os.path.join(d, "out")
    os.mkdir(where)
    for mode, rc in ((0o555, IO), (0o777, CLEAN), (0o333, CLEAN)):
        os.chmod(where, mode)
        try:
            p = subprocess.run([CUVET, "link", "-arch=sm_75", "two_a.sm_75.rdc.cubin", "two_b.sm_75.rdc.cubin", "-o", "out/out"],
                               capture_output=True, check=False, preexec_fn=other, cwd=d,
                               env=dict(os.environ, LLVM_PROFILE_FILE="/dev/null"))
        except PermissionError:
            raise Skip("the command is where only root gets to")
        os.chmod(where, 0o755)
        equal((p.returncode, os.listdir(where)), (rc, ["out"] if rc == CLEAN else []), "%o: %s" % (mode, p.stderr))
        equal(b"cannot be written" in p.stderr, rc == IO, p.stderr)
        if rc == CLEAN:
            os.unlink(os.path.join(where, "out"))


@test
def without_devices_or_proc():
    """As in a container that has neither: no /dev/null, no way to name an open file."""
    need()
    for what in ("mount -t tmpfs none /dev", "umount -l /proc", "mount -t tmpfs none /dev && umount -l /proc"):
        prefix = ["unshare", "-m", "sh", "-c", what + ' && exec "$@"', "sh"]
        try:
            if subprocess.run(prefix + ["true"], capture_output=True, check=False).returncode != 0:
                raise Skip("no mount name space")
        except FileNotFoundError:
            raise Skip("no unshare")
        d = scratch()
        p = subprocess.run(prefix + [CUVET, *link_of(d)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        equal((p.returncode, p.stderr, os.listdir(d)), (CLEAN, b"", ["out"]), what)
        p = subprocess.run(prefix + [CUVET, "unpack", "-d", d, sample("multi.fatbin")], stdin=subprocess.DEVNULL, capture_output=True,
                           check=False)
        equal((p.returncode, p.stderr, len(os.listdir(d))), (CLEAN, b"", 9), what)


@test
def the_porter_is_lost():
    """Then the command says that it could not write, and nothing is there."""
    need()
    d = scratch()
    pipe = os.path.join(scratch(), "pipe")
    os.mkfifo(pipe)
    p = subprocess.Popen([CUVET, *link_of(d, pipe)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    porter, = soon(porters, p.pid)
    equal([v for k, v in sorted(descriptors(porter).items()) if k < 3], ["/dev/null"] * 3, "standard streams of the porter")
    os.kill(porter, signal.SIGKILL)
    with open(pipe, "wb") as f:
        f.write(read("plain.sm_75.rdc.cubin"))
    _, err = p.communicate()
    equal((p.returncode, os.listdir(d)), (IO, []), err)
    assert b"cannot be written" in err, err


@test
def standard_input_is_none_of_theirs():
    """What stands behind it stays outside, unless it is an input."""
    need()
    with open(write(b"x"), "r+b") as f:
        for args, want in ((["scan", big()], "/dev/null"), (["scan", big(), "-"], f.name)):
            p = subprocess.Popen([CUVET, *args], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                caged(p)
                equal(descriptors(p.pid)[0], want, " ".join(args[2:]))
            finally:
                end(p)
    fd = os.open(scratch(), os.O_RDONLY | os.O_DIRECTORY)
    p = subprocess.Popen([CUVET, "scan", big()], stdin=fd, stdout=subprocess.PIPE, stderr=fd)
    try:
        caged(p)
        found = descriptors(p.pid)
        equal([found[0], found[2]], ["/dev/null"] * 2, "directories")
    finally:
        end(p)
        os.close(fd)


main()
