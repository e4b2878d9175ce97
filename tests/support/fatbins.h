/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fat binaries made on the spot from the samples: any members in any order, stored raw. */
#ifndef CV_TESTS_FATBINS_H
#define CV_TESTS_FATBINS_H

#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAX ((size_t)1 << 20)

typedef struct fb_state {
    uint8_t bytes[FATBIN_MAX];
    size_t size;
    size_t container; /* of the container that is written now */
} fb_state;

/* Bytes of a file of corpus/samples; static memory, until the next call with the same slot (0 to 3). */
const uint8_t *sample(const char *name, size_t *len, unsigned slot);

void fb_begin(fb_state *fatbin);
/* "sm_90a": SASS, relocatable, the sample plain.<name>.rdc.cubin. "exe:sm_90": a whole program.
 * "compute_90a": PTX text written for it. "lto_90": a head of LTO-IR. */
void fb_member(fb_state *fatbin, const char *what);
void fb_bytes(fb_state *fatbin, unsigned kind, unsigned sm, char suffix, const void *block, size_t size);
void fb_end(fb_state *fatbin);
/* One container with members named in a text, separated by blanks. */
void fb_make(fb_state *fatbin, const char *members);

#endif
