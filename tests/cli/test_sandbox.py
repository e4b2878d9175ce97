# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cage: what dies in it, what is refused, what still works, and what the command says about it.

tests/cage/probe.c enters it by the code of the command and tries one thing; the tables here say how that has to end."""
import errno
import os
import re
import resource
import signal
import subprocess
import time

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, USAGE, Skip, bad_container, cuvet, equal, main, read, sample, scratch,
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
    p = subprocess.run(argv + [PROBE, mode, name, *more], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE,
                       timeout=60, check=False, env=dict(os.environ, CV_TMP=scratch()))
    if p.returncode < 0:
        return DIES if -p.returncode == signal.SIGSYS else "signal %d" % -p.returncode
    if p.returncode != 0:
        return "exit %d" % p.returncode
    said = p.stderr.decode().strip()
    return said if said == OK else errno.errorcode[int(said)]


# attempt: how it ends, in every cage or in (plain, with threads, with a channel for inputs)
WORKS = {
    "nothing": OK, "write_stdout": OK, "random": OK, "clock": OK, "memory": OK, "guard_page": OK,
    "stat_open_file": OK, "signal_itself": OK, "is_terminal": "ENOTTY",
    "thread": (DIES, OK, DIES),
    "receive": (DIES, DIES, OK), "receive_other": DIES,
}
REFUSED = {
    "memory_beyond": "ENOMEM", "inherited": "EBADF",
    "open_read": "EACCES", "open_path": "EACCES",
    "clone3": "ENOSYS", "statx": "ENOSYS", "unknown": "ENOSYS",
}
FORBIDDEN = """
    socket socket_unix socket_netlink socketpair connect connect_tcp bind sendmsg
    execve execveat fork new_user_space unshare setns
    ptrace ptrace_parent process_vm_readv kill_parent kill_itself tgkill_parent pidfd_open wait
    open_write open_both open_create open_truncate open_unnamed openat2 open_handle
    stat_name readlink list_directory unlink mkdir rename link symlink mknod chmod chown truncate chdir chroot mount
    mmap_exec mmap_file mprotect_exec pkey_mprotect shm memfd personality
    undo_no_new_privs dumpable another_filter raise_limit
    type_into_terminal duplicate duplicate_fcntl own_signal_io pipe
    set_user capabilities io_uring bpf userfaultfd perf keys module kexec settime poll
    no_such_number x32
    save save_above save_absolute save_over save_elsewhere open_old_write replace_old move_out move_in
    remove_old remove_beside link_below mkdir_below symlink_below mknod_below
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
    with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cage", "probe.c"),
              encoding="utf-8") as f:
        names = set(re.findall(r"\bTRY\((\w+),", f.read())) - {"id"}
    tried = set(expected()) | set(BELOW) | {"int80", "write_beyond"}
    equal(sorted(names ^ tried), [], "in one place only")


# attempt: how it ends with an output directory and (all tiers, no seccomp, no Landlock)
BELOW = {
    "save": (OK, OK, OK), "replace_old": (OK, OK, OK), "remove_old": (OK, OK, OK), "link_below": (OK, OK, OK),
    "save_above": ("EACCES", "EACCES", OK), "save_absolute": ("EACCES", "EACCES", OK),
    "move_out": ("EACCES", "EACCES", OK), "move_in": ("EACCES", "EACCES", OK),
    "remove_beside": ("EACCES", "EACCES", OK),
    "save_over": (DIES, OK, DIES), "open_old_write": (DIES, OK, DIES), "open_old_read": ("EACCES",) * 3,
    "save_elsewhere": (DIES, "EACCES", DIES), "mkdir_below": (DIES, "EACCES", DIES),
    "symlink_below": (DIES, "EACCES", DIES), "mknod_below": (DIES, "EACCES", DIES),
    "open_write": (DIES, "EACCES", DIES), "open_read": ("EACCES",) * 3, "execve": (DIES, "EACCES", DIES),
    "socket": (DIES, OK, DIES), "thread": (DIES, OK, DIES),
    "connect_tcp": (DIES, "EACCES", DIES), "kill_parent": (DIES, "EPERM", DIES),
}
SINCE = {"connect_tcp": 4, "kill_parent": 6}  # ABI of Landlock; before it, nothing stands in for seccomp


@test
def an_output_directory():
    """Each tier alone: what the other one is for when a kernel lacks it. Nothing here gets worse than that."""
    need()
    wrong, abi = {}, int(re.search(r"abi (\d+)", state()).group(1))
    for name, want in BELOW.items():
        if abi < SINCE.get(name, 0):
            continue
        got = []
        for deny in (None, "seccomp", "landlock"):
            above = scratch()
            d = os.path.join(above, "out")
            os.mkdir(d)
            write(b"old", "old", d)
            write(b"beside", "beside", above)
            got.append(attempt("out", name, d, deny=deny))
            if deny != "landlock":
                equal((sorted(os.listdir(above)), open(os.path.join(above, "beside"), "rb").read()),
                      (["beside", "out"], b"beside"), "outside of the directory after " + name)
        if tuple(got) != want:
            wrong[name] = got
    equal(wrong, {}, "different from the table")


@test
def reports_that_go_to_a_file_have_an_end():
    need("rlimits")
    with open(os.path.join(scratch(), "report"), "wb") as f:
        equal(attempt("plain", "write_beyond", stdout=f), "EFBIG", "behind the largest size")
        equal(attempt("plain", "write_stdout", stdout=f), OK, "before it")
    equal(attempt("plain", "write_stdout", stdout=subprocess.PIPE), OK, "a pipe")


# ---- the command ----


def big():
    """Zeros that take a scan some seconds, and no place."""
    path = os.path.join(scratch(), "zeros")
    with open(path, "wb") as f:
        f.truncate(12 << 30)
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
            equal(sorted(fds.values())[0], "/dev/null", "standard input")
            equal([v for k, v in sorted(fds.items()) if k > 2], args[2:] + [path], "descriptors of " + args[0])
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


@test
def descriptors_on_their_way():
    """Those of anybody but root count against the limit until they have arrived: the opener has to wait for that."""
    def limits():
        few(40)()
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    d = scratch()
    os.chmod(d, 0o755)
    for i in range(300):
        os.chmod(write(read("default.fatbin"), "f%03d" % i, d), 0o644)
    try:
        # A coverage build would write its profile where the ordinary user may not.
        p = subprocess.run([CUVET, "scan", "-r", "-j3", "-v", "."], cwd=d, capture_output=True, preexec_fn=limits, check=False,
                           timeout=120, stdin=subprocess.DEVNULL, env=dict(os.environ, LLVM_PROFILE_FILE="/dev/null"))
    except PermissionError:
        raise Skip("the command is where only root gets to")
    equal((p.returncode, p.stderr, p.stdout.count(b": clean;")), (CLEAN, b"", 300), "as an ordinary user")


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
        if what(*args):
            return True
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


main()
