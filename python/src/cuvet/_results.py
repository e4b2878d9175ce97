# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes back: plain data, and nothing of the library behind it."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Tuple


@dataclass(frozen=True)
class Finding:
    """Something that was said of an input."""

    rule: str
    """ "CV-ELF-012": stable; :func:`cuvet.rule` explains it."""
    severity: str
    """ "note", "warning" or "error"."""
    place: str
    """ "fatbin[0]/entry[2]/elf/section[7]"; "" is the file itself. Of a link, "member[N]" is input number N."""
    text: str
    """ "Title: message", without bytes of the input."""
    offset: int
    """Bytes from the start of the outermost file; of decompressed content, where its payload begins."""
    length: int
    """Bytes concerned; 0: a point."""
    inner_offset: Optional[int]
    """Bytes from the start of the decompressed content; None: the place is not in such content."""
    got: Optional[int]
    """What was found; the rule's message gives the meaning. None: not told (a worker's answer)."""
    want: Optional[int]
    """What was expected."""
    symbols: Tuple[str, ...] = ()
    """Of a link: the names that it is about, as the inputs have them."""

    def __str__(self) -> str:
        inner = "" if self.inner_offset is None else ", unpacked 0x%x" % self.inner_offset
        names = " [%s]" % ", ".join(self.symbols) if self.symbols else ""
        return "%s %s %s (%s at 0x%x%s)%s" % (self.severity, self.rule, self.text, self.place or "file", self.offset, inner, names)


@dataclass(frozen=True)
class Producer:
    """Who wrote a device ELF."""

    tool: str
    """ "ptxas", "nvlink"...; "toolkit": not said which tool; "" unknown."""
    version: Optional[str]
    """ "13.0"; None: not known."""
    inferred: bool
    """Concluded from the header, not said by a note in the file."""


@dataclass(frozen=True)
class Member:
    """One piece of device code: a member of a container, or an image that lies outside of one."""

    index: int
    """Its number in the file, from 0."""
    place: str
    """ "fatbin[0]/entry[2]"."""
    kind: str
    """ "elf", "ptx", "lto-ir", "mercury", "fatbin", "bitcode", "nvvm" or "unknown"."""
    arch: Optional[str]
    """ "sm_90a", "compute_90", "lto_90"; None: not known."""
    compression: str
    """ "none", "lz4", "zstd", "opaque" (scrambled: cannot be unpacked) or "unknown"."""
    lies: str
    """Where it lies, which decides who takes it from there: "file", "member", "object", "program"..."""
    in_container: bool
    referenced: bool
    """A wrapper names the container, or it is the file itself."""
    examined: bool
    """It was unpacked and judged."""
    container_offset: int
    offset: int
    """Of its header, in bytes from the start of the file."""
    payload_offset: int
    stored_size: int
    size: int
    """Bytes after decompression."""
    version: Tuple[int, int]
    """Version pair of the member header."""
    raw_kind: int
    flags: int
    """Of the member header."""
    identifier: bytes
    archive_member: Optional[bytes]
    """Name of the archive member that it was found in, as it is stored; None: outside of archives."""
    triple: Optional[bytes]
    """Target triple of bitcode, as it is in the file."""
    kernels: Optional[int]
    """Of an examined device ELF."""
    producer: Optional[Producer]
    errors: int
    warnings: int


@dataclass(frozen=True)
class Counts:
    """What a scan counted."""

    containers: int
    unreferenced: int
    """Containers that no wrapper names, where there are wrappers."""
    members: int
    images: int
    """Device code outside of containers."""
    elf: int
    ptx: int
    ltoir: int
    bitcode: int
    other: int
    stored: int
    unpacked: int
    opaque: int
    gap_bytes: int
    notes: int
    warnings: int
    errors: int
    suppressed: int
    """Findings above the limit of one rule: only counted."""


@dataclass(frozen=True)
class ScanResult:
    """What a scan says of one file."""

    verdict: str
    """ "clean", "unsupported", "suspicious", "malformed", "limit" or "error": the worst that was found."""
    findings: Tuple[Finding, ...]
    """In the order of the file."""
    members: Tuple[Member, ...]
    """In the order of the file; damaged ones are members as well."""
    counts: Counts


@dataclass(frozen=True)
class Event:
    """What became of a file of a link, or of a piece of it."""

    kind: str
    """ "taken", "retargeted", "compiled", "no-match", "needs-compiler", "refused"..."""
    status: str
    """ "OK": taken, or left out rightly."""
    file: str
    member: Optional[str]
    """Name of the member of an archive; None: the whole file."""
    offset: int


@dataclass(frozen=True)
class LinkResult:
    """A link that happened."""

    image: bytes = field(repr=False)
    arch: Optional[str]
    findings: Tuple[Finding, ...]
    """Warnings and notes; what was refused is an exception."""
    events: Tuple[Event, ...]
    inputs: Tuple[str, ...]
    """Names by the numbers that findings have ("member[N]")."""
    modules: Tuple[str, ...]
    """Modules of host objects that took part: what a host program has to register."""
    objects: int
    functions: int
    kernels: int


@dataclass(frozen=True)
class FinalizeResult:
    """A finalization that happened."""

    image: bytes = field(repr=False)
    code: str
    """ "OK", or "NOT_NEEDED": the input is what was asked for, and `image` has its bytes."""
    source: Optional[str]
    target: Optional[str]
    source_form: str
    """ "sass", "capmerc" or "mercury"."""
    target_form: str
    backend: Optional[str]
    """That did it: "copy", "strip"; None: nothing was to be done."""
    findings: Tuple[Finding, ...]


@dataclass(frozen=True)
class Candidate:
    """A piece that a selection looked at."""

    place: str
    kind: str
    arch: Optional[str]
    reason: str
    """Why it was not taken: "family", "newer", "suffix"...; "none": it fits."""
    rank: int
    """1: the best of those that fit; 0: does not fit."""
    chosen: bool
    offset: int
    """Of its header, from the start of the payload, or of the unpacked outer member."""
    depth: int
    """0: in the payload itself; n: in a container that a chosen member holds."""


@dataclass(frozen=True)
class SelectResult:
    """The piece that goes to a target."""

    image: bytes = field(repr=False)
    kind: str
    arch: Optional[str]
    compiled: bool
    candidates: Tuple[Candidate, ...]
    findings: Tuple[Finding, ...]


@dataclass(frozen=True)
class Rule:
    """What a rule means, and why it exists."""

    id: str
    severity: str
    kind: str
    """What kind of trouble it reports: "form", "unsupported", "limit", "io", "internal", "target" or "profile"."""
    title: str
    message: str
    """Template: {got} and {want} are the finding's."""
    why: str
    exempt: Tuple[str, ...]
    """Producers that it is not applied to."""
