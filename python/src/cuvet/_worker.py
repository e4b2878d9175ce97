# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client of `cuvet serve`: caged processes read the bytes, and this one does not (docs/serve.md).

Nothing here needs the library."""
from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

if TYPE_CHECKING:
    from typing_extensions import Unpack

from cuvet._errors import Error, WorkerError
from cuvet._finalize import FinalizeFlags
from cuvet._link import Input, Inputs, LinkFlags, inputs_of
from cuvet._results import Event, Finding
from cuvet._select import SelectFlags
from cuvet._sources import Source, regular_file, stable_bytes
from cuvet._words import words_of

_VERSION = 1
_LENGTH = struct.Struct("<I")
# Of a frame of the server; of a client the protocol says 1 MiB, which the server checks.
_MOST = 1 << 28
_DESCRIPTORS = 64
# Of a source that is no file: it is copied to one.
_COPY = 1 << 34


@dataclass(frozen=True)
class Answer:
    """What a worker answered. The library's refusal is an answer as well: see `status`, or call :meth:`require`."""

    status: str
    """ "OK", "MALFORMED", "REFUSED"..."""
    findings: Tuple[Finding, ...]
    """`got` and `want` are in their texts alone."""
    events: Tuple[Event, ...]
    """Of a link."""
    dropped: int
    """Findings and events that there was no room for."""
    image: Optional[bytes] = field(repr=False)
    """The result; None: there is none."""
    verdict: Optional[str]
    """Of a scan."""
    counts: Mapping[str, int]
    """Of a scan: containers, members, images, notes, warnings, errors."""
    kind: Optional[str]
    """Of a selection: what was chosen."""
    code: Optional[str]
    """Of a finalization."""
    target: Optional[str]

    def require(self) -> bytes:
        """The result. Raises Error where there is none."""
        if self.status != "OK" or self.image is None:
            raise Error(self.status, "a worker has no result", self.findings)
        return self.image


