# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device ELF files that say two things: call graph against relocations, segments against sections, values that no
machine has. Each kind has its relatives: other fields that tell the same lie."""

import struct

from edit import words
from registry import case

P90, P100, V75, V90, V100, W90 = (
    'plain.sm_90.cubin',
    'plain.sm_100.cubin',
    'vars.sm_75.cubin',
    'vars.sm_90.cubin',
    'vars.sm_100.cubin',
    'weak.sm_90.cubin',
)
TWO75, TWO90 = 'two.sm_75.linked.cubin', 'two.sm_90.linked.cubin'
A75, A90, I90, R90 = (
    'two_a.sm_75.rdc.cubin',
    'two_a.sm_90.rdc.cubin',
    'indirect.sm_90.rdc.cubin',
    'recurse.sm_90.rdc.cubin',
)
O75, O90 = 'owners.sm_75.rdc.cubin', 'owners.sm_90.rdc.cubin'
AGAIN, ELSEWHERE, FIRST, SECOND = '_Z5againi', '_Z9elsewherei', '_Z5firstPi', '_Z6secondPi'
CALLER, TWICE = '_Z6callerPi', '_Z5twicei'
GRAPH, CODE = '.nv.callgraph', '.text.' + CALLER
RELA, REL = '.rela' + CODE, '.rel' + CODE
FRAMES = '.rela.debug_frame'
FN = '_Z5plainPi'
CONSTANTS, TEXT, DATA = 2, 3, 4  # segments of the sm_90 and sm_100 samples with variables
WI, WF = '_Z11weak_kernelIiEvPT_', '_Z11weak_kernelIfEvPT_'


# --- segments against sections --------------------------------------------------------------------------
def cover(index, *names):
    """let a segment stand for other sections than its own"""

    def edit(e):
        begin = min(e.sget(n, 'offset') for n in names)
        end = max(e.sget(n, 'offset') + e.sget(n, 'size') for n in names)
        size = end - begin
        return e.segment(index, 'offset', begin).segment(index, 'filesz', size).segment(index, 'memsz', size)

    return edit


def place(index, begin, size):
    return lambda e: (
        e.segment(index, 'offset', begin(e))
        .segment(index, 'filesz', size(e))
        .segment(index, 'memsz', size(e))
    )


for label, base, index, flags in (
    ('code-rwx', V90, TEXT, 7),
    ('code-write-only', V90, TEXT, 2),
    ('code-no-flags', V90, TEXT, 0),
    ('data-wx', V90, DATA, 3),
    ('code-high-bit', V90, TEXT, 0x80000005),
    ('table-written', V90, 1, 6),
    ('headers-written', V75, 0, 6),
):
    case('SEG_FLAGS', 'segment-flags-' + label, base, lambda e, i=index, f=flags: e.segment(i, 'flags', f))
for label, base, index, flags in (
    ('code-read-only', V90, TEXT, 4),
    ('code-is-variables', V90, TEXT, 6),
    ('variables-are-code', V90, DATA, 5),
    ('variables-read-only', V100, DATA, 4),
    ('constants-written', V90, CONSTANTS, 6),
    ('parameters-written', V100, 5, 6),
    ('old-code-read-only', V75, 1, 4),
):
    case('SEG_KIND', 'segment-kind-' + label, base, lambda e, i=index, f=flags: e.segment(i, 'flags', f))
for label, base, index, names in (
    ('variables-over-code', V90, DATA, ('.text._Z4varsPi',)),
    ('constants-over-code', V90, CONSTANTS, ('.text._Z4varsPi',)),
    ('parameters-over-constants', V90, 5, ('.nv.constant3', '.nv.constant4')),
    ('half-of-the-code', TWO90, 2, ('.text.' + TWICE,)),
    ('variables-over-constants', V75, 2, ('.nv.constant3',)),
):
    case('SEG_OVERLAP', 'segment-overlap-' + label, base, cover(index, *names))
case(
    'SEG_OVERLAP',
    'segment-overlap-table-twice',
    V90,
    place(5, lambda e: e.hget('e_phoff'), lambda e: 56 * e.hget('e_phnum')),
)
for label, base, index, names in (
    ('debug-frames', V90, TEXT, ('.debug_frame',)),
    ('names', V90, TEXT, ('.strtab',)),
    ('symbols', V90, DATA, ('.symtab',)),
    ('notes', V90, CONSTANTS, ('.note.nv.tkinfo',)),
    ('records', V75, 1, ('.nv.info',)),
    ('capsule', V100, TEXT, ('.nv.capmerc.text._Z4varsPi',)),
    ('call-graph', TWO90, 2, (GRAPH,)),
):
    case('SEG_FOREIGN', 'segment-over-' + label, base, cover(index, *names))
case(
    'SEG_FOREIGN',
    'segment-over-section-table',
    V90,
    place(TEXT, lambda e: e.hget('e_shoff'), lambda e: 64 * e.hget('e_shnum')),
)
case('SEG_FOREIGN', 'segment-over-header', V90, place(TEXT, lambda e: 0, lambda e: 64))
for label, base, index in (
    ('code', V90, TEXT),
    ('variables', V90, DATA),
    ('constants', V90, CONSTANTS),
    ('parameters', V100, 5),
    ('old-code', V75, 1),
):
    case(
        'SEG_LEFT_OUT',
        'segment-empty-' + label,
        base,
        lambda e, i=index: e.segment(i, 'filesz', 0).segment(i, 'memsz', 0),
    )
case(
    'SEG_LEFT_OUT',
    'segment-shrunk',
    TWO90,
    lambda e: e.segment(1, 'filesz', e.sget('.nv.constant0.' + CALLER, 'size')).segment(1, 'memsz', 0x4A8),
)


def lose_last_function(e):
    """as linkers up to 10.2, and in a file that says it is of a later one"""
    size = e.sget('.text.' + TWICE, 'offset') - e.pget(1, 'offset')
    return e.segment(1, 'filesz', size).segment(1, 'memsz', size)


case('SEG_LEFT_OUT_END', 'segment-loses-last', 'abi7:' + TWO75, lose_last_function)


def lose_more(e):
    """of the last function more than the padding between the functions"""
    size = e.pget(1, 'filesz') - 32
    return e.segment(1, 'filesz', size).segment(1, 'memsz', size)


case('SEG_CUT', 'segment-loses-code', 'abi7:' + TWO75, lose_more)
for label, base, index, size in (
    ('code', V90, TEXT, 0x100000),
    ('variables', V90, DATA, 0x100000),
    ('table', V90, 1, 0x1000),
    ('huge', V90, DATA, 2**64 - 1),
    ('no-room', P90, 3, 0x10),
    ('old-code', V75, 1, 0x100000),
):
    case('SEG_MEMORY_MORE', 'segment-memory-' + label, base, lambda e, i=index, v=size: e.segment(i, 'memsz', v))
for label, base, index in (
    ('code', V90, TEXT),
    ('constants', V90, CONSTANTS),
    ('parameters', V100, 5),
    ('old-code', V75, 1),
    ('linked', 'vars.sm_90.linked.cubin', 1),
):
    case(
        'SEG_MEMORY_PLACE',
        'segment-memory-beside-' + label,
        base,
        lambda e, i=index: e.segment(i, 'memsz', e.pget(i, 'filesz') + 16),
    )

# --- call graph against relocations ---------------------------------------------------------------------
def call_of(e, name, types=(58, 75)):
    """number of the first relocation that is a call"""
    count = e.sget(name, 'size') // e.sget(name, 'entsize')
    return next(i for i in range(count) if e.rget(name, i, 'type') in types)


def field(e, name, index, target, bit):
    """set the lowest bits of the field that a relocation names"""
    at = e.rget(name, index, 'offset')
    return e.patch(target, at + bit // 8, bytes([1 << bit % 8 | e.section_bytes(target)[at + bit // 8]]))


def no_graph(e):
    """the four markers alone"""
    return e.patch(GRAPH, 0, b''.join(struct.pack('<iI', 0, 2**32 - part) for part in (1, 2, 3, 4)) + bytes(8)).section(
        GRAPH, 'size', 0x20
    )


case('RELOC_CALL', 'call-graph-self', A90, lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)))
case('RELOC_CALL', 'call-graph-self-75', A75, lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)))
case('RELOC_CALL', 'call-graph-empty', A90, no_graph)
case('RELOC_CALL', 'call-graph-other-caller', TWO90, lambda e: e.word(GRAPH, 8, e.symbol_index(TWICE)))
case('RELOC_CALL', 'call-graph-address-only', A90, lambda e: e.word(GRAPH, 4, 2**32 - 2).word(GRAPH, 20, 2**32 - 1))
case(
    'RELOC_CALL',
    'call-elsewhere',
    I90,
    lambda e: e.reloc('.rela.text._Z8indirectPi', 0, 'type', 75).reloc(
        '.rela.text._Z8indirectPi', 0, 'sym', e.symbol_index('_Z7add_twoi')
    ),
)

case(
    'RELOC_ADDRESS',
    'address-of-another',
    I90,
    lambda e: e.word(GRAPH, 0x10, e.symbol_index('_Z7add_onei')).word(
        GRAPH, 0x44, e.symbol_index('_Z7add_onei')
    ),
)
for label, info in (('in-data', 0x12), ('weak-in-data', 0x22), ('local-in-data', 2)):
    case(
        'RELOC_ADDRESS',
        'address-' + label,
        I90,
        lambda e, i=info: e.symbol('_Z8indirectPi', 'info', i).reloc(
            '.rela.nv.global.init', 0, 'sym', e.symbol_index('_Z8indirectPi')
        ),
    )
# what a linker may have forgotten
for sm, info in (('75', 0x12), ('90', 0x12), ('90', 0x22)):
    case(
        'RELOC_ADDRESS_LOST',
        f'address-linked-{sm}-{info:x}',
        f'vars.sm_{sm}.linked.cubin',
        lambda e, i=info: e.symbol('_Z4varsPi', 'info', i)
        .reloc('.rela.nv.global.init', 0, 'sym', e.symbol_index('_Z4varsPi'))
        .reloc('.rela.nv.global.init', 0, 'addend', 0),
    )
case(
    'RELOC_ADDRESS',
    'address-in-code',
    A90,
    lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)).reloc(RELA, call_of(e, RELA), 'type', 56),
)
case(
    'RELOC_ADDRESS',
    'address-descriptor',
    A90,
    lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)).reloc(RELA, call_of(e, RELA), 'type', 62),
)
case(
    'RELOC_ADDRESS',
    'address-unified',
    A90,
    lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)).reloc(RELA, call_of(e, RELA), 'type', 112),
)
for label, base, value in (
    ('call-of-undefined', A90, 16),
    ('call-odd', TWO90, 8),
    ('call-behind', TWO90, 0x100),
    ('call-before', TWO90, 2**64 - 16),
    ('call-far', TWO90, 2**32),
):
    case('RELOC_INSIDE', 'addend-' + label, base, lambda e, v=value: e.reloc(RELA, call_of(e, RELA), 'addend', v))
for label, value in (('odd', 0xA8), ('end', 0x180)):
    case(
        'RELOC_INSIDE',
        'addend-return-' + label,
        TWO90,
        lambda e, v=value: e.reloc(RELA, call_of(e, RELA, (57,)) + 1, 'addend', v),
    )
case('RELOC_INSIDE', 'field-of-call', TWO75, lambda e: field(e, REL, call_of(e, REL), CODE, 34))
case('RELOC_INSIDE', 'field-of-call-high', TWO75, lambda e: field(e, REL, call_of(e, REL), CODE, 80))
case(
    'RELOC_OVER',
    'field-of-call-90',
    TWO90,
    lambda e: field(e, RELA, call_of(e, RELA), CODE, 34),
)
case('RELOC_OVER', 'field-of-address', TWO90, lambda e: field(e, RELA, call_of(e, RELA, (56,)), CODE, 63))
case(
    'RELOC_OVER',
    'field-of-address-75',
    TWO75,
    lambda e: field(e, REL, call_of(e, REL, (56,)), CODE, 32),
)
case(
    'RELOC_OVER',
    'field-of-variable-75',
    A75,
    lambda e: field(e, REL, call_of(e, REL, (56,)), CODE, 32),
)
for label, offset in (('first', 0), ('another', 0x30), ('last', 0x150)):
    case(
        'RELOC_OVER',
        'reloc-moved-' + label,
        TWO90,
        lambda e, v=offset: e.reloc(RELA, call_of(e, RELA, (56,)), 'offset', v).patch(CODE, v + 4, b'\xff'),
    )
for label, base, section, index, offset in (
    ('pair-at-one-place', TWO90, RELA, 1, 0x10),
    ('pair-of-an-object', A90, RELA, 3, 0x10),
    ('calls-and-addresses', TWO90, RELA, 0, 0x90),
    ('lists-apart', A75, RELA, 0, 0x10),
    ('lists-apart-call', A75, REL, 0, 0x40),
    ('words-at-one-place', V90, '.rela.nv.constant4', 0, 8),
    ('words-half', V90, '.rela.nv.constant4', 3, 4),
    ('words-out-of-order', V90, '.rela.nv.constant4', 1, 0),
    ('words-by-a-byte', V90, '.rela.nv.constant4', 0, 0x11),
):
    case(
        'RELOC_BITS',
        'bits-' + label,
        base,
        lambda e, s=section, i=index, v=offset: e.reloc(s, i, 'offset', v),
    )
for label, base, symbol in (
    ('variable', V90, 'with_value'),
    ('variable-75', V75, 'with_value'),
    ('variable-100', V100, 'with_value'),
    ('function', TWO90, TWICE),
    ('counter', TWO75, 'shared_counter'),
):
    case(
        'RELOC_ABSOLUTE',
        'absolute-' + label,
        base,
        lambda e, s=symbol: e.symbol(s, 'shndx', 0xFFF1),
    )
for kind in (15, 59, 64, 66, 68, 74, 115):
    case(
        'RELOC_LINKED',
        'reloc-for-a-linker-%d' % kind,
        TWO90,
        lambda e, k=kind: e.reloc(RELA, call_of(e, RELA, (57,)), 'type', k),
    )
for label, old, new in (
    ('names', '.rela.nv.constant4', '.rela.strtab'),
    ('symbols', '.rela.nv.constant4', '.rela.symtab'),
    ('records', '.rela.nv.constant4', '.rela.nv.info'),
    ('graph', '.rela.nv.global.init', '.rela.nv.callgraph'),
    ('note', '.rela.nv.global.init', '.rela.nv.compat'),
):
    case(
        'RELOC_PLACE',
        'reloc-of-' + label,
        V90,
        lambda e, o=old, n=new: e.rename(o, n).section(e.index(o), 'info', e.index(n[5:])),
    )
case('CALL_FROM', 'caller-elsewhere', A90, lambda e: e.word(GRAPH, 8, e.symbol_index(TWICE)))
case('CALL_FROM', 'caller-elsewhere-75', A75, lambda e: e.word(GRAPH, 8, e.symbol_index(TWICE)))
case('CALL_KERNEL', 'callee-is-kernel', TWO90, lambda e: e.word(GRAPH, 12, e.symbol_index(CALLER)))
case(
    'CALL_KERNEL',
    'callee-made-kernel',
    R90,
    lambda e: e.symbol(e.get((0, 4), e.at_section(GRAPH, 12)), 'other', 0x10),
)

# --- what no machine has --------------------------------------------------------------------------------
case('SYM_KERNEL_OTHER', 'kernel-beside-kernel', TWO90, lambda e: e.symbol(TWICE, 'shndx', e.index(CODE)).symbol(TWICE, 'other', 0x10))
case(
    'SYM_KERNEL_OTHER',
    'kernel-in-other-section',
    W90,
    lambda e: e.symbol(WF, 'shndx', e.index('.text.' + WI)),
)


def same_name(e):
    """two kernels, two sections of code, one name"""
    return e.symbol(WF, 'name', e.yget(WI, 'name')).section('.text.' + WF, 'name', e.sget('.text.' + WI, 'name'))


def same_text(e):
    """the same, spelled twice"""
    return e.raw(e.at_section('.strtab', e.yget(WF, 'name')), WI.encode())


case('SYM_KERNEL_TWICE', 'kernel-twice', W90, same_name)
case('SYM_KERNEL_TWICE', 'kernel-spelled-twice', W90, same_text)
case('SYM_KERNEL_TWICE', 'local-kernel-twice', W90, lambda e: same_name(e).symbol(WI, 'info', 0x02))
for base in (V90, V75):
    case(
        'SEC_BANK_SIZE',
        'bank-of-64-KiB-and-4-%s' % base.split('_')[1][:3].rstrip('.'),
        base,
        lambda e: e.relayout({e.index('.nv.constant3'): bytes(0x10004)}),
        legal=lambda e: e.relayout({e.index('.nv.constant3'): bytes(0x10000)}),
    )
case(
    'TEXT_BARRIERS',
    'barriers-17',
    'abi7:' + V75,
    lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 17 << 20),
    legal=lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 16 << 20),
)
case(  # what nvlink -r makes for sm_90 of objects of ABI 7 has the count; no tool of ABI 7 knew sm_100
    'TEXT_BARRIERS',
    'barriers-17-sm_90',
    V90,
    lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 17 << 20),
    legal=lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 16 << 20),
)
case('SEC_FLAGS', 'barriers-sm_100', V100, lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 1 << 20))
case('TEXT_BARRIERS', 'barriers-127', 'abi7:' + V75, lambda e: e.section('.text._Z4varsPi', 'flags', 0x6 | 127 << 20))
case(
    'SYM_RANGE',
    'shared-variable-large',
    'vars.sm_90.rdc.cubin',
    lambda e: e.symbol(e.find_symbol(lambda f: f('info') & 15 == 13 and f('other') & 0xE0 == 0x40 and f('shndx') not in (0, 0xFFF2)), 'size', 2**20),
)
for code, rule, values in (
    (0x2F, 'TLV_REGCOUNT', (0, 1)),
    (0x11, 'TLV_STACK', (0x80001, 0x7FFFFFFF)),
    (0x12, 'TLV_STACK', (0x80001, 0x7FFFFFFF)),
):
    for value in values:
        case(rule, 'record-%x-of-%x' % (code, value), P90, lambda e, c=code, v=value: e.record('.nv.info', c, 8, v))
case('TLV_STACK', 'crs-stack', P90, lambda e: e.tlv_add('.nv.info.' + FN, 4, 0x1E, struct.pack('<I', 0x80001)))
for value in (0, 256, 0xFFFF):
    case('TLV_NO_MACHINE', 'maxreg-%d' % value, P90, lambda e, v=value: e.record('.nv.info.' + FN, 0x1B, 2, v, 2))
case('TLV_NO_MACHINE', 'barriers-17', P90, lambda e: e.tlv_add('.nv.info.' + FN, 2, 0x4C, 17))
for code, numbers in ((0x05, (0, 1, 1)), (0x10, (1, 0, 1)), (0x3D, (1, 1, 0))):
    case(
        'TLV_NO_MACHINE',
        'empty-%x' % code,
        P90,
        lambda e, c=code, w=numbers: e.tlv_add('.nv.info.' + FN, 4, c, struct.pack('<3I', *w)),
    )


# --- names and sizes that say something else than the code ---------------------------------------------
for label, base, symbol in (
    ('its-section', TWO90, '.text.' + TWICE),
    ('its-own-section', TWO90, CODE),
    ('section-of-metadata', TWO90, GRAPH),
    ('variable', TWO90, 'shared_counter'),
    ('variable-elsewhere', A90, 'shared_counter'),
    ('nothing', TWO90, 0),
    ('note', A90, '.note.nv.tkinfo'),
    ('parameters', A90, '.nv.constant0.' + CALLER),
    ('unified', A90, '__UFT_OFFSET'),
):
    case(
        'RELOC_NO_FUNCTION',
        'call-of-' + label,
        base,
        lambda e, s=symbol: e.reloc(RELA, call_of(e, RELA), 'sym', e.symbol_index(s)),
    )
case(
    'RELOC_NO_FUNCTION',
    'call-of-its-section-75',
    TWO75,
    lambda e: e.reloc(REL, call_of(e, REL), 'sym', e.symbol_index('.text.' + TWICE)),
)
for label, base, section, types in (('code', TWO90, RELA, (56,)), ('code-75', TWO75, REL, (56,)), ('data', V90, '.rela.nv.constant4', (2,))):
    case(
        'RELOC_NO_FUNCTION',
        'address-in-%s-by-section' % label,
        base,
        lambda e, s=section, t=types: e.reloc(
            s, call_of(e, s, t), 'sym', e.find_symbol(lambda f: f('info') == 3 and e.names[f('shndx')].startswith('.text.'))
        ),
    )
for label, base, name, section in (
    ('code', TWO90, 'shared_counter', '.text.' + TWICE),
    ('code-75', TWO75, 'shared_counter', CODE),
    ('call-graph', TWO90, 'shared_counter', GRAPH),
    ('names', V90, 'zeroed', '.strtab'),
    ('notes', V75, 'zeroed', '.note.nv.tkinfo'),
    ('records', V100, 'with_value', '.nv.info'),
    ('relocations', V90, 'with_value', '.rela.nv.constant4'),
):
    case(
        'SYM_VARIABLE_PLACE',
        'variable-in-' + label,
        base,
        lambda e, n=name, s=section: e.symbol(n, 'shndx', e.index(s)).symbol(n, 'value', 0).symbol(n, 'size', 4),
    )

def swap(e, first, second):
    """two variables of one size, each where the other was"""
    places = e.yget(first, 'value'), e.yget(second, 'value')
    e.symbol(first, 'value', places[1]).symbol(second, 'value', places[0])
    if e.has('.nv.merc.symtab'):  # both sides of an image say the same
        e.symbol(first, 'value', places[1], '.nv.merc.symtab').symbol(second, 'value', places[0], '.nv.merc.symtab')
    return e


def managed(e, other):
    """a variable that the system moves, on both sides of the image"""
    if e.has('.nv.merc.symtab'):
        e.symbol('with_value', 'other', 0x24, '.nv.merc.symtab')
    return e.symbol('with_value', 'other', other)


for base in (V75, V100, 'vars.sm_90.linked.cubin', 'vars.sm_90.rdc.cubin'):
    kind = base[5:-6]
    for label, name, field_, value in (
        ('begins-in-pointer', 'with_value', 'value', 4),
        ('longer-by-one', 'with_value', 'size', 5),
        ('pointer-longer', 'address_of', 'size', 16),
    ):
        case(
            'SYM_OVERLAP',
            '%s-%s' % (label, kind),
            base,
            lambda e, n=name, f=field_, v=value: e.symbol(n, f, v),
            legal=lambda e: swap(e, 'with_value', 'managed_value'),
        )
    case(
        'SYM_SAME_PLACE',
        'variable-' + kind,
        base,
        lambda e: e.symbol('with_value', 'value', e.yget('managed_value', 'value')),
        legal=lambda e: swap(e, 'with_value', 'managed_value'),
    )
    made = 'rdc' in kind
    for label, name, value in (
        ('local', 'with_value', 0x60),
        ('shared', 'zeroed', 0x40),
        ('constant-shared', 'table', 0x40),
        ('constant-managed', 'table', 0x84 if made else 4),
        ('constant-unified', 'table', 0x90 if made else 0x10),
    ):
        case(
            'SYM_SPACE',
            '%s-%s' % (label, kind),
            base,
            lambda e, n=name, v=value: e.symbol(n, 'other', v),
            legal=lambda e, m=made: managed(e, 0x24 if m else 4),
        )


def named_twice(e, **fields):
    """a second name of all parameters of a kernel, which nvlink -r keeps where several inputs define a weak kernel; fields that are otherwise"""
    for name in ('info', 'other', 'shndx', 'value', 'size'):
        e.symbol('.nv.callgraph', name, fields.get(name, e.yget('_param', name)))
    return e


for rule, label, fields in (
    ('SYM_SAME_PLACE', 'parameters-of-program', {'other': 0x80}),
    ('SYM_OVERLAP', 'parameters-shorter', {'value': 0x164, 'size': 4, 'other': 0x80}),
):
    case(rule, label, 'vars.sm_75.rdc.cubin', lambda e, f=fields: named_twice(e, **f), legal=named_twice)
for base in (V75, V90, V100, 'vars.sm_90.linked.cubin'):
    for label, name, section in (
        ('parameters', 'table', '.nv.constant0._Z4varsPi'),
        ('parameters-global', 'with_value', '.nv.constant0._Z4varsPi'),
        ('addresses', 'table', '.nv.constant4'),
    ):
        if section == '.nv.constant4' and base != V90:
            continue  # the others have none
        case(
            'SYM_VARIABLE_PLACE',
            'variable-in-%s-%s' % (label, base[5:-6]),
            base,
            lambda e, n=name, s=section: e.symbol(n, 'shndx', e.index(s)).symbol(n, 'value', 0).symbol(n, 'size', 4),
        )
for base, other in ((TWO75, A75), (TWO90, A90), ('vars.sm_100.linked.cubin', V100)):
    case('RELOC_AT_LOAD', base[:-13], base, lambda e: e, neighbour=other)
def named_nothing(e, number):
    """a relocation of another type, and against no symbol"""
    index = call_of(e, RELA, (56,))
    return e.reloc(RELA, index, 'sym', 0).reloc(RELA, index, 'type', number)


# Types of code: each that is none, in executables and in objects, of new machines and old ones.
for base, section, types in (
    (TWO90, RELA, (1, 2, 5, 53, 67, 70, 76, 84, 92, 104, 116)),
    (TWO75, REL, (2, 10, 42, 67, 77, 91)),
    (A90, RELA, (2, 13, 53, 67, 76, 83, 84, 116)),
    (A75, REL, (40, 45, 67, 78)),
):
    for number in types:
        case(
            'RELOC_CODE_TYPE',
            'type-%d-%s' % (number, base[:-6]),
            base,
            lambda e, s=section, n=number: e.reloc(s, call_of(e, s), 'type', n),
        )
case(
    'RELOC_OVER',
    'low-bits-of-a-call',
    TWO90,
    lambda e: field(e, RELA, call_of(e, RELA), CODE, 16),
)
for number in (55, 56, 57, 61):
    case(
        'RELOC_ABSOLUTE',
        'no-symbol-type-%d' % number,
        TWO90,
        lambda e, n=number: named_nothing(e, n),
    )
for label, field_, value in (('begins-later', 'value', 0x80), ('is-short', 'size', 0x80), ('is-empty', 'size', 0)):
    case('SYM_FUNCTION', 'function-' + label, I90, lambda e, f=field_, v=value: e.symbol('_Z7add_onei', f, v))
case(
    'SYM_TWICE',
    'variable-twice',
    'vars.sm_90.rdc.cubin',
    lambda e: e.symbol('zeroed', 'name', e.yget('with_value', 'name')),
)
case(
    'SYM_TWICE',
    'local-variable-twice',
    V90,
    lambda e: e.symbol('zeroed', 'name', e.yget('with_value', 'name')),
)
case(
    'SYM_TWICE',
    'function-twice',
    I90,
    lambda e: e.symbol('_Z7add_onei', 'name', e.yget('_Z7add_twoi', 'name')),
)
case(
    'SYM_TWICE',
    'function-and-variable',
    TWO90,
    lambda e: e.symbol('shared_counter', 'name', e.yget(TWICE, 'name')),
)
for value in (1, 7):
    case(
        'TLV_MAXREG',
        'limit-of-%d' % value,
        P90,
        lambda e, v=value: e.record('.nv.info.' + FN, 0x1B, 2, v, 2),
        legal=lambda e: e.record('.nv.info.' + FN, 0x1B, 2, 128, 2),
    )


def size_of(e, code, name):
    """number of the record with that code of a function"""
    found = [r for r in e.records('.nv.info') if r[2] == code]
    return next(i for i, r in enumerate(found) if struct.unpack_from('<I', r[3])[0] == e.symbol_index(name))


for base in (TWO90, TWO75):
    arch = base.split('.')[1]
    for label, value in (('more', 200), ('all', 255)):
        case(
            'CALL_REGISTERS',
            'callee-has-%s-%s' % (label, arch),
            base,
            lambda e, v=value: e.record('.nv.info', 0x2F, 8, v, nth=size_of(e, 0x2F, TWICE)),
            # before sm_90 the section of the code has a number as well
            legal=(lambda e: e.record('.nv.info', 0x2F, 8, 2, nth=size_of(e, 0x2F, TWICE))) if arch == 'sm_90' else None,
        )
    for label, name in (('own', CALLER), ('callee', TWICE)):
        case(
            'CALL_STACK',
            'frame-%s-%s' % (label, arch),
            base,
            lambda e, n=name: e.record('.nv.info', 0x11, 8, 0x100, nth=size_of(e, 0x11, n)),
            legal=lambda e, n=name: e.record('.nv.info', 0x11, 8, 0x100, nth=size_of(e, 0x11, n)).record(
                '.nv.info', 0x12, 8, 0x100, nth=size_of(e, 0x12, CALLER)
            ),
        )


# --- a function and what is its own -----------------------------------------------------------------------
def call_itself(e, name, known):
    """the function calls itself; the call graph knows or does not"""
    if known:
        e.word(GRAPH, 12, e.symbol_index(AGAIN))
    return e.reloc(name, call_of(e, name), 'sym', e.symbol_index(AGAIN))


def only_possible(e, known):
    """an address in code that part 4 of the call graph has; part 2 has it or not"""
    code, other = '.rela.text._Z8indirectPi', e.symbol_index('_Z7add_twoi')
    if not known:
        e.word(GRAPH, 24, other)
    e.reloc('.rela.nv.global.init', 1, 'sym', other)
    for index in (3, 4):
        e.reloc(code, index, 'sym', e.symbol_index('_Z7add_onei'))
    return e


for label, base, name in (('', O90, '.rela.text.' + AGAIN), ('-75', O75, '.rel.text.' + AGAIN)):
    case(
        'RELOC_CALL',
        'call-of-itself' + label,
        base,
        lambda e, n=name: call_itself(e, n, False),
        legal=lambda e, n=name: call_itself(e, n, True),
    )
    # the record of part 2 that says so becomes one more of the other function
    case('RELOC_ADDRESS', 'address-of-itself' + label, base, lambda e: e.word(GRAPH, 40, e.symbol_index(ELSEWHERE)))
case(
    'RELOC_ADDRESS',
    'address-possible',
    I90,
    lambda e: only_possible(e, False),
    legal=lambda e: only_possible(e, True),
)
case(
    'RELOC_INSIDE',
    'call-into-itself',
    O90,
    lambda e: call_itself(e, '.rela.text.' + AGAIN, True).reloc(
        '.rela.text.' + AGAIN, call_of(e, '.rela.text.' + AGAIN), 'addend', 16
    ),
    legal=lambda e: call_itself(e, '.rela.text.' + AGAIN, True),
)
# part 3 says nothing any more of the kernel that calls through a table
case('RELOC_INDIRECT', 'no-part-3', I90, lambda e: e.word(GRAPH, 40, e.symbol_index('_Z7add_onei')))


def targets_listed(e, called):
    """as of a call with .calltargets: no part 3, the targets of part 4, of which so many are calls as well"""
    caller, targets = e.symbol_index('_Z8indirectPi'), [e.symbol_index('_Z7add_twoi'), e.symbol_index('_Z7add_onei')]
    edges = [word for target in targets for word in (caller, target)]
    graph = words(0, -1, *edges[: 2 * called], 0, -2, targets[0], 1, targets[1], 1, 0, -3, 0, -4, *edges)
    return e.relayout({e.index(GRAPH): graph})


case('RELOC_INDIRECT', 'target-not-called', I90, lambda e: targets_listed(e, 1), legal=lambda e: targets_listed(e, 2))
case(
    'CALL_STRING',
    'function-without-prototype',
    I90,
    lambda e: e.word(GRAPH, 28, 0),
)


def another_memory(e, name, index, symbol):
    """code refers to memory of another function"""
    return e.reloc(name, index, 'sym', symbol if isinstance(symbol, int) else e.symbol_index(symbol))


for label, base, name, index, symbol in (
    ('shared', O90, '.rela.text.' + SECOND, 0, '$___ZZ5firstPiE8of_first__79'),
    ('shared-75', O75, '.rel.text.' + SECOND, 0, '$___ZZ5firstPiE8of_first__79'),
    ('shared-of-callee', O90, '.rela.text.' + AGAIN, 7, '$___ZZ5firstPiE8of_first__79'),
    ('shared-section', O90, '.rela.text.' + SECOND, 0, '.nv.shared.' + FIRST),
    ('parameters', O75, '.rel.text.' + SECOND, 0, 15),
    ('parameters-section', O90, '.rela.text.' + SECOND, 0, '.nv.constant0.' + FIRST),
):
    case('RELOC_FOREIGN', label, base, lambda e, n=name, i=index, s=symbol: another_memory(e, n, i, s))
