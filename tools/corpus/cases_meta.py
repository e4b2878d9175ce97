# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of metadata: TLV records, notes, call graph, prototypes, fixed sections."""

from edit import words
from registry import case

P75, P90, P100 = 'plain.sm_75.cubin', 'plain.sm_90.cubin', 'plain.sm_100.cubin'
R90 = 'plain.sm_90.rdc.cubin'
FN = '_Z5plainPi'
TEXT, INFO, C0 = '.text.' + FN, '.nv.info.' + FN, '.nv.constant0.' + FN
G = '.nv.info'
B90, BFN = 'branchy.sm_90.cubin', '.nv.info._Z7branchyPi3bigc'
I90, I75 = 'indirect.sm_90.rdc.cubin', 'indirect.sm_75.rdc.cubin'
CG, PROTO = '.nv.callgraph', '.nv.prototype'
COMPAT, CU, TK = '.nv.compat', '.note.nv.cuinfo', '.note.nv.tkinfo'


def coop(e):
    """one register less than instructions"""
    count = len([r[3] for r in e.records(BFN) if r[2] == 0x29][0])
    at = [r[0] for r in e.records(BFN) if r[2] == 0x29][0]
    return e.splice(BFN, at + 4, 4, b'').record(BFN, 0x29, 2, count - 4, 2)


def part(e, marker):
    """offset of the first record behind a marker of the call graph"""
    return e.section_bytes(CG).index(words(0, marker)) + 8


def note_padding(e):
    """make the command line one byte shorter, so that the descriptor leaves a byte of padding, and use it"""
    size = e.sget(TK, 'size')
    return e.word(TK, 4, size - 24 - 1).word(TK, size - 1, 1, 1)


def note_unpadded(e):
    """the command line two bytes shorter, and the section ends with the descriptor"""
    size = e.sget(TK, 'size')
    return e.word(TK, 4, size - 24 - 1).word(TK, size - 2, 0, 1).sadd(TK, 'size', -1)


# --- grammar --------------------------------------------------------------------------------------
case('TLV_FORMAT', 'format-5', P90, lambda e: e.record(INFO, 0x37, 0, 5, 1))
case('TLV_FORMAT', 'format-0', P90, lambda e: e.record(INFO, 0x37, 0, 0, 1))
case('TLV_CUT', 'length-past', P90, lambda e: e.record(INFO, 0x36, 2, 0x100, 2))
case('TLV_LENGTH', 'length-odd', P90, lambda e: e.record(INFO, 0x36, 2, 3, 2))
case('TLV_PADDING', 'padding-nval', P75, lambda e: e.tlv_add(INFO, 1, 0x2B, 0).record(INFO, 0x2B, 2, 1, 1))
case('TLV_PADDING', 'padding-bval', B90, lambda e: e.record(BFN, 0x4C, 3, 1, 1))
case('TLV_UNKNOWN', 'code-6e', P90, lambda e: e.record(INFO, 0x36, 1, 0x6E, 1))
case('TLV_UNSEEN', 'code-unknown-low', P90, lambda e: e.record(INFO, 0x36, 1, 0x56, 1))
case('TLV_UNSEEN', 'code-00', P90, lambda e: e.record(INFO, 0x36, 1, 0x00, 1))
case('TLV_ATTR_FORMAT', 'format-of-code', P90, lambda e: e.tlv(INFO, 0x19, 4, words(8)))
case('TLV_SIZE', 'size-of-code', P90, lambda e: e.tlv(INFO, 0x36, 4, words(8, 0)))
case('TLV_CUT', 'trailing', P90, lambda e: e.splice(INFO, e.sget(INFO, 'size'), 0, b'\1\x2b'))
case('TLV_CUT', 'truncated', P90, lambda e: e.sadd(INFO, 'size', -4))
case('TLV_REPEATED', 'repeat', P90, lambda e: e.tlv_add(INFO, 4, 0x36, words(8)))
case('TLV_SCOPE', 'scope-global', P90, lambda e: e.tlv_add(G, 3, 0x1B, 255))
case('TLV_SCOPE', 'scope-function', P90, lambda e: e.tlv_add(INFO, 4, 0x2F, words(e.symbol_index(FN), 8)))

