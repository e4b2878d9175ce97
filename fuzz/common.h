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

typedef struct fz {
    const fz_input *in;
    cv_ctx x;
    uint64_t base;    /* offsets of the input: base .. base + in->len */
    uint64_t hash;    /* of everything reported and noted */
    uint64_t n_diags; /* delivered */
    unsigned pass;    /* 0, 1 */
} fz;

typedef void fz_fn(fz *f);

/* Run twice in fresh contexts and compare; nothing may stay allocated. */
int fz_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn);
/* The same, the second time for one input in four (fz_one_in). */
int fz_some_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn);

/* The whole input as a span at f->base. */
cv_span fz_span(const fz *f);
/* Note a result: it must be the same in the second run. */
void fz_note(fz *f, uint64_t v);
void fz_note_bytes(fz *f, const void *p, uint64_t n);
/* Note the status of a parser. A rejection must have been reported; before: f->x.n_* summed before the call.
 */
void fz_status(fz *f, cuvet_status s, uint64_t before);
uint64_t fz_reported(const fz *f);
/* s lies in the input. */
void fz_inside(const fz *f, cv_span s);

/* What costs more than it finds when it is done for each input is done for one input in n; which ones, their
 * bytes say. The replay driver does it for all. */
extern bool fz_thorough;
bool fz_one_in(const fz_input *in, unsigned n);

uint64_t fz_mix(uint64_t h, uint64_t v);
uint64_t fz_mix_bytes(uint64_t h, const void *p, uint64_t n);

/* A diagnostic is well formed and points into [base, base + len]; its hash. */
uint64_t fz_diag(const cuvet_diag *d, uint64_t base, uint64_t len);

#define FZ_CHECK(cond, what) ((cond) ? (void)0 : fz_fail(__FILE__, __LINE__, what))
_Noreturn void fz_fail(const char *file, int line, const char *what);

/* Numbers for a target that runs a program made of input bytes. */
typedef struct fz_ops {
    const uint8_t *p;
    size_t n, at;
} fz_ops;

bool fz_ops_left(const fz_ops *o);
uint8_t fz_u8(fz_ops *o); /* 0 at the end */
uint64_t fz_u64(fz_ops *o);
/* A number worth trying for something of length len: small, near len, near 2^32 or 2^64. */
uint64_t fz_edge(fz_ops *o, uint64_t len);

#endif