class Worker:
    """A connection to `cuvet serve`. It serves one request after another; who wants several at once opens several.

    :param address: path of the socket, or a connected Unix stream socket, which is closed with the worker
    :param timeout: seconds to wait for the server, each time; None: as long as it takes, which its deadlines bound
    :raises OSError: nobody listens there
    :raises WorkerError: "version" (the server speaks another one), "connection" (it hung up, or is no such server)

    After a WorkerError "connection", and an OSError of the connection, it is closed. Every method raises those, and besides
    WorkerError "usage" (what is wrong with the request), "busy" (nothing was begun), "internal", and how the job ended
    where it was not answered: "lost", "deadline", "cpu", "memory", "protocol".

    Each method takes deadline_ms, cpu_ms, memory and output: limits of the job; None: those of the server.
    """

    mode: str
    """ "fork" or "persistent"."""
    cage: str
    """What the cage of the workers consists of."""
    version: str
    """Version of the library there."""

    def __init__(self, address: Union[str, "os.PathLike[str]", socket.socket], timeout: Optional[float] = None) -> None:
        if isinstance(address, socket.socket):
            self._socket = address
        else:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            if self._socket is not address:
                self._socket.connect(os.fspath(address))  # type: ignore[arg-type]
            hello = self._request({"hello": {"versions": [_VERSION]}}, [])[0].get("hello", {})
            if hello.get("version") != _VERSION:
                raise WorkerError("connection", "the server did not say hello")
        except BaseException:
            self.close()
            raise
        self.mode, self.cage, self.version = str(hello.get("mode")), str(hello.get("cage")), str(hello.get("cuvet"))

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def scan(self, source: Source, *, depth: str = "full", arch: Optional[str] = None, deadline_ms: Optional[int] = None,
             cpu_ms: Optional[int] = None, memory: Optional[int] = None, output: Optional[int] = None) -> Answer:
        """As :func:`cuvet.scan`; findings, verdict and counts, and no members."""
        return self._ask("scan", source, {"depth": depth, "target": arch, "deadline_ms": deadline_ms, "cpu_ms": cpu_ms,
                                          "memory": memory, "output": output})

    def link(self, inputs: Inputs, *, arch: str, policy: str = "reference", kernels: Sequence[str] = (),
             deadline_ms: Optional[int] = None, cpu_ms: Optional[int] = None, memory: Optional[int] = None,
             output: Optional[int] = None, **flags: Unpack[LinkFlags]) -> Answer:
        """As :func:`cuvet.link`, without `optional` inputs."""
        return self._ask("link", inputs, {"target": arch, "policy": policy, "kernels": list(kernels) or None,
                                          "flags": _flags(LinkFlags, flags), "deadline_ms": deadline_ms, "cpu_ms": cpu_ms,
                                          "memory": memory, "output": output})

    def select(self, source: Source, *, arch: str, request: str = "link", policy: str = "reference",
               deadline_ms: Optional[int] = None, cpu_ms: Optional[int] = None, memory: Optional[int] = None,
               output: Optional[int] = None, **flags: Unpack[SelectFlags]) -> Answer:
        """As :func:`cuvet.select`."""
        return self._ask("select", source, {"target": arch, "policy": policy, "request": request.replace("-", ""),
                                            "flags": _flags(SelectFlags, flags), "deadline_ms": deadline_ms,
                                            "cpu_ms": cpu_ms, "memory": memory, "output": output})

    def finalize(self, source: Source, *, arch: Optional[str] = None, form: Optional[str] = None, policy: str = "reference",
                 backend: Optional[str] = None, deadline_ms: Optional[int] = None, cpu_ms: Optional[int] = None,
                 memory: Optional[int] = None, output: Optional[int] = None, **flags: Unpack[FinalizeFlags]) -> Answer:
        """As :func:`cuvet.finalize`."""
        return self._ask("finalize", source, {"target": arch, "policy": policy, "form": form, "backend": backend,
                                              "flags": _flags(FinalizeFlags, flags), "deadline_ms": deadline_ms,
                                              "cpu_ms": cpu_ms, "memory": memory, "output": output})

    def counters(self) -> Dict[str, int]:
        """What happened in the server so far: jobs, answered, lost, deadline, cpu, memory, protocol, refused, started,
        busy, waiting."""
        reply, _ = self._request({"do": "counters"}, [])
        with self._that_closes():
            return {name: _number(value) for name, value in reply.get("counters", {}).items()}

    def _ask(self, what: str, inputs: Inputs, members: Mapping[str, object]) -> Answer:
        request: Dict[str, object] = {"do": what, **{name: value for name, value in members.items() if value is not None}}
        told = request["inputs"] = []
        with ExitStack() as stack:
            files: List[int] = []
            for entry in inputs_of(inputs):
                if entry.optional:
                    raise TypeError("a worker has no optional inputs")
                file = _file_of(entry, stack)
                told.append(_told(entry, len(files), os.fstat(file).st_size))
                files.append(file)
            if len(files) > _DESCRIPTORS:
                raise WorkerError("usage", "a request has %d inputs at most" % _DESCRIPTORS)
            reply, image = self._request(request, files)
        with self._that_closes():
            return _answer(reply, image)

    @contextlib.contextmanager
    def _that_closes(self) -> Iterator[None]:
        """A server that does not keep the protocol is not asked again."""
        try:
            yield
        except WorkerError as error:
            if error.name == "connection":
                self.close()
            raise

    def _request(self, request: Mapping[str, object], files: Sequence[int]) -> Tuple[Dict[str, Any], Optional[bytes]]:
        try:
            reply, image = self._exchange(request, files)
        except BaseException:
            # Whatever is on its way would be taken for the answer of another request.
            self.close()
            raise
        problem = reply.get("error")
        if problem is not None:
            raise WorkerError(str(problem["name"]), str(problem["text"]))
        return reply, image

    def _exchange(self, request: Mapping[str, object], files: Sequence[int]) -> Tuple[Dict[str, Any], Optional[bytes]]:
        body = json.dumps(request).encode("ascii")
        data = _LENGTH.pack(len(body)) + body
        sent = socket.send_fds(self._socket, [data], list(files)) if files else 0
        if sent < len(data):
            self._socket.sendall(data[sent:])
        got: List[int] = []
        try:
            size = _LENGTH.unpack(self._exactly(_LENGTH.size, got))[0]
            if size > _MOST:
                raise WorkerError("connection", "a frame of %d bytes" % size)
            reply = _object(self._exactly(size, got))
            return reply, _result(reply, got)
        finally:
            for file in got:
                os.close(file)

    def _exactly(self, size: int, files: List[int]) -> bytes:
        data = bytearray()
        space = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)
        while len(data) < size:
            more, control, _, _ = self._socket.recvmsg(size - len(data), space, socket.MSG_CMSG_CLOEXEC)
            for level, kind, body in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    numbers = array.array("i")
                    numbers.frombytes(body[:len(body) - len(body) % numbers.itemsize])
                    files += numbers
            if not more:
                raise WorkerError("connection", "the server hung up")
            data += more
        return bytes(data)