# --- values ---------------------------------------------------------------------------------------
case('TLV_SYMBOL', 'symbol-out', P90, lambda e: e.record(G, 0x2F, 4, 0xFFFF))
case('TLV_SYMBOL_TYPE', 'symbol-not-func', P90, lambda e: e.record(G, 0x2F, 4, 1))
case('TLV_SYMBOL_TYPE', 'symbol-not-func-11', P90, lambda e: e.record(G, 0x11, 4, 1))
case(
    'TLV_REGCOUNT',
    'regcount-256',
    P90,
    lambda e: e.record(G, 0x2F, 8, 256),
    legal=lambda e: e.record(G, 0x2F, 8, 255),
)
case('TLV_NO_REGCOUNT', 'regcount-missing', P90, lambda e: e.tlv(G, 0x2F, 0, None))
case(
    'TLV_REGCOUNT_INFO',
    'regcount-75',
    P75,
    lambda e: e.record(G, 0x2F, 8, 7),
    legal=lambda e: e.record(G, 0x2F, 8, 9),
)
case('TLV_NO_FRAME', 'frame-missing', P90, lambda e: e.tlv(G, 0x11, 0, None))
case('TLV_NO_STACK', 'min-stack-missing', P90, lambda e: e.tlv(G, 0x12, 0, None))
case('TLV_SYMBOL_SAME', 'stack-twice', P90, lambda e: e.tlv_add(G, 4, 0x12, words(e.symbol_index(FN), 0)))


def stack_again(e, first, again):
    """one stack size of the kernel, and another one behind it"""
    return e.tlv_add(G, 4, 0x12, words(e.symbol_index(FN), again)).record(G, 0x12, 8, first)


case('TLV_STACK_OF_FRAME', 'stack-of-frame', P90, lambda e: stack_again(e, 16, 0))
case('TLV_SYMBOL_TWICE', 'stack-twice-rising', P90, lambda e: stack_again(e, 16, 32))
case('TLV_SYMBOL_TWICE', 'regcount-twice', P90, lambda e: e.tlv_add(G, 4, 0x2F, words(e.symbol_index(FN), 8)))
case('TLV_CBANK_SECTION', 'cbank-symbol', P90, lambda e: e.record(INFO, 0x0A, 4, e.symbol_index(TEXT)))
case('TLV_CBANK_SYMBOL', 'cbank-symbol-func', P90, lambda e: e.record(INFO, 0x0A, 4, e.symbol_index(FN)))
case('TLV_CBANK_OFFSET', 'cbank-offset', P90, lambda e: e.record(INFO, 0x0A, 8, 0x160, 2))
case('TLV_PARAM_SIZE', 'cbank-size', P90, lambda e: e.record(INFO, 0x0A, 10, 16, 2))
case(
    'TLV_CBANK_SIZE',
    'cbank-past',
    P90,
    lambda e: e.record(INFO, 0x0A, 10, 0x400, 2).record(INFO, 0x19, 2, 0x400, 2),
)
case('TLV_PARAM_KERNEL', 'cbank-missing', P90, lambda e: e.tlv(INFO, 0x0A, 0, None))
case('TLV_PARAM_SIZE', 'param-size', P90, lambda e: e.record(INFO, 0x19, 2, 16, 2))
case('TLV_PARAM_KERNEL', 'param-size-missing', P90, lambda e: e.tlv(INFO, 0x19, 0, None))
case('TLV_PARAM_ORDINAL', 'param-ordinal', P90, lambda e: e.record(INFO, 0x17, 8, 1, 2))
case('TLV_PARAM_ORDINAL', 'param-ordinal-twice', B90, lambda e: e.record(BFN, 0x17, 8, 0, 2))
case('TLV_PARAM_BANK', 'param-bank-0', P90, lambda e: e.record(INFO, 0x17, 13, 0, 1))
case('TLV_PARAM_BANK', 'param-bank-f', P90, lambda e: e.record(INFO, 0x17, 14, 0x20, 1))
for space in (1, 4, 15):
    case('TLV_PARAM_SPACE', 'param-space-%d' % space, P90, lambda e, s=space: e.record(INFO, 0x17, 13, 0xF0 | s, 1))
