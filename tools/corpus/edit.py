# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Editing of device code files: the tools that tools/corpus/hostile.py makes its one-field mutations with.

Three pictures of a file, each a bytearray with named fields, each remembering where it was edited first:
  Fat      containers and members of a .fatbin
  Elf      any little-endian ELF64: cubins and host objects; sections, symbols, relocations, segments, TLV
  archive  a builder for `ar` files
Builders (`member`, `container`) make fat binaries from parts, compressed with liblz4 or libzstd.
Nothing here is shared with the library: both sides are written from the same description.
"""

import ctypes
import ctypes.util
import struct

SIZES = {1: 'B', 2: '<H', 4: '<I', 8: '<Q'}
NO_BYTES = (0, 8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)


def align(value, unit):
    return -(-value // max(unit, 1)) * max(unit, 1)


def table(text):
    """'name size name size …' -> {name: (offset, size)}"""
    words, fields, at = text.split(), {}, 0
    for name, size in zip(words[::2], words[1::2]):
        fields[name] = (at, int(size))
        at += int(size)
    return fields


CONTAINER = table('magic 4 version 2 header_size 2 size 8')
MEMBER = table(
    'kind 2 version 2 header_size 4 payload_size 8 compressed_size 4 options_offset 4 minor 2 major 2 arch 4 '
    'name_offset 4 name_length 4 flags 8 key 8 uncompressed_size 8'
)
EHDR = table(
    'magic 4 class 1 data 1 version 1 osabi 1 abiversion 1 pad 1 pad1 2 pad3 4 e_type 2 e_machine 2 '
    'e_version 4 e_entry 8 e_phoff 8 e_shoff 8 e_flags 4 e_ehsize 2 e_phentsize 2 e_phnum 2 e_shentsize 2 '
    'e_shnum 2 e_shstrndx 2'
)
SHDR = table('name 4 type 4 flags 8 addr 8 offset 8 size 8 link 4 info 4 align 8 entsize 8')
PHDR = table('type 4 flags 4 offset 8 vaddr 8 paddr 8 filesz 8 memsz 8 align 8')
SYM = table('name 4 info 1 other 1 shndx 2 value 8 size 8')
RELA = table('offset 8 type 4 sym 4 addend 8')
REL = table('offset 8 type 4 sym 4')


def _library(soname, name):
    for candidate in (soname, ctypes.util.find_library(name)):
        if candidate:
            try:
                return ctypes.CDLL(candidate)
            except OSError:
                pass
    raise SystemExit('corpus: lib%s is needed' % name)


class _Lz4:
    found = None

    @classmethod
    def get(cls):
        cls.found = cls.found or _library('liblz4.so.1', 'lz4')
        return cls.found


class _Zstd:
    found = None

    @classmethod
    def get(cls):
        if cls.found is None:
            z = _library('libzstd.so.1', 'zstd')
            z.ZSTD_createCCtx.restype = ctypes.c_void_p
            for name in ('ZSTD_compressBound', 'ZSTD_compress2', 'ZSTD_decompress', 'ZSTD_CCtx_setParameter'):
                getattr(z, name).restype = ctypes.c_size_t
            z.ZSTD_compressBound.argtypes = (ctypes.c_size_t,)
            z.ZSTD_CCtx_setParameter.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
            z.ZSTD_compress2.argtypes = (
                ctypes.c_void_p,
                ctypes.c_char_p,
                ctypes.c_size_t,
                ctypes.c_char_p,
                ctypes.c_size_t,
            )
            z.ZSTD_freeCCtx.argtypes = (ctypes.c_void_p,)
            z.ZSTD_getFrameContentSize.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
            z.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
            z.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
            cls.found = z
        return cls.found


def lz4(data):
    out = ctypes.create_string_buffer(len(data) + len(data) // 255 + 16)
    size = _Lz4.get().LZ4_compress_default(bytes(data), out, len(data), len(out))
    return out.raw[:size]


def zstd(data, level=3, window_log=0, content_size=True, checksum=False):
    """one frame; window_log below log2(content) gives a frame that is not single segment"""
    z = _Zstd.get()
    context = z.ZSTD_createCCtx()
    for parameter, value in ((100, level), (101, window_log), (200, int(content_size)), (201, int(checksum))):
        z.ZSTD_CCtx_setParameter(context, parameter, value)
    out = ctypes.create_string_buffer(z.ZSTD_compressBound(len(data)))
    size = z.ZSTD_compress2(context, out, len(out), bytes(data), len(data))
    z.ZSTD_freeCCtx(context)
    return out.raw[:size]


def unlz4(data, size):
    out = ctypes.create_string_buffer(size)
    if _Lz4.get().LZ4_decompress_safe(bytes(data), out, len(data), size) != size:
        raise ValueError('not an LZ4 block of that size')
    return out.raw


def unzstd(data, size=None):
    """without a size: a frame of ours that says it itself"""
    if size is None:
        size = _Zstd.get().ZSTD_getFrameContentSize(bytes(data), len(data))
        if size >= 1 << 32:  # unknown and error are above
            raise ValueError('a zstd frame without a size')
    out = ctypes.create_string_buffer(size)
    if _Zstd.get().ZSTD_decompress(out, size, bytes(data), len(data)) != size:
        raise ValueError('not a zstd frame of that size')
    return out.raw


def member(
    kind,
    payload,
    arch,
    flags=0x11,
    version=None,
    how=None,
    name=None,
    options=None,
    key=0,
    extra=b'',
    **override
):
    """the bytes of one member; `how`: None, 'lz4' or 'zstd'; `override` sets header fields at the end"""
    area, name_offset, options_offset = b'', 0, 0
    if name is not None:
        name_offset = 0x40
        area = name.ljust(align(len(name) + 1, 8), b'\0')
    if options is not None:
        options_offset = 0x40 + len(area)
        area += struct.pack('<II', options_offset + 8, len(options)) + options.ljust(
            align(len(options) + 1, 8), b'\0'
        )
    area += extra
    stored, raw_size = bytes(payload), 0
    if how:
        raw_size = len(payload)
        stored = how if isinstance(how, bytes) else lz4(payload) if how == 'lz4' else zstd(payload)
        flags |= 0x2000 if how == 'lz4' else 0x8000
    major, minor = version or {1: (9, 0), 2: (1, 8), 8: (1, 65)}.get(kind, (1, 0))
    head = struct.pack(
        '<HHIQIIHHIIIQQQ',
        kind,
        0x101,
        0x40 + len(area),
        align(len(stored), 8),
        len(stored) if how else 0,
        options_offset,
        minor,
        major,
        arch,
        name_offset,
        len(name or b''),
        flags,
        key,
        raw_size,
    )
    out = Blob(head + area + stored.ljust(align(len(stored), 8), b'\0'))
    for field, value in override.items():
        out.put(MEMBER[field], value)
    return bytes(out.data)


def container(*members):
    body = b''.join(members)
    return struct.pack('<IHHQ', 0xBA55ED50, 1, 16, len(body)) + body


class Blob:
    """bytes with one remembered place: `at` is the offset of the first edit"""

    def __init__(self, data):
        self.data = bytearray(data)
        self.at = None

    def __bytes__(self):
        return bytes(self.data)

    def mark(self, offset):
        if self.at is None:
            self.at = offset
        return self

    def get(self, field, base=0):
        return struct.unpack_from(SIZES[field[1]], self.data, base + field[0])[0]

    def put(self, field, value, base=0):
        struct.pack_into(SIZES[field[1]], self.data, base + field[0], value & ((1 << 8 * field[1]) - 1))
        return self.mark(base + field[0])

    def raw(self, offset, data):
        """overwrite in place; negative offsets count from the end"""
        offset += len(self.data) if offset < 0 else 0
        self.data[offset : offset + len(data)] = data
        return self.mark(offset)

    def cut(self, size):
        """keep the first `size` bytes (negative: drop that many at the end)"""
        del self.data[size:]
        return self.mark(len(self.data))

    def append(self, data):
        self.mark(len(self.data))
        self.data += data
        return self

    def insert(self, offset, data):
        self.data[offset:offset] = data
        return self.mark(offset)


class Fat(Blob):
    """containers and members of a fat binary, numbered from 0 over the whole file"""

    def __init__(self, data, begin=0):
        super().__init__(data)
        self.containers, self.members = [], []
        at = begin
        while len(data) - at >= 16:
            if self.get(CONTAINER['magic'], at) != 0xBA55ED50:
                at += 8
                continue
            end = at + 16 + self.get(CONTAINER['size'], at)
            if end > len(data):
                break
            self.containers.append(at)
            entry = at + 16
            while end - entry >= 64:
                self.members.append(entry)
                entry += self.get(MEMBER['header_size'], entry) + self.get(MEMBER['payload_size'], entry)
            at = end

    def container(self, field, value, index=0):
        return self.put(CONTAINER[field], value, self.containers[index])

    def member(self, field, value, index=0):
        return self.put(MEMBER[field], value, self.members[index])

    def value(self, field, index=0):
        return self.get(MEMBER[field], self.members[index])

    def add(self, field, delta, index=0):
        return self.member(field, self.value(field, index) + delta, index)

    def payload(self, index=0):
        """(offset, stored bytes) of a member"""
        begin = self.members[index] + self.value('header_size', index)
        size = self.value('compressed_size', index) or self.value('payload_size', index)
        return begin, bytes(self.data[begin : begin + size])

    def content(self, index=0):
        """the member's bytes after decompression"""
        _, stored = self.payload(index)
        how, size = self.value('flags', index) & 0xF000, self.value('uncompressed_size', index)
        return unlz4(stored, size) if how == 0x2000 else unzstd(stored, size) if how == 0x8000 else stored


