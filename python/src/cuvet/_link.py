# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link: relocatable device ELFs in, a device ELF out."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence, Tuple, TypedDict, Union, cast

if TYPE_CHECKING:
    from typing_extensions import Unpack

from cuvet._context import Context
from cuvet._errors import Error, LinkError
from cuvet._images import bytes_of, info_of
from cuvet._library import ffi, lib, sized, text
from cuvet._limits import Limits
from cuvet._results import Event, LinkResult
from cuvet._sources import Source, is_path, opened
from cuvet._words import encoded, flags_of, number_of, parse_target, status_name, target_name


class LinkFlags(TypedDict, total=False):
    """Switches of a link; all are off unless they are named."""

    relocatable: bool
    """The result is to be linked again (-r)."""
    exact_relocatable: bool
    """With relocatable: in the reference linker's form, which loses what a later link needs."""
    debug: bool
    """Keep the symbols of shared variables, and dead code (-g)."""
    preserve_relocs: bool
    """Keep a record of every relocation that was applied, and dead code."""
    keep_dead: bool
    """Code that no kernel reaches stays, and all kernels."""
    no_stack_warning: bool
    """Say nothing of kernels whose stack size is not known."""
    warnings_are_errors: bool
    host_info: bool
    """Kernels that no host code refers to are dead."""
    undefined_variables: bool
    """Variables in global memory may stay undefined."""
    no_reserved_shared: bool
    """Set nothing aside in shared memory (sm_90 and later)."""
    all_shared: bool
    """Kernels may have as much static shared memory as the machine has, and not 48 KiB alone."""


class LocalLinkFlags(LinkFlags, total=False):
    """Switches that a worker does not know."""

    may_be_empty: bool
    """When no input takes part the result is a device ELF without code."""
    modules_only: bool
    """Take no code: only what host objects say of their modules. The image is empty."""


@dataclass(frozen=True)
class Input:
    """An input of a link, with what is to be said of it."""

    source: Source
    """A device ELF, or what holds device code: .o of nvcc, archive, fat binary, program, shared object."""
    name: Optional[str] = None
    """For messages; None: the path, or "input N"."""
    system: bool = False
    """A system library: left out as a whole unless other inputs lack a function."""
    host_library: bool = False
    """It is no failure when it holds no device code."""
    optional: bool = False
    """Left out where it has no code for the target."""


Inputs = Union[Source, Input, Iterable[Union[Source, Input]]]


def inputs_of(given: Inputs) -> List[Input]:
    """One source is a list of one. Raises TypeError."""
    one = isinstance(given, Input) or is_path(given) or _is_one(given)
    several = [cast(Union[Source, Input], given)] if one else cast(Iterable[Union[Source, Input]], given)
    made = []
    for number, each in enumerate(several):
        entry = each if isinstance(each, Input) else Input(each)
        if entry.name is None:
            name = os.fsdecode(entry.source) if is_path(entry.source) else "input %d" % number  # type: ignore[arg-type]
            entry = Input(entry.source, name, entry.system, entry.host_library, entry.optional)
        made.append(entry)
    return made


def _is_one(given: object) -> bool:
    if hasattr(given, "read"):
        return True
    try:
        memoryview(given).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


