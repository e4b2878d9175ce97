# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of offload binaries, and forms of them that are legal."""

import struct

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


def late(data, version=1):
    """a binary with these bytes between its header and its entry"""
    plain = one()
    entry = bytearray(plain[32:72])
    size = len(plain) + len(data)
    for at in (8, 24):
        struct.pack_into('<Q', entry, at, struct.unpack_from('<Q', entry, at)[0] + len(data))
    strings = bytearray(plain[72:])
    for at in range(0, 32, 8):
        struct.pack_into('<Q', strings, at, struct.unpack_from('<Q', strings, at)[0] + len(data))
    head = offload.MAGIC + struct.pack('<IQQQ', version, size, 32 + len(data), 40)
    return head + data + bytes(entry) + bytes(strings)


def halves(data, at):
    """two images, the one the beginning of what the other ends"""
    return offload.binary(*(offload.image(part, producer=offload.OPENMP, triple=b'x86_64') for part in (data[:at], data[at:])), version=2)


def embedding():
    """bitcode of a host with a section for offload binaries"""
    return bitcode.stream(bitcode.module(b'x86_64-pc-linux-gnu', after=bitcode.section(b'.llvm.offloading')))


def all_of(data):
    """its section is the whole file"""
    data = bytearray(data)
    at = struct.unpack_from('<Q', data, 40)[0] + 64
    struct.pack_into('<QQ', data, at + 24, 0, len(data))
    return data


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
legal('offload-behind-data.o', lambda: offload.host(one(), one(), front=sample('elf-raw.fatbin') + sample(CUBIN)))
legal('offload-empty-section.o', lambda: offload.host(b'', one()))
legal('offload-without-names.o', lambda: offload.host(one(), named=False))
legal('offload-first-section.o', lambda: offload.host(one(), first=True))
legal('offload-late.offload', lambda: late(bytes(64)))
legal('offload-halves.offload', lambda: halves(b'no code at all, and twice as much as is needed', 20))
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
off('HOST_PLACE', 'code-before-entries', lambda b: Blob(late(sample('elf-raw.fatbin'))).mark(16), lambda: late(bytes(64)))
for _at in (2, 4, 19):
    off('OFFLOAD_ACROSS', 'halves-%d' % _at, lambda b, at=_at: Blob(halves(sample(CUBIN), at)).mark(40))
off('OFFLOAD_ACROSS', 'halves-container', lambda b: Blob(halves(sample('elf-raw.fatbin'), 7)).mark(40))
off('OFFLOAD_UNKNOWN', 'no-triple', lambda b: Blob(offload.binary({**offload.image(b'something for CUDA'), 'strings': []})).mark(48))
off('BC_OPAQUE', 'other-triple', lambda b: Blob(offload.binary(offload.image(amd(), offload.BITCODE))).mark(72))
case(
    'BC_OPAQUE',
    'embeds',
    'plain.ptx',
    lambda b: Blob(embedding()).mark(0),
    ending='.bc',
    legal=lambda b: Blob(bitcode.stream(bitcode.module(b'x86_64-pc-linux-gnu', after=bitcode.section(b'.llvm.offloadin')))),
)
case(
    'OFFLOAD_ACROSS',
    'offload-section-end',
    'plain.ptx',
    lambda b: Blob(offload.host(one() + sample(CUBIN)[:2], behind=sample(CUBIN)[2:])).mark(64),
    ending='.o',
    legal=lambda b: Blob(offload.host(one(), behind=b'data')),
)
case(
    'HOST_OFFLOAD_OVERLAP',
    'offload-section-of-all',
    'plain.ptx',
    lambda b: Blob(all_of(offload.host(one()))).mark(24),
    ending='.o',
    legal=lambda b: Blob(offload.host(one())),
)
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
