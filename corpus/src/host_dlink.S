/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a device link leaves in a host object: the linked code and a version 2 wrapper whose second pointer
   names an array in .bss. Written by hand because the compiler driver records its library folders. */
    .section .nv_fatbin, "a", @progbits
    .align 8
linked_code:
    .incbin "linked.fatbin"

    .bss
    .align 16
    .skip 16
inputs:
    .skip 24

    .section .nvFatBinSegment, "aw", @progbits
    .align 8
    .long 0x466243b1, 2
    .quad linked_code
    .quad inputs
    .section .note.GNU-stack, "", @progbits