class _Link:
    """A linker, and what it said."""

    def __init__(self, context: Context, arch: str, policy: str, kernels: Sequence[str], flags: int) -> None:
        options, self._out = sized("cuvet_linker_options"), ffi.new("cuvet_linker *")
        context.check(parse_target(arch, options.target))
        options.policy = number_of(lib.cuvet_arch_policy_name, policy, "policy")
        options.flags = flags
        # Borrowed by the library until the end.
        self._names = [ffi.new("char[]", encoded(name, "kernels")) for name in kernels]
        self._list = ffi.new("char const *[]", self._names)
        options.kernels_used, options.n_kernels_used = self._list, len(self._names)
        self._context = context
        self._events: List[Event] = []
        context.check(lib.cuvet_linker_create(context.pointer, options, self._out))
        context.symbols = self._symbols

    @property
    def handle(self) -> Any:
        return self._out[0]

    def add(self, entry: Input) -> int:
        """Returns a status: the other inputs are looked at as well."""
        options = sized("cuvet_add_options")
        marks = {"system": entry.system, "library": entry.host_library, "optional": entry.optional}
        options.flags = flags_of("CUVET_ADD_", marks.keys(), marks)
        with opened(entry.source, self._context.limits) as file:
            status = lib.cuvet_linker_add_file(self._context.pointer, self.handle, file, encoded(entry.name or "", "name"), options)
        self._context.check()
        self._context.findings()  # names are borrowed until the next file is added
        self.events()
        return int(status)

    def complete(self) -> None:
        self._context.check(lib.cuvet_linker_complete(self._context.pointer, self.handle))

    def events(self) -> Tuple[Event, ...]:
        made = sized("cuvet_event")
        while lib.cuvet_linker_get_event(self._context.pointer, self.handle, len(self._events), made) == lib.CUVET_OK:
            self._events.append(Event(
                kind=text(lib.cuvet_event_kind_name(made.kind)),
                status=status_name(made.status),
                file=text(made.file),
                member=text(made.member) if made.member else None,
                offset=made.off,
            ))
        return tuple(self._events)

    def inputs(self) -> Tuple[str, ...]:
        return self._texts(lib.cuvet_linker_get_name)

    def modules(self) -> Tuple[str, ...]:
        return self._texts(lib.cuvet_linker_get_module)

    def _texts(self, get: Any) -> Tuple[str, ...]:
        found: List[str] = []
        out = ffi.new("char const **")
        while get(self._context.pointer, self.handle, len(found), out) == lib.CUVET_OK:
            found.append(text(out[0]))
        return tuple(found)

    def _symbols(self, diag: Any) -> Tuple[str, ...]:
        found: List[str] = []
        out, size = ffi.new("char const **"), ffi.new("size_t *")
        for which in (0, 1):
            if lib.cuvet_linker_get_symbol(self._context.pointer, self.handle, diag, which, out, size) == lib.CUVET_OK:
                found.append(bytes(ffi.buffer(out[0], size[0])).decode("utf-8", "backslashreplace"))
        return tuple(found)

    def result(self, modules_only: bool) -> LinkResult:
        counted, image = sized("cuvet_link_result"), ffi.new("cuvet_image *")
        self._context.check(lib.cuvet_linker_get_result(self._context.pointer, self.handle, counted))
        data, arch = b"", None
        if not modules_only:
            self._context.check(lib.cuvet_linker_get_image(self._context.pointer, self.handle, image))
            info = info_of(self._context, image[0])
            data, arch = bytes_of(info), target_name(info.target)
        return LinkResult(data, arch, self._context.findings(), self.events(), self.inputs(), self.modules(),
                          counted.objects, counted.functions, counted.kernels)

    def refusal(self, error: Error) -> LinkError:
        return LinkError(error.status, error.text, self._context.findings(), self.events(), self.inputs())


def link(inputs: Inputs, *, arch: str, policy: str = "reference", kernels: Sequence[str] = (), limits: Limits = None,
         **flags: Unpack[LocalLinkFlags]) -> LinkResult:
    """Link what `nvcc -rdc=true -c` made. A link happens whole or not at all.

    :param inputs: a source, or several: bytes, paths, binary file objects, or :class:`Input`
    :param arch: "sm_90a"
    :param policy: "reference" (the rules of nvlink), or "exact": code for sm_Na goes to target sm_Na only
    :param kernels: kernels whose names hold one of these stay, the others are dead; empty: all stay
    :param limits: see :func:`cuvet.limits`
    :param flags: see :class:`LinkFlags` and :class:`LocalLinkFlags`
    :raises LinkError: the link was refused: `findings` name rule, offset, what was found and what was expected, `events`
        say what became of each file. "MALFORMED", "REFUSED", "UNKNOWN", "TRUNCATED", "UNSUPPORTED", "NO_MATCH",
        "COMPILER" (there is PTX, and no compiler), "LIMIT", "NOMEM", "IO", "INTERNAL"
    :raises Error: "ARCH" (there is no such target), "USAGE" (switches that do not go together)
    :raises OSError: a file cannot be opened or read
    :raises ValueError: a word or a limit that there is not
    :raises TypeError: what is no source, or a switch that there is not
    """
    bits = flags_of("CUVET_LINK_", LocalLinkFlags.__optional_keys__, flags)
    with Context(limits) as context:
        linker = _Link(context, arch, policy, kernels, bits)
        try:
            context.check(*[linker.add(entry) for entry in inputs_of(inputs)])
            linker.complete()
        except Error as error:
            raise linker.refusal(error) from None
        return linker.result(bool(flags.get("modules_only")))
