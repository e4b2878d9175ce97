# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cubins that today's tools do not write any more, made from today's ones.

legacy(elf)   ABI 8 of sm_75 .. sm_89 -> ABI 7 (OSABI 0x33, toolkit 11.8): no notes, other e_flags
elf32(elf)    an ABI 7 executable -> the 32-bit class of the same file
cuver(elf)    today's sm_100 .. sm_121 -> toolkit 12.8: .note.nv.cuver instead of .note.nv.cuinfo
numbered(elf) the section count moved into section 0 (extended numbering)
"""

import struct

from edit import EHDR, Elf, SHDR, align

TOOLKIT = 118
EHDR32 = '<16sHHIIIIIHHHHHH'


def drop_symbols(elf, gone):
    """remove symbols of .symtab that nothing refers to; indices everywhere are renumbered"""
    table, count = elf.index('.symtab'), elf.sget('.symtab', 'size') // 24
    new = [i - sum(g < i for g in gone) for i in range(count)]

    def renumber(name, at):
        place = elf.at_section(name, at)
        value = struct.unpack_from('<I', elf.data, place)[0]
        struct.pack_into('<I', elf.data, place, new[value])

    for i, name in enumerate(elf.names):
        size = elf.sget(i, 'size')
        if elf.sget(i, 'type') in (4, 9):
            for at in range(0, size, elf.sget(i, 'entsize')):
                renumber(i, at + 12)
        elif name.startswith('.text.'):
            info = elf.sget(i, 'info')
            elf.section(i, 'info', info & 0xFF000000 | new[info & 0xFFFFFF])
        elif name == '.nv.info' or name.startswith('.nv.info.'):
            for at, _, code, payload in elf.records(i):
                if code in (0x0A, 0x11, 0x12, 0x23, 0x2F):
                    renumber(i, at + 4)
                elif code == 0x0F:
                    for word in range(0, len(payload), 4):
                        renumber(i, at + 4 + word)
        elif name == '.nv.prototype':
            for at in range(0, size, 8):
                renumber(i, at)
        elif name == '.nv.callgraph':
            part = 0
            for at in range(0, size, 8):
                first, second = struct.unpack_from('<Ii', elf.data, elf.at_section(i, at))
                if first == 0:
                    part = second
                    continue
                renumber(i, at)
                if part in (-1, -4):
                    renumber(i, at + 4)
    data = elf.section_bytes(table)
    kept = b''.join(data[24 * i : 24 * i + 24] for i in range(count) if i not in gone)
    elf.section(table, 'info', elf.sget(table, 'info') - sum(g < elf.sget(table, 'info') for g in gone))
    elf.relayout({table: kept})
    elf.at = None


def legacy(elf, toolkit=TOOLKIT):
    """the ABI 7 form of an ABI 8 executable or relocatable of sm_75 .. sm_89"""
    sm = elf.hget('e_flags') >> 8 & 0xFFFF
    notes = [elf.index(n) for n in elf.names if n.startswith('.note.nv.')]
    drop_symbols(elf, [i for i, _ in enumerate(elf.symbols()) if elf.yget(i, 'shndx') in notes])
    elf.drop_sections(notes)
    for name, value in (
        ('osabi', 0x33),
        ('abiversion', 7),
        ('e_version', toolkit),
        ('e_flags', sm | 0x500 | sm << 16),
    ):
        elf.head(name, value)
    executable = elf.hget('e_type') == 2
    for i, name in enumerate(elf.names):
        if executable and name.startswith(('.nv.info.', '.nv.constant', '.nv.shared.', '.rel.', '.rela.')):
            elf.section(i, 'flags', elf.sget(i, 'flags') & ~0x40)
        if name.startswith('.text.'):
            elf.section(i, 'flags', elf.sget(i, 'flags') | 1 << 20)
        if name.startswith('.nv.info'):
            for at, form, code, _ in elf.records(i):
                if (form, code) == (4, 0x37):
                    elf.word(i, at + 4, toolkit)
        if name == '.nv.rel.action' and elf.sget(i, 'size') == 16:
            elf.word(i, 0, 75)
            elf.splice(i, 16, 0, bytes(0xE0 - 16))
    elf.at = None
    return elf


def cuver(elf):
    """the form of 12.8 tools: another device note, the toolkit version in the tool note and in CUDA_API_VERSION"""
    sm, note = elf.hget('e_flags') >> 8 & 0xFFFF, elf.index('.note.nv.cuinfo')
    elf.rename('.note.nv.cuinfo', '.note.nv.cuver')
    strings = elf.sget('.strtab', 'offset')
    elf.raw(elf.data.index(b'\0.note.nv.cuinfo\0', strings) + 1, b'.note.nv.cuver\0')
    elf.load()
    head = elf.section_bytes(note)[:24]
    elf.relayout({note: head[:4] + struct.pack('<I', 12) + head[8:] + struct.pack('<HHII', 1, sm, 1, 1)})
    elf.word('.note.nv.tkinfo', 24, 128)
    for i, name in enumerate(elf.names):
        if name.startswith(('.nv.info', '.nv.merc.nv.info')):
            for at, form, code, _ in elf.records(i):
                if (form, code) == (4, 0x37):
                    elf.word(i, at + 4, 128)
    elf.at = None
    return elf


def room_before(elf, name, size):
    """zero bytes in front of a section that lies behind everything that is loaded"""
    begin = elf.sget(name, 'offset')
    move = lambda offset: offset + size if offset >= begin else offset
    for i in range(1, elf.shnum):
        elf.section(i, 'offset', move(elf.sget(i, 'offset')))
    for i in range(elf.hget('e_phnum')):
        elf.segment(i, 'offset', move(elf.pget(i, 'offset')))
    for field in ('e_shoff', 'e_phoff'):
        elf.head(field, move(elf.hget(field)))
    elf.insert(begin, bytes(size))
    elf.at = begin
    return elf.load()


def behind_clone(elf, size):
    """room of `size` bytes where 12.8 tools align for a clone that lies elsewhere: constants aligned to 64"""
    for name in ('.nv.constant3', '.nv.merc.nv.constant.user'):
        elf.section(name, 'align', 64)
    elf.relayout({})
    return room_before(elf, '.nv.merc.nv.shared.reserved.0', size)


def elf32(source):
    """bytes of the ELF32 form: header 52, section header 40, program header 32, symbol 16, relocations 8 and 12"""
    e, out, placed = source, bytearray(52), {}
    headers = []
    for i in range(e.shnum):
        field = {name: e.sget(i, name) for name in SHDR}
        data = (
            e.section_bytes(i)
            if field['type'] not in (0, 8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)
            else b''
        )
        if field['type'] in (2, 0x70000085):
            rows = [struct.unpack_from('<IBBHQQ', data, at) for at in range(0, len(data), 24)]
            data = b''.join(
                struct.pack('<IIIBBH', n, v, z, info, other, x) for n, info, other, x, v, z in rows
            )
            field.update(entsize=16, align=4)
        elif field['type'] in (4, 9):
            wide = field['entsize']
            rows = [struct.unpack_from('<QII', data, at) for at in range(0, len(data), wide)]
            tails = (
                [data[at + 16 : at + 20] for at in range(0, len(data), wide)]
                if wide == 24
                else [b''] * len(rows)
            )
            data = b''.join(struct.pack('<II', o, y << 8 | t) + tail for (o, t, y), tail in zip(rows, tails))
            field.update(entsize=12 if wide == 24 else 8, align=4)
        if field['type'] == 0:
            headers.append(bytes(40))
            continue
        out += bytes(align(len(out), field['align']) - len(out))
        placed[i] = (len(out), len(data))
        size = len(data) if data else field['size'] if field['type'] not in (2, 4, 9) else 0
        headers.append(
            struct.pack(
                '<10I',
                field['name'],
                field['type'],
                field['flags'],
                0,
                len(out),
                size,
                field['link'],
                field['info'],
                field['align'],
                field['entsize'],
            )
        )
        out += data
    out += bytes(align(len(out), 4) - len(out))
    shoff = len(out)
    out += b''.join(headers)
    ident = bytearray(e.data[:16])
    ident[4] = 1
    out[:52] = struct.pack(
        EHDR32,
        bytes(ident),
        e.hget('e_type'),
        190,
        e.hget('e_version'),
        0,
        0,
        shoff,
        e.hget('e_flags') & ~0x400,
        52,
        0,
        0,
        40,
        e.shnum,
        e.hget('e_shstrndx'),
    )
    return bytes(out)


def numbered(elf):
    """e_shnum 0, the count in sh_size of section 0"""
    elf.section(0, 'size', elf.shnum)
    elf.put(EHDR['e_shnum'], 0)
    return elf


def load(path):
    with open(path, 'rb') as handle:
        return Elf(handle.read())
