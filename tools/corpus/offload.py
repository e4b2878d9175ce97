# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offload binaries, as LLVM's documentation of llvm-offload-binary describes them, and a host object with a section of them."""

import struct

MAGIC = b'\x10\xff\x10\xad'
OBJECT, BITCODE, CUBIN, FATBIN, PTX = 1, 2, 3, 4, 5
OPENMP, CUDA, HIP = 1, 2, 4
SECTION = 0x6FFF4C0B
CUDA_TRIPLE, AMD_TRIPLE = b'nvptx64-nvidia-cuda', b'amdgcn-amd-amdhsa'
# Where fields of the header and of the first entry lie, as edit.py's Blob takes them.
SIZE, ENTRIES, COUNT, INFLATED = (8, 8), (16, 8), (24, 8), (32, 8)
STRINGS, N_STRINGS, IMAGE, IMAGE_SIZE = (8, 8), (16, 8), (24, 8), (32, 8)


def align(size):
    return size + -size % 8


def image(data, kind=OBJECT, producer=CUDA, triple=CUDA_TRIPLE, arch=b'sm_75', more=()):
    return {'data': bytes(data), 'kind': kind, 'producer': producer, 'strings': [(b'triple', triple), (b'arch', arch), *more]}


def binary(*images, version=1):
    """one binary; version 1 has one image"""
    header = 40 if version == 3 else 32
    pairs = [pair for one in images for pair in one['strings']]
    at_pairs = header + 40 * len(images)
    at_text = at_pairs + (16 if version == 1 else 24) * len(pairs)
    text, offsets = bytearray(), {}
    for word in sorted({word for pair in pairs for word in pair}):
        offsets[word] = at_text + len(text)
        text += word + b'\0'
    start = align(at_text + len(text))
    entries, table, body = b"", b"", b""
    for one in images:
        entries += struct.pack('<HHIQQQQ', one['kind'], one['producer'], 0, at_pairs + len(table), len(one['strings']), start + len(body), len(one['data']))
        for key, value in one['strings']:
            table += struct.pack('<QQ', offsets[key], offsets[value]) + (b'' if version == 1 else struct.pack('<Q', len(value)))
        body += one['data']
    size = align(start + len(body))
    head = MAGIC + struct.pack('<IQQQ', version, size, header, 40 if version == 1 else len(images)) + (bytes(8) if version == 3 else b'')
    front = head + entries + table + bytes(text)
    return (front.ljust(start, b'\0') + body).ljust(size, b'\0')


def entry(data):
    """offset of the first entry"""
    return struct.unpack_from('<Q', data, 16)[0]


def host(*contents, kind=1, overlap=0, named=True, first=False, front=b'', behind=b''):
    """a host object for x86-64 with a section for each of these; the second begins so many bytes before its place.
    first: the first section of the table is one of them as well; front, behind: bytes of .data in front of all
    and behind the last"""
    names = b'\0.llvm.offloading\0.shstrtab\0.data\0'
    body, rows = bytearray(64) + front, []
    for n, content in enumerate(contents):
        body += bytes(-len(body) % 8)
        at = len(body) - (overlap if n else 0)
        body += content
        rows.append(struct.pack('<IIQQQQIIQQ', 1, SECTION, 0x80000000, 0, at, len(content), 0, 0, 8, 0))
    rows.insert(0, rows.pop(0) if first else bytes(64))
    if front:
        rows.append(struct.pack('<IIQQQQIIQQ', 28, 1, 3, 0, 64, len(front), 0, 0, 8, 0))
    if behind:
        rows.append(struct.pack('<IIQQQQIIQQ', 28, 1, 3, 0, len(body), len(behind), 0, 0, 1, 0))
        body += behind
    rows.append(struct.pack('<IIQQQQIIQQ', 18, 3, 0, 0, len(body), len(names), 0, 0, 1, 0))
    body += names + bytes(-len(names) % 8)
    table = (len(rows), len(rows) - 1 if named else 0)
    head = b'\x7fELF\2\1\1' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', kind, 62, 1, 0, 0, len(body), 0, 64, 0, 0, 64, *table)
    body[:64] = head
    return bytes(body) + b''.join(rows)
