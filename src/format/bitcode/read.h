/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM bitcode, which NVVM IR is written in: a bit stream of nested blocks, each of which says how long it
 * is. Read is what tells whose code it is: the target triple, a record of the module block, of several the
 * last one. Blocks beside it are passed over. Pure functions over parts of an object. */
#ifndef CV_FORMAT_BITCODE_READ_H
#define CV_FORMAT_BITCODE_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_BC_MAGIC         UINT32_C(0xDEC04342) /* "BC", 0xC0DE */
#define CV_BC_WRAPPER_MAGIC UINT32_C(0x0B17C0DE)
#define CV_BC_WRAPPER       UINT64_C(20) /* magic, version, offset, size, machine: 32 bits each */
#define CV_BC_TRIPLE_MAX    128u         /* LLVM's own have up to 40 characters */
#define CV_BC_BLOCK_HEADER  UINT64_C(12) /* at most: two numbers of a variable size, and the length */
#define CV_BC_ABBREVS       32u          /* definitions of the module block; LLVM writes 3 */

typedef enum cv_bc_form { CV_BC_NONE = 0, CV_BC_PLAIN, CV_BC_WRAPPED } cv_bc_form;

/* Whose code a triple is for. */
typedef enum cv_bc_machine {
    CV_BC_UNKNOWN = 0, /* none said, or a name that is on no list */
    CV_BC_CUDA,
    CV_BC_OTHER /* a machine that is no CUDA device */
} cv_bc_machine;

typedef struct cv_bc {
    cv_bc_form form;
    uint64_t off, end; /* of the stream in the object */
    uint64_t next;     /* behind the block of the first module; 0: not found */
    uint64_t more;     /* not 0: so many first bytes of the object are needed to read on */
    uint32_t n_triple; /* 0: none found */
    char triple[CV_BC_TRIPLE_MAX];
    uint32_t n_triples; /* records; the last one is above */
    bool others;        /* all of them are for machines that are no CUDA device */
    bool embeds; /* a section of the module is one of offload binaries: its data may hold device code */
    /* Of the first module, for cv_bc_rest(). */
    uint64_t at;    /* so far it was read, in bits of the stream; 0: not at all */
    bool whole;     /* … up to its end */
    uint32_t width; /* of an abbreviation id */
    uint32_t n_abbrevs;
    uint64_t abbrev[CV_BC_ABBREVS]; /* where they are defined */
} cv_bc;

/* What the first four bytes say; silent. */
cv_bc_form cv_bc_probe(cv_span head);

/* head: the first bytes of an object of 'size' bytes, of which the probe said that it is bitcode.
 * @return OK, with or without a triple · MALFORMED: the stream does not fit the object. */
CV_MUST cuvet_status cv_bc_read(cv_ctx *ctx, cv_span head, uint64_t size, cv_bc *out);

/* Read on behind the first triple. head: as for cv_bc_read(); part: the stream from byte 'first' on, as much
 * of it as there is room for. It goes on as far as what is there can be read: out->at tells.
 * @return OK · MALFORMED: a block does not fit the module · LIMIT */
CV_MUST cuvet_status cv_bc_rest(cv_ctx *ctx, cv_span head, cv_span part, uint64_t first, cv_bc *out);

/* A block of the outermost level that begins at a multiple of 32 bits: does it hold a module, and how many
 * bytes has it, with its header? False: there is none. */
CV_MUST bool cv_bc_block(cv_span head, bool *module, uint64_t *size);

cv_bc_machine cv_bc_machine_of(cv_span triple);

#endif
