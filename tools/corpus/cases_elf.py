# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of device ELF files: header, sections, symbols, relocations, segments."""

import synth
from edit import Elf
from registry import case, sample

P75, P90, P100 = 'plain.sm_75.cubin', 'plain.sm_90.cubin', 'plain.sm_100.cubin'
R75, R90, R100 = 'plain.sm_75.rdc.cubin', 'plain.sm_90.rdc.cubin', 'plain.sm_100.rdc.cubin'
FN = '_Z5plainPi'
TEXT, INFO, C0 = '.text.' + FN, '.nv.info.' + FN, '.nv.constant0.' + FN
V90, V100, V75 = 'vars.sm_90.cubin', 'vars.sm_100.cubin', 'vars.sm_75.cubin'

V110 = 'plain.sm_110.cubin'
W90, WI, WF = 'weak.sm_90.cubin', '_Z11weak_kernelIiEvPT_', '_Z11weak_kernelIfEvPT_'
I90 = 'indirect.sm_90.rdc.cubin'


def compat_on_75(e):
    """turn the call graph's header into one of .nv.compat"""
    index = e.index('.nv.callgraph')
    return e.rename('.nv.callgraph', '.nv.compat').section(index, 'type', 0x70000086)


def sections_at_odd_place(e):
    """a second section header table behind the file, four bytes too far"""
    table = bytes(e.data[e.hget('e_shoff') : e.hget('e_shoff') + 64 * e.hget('e_shnum')])
    end = len(e.data)
    return e.append(bytes(4 + -end % 8) + table).head('e_shoff', end + 4 + -end % 8)


def swap_strings(e):
    """exchange the headers of .strtab and .symtab"""
    one, two = e.header_at('.strtab'), e.header_at('.symtab')
    a, b = bytes(e.data[one : one + 64]), bytes(e.data[two : two + 64])
    return e.raw(one, b).raw(two, a)


def sm_100_of_110(e):
    """an sm_110 file that says it is sm_100: only sm_110 tools leave bytes in the reserved image"""
    return e.head('e_flags', 0x06006402)


# --- header ---------------------------------------------------------------------------------------
for rule, label, field, value in (
    ('ELF_CLASS', 'class', 'class', 3),
    ('ELF_DATA', 'data-0', 'data', 0),
    ('ELF_BIG_ENDIAN', 'big-endian', 'data', 2),
    ('ELF_IDENT_VERSION', 'ident-version', 'version', 2),
    ('ELF_ABI', 'osabi', 'osabi', 0),
    ('ELF_ABI', 'osabi-33', 'osabi', 0x33),
    ('ELF_ABI', 'abiversion-7', 'abiversion', 7),
    ('ELF_ABI_NEW', 'abiversion-9', 'abiversion', 9),
    ('ELF_PAD', 'pad', 'pad', 1),
    ('ELF_TYPE', 'type', 'e_type', 3),
    ('ELF_TYPE', 'type-0', 'e_type', 0),
    ('ELF_NO_MERCURY', 'type-ff00', 'e_type', 0xFF00),
    ('ELF_VERSION', 'version', 'e_version', 2),
    ('ELF_ENTRY', 'entry', 'e_entry', 64),
    ('ELF_EHSIZE', 'ehsize', 'e_ehsize', 52),
    ('ELF_SHENTSIZE', 'shentsize', 'e_shentsize', 40),
    ('ELF_SHENTSIZE', 'shentsize-0', 'e_shentsize', 0),
    ('ELF_PHENTSIZE', 'phentsize', 'e_phentsize', 64),
    ('ELF_PHENTSIZE', 'phentsize-40', 'e_phentsize', 40),
    ('ELF_SHDR_RANGE', 'shoff-huge', 'e_shoff', 2**64 - 8),
    ('ELF_SHDR_RANGE', 'shoff-in-header', 'e_shoff', 32),
    ('ELF_PHDR_RANGE', 'phoff-in-header', 'e_phoff', 32),
    ('ELF_PHDR_RANGE', 'phoff-huge', 'e_phoff', 2**64 - 56),
    ('ELF_PHDR_RANGE', 'phnum-many', 'e_phnum', 0x100),
    ('ELF_PHDR_RANGE', 'phnum-ffff', 'e_phnum', 0xFFFF),
    ('ELF_SHDR_RANGE', 'shnum-many', 'e_shnum', 0xFE00),
    ('ELF_NO_SECTIONS', 'shnum-0', 'e_shnum', 0),
    ('ELF_SHSTRNDX', 'shstrndx-0', 'e_shstrndx', 0),
    ('ELF_SHSTRNDX', 'shstrndx-out', 'e_shstrndx', 0x300),
    ('ELF_SHSTRNDX', 'shstrndx-symtab', 'e_shstrndx', 3),
):
    case(rule, label, P90, lambda e, a=field, b=value: e.head(a, b))
