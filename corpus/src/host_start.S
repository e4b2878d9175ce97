/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host code of the executable and shared samples: nothing but an exit. */
    .globl _start
    .text
_start:
    mov $60, %eax
    xor %edi, %edi
    syscall
    .section .note.GNU-stack, "", @progbits
