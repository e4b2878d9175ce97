# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library: loaded once, and of the version that the declarations were made from.

`_declarations` is written by the build from the headers, so that nothing of them is said here a second time. cffi
releases the GIL around each call.
"""
from __future__ import annotations

import glob
import os
from typing import Any

from cuvet._declarations import ffi as _ffi

ffi: Any = _ffi


def _path() -> str:
    named = os.environ.get("CUVET_LIBRARY")
    if named:
        return named
    inside = glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcuvet.so.*"))
    if len(inside) != 1:
        raise ImportError("cuvet: the package has no libcuvet.so in it; CUVET_LIBRARY may name one")
    return inside[0]


def _load() -> Any:
    path = _path()
    try:
        library = ffi.dlopen(path)
    except OSError as error:
        raise ImportError("cuvet: %s cannot be loaded: %s" % (path, error)) from error
    try:
        found = text(library.cuvet_version())
    except (AttributeError, ffi.error) as error:
        raise ImportError("cuvet: %s is not libcuvet" % path) from error
    wanted = "%d.%d.%d" % (library.CUVET_VERSION_MAJOR, library.CUVET_VERSION_MINOR, library.CUVET_VERSION_PATCH)
    if found != wanted:
        raise ImportError("cuvet: %s is version %s, and this package is for %s" % (path, found, wanted))
    return library


def text(pointer: Any) -> str:
    """A text of the library; bytes of a stranger's names that are no UTF-8 become \\xNN."""
    return str(ffi.string(pointer).decode("utf-8", "backslashreplace"))


def sized(kind: str) -> Any:
    """A zeroed structure that knows its size, as the library wants it."""
    made = ffi.new(kind + " *")
    made.size = ffi.sizeof(kind)
    return made


lib: Any = _load()
