# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of containers, members, compression and PTX."""

import struct

from edit import CONTAINER, Fat, container, member, zstd
from registry import case, sample


def plain_elf():
    return sample('plain.sm_75.cubin')


def one(payload, how, kind=2, arch=75, **fields):
    return container(member(kind, payload, arch, how=how, **fields))


def blanks(count):
    """a compressed PTX member that ends in many blanks"""
    text = Fat(sample('ptx-raw.fatbin')).payload()[1].rstrip(b'\0') + b' ' * count + b'\0'
    return Fat(container(member(1, text, 75, how='zstd', options=b'')))


def frame(stored, size, flag=0x8000):
    """a member whose stored bytes are given"""
    body = member(2, stored, 75, 0x11 | flag, compressed_size=len(stored), uncompressed_size=size)
    return Fat(container(body))


# --- container header -----------------------------------------------------------------------------
case('FATBIN_VERSION', 'container-version', 'elf-raw.fatbin', lambda f: f.container('version', 2))
case('FATBIN_HEADER_SIZE', 'container-header-24', 'elf-raw.fatbin', lambda f: f.container('header_size', 24))
case(
    'FATBIN_SIZE_ALIGN',
    'container-size-8',
    'elf-raw.fatbin',
    lambda f: f.container('size', f.get(CONTAINER['size']) - 4),
)
case(
    'FATBIN_SIZE_RANGE',
    'container-size-past',
    'elf-raw.fatbin',
    lambda f: f.container('size', f.get(CONTAINER['size']) + 8),
)
case(
    'FATBIN_SIZE_RANGE',
    'container-size-huge',
    'elf-raw.fatbin',
    lambda f: f.container('size', 0xFFFFFFFFFFFFFFFF),
)
case(
    'FATBIN_SIZE_RANGE',
    'container-size-high-half',
    'elf-raw.fatbin',
    lambda f: f.container('size', f.get(CONTAINER['size']) | 1 << 40),
)
case('FATBIN_HEADER_TRUNCATED', 'container-truncated', 'elf-raw.fatbin', lambda f: f.cut(12))
case('FATBIN_EMPTY', 'container-empty', 'elf-raw.fatbin', lambda f: f.container('size', 0).cut(16))
case(
    'FATBIN_ALIGNMENT',
    'container-misaligned',
    'gaps.fatbin',
    lambda f: f.insert(f.containers[1], b'\0\0\0\0'),
    legal=lambda f: f.insert(f.containers[1], bytes(8)),
)
case('FATBIN_SECTION_UNCLAIMED', 'gap-nonzero', 'gaps.fatbin', lambda f: f.raw(f.containers[1] - 8, b'\1'))
case(
    'FATBIN_SECTION_UNCLAIMED',
    'gap-aligned',
    'gaps.fatbin',
    lambda f: f.insert(f.containers[2], bytes(-f.containers[2] % 256 + 256)),
    legal=lambda f: f.insert(f.containers[2], bytes(-f.containers[2] % 256)),
)
case('FATBIN_SECTION_UNCLAIMED', 'gap-32', 'gaps.fatbin', lambda f: f.insert(f.containers[1], bytes(32)))
case('FATBIN_SECTION_UNCLAIMED', 'tail-bytes', 'elf-raw.fatbin', lambda f: f.append(b'tail bytes'))
case(
    'FATBIN_MEMBER_TRUNCATED',
    'slack',
    'elf-raw.fatbin',
    lambda f: f.container('size', f.get(CONTAINER['size']) + 8).append(bytes(8)),
)

# --- member header --------------------------------------------------------------------------------
for rule, label, field, value in (
    ('FATBIN_MEMBER_VERSION', 'version', 'version', 0x100),
    ('FATBIN_MEMBER_HEADER_SIZE', 'header-0', 'header_size', 0),
    ('FATBIN_MEMBER_HEADER_SIZE', 'header-48', 'header_size', 48),
    ('FATBIN_MEMBER_HEADER_RANGE', 'header-huge', 'header_size', 0x7FFFFFF8),
    ('FATBIN_MEMBER_HEADER_ALIGN', 'header-odd', 'header_size', 0x7FFFFFFF),
    ('FATBIN_MEMBER_HEADER_ALIGN', 'header-68', 'header_size', 68),
    ('ELF_SHORT', 'payload-0', 'payload_size', 0),
    ('FATBIN_PAYLOAD_RANGE', 'payload-huge', 'payload_size', 2**64 - 64),
    ('FATBIN_KIND', 'kind-0', 'kind', 0),
    ('FATBIN_KIND', 'kind-3', 'kind', 3),
    ('FATBIN_KIND', 'kind-4', 'kind', 4),
    ('FATBIN_KIND_RUNS', 'kind-16', 'kind', 16),
    ('FATBIN_KIND_RUNS', 'kind-32', 'kind', 32),
    ('FATBIN_KIND_RUNS', 'kind-64', 'kind', 64),
    ('FATBIN_KIND', 'kind-128', 'kind', 128),
    ('FATBIN_KIND', 'kind-256', 'kind', 256),
    ('FATBIN_ARCH_ZERO', 'arch-0', 'arch', 0),
    ('FATBIN_KEY', 'key', 'key', 5),
    ('FATBIN_KEY', 'key-high', 'key', 1 << 32),
    ('FATBIN_NAME_LENGTH', 'name-length', 'name_length', 8),
    ('FATBIN_NAME_OFFSET', 'name-offset', 'name_offset', 0x38),
    ('FATBIN_OPTIONS_PRESENCE', 'options-on-75', 'options_offset', 0x40),
    ('FATBIN_SIZE_WITHOUT_FLAG', 'compressed-size-raw', 'compressed_size', 8),
    ('FATBIN_USIZE_WITHOUT_FLAG', 'true-size-raw', 'uncompressed_size', 8),
):
    case(rule, label, 'elf-raw.fatbin', lambda f, a=field, b=value: f.member(a, b))
