# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finalize: a finished device ELF in, the same program for another target or in another form out."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack

from cuvet._context import Context
from cuvet._errors import Error, FinalizeError
from cuvet._images import bytes_of
from cuvet._library import ffi, lib, sized, text
from cuvet._limits import Limits
from cuvet._results import FinalizeResult
from cuvet._sources import Source, opened
from cuvet._words import encoded, flags_of, number_of, parse_target, target_name


class FinalizeFlags(TypedDict, total=False):
    """Switches of a finalization; all are off unless they are named."""

    no_fastpath: bool
    """No code is taken for another target unless it is made again."""
    self_check: bool
    """The backend runs twice, and must do the same."""
    tool_note: bool
    """Add a note of our own."""


def finalize(source: Source, *, arch: Optional[str] = None, form: Optional[str] = None, policy: str = "reference",
             phase: str = "alone", backend: Optional[str] = None, limits: Limits = None,
             **flags: Unpack[FinalizeFlags]) -> FinalizeResult:
    """The program of a device ELF for another machine of its family, or without its capsules, as far as that can be done
    without making code.

    :param source: bytes, a path, or a binary file object
    :param arch: "sm_103"; None: that of the input
    :param form: "sass", "capmerc" or "mercury"; None: that of the input
    :param policy: "reference", or "exact": code for sm_Na goes to target sm_Na only
    :param phase: "alone", "prelink" (an input of a link) or "postlink" (what a link made)
    :param backend: the only one to use: "copy" or "strip"; None: whichever can
    :param limits: see :func:`cuvet.limits`
    :param flags: see :class:`FinalizeFlags`
    :raises FinalizeError: it was refused: `code` and `findings` say why. "MALFORMED", "REFUSED", "UNSUPPORTED", "LIMIT",
        "NOMEM", "IO", "INTERNAL"
    :raises Error: "ARCH" (there is no such target), "USAGE" (no such backend)
    :raises OSError: the file cannot be opened or read
    :raises ValueError: a word or a limit that there is not
    :raises TypeError: what is no source, or a switch that there is not
    """
    options, out = sized("cuvet_finalize_options"), ffi.new("cuvet_finalizer *")
    options.flags = flags_of("CUVET_FINALIZE_", FinalizeFlags.__optional_keys__, flags)
    options.kind = number_of(lib.cuvet_form_name, form, "form") if form is not None else lib.CUVET_FORM_SAME
    options.policy = number_of(lib.cuvet_arch_policy_name, policy, "policy")
    options.phase = number_of(lib.cuvet_final_phase_name, phase, "phase")
    name = ffi.new("char[]", encoded(backend, "backend")) if backend is not None else ffi.NULL
    options.backend = name
    with Context(limits) as context:
        if arch is not None:
            context.check(parse_target(arch, options.target))
        context.check(lib.cuvet_finalizer_create(context.pointer, options, out))
        with opened(source, context.limits) as file:
            status = lib.cuvet_finalizer_run_source(context.pointer, out[0], file, ffi.NULL)
        made = sized("cuvet_final_result")
        known = lib.cuvet_finalizer_get_result(context.pointer, out[0], made) == lib.CUVET_OK
        try:
            context.check(status)
        except Error as error:
            code = text(lib.cuvet_final_code_name(made.code)) if known else None
            raise FinalizeError(error.status, error.text, error.findings, code) from None
        return _result(context, made)


def _result(context: Context, made: Any) -> FinalizeResult:
    return FinalizeResult(
        image=bytes_of(made),
        code=text(lib.cuvet_final_code_name(made.code)),
        source=target_name(made.source),
        target=target_name(made.target),
        source_form=text(lib.cuvet_form_name(getattr(made, "from"))),
        target_form=text(lib.cuvet_form_name(made.to)),
        backend=text(made.backend) if made.backend else None,
        findings=context.findings(),
    )