case('ELF_SHSTRNDX_NAME', 'shstrndx-strtab', P90, lambda e: e.head('e_shstrndx', 2))
case('ELF_SHOFF_ALIGN', 'shoff-odd', R90, sections_at_odd_place)
case('ELF_PHDR_PLACE', 'phoff-moved', P90, lambda e: e.head('e_phoff', e.hget('e_phoff') - 56))
case('ELF_PHDR_REL', 'phnum-rel', R75, lambda e: e.head('e_phoff', 64).head('e_phnum', 1))
case('ELF_TRAILING', 'phnum-less', P90, lambda e: e.head('e_phnum', e.hget('e_phnum') - 1))
case('ELF_PHDR_TYPE', 'phnum-exe-0', P90, lambda e: e.head('e_phnum', 0))
case('ELF_PHDR_PLACE', 'phoff-rel', R90, lambda e: e.head('e_phoff', 64))
case('ELF_SHORT', 'truncated-63', P90, lambda e: e.cut(63))
case('ELF_SHDR_RANGE', 'truncated', R90, lambda e: e.cut(-8))
case('ELF_PHDR_RANGE', 'truncated', P90, lambda e: e.cut(-8))
case('ELF_TRAILING', 'tail', P90, lambda e: e.append(bytes(8)))
case('ELF_TRAILING', 'tail-nonzero', P90, lambda e: e.append(b'\1' * 8))

# e_flags
for rule, label, base, value in (
    ('ELF_FLAGS_KIND', 'kind-2-on-90', P90, 0x06005A02),
    ('ELF_FLAGS_KIND', 'kind-0-on-100', P100, 0x06006400),
    ('SEC_UNEXPECTED', 'kind-4-on-100', P100, 0x06006404),
    ('ELF_FLAGS_KIND', 'kind-6', P90, 0x06005A06),
    ('ELF_FLAGS_ACCEL', 'bit-3', P90, 0x06005A0C),
    ('ELF_FLAGS_ACCEL', 'bit-7', P90, 0x06005A84),
    ('ELF_NO_MERCURY', 'kind-1', P90, 0x06005A01),
    ('ELF_MERCURY', 'kind-1-on-100', P100, 0x06006401),
    ('ELF_FLAGS_SM', 'sm-high', P90, 0x06015A04),
    ('ELF_SM_UNKNOWN', 'sm-0', P90, 0x06000004),
    ('ELF_SM_UNKNOWN', 'sm-91', P90, 0x06005B04),
    ('ELF_FLAGS_NOTE', 'note-index', P90, 0x05005A04),
    ('ELF_FLAGS_NOTE', 'note-out', P90, 0x7F005A04),
    ('ELF_FLAGS_NOTE', 'note-ff', P90, 0xFF005A04),
    ('ELF_FLAGS_NOTE', 'note-0', P90, 0x00005A04),
    ('ELF_FLAGS_LEGACY', 'legacy-64', 'abi7:' + P75, 0x4B014B),
    ('ELF_FLAGS_LEGACY', 'legacy-unknown', 'abi7:' + P75, 0x4B254B),
    ('ELF_NO_MERCURY', 'legacy-mercury', 'abi7:' + P75, 0x804B054B),
):
    case(rule, 'flags-' + label, base, lambda e, v=value: e.head('e_flags', v))

case('ELF_NO_MERCURY', 'type-ff00-on-100', P100, lambda e: e.head('e_type', 0xFF00))
case('ELF_MERCURY', 'type-ff00-flag-on-100', P100, lambda e: e.head('e_flags', 0x06006401).head('e_type', 0xFF00))

