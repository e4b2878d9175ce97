# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that genuine older files have and today's tools do not write: none of them may give a finding."""

import struct

import cases_graph
import synth
from edit import Elf, Fat, container, member
from registry import legal, sample

for base in ('vars.sm_75.cubin', 'vars.sm_75.rdc.cubin', 'indirect.sm_75.rdc.cubin', 'plain.sm_89.cubin'):
    legal('abi7-' + base, lambda b=base: synth.legacy(Elf(sample(b))))
legal('elf32-vars.sm_75.cubin', lambda: synth.elf32(synth.legacy(Elf(sample('vars.sm_75.cubin')))))
legal('numbered-weak.sm_100.cubin', lambda: synth.numbered(Elf(sample('weak.sm_100.cubin'))))
legal('numbered-recurse.sm_90.rdc.cubin', lambda: synth.numbered(Elf(sample('recurse.sm_90.rdc.cubin'))))
legal('cuver-vars.sm_100.cubin', lambda: synth.cuver(Elf(sample('vars.sm_100.cubin'))))


def two_stack_sizes():
    """what the compilers of 12.4 and 12.5 say of a kernel that calls functions of its own section through pointers"""
    elf = synth.legacy(Elf(sample('plain.sm_75.cubin')), 124)
    kernel = elf.find_symbol(lambda field: field('other') & 0x10)
    return elf.tlv_add('.nv.info', 4, 0x12, struct.pack('<II', kernel, 0)).record('.nv.info', 0x12, 8, 80)


legal('stack-of-frame.sm_75.cubin', two_stack_sizes)


def bank_without_number():
    """constant banks of objects of toolkits 11.1 to 11.5: one type for all of them"""
    elf = synth.legacy(Elf(sample('vars.sm_75.rdc.cubin')))
    for i, name in enumerate(elf.names):
        if name.startswith('.nv.constant'):
            elf.section(i, 'type', 0x70000006)
    return elf


legal('bank-without-number.sm_75.rdc.cubin', bank_without_number)


def kernel_of_11():
    """the address of a kernel, of which the compilers of CUDA 11 say nothing in the call graph"""
    elf = synth.legacy(Elf(sample('indirect.sm_75.rdc.cubin')))
    elf.reloc('.rel.nv.global.init', 0, 'sym', elf.symbol_index('_Z8indirectPi'))
    return elf.head('e_version', 118)


legal('kernel-of-11.sm_75.rdc.cubin', kernel_of_11)


def registers_at_run_time():
    """a kernel that sets its registers while it runs, and calls what needs more than it begins with"""
    e = Elf(sample(cases_graph.TWO90))
    e.record('.nv.info', 0x2F, 8, 200, nth=cases_graph.size_of(e, 0x2F, cases_graph.TWICE))
    return e.tlv_add('.nv.info.' + cases_graph.CALLER, 1, 0x54, 0)


legal('registers-at-run-time.sm_90.cubin', registers_at_run_time)


def pointer_to_common():
    """data that holds the address of a common variable, which a linker places: PTX's .common and a pointer to it"""
    e = Elf(sample('vars.sm_90.rdc.cubin'))
    e.symbol('zeroed', 'shndx', 0xFFF2).symbol('zeroed', 'value', 4)
    return e.reloc('.rela.nv.global.init', 0, 'sym', e.symbol_index('zeroed'))


legal('pointer-to-common.sm_90.rdc.cubin', pointer_to_common)


def padded_variables():
    """executables of tools up to 11: the file has the padding up to shared memory, the memory has not"""
    elf = synth.legacy(Elf(sample('vars.sm_75.cubin')))
    size = elf.sget('.nv.global.init', 'size')
    elf.section('.nv.shared._Z4varsPi', 'align', 32)
    elf.splice('.nv.global.init', size, 0, bytes(16))
    elf.section('.nv.global.init', 'size', size)
    data = next(i for i in range(elf.hget('e_phnum')) if elf.pget(i, 'offset') == elf.sget('.nv.global.init', 'offset'))
    elf.segment(data, 'memsz', size)
    return elf


legal('padded-variables.sm_75.cubin', padded_variables)


def abi7_member():
    """an ELF member of version 1.7"""
    return container(
        member(2, bytes(synth.legacy(Elf(sample('plain.sm_75.cubin')))), 75, version=(1, 7), how='lz4')
    )


def elf32_member():
    """a 32-bit member: flag 0x1 is clear"""
    data = synth.elf32(synth.legacy(Elf(sample('plain.sm_75.cubin'))))
    return container(member(2, data, 75, flags=0x10, version=(1, 7)))


def old_ptx():
    """PTX of older tools: a descriptor {0, 0} and no option text"""
    return container(
        member(1, Fat(sample('ptx-raw.fatbin')).payload()[1], 75, extra=bytes(8), options_offset=0x40)
    )


def name_behind_options():
    """PTX of tools up to 11.8: the identifier follows the options"""
    text = Fat(sample('ptx-raw.fatbin')).payload()[1]
    options = struct.pack('<II', 0x48, 10) + b'-lineinfo '.ljust(16, b'\0')
    return container(
        member(1, text, 75, extra=options + b'vec.cu'.ljust(8, b'\0'), options_offset=0x40, name_offset=0x58, name_length=6)
    )


def old_lto():
    """LTO-IR of older tools: eight zero bytes before the descriptor"""
    f = Fat(sample('lto-lz4.fatbin'))
    _, stored = f.payload()
    options = struct.pack('<II', 0x50, 3) + b'-O3'.ljust(8, b'\0')
    return container(
        member(
            8,
            stored,
            75,
            f.value('flags'),
            version=(1, 61),
            extra=bytes(8) + options,
            options_offset=0x48,
            compressed_size=f.value('compressed_size'),
            key=f.value('key'),
            uncompressed_size=f.value('uncompressed_size'),
        )
    )


def compat_values():
    """an ELF member of 12.8 tools: the values of tags 2, 3 and 5 instead of a copy of .nv.compat"""
    elf = synth.cuver(Elf(sample('plain.sm_100.cubin')))
    for tag in (9, 7, 6, 11):
        elf.tlv('.nv.compat', tag, 0, None)
    area = struct.pack('<II', 0x48, 3) + bytes([1, 0, 5]).ljust(8, b'\0')
    return container(member(2, bytes(elf), 100, 0x1000011, how='zstd', extra=area, options_offset=0x40))


def pieces():
    """names that compilers before 11 give pieces of their own constants, and pieces of these"""
    elf = synth.legacy(Elf(sample('branchy.sm_75.cubin')))
    bank = elf.index('.nv.constant2._Z7branchyPi3bigc')
    for name, value, size in (('.debug_frame', 0, 8), ('.nv.rel.action', 4, 4)):
        for field_, number in (('info', 0x0D), ('other', 0x81), ('shndx', bank), ('value', value), ('size', size)):
            elf.symbol(name, field_, number)
    return elf


legal('pieces.sm_75.cubin', pieces)
legal('abi7-member.fatbin', abi7_member)
legal('elf32-member.fatbin', elf32_member)
legal('old-ptx.fatbin', old_ptx)
legal('old-lto.fatbin', old_lto)
legal('name-behind-options.fatbin', name_behind_options)
legal('compat-values.fatbin', compat_values)
# the bytes of a wrapper magic, and the four bytes of the container magic alone, are data where nothing names them
legal('stray-bytes.bin', lambda: bytes(40) + struct.pack('<II', 0x466243B1, 1) + bytes(24))
