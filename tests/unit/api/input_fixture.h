/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of the input object share: a context that listens, inputs for a target, one fat binary. */
#ifndef CV_TESTS_INPUT_FIXTURE_H
#define CV_TESTS_INPUT_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "../../support/fatbins.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cuvet_ctx *ctx;
static struct {
    char id[16];
    cuvet_severity severity;
} said[400];
static unsigned n_said;

static inline void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (n_said < N(said)) {
        strcpy(said[n_said].id, cuvet_rule_get(diag->rule)->id);
        if (getenv("CV_VERBOSE")) {
            char text[300];

            cuvet_diag_message(diag, text, sizeof(text));
            fprintf(stderr, "%s: %s\n", said[n_said].id, text);
        }
        said[n_said++].severity = diag->severity;
    }
}

static inline bool was_said(const char *id)
{
    for (unsigned i = 0; i < n_said; i++)
        if (strcmp(said[i].id, id) == 0)
            return true;
    return false;
}

static inline void setup(void)
{
    const cuvet_ctx_options options = { .size = sizeof(options), .diag = on_diag };

    n_said = 0;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
}

static inline void teardown(void)
{
    cuvet_ctx_destroy(ctx);
}

static inline cuvet_select_options config(const char *target)
{
    cuvet_select_options config = { .size = sizeof(config) };

    ck_assert_int_eq(cuvet_target_parse(target, &config.target), CUVET_OK);
    return config;
}

static inline cuvet_select make(const cuvet_select_options *config)
{
    cuvet_select in;

    ck_assert_int_eq(cuvet_select_create(ctx, config, &in), CUVET_OK);
    ck_assert_uint_ne(in.bits, 0);
    return in;
}

static inline cuvet_select make_for(const char *target)
{
    cuvet_select_options settings = config(target);

    return make(&settings);
}

static inline cuvet_select_state state(cuvet_select in)
{
    cuvet_select_state state = 99;

    ck_assert_int_eq(cuvet_select_get_state(ctx, in, &state), CUVET_OK);
    return state;
}

static inline uint64_t candidates(cuvet_select in)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    uint64_t count = 0;

    while (cuvet_select_get_candidate(ctx, in, count, &candidate) == CUVET_OK)
        count++;
    return count;
}

static inline void end(cuvet_select in)
{
    ck_assert_int_eq(cuvet_select_destroy(ctx, &in), CUVET_OK);
    ck_assert_uint_eq(in.bits, 0);
}

static fb_state bin;

static inline cuvet_status bind_bin(cuvet_select in)
{
    return cuvet_select_bind(ctx, in, bin.bytes, bin.size, CUVET_BIND_BORROW, NULL);
}

#endif
