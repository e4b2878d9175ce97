# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that cost far more than their size, if nobody counts: families of content, each to be compressed and nested.

A family is a function size -> content of about that many bytes. A bomb is a content in a container, compressed or not, in
a container again … Nothing here needs CUDA: the cubins are made from the samples.
"""

import os
import struct

import edit

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, 'corpus')
ELF_MAGIC, FATBIN_MAGIC, FATBIN_TAIL = b'\x7fELF', b'\x50\xed\x55\xba', b'\x01\x00\x10\x00'
MIB = 1 << 20


def sample(name):
    with open(os.path.join(CORPUS, 'samples', name), 'rb') as f:
        return f.read()


def fill(piece, size):
    return piece * max(size // len(piece), 1)


# ---- bytes ----

PTX = b'.version 8.0\n.target sm_75\n.address_size 64\n'
AR_MEMBER = b'x/'.ljust(16) + b'0           0     0     644     0         `\n'
DEVICE_HEAD = bytearray(64)
DEVICE_HEAD[:9] = b'\x7fELF\2\1\1\x41\x08'
struct.pack_into('<HHI', DEVICE_HEAD, 16, 2, 190, 1)


def head_with_table(size, n=0xFFFF):
    """device ELF headers that all name one table of sections, at the end"""
    head, out, table = bytearray(DEVICE_HEAD), bytearray(), 64 * n
    count = max((size - table) // 64, 1)
    struct.pack_into('<IHHHHHH', head, 48, 0x5A005A, 64, 56, 0, 64, n, 1)
    for i in range(count):
        struct.pack_into('<Q', head, 40, 64 * (count - i))
        out += head
    return bytes(out) + struct.pack('<IIQQQQIIQQ', 0, 1, 0, 0, 1 << 60, 8, 0, 0, 0, 0) * n


def members(payload, count, kind=2, **more):
    return edit.container(edit.member(kind, payload, 75, **more) * count)


BYTES = {
    'zeros': lambda size: bytes(size),
    'ff': lambda size: b'\xff' * size,
    'elf-magics': lambda size: fill(ELF_MAGIC, size),
    'elf-magics-odd': lambda size: fill(ELF_MAGIC + b'\0', size),
    'fatbin-magics': lambda size: fill(FATBIN_MAGIC, size),
    'fatbin-heads': lambda size: fill(FATBIN_MAGIC + FATBIN_TAIL, size),
    'fatbin-empty': lambda size: fill(edit.container(), size),
    'first-bytes-of-magics': lambda size: fill(b'\x7fE\x50\xed', size),
    'device-heads': lambda size: fill(bytes(DEVICE_HEAD), size),
    'device-heads-one-table': head_with_table,
    'host-heads': lambda size: fill(b'\x7fELF\2\1\1' + bytes(57), size),
    'ptx-blanks': lambda size: PTX + b' ' * size,
    'ptx-comments': lambda size: PTX + fill(b'/**/', size),
    'ptx-slashes': lambda size: PTX + fill(b'/', size),
    'ptx-late': lambda size: fill(b'//\n', size) + PTX,
    'ptx-directives': lambda size: PTX + fill(b'.address_size 64\n', size),
    'ptx-targets': lambda size: b'.version 8.0\n.target sm_75' + fill(b', debug', size),
    'ptx-bad-bytes': lambda size: PTX + fill(b'a\x80', size),
    'archive-heads': lambda size: b'!<arch>\n' + fill(AR_MEMBER, size),
    'archives': lambda size: fill(b'!<arch>\n', size),
    'containers-of-one': lambda size: fill(members(bytes(8), 1), size),
    'members-tiny': lambda size: members(bytes(8), size // 72),
    'members-magic': lambda size: members(ELF_MAGIC * 2, size // 72),
    'members-heads': lambda size: members(bytes(DEVICE_HEAD), size // 128),
    'members-text': lambda size: members(PTX.ljust(48, b'\0'), size // 112, kind=1),
    'members-in-4096': lambda size: fill(members(bytes(8), 4096), size),
    'members-long-names': lambda size: members(bytes(8), size // 4200, name=b'n' * 4090),
    'members-lies': lambda size: members(
        bytes(8), size // 72, flags=0x8011, compressed_size=8, uncompressed_size=4 * MIB
    ),
    'members-zstd': lambda size: members(bytes(7000), size // 96, how='zstd'),
    'members-lz4': lambda size: members(bytes(1500), size // 96, how='lz4'),
    'bitcode-heads': lambda size: fill(b'BC\xc0\xde', size),
    'ltoir-heads': lambda size: fill(b'\xed\x43\x4e\x7f', size),
}


# ---- near-valid cubins ----


def cubin():
    return edit.Elf(bytearray(sample('plain.sm_90.cubin')))


def grown(section, piece, size, base=None):
    elf = base or cubin()
    elf.splice(section, elf.sget(section, 'size'), 0, fill(piece, size))
    return bytes(elf.data)


def sections(total_size, **fields):
    """many section headers; fields of a null header"""
    elf, count = cubin(), total_size // 64
    head = bytearray(64)
    for field, value in fields.items():
        at, width = edit.SHDR[field]
        struct.pack_into(edit.SIZES[width], head, at, value)
    table = bytearray(elf.data[elf.shoff : elf.shoff + 64 * elf.shnum])
    total, data = elf.shnum + count, bytearray(elf.data)
    data += bytes(-len(data) % 8)
    struct.pack_into('<Q', data, 40, len(data))
    struct.pack_into('<H', data, 60, 0)
    struct.pack_into('<Q', table, 32, total)
    return bytes(data + table) + bytes(head) * count


def symbols(total_size, **fields):
    row = bytearray(24)
    for field, value in fields.items():
        at, width = edit.SYM[field]
        struct.pack_into(edit.SIZES[width], row, at, value)
    return grown(".symtab", bytes(row), total_size)


def long_name(size):
    """half of it a name, half symbols that all have it"""
    elf = cubin()
    elf.splice('.strtab', elf.sget('.strtab', 'size'), 0, b'k' * (size // 2) + b'\0')
    name = elf.sget('.strtab', 'size') - size // 2 - 1
    row = struct.pack('<IBBHQQ', name, 0x12, 0x10, elf.index('.text._Z5plainPi'), 0, 384)
    elf.splice('.symtab', elf.sget('.symtab', 'size'), 0, row * (size // 48))
    return bytes(elf.data)


def info(*payload):
    return lambda size: grown('.nv.info._Z5plainPi', edit.record(*payload), size)


# ---- tables that refer to each other in disorder, so that each read is one that no cache has ----


def scattered(count, among, make):
    """rows for numbers below 'among' that lie far from each other, the same 20,000 again and again"""
    one = b''.join(make(i * 7919 * 133 % among) for i in range(min(count, 20000)))
    return fill(one, count * len(make(0)))


def caller(symbols_size):
    """an object with a kernel that calls, and so many bytes of symbols more"""
    elf = edit.Elf(bytearray(sample('recurse.sm_90.rdc.cubin')))
    first, row = len(elf.symbols()), struct.pack('<IBBHQQ', 0, 2, 0, 1, 0, 0)
    elf.splice('.symtab', elf.sget('.symtab', 'size'), 0, row * (symbols_size // 24))
    return elf, first, symbols_size // 24


def scattered_calls(size):
    elf, first, among = caller(size // 2)
    edges = scattered(size // 16, among, lambda i: struct.pack('<II', first + i, first + i * 31 % among))
    elf.splice('.nv.callgraph', 8, 0, edges)
    return bytes(elf.data)


def scattered_relocations(size):
    elf, first, among = caller(size // 2)
    name = '.rela.text._Z7recursePi'
    rows = scattered(size // 48, among, lambda i: struct.pack('<QIIq', i * 16 % 256, 2, first + i, 0))
    elf.splice(name, elf.sget(name, 'size'), 0, rows)
    return bytes(elf.data)


def scattered_places(size):
    """relocations of a long section of code, in disorder"""
    elf, _, _ = caller(0)
    name, code = '.rela.text._Z7recursePi', '.text._Z7recursePi'
    elf.splice(code, elf.sget(code, 'size'), 0, bytes(size // 4 // 16 * 16))
    rows = scattered(size * 3 // 4 // 24, size // 4 - 16, lambda i: struct.pack('<QIIq', i & ~15, 2, 3, 0))
    elf.splice(name, elf.sget(name, 'size'), 0, rows)
    return bytes(elf.data)


def scattered_names(size):
    elf, count = cubin(), 20000
    names = b''.join(b'%07d\0' % (i * 7919 % 100000) for i in range(count))
    at = elf.sget('.strtab', 'size')
    elf.splice('.strtab', at, 0, names)
    rows = scattered(size // 24, count, lambda i: struct.pack('<IBBHQQ', at + i * 8, 0x11, 0, 0xFFF1, 0, 0))
    elf.splice('.symtab', elf.sget('.symtab', 'size'), 0, rows)
    return bytes(elf.data)


def scattered_aliases(size):
    """one function with many calls, and relocations that name none of what it calls"""
    elf, first, among = caller(size // 2)
    edges = scattered(size // 64, among, lambda i: struct.pack('<II', 18, first + i))
    elf.splice('.nv.callgraph', 8, 0, edges)
    name = '.rela.text._Z7recursePi'
    elf.splice(name, elf.sget(name, 'size'), 0, elf.section_bytes(name)[:24] * (size // 96))
    return bytes(elf.data)


def seconds_allowed(size):
    """what a file of so many bytes may take of a processor"""
    return max(2, 3 * size / 1e6)


def more_sections(elf, name, count, **fields):
    """so many headers more, each as that of the section; behind all others"""
    at = elf.shoff + 64 * elf.index(name)
    head = bytearray(elf.data[at : at + 64])
    for field, value in fields.items():
        where, width = edit.SHDR[field]
        struct.pack_into(edit.SIZES[width], head, where, value)
    return with_headers(elf, bytes(head) * count)


def with_headers(elf, heads):
    """the image with more section headers, each 64 bytes; behind all others"""
    table, data = bytearray(elf.data[elf.shoff : elf.shoff + 64 * elf.shnum]), bytearray(elf.data)
    total = elf.shnum + len(heads) // 64
    if elf.shoff + len(table) == len(data):
        del data[elf.shoff :]
    data += bytes(-len(data) % 8)
    struct.pack_into('<Q', data, 40, len(data))
    if total >= 0xFF00:
        struct.pack_into('<Q', table, 32, total)
    struct.pack_into('<H', data, 60, total if total < 0xFF00 else 0)
    return bytes(data + table) + bytes(heads)


def frame_tables(size):
    """tables of one relocation each, all for the same call frames"""
    return more_sections(caller(0)[0], '.rela.debug_frame', size // 64, size=24)


def private_names(size):
    """a function with a name that is a tenth of the file, and relocations that name its own bank"""
    elf, function = caller(0)[0], b'k' * (size // 10)
    heads = (b'.rela.text.', b'.nv.constant0.', b'.nv.info.')
    at, strings = elf.sget('.shstrtab', 'size'), elf.sget('.strtab', 'size')
    code, bank, rel, info, own, section, symbol = (
        elf.index('.text._Z7recursePi'),
        elf.index('.nv.constant0._Z7recursePi'),
        elf.index('.rela.text._Z7recursePi'),
        elf.index('.nv.info._Z7recursePi'),
        elf.symbol_index('_Z7recursePi'),
        elf.symbol_index('.text._Z7recursePi'),
        elf.symbol_index('.nv.constant0._Z7recursePi'),
    )
    elf.splice('.shstrtab', at, 0, b''.join(head + function + b'\0' for head in heads))
    elf.section(rel, 'name', at)
    elf.section(code, 'name', at + 5)
    elf.section(bank, 'name', at + len(heads[0] + function) + 1)
    elf.section(info, 'name', at + len(heads[0] + heads[1] + 2 * function) + 2)
    elf.splice('.strtab', strings, 0, b'.text.' + function + b'\0' + heads[1] + function + b'\0')
    elf.symbol(own, 'name', strings + 6)
    elf.symbol(section, 'name', strings)
    elf.symbol(symbol, 'name', strings + 7 + len(function))
    elf.load()
    elf.splice(rel, elf.sget(rel, 'size'), 0, struct.pack('<QIIq', 0, 2, symbol, 0) * (size // 2 // 24))
    return bytes(elf.data)


NOTE = struct.pack('<III', 7, 24, 2000) + b'NVIDIA\0\0' + bytes(24)

CUBINS = {
    'cubin-sections-null': lambda size: sections(size),
    'cubin-sections-text': lambda size: sections(size, type=1, flags=6, offset=64, size=128, align=128),
    'cubin-sections-symtab': lambda size: sections(size, type=2, offset=64, size=24, entsize=24, link=2, align=8),
    'cubin-sections-rela': lambda size: sections(
        size, type=4, offset=64, size=24, entsize=24, link=3, info=5, align=8
    ),
    'cubin-sections-info': lambda size: sections(size, type=0x70000000, offset=64, size=64, link=3, align=4),
    'cubin-sections-notes': lambda size: sections(size, type=7, offset=64, size=64, align=4),
    'cubin-sections-bytes': lambda size: sections(size, type=1, offset=64, size=100000000, align=1),
    'cubin-sections-named': lambda size: sections(size, type=1, name=1, offset=64, size=8, align=1),
    'cubin-symbols': lambda size: symbols(size),
    'cubin-symbols-kernels': lambda size: symbols(size, name=1, info=0x12, other=0x10, shndx=1, size=128),
    'cubin-symbols-undefined': lambda size: symbols(size, name=1, info=0x12),
    'cubin-symbols-sections': lambda size: symbols(size, info=3, shndx=5),
    'cubin-symbols-objects': lambda size: symbols(size, name=9, info=0x11, shndx=0xFFF2, value=8, size=8),
    'cubin-long-name': long_name,
    'cubin-strings': lambda size: grown('.strtab', b'\0', size),
    'cubin-strings-magics': lambda size: grown('.strtab', ELF_MAGIC, size),
    'cubin-frames': lambda size: grown('.debug_frame', bytes(8), size),
    'cubin-frames-short': lambda size: grown('.debug_frame', struct.pack('<IIQ', 12, 0xFFFFFFFF, 0), size),
    'cubin-info-4': info(4, 0x1C, bytes(4)),
    'cubin-info-0': info(4, 0x1C, b''),
    'cubin-info-params': info(4, 0x17, struct.pack('<IHHI', 0, 0, 0, 0x11F000)),
    'cubin-info-short': info(3, 0x1B, 255),
    'cubin-info-unknown': info(1, 0x77, 0),
    'cubin-info-bank': info(4, 0x0A, struct.pack('<IHH', 1, 0x210, 8)),
    'cubin-global-info': lambda size: grown('.nv.info', edit.record(4, 0x12, struct.pack('<II', 1, 0)), size),
    'cubin-global-info-regs': lambda size: grown('.nv.info', edit.record(4, 0x2F, struct.pack('<II', 4, 8)), size),
    'cubin-callgraph': lambda size: grown('.nv.callgraph', struct.pack('<II', 0, 0xFFFFFFFF), size),
    'cubin-callgraph-edges': lambda size: grown('.nv.callgraph', struct.pack('<II', 4, 4), size),
    'cubin-notes': lambda size: grown('.note.nv.tkinfo', NOTE, size),
    'cubin-compat': lambda size: grown('.nv.compat', b'\2\1\0\0', size),
    'cubin-text': lambda size: grown('.text._Z5plainPi', bytes(16), size),
    'cubin-text-magics': lambda size: grown('.text._Z5plainPi', ELF_MAGIC, size),
    'cubin-constants': lambda size: grown('.nv.constant0._Z5plainPi', bytes(16), size),
    'cubin-scattered-calls': scattered_calls,
    'cubin-scattered-relocations': scattered_relocations,
    'cubin-scattered-places': scattered_places,
    'cubin-scattered-names': scattered_names,
    'cubin-scattered-aliases': scattered_aliases,
    'cubin-frame-tables': frame_tables,
    'cubin-private-names': private_names,
}


FAMILIES = dict(BYTES, **CUBINS)


def tiny(size):
    """objects of 2.7 KB with a kernel of its own each, as many as there is room for"""
    one = sample('plain.sm_75.rdc.cubin')
    return [one.replace(b'_Z5plainPi', b'%010d' % i) for i in range(max(1, size // (len(one) + 60)))]


def tiny_archive(size):
    """each is a unit of a scan, and an input of a link, with work of its own"""
    return edit.archive([(b'm%d.o/' % i, one) for i, one in enumerate(tiny(size))])


# ---- what only a link walks: a family is a function size -> objects ----


def kept(size):
    """half of the records say that a function may be called, half that this one calls"""
    elf = caller(0)[0]
    function, kernel = elf.symbol_index('_Z7descendi'), elf.symbol_index('_Z7recursePi')
    data = elf.section_bytes('.nv.callgraph')
    elf.splice('.nv.callgraph', len(data), 0, struct.pack('<II', function, kernel) * (size // 16))
    elf.splice('.nv.callgraph', 8, 0, struct.pack('<II', kernel, function) * (size // 16))
    return [bytes(elf.data)]


def line_tables(size):
    """empty line tables: all of one object"""
    elf = edit.Elf(bytearray(sample('plain.sm_100.g.rdc.cubin')))
    return [more_sections(elf, '.debug_line', min(size // 64, 60000), size=0)]


def line_units(size):
    """half of it units of lines, and half headers of sections among which what they name could be looked for each time"""
    elf = edit.Elf(bytearray(sample('plain.sm_100.g.rdc.cubin')))
    units = elf.section_bytes('.debug_line')
    elf.splice('.debug_line', len(units), 0, bytes(units) * (size // 2 // len(units)))
    return [more_sections(edit.Elf(bytearray(elf.data)), '.debug_line', min(size // 2 // 64, 60000), size=0)]


WEAK = '_Z4growIfET_S0_'
BARRIERS = (2, 0x4C, 1)  # what a kernel inherits
HEIRLESS = (3, 0x5F, 0x101)  # and what it does not


def callers(size, grow):
    """kernels, a quarter of the bytes, that all call one function; 'grow' makes its object as long as the rest"""
    one = sample('weak.sm_90.rdc.cubin')
    first = edit.Elf(bytearray(one))
    first.splice('.nv.info.' + WEAK, first.sget('.nv.info.' + WEAK, 'size'), 0, edit.record(*BARRIERS))
    grow(first, size * 3 // 4)
    return [bytes(first.data)] + [one.replace(b'weak_kernel', b'%011d' % i) for i in range(size // 4 // len(one))]


def edges(size):
    def grow(elf, more):
        function, other = elf.symbol_index(WEAK), elf.symbol_index('_Z4growIiET_S0_')
        elf.splice('.nv.callgraph', 8, 0, struct.pack('<II', function, other) * (more // 8))

    return callers(size, grow)


def infos(size):
    """records of nothing in front of one that all kernels inherit"""

    def grow(elf, more):
        elf.splice('.nv.info.' + WEAK, 0, 0, edit.record(*HEIRLESS) * (more // 4))

    return callers(size, grow)


LINKS = {'link-keep': kept, 'link-lines': line_tables, 'link-units': line_units, 'link-edges': edges, 'link-info': infos}


def frame(data):
    """a zstd frame that is just long enough for the limit 'ratio': empty blocks in front of the others"""
    packed = edit.zstd(data)
    head = 5 + (0, 2, 4, 8)[packed[4] >> 6] + (1 if packed[4] < 0x40 and packed[4] & 0x20 else 0) + (not packed[4] & 0x20)
    missing = -(-len(data) // 1000) - len(packed)
    return packed[:head] + bytes(3) * max(-(-missing // 3), 0) + packed[head:]


def bomb(content, how='zstd', depth=1, copies=1):
    """a container with the content as a member; from the second level on with copies of it"""
    data = content
    for level in range(depth):
        kind = 1 if data[:8] == b'.version' else 2
        one = edit.member(kind, data, 75, how=frame(data) if how == 'zstd' else how)
        data = edit.container(*[one] * (copies if level else 1))
    return data


def nests(size):
    """name -> bomb: the same bytes behind several doors, each of which might ask for a budget of its own"""
    text, zeros, heads = PTX + b' ' * size, bytes(size), fill(bytes(DEVICE_HEAD), size)
    out = {}
    for how in ('zstd', 'lz4', None):
        for depth, copies in ((2, 8), (2, 64), (3, 8), (4, 4)):
            for name, content in (('zeros', zeros), ('text', text), ('heads', heads), ('cubin', symbols(size))):
                if how or depth < 4:
                    out['%s-%s-%dx%d' % (name, how or 'raw', depth, copies)] = bomb(
                        content if how else content[: size // 16], how, depth, copies
                    )
    inner = bomb(zeros, 'zstd', 2, 8)
    out['zeros-in-archive'] = edit.archive([(b'x%d/' % i, inner) for i in range(16)])
    out['zeros-in-archives'] = edit.archive([(b'x/', edit.archive([(b'y/', inner)] * 4))] * 4)
    out['zeros-in-rest'] = b'\1' * 64 + inner * 16
    out['zeros-in-cubin'] = grown('.debug_frame', inner, len(inner) * 8)
    out['zeros-mixed'] = edit.container(
        *[edit.member(2, edit.container(edit.member(2, zeros[: size // 4], 75, how='lz4')), 75, how='zstd')] * 64
    )
    out['many-members-same'] = edit.container(*[edit.member(2, zeros, 75, how=frame(zeros))] * 64)
    return out