# --- sections -------------------------------------------------------------------------------------
case('SEC_NULL', 'section-0-size', P90, lambda e: e.section(0, 'size', 5))
case('SEC_NULL', 'section-0-type', P90, lambda e: e.section(0, 'type', 1))
case('SEC_NULL', 'section-0-link', P90, lambda e: e.section(0, 'link', 1))
case('SEC_NAME', 'section-name-out', P90, lambda e: e.section('.nv.info', 'name', 0xFFFF))
case(
    'SEC_NAME_MIDDLE', 'section-name-end', P90, lambda e: e.section('.nv.info', 'name', e.sget(1, 'size') - 1)
)
case('SEC_NAME_MIDDLE', 'section-name-middle', P90, lambda e: e.sadd('.nv.info', 'name', 1))
case('SEC_UNKNOWN', 'section-name-unknown', P90, lambda e: e.rename('.nv.callgraph', '.nv.callgrapi'))
case('SEC_TYPE', 'section-type', P90, lambda e: e.section('.nv.info', 'type', 1))
case('SEC_TYPE', 'section-type-unknown', P90, lambda e: e.section('.nv.callgraph', 'type', 0x70000099))
case('SEC_TYPE', 'section-type-text', P90, lambda e: e.section(TEXT, 'type', 8))
case('SEC_FLAGS', 'section-flags', P90, lambda e: e.section('.nv.info', 'flags', 2))
case(
    'SEC_COMPRESSED',
    'section-flags-compressed',
    'plain.sm_90.g.cubin',
    lambda e: e.section('.debug_info', 'flags', 0x800),
)
case('SEC_FLAGS', 'section-flags-text', P90, lambda e: e.section(TEXT, 'flags', 7))
case('SEC_ADDR', 'section-addr', P90, lambda e: e.section(TEXT, 'addr', 0x1000))
case('SEC_RANGE', 'section-offset-past', P90, lambda e: e.section(TEXT, 'offset', len(e.data) + 128 & ~127))
case('SEC_RANGE', 'section-offset-huge', P90, lambda e: e.section(TEXT, 'offset', 2**64 - 128))
case('SEC_RANGE', 'section-size-past', P90, lambda e: e.section('.nv.info', 'size', 0x100000))
case('SEC_RANGE', 'section-size-huge', P90, lambda e: e.section('.nv.info', 'size', 2**64 - 16))
case(
    'SYM_RANGE',
    'nobits-small',
    V90,
    lambda e: e.section('.nv.global', 'size', 4),
    legal=lambda e: e.section('.nv.global', 'size', 64),
)
case('SEC_LINK', 'section-link', P90, lambda e: e.section('.nv.info', 'link', 0x1000))
case('SEC_LINK_HABIT', 'section-link-wrong', P90, lambda e: e.section('.nv.info', 'link', 1))
case('SEC_MEMORY_SIZE', 'shared-huge', P90, lambda e: e.section('.nv.shared.reserved.0', 'size', 2**63))
case('SEC_TYPE_NAME', 'callgraph-renamed', P90, lambda e: e.rename('.nv.callgraph', '.nv.calxgraph'))
case('SYM_OTHER', 'kernel-in-reserved-space', P90, lambda e: e.symbol(FN, 'other', 0xB0))
case('SEG_MEMORY_SMALL', 'segment-memory-1', P90, lambda e: e.segment(2, 'memsz', e.pget(2, 'filesz') - 1))
case('SEC_FLAGS_HABIT', 'section-flags-info-link', P90, lambda e: e.section(INFO, 'flags', 0))
case('SEC_TYPE_HABIT', 'constant-progbits', R90, lambda e: e.section(C0, 'type', 1))
case('SEC_TYPE_HABIT', 'constant-without-number', R90, lambda e: e.section(C0, 'type', 0x70000006))
case('SEC_ENTSIZE_HABIT', 'debug-entsize', P90, lambda e: e.section('.debug_frame', 'entsize', 2))
case('SYM_RESERVED_SECTION', 'symbol-in-ff00', P90, lambda e: e.symbol(FN, 'shndx', 0xFF00))
case('SEC_INFO_RANGE', 'section-info', P90, lambda e: e.section(INFO, 'info', 0x1000))
case('SEC_FN', 'info-wrong', P90, lambda e: e.section(INFO, 'info', 1))
case('SEC_INFO', 'callgraph', P90, lambda e: e.section('.nv.callgraph', 'info', 1))
case('SEC_INFO', 'cuinfo', P90, lambda e: e.section('.note.nv.cuinfo', 'info', 7))
case('SEC_FN', 'constant-wrong', P90, lambda e: e.section(C0, 'info', 2))
case('SEC_ALIGN', 'section-align', P90, lambda e: e.section('.nv.info', 'align', 3))
case('SEC_ALIGN_ROLE', 'section-align-text', P90, lambda e: e.section(TEXT, 'align', 64))
case('SEC_ALIGN_ROLE', 'section-align-huge', P90, lambda e: e.section('.nv.info', 'align', 1 << 63))
case(
    'SEC_OFFSET',
    'section-offset-odd',
    P90,
    lambda e: e.section('.nv.global.init' if e.has('.nv.global.init') else '.nv.info', 'align', 8192),
)
case('SEC_OFFSET', 'section-offset-odd-nobits', V90, lambda e: e.sadd('.nv.global', 'offset', 1))
case('SEC_ENTSIZE', 'section-entsize-symtab', P90, lambda e: e.section('.symtab', 'entsize', 16))
case('SEC_ENTSIZE', 'section-entsize-symtab-0', P90, lambda e: e.section('.symtab', 'entsize', 0))
case('SEC_ENTSIZE', 'section-entsize-rela', V90, lambda e: e.section('.rela.nv.constant4', 'entsize', 16))
case('SEC_ENTSIZE', 'section-entsize-rel', V75, lambda e: e.section('.rel.nv.constant4', 'entsize', 24))
case('SEC_ENTSIZE', 'section-entsize-callgraph', P90, lambda e: e.section('.nv.callgraph', 'entsize', 4))
case('SEC_MULTIPLE', 'section-size-symtab', P90, lambda e: e.sadd('.symtab', 'size', -8))
case('TEXT_SIZE', 'section-size-text', P90, lambda e: e.sadd(TEXT, 'size', -8))
case(
    'LEDGER_OVERLAP',
    'section-overlap',
    P90,
    lambda e: e.section('.nv.info', 'offset', e.sget('.note.nv.cuinfo', 'offset')),
)
case('LEDGER_OVERLAP', 'section-overlap-part', P90, lambda e: e.sadd('.nv.info', 'size', 4))
case('SEC_IN_HEADER', 'section-overlap-header', P90, lambda e: e.section('.nv.info', 'offset', 32))
case('LEDGER_OVERLAP', 'section-overlap-table', P90, lambda e: e.section('.nv.info', 'offset', e.shoff))
case('LEDGER_OVERLAP', 'clone-partial', V100, lambda e: e.sadd('.nv.merc.nv.constant.user', 'size', -4))
case(
    'LEDGER_OVERLAP',
    'clone-shifted',
    V100,
    lambda e: e.sadd('.nv.merc.nv.global.init', 'offset', 8).sadd('.nv.merc.nv.global.init', 'size', -8),
)
case(
    'LEDGER_OVERLAP',
    'clone-wrong-pair',
    V100,
    lambda e: e.section('.nv.merc.nv.constant.user', 'offset', e.sget('.nv.global.init', 'offset')).section(
        '.nv.merc.nv.constant.user', 'size', e.sget('.nv.global.init', 'size')
    ),
)
case('LEDGER_GAP_DATA', 'gap-nonzero', P90, lambda e: e.raw(e.sget(TEXT, 'offset') - 4, b'\1'))
case('ELF_SHSTRNDX', 'strtab-type', P90, lambda e: e.section('.shstrtab', 'type', 1))
case('SEC_TYPE', 'strtab-type-8', P90, lambda e: e.section('.strtab', 'type', 8))
case('STR_BOUNDS', 'strtab-first', P90, lambda e: e.patch('.strtab', 0, b'x'))
case('STR_BOUNDS', 'strtab-last', P90, lambda e: e.patch('.strtab', e.sget('.strtab', 'size') - 1, b'x'))
case('STR_BOUNDS', 'shstrtab-first', P90, lambda e: e.patch('.shstrtab', 0, b'x'))
case(
    'STR_BOUNDS', 'shstrtab-last', P90, lambda e: e.patch('.shstrtab', e.sget('.shstrtab', 'size') - 1, b'x')
)
case('SEC_TYPE', 'two-symtab', P90, lambda e: e.section('.nv.callgraph', 'type', 2))
case(
    'TEXT_SYMBOL',
    'two-texts',
    'weak.sm_90.cubin',
    lambda e: e.section(
        [n for n in e.names if n.startswith('.text')][1],
        'info',
        e.sget([n for n in e.names if n.startswith('.text')][0], 'info'),
    ),
)
case('TEXT_SYMBOL', 'text-info-out', P90, lambda e: e.section(TEXT, 'info', 0xFFFF))
case('TEXT_SYMBOL', 'text-info-wrong', P90, lambda e: e.section(TEXT, 'info', 1))
case(
    'TEXT_REGISTERS',
    'text-regcount-90',
    P90,
    lambda e: e.section(TEXT, 'info', e.sget(TEXT, 'info') + (8 << 24)),
)
case('PAIR_INFO', 'two-infos', P90, lambda e: e.section(C0, 'name', e.sget(INFO, 'name')))
case('PAIR_NO_INFO', 'text-no-info', P90, lambda e: e.rename(INFO, '.nv.infp.' + FN))
case('SEC_UNEXPECTED', 'compat-on-75', P75, compat_on_75)
case('SEC_MISSING_COMPAT', 'compat-missing', P90, lambda e: e.rename('.nv.compat', '.nv.compax'))
case('TLV_NO_REGCOUNT', 'nv-info-renamed', P90, lambda e: e.rename('.nv.info', '.nv.infp'))
case(
    'SEC_MISSING_TABLE',
    'symtab',
    P90,
    lambda e: e.section('.symtab', 'name', e.sget('.nv.callgraph', 'name')),
)
case(
    'SEC_DUPLICATE',
    'two-compat',
    P90,
    lambda e: e.section('.nv.callgraph', 'name', e.sget('.nv.compat', 'name')),
)
case(
    'SEC_DUPLICATE',
    'two-symtab',
    P90,
    lambda e: e.section('.nv.callgraph', 'name', e.sget('.symtab', 'name')),
)
case('SEC_ORDER', 'swapped', P90, swap_strings)
case('SEC_FN', 'constant', W90, lambda e: e.section('.nv.constant0.' + WI, 'info', e.index('.text.' + WF)))
case('SEC_FN', 'info', W90, lambda e: e.section('.nv.info.' + WI, 'info', e.index('.text.' + WF)))
case('SEC_FN', 'text', R90, lambda e: e.section(INFO, 'info', e.index('.nv.callgraph')))
case('PAIR_CONST0', 'two-banks', P90, lambda e: e.section(INFO, 'name', e.sget(C0, 'name')))
case('PAIR_NO_CONST0', 'kernel-without', P90, lambda e: e.rename(C0, '.nv.constant7.' + FN))
case('PAIR_NO_CONST0', 'function-with', R90, lambda e: e.symbol(FN, 'other', 0))
case('SYM_KERNEL_NAME', 'kernel-name', P90, lambda e: e.symbol(FN, 'name', e.yget(TEXT, 'name')))
case(
    'RELOC_ALIGN',
    'reloc-align',
    I90,
    lambda e: e.reloc(
        '.rela.text._Z8indirectPi', 0, 'offset', e.rget('.rela.text._Z8indirectPi', 0, 'offset') + 4
    ),
)
case('LEDGER_GAP', 'section-forgotten', P90, lambda e: e.section('.debug_frame', 'size', 0))
case(
    'LEDGER_GAP',
    'behind-clone',
    'cuver:vars.sm_100.cubin',
    lambda e: synth.behind_clone(e, 64),
    legal=lambda e: synth.behind_clone(e, 56),
)
case('LEDGER_GAP', 'behind-clone-130', 'vars.sm_100.cubin', lambda e: synth.behind_clone(e, 56))
case('LEDGER_RESERVED_DATA', 'sm-110', 'plain.sm_110.cubin', lambda e: e, neighbour=P100)
case('LEDGER_RESERVED_NONZERO', 'sm-100', 'plain.sm_110.cubin', sm_100_of_110, neighbour=P100)
case('ELF_MACHINE', 'machine-in-member', 'elf-raw.fatbin', lambda f: f.put((0, 2), 62, f.payload()[0] + 18))
case('ELF_MAGIC', 'magic-in-member', 'elf-raw.fatbin', lambda f: f.raw(f.payload()[0] + 1, b'F'))
case('ELF_ABI_OLD', 'abi-4', 'abi7:' + P75, lambda e: e.head('abiversion', 4))
case('ELF_CLASS32', 'class-32', 'elf32:' + P75, lambda b: b, neighbour=P75)
case('ELF_SHDR_RANGE', 'shoff-past', P90, lambda e: e.head('e_shoff', e.hget('e_shoff') + 0x10000))
case('SEC_MISSING_NOTE', 'cuinfo-missing', P90, lambda e: e.rename('.note.nv.cuinfo', '.note.nv.cuinfa'))
case('SEC_MISSING_NOTE', 'tkinfo-missing', P90, lambda e: e.rename('.note.nv.tkinfo', '.note.nv.tkinfa'))
case(
    'ELF_NO_SECTIONS',
    'extended-0',
    P90,
    lambda e: synth.numbered(e).section(0, 'size', 0),
    legal=synth.numbered,
)
case('LIMIT_SECTIONS', 'extended-huge', P90, lambda e: synth.numbered(e).section(0, 'size', 1 << 40))

