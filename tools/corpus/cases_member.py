# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of what members hold: PTX, LTO-IR, agreement with the header, limits, compressed content."""

import struct

from cases_fatbin import frame, plain_elf
from edit import Elf, Fat, container, member
from registry import case, sample

# --- PTX ------------------------------------------------------------------------------------------


def ptx_text(f, edit):
    """rebuild the raw PTX member with another text"""
    text = edit(f.payload()[1].rstrip(b'\0'))
    return Fat(container(member(1, text + b'\0', 75, options=b'')))


case('AGREE_PTX_VERSION', 'ptx-version', 'ptx-raw.fatbin', lambda f: f.member('minor', 1))
case('AGREE_PTX_ARCH', 'ptx-target', 'ptx-raw.fatbin', lambda f: f.member('arch', 80))
case(
    'PTX_VERSION_MISSING',
    'ptx-no-version',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'.version', b'.verzion')),
)
case(
    'PTX_TARGET_MISSING',
    'ptx-no-target',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'.target', b'.tarjet')),
)
case(
    'AGREE_PTX_ADDRESS',
    'ptx-address-32',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'_size 64', b'_size 32')),
)
case(
    'PTX_NUL_INSIDE', 'ptx-nul', 'ptx-raw.fatbin', lambda f: ptx_text(f, lambda t: t[:300] + b'\0' + t[301:])
)
case(
    'PTX_CONTROL', 'ptx-control', 'ptx-raw.fatbin', lambda f: ptx_text(f, lambda t: t[:300] + b'\1' + t[301:])
)
case(
    'PTX_NO_NUL',
    'ptx-unterminated',
    'ptx-raw.fatbin',
    lambda f: Fat(
        container(
            member(
                1,
                (f.payload()[1].rstrip(b'\0') + b'// 345678')[:-1][: len(f.payload()[1]) // 8 * 8],
                75,
                options=b'',
            )
        )
    ),
)
case(
    'PTX_COMMENT_END',
    'ptx-comment',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: b'/* never closed ' + t),
)
case('PTX_VERSION_MISSING', 'ptx-empty', 'ptx-raw.fatbin', lambda f: ptx_text(f, lambda t: b''))
case('PTX_NON_ASCII', 'ptx-bom', 'ptx-raw.fatbin', lambda f: ptx_text(f, lambda t: b'\xef\xbb\xbf' + t))

# --- options of members ---------------------------------------------------------------------------


def with_options(options, kind=1):
    if kind == 8:
        return Fat(container(member(8, Fat(sample('lto-raw.fatbin')).payload()[1], 90, minor=65, options=options)))
    text = Fat(sample('ptx-raw.fatbin')).payload()[1].rstrip(b'\0') + b'\0'
    return Fat(container(member(1, text, 75, options=options)))


DESCRIPTION = b'-uumn --ext-desc-file="/opt/cuda-13/bin/ptxExtDesc.txt"  '
for rule, label, words, good in (
    ('FATBIN_OPTION_FILE', 'options-file', b'-O3 -optf /tmp/more.txt', b'-O3 -e kernel'),
    ('FATBIN_OPTION_FILE', 'output-file', b'--output-file=/tmp/made', b'--generate-line-info'),
    ('FATBIN_OPTION_FILE', 'description', DESCRIPTION.replace(b'ptxExtDesc', b'ptxExtDesc.txt/other'), DESCRIPTION),
    ('FATBIN_OPTION_UNKNOWN', 'unknown', b'-v --run=/bin/sh', b'-v --warn-on-spills'),
    ('FATBIN_OPTION_UNKNOWN', 'word', b'-v /etc/passwd', b' -maxrregcount 32 --fmad false '),
    ('FATBIN_OPTION_UNKNOWN', 'quoted', b'-e "a -optf /tmp/more.txt', b'-e _Z1kPi,other$1'),
):
    case(
        rule,
        'option-' + label,
        'ptx-raw.fatbin',
        lambda f, words=words: with_options(words),
        legal=lambda f, good=good: with_options(good),
    )
