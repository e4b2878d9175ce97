# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scan: what is in a file, what is wrong with it, and the bytes of its pieces."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Iterator, Optional, Tuple, Type, Union

from cuvet._context import Context
from cuvet._errors import Error
from cuvet._library import ffi, lib, sized, text
from cuvet._limits import Limits
from cuvet._results import Counts, Member, Producer, ScanResult
from cuvet._sources import Source, opened
from cuvet._words import arch_name, number_of, parse_target, status_name


class _Scan:
    """A scan that runs, as long as the block lasts: its source has to last longer."""

    def __init__(self, context: Context, source: Any, depth: str, jobs: int = 1, arch: Optional[str] = None) -> None:
        options, self._out = sized("cuvet_scan_options"), ffi.new("cuvet_scan *")
        options.depth, options.jobs = number_of(lib.cuvet_depth_name, depth, "depth"), jobs
        if arch is not None:
            context.check(parse_target(arch, options.target))
        self._context, self._item = context, sized("cuvet_item")
        context.check(lib.cuvet_scan_create(context.pointer, source, options, self._out))

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        lib.cuvet_scan_destroy(self._context.pointer, self._out)

    def members(self) -> Iterator[Member]:
        """Each piece; its findings were heard before. Raises Error where the scan does not get to its end."""
        index = 0
        while True:
            status = lib.cuvet_scan_next(self._context.pointer, self._out[0], self._item)
            if status == lib.CUVET_END:
                self._context.check()
                return
            self._context.check(status)
            yield self._member(index)
            index += 1

    def payload(self) -> Optional[bytes]:
        """The bytes of the piece that members() gave last; None: they could not be unpacked."""
        data, size = ffi.new("void const **"), ffi.new("size_t *")
        status = lib.cuvet_scan_payload(self._context.pointer, self._out[0], data, size)
        if status == lib.CUVET_E_NO_MATCH:
            return None
        self._context.check(status)
        return bytes(ffi.buffer(data[0], size[0]))

    def summary(self) -> Any:
        made = sized("cuvet_summary")
        self._context.check(lib.cuvet_scan_summary(self._context.pointer, self._out[0], made))
        return made

    def _member(self, index: int) -> Member:
        item = self._item
        kind = text(lib.cuvet_kind_name(item.kind))
        examined = bool(item.flags & lib.CUVET_ITEM_EXAMINED)
        return Member(
            index=index,
            place=self._context.path(item.where),
            kind=kind,
            arch=arch_name(kind, item.arch, item.suffix),
            compression=text(lib.cuvet_compression_name(item.compression)),
            lies=text(lib.cuvet_place_name(item.place)),
            in_container=bool(item.flags & lib.CUVET_ITEM_IN_CONTAINER),
            referenced=bool(item.flags & lib.CUVET_ITEM_REFERENCED),
            examined=examined,
            container_offset=item.container_off,
            offset=item.header_off,
            payload_offset=item.payload_off,
            stored_size=item.stored_size,
            size=item.unpacked_size,
            version=(item.major, item.minor),
            raw_kind=item.raw_kind,
            flags=item.member_flags,
            identifier=_bytes(item.ident, item.ident_len) or b"",
            archive_member=_bytes(item.ar_name, item.ar_name_len),
            triple=_bytes(item.triple, item.triple_len),
            kernels=item.kernels if examined and item.kind == lib.CUVET_K_CUBIN else None,
            producer=_producer(item.producer),
            errors=item.errors,
            warnings=item.warnings,
        )


def _bytes(pointer: Any, size: int) -> Optional[bytes]:
    return bytes(ffi.buffer(pointer, size)) if pointer else None


def _producer(said: Any) -> Optional[Producer]:
    tool = text(said.tool) if said.tool else ""
    if not tool and not said.version:
        return None
    version = "%d.%d" % divmod(said.version, 10) if said.version else None
    return Producer(tool, version, bool(said.flags & lib.CUVET_PRODUCER_INFERRED))