# --- symbols --------------------------------------------------------------------------------------
case('SYM_ZERO_VALUE', 'symbol-0', P90, lambda e: e.symbol(0, 'value', 1))
case('SYM_ZERO', 'symbol-0-name', P90, lambda e: e.symbol(0, 'name', 1))
case('SYM_NAME', 'symbol-name-out', P90, lambda e: e.symbol(FN, 'name', 0xFFFFFF))
case('SYM_NAME_MIDDLE', 'symbol-name-middle', P90, lambda e: e.symbol(FN, 'name', e.yget(FN, 'name') + 1))
case('SYM_SHNDX', 'symbol-shndx', P90, lambda e: e.symbol(FN, 'shndx', 0x100))
case('TEXT_SYMBOL', 'symbol-shndx-abs', P90, lambda e: e.symbol(FN, 'shndx', 0xFFF1))
case('SYM_XINDEX', 'symbol-shndx-xindex', P90, lambda e: e.symbol(FN, 'shndx', 0xFFFF))
case('SYM_FUNC_PLACE', 'symbol-shndx-other', P90, lambda e: e.symbol(FN, 'shndx', e.index(C0)))
case('SYM_TYPE', 'symbol-bind', P90, lambda e: e.symbol(FN, 'info', 0x32))
case('SYM_TYPE', 'symbol-type', P90, lambda e: e.symbol(FN, 'info', 0x15))
case('TEXT_SYMBOL', 'symbol-type-object', P90, lambda e: e.symbol(FN, 'info', 0x11))
case('SYM_FUNC_ALIGN', 'symbol-value', P90, lambda e: e.symbol(FN, 'value', 8))
case('SYM_KERNEL_BEGIN', 'symbol-value-128', P90, lambda e: e.symbol(FN, 'value', 128))
case('SYM_KERNEL', 'symbol-size', P90, lambda e: e.symbol(FN, 'size', e.yget(FN, 'size') + 128))
case('SYM_RANGE', 'symbol-size-huge', P90, lambda e: e.symbol(FN, 'size', 2**64 - 1))
case('SYM_KERNEL', 'symbol-size-small', P90, lambda e: e.symbol(FN, 'size', 16))
case('SYM_RANGE', 'symbol-size-object', V90, lambda e: e.symbol('zeroed', 'size', 0x1000))
case('SYM_SECTION', 'symbol-section-value', P90, lambda e: e.symbol(TEXT, 'value', 16))
case('SYM_SECTION', 'symbol-section-size', P90, lambda e: e.symbol(TEXT, 'size', 16))
case('SYM_SECTION_NAME', 'symbol-section-name', P90, lambda e: e.symbol(TEXT, 'name', e.yget(C0, 'name')))
case('SYM_SECTION_TWICE', 'symbol-section-twice', P90, lambda e: e.symbol(TEXT, 'shndx', e.index(C0)))
case('SYM_INFO_RANGE', 'symtab-info', P90, lambda e: e.section('.symtab', 'info', 0xFFFF))
case('SYM_INFO', 'symtab-info-low', P90, lambda e: e.section('.symtab', 'info', 1))