case(
    'FATBIN_OPTION_UNKNOWN',
    'option-of-ltoir',
    'lto-raw.fatbin',
    lambda f: with_options(b'-ftz=0 -prec_div=1 -load=/tmp/pass.so ', 8),
    legal=lambda f: with_options(b'-maxreg 40 -generate-line-info -ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=1 ', 8),
)

# --- LTO-IR ---------------------------------------------------------------------------------------
case('AGREE_LTOIR_MAGIC', 'lto-magic', 'lto-raw.fatbin', lambda f: f.raw(f.payload()[0], b'\xec'))
case('AGREE_LTOIR_VERSION', 'lto-version', 'lto-raw.fatbin', lambda f: f.member('minor', 60))
case('AGREE_LTOIR_ARCH', 'lto-arch', 'lto-raw.fatbin', lambda f: f.member('arch', 80))
case(
    'AGREE_LTOIR_MAGIC',
    'lto-old-magic',
    'lto-raw.fatbin',
    lambda f: f.raw(f.payload()[0], b'\x01\x5a\xe5\x1e'),
)
case('AGREE_LTOIR_VERSION', 'lto-version-blob', 'lto-raw.fatbin', lambda f: f.raw(f.payload()[0] + 4, b'\2'))

# --- agreement of members -------------------------------------------------------------------------
case(
    'FATBIN_DUPLICATE',
    'duplicate',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, plain_elf(), 75), member(2, plain_elf(), 75))),
)
case('AGREE_KIND', 'elf-in-ptx', 'elf-raw.fatbin', lambda f: f.member('kind', 1))
case('AGREE_KIND', 'ptx-in-elf', 'ptx-raw.fatbin', lambda f: f.member('kind', 2))
case('AGREE_KIND', 'lto-in-elf', 'lto-raw.fatbin', lambda f: f.member('kind', 2))
case('AGREE_KIND', 'elf-in-lto', 'elf-raw.fatbin', lambda f: f.member('kind', 8))
case(
    'FATBIN_HIDDEN',
    'container-in-ltoir',
    'lto-raw.fatbin',
    lambda f: Fat(container(member(8, f.content()[:64] + bytes(Fat(sample('elf-raw.fatbin'))), 75, minor=65))),
)
case(
    'FATBIN_HIDDEN',
    'container-in-opaque',
    'lto.fatbin',
    lambda f: f.raw(f.payload()[0] + 8, b'\x50\xed\x55\xba\x01\x00\x10\x00'),
)


def hidden(data, how):
    """behind the names of a cubin that is stored packed"""
    e = Elf(sample('plain.sm_75.cubin'))
    i = e.index('.strtab')
    e.relayout({i: e.section_bytes(i) + data})
    return Fat(container(member(2, bytes(e.data), 75, how=how)))


for by in (1, 2, 3):
    case(
        'FATBIN_HIDDEN',
        'container-moved-by-%d' % by,
        'elf-raw.fatbin',
        lambda f, by=by: hidden(b'\1' * by + bytes(f), 'zstd'),
        legal=lambda f, by=by: hidden(b'\1' * by + bytes(f)[:4] + bytes(64), 'zstd'),
    )
case('FATBIN_HIDDEN', 'cubin-moved-by-1', 'elf-raw.fatbin', lambda f: hidden(b'\1' + f.content(), 'lz4'))
case(
    'FATBIN_HIDDEN',
    'longer-header',
    'elf-raw.fatbin',
    lambda f: hidden(bytes(f)[:6] + b'\x18\0' + bytes(f)[8:16] + bytes(8) + bytes(f)[16:], 'zstd'),
)
def in_front(area, payload=None, how=None):
    """between the header of a member and its payload"""
    body = member(2, payload or plain_elf(), 75, how=how)
    head = bytearray(body[:64])
    struct.pack_into('<I', head, 4, 64 + len(area))
    return Fat(container(bytes(head) + area + body[64:]))


