# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions. What they say is in attributes; the text is for people."""
from __future__ import annotations

from typing import Optional, Tuple

from cuvet._results import Candidate, Event, Finding


class Error(Exception):
    """The library said no."""

    status: str
    """ "MALFORMED", "REFUSED", "LIMIT", "ARCH"...: what a program branches on."""
    text: str
    """The status for people."""
    findings: Tuple[Finding, ...]
    """What was said before it: rule, offset, what was found and what was expected."""

    def __init__(self, status: str, text: str, findings: Tuple[Finding, ...] = (), *more: object) -> None:
        super().__init__(status, text, findings, *more)
        self.status, self.text, self.findings = status, text, findings

    @property
    def reason(self) -> Optional[Finding]:
        """The last finding of the worst severity, notes left out: why it failed. None where the status says it all."""
        for severity in ("error", "warning"):
            for finding in reversed(self.findings):
                if finding.severity == severity:
                    return finding
        return None

    def __str__(self) -> str:
        reason = self.reason
        return "%s: %s" % (self.status, self.text if reason is None else reason)


class LinkError(Error):
    """A link that was refused."""

    events: Tuple[Event, ...]
    """What became of the files: one that was refused has a status."""
    inputs: Tuple[str, ...]
    """Names by the numbers that findings have ("member[N]")."""

    def __init__(self, status: str, text: str, findings: Tuple[Finding, ...] = (), events: Tuple[Event, ...] = (),
                 inputs: Tuple[str, ...] = ()) -> None:
        super().__init__(status, text, findings, events, inputs)
        self.events, self.inputs = events, inputs


class FinalizeError(Error):
    """A finalization that was refused."""

    code: Optional[str]
    """ "NO_COMPAT", "NO_BACKEND"...: what docs/finalize.md explains. None: it did not come as far."""

    def __init__(self, status: str, text: str, findings: Tuple[Finding, ...] = (), code: Optional[str] = None) -> None:
        super().__init__(status, text, findings, code)
        self.code = code


class SelectError(Error):
    """A selection without a result."""

    candidates: Tuple[Candidate, ...]
    """What there was, and why it was not taken."""

    def __init__(self, status: str, text: str, findings: Tuple[Finding, ...] = (),
                 candidates: Tuple[Candidate, ...] = ()) -> None:
        super().__init__(status, text, findings, candidates)
        self.candidates = candidates


class WorkerError(Exception):
    """A worker, or the server in front of it, gave no answer of the library.

    `name` is how the job ended ("lost", "deadline", "cpu", "memory", "protocol"), what the server says of the request
    ("usage", "busy", "internal", "version"), or "connection": it hung up, or does not keep the protocol."""

    name: str
    text: str

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name, self.text = name, text

    def __str__(self) -> str:
        return "%s: %s" % (self.name, self.text)