# --- relocations ----------------------------------------------------------------------------------
FRAMES = '.rela.debug_frame'
case('RELOC_NONE', 'reloc-none', P90, lambda e: e.reloc(FRAMES, 0, 'type', 0))
case('RELOC_DEBUG_TYPE', 'reloc-of-code', P90, lambda e: e.reloc(FRAMES, 0, 'type', 6))
case('RELOC_ADDEND', 'reloc-addend', P90, lambda e: e.reloc(FRAMES, 0, 'addend', 2**63))
case(
    'RELOC_OVERLAP',
    'reloc-overlap',
    W90,
    lambda e: e.reloc(FRAMES, 0, 'offset', e.rget(FRAMES, 1, 'offset') + 4),
    legal=lambda e: e.reloc(FRAMES, 0, 'offset', e.rget(FRAMES, 1, 'offset') + 8),
)
case('RELOC_SYMBOL', 'reloc-symbol', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'sym', 0xFFFF))
case('RELOC_OFFSET', 'reloc-offset', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'offset', 0x4000))
case(
    'RELOC_OFFSET',
    'reloc-offset-end',
    V90,
    lambda e: e.reloc('.rela.nv.constant4', 0, 'offset', e.sget('.nv.constant4', 'size')),
    legal=lambda e: e.reloc('.rela.nv.constant4', 0, 'offset', e.sget('.nv.constant4', 'size') - 8),
)
case(
    'RELOC_OFFSET', 'reloc-offset-huge', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'offset', 2**64 - 1)
)
# what a driver of an H200 refused to load, or ended by a signal with
for label, symbol in (('bank', '.nv.constant0._Z4varsPi'), ('shared', '.nv.shared._Z4varsPi'), ('code-frame', '.debug_frame'), ('variables', '.nv.global')):
    case(
        'RELOC_UNPLACED',
        'reloc-of-' + label,
        V90,
        lambda e, s=symbol: e.reloc(
            '.rela.nv.constant4',
            0,
            'sym',
            e.find_symbol(lambda field: field('info') == 3 and field('shndx') == e.index(s)),
        ),
    )
