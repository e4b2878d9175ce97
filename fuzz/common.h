/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What every fuzz target shares: the input as a heap block of exactly its size, parameters from its end, a
 * context with tiny limits that records what is reported, and properties that abort when they do not hold.
 *
 * An input is a real file. It may end in a trailer of eight bytes, {parameters, "CVFZ"}, which is cut off
 * before the file is parsed: without one the parameters are 0, so that samples and hostile files are inputs
 * as they are. */
#ifndef CV_FUZZ_COMMON_H
#define CV_FUZZ_COMMON_H

#include "base/ctx.h"
#include "bytes/span.h"
#include "pool.h"

#define CV_FUZZ_TARGET(name)                                                                                 \
    int cv_fuzz_##name(const uint8_t *data, size_t size);                                                    \
    int cv_fuzz_##name(const uint8_t *data, size_t size)

#define FZ_TRAILER 8u
#define FZ_MAGIC   UINT32_C(0x5A465643)

/* Spans of format targets do not start at offset 0: a finding that gives a local offset is seen. */
#define FZ_OFF UINT64_C(0x1000)

typedef struct fz_input {
    uint8_t *block; /* what was allocated */
    uint8_t *bytes; /* len of them, nothing behind */
    size_t len;
    uint32_t param;
} fz_input;

void fz_open(fz_input *in, const uint8_t *data, size_t size);
void fz_close(fz_input *in);

/* Limits by the lowest parameter byte; 0 is the preset "tiny". */
void fz_limits(uint32_t param, cuvet_limits *lim);

typedef struct fz_state {
    const fz_input *in;
    cv_ctx ctx;
    uint64_t base;    /* offsets of the input: base .. base + in->len */
    uint64_t hash;    /* of everything reported and noted */
    uint64_t n_diags; /* delivered */
    unsigned pass;    /* 0, 1 */
} fz_state;

typedef void fz_fn(fz_state *fuzz);

/* Run in a fresh context, for one input in four (fz_one_in) in a second one as well, and compare; nothing may
 * stay allocated. */
int fz_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn);

/* The whole input as a span at fuzz->base. */
cv_span fz_span(const fz_state *fuzz);
/* Note a result: it must be the same in the second run. */
void fz_note(fz_state *fuzz, uint64_t value);
void fz_note_bytes(fz_state *fuzz, const void *block, uint64_t size);
/* Note the status of a parser. A rejection must have been reported; before: fuzz->x.n_* summed before the
 * call.  */
void fz_status(fz_state *fuzz, cuvet_status status, uint64_t before);
uint64_t fz_reported(const fz_state *fuzz);
/* How often each rule of a range, FZ_SAID_MOST at most, was reported so far. */
#define FZ_SAID_MOST 32u
typedef struct fz_said {
    cuvet_rule first;
    unsigned count;
    uint32_t times[FZ_SAID_MOST];
} fz_said;
fz_said fz_said_so_far(const fz_state *fuzz, cuvet_rule first, cuvet_rule last);
/* Since then these of them were reported once each, and no other; NULL: none. */
bool fz_was_said(const fz_state *fuzz, const fz_said *before, const char *rule, const char *other);
/* 'span' lies in the input. */
void fz_inside(const fz_state *fuzz, cv_span span);

/* What costs more than it finds when it is done for each input is done for one input in n; which ones, their
 * bytes say. The replay driver does it for all. */
extern bool fz_thorough;
bool fz_one_in(const fz_input *in, unsigned count);

uint64_t fz_mix(uint64_t hash, uint64_t value);
uint64_t fz_mix_bytes(uint64_t hash, const void *block, uint64_t size);

/* A diagnostic is well formed and points into [base, base + len]; its hash. */
uint64_t fz_diag(const cuvet_diag *diag, uint64_t base, uint64_t len);

#define FZ_CHECK(cond, what) ((cond) ? (void)0 : fz_fail(__FILE__, __LINE__, what))
_Noreturn void fz_fail(const char *file, int line, const char *what);

/* Numbers for a target that runs a program made of input bytes. */
typedef struct fz_ops {
    const uint8_t *bytes;
    size_t size, at;
} fz_ops;

bool fz_ops_left(const fz_ops *ops);
uint8_t fz_u8(fz_ops *ops); /* 0 at the end */
uint64_t fz_u64(fz_ops *ops);
/* A number worth trying for something of length len: small, near len, near 2^32 or 2^64. */
uint64_t fz_edge(fz_ops *ops, uint64_t len);

/* Behind the first 'size' bytes of a file that a target puts together, which has room for so many; how many
 * there are then. */
size_t fz_append(uint8_t *file, size_t room, size_t size, const void *bytes, size_t count);
/* The header of a member in an archive. */
#define FZ_AR_HEADER 60u
void fz_ar_header(char header[FZ_AR_HEADER + 1], const char *name, size_t size);

/* A file that the build made, as bytes of the target: 'name' is an array. */
#define FZ_CARRY(name, path)                                                                                 \
    __asm__(".section .rodata\n.balign 8\n" #name ":\n.incbin \"" path "\"\n.previous\n");                   \
    extern const uint8_t name[]

#endif
