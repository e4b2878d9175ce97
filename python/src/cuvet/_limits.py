# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits: what an input may cost."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from cuvet._library import ffi, lib, sized, text
from cuvet._words import encoded

Limits = Union[str, Mapping[str, int], None]
"""A preset ("strict", "roomy", "tiny"), or limits by name that differ from "strict"; None: "strict"."""


def _preset(name: str) -> Any:
    made = sized("cuvet_limits")
    if lib.cuvet_limits_preset(encoded(name, "limits"), made) != lib.CUVET_OK:
        raise ValueError("limits: %r is no preset" % name)
    return made


def limits(preset: str = "strict") -> Dict[str, int]:
    """All limits of a preset by name, to change some of them: ``{**cuvet.limits("roomy"), "input": 1 << 20}``.

    Raises ValueError for a preset that there is not."""
    made, found = _preset(preset), {}
    info, value, index = ffi.new("cuvet_limit_info **"), ffi.new("uint64_t *"), 0
    while lib.cuvet_limits_get(made, index, info, value) == lib.CUVET_OK:
        found[text(info[0].name)] = int(value[0])
        index += 1
    return found


def structure_of(wanted: Limits) -> Optional[Any]:
    """A cuvet_limits. Raises ValueError for a name or a number that is none."""
    if wanted is None or isinstance(wanted, str):
        return _preset(wanted or "strict")
    made = _preset("strict")
    for name, value in wanted.items():
        if not 0 <= value < 1 << 64:
            raise ValueError("limits: %s=%r is out of range" % (name, value))
        if lib.cuvet_limits_set(made, encoded(name, "limits"), value) != lib.CUVET_OK:
            raise ValueError("limits: there is no limit %r" % name)
    return made