case('TLV_PARAM_END', 'param-offset', P90, lambda e: e.record(INFO, 0x17, 10, 8, 2))
case('TLV_ZERO', 'param-word-0', P90, lambda e: e.record(INFO, 0x17, 4, 1))
case('TLV_PARAM_MIXED', 'param-mixed', B90, lambda e: e.record(BFN, 0x17, 1, 0x45, 1))
case('COMPAT_ISA', 'compat-isa-0', P100, lambda e: e.record(COMPAT, 7, 2, 0x0001, 2))
case(
    'TLV_TEXT_OFFSET',
    'exit-offset-out',
    P90,
    lambda e: e.record(INFO, 0x1C, 4, e.sget(TEXT, 'size')),
    legal=lambda e: e.record(INFO, 0x1C, 4, e.sget(TEXT, 'size') - 16),
)
case(
    'TLV_TEXT_ALIGN',
    'exit-offset-odd',
    P90,
    lambda e: e.record(INFO, 0x1C, 4, e.sget(TEXT, 'size') - 8),
    legal=lambda e: e.record(INFO, 0x1C, 4, e.sget(TEXT, 'size') - 16),
)
case('TLV_COOP_COUNT', 'coop-count', B90, coop)
case('TLV_API_VERSION', 'api-version', P90, lambda e: e.record(INFO, 0x37, 4, 129))
case('TLV_ISA_NEW', 'mercury-isa', P90, lambda e: e.record(INFO, 0x5F, 2, 0x0102, 2))
case('TLV_ANNOTATION_TYPE', 'annotation-type', P90, lambda e: e.tlv_add(INFO, 4, 0x55, words(9, 0)))
case('TLV_ANNOTATION_CUT', 'annotation-odd', P90, lambda e: e.tlv_add(INFO, 4, 0x55, words(1)))
case('TLV_BRANCH_WORD', 'branch-word-1', P90, lambda e: e.tlv_add(INFO, 4, 0x34, words(0, 1, 1, 0)))
case('TLV_BRANCHES', 'branch-count', P90, lambda e: e.tlv_add(INFO, 4, 0x34, words(0, 0, 2, 0)))
case('TLV_TEXT_OFFSET', 'branch-target', P90, lambda e: e.tlv_add(INFO, 4, 0x34, words(0, 0, 1, 0x10000)))
case('TLV_SIZE', 'mbarrier-size', P90, lambda e: e.tlv_add(INFO, 4, 0x39, words(0, 255, 0)))
case(
    'TLV_TEXT_OFFSET',
    'mbarrier-offset',
    P90,
    lambda e: e.tlv_add(INFO, 4, 0x39, words(0x10000, 255, 0, 0x10100)),
)
case('TLV_SIZE', 'reg-map-size', P90, lambda e: e.tlv_add(INFO, 4, 0x40, words(0, 0)))
case('TLV_TCGEN05', 'tcgen05-both', P100, lambda e: e.tlv_add(INFO, 1, 0x51, 0).tlv_add(INFO, 1, 0x52, 0))
case('TLV_SYMBOL', 'externs-out', P90, lambda e: e.tlv_add(INFO, 4, 0x0F, words(0xFFF)))
MERC = '.nv.merc' + INFO
case('TLV_TEXT_OFFSET', 'merc-offset', P100, lambda e: e.record(MERC, 0x1C, 4, 0x1000000))
case('TLV_SCOPE', 'merc-0a', P100, lambda e: e.tlv_add(MERC, 4, 0x36, words(8)))

