# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of host ELF files, archives and whole files."""

import re
import struct

import bitcode
from edit import Blob, archive
from registry import case, load, sample

O, SO, EXE, DLINK, VARS = 'host-plain.o', 'host-plain.so', 'host-plain.exe', 'host-dlink.o', 'host-launch.o'
SEG, RSEG = '.nvFatBinSegment', '.rela.nvFatBinSegment'


def dynamic(e, tag):
    """offset of an entry of .dynamic"""
    data = e.section_bytes('.dynamic')
    return next(at for at in range(0, len(data), 16) if struct.unpack_from('<Q', data, at)[0] == tag)


def segment_of(e, kind):
    """index of the first program header of a type"""
    return next(i for i in range(e.hget('e_phnum')) if e.pget(i, 'type') == kind)


def inside(e):
    """write a container header over the start of the first container's payload and let the second wrapper name it; further in,
    it depends on the processor what libzstd makes of the frame"""
    at = 0x50
    e.patch('__nv_relfatbin', at, struct.pack('<IHHQ', 0xBA55ED50, 1, 16, 0))
    return e.reloc(RSEG, 1, 'addend', at)


# The head of LTO-IR for sm_90 as NVRTC 13.0 writes it, and nothing of what it compresses.
LTOIR = bytes.fromhex('ed434e7f0141026203020700180001002800000020000000000084030200020063000000') + bytes(36)