def _counts(summary: Any) -> Counts:
    return Counts(**{name: getattr(summary, name) for name in Counts.__dataclass_fields__})


def scan(source: Source, *, depth: str = "full", jobs: int = 1, arch: Optional[str] = None, limits: Limits = None) -> ScanResult:
    """Find every piece of device code in a file, unpack it, and judge it. A damaged file is a result: see its verdict and
    its findings.

    :param source: bytes, a path, or a binary file object, which is read from where it stands to its end
    :param depth: "full", or "headers": nothing is unpacked, as in :func:`list`
    :param jobs: threads of the library; the result does not depend on it
    :param arch: notes tell where a linker would not take a device ELF for this target
    :param limits: see :func:`cuvet.limits`
    :raises Error: the scan did not get to the end of the file: "NOMEM", "IO", "LIMIT" (memory), "INTERNAL"; "ARCH" (there
        is no such target). A limit that the file reached is a verdict
    :raises OSError: the file cannot be opened or read
    :raises ValueError: a word or a limit that there is not
    """
    if not 0 <= jobs < 1 << 32:
        raise ValueError("jobs: %r is out of range" % jobs)
    with Context(limits) as context, opened(source, context.limits) as file, _Scan(context, file, depth, jobs, arch) as running:
        members = tuple(running.members())
        summary = running.summary()
        return ScanResult(text(lib.cuvet_verdict_name(summary.verdict)), context.findings(), members, _counts(summary))


def list(source: Source, *, limits: Limits = None) -> ScanResult:
    """What is in a file, by its headers alone: nothing is unpacked, and nothing inside of a piece is judged.

    The members are in the order, and have the numbers and places, of :func:`scan`, but for those that only unpacking shows.
    Parameters and exceptions as there."""
    return scan(source, depth="headers", limits=limits)


def walk(source: Source, *, limits: Limits = None) -> Iterator[Tuple[Member, Optional[bytes]]]:
    """Each piece of a file with its unpacked bytes; None instead of them: scrambled, damaged, or a limit in the way (the
    member says how many findings it has; :func:`scan` tells them). One piece at a time is in memory.

    Exceptions as of :func:`scan`, when the first piece is asked for or later."""
    with Context(limits) as context, opened(source, context.limits) as file, _Scan(context, file, "full") as running:
        for member in running.members():
            yield member, running.payload()


def unpack(source: Source, member: Union[int, str, Member] = 0, *, limits: Limits = None) -> bytes:
    """The bytes of one piece of a file, decompressed.

    :param member: its number or its place, as :func:`list` tells them, or the member itself
    :raises LookupError: there is no such piece
    :raises TypeError: what is no member, or no source
    :raises Error: "NO_MATCH": it is there and cannot be unpacked; the findings say why, or it is scrambled; else as of
        :func:`scan`
    :raises OSError: the file cannot be opened or read
    """
    wanted = member.place if isinstance(member, Member) else member
    if not isinstance(wanted, (int, str)):
        raise TypeError("a member is a number, a place or a Member, not %s" % type(wanted).__name__)
    with Context(limits) as context, opened(source, context.limits) as file, _Scan(context, file, "full") as running:
        for found in running.members():
            if wanted in (found.index, found.place):
                data = running.payload()
                if data is None:
                    status = lib.CUVET_E_NO_MATCH
                    why = "scrambled: it cannot be unpacked" if found.compression == "opaque" else "it cannot be unpacked"
                    within = tuple(finding for finding in context.findings() if _is_within(finding.place, found.place))
                    raise Error(status_name(status), "%s (%s)" % (why, found.place or "file"), within)
                return data
    raise LookupError("there is no piece %r" % (wanted,))


def _is_within(place: str, outer: str) -> bool:
    return place == outer or place.startswith(outer + "/") or not outer