# --- .nv.compat -----------------------------------------------------------------------------------
case('COMPAT_FORMAT', 'compat-format', P90, lambda e: e.record(COMPAT, 5, 0, 3, 1))
case('TLV_FORMAT', 'compat-format-5', P90, lambda e: e.record(COMPAT, 5, 0, 5, 1))
case('COMPAT_UNKNOWN', 'compat-unknown', P90, lambda e: e.record(COMPAT, 6, 1, 15, 1))
case('COMPAT_MISSING', 'compat-no-accelerator', P90, lambda e: e.record(COMPAT, 9, 1, 12, 1))
case(
    'COMPAT_SIZE',
    'mask-16',
    P100,
    lambda e: e.tlv(COMPAT, 11, 4, bytes(16)),
    legal=lambda e: e.tlv(COMPAT, 11, 4, bytes(8)),
)
case('COMPAT_TWICE', 'compat-twice', P90, lambda e: e.tlv_add(COMPAT, 2, 9, 0))
case('COMPAT_ISA_NEW', 'compat-isa', P100, lambda e: e.record(COMPAT, 7, 2, 0x0102, 2))
case('COMPAT_ACCEL', 'compat-a', P90, lambda e: e.record(COMPAT, 9, 2, 1, 2))
case('COMPAT_ACCEL_VALUE', 'compat-a-2', P90, lambda e: e.record(COMPAT, 9, 2, 2, 2))
case('COMPAT_ACCEL', 'compat-a-missing', 'plain.sm_90a.cubin', lambda e: e.record(COMPAT, 9, 2, 0, 2))
case('COMPAT_SIZE', 'compat-length', P90, lambda e: e.record(COMPAT, 11, 2, 4, 2).sadd(COMPAT, 'size', -4))
case('TLV_CUT', 'compat-past', P90, lambda e: e.record(COMPAT, 11, 2, 64, 2))

# --- notes ----------------------------------------------------------------------------------------
for rule, label, delta, size, value in (
    ('NOTE_OWNER', 'namesz', 0, 4, 8),
    ('CUINFO_SIZE', 'descsz-4', 4, 4, 4),
    ('NOTE_CUT', 'descsz-16', 4, 4, 16),
    ('CUINFO_DESCSZ', 'descsz-6', 4, 4, 6),
    ('NOTE_CUT', 'descsz-huge', 4, 4, 0xFFFFFFF0),
    ('NOTE_CUT', 'namesz-huge', 0, 4, 0xFFFFFFFD),
    ('NOTE_TYPE', 'type', 8, 4, 2000),
    ('NOTE_OWNER', 'name', 12, 1, 0x4F),
    ('CUINFO_VERSION', 'version-1', 24, 2, 1),
    ('CUINFO_NEW', 'version-3', 24, 2, 3),
    ('CUINFO_VIRTUAL_SM', 'virtual', 26, 2, 91),
    ('TLV_API_VERSION', 'toolkit-119', 28, 2, 119),
    ('TLV_API_VERSION', 'toolkit-131', 28, 2, 131),
    ('CUINFO_RESERVED', 'reserved', 30, 2, 1),
):
    case(rule, 'cuinfo-' + label, P90, lambda e, d=delta, s=size, v=value: e.word(CU, d, v, s))
