# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules: what a finding means."""
from __future__ import annotations

from typing import Iterator

from cuvet._library import ffi, lib, text
from cuvet._results import Rule
from cuvet._words import encoded

_NAMES = 4096


def _rule(number: int) -> Rule:
    info, names = lib.cuvet_rule_get(number), ffi.new("char[]", _NAMES)
    lib.cuvet_rule_exempt(number, names, _NAMES)
    return Rule(
        id=text(info.id),
        severity=text(lib.cuvet_severity_name(info.severity)),
        kind=text(lib.cuvet_class_name(info.cls)),
        title=text(info.title),
        message=text(info.message),
        why=text(info.why),
        exempt=tuple(name for name in text(names).split(", ") if name),
    )


def rule(id: str) -> Rule:
    """What a rule means and why it exists: ``cuvet.rule("CV-ELF-012")``. Raises LookupError for an id that there is not."""
    number = ffi.new("cuvet_rule *")
    if lib.cuvet_rule_find(encoded(id, "id"), number) != lib.CUVET_OK:
        raise LookupError("there is no rule %r" % id)
    return _rule(number[0])


def rules() -> Iterator[Rule]:
    """All rules of this version."""
    number = 0
    while lib.cuvet_rule_get(number):
        yield _rule(number)
        number += 1