# --- wrappers -------------------------------------------------------------------------------------
case('HOST_WRAPPER_MAGIC', 'wrapper-magic', O, lambda e: e.word(SEG, 0, 0x466243B2))
case('HOST_WRAPPER_VERSION', 'wrapper-version-3', O, lambda e: e.word(SEG, 4, 3))
case('HOST_WRAPPER_VERSION', 'wrapper-version-0', O, lambda e: e.word(SEG, 4, 0))
case('HOST_WRAPPER_SIZE', 'wrapper-size', O, lambda e: e.sadd(SEG, 'size', -8))
case('HOST_WRAPPER_CONTAINER', 'wrapper-nowhere', O, lambda e: e.reloc(RSEG, 0, 'addend', 8))
case('HOST_RELOC_SYMBOL', 'wrapper-reloc-sym', O, lambda e: e.reloc(RSEG, 0, 'sym', 0xFFFF))
case('HOST_WRAPPER_TARGET', 'wrapper-reloc-missing', O, lambda e: e.section(RSEG, 'type', 1))
case('HOST_RELOC_TYPE', 'wrapper-reloc-type', O, lambda e: e.reloc(RSEG, 0, 'type', 2))
case('HOST_WRAPPER_NULL', 'wrapper-null', EXE, lambda e: e.word(SEG, 8, 0, 8))
case('HOST_WRAPPER_TARGET', 'wrapper-address', EXE, lambda e: e.word(SEG, 8, 0x500000, 8))
case(
    'HOST_WRAPPER_CONTAINER',
    'wrapper-address-8',
    EXE,
    lambda e: e.word(SEG, 8, e.sget('.nv_fatbin', 'addr') + 8, 8),
)
case('HOST_WRAPPER_ADDEND', 'wrapper-address-so', SO, lambda e: e.word(SEG, 8, 0x50000, 8))
case('HOST_WRAPPER_SECOND', 'wrapper-second', O, lambda e: e.word(SEG, 16, 64, 8))
case(
    'HOST_WRAPPER_TWICE',
    'wrapper-twice',
    'host-merged.o',
    lambda e: e.reloc(RSEG, 1, 'addend', e.rget(RSEG, 0, 'addend')),
)
case('HOST_SECTION_TYPE', 'wrapper-type', O, lambda e: e.section(SEG, 'type', 8))
# --- sections -------------------------------------------------------------------------------------
case('HOST_SECTION_TYPE', 'fatbin-type', O, lambda e: e.section('.nv_fatbin', 'type', 8))
case('HOST_SECTION_COMPRESSED', 'fatbin-compressed', O, lambda e: e.section('.nv_fatbin', 'flags', 0x802))
case('HOST_SECTION_RANGE', 'fatbin-offset', O, lambda e: e.section('.nv_fatbin', 'offset', 0x1000000))
case('HOST_SECTION_RANGE', 'fatbin-size', O, lambda e: e.section('.nv_fatbin', 'size', 0x1000000))
case('FATBIN_SECTION_UNCLAIMED', 'fatbin-garbage', O, lambda e: e.word('.nv_fatbin', 0, 0x12345678))
case('FATBIN_CROSSES_SECTION', 'fatbin-short', O, lambda e: e.sadd('.nv_fatbin', 'size', -8))
case(
    'HOST_WRAPPER_CONTAINER', 'container-erased', O, lambda e: e.raw(e.at_section('.nv_fatbin', 0), b'\0' * 8)
)
case('HOST_SHDR_RANGE', 'shoff', O, lambda e: e.head('e_shoff', 0x10000000))
case('HOST_SHDR_RANGE', 'shnum', O, lambda e: e.head('e_shnum', 0xFE00))
case('HOST_SHENTSIZE', 'shentsize', O, lambda e: e.head('e_shentsize', 40))
case('HOST_SHSTRNDX', 'shstrndx', O, lambda e: e.head('e_shstrndx', 0xFE00))
case('HOST_NAME_OFFSET', 'section-name', O, lambda e: e.section('.nv_fatbin', 'name', 0xFFFFFF))
case('HOST_NAMES_RANGE', 'names-range', O, lambda e: e.section('.shstrtab', 'size', 0x10000000))
case('HOST_PHDR_RANGE', 'phoff', SO, lambda e: e.head('e_phoff', 0x10000000))
case('HOST_PHENTSIZE', 'phentsize', SO, lambda e: e.head('e_phentsize', 40))
case('HOST_TRUNCATED', 'truncated-header', O, lambda e: e.cut(60))
case('HOST_WRAPPER_OLD', 'wrapper-old', O, lambda e: e.word(SEG, 0, 0x1EE55A01))
case('HOST_WRAPPER_HOST', 'machine', O, lambda e: e.head('e_machine', 8))
case('HOST_RELOC_UNDEFINED', 'undefined', O, lambda e: e.symbol(e.rget(RSEG, 0, 'sym'), 'shndx', 0))
case('HOST_RELOC_ENTRY', 'reloc-entry', O, lambda e: e.section(RSEG, 'entsize', 16))
case(
    'HOST_SECTION_MAPPING',
    'mapping',
    EXE,
    lambda e: e.section('.nv_fatbin', 'addr', e.sget('.nv_fatbin', 'addr') + 16),
)
case('HOST_DYNAMIC', 'dynamic', SO, lambda e: e.word('.dynamic', dynamic(e, 7) + 8, 0x7FFFFFFF, 8))
case('HOST_DYNAMIC', 'dynamic-size', SO, lambda e: e.word('.dynamic', dynamic(e, 8) + 8, 0x7FFFFFFF, 8))
case('HOST_RELOC_ENTRY', 'dynamic-entry', SO, lambda e: e.word('.dynamic', dynamic(e, 9) + 8, 16, 8))
case('HOST_WRAPPER_CONTAINER', 'container-inside', 'host-merged.o', inside)
case('FATBIN_UNREFERENCED', 'unclaimed', 'host-unclaimed.so', lambda e: e, neighbour='host-plain.so')
case('HOST_IDENT', 'class', O, lambda e: e.head('class', 3))
case('HOST_BIG_ENDIAN', 'data', O, lambda e: e.head('data', 2))
case('HOST_SHDR_RANGE', 'truncated', O, lambda e: e.cut(-64))
case('HOST_TEXT_END', 'nvhr-nul', VARS, lambda e: e.word('.nvHRKE', e.sget('.nvHRKE', 'size') - 1, 0x78, 1))
case('HOST_TEXT_BYTE', 'nvhr-control', VARS, lambda e: e.word('.nvHRKE', 2, 1, 1))
case(
    'HOST_TEXT_END',
    'module-id',
    VARS,
    lambda e: e.word('__nv_module_id', e.sget('__nv_module_id', 'size') - 1, 0x78, 1),
)
case('HOST_PLACE', 'behind', O, lambda e: e.append(sample('elf-raw.fatbin')))
case('HOST_PLACE', 'moved-by-1', O, lambda e: e.append(b'\1' + sample('elf-raw.fatbin')))
case(
    'HOST_PLACE',
    'member-text',
    'plain.ptx',
    lambda b: Blob(archive([(b'notes.txt/', b'a text\n' + sample('elf-raw.fatbin'))])).mark(0),
    ending='.a',
    legal=lambda b: Blob(archive([(b'notes.txt/', b'a text\n')])),
)
case(
    'HOST_PLACE',
    'member-names',
    'plain.ptx',
    lambda b: Blob(archive([(b'//', sample('elf-raw.fatbin'))])).mark(0),
    ending='.a',
)
# --- archives -------------------------------------------------------------------------------------
A = 'long-names.a'


