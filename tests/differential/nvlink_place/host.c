/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
int host_only(void)
{
    return 3;
}