case('FATBIN_PAYLOAD_ALIGN', 'member-payload-4', 'elf-raw.fatbin', lambda f: f.add('payload_size', -4))
case('FATBIN_MEMBER_TRUNCATED', 'member-payload-short', 'elf-raw.fatbin', lambda f: f.add('payload_size', -8))
case('FATBIN_PAYLOAD_RANGE', 'member-payload-long', 'elf-raw.fatbin', lambda f: f.add('payload_size', 8))
case(
    'FATBIN_MEMBER_TRUNCATED', 'member-truncated', 'elf-raw.fatbin', lambda f: f.container('size', 40).cut(56)
)
for bit in (2, 3, 5, 6, 7, 8, 11, 17, 18, 19, 22, 23, 25, 63):
    case(
        'FATBIN_FLAGS_UNKNOWN',
        'flag-%d' % bit,
        'elf-raw.fatbin',
        lambda f, b=bit: f.member('flags', f.value('flags') | 1 << b),
    )
case(
    'FATBIN_FLAG_HOST', 'flag-linux', 'elf-raw.fatbin', lambda f: f.member('flags', f.value('flags') & ~0x10)
)
case('FATBIN_FLAG_32BIT', 'flag-64', 'elf-raw.fatbin', lambda f: f.member('flags', f.value('flags') & ~1))
case(
    'FATBIN_FLAG_A_AND_F',
    'flag-a-and-f',
    'multi-lz4.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x200000),
)
case('AGREE_SUFFIX', 'flag-a-90', 'none.fatbin', lambda f: f.member('flags', f.value('flags') | 0x100000))
case(
    'AGREE_ACCEL',
    'flag-a-missing',
    'multi-lz4.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0x100000),
)
case('AGREE_SUFFIX', 'flag-f-100', 'compat.fatbin', lambda f: f.member('flags', f.value('flags') | 0x200000))
case(
    'AGREE_PTX_SUFFIX',
    'flag-a-ptx',
    'ptx-raw.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x100000),
)
case(
    'FATBIN_FLAG_CAPSULE',
    'flag-capsule-missing',
    'compat.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0x1000000),
)
case(
    'FATBIN_FLAG_CAPSULE',
    'flag-capsule-75',
    'elf-raw.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x1000000),
)
case(
    'FATBIN_FLAG_CAPSULE',
    'flag-capsule-ptx',
    'ptx-raw.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x1000000),
)
case(
    'FATBIN_FLAG_SCRAMBLED',
    'flag-scrambled-elf',
    'speed.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x10000),
)
case(
    'FATBIN_KEY',
    'flag-scrambled-missing',
    'lto.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0x10000),
)
case('FATBIN_KEY', 'key-missing', 'lto.fatbin', lambda f: f.member('key', 0))
case('FATBIN_KEY', 'key-high-lto', 'lto.fatbin', lambda f: f.member('key', f.value('key') | 1 << 40))
case(
    'FATBIN_METHOD_UNSUPPORTED',
    'compression-1000',
    'speed.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0xF000 | 0x1000),
)
case(
    'FATBIN_METHOD_UNSUPPORTED',
    'compression-4000',
    'speed.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0xF000 | 0x4000),
)
case(
    'FATBIN_TWO_METHODS',
    'compression-both',
    'speed.fatbin',
    lambda f: f.member('flags', f.value('flags') | 0x8000),
)
case(
    'FATBIN_SIZE_WITHOUT_FLAG',
    'compression-unmarked',
    'speed.fatbin',
    lambda f: f.member('flags', f.value('flags') & ~0xF000),
)
case('FATBIN_CSIZE_ZERO', 'compressed-size-0', 'speed.fatbin', lambda f: f.member('compressed_size', 0))
case('FATBIN_CSIZE_PADDED', 'compressed-size-small', 'speed.fatbin', lambda f: f.add('compressed_size', -8))
case('FATBIN_CSIZE_PADDED', 'compressed-size-large', 'speed.fatbin', lambda f: f.add('compressed_size', 8))
case('FATBIN_USIZE_ZERO', 'true-size-0', 'speed.fatbin', lambda f: f.member('uncompressed_size', 0))
case('LIMIT_MEMBER', 'true-size-2-47', 'default.fatbin', lambda f: f.member('uncompressed_size', 1 << 47))
case('LIMIT_MEMBER', 'true-size-2-47-lz4', 'speed.fatbin', lambda f: f.member('uncompressed_size', 1 << 47))
case('CODEC_SIZE', 'true-size-plus-1', 'speed.fatbin', lambda f: f.add('uncompressed_size', 1))
case('LZ4_CORRUPT', 'true-size-minus-1', 'speed.fatbin', lambda f: f.add('uncompressed_size', -1))
case('ZSTD_CONTENT_SIZE', 'true-size-zstd', 'default.fatbin', lambda f: f.add('uncompressed_size', 1))
case('LIMIT_MEMBER', 'member-limit', 'default.fatbin', lambda f: f.member('uncompressed_size', (1 << 30) + 1))
case(
    'LIMIT_RATIO', 'ratio-zstd', 'default.fatbin', lambda f: blanks(1 << 20), legal=lambda f: blanks(1 << 16)
)
case(
    'LIMIT_LZ4_RATIO',
    'ratio-lz4',
    'speed.fatbin',
    lambda f: f.member('uncompressed_size', f.value('compressed_size') * 256),
)


