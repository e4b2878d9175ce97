/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link of a golden case, from its objects to its file, stage by stage, with what it said. */
#ifndef TESTS_UNIT_LINK_WHOLE_LINK_H
#define TESTS_UNIT_LINK_WHOLE_LINK_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "link/run.h"
#include "support/link_cases.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_link link;
static cv_block out;
static cv_slices file;
static cv_block images[8]; /* of the inputs: a link may write in them */
static unsigned n_images;
static struct {
    unsigned count;
    cuvet_diag first, last;
} said;

static void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (diag->severity < CUVET_WARNING) /* that capsules are left out */
        return;
    if (said.count++ == 0)
        said.first = *diag;
    said.last = *diag;
}

static void add_image(cv_span bytes)
{
    cv_block *block = &images[n_images++];
    uint64_t extent;
    cv_cubin cubin;

    ck_assert_uint_le(n_images, N(images));
    cv_cubin_init(&cubin);
    ck_assert_int_eq(cv_block_copy(&ctx, block, bytes), CUVET_OK);
    ck_assert_int_eq(cv_cubin_examine(&ctx, &cubin, block->span, NULL, &extent), CUVET_OK);
    ck_assert_int_eq(cv_link_add(&link, block->span, &cubin, "object"), CUVET_OK);
}

static void add(const char *name, const char *target)
{
    const lc_case *lcase = lc_find(name, target);

    for (unsigned i = 0; i < lcase->count; i++) {
        size_t count;
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        add_image(cv_span_of(bytes, count, 0));
    }
}

static void begin(const char *name, const char *target, bool relocatable)
{
    cv_link_options options = { .relocatable = relocatable, .key = { 1, 2 } };
    unsigned sm;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(sscanf(target, "sm_%u", &sm), 1);
    options.target.sm = (uint16_t)sm;
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = on_diag;
    cv_ctx_unit(&ctx, CV_MIB);
    memset(&said, 0, sizeof(said));
    cv_link_begin(&link, &ctx, &options);
    link.file->block = &out;
    link.file->slices = &file;
    n_images = 0;
    add(name, target);
}

static void end(void)
{
    cv_link_end(&link);
    cv_slices_free(&ctx.mem, &file);
    cv_block_free(&ctx, &out);
    while (n_images > 0)
        cv_block_free(&ctx, &images[--n_images]);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

static uint64_t number_of(const char *stage)
{
    uint64_t i = 0;

    while (cv_link_stage(i) && strcmp(cv_link_stage(i), stage) != 0)
        i++;
    ck_assert_msg(cv_link_stage(i) != NULL, "no stage %s", stage);
    return i;
}

#endif
