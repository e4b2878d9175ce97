# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of offload binaries, and forms of them that are legal."""

import bitcode
import offload
from edit import Blob
from registry import case, legal, sample

CUBIN, OTHER = 'plain.sm_75.rdc.cubin', 'weak.sm_90.rdc.cubin'


def one():
    return offload.binary(offload.image(sample(CUBIN)))


def several(version=2):
    """PTX, a container and another vendor's bitcode"""
    return offload.binary(
        offload.image(sample('plain.ptx'), offload.PTX),
        offload.image(sample('elf-raw.fatbin'), offload.FATBIN),
        offload.image(amd(), offload.BITCODE, offload.HIP, offload.AMD_TRIPLE, b'gfx906'),
        version=version,
    )


def amd():
    return bitcode.stream(bitcode.module(offload.AMD_TRIPLE))


def off(rule, label, edit, make=one):
    """a field of the binary that `make` gives is changed; the neighbour is that binary"""
    case(rule, 'offload-' + label, 'plain.ptx', lambda b: edit(Blob(make())), ending='.offload', legal=lambda b: Blob(make()))


def in_entry(field, value):
    return lambda b: b.put(field, value, offload.entry(b.data))


legal('offload-one.offload', one)
legal('offload-several.offload', several)
legal('offload-version-3.offload', lambda: several(3))
legal('offload-joined.offload', lambda: one() + offload.binary(offload.image(sample(OTHER), arch=b'sm_90')))
legal('offload-object.o', lambda: offload.host(one() + several()))
legal('offload-two-sections.o', lambda: offload.host(one(), several()))
legal('offload-program.so', lambda: offload.host(one(), kind=3))
# A host object for another machine in a binary in a host object, as offload binaries of AMD's tools hold them.
legal('offload-nested.o', lambda: offload.host(offload.binary(offload.image(sample('host-two_a.o'), producer=offload.OPENMP, triple=b'x86_64-pc-linux-gnu')) + one()))
legal('offload-no-image.offload', lambda: offload.binary(offload.image(b'')))

off('OFFLOAD_TRUNCATED', 'header-cut', lambda b: b.append(offload.MAGIC + bytes(8)))
off('OFFLOAD_MAGIC', 'tail', lambda b: b.append(b'something else'))
off('OFFLOAD_VERSION', 'version-0', lambda b: b.put((4, 4), 0))
off('OFFLOAD_VERSION', 'version-4', lambda b: b.put((4, 4), 4))
off('OFFLOAD_SIZE', 'size-past', lambda b: b.put(offload.SIZE, len(b.data) + 1))
off('OFFLOAD_SIZE', 'size-small', lambda b: b.put(offload.SIZE, 31))
off('OFFLOAD_SIZE', 'truncated', lambda b: b.cut(-1))
off('OFFLOAD_ENTRIES', 'entries-past', lambda b: b.put(offload.ENTRIES, len(b.data) - 39))
off('OFFLOAD_ENTRIES', 'entries-in-header', lambda b: b.put(offload.ENTRIES, 24))
off('OFFLOAD_ENTRIES', 'entries-many', lambda b: b.put(offload.COUNT, 1 << 61), several)
off('OFFLOAD_ENTRY_SIZE', 'entry-size', lambda b: b.put(offload.COUNT, 48))
off('OFFLOAD_IMAGE', 'image-past', in_entry(offload.IMAGE_SIZE, 1 << 20))
off('OFFLOAD_IMAGE', 'image-wraps', in_entry(offload.IMAGE_SIZE, (1 << 64) - 8))
off('OFFLOAD_OVERLAP', 'image-in-entries', in_entry(offload.IMAGE, 40))
off('OFFLOAD_OVERLAP', 'image-in-image', lambda b: b.put(offload.IMAGE, offload.entry(b.data) + 400, offload.entry(b.data) + 40), several)
off('OFFLOAD_STRING', 'strings-past', in_entry(offload.STRINGS, 1 << 40))
off('OFFLOAD_STRING', 'strings-many', in_entry(offload.N_STRINGS, 1 << 60))
off('OFFLOAD_STRING', 'key-past', lambda b: b.put((0, 8), 1 << 32, offload.entry(b.data) + 40))
off('OFFLOAD_STRING', 'value-past', lambda b: b.put((16, 8), 1 << 32, offload.entry(b.data) + 120), several)
off(
    'OFFLOAD_KEY', 'triple-twice', lambda b: Blob(offload.binary(offload.image(sample(CUBIN), more=[(b'triple', offload.AMD_TRIPLE)]))).mark(72)
)
off('OFFLOAD_COMPRESSED', 'compressed', lambda b: b.put(offload.INFLATED, 1 << 20), lambda: several(3))
off('OFFLOAD_UNKNOWN', 'unknown-image', lambda b: Blob(offload.binary(offload.image(b'nothing that anybody knows, for a CUDA device'))).mark(32))
off('HOST_PLACE', 'code-in-strings', lambda b: Blob(offload.binary(offload.image(sample('plain.ptx'), more=[(b'note', sample('elf-raw.fatbin'))], kind=5), version=2)).mark(72))
off('BC_OPAQUE', 'bitcode', lambda b: Blob(offload.binary(offload.image(bitcode.stream(), offload.BITCODE))).mark(0))
case(
    'HOST_OFFLOAD_OVERLAP',
    'offload-sections-overlap',
    'plain.ptx',
    lambda b: Blob(offload.host(one(), several(), overlap=64)).mark(64),
    ending='.o',
    legal=lambda b: Blob(offload.host(one(), several())),
)
case(
    'BC_OPAQUE',
    'offload-bitcode-object',
    'plain.ptx',
    lambda b: Blob(offload.host(offload.binary(offload.image(bitcode.stream(), offload.BITCODE)))).mark(64),
    ending='.o',
    legal=lambda b: Blob(offload.host(one())),
)