def lz4_broken(f):
    """the first token claims more literals than the block has"""
    at, _ = f.payload()
    return f.raw(at, b'\xf0' + b'\xff' * 20)


def zstd_broken(f):
    """the first block gets the reserved type 3"""
    at, stored = f.payload()
    single, size = stored[4] >> 5 & 1, stored[4] >> 6
    block = 5 + (0 if single else 1) + (2**size if size else single)
    return f.raw(at + block, bytes([stored[block] | 6]))


def padding(f):
    at, stored = f.payload(1)
    assert len(stored) % 8, 'the sample needs a padded member'
    return f.raw(at + len(stored), b'\1')


def raw_padding(f):
    return f.raw(-1, b'\1')


case('LZ4_CORRUPT', 'lz4-broken', 'speed.fatbin', lz4_broken)
case('ZSTD_CORRUPT', 'zstd-broken', 'default.fatbin', zstd_broken)
case('ZSTD_MAGIC', 'zstd-magic', 'default.fatbin', lambda f: f.raw(f.payload()[0], b'\x29'))
case('ZSTD_MAGIC', 'zstd-skippable', 'default.fatbin', lambda f: f.raw(f.payload()[0], b'\x50\x2a\x4d\x18'))
case(
    'LIMIT_WINDOW',
    'zstd-window',
    'compat.fatbin',
    lambda f: frame(b'\x28\xb5\x2f\xfd\x80\x70' + struct.pack('<I', 20000) + bytes(60), 20000),
    legal=lambda f: frame(zstd(plain_elf(), window_log=10), len(plain_elf())),
)
case(
    'ZSTD_CONTENT_SIZE',
    'zstd-no-size',
    'compat.fatbin',
    lambda f: frame(zstd(plain_elf(), content_size=False), len(plain_elf())),
)
case(
    'ZSTD_CHECKSUM',
    'zstd-checksum',
    'compat.fatbin',
    lambda f: frame(zstd(plain_elf(), checksum=True), len(plain_elf())),
)
case(
    'ZSTD_CONTENT_SIZE',
    'zstd-two-frames',
    'compat.fatbin',
    lambda f: frame(zstd(plain_elf()[:1000]) + zstd(plain_elf()[1000:]), len(plain_elf())),
)
case(
    'ZSTD_FRAME_LENGTH',
    'zstd-empty-frame',
    'compat.fatbin',
    lambda f: frame(zstd(plain_elf()) + zstd(b''), len(plain_elf())),
)
case(
    'ZSTD_FRAME_LENGTH',
    'zstd-trailing',
    'compat.fatbin',
    lambda f: frame(zstd(plain_elf()) + bytes(9), len(plain_elf())),
)
case(
    'ZSTD_DICTIONARY',
    'zstd-dictionary',
    'compat.fatbin',
    lambda f: frame(b'\x28\xb5\x2f\xfd\x61\x05' + zstd(plain_elf())[5:], len(plain_elf())),
)
case('FATBIN_PAYLOAD_PADDING', 'payload-padding', 'default.fatbin', padding)
case(
    'ELF_TRAILING',
    'elf-extra-byte',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, plain_elf() + b'\1', 75))),
)
case(
    'ELF_TRAILING',
    'elf-padding-8',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, plain_elf() + bytes(8), 75))),
)
case(
    'AGREE_EXTENT', 'elf-compressed-tail', 'elf-raw.fatbin', lambda f: Fat(one(plain_elf() + bytes(4), 'lz4'))
)

