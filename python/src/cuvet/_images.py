# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images: what was made, as bytes of our own."""
from __future__ import annotations

from typing import Any

from cuvet._context import Context
from cuvet._library import ffi, lib, sized


def info_of(context: Context, image: Any) -> Any:
    made = sized("cuvet_image_info")
    context.check(lib.cuvet_image_get_info(context.pointer, image, made))
    return made


def bytes_of(info: Any) -> bytes:
    """A copy, which stays when the context goes."""
    return bytes(ffi.buffer(info.bytes, info.n))
