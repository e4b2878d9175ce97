# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each stage was made to cost most: families of inputs, each a function size -> files of about that many bytes.

bench/worst.py runs them at doubling sizes and says how time and memory grow. Families of bytes and of near-valid cubins
are those of bombs.py; programs that link are made by bench/link_objects.py. Nothing here needs CUDA.
"""

import bz2
import collections
import gzip
import hashlib
import io
import json
import lzma
import os
import struct
import sys
import tarfile
import zipfile
import zlib

import bombs
import edit
import offload

sys.path.insert(0, os.path.join(bombs.ROOT, 'bench'))

import link_objects  # noqa: E402
from link_objects import Function, Obj  # noqa: E402

# command: {in} all files, {first} the first one, {out} a file that is not there; scale: the part of a size that it is made at
Family = collections.namedtuple('Family', 'stage name make command scale')

SCAN, LINK = 'scan -q {in}', 'link -arch=sm_90 -o {out} {in}'
FAMILIES = []


def add(stage, name, make, command=SCAN, scale=1):
    FAMILIES.append(Family(stage, name, make, command, scale))


def family(stage, command=SCAN, scale=1):
    """@family(stage): the function is one, by its own name"""

    def decorate(make):
        add(stage, make.__name__.replace('_', '-'), make, command, scale)
        return make

    return decorate


def one(make):
    """a file from what makes its bytes"""
    return lambda size: [make(size)]


# ---- what is in bombs.py ----

FROM_BOMBS = {
    'extent, ELF': 'elf-magics device-heads device-heads-one-table host-heads first-bytes-of-magics cubin-sections-null '
    'cubin-sections-text cubin-sections-symtab cubin-sections-notes cubin-sections-bytes cubin-sections-named',
    'fat binary': 'fatbin-empty fatbin-heads members-tiny members-magic members-heads members-in-4096 members-long-names '
    'members-lies ptx-comments ptx-late',
    'codec': 'members-zstd members-lz4',
    'TLV, meta': 'cubin-info-4 cubin-info-0 cubin-info-params cubin-info-unknown cubin-info-bank cubin-global-info '
    'cubin-global-info-regs cubin-sections-info cubin-compat',
    'notes': 'cubin-notes',
    'symbols, strings': 'cubin-symbols cubin-symbols-kernels cubin-symbols-objects cubin-long-name cubin-strings '
    'cubin-scattered-names',
    'relocations': 'cubin-sections-rela cubin-scattered-relocations cubin-scattered-places cubin-scattered-aliases '
    'cubin-frame-tables cubin-private-names',
    'call graph': 'cubin-callgraph cubin-callgraph-edges cubin-scattered-calls',
    'debug data': 'cubin-frames cubin-frames-short',
    'archives': 'archive-heads archives',
}
for _stage, _names in FROM_BOMBS.items():
    for _name in _names.split():
        add(_stage, _name, one(bombs.FAMILIES[_name]))
add('archives', 'tiny-archive', one(bombs.tiny_archive))


# ---- ELF: names, tables and segments that share bytes ----


def copy_of(sample, section, share):
    """a section of a sample again and again: its header ('head'), its bytes ('body'), both ('both')"""

    def make(size):
        elf = edit.Elf(bytearray(bombs.sample(sample)))
        body = elf.section_bytes(section)
        if share != 'head':
            count = size // (1 if share == 'body' else 2) // len(body)
            elf.splice(section, len(body), 0, body * count)
        if share == 'body':
            return [bytes(elf.data)]
        return [bombs.more_sections(edit.Elf(bytearray(elf.data)), section, size // (64 if share == 'head' else 128))]

    return make


@family('extent, ELF')
def sections_with_tails_for_names(size):
    """each section's name is the rest of one long string: their lengths add up to the square"""
    elf = edit.Elf(bytearray(bombs.sample('vars.sm_90.rdc.cubin')))
    at, count, unit = elf.sget('.shstrtab', 'size'), size // 128, b'.text.'
    elf.splice('.shstrtab', at, 0, unit * (size // 2 // len(unit)) + b'\0')
    elf = edit.Elf(bytearray(elf.data))
    head, heads = bytearray(elf.data[elf.header_at('.text._Z4varsPi') :][:64]), bytearray()
    for i in range(count):
        struct.pack_into('<I', head, 0, at + len(unit) * (i * (size // 2 // len(unit)) // count))
        heads += head
    return [bombs.with_headers(elf, heads)]


@family('extent, ELF')
def segments_over_sections(size):
    """half program headers, each over all of the file, half section headers"""
    elf = edit.Elf(bytearray(bombs.sections(size // 2, type=1, flags=2, offset=64, size=16, align=1)))
    count = min(size // 2 // 56, 65000)
    at = len(elf.data)
    row = struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, at, at, 8)
    elf.data += row * count
    struct.pack_into('<Q', elf.data, 32, at)
    struct.pack_into('<H', elf.data, 56, count)
    return [bytes(elf.data)]


def with_names(size, info, names):
    """a cubin with symbols whose names are at places of a string table that is given"""
    elf = edit.Elf(bytearray(bombs.sample('vars.sm_90.rdc.cubin')))
    at = elf.sget('.strtab', 'size')
    text, places = names(size)
    elf.splice('.strtab', at, 0, text)
    rows = b''.join(struct.pack('<IBBHQQ', at + place, info, 0, 0, 0, 0) for place in places)
    elf.splice('.symtab', elf.sget('.symtab', 'size'), 0, rows)
    return bytes(elf.data)


def tails(size):
    count = size // 48
    return b'k' * (size // 2) + b'\0', [i * (size // 2 // count) for i in range(count)]


def one_hash(size):
    """names of 16 bytes that all have one value of a hash without a key (cubin/unique.c)"""
    mask, step = (1 << 64) - 1, 0xFF51AFD7ED558CCD
    seed, out = 16 * 0x9E3779B97F4A7C15 & mask, []
    seed ^= seed >> 29
    first = 0x4141414141414141
    while len(out) < size // 41:
        word, first = first, first + 0x0101
        if 0 in struct.pack('<Q', word):
            continue
        state = (seed ^ word) * step & mask
        last = struct.pack('<Q', 0x5A5A5A5A5A5A5A5A ^ state ^ state >> 29)
        if 0 not in last:
            out.append(struct.pack('<Q', word) + last + b'\0')
    return b''.join(out), [17 * i for i in range(len(out))]


def defined(make):
    """the symbols are variables somewhere"""

    def made(size):
        elf = edit.Elf(bytearray(make(size)))
        for i in range(len(elf.section_bytes('.symtab')) // 24 - 1, 20, -1):
            at = elf.sget('.symtab', 'offset') + 24 * i
            struct.pack_into('<H', elf.data, at + 6, 0xFFF1)
        return [bytes(elf.data)]

    return made


add('symbols, strings', 'names-that-are-tails', one(lambda size: with_names(size, 0x11, tails)))
add('symbols, strings', 'functions-that-are-tails', one(lambda size: with_names(size, 0x12, tails)))
add('symbols, strings', 'names-of-one-hash', defined(lambda size: with_names(size, 0x11, one_hash)))
for _name in ('list --kernels {in}', 'dump {in}', 'inventory {in}', 'report -f -o {out} {in}', LINK):
    add('symbols, strings', 'tails-' + _name.split()[0], one(lambda size: with_names(size, 0x12, tails)), _name)

# Sections of the Mercury side, of metadata and of debug data, many times.
for _sample, _section, _share in (
    ('plain.sm_100.cubin', '.nv.capmerc.text._Z5plainPi', 'head'),
    ('plain.sm_100.cubin', '.nv.merc.symtab', 'body'),
    ('plain.sm_100.cubin', '.nv.merc.nv.info._Z5plainPi', 'both'),
    ('plain.sm_100.g.rdc.cubin', '.debug_line', 'both'),
    ('plain.sm_100.g.rdc.cubin', '.debug_info', 'body'),
    ('plain.sm_100.g.rdc.cubin', '.debug_frame', 'both'),
    ('plain.sm_90.cubin', '.nv.info._Z5plainPi', 'both'),
):
    _part = 'debug data' if '.debug' in _section else 'TLV, meta'
    _label = '%s of %s' % (_share, _section.replace('._Z5plainPi', '').replace('_Z5plainPi', ''))
    add(_part, _label, copy_of(_sample, _section, _share))
    add('formats: dump', _label, copy_of(_sample, _section, _share), 'dump {in}')
    add('finalize', _label, copy_of(_sample, _section, _share), 'finalize -o {out} {in}')


# ---- codecs: a few bytes stand for many; made at a small part of the size ----


def packed(content, how='zstd', times=200):
    return lambda size: [bombs.bomb(content(size * times), how)]


add('codec', 'zstd-zeros', packed(bytes), scale=1 / 16)
add('codec', 'zstd-cubin-sections', packed(bombs.FAMILIES['cubin-sections-text']), scale=1 / 16)
add('codec', 'lz4-heads', packed(bombs.FAMILIES['device-heads'], 'lz4', 60), scale=1 / 8)
add('codec', 'zstd-nested', lambda size: [bombs.bomb(bytes(size * 60), 'zstd', 2, 16)], scale=1 / 16)


@family('codec')
def zstd_empty_blocks(size):
    frame = edit.zstd(bytes(64))
    head = 5 + (1 if frame[4] & 0x20 else 2)
    return [edit.container(edit.member(2, bytes(64), 75, how=frame[:head] + bytes(3) * (size // 3) + frame[head:]))]


# ---- host objects and archives ----


for _sample, _section, _share in (
    ('host-plain.o', '.nv_fatbin', 'head'),
    ('host-plain.o', '.nv_fatbin', 'body'),
    ('host-plain.o', '.nvFatBinSegment', 'both'),
    ('host-plain.o', '__nv_module_id', 'both'),
    ('host-plain.o', '.rela.nvFatBinSegment', 'both'),
    ('host-plain.so', '.nvFatBinSegment', 'body'),
):
    add('host objects', '%s of %s' % (_share, _section), copy_of(_sample, _section, _share))
    add('host objects', 'link, %s of %s' % (_share, _section), copy_of(_sample, _section, _share), LINK)


def archive_of(data):
    def make(size):
        count = size // (60 + len(data) + (len(data) & 1))
        return [edit.archive([(b'm%d/' % i, data) for i in range(max(count, 1))])]

    return make


SMALL = edit.container(edit.member(2, bombs.sample('plain.sm_75.cubin'), 75, how='zstd'))
for _name, _data in (('empty', b''), ('byte', b'x'), ('archive', b'!<arch>\n'), ('host', bombs.sample('host-plain.o'))):
    add('archives', 'members-%s' % _name, archive_of(_data))
    add('archives', 'link, members-%s' % _name, archive_of(_data), LINK)


@family('archives')
def members_named_by_one_long_name(size):
    """each name is a tail of one long name"""
    table = b'n' * (size // 4) + b'/\n'
    rows = size * 3 // 4 // 60
    step = max(size // 4 // rows, 1)
    return [edit.archive([(b'//', table)] + [(b'/%d' % (i * step % (size // 4)), b'') for i in range(rows)])]


# ---- offload binaries ----


def offloads(one_more):
    """one binary behind the other: one_more(i) is a binary"""

    def make(size):
        each = len(one_more(0))
        return [b''.join(one_more(i) for i in range(max(size // each, 1)))]

    return make


for _name, _data in (('empty', b''), ('byte', b'x'), ('host', bombs.sample('host-plain.o'))):
    _binary = offload.binary(offload.image(_data))
    add('offload binaries', 'images-%s' % _name, offloads(lambda i, binary=_binary: binary))
    add('offload binaries', 'section of images-%s' % _name, lambda size, binary=_binary: [offload.host(binary * max(size // len(binary), 1))])


def entries_of(count, strings, place):
    """entries of one binary over 'place' of its bytes, that many strings each, which all are the same"""

    def make(size):
        rows = min(size // 2 // 40, count)
        at, text = 32 + 40 * rows, size - 24 * strings(size)
        out = bytearray(size)
        out[:32] = offload.MAGIC + struct.pack('<IQQQ', 2, size, 32, rows)
        for i in range(rows):
            off, length = place(i, size)
            struct.pack_into('<HHIQQQQ', out, 32 + 40 * i, 1, 2, 0, text, strings(size), off, length)
        for i in range(strings(size)):
            struct.pack_into('<QQQ', out, text + 24 * i, at, at, 0)
        out[at:text] = b'k' * (text - at - 1) + b'\0'
        return [bytes(out)]

    return make


add('offload binaries', 'strings-of-all', entries_of(4096, lambda size: size // 48, lambda i, size: (size, 0)))
add('offload binaries', 'long-key', entries_of(4096, lambda size: 64, lambda i, size: (size, 0)))
add('offload binaries', 'images-that-overlap', entries_of(4096, lambda size: 0, lambda i, size: (size // 2 + i, size // 4)))
add('offload binaries', 'images-of-a-byte', entries_of(4096, lambda size: 0, lambda i, size: (size // 2 + 2 * i, 1)))


@family('offload binaries')
def offload_in_offload(size):
    """as deep as it goes"""
    out = bytes(size // 2)
    while len(out) < size:
        out = offload.binary(offload.image(offload.host(out)))
    return [out]


@family('offload binaries')
def sections_of_offload_binaries(size):
    """sections that lie over each other, each of which begins a byte later"""
    binary = offload.binary(offload.image(b''))
    return [offload.host(*[binary] * (size // (64 + len(binary))))]


# ---- packages ----


def zip_of(name, data, each):
    def make(size):
        out = io.BytesIO()
        with zipfile.ZipFile(out, 'w') as packed_files:
            for i in range(max(size // each, 1)):
                packed_files.writestr(zipfile.ZipInfo(name(i)), data)
        return [out.getvalue()]

    return make


def tar_of(name, count):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w', format=tarfile.GNU_FORMAT) as archive:
        for i in range(count):
            archive.addfile(tarfile.TarInfo(name(i)))
    return out.getvalue()


@family('packages')
def zip_overlap(size):
    """all entries of the directory are the same bytes"""
    data, squeeze = bytes(1 << 20), zlib.compressobj(9, zlib.DEFLATED, -15)
    bytes_of, crc = squeeze.compress(data) + squeeze.flush(), zlib.crc32(data)
    local = struct.pack('<IHHHHHIIIHH', 0x04034B50, 20, 0, 8, 0, 0, crc, len(bytes_of), len(data), 8, 0)
    local += b'00000000' + bytes_of
    count = min(size // 54, 65000)
    row = struct.pack('<IHHHHHHIII', 0x02014B50, 20, 20, 0, 8, 0, 0, crc, len(bytes_of), len(data))
    central = b''.join(row + struct.pack('<HHHHHII', 8, 0, 0, 0, 0, 0, 0) + b'%08d' % i for i in range(count))
    end = struct.pack('<IHHHHIIH', 0x06054B50, 0, 0, count, count, len(central), len(local), 0)
    return [local + central + end]


def nested_zips(size):
    data = b'x'
    for level in range(3):
        data = zip_of(lambda i: '%d' % i, data, max(len(data) + 110, size // (6 if level < 2 else 1)))(size)[0]
    return [data]


def tar_in(pack, count):
    """empty entries, packed: a few bytes for each"""
    return lambda size: [pack(tar_of(lambda i: 'f%d' % i, int(size * count)))]


add('packages', 'zip-empty', zip_of(lambda i: 'f%07d' % i, b'', 114))
add('packages', 'zip-byte', zip_of(lambda i: '%d' % i, b'\1', 98))
add('packages', 'zip-long-names', zip_of(lambda i: 'd/' * 1000 + '%07d' % i, b'', 4120))
add('packages', 'zip-deep-names', zip_of(lambda i: ('%d/' % i) * 300 + 'x', b'', 3600))
add('packages', 'zip-of-containers', zip_of(lambda i: 'f%07d' % i, SMALL, len(SMALL) + 114))
add('packages', 'zip-in-zips', nested_zips)
add('packages', 'tar-empty', one(lambda size: tar_of(lambda i: 'f%d' % i, size // 512)))
add('packages', 'tar-gz-empty', tar_in(lambda data: gzip.compress(data, 6), 1 / 24), scale=1 / 4)
add('packages', 'tar-xz-empty', tar_in(lambda data: lzma.compress(data, preset=1), 1 / 3), scale=1 / 32)
add('packages', 'gz-zeros', one(lambda size: gzip.compress(bytes(size * 1000), 9)), scale=1 / 8)
add('packages', 'gz-members', one(lambda size: gzip.compress(b'', 1) * (size // 20)))
add('packages', 'bz2-members', one(lambda size: bz2.compress(b'a') * (size // 37)))
add('packages', 'xz-members', one(lambda size: lzma.compress(b'a') * (size // 60)))


def image(layers):
    """an archive of images from lists of names, one for each layer; packed by gzip"""
    blobs, packed_names, digests = {}, [], []
    for names in layers:
        raw = tar_of(lambda i, n=names: n[i], len(names))
        blob = gzip.compress(raw, 9, mtime=0)
        digests.append(hashlib.sha256(raw).hexdigest())
        packed_names.append(hashlib.sha256(blob).hexdigest())
        blobs[packed_names[-1]] = blob
    config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + d for d in digests]}})
    name = hashlib.sha256(config.encode()).hexdigest()
    manifest = [{'Config': 'blobs/sha256/' + name, 'RepoTags': [], 'Layers': ['blobs/sha256/' + n for n in packed_names]}]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as archive:
        for path, data in [('manifest.json', json.dumps(manifest).encode()), ('blobs/sha256/' + name, config.encode())] + [
            ('blobs/sha256/' + n, blob) for n, blob in blobs.items()
        ]:
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return [out.getvalue()]


DEEP = 'a/' * 1900
add('packages', 'image-layers', lambda size: image([['f%d' % i] for i in range(max(size // 1200, 1))]))
add('packages', 'image-whiteouts', lambda size: image([['.wh.f%d' % (i - 1), 'f%d' % i] for i in range(max(size // 1300, 1))]))
add('packages', 'image-opaque', lambda size: image([['d/f%d' % i for i in range(size // 40)], ['d/.wh..wh..opq'] + ['d/f%d' % i for i in range(size // 40)]]), scale=1 / 4)
add('packages', 'image-two-deep-paths', lambda size: image([[DEEP + 'x', 'b/' + DEEP[2:] + 'x'] * (size // 48)]), scale=1 / 8)
add('packages', 'image-deep-paths', lambda size: image([[('%d/' % i) + DEEP[:1800] + 'x' for i in range(size // 48)]]), scale=1 / 8)


# ---- selection ----


@family('select', 'select --arch sm_90 {in}')
def many_members(size):
    return [bombs.fill(edit.container(*[edit.member(2, bytes(8), 75 + i % 40) for i in range(4000)]), size)]


@family('select', 'select --arch sm_90 {in}')
def many_texts(size):
    text = b'.version 8.0\n.target sm_75\n'
    return [bombs.fill(edit.container(*[edit.member(1, text, 75 + i % 16) for i in range(4000)]), size)]


add('select', 'zstd-zeros', packed(bytes), 'select --arch sm_75 {in}', 1 / 16)


# ---- links ----


def objects(made):
    return [o.write() for o in made]


def series(what, each):
    return lambda size: objects(link_objects.MAKERS[what](max(size // each, 32)))


for _what, _each in (('functions', 3500), ('layers', 3500), ('symbols', 80), ('relocations', 52), ('edges', 290),
                     ('shared', 1160), ('diamond', 3800), ('dag', 8700)):
    add('link', _what, series(_what, _each), LINK)
for _name in bombs.LINKS:
    _arch = 'sm_100 -g' if _name == 'link-units' else 'sm_100' if _name == 'link-lines' else 'sm_90'
    add('link', 'many-' + _name[5:], bombs.LINKS[_name], 'link -arch=%s -o {out} {in}' % _arch)
add('link: layout', 'tiny-objects', bombs.tiny, 'link -arch=sm_75 -o {out} {in}')
KERNEL, FUNCTION = 1700, 1350  # bytes of a small one


def program(functions, variables=()):
    o = Obj()
    o.functions = functions
    for row in variables:
        o.variable(*row)
    return [o.write()]


@family('link: reach', LINK)
def kernels_over_a_chain(size):
    kernels, chain = size // 2 // KERNEL, size // 2 // FUNCTION
    return program(
        [Function('k%d' % i, True, ['f0']) for i in range(kernels)]
        + [Function('f%d' % i, False, ['f%d' % (i + 1)] if i + 1 < chain else []) for i in range(chain)]
    )


@family('link: reach', LINK)
def one_cycle(size):
    count = size // FUNCTION
    return program([Function('k', True, ['f0'])] + [Function('f%d' % i, False, ['f%d' % ((i + 1) % count)]) for i in range(count)])


@family('link: reach', LINK)
def everything_calls_everything(size):
    count = int((size / 290) ** 0.5)
    names = ['f%d' % i for i in range(count)]
    return program([Function('k%d' % i, True, names) for i in range(4)] + [Function(name, False, names) for name in names])


@family('link: reach', 'link -arch=sm_90 --dump-callgraph -o {out} {in}')
def takers_and_callers(size):
    """each calls through a pointer what each has the address of: what is told is the product"""
    names = ['f%d' % i for i in range(size // 2 // FUNCTION)]
    return program([Function('k', True, indirect=True, takes=names)] + [Function(name, indirect=True) for name in names])


def over_wide(feature):
    """kernels, half of the bytes, that all call one function which calls as many with something to be inherited"""

    def make(size):
        kernels, below = size // 2 // KERNEL, size // 2 // (FUNCTION + 150)
        first = Obj()
        first.functions = [Function('k%d' % i, True, ['f']) for i in range(kernels)]
        first.functions.append(Function('f', False, ['g%d' % i for i in range(below)]))
        first.functions += [Function('g%d' % i) for i in range(below)]
        plain = first.info_of
        first.info_of = lambda f, code, num: plain(f, code, num) + (feature if f.name[0] == 'g' else b'')
        return [first.write()]

    return make


add('link: propagate', 'barriers', over_wide(struct.pack('<BBH', 2, 0x4C, 3)), LINK)
add('link: propagate', 'sums', over_wide(edit.record(4, 0x51, struct.pack('<I', 3))), LINK)
add('link: describe', 'words', over_wide(edit.record(4, 0x56, struct.pack('<4I', *range(4)))), LINK)


@family('link: describe', LINK)
def kernels_that_launch_all(size):
    """one list of all kernels, which each of them hears of"""
    o, count = Obj(), size // (KERNEL + 10)
    o.functions = [Function('k%d' % i, True, ['f']) for i in range(count)] + [Function('f')]
    plain = o.info_of

    def info(f, code, num):
        names = b''.join(struct.pack('<I', o.symbol_of['k%d' % i]) for i in range(min(count, 16000)))
        return plain(f, code, num) + (edit.record(4, 0x0F, names) if f.name == 'f' else b'')

    o.info_of = info
    return [o.write()]


@family('link: shared', LINK)
def kernels_over_shared_variables(size):
    """half kernels, half variables of one function that all of them call"""
    variables = size // 2 // 82
    return program(
        [Function('k%d' % i, True, ['f']) for i in range(size // 2 // KERNEL)] + [Function('f', False, shared=['s%d' % i for i in range(variables)])],
        [('s%d' % i, link_objects.SPACE_SHARED, 4) for i in range(variables)],
    )


add('link: shared', 'the same, -r', kernels_over_shared_variables, 'link -arch=sm_90 -r -o {out} {in}')
add('link: shared', 'the same, -g', kernels_over_shared_variables, 'link -arch=sm_90 -g -o {out} {in}')


@family('link: shared', LINK)
def kernels_over_functions_with_one_each(size):
    kernels, below = size // 2 // KERNEL, size // 2 // (FUNCTION + 90)
    return program(
        [Function('k%d' % i, True, ['f%d' % ((i * 7 + j) % below) for j in range(20)]) for i in range(kernels)]
        + [Function('f%d' % i, False, shared=['s%d' % i]) for i in range(below)],
        [('s%d' % i, link_objects.SPACE_SHARED, 4 + 4 * (i % 7)) for i in range(below)],
    )


@family('link: resolve', LINK)
def objects_times_symbols(size):
    """each of many objects names the same many variables"""
    count, out = max(int((size / 90) ** 0.5), 4), []
    for i in range(count):
        o = Obj()
        o.functions = [Function('k%d' % i, True, [], ['v0'])]
        for j in range(count):
            o.variable('v%d' % j, defined=i == 0)
        out.append(o)
    return objects(out)


@family('link: resolve', LINK)
def weak_of_all_objects(size):
    data = bombs.sample('weak.sm_90.rdc.cubin')
    return [data.replace(b'weak_kernel', b'%011d' % i) for i in range(size // len(data))]


@family('link: resolve', LINK)
def aliases_of_one_function(size):
    """half a million names for the same code"""
    elf = edit.Elf(bytearray(link_objects.tiny()[1].write()))
    at, count = elf.sget('.strtab', 'size'), size // 33
    row = bytes(elf.data[elf.symbol_at('f0') :][:24])
    elf.splice('.strtab', at, 0, b''.join(b'a%07d\0' % i for i in range(count)))
    elf.splice('.symtab', elf.sget('.symtab', 'size'), 0, b''.join(struct.pack('<I', at + 9 * i) + row[4:] for i in range(count)))
    return [bytes(elf.data), link_objects.tiny()[0].write()]


@family('link: layout', LINK)
def names_of_500_bytes(size):
    front = 'n' * 500
    return program([Function(front + '%d' % i, True, [front + 'f%d' % (i % 8)]) for i in range(size // 5600)] + [Function(front + 'f%d' % i) for i in range(8)])


@family('link: layout', LINK)
def names_of_64_kib(size):
    front = 'n' * min(size // 320, 65000)
    return program([Function(front + '%d' % i, True, [front + 'f%d' % j for j in range(16)]) for i in range(16)] + [Function(front + 'f%d' % i) for i in range(16)])


for _name, _options in (('-r', '-r'), ('-g', '-g'), ('--preserve-relocs', '--preserve-relocs')):
    add('link: write, prove', 'functions ' + _name, series('functions', 3500), 'link -arch=sm_90 %s -o {out} {in}' % _options)
add('link: write, prove', 'relocations -r', series('relocations', 52), 'link -arch=sm_90 -r -o {out} {in}')


# ---- finalize ----


@family('finalize', 'finalize -o {out} {in}')
def many_functions(size):
    count = size // KERNEL
    return program([Function('k%d' % i, True, ['f%d' % i]) for i in range(count // 2)] + [Function('f%d' % i) for i in range(count // 2)])


# ---- what is told of them ----


def findings(size):
    """a finding in each of many pieces"""
    return [bombs.fill(edit.container(edit.member(2, bytes(8), 75)), size)]


def kernels(size):
    return program([Function('k%d' % i, True) for i in range(size // KERNEL)])


for _name, _command in (
    ('list', 'list --kernels {in}'),
    ('list, NDJSON', 'list --kernels --format=ndjson {in}'),
    ('resources', 'list --resources {in}'),
    ('dump', 'dump {in}'),
    ('dump, NDJSON', 'dump --format=ndjson {in}'),
    ('map', 'map {in}'),
    ('inventory', 'inventory {in}'),
    ('page', 'report -f -o {out} {in}'),
    ('SARIF', 'scan --format=sarif {in}'),
    ('NDJSON', 'scan --format=ndjson {in}'),
    ('text', 'scan --all -v {in}'),
    ('check', 'check --require sm_90 {in}'),
    ('diff', 'diff {first} {first}'),
):
    add('formats: ' + _name, 'kernels', kernels, _command)
    if _name not in ('resources', 'diff'):
        add('formats: ' + _name, 'findings', findings, _command)
        add('formats: ' + _name, 'zip-empty', zip_of(lambda i: 'f%07d' % i, b'', 114), _command)
for _name, _command in (('dump', 'dump {in}'), ('list', 'list --kernels {in}'), ('page', 'report -f -o {out} {in}')):
    add('formats: ' + _name, 'one-long-name', one(bombs.long_name), _command)
add('formats: SARIF', 'tar-xz-empty', tar_in(lambda data: lzma.compress(data, preset=1), 1 / 3), 'scan --format=sarif {in}', 1 / 32)
add('formats: page', 'tar-xz-empty', tar_in(lambda data: lzma.compress(data, preset=1), 1 / 3), 'report -f -o {out} {in}', 1 / 32)

# {rules}: a file of rules; where there is no libyara these are left out
RULES = b'rule a { strings: $a = "k" $b = /[a-z]{3,}[0-9]+/ condition: any of them }\nrule b { condition: filesize > 0 }\n'
add('yara', 'kernels', kernels, 'scan --yara {rules} -q {in}')
add('yara', 'tiny-archive', one(bombs.tiny_archive), 'scan --yara {rules} -q {in}')
