# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet serve from a client's side: the protocol, what bad frames and bad files get, and the end."""
import array
import contextlib
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import time

from lib_cli import CUVET, Skip, cuvet, equal, main, read, sample, scratch, test

BUILD = os.path.dirname(os.path.abspath(CUVET))
OBJECT = "branchy.sm_90.rdc.cubin"


class Client:
    def __init__(self, path, hello=True):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(path)
        if hello:
            self.send({"hello": {"versions": [7, 1]}})
            self.hello = self.receive()[0]["hello"]

    def send(self, obj, files=()):
        body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.raw(struct.pack("<I", len(body)) + body, files)

    def raw(self, data, files=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        sent = self.sock.sendmsg([data], control)
        if data[sent:]:
            self.sock.sendall(data[sent:])

    def exactly(self, n, fds):
        data = b""
        while len(data) < n:
            more, control, _, _ = self.sock.recvmsg(n - len(data), 4096)
            for level, kind, body in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds += list(array.array("i", body))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        """The object, and the bytes of its result."""
        fds = []
        size = struct.unpack("<I", self.exactly(4, fds))[0]
        obj, result = json.loads(self.exactly(size, fds)), None
        if "result" in obj:
            where = obj["result"]
            result = os.pread(fds[where["fd"]], where["size"], where["offset"])
            equal(len(result), where["size"])
        for fd in fds:
            os.close(fd)
        return obj, result

    def ask(self, obj, names=()):
        fds = [os.open(n, os.O_RDONLY) for n in names]
        try:
            self.send(obj, fds)
        finally:
            for fd in fds:
                os.close(fd)
        return self.receive()

    def is_closed(self):
        try:
            while self.sock.recv(4096):
                pass
            return True
        except ConnectionResetError:
            return True


@contextlib.contextmanager
def server(*args, worker="cuvet-worker", **popen):
    path = os.path.join(scratch(), "socket")
    p = subprocess.Popen([CUVET, "serve", "--socket", path, "--worker", os.path.join(BUILD, worker), *args],
                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
    try:
        for _ in range(600):
            if os.path.exists(path) or p.poll() is not None:
                break
            time.sleep(0.05)
        yield path, p
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
        equal((p.returncode, os.path.exists(path)), (0, False), err)
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()


def link(target="sm_90", **more):
    return dict({"id": [1, "x"], "do": "link", "target": target, "inputs": [{"fd": 0, "name": "a.o"}]}, **more)


@test
def links_and_the_rest():
    expected = os.path.join(scratch(), "out.cubin")
    equal(cuvet("link", "-arch=sm_90", sample(OBJECT), "-o", expected).rc, 0)
    with open(expected, "rb") as f:
        expected = f.read()
    for mode in ("fork", "persistent"):
        with server("--mode", mode) as (path, _):
            equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            c = Client(path)
            equal((c.hello["version"], c.hello["mode"]), (1, mode))
            reply, result = c.ask(link(), [sample(OBJECT)])
            equal((reply["id"], reply["end"], reply["status"], result), ([1, "x"], "answered", "OK", expected))
            equal([(e["kind"], e["file"]) for e in reply["events"]], [("taken", "a.o")])
            reply, _ = c.ask({"do": "scan", "inputs": [{"fd": 0}]}, [sample("multi.fatbin")])
            equal((reply["id"], reply["verdict"], reply["counts"]["errors"]), (None, "clean", 0))
            reply, result = c.ask({"do": "select", "target": "sm_90", "inputs": [{"fd": 0}]}, [sample(OBJECT)])
            equal((reply["kind"], reply["target"], result), ("elf", "sm_90", read(OBJECT)))
            reply, result = c.ask({"do": "finalize", "inputs": [{"fd": 0}]}, [sample("branchy.sm_100.cubin")])
            equal((reply["status"], reply["code"], result), ("OK", "NOT_NEEDED", read("branchy.sm_100.cubin")))
            reply, _ = c.ask({"id": 5, "do": "counters"})
            equal((reply["counters"]["jobs"], reply["counters"]["answered"]), (4, 4))


@test
def a_piece_of_a_file():
    whole = os.path.join(scratch(), "pieces")
    with open(whole, "wb") as f:
        f.write(b"x" * 777 + read(OBJECT) + b"y")
    with server() as (path, _):
        c = Client(path)
        piece = {"fd": 0, "offset": 777, "size": len(read(OBJECT))}
        reply, result = c.ask(link(inputs=[piece]), [whole])
        equal((reply["status"], result[:4]), ("OK", b"\x7fELF"))
        reply, _ = c.ask(link(inputs=[dict(piece, size=len(read(OBJECT)) + 2)]), [whole])
        equal(reply["error"]["name"], "usage")


@test
def damaged_files_are_findings():
    with server() as (path, _):
        reply, result = Client(path).ask({"do": "scan", "inputs": [{"fd": 0}]},
                                         [os.path.join(os.path.dirname(os.path.dirname(sample(OBJECT))), "hostile", "CV-FATBIN-014.fatbin")])
        equal((reply["verdict"], result), ("malformed", None))
        assert "CV-FATBIN-014" in [f["rule"] for f in reply["findings"]], reply


@test
def wrong_requests_are_told():
    with server() as (path, _):
        c = Client(path)
        for request in (link(target="sm_9000"), link(flags=["no-such"]), link(flags="debug"), link(depth="full"), link(unknown=1),
                        link(inputs=[]), link(inputs=[{"fd": 1}]), link(inputs=[{"fd": 0, "x": 1}]), link(inputs=[3]), link(inputs=[{"fd": -1}]),
                        link(deadline_ms=-1), link(deadline_ms="1"), link(kernels=[3]), link(output=1), {"do": "fly"}, {"x": 1},
                        {"do": "counters", "x": 1}):
            reply, _ = c.ask(request, [sample(OBJECT)])
            equal(reply["error"]["name"], "usage", request)
        equal(c.ask(link(), [sample(OBJECT)])[0]["status"], "OK")


@test
def bad_frames_close_that_connection_only():
    with server() as (path, _):
        good = Client(path)
        for data in (b"\xff\xff\xff\xff", struct.pack("<I", 0), struct.pack("<I", (1 << 20) + 1), struct.pack("<I", 4) + b"true",
                     struct.pack("<I", 2) + b"{x", struct.pack("<I", 13) + b'{"a":1,"a":2}', struct.pack("<I", 3) + b"{}\0",
                     struct.pack("<I", 6) + b"\xff\xff\xff\xff\xff\xff", struct.pack("<I", 1 << 20) + b"[" * (1 << 20)):
            for hello in (True, False):
                c = Client(path, hello)
                c.raw(data)
                assert c.is_closed(), data[:20]
        many = Client(path)
        with open(sample(OBJECT), "rb") as f:
            many.raw(struct.pack("<I", 2) + b"{}", [f.fileno()] * 100)
        assert many.is_closed()
        half = Client(path)
        half.raw(struct.pack("<I", 100) + b"{")
        half.sock.close()
        old = Client(path, hello=False)
        old.send({"hello": {"versions": [2, 3]}})
        equal(old.receive()[0]["error"]["name"], "version")
        assert old.is_closed()
        equal(good.ask(link(), [sample(OBJECT)])[0]["status"], "OK")


@test
def what_a_file_does_is_one_answer():
    cases = [("crash", {}, {"end": "lost"}), ("hang", {"deadline_ms": 1000}, {"end": "deadline"}),
             ("code", {}, {"end": "lost", "exit_code": 7})]
    caged = "sanitizer build" not in cuvet("list", "--format=ndjson", sample("none.fatbin")).objects("verdict")[0]["sandbox"]
    if caged:  # a build with a sanitizer has neither the filter nor a limit of its address space
        cases += [("leak", {"memory": 64 << 20}, {"end": "memory"}), ("fork", {}, {"end": "lost", "signal": signal.SIGSYS}),
                  ("write", {}, {"end": "lost", "signal": signal.SIGSYS})]
    for mode in ("fork", "persistent"):
        with server("--workers", "1", "--mode", mode, worker=os.path.join("tests", "worker_planted")) as (path, _):
            c = Client(path)
            for name, limits, want in cases:
                reply, _ = c.ask(link(inputs=[{"fd": 0, "name": "plant:" + name}], **limits), [sample(OBJECT)])
                equal({key: reply.get(key) for key in want}, want, name)
                equal(c.ask(link(), [sample(OBJECT)])[0]["status"], "OK", "after " + name)
            counters = c.ask({"do": "counters"})[0]["counters"]
            equal([counters[n] for n in ("lost", "deadline", "memory", "answered")], [4, 1, 1, 6] if caged else [2, 1, 0, 3])
    if not caged:
        raise Skip("leak, fork and write: a build with a sanitizer has no cage around the worker")


@contextlib.contextmanager
def as_user(uid):
    """What this process does in it, it does as somebody else."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


@test
def another_user_is_hung_up_on():
    if os.geteuid() != 0:
        raise Skip("clients of another user: only root can be one")
    nobody = 65534
    for args, served in (((), False), (("--allow-uid", str(nobody + 1)), False), (("--allow-uid", str(nobody)), True)):
        with server(*args) as (path, _):
            here = os.getcwd()
            os.chmod(os.path.dirname(path), 0o711)
            os.chdir(os.path.dirname(path))  # what is above it is for root alone
            try:
                with as_user(nobody), socket.socket(socket.AF_UNIX) as early:
                    try:
                        early.connect("socket")
                        raise AssertionError("the mode of the socket let somebody else in")
                    except PermissionError:
                        pass
                os.chmod("socket", 0o666)  # as if somebody had: the peer is asked for as well
                with as_user(nobody):
                    c = Client("socket", hello=False)
                if served:
                    c.send({"hello": {"versions": [1]}})
                    equal(c.receive()[0]["hello"]["version"], 1)
                    equal(c.ask(link(), [sample(OBJECT)])[0]["status"], "OK")
                else:
                    assert c.is_closed(), args
                equal(Client("socket").ask(link(), [sample(OBJECT)])[0]["status"], "OK", "root is served")
            finally:
                os.chdir(here)


def fill(client, most=60):
    """Ask and never read, until nothing more is taken: the server has an answer that it cannot get rid of."""
    body = json.dumps({"id": "x" * 4096, "do": "counters"}).encode()
    data = struct.pack("<I", len(body)) + body
    client.sock.settimeout(0.2)
    end, rest = time.monotonic() + most, b""
    while time.monotonic() < end:
        rest = rest or data
        try:
            rest = rest[client.sock.send(rest):]
        except TimeoutError:
            return
    raise AssertionError("whatever was sent was taken")


def hangs_up(client, most=30):
    """Whoever is asked and never read."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        try:
            fill(client, end - time.monotonic())
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


@test
def who_stalls_is_hung_up_on():
    with server("--stall", "1000", "--workers", "1") as (path, _):
        idle, half, dripping, deaf = (Client(path) for _ in range(4))
        mute = Client(path, hello=False)
        begin = time.monotonic()
        half.raw(struct.pack("<I", 100) + b"{")
        dripping.raw(struct.pack("<I", 1 << 20))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # on a slow machine its time is over by then
            fill(deaf)
        equal(Client(path).ask(link(), [sample(OBJECT)])[0]["status"], "OK", "another is served meanwhile")
        try:
            while time.monotonic() < begin + 20:
                dripping.raw(b" ")
                time.sleep(0.05)
            raise AssertionError("a byte now and then keeps the place")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert half.is_closed() and mute.is_closed()
        # A slow server had not answered enough to be kept from going on: it gets more.
        assert hangs_up(deaf), "whoever never reads keeps the place"
        assert 0.9 < time.monotonic() - begin < 20, time.monotonic() - begin
        equal(idle.ask(link(), [sample(OBJECT)])[0]["status"], "OK", "who waits between requests is served")


@test
def who_does_not_read_does_not_hold_the_end_up():
    with server("--stall", "5000") as (path, p):
        deaf = Client(path)
        fill(deaf)
        begin = time.monotonic()
        p.send_signal(signal.SIGTERM)
        p.wait(timeout=30)
        assert time.monotonic() - begin < 20, time.monotonic() - begin


@test
def busy_is_an_answer():
    with server("--workers", "1", "--queue", "0", worker=os.path.join("tests", "worker_planted")) as (path, _):
        sleeper, other = Client(path), Client(path)
        with open(sample(OBJECT), "rb") as f:
            sleeper.send(link(inputs=[{"fd": 0, "name": "plant:sleep"}], deadline_ms=3000), [f.fileno()])
        while other.ask({"do": "counters"})[0]["counters"]["busy"] == 0:
            time.sleep(0.01)
        equal(other.ask(link(), [sample(OBJECT)])[0]["error"]["name"], "busy")
        equal(sleeper.receive()[0]["end"], "deadline")


@test
def a_stop_answers_what_runs():
    with server(worker=os.path.join("tests", "worker_planted")) as (path, p):
        idle, c = Client(path), Client(path)
        with open(sample(OBJECT), "rb") as f:
            c.send(link(inputs=[{"fd": 0, "name": "plant:sleep"}], deadline_ms=1500), [f.fileno()])
        while idle.ask({"do": "counters"})[0]["counters"]["busy"] == 0:
            time.sleep(0.01)
        p.send_signal(signal.SIGTERM)
        equal(c.receive()[0]["end"], "deadline")
        assert c.is_closed() and idle.is_closed()


@test
def a_socket_in_the_way():
    path = os.path.join(scratch(), "socket")
    old = socket.socket(socket.AF_UNIX)
    old.bind(path)
    old.listen()
    worker = os.path.join(BUILD, "cuvet-worker")
    said = cuvet("serve", "--socket", path, "--worker", worker)
    equal(said.rc, 3, said.err)  # somebody listens
    old.close()
    p = subprocess.Popen([CUVET, "serve", "--socket", path, "--worker", worker], stderr=subprocess.PIPE)
    for _ in range(600):
        try:
            c = Client(path)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    equal(c.ask(link(), [sample(OBJECT)])[0]["status"], "OK")
    p.send_signal(signal.SIGINT)
    equal((p.wait(timeout=60), os.path.exists(path)), (0, False))
    p.stderr.close()


@test
def a_socket_of_systemd():
    path = os.path.join(scratch(), "given")
    given = socket.socket(socket.AF_UNIX)
    given.bind(path)
    given.listen()

    def hand_over():
        os.dup2(given.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), "1"
        os.execv(CUVET, [CUVET, "serve", "--worker", os.path.join(BUILD, "cuvet-worker")])

    p = os.fork()
    if p == 0:
        hand_over()
    equal(Client(path).ask(link(), [sample(OBJECT)])[0]["status"], "OK")
    os.kill(p, signal.SIGTERM)
    equal(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]), 0)
    assert os.path.exists(path), "the socket is systemd's"


@test
def wrong_command_lines():
    worker = os.path.join(BUILD, "cuvet-worker")
    path = os.path.join(scratch(), "socket")
    for args, rc in (((), 2), (("x",), 2), (("--socket", path, "--workers", "0x"), 2), (("--socket", path, "--workers", "1000"), 2),
                     (("--socket", path, "--workers", "0"), 2), (("--socket", path, "--stall", "0"), 2),
                     (("--socket", path, "--mode", "x"), 2), (("--socket", "/nowhere/socket"), 3), (("--socket", "x" * 200), 3)):
        equal(cuvet("serve", "--worker", worker, *args).rc, rc, args)
    equal(cuvet("serve", "--socket", path, "--worker", "/nowhere/worker").rc, 3)


main()
