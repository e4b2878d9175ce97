/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fat binaries made on the spot from the samples: any members in any order, stored raw. */
#ifndef CV_TESTS_FATBINS_H
#define CV_TESTS_FATBINS_H

#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAX ((size_t)1 << 20)

typedef struct fb {
    uint8_t bytes[FATBIN_MAX];
    size_t n;
    size_t container; /* of the container that is written now */
} fb;

/* Bytes of a file of corpus/samples; static memory, until the next call with the same slot (0 to 3). */
const uint8_t *sample(const char *name, size_t *n, unsigned slot);

void fb_begin(fb *f);
/* "sm_90a": SASS, relocatable, the sample plain.<name>.rdc.cubin. "exe:sm_90": a whole program.
 * "compute_90a": PTX text written for it. "lto_90": a head of LTO-IR. */
void fb_member(fb *f, const char *what);
void fb_bytes(fb *f, unsigned kind, unsigned sm, char suffix, const void *p, size_t n);
void fb_end(fb *f);
/* One container with members named in a text, separated by blanks. */
void fb_make(fb *f, const char *members);

#endif