case('NOTE_CUT', 'cuinfo-size', P90, lambda e: e.sadd(CU, 'size', -4))
case('CUINFO_SIZE', 'cuinfo-twice', P90, lambda e: e.splice(CU, 32, 0, e.section_bytes(CU)))
for rule, label, delta, size, value in (
    ('NOTE_OWNER', 'namesz', 0, 4, 8),
    ('TKINFO_SIZE', 'descsz', 4, 4, 20),
    ('NOTE_CUT', 'descsz-huge', 4, 4, 0xFFFFFFF0),
    ('NOTE_TYPE', 'type', 8, 4, 1000),
    ('NOTE_OWNER', 'name', 12, 1, 0x4F),
    ('TKINFO_NEW', 'version-3', 24, 4, 3),
    ('TKINFO_VERSION', 'version-1', 24, 4, 1),
    ('TKINFO_ORDER', 'object', 28, 4, 1),
    ('TKINFO_ORDER', 'tool', 32, 4, 2),
    ('TKINFO_OFFSET', 'tool-out', 32, 4, 0x1000),
    ('TKINFO_OFFSET', 'line-out', 44, 4, 0x1000),
    ('TKINFO_ORDER', 'build', 40, 4, 3),
):
    case(rule, 'tkinfo-' + label, P90, lambda e, d=delta, s=size, v=value: e.word(TK, d, v, s))
case('TKINFO_NUL', 'tkinfo-last', P90, lambda e: e.word(TK, e.sget(TK, 'size') - 1, 0x78, 1))
case('NOTE_CUT', 'tkinfo-size', P90, lambda e: e.sadd(TK, 'size', -4))
case('NOTE_EMPTY', 'tkinfo-empty', P90, lambda e: e.section(TK, 'size', 0))
case(
    'TKINFO_REST',
    'tkinfo-rest',
    P90,
    lambda e: e.splice(TK, e.sget(TK, 'size'), 0, bytes(8)).word(TK, 4, e.get((4, 4), e.at_section(TK)) + 8),
)
case('NOTE_PADDING', 'tkinfo-padding', P90, note_padding)
case('CUVER_OTHER', 'cuinfo-as-cuver', 'plain.sm_100.cubin', lambda e: e.rename('.note.nv.cuinfo', '.note.nv.cuver'))
case('NOTE_UNPADDED', 'tkinfo-unpadded', P90, note_unpadded)
case(
    'PROFILE_STRANGER',
    'other-tool',
    P90,
    lambda e: e.raw(bytes(e.data).index(b'\0ptxas\0') + 1, b'other').section(INFO, 'flags', 0),
)
case('SEC_DUPLICATE', 'tkinfo-twice', P90, lambda e: e.section('.nv.callgraph', 'name', e.sget(TK, 'name')))
case('TKINFO_ARCH', 'tkinfo-arch', P90, lambda e: e.raw(bytes(e.data).index(b'-arch sm_90') + 9, b'80'))
case('TKINFO_RETARGET', 'tkinfo-retarget', 'plain.sm_100.cubin', lambda e: e.raw(49, b'\x67'))
case(
    'COMPAT_ACCEL',
    'tkinfo-arch-a',
    'plain.sm_90a.cubin',
    lambda e: e.raw(bytes(e.data).index(b'-arch sm_90a') + 11, b' '),
)
case('CUVER', 'cuver-word', 'cuver:' + P100, lambda e: e.word('.note.nv.cuver', 28, 2))
case('CUVER', 'cuver-version', 'cuver:' + P100, lambda e: e.word('.note.nv.cuver', 24, 2, 2))
case(
    'CUVER_SM',
    'cuver-sm',
    'cuver:' + P100,
    lambda e: e.word('.note.nv.cuver', 26, 103, 2),
    legal=lambda e: e.word('.note.nv.cuver', 26, 90, 2),
)

