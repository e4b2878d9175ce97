# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A context of the library for one call, and what it says."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, List, NoReturn, Optional, Tuple, Type

from cuvet._errors import Error
from cuvet._library import ffi, lib, sized, text
from cuvet._limits import Limits, structure_of
from cuvet._results import Finding
from cuvet._words import rule_id, status_name

_TEXT = 1024


def _keep(kind: Any, error: BaseException, trace: TracebackType) -> None:
    """Nothing goes up through C: the context keeps it, and raises it when C has returned."""
    context = ffi.from_handle(trace.tb_frame.f_locals["user"])
    if context.failure is None:
        context.failure = error


@ffi.callback("cuvet_diag_fn", onerror=_keep)  # type: ignore[untyped-decorator]
def _said(user: Any, diag: Any) -> None:
    ffi.from_handle(user).hear(diag)


class Context:
    """A cuvet_ctx as long as the block lasts. Whatever was made in it goes with it."""

    def __init__(self, limits: Limits = None) -> None:
        self.limits = structure_of(limits)
        self.failure: Optional[BaseException] = None
        # Of a link: the names that a diagnostic is about.
        self.symbols: Callable[[Any], Tuple[str, ...]] = lambda diag: ()
        self._heard: List[Any] = []
        self._findings: List[Finding] = []
        self._buffer = ffi.new("char[]", _TEXT)
        self._handle = ffi.new_handle(self)
        self.pointer: Any = ffi.NULL

    def __enter__(self) -> Context:
        options, out = sized("cuvet_ctx_options"), ffi.new("cuvet_ctx **")
        options.limits, options.diag, options.diag_user = self.limits, _said, self._handle
        self.check(lib.cuvet_ctx_create(options, out))
        self.pointer = out[0]
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        lib.cuvet_ctx_destroy(self.pointer)
        self.pointer = ffi.NULL
        self._handle = None

    def hear(self, diag: Any) -> None:
        self._heard.append(ffi.new("cuvet_diag *", diag[0]))

    def findings(self) -> Tuple[Finding, ...]:
        """All that was said so far."""
        self._findings += [self._finding(diag, self.symbols(diag)) for diag in self._heard]
        self._heard.clear()
        return tuple(self._findings)

    def check(self, *statuses: int) -> None:
        """Raise what a callback kept, or Error for the first status that is not OK."""
        if self.failure is not None:
            raise self.failure
        for status in statuses:
            if status != lib.CUVET_OK:
                self.refuse(status)

    def refuse(self, status: int) -> NoReturn:
        raise Error(status_name(status), text(lib.cuvet_status_text(status)), self.findings())

    def path(self, where: Any) -> str:
        needed = lib.cuvet_path_text(ffi.addressof(where), self._buffer, _TEXT)
        assert needed < _TEXT, "a path has a dozen steps at most"
        return text(self._buffer)

    def _message(self, diag: Any) -> str:
        needed = lib.cuvet_diag_message(diag, self._buffer, _TEXT)
        if needed < _TEXT:
            return text(self._buffer)
        longer = ffi.new("char[]", needed + 1)
        lib.cuvet_diag_message(diag, longer, needed + 1)
        return text(longer)

    def _finding(self, diag: Any, symbols: Tuple[str, ...]) -> Finding:
        info = lib.cuvet_rule_get(diag.rule)
        return Finding(
            rule=rule_id(diag.rule),
            severity=text(lib.cuvet_severity_name(diag.severity)),
            place=self.path(diag.where),
            text="%s: %s" % (text(info.title) if info else "?", self._message(diag)),
            offset=diag.file_off,
            length=diag.length,
            inner_offset=diag.inner_off if diag.flags & lib.CUVET_DIAG_INNER else None,
            got=diag.got,
            want=diag.want,
            symbols=symbols,
        )
