/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fixture.h"

#include "support/fatbins.h"

ff_file ff;
cv_ctx ff_x;
cv_block ff_out;
cv_final_job ff_job;

static cuvet_diag diags[256];
static unsigned n_diags;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (n_diags < N(diags))
        diags[n_diags++] = *diag;
}

void ff_setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ff_x, &cv_alloc_default, &lim);
    ff_x.emit = emit;
    ff_out = (cv_block){ 0 };
}

void ff_teardown(void)
{
    cv_block_free(&ff_x, &ff_out);
    ck_assert_uint_eq(ff_x.mem.live, 0);
}

void ff_load(const char *name)
{
    const uint8_t *bytes = sample(name, &ff.size, 0);

    ck_assert_uint_le(ff.size, sizeof(ff.bytes));
    memcpy(ff.bytes, bytes, ff.size);
}

uint64_t ff_get(size_t off, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = width; i > 0; i--)
        value = value << 8 | ff.bytes[off + i - 1];
    return value;
}

void ff_put(size_t off, unsigned width, uint64_t value)
{
    ck_assert_uint_le(off + width, ff.size);
    for (unsigned i = 0; i < width; i++)
        ff.bytes[off + i] = (uint8_t)(value >> 8 * i);
}

static size_t names(void)
{
    return ff_get(ff_get(40, 8) + 64 * ff_get(62, 2) + 24, 8);
}

size_t ff_section(const char *prefix, unsigned *value)
{
    for (unsigned k = 1; k < ff_get(60, 2); k++) {
        size_t at = ff_get(40, 8) + 64 * k;

        if (strncmp((const char *)ff.bytes + names() + ff_get(at, 4), prefix, strlen(prefix)) != 0)
            continue;
        if (value)
            *value = k;
        return at;
    }
    ck_abort_msg("no section %s", prefix);
}

size_t ff_body(const char *prefix)
{
    return ff_get(ff_section(prefix, NULL) + 24, 8);
}

size_t ff_claim(uint8_t tag)
{
    size_t handle = ff_section(".nv.compat", NULL), at = ff_get(handle + 24, 8),
           end = at + ff_get(handle + 32, 8);

    for (; at < end; at += ff.bytes[at] == 4 ? 4 + ff_get(at + 2, 2) : 4)
        if (ff.bytes[at + 1] == tag)
            return at;
    ck_abort_msg("no tag %u", tag);
}

void ff_rename(const char *prefix, const char *to)
{
    memcpy(ff.bytes + names() + ff_get(ff_section(prefix, NULL), 4), to, strlen(to));
}

cv_final_options ff_options(uint32_t target, cv_kind kind)
{
    static const cv_backend_use BOTH[] = { { .backend = &cv_backend_copy },
                                           { .backend = &cv_backend_strip } };

    return (cv_final_options){
        .target_sm = target, .kind = kind, .level_most = 2, .backend = BOTH, .n_backends = N(BOTH)
    };
}

cuvet_status ff_run(const cv_final_options *options)
{
    cuvet_status status;

    n_diags = 0;
    cv_block_free(&ff_x, &ff_out);
    cv_ctx_unit(&ff_x, 4 * ff.size);
    cv_path_push(&ff_x, CUVET_P_ELF, false, 0);
    status = cv_final_run(&ff_job, &ff_x, options, cv_span_of(ff.bytes, ff.size, 0), "sample", &ff_out);
    cv_final_end(&ff_job);
    cv_islands_drop();
    ck_assert_uint_eq(ff_x.mem.live, ff_out.cap); /* nothing is left but the result */
    ck_assert_int_eq(status == CUVET_OK, ff_out.span.len != 0);
    ck_assert_int_eq(status == CUVET_OK, ff_job.code == CV_FINAL_OK || ff_job.code == CV_FINAL_NOT_NEEDED);
    return status;
}

const cuvet_diag *ff_diag(cv_rule rule)
{
    for (unsigned i = 0; i < n_diags; i++)
        if (diags[i].rule == (cuvet_rule)rule)
            return &diags[i];
    ck_abort_msg("%s was not said", cuvet_rule_get(rule)->id);
}

void ff_forget(void)
{
    n_diags = 0;
}

bool ff_said(cv_rule rule)
{
    for (unsigned i = 0; i < n_diags; i++)
        if (diags[i].rule == (cuvet_rule)rule)
            return true;
    return false;
}
