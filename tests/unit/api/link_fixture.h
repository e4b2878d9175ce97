/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of the linker share: objects that are edited in memory, and a context that listens. */
#ifndef CV_TESTS_LINK_FIXTURE_H
#define CV_TESTS_LINK_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "support/link_cases.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* An object that a test may edit. */
typedef struct lc_object {
    uint8_t bytes[1 << 17];
    size_t size;
} lc_object;

void lc_load(lc_object *object, const char *file);
uint64_t lc_number(const uint8_t *bytes, size_t off, unsigned width);
void lc_put(lc_object *object, size_t off, unsigned width, uint64_t value);

/* A section header, and where it is. */
typedef struct lc_section {
    const char *name;
    size_t at;
    uint32_t type, link, info;
    uint64_t flags, addr, off, size, align, entsize;
} lc_section;

unsigned lc_sections(const uint8_t *bytes);
lc_section lc_section_of(const uint8_t *bytes, unsigned index);
/* The first section whose name begins like this; its index in *value. */
lc_section lc_find_section(const uint8_t *bytes, const char *prefix, unsigned *value);

/* What was said since lc_setup() or lc_forget(). */
extern cuvet_ctx *lc_ctx;
void lc_setup(void);
void lc_teardown(void);
void lc_forget(void);
bool lc_said(const char *id);
unsigned lc_n_said(void);
/* The first diagnostic of a rule, which must have been said. */
const cuvet_diag *lc_diag(const char *id);

cuvet_linker_options lc_options(const char *target);
cuvet_linker lc_linker(const cuvet_linker_options *options);
void lc_end(cuvet_linker linker);

#endif
