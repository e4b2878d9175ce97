/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What no compiler needs and no limit covers, taken away from a program before it begins. */
#ifndef CV_PROC_SECCOMP_H
#define CV_PROC_SECCOMP_H

/* For the calling process and all that it becomes; it must not be able to gain privileges. What is refused
 * fails with EPERM; programs for another machine are killed. A kernel without filters, or a machine that we
 * have no numbers for: nothing happens. Only system calls: may run between fork and exec. */
void cv_seccomp_restrict(void);

#endif
