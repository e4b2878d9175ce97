/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fixture.h"

#include <check.h>

#include "bytes/span.h"

cv_ctx the_ctx;
unsigned n_diags;
cuvet_diag first, last;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    last = *diag;
    if (n_diags++ == 0)
        first = *diag;
}

void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.diagnostics = 1000; /* some tests loop over all sizes */
    cv_ctx_init(&the_ctx, NULL, &lim);
    the_ctx.emit = emit;
    n_diags = 0;
    first = last = (cuvet_diag){ 0 };
}

void teardown(void)
{
    cv_islands_drop();
    ck_assert_uint_eq(the_ctx.mem.live, 0);
}

void expect_finding(const char *label, cv_rule rule, uint64_t file_off, uint64_t got, uint64_t want)
{
    const char *id = n_diags ? cuvet_rule_get(last.rule)->id : "nothing";

    ck_assert_msg(n_diags == (rule != NONE), "%s: %u findings, last %s", label, n_diags, id);
    if (rule == NONE)
        return;
    ck_assert_msg(last.rule == (cuvet_rule)rule, "%s: %s", label, id);
    ck_assert_msg(last.file_off == file_off, "%s: at %llu", label, (unsigned long long)last.file_off);
    ck_assert_msg(last.got == got && last.want == want, "%s: got %llu want %llu", label,
                  (unsigned long long)last.got, (unsigned long long)last.want);
}
