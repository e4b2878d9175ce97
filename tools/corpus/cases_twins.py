# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hostile cases: images for sm_100 and later whose two sides say different things."""

from registry import case

V100 = 'vars.sm_100.cubin'
MERC, V100R, TW100, TX100 = '.nv.merc.symtab', 'vars.sm_100.rdc.cubin', 'two.sm_100.linked.cubin', 'texref.sm_100.cubin'


def twin_bytes(e):
    """the Mercury side has initial values of its own, which are those of another section"""
    return e.section('.nv.merc.nv.global.init', 'offset', e.sget('.debug_frame', 'offset'))


for label, symbol, field, value in (
    ('variable-elsewhere', 'with_value', 'value', 4),
    ('variable-larger', 'zeroed', 'size', 64),
    ('variable-constant', 'zeroed', 'shndx', 15),
    ('variable-global', 'zeroed', 'info', 0x1D),
    ('variable-managed', 'with_value', 'other', 0x24),
    ('variable-renamed', 'table', 'name', 1),
    ('kernel-no-kernel', '_Z4varsPi', 'other', 0),
    ('kernel-weak', '_Z4varsPi', 'info', 0x22),
    ('variable-without-type', 'zeroed', 'info', 0x00),
):
    case('TWIN_SYMBOL', 'twin-' + label, V100, lambda e, s=symbol, f=field, v=value: e.symbol(s, f, v, MERC))
case('TWIN_SYMBOL', 'twin-only-native', V100, lambda e: e.symbol('zeroed', 'size', 16))
case('TWIN_SYMBOL', 'twin-of-another', V100R, lambda e: e.symbol('zeroed', 'value', 16, MERC))
RELOCS, INFO100 = '.nv.merc.rela.nv.global.init', '.nv.merc.nv.info._Z4varsPi'
case('TWIN_DATA', 'twin-registers', V100, lambda e: e.record('.nv.merc.nv.info', 0x2F, 8, 255))
case('TWIN_DATA', 'twin-registers-of-another', TW100, lambda e: e.record('.nv.merc.nv.info', 0x2F, 4, e.symbol_index('_Z6callerPi', MERC)))
case('TWIN_DATA', 'twin-parameter-larger', V100, lambda e: e.record(INFO100, 0x17, 12, 0x00410000 | 0xF000))
case('TWIN_DATA', 'twin-most-registers', V100, lambda e: e.record(INFO100, 0x1B, 2, 32, 2))
case('TWIN_DATA', 'twin-relocation-elsewhere', V100, lambda e: e.reloc(RELOCS, 0, 'offset', 8))
case('TWIN_DATA', 'twin-relocation-of-another', V100, lambda e: e.reloc(RELOCS, 0, 'sym', e.symbol_index('zeroed', MERC)))
case('TWIN_DATA', 'twin-relocation-further', V100, lambda e: e.reloc(RELOCS, 0, 'addend', 8))
case('TWIN_DATA', 'twin-relocation-type', V100, lambda e: e.reloc(RELOCS, 0, 'type', 0x10010))
case('TWIN_DATA', 'twin-constants-shorter', V100, lambda e: e.sadd('.nv.merc.nv.constant.user', 'size', -4))
case('TWIN_DATA', 'twin-values', V100, twin_bytes)
VARS, CALLER = '.nv.merc.rela.text._Z4varsPi', '.nv.merc.rela.text._Z6callerPi'
TABLE, BRANCHY, BR100 = '.nv.merc.rela.nv.constant.optimizer._Z7branchyPi3bigc', '.nv.merc.nv.constant.optimizer._Z7branchyPi3bigc', 'branchy.sm_100.cubin'
NATIVE = '.nv.constant2._Z7branchyPi3bigc'
TEXTURES, FRAMES, UF100 = '.nv.merc.rela.nv.constant.entry_image_header_indices.texref', '.nv.merc.rela.debug_frame', 'unified.sm_100.rdc.cubin'
TWA100, G100, RC100 = 'two_a.sm_100.rdc.cubin', 'plain.sm_100.g.cubin', 'recurse.sm_100.cubin'


def relocation(e, name, index):
    """the bytes of one relocation"""
    return e.section_bytes(name)[24 * index : 24 * index + 24]


def twin_swap(e, name, one, other):
    """two relocations of one list change places"""
    first, second = relocation(e, name, one), relocation(e, name, other)
    return e.patch(name, 24 * one, second).patch(name, 24 * other, first)