# --- call graph and prototypes --------------------------------------------------------------------
case('CALL_SYMBOL', 'symbol-out', I90, lambda e: e.word(CG, 8, 0xFFFF))
case('CALL_MARKER', 'first-marker', I90, lambda e: e.word(CG, 4, -5))
case('CALL_MARKER', 'marker-order', P90, lambda e: e.word(CG, 4, -2).word(CG, 12, -1))
case('CALL_MARKER', 'marker-missing', P90, lambda e: e.sadd(CG, 'size', -8))
case('CALL_MARKER', 'marker-unknown', P90, lambda e: e.word(CG, 28, -5))
case('CALL_SYMBOL_TYPE', 'not-func', 'recurse.sm_90.rdc.cubin', lambda e: e.word(CG, 8, 1))
case('CALL_SYMBOL_TYPE', 'not-func-callee', 'recurse.sm_90.rdc.cubin', lambda e: e.word(CG, 12, 1))
case('CALL_SYMBOL_TYPE', 'zero-callee', 'recurse.sm_90.rdc.cubin', lambda e: e.word(CG, 12, 0))
case('CALL_STRING', 'string-out', I90, lambda e: e.word(CG, part(e, -2) + 4, 0xFFFFFF))
case(
    'CALL_STRING',
    'string-not-prototype',
    I90,
    lambda e: e.word(CG, part(e, -2) + 4, e.yget('_Z8indirectPi', 'name')),
)
case('META_RAGGED', 'size', P90, lambda e: e.splice(CG, 32, 0, bytes(4)))
W90 = 'recurse.sm_90.rdc.cubin'
case('PROTO_TWICE', 'proto-twice', W90, lambda e: e.splice(PROTO, 8, 0, e.section_bytes(PROTO)[:8]))
case('PROTO_TWICE', 'proto-twice-apart', W90, lambda e: e.splice(PROTO, e.sget(PROTO, 'size'), 0, e.section_bytes(PROTO)[:8]))
case('PROTO_SYMBOL', 'proto-symbol-out', W90, lambda e: e.word(PROTO, 0, 0xFFFF))
case('PROTO_SYMBOL_TYPE', 'proto-not-func', W90, lambda e: e.word(PROTO, 0, 1))
case('PROTO_KERNEL', 'proto-kernel', W90, lambda e: e.word(PROTO, 0, e.symbol_index('_Z7recursePi')))
case('PROTO_STRING', 'proto-string-out', W90, lambda e: e.word(PROTO, 4, 0xFFFFFF))
case('PROTO_STRING', 'proto-string', W90, lambda e: e.word(PROTO, 4, e.yget('_Z7recursePi', 'name')))

# --- fixed sections -------------------------------------------------------------------------------
case('REL_ACTION', 'rel-action', P75, lambda e: e.word('.nv.rel.action', 8, 1))
case('REL_ACTION', 'rel-action-size', P75, lambda e: e.splice('.nv.rel.action', 16, 0, bytes(8)))
case('REL_ACTION_PRESENCE', 'rel-action-missing', P75, lambda e: e.rename('.nv.rel.action', '.nv.rel.actiom'))
U90 = 'unified.sm_90.rdc.cubin'
case('UNIFIED_SYMBOL', 'uft-symbol', U90, lambda e: e.word('.nv.uft.entry', 0, 0xFFFF))
case('UNIFIED_SYMBOL', 'udt-symbol', U90, lambda e: e.word('.nv.udt.entry', 0, 0xFFFF))
case('META_RAGGED', 'udt-size', U90, lambda e: e.sadd('.nv.udt.entry', 'size', -8))
case(
    'UNIFIED_SYMBOL_TYPE',
    'uft-variable',
    U90,
    lambda e: e.word('.nv.uft.entry', 0, e.symbol_index('unified_value')),
)
case(
    'UNIFIED_SYMBOL_TYPE',
    'udt-function',
    U90,
    lambda e: e.word('.nv.udt.entry', 0, e.symbol_index('unified_function')),
)
case('REL_ACTION', 'rel-action-116', P75, lambda e: e.word('.nv.rel.action', 0, 116))
case(
    'REL_ACTION_NEW',
    'newer-tool',
    P75,
    lambda e: e.word(CU, 28, 140, 2).record(INFO, 0x37, 4, 140).word('.nv.rel.action', 0, 116),
)