def room(data, by=0):
    """at the end of as many bytes as a header may have"""
    return bytes((-len(data) - by) % 8) + data + bytes(by)


for label, make in (
    ('container', lambda f: in_front(room(bytes(f)), how='zstd')),
    ('container-moved', lambda f: in_front(room(bytes(f), 3), how='lz4')),
    ('cubin', lambda f: in_front(room(f.content()))),
    ('across', lambda f: in_front(bytes(f)[:16], bytes(f)[16:])),
    ('across-magic', lambda f: in_front(bytes(6) + bytes(f)[:2], bytes(f)[2:] + bytes(2))),
    ('both', lambda f: in_front(room(bytes(f)), bytes(f), how='zstd')),
    ('deep', lambda f: in_front(room(bytes(in_front(room(bytes(f)), how='zstd'))), how='zstd')),
):
    case(
        'FATBIN_HIDDEN_HEADER',
        'in-header-' + label,
        'elf-raw.fatbin',
        make,
    )
case(
    'FATBIN_HIDDEN_HEADER',
    'in-options',
    'elf-raw.fatbin',
    lambda f: with_options(bytes(f)),
)
case(
    'FATBIN_NESTED',
    'container-in-member',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, bytes(f), 75))),
)


case('AGREE_ARCH', 'arch', 'elf-raw.fatbin', lambda f: f.member('arch', 80))
case('AGREE_VERSION', 'minor', 'elf-raw.fatbin', lambda f: f.member('minor', 7))
case('AGREE_VERSION', 'major', 'elf-raw.fatbin', lambda f: f.member('major', 2))
case(
    'AGREE_CAPSULE', 'capsule-bit', 'compat.fatbin', lambda f: f.put((0, 4), 0x06006404, f.payload()[0] + 48)
)
case('AGREE_CLASS', 'class', 'elf-raw.fatbin', lambda f: f.member('flags', f.value('flags') & ~1))
case(
    'AGREE_PTX_SIZE',
    'ptx-size',
    'ptx-raw.fatbin',
    lambda f: Fat(container(member(1, f.payload()[1] + bytes(8), 75, options=b''))),
)


def nest(depth):
    data = sample('elf-raw.fatbin')
    for _ in range(depth):
        data = container(member(64, data, 75))
    return Fat(data)