def header(b, nth):
    """offset of the nth archive member header"""
    at = 8
    for _ in range(nth):
        size = int(bytes(b.data[at + 48 : at + 58]))
        at += 60 + size + (size & 1)
    return at


case('AR_TERMINATOR', 'terminator', A, lambda b: b.raw(header(b, 2) + 58, b'x'))
case('AR_SIZE', 'size-letters', A, lambda b: b.raw(header(b, 2) + 48, b'12x4'))
case('AR_MEMBER_TRUNCATED', 'size-past', A, lambda b: b.raw(header(b, 4) + 48, b'9999999'))
case('AR_SIZE', 'size-blank', A, lambda b: b.raw(header(b, 2) + 48, b'          '))
case('AR_SIZE', 'size-negative', A, lambda b: b.raw(header(b, 2) + 48, b'-1        '))
case('AR_NAME_OFFSET', 'name-past', A, lambda b: b.raw(header(b, 2), b'/9999           '))
case('AR_NAME_FIELD', 'name-letters', A, lambda b: b.raw(header(b, 2), b'/x              '))
case(
    'AR_NAME_END',
    'name-unterminated',
    A,
    lambda b: b.raw(header(b, 1) + 60, b'n' * (header(b, 2) - header(b, 1) - 60)),
)
case('AR_NAME_OFFSET', 'no-names', A, lambda b: b.raw(header(b, 1), b'x/'))
case('AR_HEADER_TRUNCATED', 'truncated-header', A, lambda b: b.cut(header(b, 4) + 30))
case('AR_MEMBER_TRUNCATED', 'truncated', A, lambda b: b.cut(-10))
case('AR_HEADER_TRUNCATED', 'tail', A, lambda b: b.append(b'\n'))
case('AR_HEADER_TRUNCATED', 'tail-bytes', A, lambda b: b.append(b'x' * 20))
case(
    'AR_PADDING',
    'odd-padding',
    A,
    lambda b: Blob(archive([(b'a.txt/', b'odd'), (b'b.txt/', b'even')])).raw(8 + 60 + 3, b'x'),
)
case('AR_BSD_NAME', 'bsd-past', A, lambda b: Blob(archive([(b'#1/99', b'long-name.o\0data')])))
case('AR_THIN', 'thin', 'thin.a', lambda b: b, neighbour='long-names.a')
# --- whole files ----------------------------------------------------------------------------------
case('FILE_EMPTY', 'empty', 'plain.ptx', lambda b: b.cut(0))
case('FILE_COMPRESSED', 'zip', 'plain.ptx', lambda b: Blob(b'PK\3\4' + bytes(60)))
case('FILE_COMPRESSED', 'gzip', 'plain.ptx', lambda b: Blob(b'\x1f\x8b\x08\0' + bytes(60)))
case('FILE_COMPRESSED', 'zstd', 'plain.ptx', lambda b: Blob(b'\x28\xb5\x2f\xfd' + bytes(60)))
case('FILE_COMPRESSED', 'xz', 'plain.ptx', lambda b: Blob(b'\xfd7zXZ\0' + bytes(60)))
case('FILE_COMPRESSED', 'bzip2', 'plain.ptx', lambda b: Blob(b'BZh91AY&SY' + bytes(54)))
case('FILE_COMPRESSED', 'lz4', 'plain.ptx', lambda b: Blob(b'\x04\x22\x4d\x18\x60' + bytes(59)))
case('FILE_COMPRESSED', '7z', 'plain.ptx', lambda b: Blob(b'7z\xbc\xaf\x27\x1c' + bytes(58)))
# --- bitcode, and LTO-IR that stands alone --------------------------------------------------------
def bc(label, rule, data, **more):
    case(rule, label, 'plain.ptx', lambda b: Blob(data() if callable(data) else data), ending='.bc', **more)