# --- identifier and options -----------------------------------------------------------------------
case(
    'FATBIN_NAME_NUL',
    'name-nul',
    'ident.fatbin',
    lambda f: f.raw(f.members[0] + 0x40 + f.value('name_length'), b'x'),
)
case('FATBIN_NAME_RANGE', 'name-past', 'ident.fatbin', lambda f: f.member('name_length', 0x40))
case('FATBIN_NAME_RANGE', 'name-huge', 'ident.fatbin', lambda f: f.member('name_length', 0xFFFFFFF0))
case('FATBIN_NAME_OFFSET', 'name-offset-48', 'ident.fatbin', lambda f: f.member('name_offset', 0x48))
case('FATBIN_NAME_NUL', 'name-embedded-nul', 'ident.fatbin', lambda f: f.raw(f.members[0] + 0x42, b'\0'))
case('FATBIN_HEADER_PADDING', 'name-padding', 'ident.fatbin', lambda f: f.raw(f.members[0] + 0x4F, b'x'))
case('FATBIN_OPTIONS_OFFSET', 'options-past', 'ident.fatbin', lambda f: f.member('options_offset', 0x1000, 1))
case(
    'FATBIN_OPTIONS_OFFSET',
    'options-inside-fixed',
    'ident.fatbin',
    lambda f: f.member('options_offset', 0x20, 1),
)
case(
    'FATBIN_OPTIONS_PRESENCE',
    'options-missing-ptx',
    'ptx-raw.fatbin',
    lambda f: f.member('options_offset', 0),
)
case(
    'FATBIN_OPTION_STRING_OFFSET',
    'options-string-past',
    'ident.fatbin',
    lambda f: f.put((0, 4), 0x800, f.members[1] + f.value('options_offset', 1)),
)
case(
    'FATBIN_OPTION_STRING_OFFSET',
    'options-string-moved',
    'ident.fatbin',
    lambda f: f.put((0, 4), f.value('options_offset', 1), f.members[1] + f.value('options_offset', 1)),
)
case(
    'FATBIN_OPTION_STRING_RANGE',
    'options-length',
    'ident.fatbin',
    lambda f: f.put((0, 4), 0x1000, f.members[1] + f.value('options_offset', 1) + 4),
)
case(
    'FATBIN_OPTION_NUL',
    'options-nul',
    'ident.fatbin',
    lambda f: f.raw(f.members[1] + f.value('options_offset', 1) + 8 + 6, b'x'),
)
case(
    'FATBIN_OPTIONS_OFFSET', 'options-overlap', 'ident.fatbin', lambda f: f.member('options_offset', 0x40, 1)
)
case(
    'AGREE_COMPAT',
    'compat-copy',
    'compat.fatbin',
    lambda f: f.raw(f.members[0] + f.value('options_offset') + 8 + 1 + 2, b'\x01'),
)
case(
    'AGREE_COMPAT',
    'compat-copy-length',
    'compat.fatbin',
    lambda f: f.put((0, 4), 0x20, f.members[0] + f.value('options_offset') + 4),
)
case('FATBIN_OPTIONS_PRESENCE', 'compat-missing', 'compat.fatbin', lambda f: f.member('options_offset', 0))
case(
    'FATBIN_OPTIONS_RANGE',
    'options-range',
    'ptx-raw.fatbin',
    lambda f: Fat(container(member(1, f.payload()[1], 75, options_offset=0x40))).mark(f.members[0] + 0x14),
)
case(
    'FATBIN_HEADER_EXTRA',
    'header-extra',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, plain_elf(), 75, extra=bytes(16)))).mark(0x50),
)
case(
    'FATBIN_HEADER_EXTRA',
    'header-extra-text',
    'elf-raw.fatbin',
    lambda f: Fat(container(member(2, plain_elf(), 75, extra=b'surplus!'))).mark(0x50),
)
case('FATBIN_HEADER_EXTRA', 'identifier-short', 'ident8.fatbin', lambda f: f.member('name_length', 3))
case('FATBIN_OPAQUE', 'scrambled', 'lto.fatbin', lambda f: f, neighbour='lto-raw.fatbin')
case(
    'LIMIT_HEADER_AREA',
    'header-area',
    'ident.fatbin',
    lambda f: f,
    options='--limit header_area=31',
    legal_options='--limit header_area=32',
)
