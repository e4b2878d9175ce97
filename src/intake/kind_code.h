/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intermediate code that stands alone: bitcode, and LTO-IR outside of a container. It is not looked into;
 * what is read is whose it is, and whether its bytes hold something else. */
#ifndef CV_INTAKE_KIND_CODE_H
#define CV_INTAKE_KIND_CODE_H

#include "base/vec.h"
#include "io/source.h"

typedef struct cv_ir {
    cv_ctx *ctx;
    cv_block *head, *tmp; /* to be used */
    cv_window *window;
    const cuvet_source *src;
    uint64_t off, size; /* of the object */
    bool for_cuda;      /* what it lies in says that it is for a CUDA device, whatever its triple says */
} cv_ir;

/* Target triple, in memory of 'mem', and what is to be said of it. @return OK · MALFORMED · IO · NOMEM ·
 * LIMIT */
CV_MUST cuvet_status cv_ir_bitcode(const cv_ir *ir, cv_mem *mem, cv_u8s *triple);
/* SM number, 0 unknown. */
CV_MUST cuvet_status cv_ir_ltoir(const cv_ir *ir, uint32_t *sm);
/* *at: where the first container or device ELF begins in the object, which is reported; its size when there
 * is none. */
CV_MUST cuvet_status cv_ir_search(const cv_ir *ir, uint64_t *at);

#endif