case('RELOC_UNPLACED', 'reloc-of-no-variable', V90, lambda e: e.symbol('zeroed', 'info', 0x10))
case('RELOC_UNPLACED', 'reloc-of-constant', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'sym', e.symbol_index('table')))
for label, kind in (('32', 3), ('64', 4), ('texture', 6), ('byte', 85)):
    case(
        'RELOC_VARIABLE',
        'reloc-of-function-' + label,
        V90,
        lambda e, k=kind: e.reloc('.rela.nv.constant4', 0, 'sym', e.symbol_index('_Z4varsPi')).reloc('.rela.nv.constant4', 0, 'type', k),
    )
for label, base, section, symbol in (
    ('variable', V90, '.rela.debug_frame', 'with_value'),
    ('variable-75', V75, '.rel.debug_frame', 'with_value'),
    ('array', 'dynshared.sm_75.rdc.cubin', '.rel.debug_frame', 'tail'),
):
    case('RELOC_FRAMES', 'frames-' + label, base, lambda e, s=section, y=symbol: e.reloc(s, 0, 'sym', e.symbol_index(y)))
case('RELOC_TYPE', 'reloc-type', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'type', 0x75))
case('RELOC_TYPE', 'reloc-type-high', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'type', 0x20000))
case('RELOC_TYPE', 'reloc-type-mercury', V90, lambda e: e.reloc('.rela.nv.constant4', 0, 'type', 0x10002))
case(
    'RELOC_TYPE',
    'reloc-type-native-in-merc',
    'vars.sm_100.rdc.cubin',
    lambda e: e.reloc([n for n in e.names if n.startswith('.nv.merc.rela')][0], 0, 'type', 2),
)
case(
    'RELOC_TARGET',
    'reloc-target',
    V90,
    lambda e: e.section('.rela.nv.constant4', 'info', e.index('.nv.constant3')),
)
case('RELOC_TARGET', 'reloc-target-out', V90, lambda e: e.section('.rela.nv.constant4', 'info', 0x1000))
case('SEC_LINK', 'symtab-link', P90, lambda e: e.section('.symtab', 'link', 1))
case('SEC_LINK_HABIT', 'reloc-link', V90, lambda e: e.section('.rela.nv.constant4', 'link', 1))

# --- segments -------------------------------------------------------------------------------------
case('SEG_ADDRESS', 'segment-vaddr', P90, lambda e: e.segment(2, 'vaddr', 0x1000))
case('SEG_ADDRESS', 'segment-paddr', P90, lambda e: e.segment(2, 'paddr', 0x1000))
case('LIMIT_ALIGNMENT', 'section', P90, lambda e: e.section('.nv.info', 'align', 1 << 21))
case('LIMIT_ALIGNMENT', 'segment', P90, lambda e: e.segment(2, 'align', 1 << 21))
case(
    'LIMIT_ALIGNMENT',
    'shared-variable',
    'vars.sm_90.rdc.cubin',
    lambda e: e.symbol('$___ZZ4varsPiE4tile__28', 'value', 1 << 31),
    legal=lambda e: e.symbol('$___ZZ4varsPiE4tile__28', 'value', 1 << 20),
)
case(
    'LIMIT_ALIGNMENT',
    'shared-array',
    'dynshared.sm_90.rdc.cubin',
    lambda e: e.symbol('tail', 'value', 1 << 31),
    legal=lambda e: e.symbol('tail', 'value', 1 << 20),
)
case(
    'LIMIT_ALIGNMENT',
    'common',
    'vars.sm_90.rdc.cubin',
    lambda e: e.symbol('zeroed', 'value', 1 << 31).symbol('zeroed', 'shndx', 0xFFF2),
)
case('SEG_ALIGN', 'segment-align', P90, lambda e: e.segment(2, 'align', 16))
case('SEG_RANGE', 'segment-offset', P90, lambda e: e.segment(2, 'offset', 2**63))
case('SEG_RANGE', 'segment-filesz', P90, lambda e: e.segment(2, 'filesz', 0x100000))
case('SEG_MEMORY', 'segment-memsz', P90, lambda e: e.segment(2, 'memsz', 1))
case('SEG_TYPE', 'segment-type', P90, lambda e: e.segment(2, 'type', 7))
case(
    'SEG_BEGIN',
    'segment-boundary',
    P90,
    lambda e: e.segment(2, 'offset', e.pget(2, 'offset') + 8).segment(2, 'filesz', e.pget(2, 'filesz') - 8),
)
case('SEG_BOUNDARY', 'segment-ends-early', P90, lambda e: e.segment(2, 'filesz', e.pget(2, 'filesz') - 16))
case('SEG_TABLE', 'segment-phdr', P90, lambda e: e.segment(0, 'offset', 64))