bc('nvptx', 'BC_OPAQUE', bitcode.stream)
bc('abbreviated', 'BC_OPAQUE', bitcode.stream(bitcode.abbreviated()))
bc('wrapped', 'BC_OPAQUE', bitcode.wrapped(bitcode.stream()))
bc('no-list', 'BC_OPAQUE', bitcode.stream(bitcode.module(b'nvptx65-vendor')))
bc('two-modules', 'BC_OPAQUE', bitcode.stream(bitcode.module(b'x86_64-pc-linux-gnu'), bitcode.module()))
bc('amd', 'BC_OTHER_MACHINE', bitcode.stream(bitcode.module(b'amdgcn-amd-amdhsa')))
bc('host', 'BC_OTHER_MACHINE', bitcode.wrapped(bitcode.stream(bitcode.module(b'x86_64-pc-linux-gnu'))))
bc('wrapper-past', 'BC_WRAPPER', bitcode.wrapped(bitcode.stream(), size=len(bitcode.stream()) + 1))
bc('wrapper-into-itself', 'BC_WRAPPER', struct.pack('<5I', 0x0B17C0DE, 0, 16, 64, 7) + bytes(64))
bc('wrapper-cut', 'BC_WRAPPER', struct.pack('<4I', 0x0B17C0DE, 0, 20, 0))
bc('wrapper-around-nothing', 'BC_MAGIC', bitcode.wrapped(bytes(64)))
bc('module-past', 'BC_BLOCK', bitcode.stream(words=0x10000))
bc('inner-past', 'BC_BLOCK', bitcode.stream(bitcode.module(inner_words=40)))
bc('no-triple', 'BC_STREAM', bitcode.stream(bitcode.module(None)))
bc('endless-definition', 'BC_STREAM', bitcode.stream(bitcode.module(before=bitcode.endless)))
bc('magic-only', 'BC_STREAM', bitcode.MAGIC)
X86, CUDA = b'x86_64-pc-linux-gnu', b'nvptx64-nvidia-cuda'
bc('two-triples', 'BC_TRIPLES', bitcode.stream(bitcode.module(X86, after=bitcode.again(CUDA))))
bc('two-triples-host', 'BC_TRIPLES', bitcode.stream(bitcode.module(X86, after=bitcode.again(X86))))
bc('two-triples-nvptx', 'BC_TRIPLES', bitcode.stream(bitcode.module(CUDA, after=bitcode.again(X86))))
bc('two-triples-empty', 'BC_TRIPLES', bitcode.stream(bitcode.module(X86, after=bitcode.again(b''))))
bc('wide-letters', 'BC_OPAQUE', bitcode.stream(bitcode.module([256 + c for c in b'nvptx64-'] + list(X86))))
bc('unreadable-rest', 'BC_OPAQUE', bitcode.stream(bitcode.module(X86, after=bitcode.no_definition)))
bc('hidden', 'FATBIN_HIDDEN', lambda: bitcode.stream() + sample('default.fatbin'))
case('BC_LTOIR', 'ltoir', 'plain.ptx', lambda b: Blob(LTOIR), ending='.ltoir')
case('FILE_OLD_MAGIC', 'old-magic', 'plain.ptx', lambda b: Blob(b'\x01\x5a\xe5\x1e' + bytes(60)))
case(
    'FILE_STRAY_MAGIC',
    'stray-magic',
    'plain.ptx',
    lambda b: Blob(bytes(64) + b'\x50\xed\x55\xba' + bytes(60)),
)
case(
    'FILE_DAMAGED_ELF',
    'damaged-elf',
    'plain.sm_75.cubin',
    lambda e: Blob(bytes(64) + bytes(e.section(2, 'offset', 2**60))),
)
case(
    'FILE_STRAY_ELF',
    'stray-elf',
    'plain.sm_75.cubin',
    lambda e: Blob(bytes(64) + bytes(e.section(2, 'offset', 2**60).raw(6, b'\7'))),
)
case('PTX_NUL_INSIDE', 'ptx-nul', 'plain.ptx', lambda b: b.raw(300, b'\0'))
case(
    'PTX_TARGET_MISSING',
    'ptx-no-target',
    'plain.ptx',
    lambda b: Blob(bytes(b).replace(b'.target', b'.tarjet')),
)
case('PTX_LINE_MARKER', 'marker', 'plain.ptx', lambda b: b.insert(0, b'# 1 "x.cu"\n'))
case('PTX_LINE_MARKER', 'marker-lines', 'plain.ptx', lambda b: b.insert(0, b' #line 22 "x\ny.cu" 1 2\r\n'))
case('PTX_CONTROL', 'ptx-dropped', 'plain.ptx', lambda b: b.insert(0, b'\x1a'))


