# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Select: which piece of device code in a file goes to a target, and that piece itself."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Tuple, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack

from cuvet._context import Context
from cuvet._errors import Error, SelectError
from cuvet._images import bytes_of, info_of
from cuvet._library import ffi, lib, sized, text
from cuvet._limits import Limits
from cuvet._results import Candidate, SelectResult
from cuvet._sources import Source, opened
from cuvet._words import arch_name, flags_of, number_of, parse_target, target_name


class SelectFlags(TypedDict, total=False):
    """Switches of a selection; all are off unless they are named."""

    address32: bool
    """Take members without the 64-bit mark as well."""
    lenient: bool
    """Take for device code what the reference tools take for it, whatever its header says."""


def _candidates(context: Context, selection: Any) -> Tuple[Candidate, ...]:
    found: List[Candidate] = []
    made = sized("cuvet_candidate")
    while lib.cuvet_select_get_candidate(context.pointer, selection, len(found), made) == lib.CUVET_OK:
        kind = text(lib.cuvet_kind_name(made.kind))
        found.append(Candidate(
            place=context.path(made.where),
            kind=kind,
            arch=arch_name(kind, made.sm, made.suffix),
            reason=text(lib.cuvet_reason_name(made.reason)),
            rank=made.rank,
            chosen=bool(made.flags & lib.CUVET_CANDIDATE_CHOSEN),
            offset=made.header_off,
            depth=made.depth,
        ))
    return tuple(found)


def select(source: Source, *, arch: str, request: str = "link", policy: str = "reference", limits: Limits = None,
           **flags: Unpack[SelectFlags]) -> SelectResult:
    """The piece of device code in a file that goes to a target, as nvlink chooses it; unpacked, and judged.

    :param source: bytes, a path, or a binary file object
    :param arch: "sm_90a"
    :param request: "link" (SASS, or PTX through a compiler), "sass", "ptx", "lto-ir": members of that kind only
    :param policy: "reference", or "exact": code for sm_Na goes to target sm_Na only
    :param limits: see :func:`cuvet.limits`
    :param flags: see :class:`SelectFlags`
    :raises SelectError: there is no such piece, or it is not fit: `candidates` say what there was, `findings` why.
        "NO_MATCH", "COMPILER" (there is only PTX, and no compiler), "REFUSED", "MALFORMED", "UNSUPPORTED", "UNKNOWN",
        "TRUNCATED", "LIMIT", "NOMEM", "IO"
    :raises Error: "ARCH" (there is no such target)
    :raises OSError: the file cannot be opened or read
    :raises ValueError: a word or a limit that there is not
    :raises TypeError: what is no source, or a switch that there is not
    """
    options, out = sized("cuvet_select_options"), ffi.new("cuvet_select *")
    options.flags = flags_of("CUVET_SELECT_", SelectFlags.__optional_keys__, flags)
    options.request = number_of(lib.cuvet_request_name, request, "request")
    options.policy = number_of(lib.cuvet_arch_policy_name, policy, "policy")
    with Context(limits) as context:
        context.check(parse_target(arch, options.target))
        context.check(lib.cuvet_select_create(context.pointer, options, out))
        try:
            with opened(source, context.limits) as file:
                context.check(lib.cuvet_select_bind_source(context.pointer, out[0], file, ffi.NULL))
            context.check(lib.cuvet_select_run(context.pointer, out[0]))
        except Error as error:
            raise SelectError(error.status, error.text, error.findings, _candidates(context, out[0])) from None
        image = ffi.new("cuvet_image *")
        context.check(lib.cuvet_select_take_image(context.pointer, out[0], image))
        info = info_of(context, image[0])
        return SelectResult(bytes_of(info), text(lib.cuvet_kind_name(info.kind)), target_name(info.target),
                            bool(info.flags & lib.CUVET_IMAGE_COMPILED), _candidates(context, out[0]), context.findings())