for label, base, edit in (
    ('variable', V100R, lambda e: e.reloc(VARS, 10, 'sym', e.symbol_index('zeroed', MERC))),
    ('callee', TWA100, lambda e: e.reloc(CALLER, 0, 'sym', e.symbol_index('_Z6callerPi', MERC))),
    ('callee-linked', TW100, lambda e: e.reloc(CALLER, 4, 'sym', e.symbol_index('_Z6callerPi', MERC))),
    ('further', V100R, lambda e: e.reloc(VARS, 7, 'addend', 4)),
    ('type', V100R, lambda e: e.reloc(VARS, 7, 'type', 0x10005)),
    ('constant', V100R, lambda e: e.reloc(VARS, 6, 'sym', e.symbol_index('zeroed', MERC))),
    ('shared', V100R, lambda e: e.reloc(VARS, 4, 'sym', 17)),
    ('not-reserved', V100R, lambda e: e.reloc(VARS, 5, 'sym', e.symbol_index('zeroed', MERC))),
    ('reserved-address', V100R, lambda e: e.reloc(VARS, 5, 'type', 0x10002)),
    ('swapped', V100R, lambda e: twin_swap(e, VARS, 0, 2)),
    ('places', V100R, lambda e: e.reloc(VARS, 0, 'offset', 0x1DC).reloc(VARS, 2, 'offset', 0x26C)),
    ('dropped', V100R, lambda e: e.splice(VARS, 24 * 10, 24, b'')),
    ('dropped-first', V100R, lambda e: e.splice(VARS, 0, 24, b'')),
    ('added', V100R, lambda e: e.splice(VARS, 0, 0, relocation(e, VARS, 10))),
    ('only-native', V100R, lambda e: e.splice(VARS, 0, 24 * 11, b'')),
    ('return-other-function', TW100, lambda e: e.reloc(CALLER, 2, 'sym', e.symbol_index('_Z5twicei', MERC))),
    ('return-order', TW100, lambda e: e.reloc(CALLER, 3, 'addend', 208)),
    ('return-beyond', TW100, lambda e: e.reloc(CALLER, 2, 'addend', 0x4000).reloc(CALLER, 3, 'addend', 0x4000)),
    ('branch-beyond', RC100, lambda e: e.reloc('.nv.merc.rela.text._Z7recursePi', 0, 'addend', 0x4000)),
    ('texture', TX100, lambda e: e.reloc(TEXTURES, 0, 'sym', e.symbol_index('image', MERC))),
    ('texture-swapped', TX100, lambda e: twin_swap(e, TEXTURES, 0, 2)),
    ('texture-dropped', TX100, lambda e: e.splice(TEXTURES, 24, 24, b'')),
):
    case('TWIN_CODE', 'twin-code-' + label, base, edit)
for label, edit in (
    ('other-label', lambda e: e.reloc(TABLE, 0, 'addend', 640)),
    ('between', lambda e: e.reloc(TABLE, 5, 'addend', 656)),
    ('order', lambda e: e.reloc(TABLE, 6, 'addend', 700)),
    ('beyond', lambda e: e.reloc(TABLE, 2, 'addend', 0x4000)),
    ('type', lambda e: e.reloc(TABLE, 2, 'type', 0x10002)),
    ('no-function', lambda e: e.reloc(TABLE, 2, 'sym', 1)),
    ('elsewhere', lambda e: e.reloc(TABLE, 2, 'offset', 12)),
    ('dropped', lambda e: e.splice(TABLE, 24, 24, b'')),
    ('bytes', lambda e: e.splice(TABLE, 24, 24, b'').word(BRANCHY, 20, 0xFFFF)),
    ('shorter', lambda e: e.splice(TABLE, 0, 24, b'').splice(BRANCHY, 24, 4, b'')),
):
    case('TWIN_TABLE', 'twin-table-' + label, BR100, edit)


def left_over(e):
    """the table of a weak function that lost against one without: nvlink leaves no word of it on the native side, and places of the other code"""
    return e.patch(NATIVE, 0, bytes(e.sget(NATIVE, 'size'))).reloc(TABLE, 2, 'addend', 0x4000)


for label, edit in (
    ('of-no-function', lambda e: left_over(e).reloc(TABLE, 2, 'sym', 1)),
    ('with-a-word', lambda e: left_over(e).word(NATIVE, 20, 16)),
):
    case('TWIN_TABLE', 'twin-table-left-over-' + label, BR100, edit, legal=left_over)
for label, base, edit in (
    ('frame', TW100, lambda e: e.reloc(FRAMES, 0, 'sym', e.symbol_index('_Z6callerPi', MERC))),
    ('frame-dropped', TW100, lambda e: e.splice(FRAMES, 0, 24, b'')),
    ('frame-added', TW100, lambda e: e.splice(FRAMES, 0, 0, relocation(e, FRAMES, 1))),
    ('frame-of-variable', TW100, lambda e: e.reloc(FRAMES, 0, 'sym', e.symbol_index('shared_counter', MERC))),
    ('line', G100, lambda e: e.splice('.nv.merc.rela.debug_line', 0, 24, b'')),
    ('line-sass', G100, lambda e: e.splice('.nv.merc.rela.nv_debug_line_sass', 0, 24, b'')),
    ('info', G100, lambda e: e.reloc('.nv.merc.rela.debug_info', 0, 'sym', 1)),
):
    case('TWIN_DEBUG', 'twin-debug-' + label, base, edit)
case('TWIN_CALLS', 'twin-unified-function', UF100, lambda e: e.word('.nv.merc.nv.uft.entry', 0, e.symbol_index('unified_function', MERC) - 1))
case('TWIN_CALLS', 'twin-unified-name', UF100, lambda e: e.word('.nv.merc.nv.uft.entry', 24, 0x23))
case('TWIN_CALLS', 'twin-unified-variable', UF100, lambda e: e.word('.nv.merc.nv.udt.entry', 16, 0x12))
case('TWIN_CALLS', 'twin-unified-shorter', UF100, lambda e: e.splice('.nv.merc.nv.udt.entry', 0, 32, b''))