def retarget(new, old=rb'[.]target sm_\d+'):
    """an edit that puts these bytes behind the target of a text"""

    def edit(b):
        return b.insert(re.search(old, bytes(b.data)).end(), new)

    return edit


case(
    'PTX_TARGET_AGAIN',
    'list',
    'plain.ptx',
    retarget(b', sm_90'),
    legal=retarget(b', texmode_independent'),
)
case('PTX_TARGET_AGAIN', 'directive', 'plain.ptx', retarget(b'\n.target sm_90'))
case(
    'PTX_TARGET_AGAIN',
    'in-function',
    'plain.ptx',
    retarget(b'\n.target sm_90\n', rb'[{]'),
    legal=retarget(b'\n// .target sm_90\n/*/ .target sm_90 */\n', rb'[{]'),
)
case('PTX_TARGET_OPTION', 'option', 'plain.ptx', retarget(b', texmode'), legal=retarget(b', texmode_unified'))
case(
    'PTX_VERSION',
    'ptx-version',
    'plain.ptx',
    lambda b: Blob(bytes(b).replace(b'.version 9.0', b'.version x.0')),
)
# --- tables of archives: judged like members ---------------------------------------------------------
TABLES = (b'/', b'//', b'/SYM64/', b'/<x', b'__.SYMDEF', b'__.SYMDEF SORTED')
for index, table in enumerate(TABLES):
    for rule, label, data in (
        ('HOST_WRAPPER_VERSION', 'host', lambda: bytes(load(O).word(SEG, 4, 3))),
        ('BC_LTOIR', 'ltoir', lambda: LTOIR),
        ('PTX_LINE_MARKER', 'ptx', lambda: b'# 1 "x.cu"\n' + sample('plain.ptx')),
    ):
        case(
            rule,
            'table%d-%s' % (index, label),
            'plain.ptx',
            lambda b, table=table, data=data: Blob(archive([(table, data())])),
            ending='.a',
        )
