# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources: bytes, paths and file objects as the library reads them."""
from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, Iterator, Protocol, Union

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    Buffer = Union[bytes, bytearray, memoryview]

from cuvet._library import ffi, lib, sized

_CHUNK = 1 << 20


class Readable(Protocol):
    """A binary file object."""

    def read(self, size: int, /) -> bytes: ...


Source = Union[Buffer, "os.PathLike[str]", str, Readable]
"""The bytes themselves, the name of a file, or a binary file object, which is read from where it stands to its end."""


def stable_bytes(source: object) -> Any:
    """bytes that nobody can change while they are read with the GIL released; None where it is no buffer."""
    if isinstance(source, bytes):
        return source
    try:
        view = memoryview(source)  # type: ignore[arg-type]
    except TypeError:
        return None
    if isinstance(view.obj, bytes) and view.contiguous:
        return view
    return view.tobytes()


def is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))


@contextlib.contextmanager
def regular_file(source: object, most: int) -> Iterator[BinaryIO]:
    """A file on a disk, opened, with the bytes of a path or a file object from its beginning to its end: the file itself
    where that is possible, else a temporary copy of at most `most` bytes and one more. Raises OSError, and TypeError for
    what is no source."""
    if is_path(source):
        with open(source, "rb") as opened:  # type: ignore[call-overload]
            with _of_object(opened, most) as file:
                yield file
    elif hasattr(source, "read"):
        with _of_object(source, most) as file:
            yield file
    else:
        raise TypeError("a source is bytes, a path or a binary file object, not %s" % type(source).__name__)


@contextlib.contextmanager
def _of_object(file: Any, most: int) -> Iterator[BinaryIO]:
    if _is_plain(file):
        yield file
        file.seek(0, os.SEEK_END)
        return
    with tempfile.TemporaryFile(prefix="cuvet-") as copy:
        _copy(file, copy, most)
        yield copy


def _is_plain(file: Any) -> bool:
    """Is it a file on a disk, and at its beginning? Others, such as one that decompresses, may have descriptors of bytes
    that they do not read as they are."""
    raw = file.raw if type(file) in (io.BufferedReader, io.BufferedRandom) else file
    if type(raw) is not io.FileIO:
        return False
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode) or not file.readable() or file.tell() != 0:
        return False
    file.flush()
    return True


def _copy(file: Any, copy: Any, most: int) -> None:
    left = most + 1
    while left:
        chunk = file.read(min(_CHUNK, left))
        if chunk is None:
            raise BlockingIOError("a source has no bytes yet")
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            raise TypeError("a source is a binary file object; its read() gave %s" % type(chunk).__name__)
        if not chunk:
            break
        copy.write(chunk[:left])
        left -= min(left, len(chunk))
    copy.flush()
    copy.seek(0)


@contextlib.contextmanager
def opened(source: object, limits: Any) -> Iterator[Any]:
    """A cuvet_source, as long as the block lasts."""
    made = sized("cuvet_source")
    data = stable_bytes(source)
    if data is not None:
        with ffi.from_buffer(data) as pointer:
            _check(lib.cuvet_source_memory(pointer, len(pointer), made))
            yield made
        return
    with regular_file(source, limits.input) as file:
        _check(lib.cuvet_source_fd(file.fileno(), made))
        yield made


def _check(status: int) -> None:
    if status != lib.CUVET_OK:
        raise OSError("a source cannot be read")
