# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Words for the numbers of the library: it knows them, and nobody else has a list."""
from __future__ import annotations

from typing import AbstractSet, Any, Callable, Dict, List, Mapping, Optional

from cuvet._library import ffi, lib, text

# Numbers of enumerators with a word are below this.
_MOST = 64
_PREFIXES = {"ptx": "compute_", "lto-ir": "lto_"}


def number_of(name_of: Callable[[int], Any], word: str, what: str) -> int:
    """The number whose name is `word`. Raises ValueError, with the words that there are."""
    words: Dict[str, int] = {}
    for number in range(_MOST):
        name = text(name_of(number))
        if name != "?":
            words.setdefault(name, number)
    if word not in words:
        raise ValueError("%s: %r is none of %s" % (what, word, ", ".join(words)))
    return words[word]


def flags_of(prefix: str, known: AbstractSet[str], flags: Mapping[str, object]) -> int:
    """Flags of the library by keywords: `debug` is CUVET_LINK_DEBUG. Raises TypeError for one that there is not."""
    bits = 0
    for name in words_of(known, flags):
        bits |= getattr(lib, prefix + name.upper())
    return bits


def words_of(known: AbstractSet[str], flags: Mapping[str, object]) -> List[str]:
    """Names of the flags that are wanted. Raises TypeError for one that there is not."""
    for name in flags:
        if name not in known:
            raise TypeError("unexpected keyword argument %r" % name)
    return [name for name, wanted in flags.items() if wanted]


def parse_target(name: str, into: Any) -> int:
    """Fill a cuvet_target from "sm_90a". Returns a status."""
    return int(lib.cuvet_target_parse(encoded(name, "arch"), ffi.addressof(into)))


def target_name(target: Any) -> Optional[str]:
    """ "sm_90a"; None where it is not known."""
    return arch_name("", target.sm, target.suffix)


def arch_name(kind: str, number: int, suffix: bytes) -> Optional[str]:
    """ "sm_90a", or "compute_90" and "lto_90" for pieces of such a kind; None where it is not known."""
    if not number:
        return None
    return "%s%d%s" % (_PREFIXES.get(kind, "sm_"), number, suffix.decode("ascii") if suffix in (b"a", b"f") else "")


def encoded(name: str, what: str) -> bytes:
    """A text for C. Raises ValueError where it has a NUL."""
    raw = name.encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise ValueError("%s: there is a NUL in it" % what)
    return raw


def status_name(status: int) -> str:
    return text(lib.cuvet_status_name(status))


def rule_id(rule: int) -> str:
    info = lib.cuvet_rule_get(rule)
    return text(info.id) if info else "?"