case('LIMIT_NESTING', 'nesting', 'elf-raw.fatbin', lambda f: nest(6))
case(
    'LIMIT_MEMBERS',
    'members',
    'multi.fatbin',
    lambda f: f,
    options='--limit members=7',
    legal_options='--limit members=8',
)
case(
    'LIMIT_CONTAINERS',
    'containers',
    'back-to-back.fatbin',
    lambda f: f,
    options='--limit containers=2',
    legal_options='--limit containers=3',
)
case(
    'LIMIT_INPUT',
    'input',
    'elf-raw.fatbin',
    lambda f: f,
    options='--limit input=%d' % (len(sample('elf-raw.fatbin')) - 1),
    legal_options='--limit input=%d' % len(sample('elf-raw.fatbin')),
)
case('LIMIT_TOTAL', 'total', 'multi-lz4.fatbin', lambda f: f, options='--limit total=5000')
case(
    'LIMIT_BUDGET',
    'budget',
    'multi-lz4.fatbin',
    lambda f: f,
    options='--limit budget=5000 --limit budget_ratio=1',
    legal_options='--limit budget=5000 --limit budget_ratio=20',
)
case('LIMIT_EFFORT', 'effort', 'multi-lz4.fatbin', lambda f: f, options='--limit effort=0')
case('LIMIT_LIVE', 'live', 'multi-lz4.fatbin', lambda f: f, options='--limit live=12000')
case(
    'LZ4_TOO_LARGE',
    'lz4-2-gib',
    'speed.fatbin',
    lambda f: f.member('uncompressed_size', 0x7F000000),
    options='--limit member=4294967296 --limit lz4_ratio=100000000 --limit budget=4294967296',
)
case('ZSTD_TRUNCATED', 'magic-only', 'default.fatbin', lambda f: frame(b'\x28\xb5\x2f\xfd', 100))
case('ZSTD_TRUNCATED', 'size-cut', 'default.fatbin', lambda f: frame(b'\x28\xb5\x2f\xfd\xa0\x10', 100))
case(
    'ZSTD_RESERVED_BIT',
    'reserved',
    'default.fatbin',
    lambda f: f.raw(f.payload()[0] + 4, bytes([f.payload()[1][4] | 8])),
)
case(
    'PTX_TARGET', 'letters', 'ptx-raw.fatbin', lambda f: ptx_text(f, lambda t: t.replace(b'sm_75', b'sm_xx'))
)
case(
    'PTX_TARGET',
    'no-prefix',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'sm_75', b'rm_75')),
)
case(
    'PTX_TARGET_SUFFIX',
    'suffix-z',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'sm_75', b'sm_75z')),
)
case(
    'PTX_ADDRESS_SIZE',
    'address-48',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t.replace(b'_size 64', b'_size 48')),
)
case(
    'PTX_NON_ASCII',
    'accent',
    'ptx-raw.fatbin',
    lambda f: ptx_text(f, lambda t: t + b'// \xc3\xa9'),
    legal=lambda f: ptx_text(f, lambda t: t + b'// e'),
)
case(
    'PTX_TAIL',
    'zeros',
    'ptx-raw.fatbin',
    lambda f: Fat(container(member(1, f.payload()[1] + bytes(16), 75, options=b''))),
)
case(
    'PTX_TAIL',
    'zeros-compressed',
    'ptx-only.fatbin',
    lambda f: Fat(container(member(1, f.content() + bytes(8), 75, how='lz4', options=b''))),
)
case(
    'LIMIT_WORK',
    'work',
    'none.fatbin',
    lambda f: Fat(container(*[member(64, b'', 75 + i) for i in range(400)])),
    options='--limit work=0',
)

# --- the same inside compressed members: the place is named by an inner offset --------------------


def inside(edit, how, base='plain.sm_90.cubin', arch=90):
    """a container with one compressed member whose content was edited"""
    result = edit(Elf(sample(base)))
    return Inner(container(member(2, bytes(result), arch, how=how)), result.at)


class Inner(Fat):
    """a fat binary whose edit lies in decompressed content"""

    def __init__(self, data, inner):
        super().__init__(data)
        self.inner = inner


for how in ('lz4', 'zstd'):
    case(
        'ELF_ENTRY',
        'inside-' + how,
        'none.fatbin',
        lambda f, h=how: inside(lambda e: e.head('e_entry', 64), h),
    )
    case(
        'SEC_RANGE',
        'inside-' + how,
        'none.fatbin',
        lambda f, h=how: inside(lambda e: e.section('.nv.info', 'offset', 0x100000), h),
    )
    case(
        'TLV_FORMAT',
        'inside-' + how,
        'none.fatbin',
        lambda f, h=how: inside(lambda e: e.record('.nv.info._Z5plainPi', 0x37, 0, 5, 1), h),
    )
    case(
        'RELOC_SYMBOL',
        'inside-' + how,
        'none.fatbin',
        lambda f, h=how: inside(
            lambda e: e.reloc('.rela.nv.constant4', 0, 'sym', 0xFFFF), h, 'vars.sm_90.cubin'
        ),
    )
    case(
        'PTX_CONTROL',
        'inside-' + how,
        'ptx-raw.fatbin',
        lambda f, h=how: Inner(
            container(
                member(
                    1,
                    f.payload()[1].rstrip(b'\0')[:300] + b'\1' + f.payload()[1].rstrip(b'\0')[301:] + b'\0',
                    75,
                    how=h,
                    options=b'',
                )
            ),
            300,
        ),
    )
