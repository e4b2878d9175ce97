# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cffi made of the headers is what the library has: its own table says so."""
import os
import subprocess
import sys
import typing

import cuvet
from cuvet._library import ffi, lib, sized, text


def rows() -> typing.Iterator[typing.Tuple[int, str, int, int]]:
    row, index = sized("cuvet_abi_row"), 0
    while lib.cuvet_abi_get(index, row) == lib.CUVET_OK:
        yield int(row.kind), text(row.name), int(row.value), int(row.width)
        index += 1


def test_sizes_offsets_and_values() -> None:
    seen = {lib.CUVET_ABI_STRUCT: 0, lib.CUVET_ABI_MEMBER: 0, lib.CUVET_ABI_VALUE: 0}
    for kind, name, value, width in rows():
        struct = name.split(".")[0]
        # The worker's header is that of another library, and Python speaks its protocol.
        if struct.startswith(("cuvet_worker", "cuvet_job", "cuvet_answer", "CUVET_WORKER_", "CUVET_JOB_")):
            continue
        seen[kind] += 1
        if kind == lib.CUVET_ABI_STRUCT:
            assert (ffi.sizeof(name), ffi.alignof(name)) == (value, width), name
        elif kind == lib.CUVET_ABI_MEMBER:
            member = name.split(".")[1]
            assert ffi.offsetof(struct, member) == value, name
            assert ffi.sizeof(dict(ffi.typeof(struct).fields)[member].type) == width, name
        else:
            assert getattr(lib, name) == value, name
    assert min(seen.values()) > 20, seen


def test_every_switch_of_the_library_is_a_keyword() -> None:
    bits = {"CUVET_LINK_": cuvet.LocalLinkFlags, "CUVET_FINALIZE_": cuvet.FinalizeFlags}
    for prefix, known in bits.items():
        there = {name[len(prefix):].lower() for name in dir(lib) if name.startswith(prefix)}
        assert there == set(typing.get_type_hints(known)), prefix
    for name in typing.get_type_hints(cuvet.SelectFlags):
        assert getattr(lib, "CUVET_SELECT_" + name.upper()) > 0


def test_another_library_is_refused(tmp_path: typing.Any) -> None:
    (tmp_path / "text").write_text("no library")
    # The first is nothing that can be loaded, the second one of something else.
    for path in (str(tmp_path / "text"), "libc.so.6"):
        env = dict(os.environ, CUVET_LIBRARY=path)
        run = subprocess.run([sys.executable, "-c", "import cuvet"], env=env, stderr=subprocess.PIPE, universal_newlines=True,
                             check=False)
        assert run.returncode == 1 and "ImportError: cuvet: " + path in run.stderr, run.stderr
