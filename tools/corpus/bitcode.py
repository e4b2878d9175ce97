# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A writer of LLVM bitcode as far as somebody reads it who looks for the target triple: blocks, definitions of
abbreviations, records. Nothing here was made by a compiler."""

import struct

MAGIC = b'BC\xc0\xde'
MODULE, IDENTIFICATION, STRTAB = 8, 13, 23
VERSION, TRIPLE, DATALAYOUT, SECTION = 1, 2, 3, 5


class Bits:
    def __init__(self):
        self.value, self.n = 0, 0

    def fixed(self, v, width):
        self.value |= (v & (1 << width) - 1) << self.n
        self.n += width
        return self

    def vbr(self, v, width):
        half = 1 << width - 1
        while v >= half:
            self.fixed(v & half - 1 | half, width)
            v >>= width - 1
        return self.fixed(v, width)

    def align(self):
        self.n = (self.n + 31) // 32 * 32
        return self

    def bytes(self):
        return self.value.to_bytes((self.n + 31) // 32 * 4, 'little')


def block(out, outer_width, number, width, body, words=None):
    """ENTER_SUBBLOCK with the bytes of body, which ends with its END_BLOCK"""
    out.fixed(1, outer_width).vbr(number, 8).vbr(width, 4).align()
    out.fixed(len(body) // 4 if words is None else words, 32)
    for byte in body:
        out.fixed(byte, 8)
    return out


def record(out, width, code, values):
    """an unabbreviated record"""
    out.fixed(3, width).vbr(code, 6).vbr(len(values), 6)
    for v in values:
        out.vbr(v, 6)
    return out


def end(out, width):
    return out.fixed(0, width).align()


def module(triple=b'nvptx64-nvidia-cuda', width=3, before=None, inner_words=None, after=None):
    """contents of a module block: version, an inner block, the triple, a data layout"""
    out = record(Bits(), width, VERSION, [2])
    if before:
        before(out, width)
    block(out, width, 17, 4, end(Bits().fixed(0x5A5A5A, 24), 4).bytes(), inner_words)
    if triple is not None:
        record(out, width, TRIPLE, triple)
    record(out, width, DATALAYOUT, b'e-i64:64')
    if after:
        after(out, width)
    return end(out, width).bytes()


def stream(*modules, words=None):
    """identification, modules, names"""
    out = block(Bits(), 2, IDENTIFICATION, 5, end(record(Bits(), 5, 1, b'LLVM'), 5).bytes())
    for m in modules or (module(),):
        block(out, 2, MODULE, 3, m, words)
    block(out, 2, STRTAB, 3, end(Bits().fixed(7, 3), 3).bytes())
    return MAGIC + out.bytes()


def abbreviated(triple=b'nvptx64-nvidia-cuda'):
    """a module whose triple is a record of an abbreviation: literal code, array of characters of 8 bits"""
    out = Bits().fixed(2, 3).vbr(3, 5)
    out.fixed(1, 1).vbr(TRIPLE, 8)  # literal
    out.fixed(0, 1).fixed(3, 3)  # array …
    out.fixed(0, 1).fixed(1, 3).vbr(8, 5)  # … of numbers of 8 bits
    out.fixed(4, 3).vbr(len(triple), 6)
    for c in triple:
        out.fixed(c, 8)
    return end(out, 3).bytes()


def endless(out, width):
    """a definition of 2,000 literals, and records of it that take no bits but their number"""
    out.fixed(2, width).vbr(2000, 5)
    for _ in range(2000):
        out.fixed(1, 1).vbr(0, 8)
    for _ in range(2000):
        out.fixed(4, width)


def again(triple):
    """one triple more, behind a block"""

    def write(out, width):
        block(out, width, 17, 4, end(Bits().fixed(0x5A5A5A, 24), 4).bytes())
        record(out, width, TRIPLE, triple)

    return write


def late_definition(out, width):
    """a large part, and behind it a definition that is used at once: as compilers say where the names of a large module begin"""
    block(out, width, 9, 3, bytes(200 << 10))
    out.fixed(2, width).vbr(2, 5).fixed(1, 1).vbr(13, 8)  # literal
    out.fixed(0, 1).fixed(1, 3).vbr(32, 5)  # a number of 32 bits
    out.fixed(4, width).fixed(0x89ABCDEF, 32)
    block(out, width, 11, 4, bytes(64))


def no_definition(out, width):
    """a record of an abbreviation that nobody defined"""
    out.fixed(7, width)


def wrapped(inner, off=20, size=None, machine=0x01000007):
    head = struct.pack('<5I', 0x0B17C0DE, 0, off, len(inner) if size is None else size, machine)
    return head + bytes(off - 20 if off < 4096 else 0) + inner


def section(name):
    """a section that globals of the module are put in"""
    return lambda out, width: record(out, width, SECTION, name)