# what has a slash behind a BSD name of a table is a member for every linker
case(
    'HOST_WRAPPER_VERSION',
    'member-symdef',
    'plain.ptx',
    lambda b: Blob(archive([(b'__.SYMDEF/', bytes(load(O).word(SEG, 4, 3)))])),
    ending='.a',
    legal=lambda b: Blob(archive([(b'__.SYMDEF/', sample(O))])),
)
# --- what a loader or a linker makes of device code ------------------------------------------------------


def moved(section, delta, table='.rela.dyn', index=0):
    """an edit: the relocation writes there"""
    return lambda e: e.reloc(table, index, 'offset', e.sget(section, 'addr') + delta)


def linkage(e):
    """the plain relocations become those of the linkage table"""
    for tag, value in ((7, 23), (8, 2), (9, 20)):
        e.word('.dynamic', dynamic(e, tag), value, 8)
    return e.word('.dynamic', dynamic(e, 20) + 8, 7, 8)


def twice(e):
    """the only relocation is one of the linkage table as well"""
    for tag, value in ((23, e.sget('.rela.dyn', 'addr')), (2, 24), (20, 7)):
        at = dynamic(e, 0)
        e.word('.dynamic', at, tag, 8).word('.dynamic', at + 8, value, 8)
    return e


def overlay(e, page):
    """a segment that needs not be loaded becomes eight bytes of a page at the end of the file, loaded there"""
    index = next(i for i in range(e.hget('e_phnum')) if e.pget(i, 'type') not in (1, 2))
    e.segment(index, 'type', 1)
    e.append(bytes(-len(e.data) % 4096))
    for field, value in (('offset', len(e.data)), ('vaddr', page), ('filesz', 8), ('memsz', 8), ('align', 4096)):
        e.segment(index, field, value)
    return e.append(b'no code.')


def page_of(e, where):
    return e.sget(where, 'addr') // 4096 * 4096


def of_code(e, **fields):
    """relocations of another section are those of the device code"""
    for field, value in fields.items():
        e.section(RSEG, field, value)
    return e.section(RSEG, 'info', e.index('.nv_fatbin'))


FAT = '.nv_fatbin'
case('HOST_RELOC_CODE', 'reloc-in-code', SO, moved(FAT, 0x60), legal=moved(FAT, -8))
case('HOST_RELOC_CODE', 'reloc-before-code', SO, moved(FAT, -7))
case('HOST_RELOC_CODE', 'reloc-in-object', O, of_code)
case('HOST_RELOC_FORM', 'reloc-crel', O, lambda e: of_code(e, type=0x40000014))
case('HOST_RELOC_WRAPPER', 'reloc-half', SO, moved(SEG, 4), legal=moved(SEG, 0x18))
case('HOST_RELOC_WRAPPER', 'reloc-twice', SO, twice)
case('HOST_RELOC_WRAPPER', 'reloc-linkage', SO, linkage)
case('HOST_RELOC_WRAPPER', 'reloc-object', O, lambda e: e.reloc(RSEG, 0, 'offset', 0))
case('HOST_RELOC_TABLE', 'reloc-table', SO, moved('.rela.dyn', 8))
case('HOST_RELOC_TABLE', 'reloc-dynamic', SO, moved('.dynamic', 8))
case(
    'HOST_OVERLAID',
    'overlaid',
    SO,
    lambda e: overlay(e, page_of(e, FAT)),
    legal=lambda e: overlay(e, page_of(e, FAT) + 0x10000),
)
case('HOST_OVERLAID', 'overlaid-program', EXE, lambda e: overlay(e, page_of(e, FAT)))
case('HOST_OVERLAID', 'overlaid-wrapper', SO, lambda e: overlay(e, page_of(e, SEG)))
case('HOST_DYNAMIC', 'dynamic-elsewhere', SO, lambda e: e.segment(segment_of(e, 2), 'vaddr', e.sget('.dynamic', 'addr') + 16))
# --- without a section table, or with one that does not tell all ------------------------------------------