# --- capsules -------------------------------------------------------------------------------------
CAP = '.nv.capmerc' + TEXT
case('CAPSULE_TEXT', 'capsule-word-0', P100, lambda e: e.word(CAP, 0, 3))
case('CAPSULE_WORD', 'capsule-word-1', P100, lambda e: e.word(CAP, 4, 0xC0000002))
case('CAPSULE_END', 'capsule-end', P100, lambda e: e.word(CAP, e.sget(CAP, 'size') - 2, 0x0951, 2))
case('CAPSULE_SIZE', 'capsule-size-odd', P100, lambda e: e.sadd(CAP, 'size', -1))
case('CAPSULE_SIZE', 'capsule-size-8', P100, lambda e: e.section(CAP, 'size', 8))
case(
    'PAIR_CAPSULE',
    'two-capsules',
    P100,
    lambda e: e.word('.nv.merc' + INFO, 0, e.index(TEXT)).section('.nv.merc' + INFO, 'name', e.sget(CAP, 'name')),
)
case('PAIR_NO_CAPSULE', 'capsule-missing', P100, lambda e: e.rename(CAP, CAP.replace('merc', 'merx')))
case('CAPSULE_SMALL', 'capsule-size-14', P100, lambda e: e.section(CAP, 'size', 14))
case('TEXT_SYMBOL', 'capsule-info', P100, lambda e: e.section(CAP, 'info', 1))

# --- ELF32 and ABI 7 ------------------------------------------------------------------------------
case('ELF_EHSIZE', '32-ehsize', 'elf32:' + P75, lambda b: b.put((40, 2), 64))
case('ELF_SHENTSIZE', '32-shentsize', 'elf32:' + P75, lambda b: b.put((46, 2), 64))
case('ELF_SHDR_RANGE', '32-shoff', 'elf32:' + P75, lambda b: b.put((32, 4), 0xFFFFFFF0))
case('ELF_ABI', 'legacy-osabi', 'abi7:' + P75, lambda e: e.head('osabi', 0x41))

# --- limits ---------------------------------------------------------------------------------------
case(
    'LIMIT_SECTIONS',
    'sections',
    P90,
    lambda e: e,
    options='--limit sections=14',
    legal_options='--limit sections=15',
)
case(
    'LIMIT_SYMBOLS',
    'symbols',
    P90,
    lambda e: e,
    options='--limit symbols=%d' % (len(Elf(sample(P90)).symbols()) - 1),
    legal_options='--limit symbols=%d' % len(Elf(sample(P90)).symbols()),
)
case(
    'LIMIT_RELOCS',
    'relocations',
    V90,
    lambda e: e.splice('.rela.nv.constant4', 0, 0, e.section_bytes('.rela.nv.constant4')[:24] * 60),
    options='--limit symbols=60',
)

# --- one-field mutations that linkers let pass without a word ------------------------------------
case('SYM_NAME', 'strtab-size', P90, lambda e: e.section('.strtab', 'size', 16))
case('ELF_SHENTSIZE', 'class-1', P90, lambda e: e.head('class', 1))
case('CALL_MARKER', 'callgraph-half', I90, lambda e: e.section('.nv.callgraph', 'size', 16))
case(
    'SEC_MEMORY_PLACE',
    'nobits-past',
    V90,
    lambda e: e.section('.nv.global', 'offset', len(e.data) + 16 & ~15),
)
case('SEC_MEMORY_PLACE', 'nobits-huge', V90, lambda e: e.section('.nv.global', 'offset', 2**64 - 16))

# --- symbols that lie in no section ---------------------------------------------------------------
PR90, PR100, D90 = 'printer.sm_90.cubin', 'printer.sm_100.cubin', 'dynshared.sm_90.rdc.cubin'
TWO = 'two_a.sm_90.rdc.cubin'
ABS, COMMON = 0xFFF1, 0xFFF2

for label, base, symbol in (('kernel', P90, FN), ('variable', V90, 'zeroed'), ('function-undefined', PR90, 'vprintf')):
    case('SYM_ABSOLUTE', label + '-absolute', base, lambda e, s=symbol: e.symbol(s, 'shndx', ABS))
    case('SYM_COMMON', label + '-common', base, lambda e, s=symbol: e.symbol(s, 'shndx', COMMON).symbol(s, 'value', 8))
case('SYM_ABSOLUTE', 'mercury-absolute', P100, lambda e: e.symbol(FN, 'shndx', ABS, '.nv.merc.symtab'))
case('SYM_ABSOLUTE', 'object-absolute', R90, lambda e: e.symbol(FN, 'shndx', ABS))
case('SYM_UNDEFINED', 'kernel-undefined', P90, lambda e: e.symbol(FN, 'shndx', 0))
case('SYM_LEFT_OPEN', 'variable-undefined', V90, lambda e: e.symbol('zeroed', 'shndx', 0))
case('SYM_UNDEFINED', 'kernel-undefined-weak', W90, lambda e: e.symbol(WI, 'shndx', 0))
case('SYM_UNDEFINED', 'function-is-kernel', PR90, lambda e: e.symbol('vprintf', 'other', 0x10))
case('SYM_LEFT_OPEN', 'function-is-variable', PR90, lambda e: e.symbol('vprintf', 'info', 0x11))
PR75, D75, SHARED = 'printer.sm_75.cubin', 'dynshared.sm_75.rdc.cubin', '$___ZZ9dynsharedPiE'
case('SYM_NOT_PROVIDED', 'function-unknown', PR90, lambda e: e.symbol('vprintf', 'name', e.yget('vprintf', 'name') + 1),
     legal=lambda e: e.symbol('vprintf', 'info', 0x22))
