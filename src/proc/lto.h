/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link with LTO-IR, by the program cuvet-lto as a child in a sandbox. What that program is called with is
 * written here and read in compat/lto/:
 *   cuvet-lto LIBRARY cubin|ptx IN OUT [OPTION...] -- TYPE:SIZE:NAME...
 * IN has the bytes of all inputs one behind the other, TYPE is libnvJitLink's number. */
#ifndef CV_PROC_LTO_H
#define CV_PROC_LTO_H

#include <cuvet/lto.h>

#include "base/mem.h"

#define CV_LTO_INPUTS_MOST 4096u

/* @param input the n_inputs of the request, whose own list is not looked at
 * @return OK with *out filled, its bytes and log in memory of 'mem' · NOMEM with nothing to free */
CV_MUST cuvet_status cv_lto_run(cv_mem *mem, const cuvet_external *program, const char *library,
                                const cuvet_lto_request *req, const cuvet_lto_input *input,
                                cuvet_compile_result *out);

#endif