def stripped(e):
    """no section table: a loader needs none"""
    for field in ('e_shoff', 'e_shentsize', 'e_shnum', 'e_shstrndx'):
        e.head(field, 0)
    return e


def bare(edit):
    """the same edit of a file without a section table"""
    return lambda e: stripped(edit(e))


def elsewhere(e):
    """the section shows a copy of the wrapper behind all that is loaded"""
    data = bytes(e.section_bytes(SEG))
    e.section(SEG, 'offset', len(e.data))
    return e.append(data)


def inside_header(e):
    """the wrapper names the middle of a container's header"""
    return e.word(SEG, 8, e.sget(FAT, 'addr') + 8, 8)


def few(e):
    """a table of two sections: names, and nothing else"""
    at, names = e.hget('e_shoff'), e.header_at('.shstrtab')
    e.raw(at + 64, bytes(e.data[names : names + 64]))
    return e.head('e_shnum', 2).head('e_shstrndx', 1)



case('HOST_WRAPPER_PLACE', 'renamed', SO, lambda e: e.rename(SEG, '.data'))
case('HOST_WRAPPER_PLACE', 'renamed-program', EXE, lambda e: e.rename(SEG, '.data'))
case('HOST_WRAPPER_PLACE', 'no-bytes', SO, lambda e: e.section(SEG, 'type', 8))
case('HOST_WRAPPER_PLACE', 'two-sections', SO, few)
case('HOST_WRAPPER_UNLOADED', 'elsewhere', EXE, elsewhere)
case('HOST_WRAPPER_UNLOADED', 'address', SO, lambda e: e.sadd(SEG, 'addr', 0x100000))
case('HOST_DYNAMIC', 'dynamic-no-bytes', SO, lambda e: e.segment(segment_of(e, 2), 'filesz', 0))
case('HOST_SECTION_MAPPING', 'wrapper-address-0', SO, lambda e: e.section(SEG, 'addr', 0))
case('HOST_WRAPPER_TARGET', 'bare', EXE, bare(lambda e: e.word(SEG, 8, 0x500000, 8)), legal=stripped)
case('HOST_WRAPPER_CONTAINER', 'bare', EXE, bare(inside_header), legal=stripped)
case('HOST_WRAPPER_CONTAINER', 'no-names', EXE, lambda e: inside_header(e).head('e_shstrndx', 0), legal=lambda e: e.head('e_shstrndx', 0))
case('HOST_WRAPPER_VERSION', 'bare', SO, bare(lambda e: e.word(SEG, 4, 3)), legal=stripped)
case('HOST_WRAPPER_SECOND', 'bare', SO, bare(lambda e: e.word(SEG, 16, 64, 8)), legal=stripped)
case('HOST_WRAPPER_ADDEND', 'bare', SO, bare(lambda e: e.word(SEG, 8, 0x50000, 8)), legal=stripped)
case('HOST_RELOC_TYPE', 'bare', SO, bare(lambda e: e.reloc('.rela.dyn', 0, 'type', 1)), legal=stripped)
case('HOST_RELOC_WRAPPER', 'bare', SO, bare(moved(SEG, 4)), legal=bare(moved(SEG, 0x18)))
case('HOST_OVERLAID', 'bare', SO, bare(lambda e: overlay(e, page_of(e, SEG))), legal=bare(lambda e: overlay(e, page_of(e, FAT) + 0x10000)))
case('HOST_DYNAMIC', 'bare', SO, bare(lambda e: e.word('.dynamic', dynamic(e, 8) + 8, 0x7FFFFFFF, 8)), legal=stripped)
case('FATBIN_UNREFERENCED', 'bare', SO, bare(lambda e: e.word(SEG, 0, 0)), legal=stripped)