def _object(body: bytes) -> Dict[str, Any]:
    """A frame of the server as it has to be: what its members are is seen where they are used."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WorkerError("connection", "an answer that is no JSON: %s" % error) from error
    if not isinstance(reply, dict) or not _has_form(reply):
        raise WorkerError("connection", "an answer that has not the form of one")
    return reply


def _has_form(reply: Mapping[str, Any]) -> bool:
    problem = reply.get("error")
    return (problem is None or (isinstance(problem, dict) and {"name", "text"} <= problem.keys())) and all(
        isinstance(reply.get(name, {}), dict) for name in ("hello", "counts", "counters", "result")) and all(
        isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        for rows in (reply.get("findings", []), reply.get("events", [])))


def _flags(known: Any, flags: Any) -> Optional[List[str]]:
    return [name.replace("_", "-") for name in words_of(known.__optional_keys__, flags)] or None


def _file_of(entry: Input, stack: ExitStack) -> int:
    """A descriptor of its bytes, that lasts as long as the stack: of bytes a sealed memory file, which goes on as it is."""
    data = stable_bytes(entry.source)
    if data is None:
        return stack.enter_context(regular_file(entry.source, _COPY)).fileno()
    file = os.memfd_create("cuvet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, file)
    left = memoryview(data).cast("B")
    while left:
        left = left[os.write(file, left):]
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return file


def _told(entry: Input, number: int, size: int) -> Dict[str, object]:
    told: Dict[str, object] = {"fd": number, "name": entry.name, "offset": 0, "size": size}
    if entry.system:
        told["system"] = True
    if entry.host_library:
        told["library"] = True
    return told


def _number(value: object) -> int:
    """Numbers above 2^53 - 1 come as "0x..."."""
    if isinstance(value, str) and value.startswith("0x") and value[2:].isalnum():
        with contextlib.suppress(ValueError):
            return int(value, 16)
    if isinstance(value, int) and value >= 0:
        return value
    raise WorkerError("connection", "%r is no number" % (value,))


def _result(reply: Mapping[str, Any], files: Sequence[int]) -> Optional[bytes]:
    where = reply.get("result")
    if where is None:
        return None
    file, offset, left = (_number(where.get(name)) for name in ("fd", "offset", "size"))
    if file >= len(files):
        raise WorkerError("connection", "a result without a descriptor")
    data = bytearray()
    while left > len(data):
        more = os.pread(files[file], min(left - len(data), 1 << 24), offset + len(data))
        if not more:
            raise WorkerError("connection", "a result that is shorter than it says")
        data += more
    return bytes(data)


def _answer(reply: Mapping[str, Any], image: Optional[bytes]) -> Answer:
    end = reply.get("end")
    if end != "answered":
        said = ["%s %s" % (name.replace("_", " "), reply[name]) for name in ("signal", "exit_code") if name in reply]
        raise WorkerError(str(end), ", ".join(said) or "the job was not answered")
    return Answer(
        status=str(reply.get("status")),
        findings=tuple(_finding(told) for told in reply.get("findings", ())),
        events=tuple(_event(told) for told in reply.get("events", ())),
        dropped=_number(reply.get("dropped", 0)),
        image=image,
        verdict=reply.get("verdict"),
        counts={name: _number(value) for name, value in reply.get("counts", {}).items()},
        kind=reply.get("kind"),
        code=reply.get("code"),
        target=reply.get("target"),
    )


def _finding(told: Mapping[str, Any]) -> Finding:
    inner = told.get("inner_offset")
    return Finding(str(told.get("rule")), str(told.get("severity")), str(told.get("place")), str(told.get("text")),
                   _number(told.get("offset")), _number(told.get("length")), None if inner is None else _number(inner), None, None)


def _event(told: Mapping[str, Any]) -> Event:
    return Event(str(told.get("kind")), str(told.get("status")), str(told.get("file")), told.get("member"),
                 _number(told.get("offset")))