class Elf(Blob):
    """an ELF64 file by names"""

    def __init__(self, data):
        super().__init__(data)
        self.load()

    def load(self):
        self.shoff, self.shnum = self.get(EHDR['e_shoff']), self.get(EHDR['e_shnum'])
        strings = self.section_bytes(self.get(EHDR['e_shstrndx']))
        self.names = [self._string(strings, self.sget(i, 'name')) for i in range(self.shnum)]
        return self

    @staticmethod
    def _string(strings, at):
        return bytes(strings[at : strings.find(b'\0', at)]).decode('latin-1')

    # header, sections, segments ------------------------------------------------------------------------
    def head(self, field, value):
        return self.put(EHDR[field], value)

    def hget(self, field):
        return self.get(EHDR[field])

    def index(self, name):
        return name if isinstance(name, int) else self.names.index(name)

    def has(self, name):
        return name in self.names

    def header_at(self, name):
        return self.shoff + 64 * self.index(name)

    def sget(self, name, field):
        return self.get(SHDR[field], self.shoff + 64 * (name if isinstance(name, int) else self.index(name)))

    def section(self, name, field, value):
        return self.put(SHDR[field], value, self.header_at(name))

    def sadd(self, name, field, delta):
        return self.section(name, field, self.sget(name, field) + delta)

    def section_bytes(self, name):
        begin = self.sget(name, 'offset')
        return bytes(self.data[begin : begin + self.sget(name, 'size')])

    def at_section(self, name, delta=0):
        return self.sget(name, 'offset') + delta

    def patch(self, name, delta, data):
        """overwrite bytes inside a section"""
        return self.raw(self.at_section(name, delta), data)

    def word(self, name, delta, value, size=4):
        return self.put((0, size), value, self.at_section(name, delta))

    def rename(self, old, new):
        """change a section's name in place in .shstrtab; not longer than before"""
        at = self.at_section(self.hget('e_shstrndx'), self.sget(old, 'name'))
        return self.raw(at, new.encode().ljust(len(old), b'\0'))

    def segment(self, index, field, value):
        return self.put(PHDR[field], value, self.hget('e_phoff') + 56 * index)

    def pget(self, index, field):
        return self.get(PHDR[field], self.hget('e_phoff') + 56 * index)

    # symbols and relocations ------------------------------------------------------------------------------
    def symbols(self, of='.symtab'):
        """list of (name, offset in the file)"""
        strings = self.section_bytes(self.sget(of, 'link'))
        begin = self.sget(of, 'offset')
        places = range(begin, begin + self.sget(of, 'size'), 24)
        return [(self._string(strings, self.get(SYM['name'], at)), at) for at in places]

    def symbol_index(self, name, of='.symtab'):
        return name if isinstance(name, int) else [n for n, _ in self.symbols(of)].index(name)

    def symbol_at(self, name, of='.symtab'):
        return self.sget(of, 'offset') + 24 * self.symbol_index(name, of)

    def symbol(self, name, field, value, of='.symtab'):
        return self.put(SYM[field], value, self.symbol_at(name, of))

    def yget(self, name, field, of='.symtab'):
        return self.get(SYM[field], self.symbol_at(name, of))

    def find_symbol(self, test, of='.symtab'):
        """index of the first symbol whose fields pass `test(field -> value)`"""
        for i, (_, at) in enumerate(self.symbols(of)):
            if i and test(lambda field, at=at: self.get(SYM[field], at)):
                return i
        raise ValueError('no such symbol')

    def reloc(self, name, index, field, value):
        fields = REL if self.sget(name, 'entsize') == 16 else RELA
        return self.put(fields[field], value, self.at_section(name, index * self.sget(name, 'entsize')))

    def rget(self, name, index, field):
        fields = REL if self.sget(name, 'entsize') == 16 else RELA
        return self.get(fields[field], self.at_section(name, index * self.sget(name, 'entsize')))

    # TLV -------------------------------------------------------------------------------------------------
    def records(self, name):
        """list of (offset in the section, format, code, payload bytes or value)"""
        data, at, found = self.section_bytes(name), 0, []
        while at < len(data):
            form, code, value = struct.unpack_from('<BBH', data, at)
            size = value if form == 4 else 0
            found.append((at, form, code, data[at + 4 : at + 4 + size] if form == 4 else value))
            at += 4 + size
        return found

    def record_at(self, name, code, nth=0):
        """file offset of the nth record with that code"""
        return self.at_section(name, [r[0] for r in self.records(name) if r[2] == code][nth])

    def record(self, name, code, delta, value, size=4, nth=0):
        """set a field `delta` bytes behind the start of a record"""
        return self.put((0, size), value, self.record_at(name, code, nth) + delta)

    def tlv(self, name, code, form, payload, nth=0):
        """replace a record by another (None: drop it); the section is laid out again"""
        found = [r for r in self.records(name) if r[2] == code][nth]
        size = 4 + (len(found[3]) if found[1] == 4 else 0)
        new = b'' if payload is None else record(form, code, payload)
        return self.splice(name, found[0], size, new)

    def tlv_add(self, name, form, code, payload, at=None):
        """insert a record (default: at the end)"""
        return self.splice(
            name, len(self.section_bytes(name)) if at is None else at, 0, record(form, code, payload)
        )

    # changes of size ---------------------------------------------------------------------------------------
    def splice(self, name, delta, size, new):
        """replace `size` bytes of a section at `delta`; everything behind moves"""
        data = self.section_bytes(name)
        index = self.index(name)
        self.relayout({index: data[:delta] + new + data[delta + size :]})
        return self.mark(self.at_section(index, delta))

    def _chunks(self):
        """[offset, end, section indices] of the distinct ranges with bytes, in file order"""
        ranges = {}
        for i in range(1, self.shnum):
            if self.sget(i, 'type') not in NO_BYTES and self.sget(i, 'size'):
                ranges.setdefault(self.sget(i, 'offset'), []).append(i)
        return [
            (at, max(self.sget(i, 'size') for i in owners), owners) for at, owners in sorted(ranges.items())
        ]

    def relayout(self, replace, keep_slack=True):
        """write all sections again with `replace` {index: bytes}, tables at the end, segments moved along"""
        mark = self.at
        body, moved, cursor = bytearray(self.data[:64]), {}, 64
        old_end = 64
        for at, size, owners in self._chunks():
            unit = max(self.sget(i, 'align') for i in owners)
            slack = at - align(old_end, unit)
            if keep_slack:
                body += self.data[old_end : old_end + max(slack, 0)]
            new = align(len(body), unit)
            body += bytes(new - len(body))
            data = replace.get(owners[0], bytes(self.data[at : at + size]))
            moved[at] = (new, new + len(data), at + size)
            body += data
            for i in owners:
                if i in replace:
                    self.section(i, 'size', len(data))
            old_end = at + size
        cursor = align(len(body), 8)
        body += bytes(cursor - len(body))

        def where(offset):
            """new place of an old file offset: inside, at the end of, or behind a chunk"""
            best = max((at for at in moved if at <= offset), default=None)
            if best is None:
                return offset
            new, new_end, end = moved[best]
            return new + offset - best if offset < end else new_end + offset - end

        headers = bytearray(self.data[self.shoff : self.shoff + 64 * self.shnum])
        for i in range(1, self.shnum):
            offset, unit = self.sget(i, 'offset'), self.sget(i, 'align')
            struct.pack_into('<Q', headers, 64 * i + 24, align(where(offset), unit) if offset else 0)
        phoff, phnum = self.hget('e_phoff'), self.hget('e_phnum')
        segments = bytearray(self.data[phoff : phoff + 56 * phnum])
        new_phoff = cursor + len(headers)
        for i in range(phnum):
            begin, size = (
                struct.unpack_from('<Q', segments, 56 * i + 8)[0],
                struct.unpack_from('<Q', segments, 56 * i + 32)[0],
            )
            if begin == phoff:
                begin = new_phoff
            else:
                begin, size = where(begin), where(begin + size) - where(begin)
                memory = struct.unpack_from('<Q', segments, 56 * i + 40)[0]
                old = struct.unpack_from('<Q', segments, 56 * i + 32)[0]
                struct.pack_into('<QQ', segments, 56 * i + 32, size, memory - old + size)
            struct.pack_into('<Q', segments, 56 * i + 8, begin)
        self.data = body + headers + segments
        self.head('e_shoff', cursor)
        if phnum:
            self.head('e_phoff', new_phoff)
        self.at = mark
        return self.load()

    def drop_sections(self, names):
        """remove sections without symbols; indices everywhere are renumbered"""
        gone = sorted(self.index(n) for n in names)
        new_index = {i: i - sum(g < i for g in gone) for i in range(0x10000)}
        for i in range(self.shnum):
            kind, flags = self.sget(i, 'type'), self.sget(i, 'flags')
            self.section(i, 'link', new_index[self.sget(i, 'link')])
            if flags & 0x40 or kind in (4, 9, 0x70000000):
                self.section(i, 'info', new_index[self.sget(i, 'info')])
        for of in [n for n in ('.symtab', '.nv.merc.symtab') if self.has(n)]:
            for i, _ in enumerate(self.symbols(of)):
                shndx = self.yget(i, 'shndx', of)
                if shndx < 0xFF00:
                    self.symbol(i, 'shndx', new_index[shndx], of)
        headers = b''.join(
            bytes(self.data[self.header_at(i) : self.header_at(i) + 64])
            for i in range(self.shnum)
            if i not in gone
        )
        tail = bytes(self.data[self.hget('e_phoff') :]) if self.hget('e_phnum') else b''
        self.data = self.data[: self.shoff] + headers + tail
        self.head('e_shnum', self.shnum - len(gone))
        self.head('e_shstrndx', new_index[self.hget('e_shstrndx')])
        self.at = None
        self.load()
        if tail:
            old, new = self.hget('e_phoff'), self.shoff + len(headers)
            self.head('e_phoff', new)
            for i in range(self.hget('e_phnum')):
                if self.pget(i, 'offset') == old:
                    self.segment(i, 'offset', new)
        self.at = None
        return self.relayout({}, keep_slack=False)


def record(form, code, payload):
    """one TLV record"""
    if form == 4:
        return struct.pack('<BBH', form, code, len(payload)) + payload
    return struct.pack('<BBH', form, code, payload)


def words(*values):
    return struct.pack('<%dI' % len(values), *[v & 0xFFFFFFFF for v in values])


def archive(entries, magic=b'!<arch>\n'):
    """an ar file from (name field, data); long names and symbol tables are ordinary entries"""
    out = bytearray(magic)
    for name, data in entries:
        out += (
            name.ljust(16) + b'0           0     0     644     ' + str(len(data)).encode().ljust(10) + b'`\n'
        )
        out += data + (b'\n' if len(data) & 1 else b'')
    return bytes(out)