case('SYM_NOT_PROVIDED', 'function-local', PR75, lambda e: e.symbol('vprintf', 'info', 0x02))


def find(e, head):
    """the name of the first symbol that begins so"""
    return next(name for name in (s[0] for s in e.symbols()) if name.startswith(head))


for label, value in (('3', 3), ('odd', 0x10001)):
    for number, base in (('90', D90), ('75', D75)):
        case('SYM_ALIGN', 'shared-%s-%s' % (label, number), base, lambda e, v=value: e.symbol(find(e, SHARED), 'value', v))
for number, base in (('90', D90), ('75', D75)):
    case('SYM_ALIGN', 'shared-0-%s' % number, base, lambda e: e.symbol(find(e, SHARED), 'value', 0),
         legal=lambda e: e.symbol(find(e, SHARED), 'value', 1))
    case('SYM_SHARED_EMPTY', 'shared-empty-%s' % number, base, lambda e: e.symbol(find(e, SHARED), 'size', 0),
         legal=lambda e: e.symbol(find(e, SHARED), 'size', 1))
    for label, bits in (('managed', 0x44), ('unified', 0x50), ('both', 0x54)):
        case('SYM_SPACE', 'open-array-%s-%s' % (label, number), base, lambda e, v=bits: e.symbol('tail', 'other', v),
             legal=lambda e: e.symbol('tail', 'size', 0))
    case('SYM_SHARED_EMPTY', 'shared-nothing-%s' % number, base,
         lambda e: e.symbol(find(e, SHARED), 'size', 0).symbol(find(e, SHARED), 'value', 256))
COUNTER = 'shared_counter'
case('SYM_ALIGN', 'common-0', TWO, lambda e: e.symbol(COUNTER, 'shndx', COMMON),
     legal=lambda e: e.symbol(COUNTER, 'shndx', COMMON).symbol(COUNTER, 'value', 4))
case('SYM_COMMON', 'texture-common', TWO,
     lambda e: e.symbol(COUNTER, 'shndx', COMMON).symbol(COUNTER, 'value', 8).symbol(COUNTER, 'info', 0x1A).symbol(COUNTER, 'other', 0))
case('SYM_COMMON', 'function-common', TWO, lambda e: e.symbol('_Z5twicei', 'shndx', COMMON).symbol('_Z5twicei', 'value', 8))
case('SYM_COMMON', 'shared-common', D90, lambda e: e.symbol('tail', 'shndx', COMMON).symbol('tail', 'value', 8))
def of_the_driver(e, info, other=0):
    """the function that others have is one of the driver's, as in what LLVM makes of OpenMP"""
    at = e.sget('.strtab', 'offset') + e.yget('_Z5twicei', 'name')
    return e.raw(at, b'malloc\0\0\0').symbol('malloc', 'info', info).symbol('malloc', 'other', other)


case('SYM_NOBODYS', 'function-weak', TWO, lambda e: e.symbol('_Z5twicei', 'info', 0x22), legal=lambda e: of_the_driver(e, 0x22))
case('SYM_NOBODYS', 'kernel-weak', TWO, lambda e: of_the_driver(e, 0x22, 0x10))
case('SYM_NOBODYS', 'driver-local', TWO, lambda e: of_the_driver(e, 0x02))
case('SYM_NOBODYS', 'function-local', TWO, lambda e: e.symbol('_Z5twicei', 'info', 0x02))
case('SYM_NOBODYS', 'variable-local', TWO, lambda e: e.symbol(COUNTER, 'info', 0x0D))
IR = 'indirect.sm_90.rdc.cubin'
case('SYM_ALIAS', 'alias-of-an-alias', IR, lambda e: e.symbol('_Z7add_onei', 'shndx', e.index('.text._Z7add_twoi')).symbol('_Z7add_onei', 'info', 0x22))
case('SYM_ALIAS', 'alias-of-a-weak-one', IR, lambda e: e.symbol('_Z7add_onei', 'shndx', e.index('.text._Z7add_twoi')).symbol('_Z7add_twoi', 'info', 0x22))
case('SYM_ALIAS', 'alias-inside', IR, lambda e: e.symbol('_Z7add_onei', 'shndx', e.index('.text._Z7add_twoi')).symbol('_Z7add_onei', 'value', 128).symbol('_Z7add_onei', 'size', 128))
# what an object of nvcc -ewp may have, and no more: functions for itself alone, a name of no type for what is reserved
WHOLE, OWN, KEPT = 'whole.sm_90.cubin', '$_Z5wholePi$_Z7descendi', '__nv_reservedSMEM_offset_0_alias'
case('SYM_ALIAS', 'whole-program-shown', WHOLE, lambda e: e.symbol(OWN, 'info', 0x12))
case('SYM_FOR_OTHERS', 'variable-without-type', 'two_b.sm_90.rdc.cubin', lambda e: e.symbol(COUNTER, 'info', 0x10).symbol(COUNTER, 'other', 0))
case('SYM_FOR_OTHERS', 'whole-program-reserved-with-size', WHOLE, lambda e: e.symbol(KEPT, 'size', 4))
case('RELOC_NO_FUNCTION', 'descriptor-of-a-variable', 'vars.sm_90.rdc.cubin', lambda e: e.reloc('.rela.text._Z4varsPi', 2, 'type', 63))
