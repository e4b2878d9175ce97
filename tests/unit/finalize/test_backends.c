/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backends that do something else than what they were asked for, and who is asked. */
#include "fixture.h"

enum { FLAGS = 48, SM = 49 };

typedef struct backends_fake {
    const char *what;
    void (*edit)(void); /* of the right result, in ff */
    cv_final code;
    cv_rule rule;
    enum { HONEST, SHORT, LONG, SILENT, TWICE, HUGE_SIZE, FAILS, MOVES, SECOND, AGAIN } way;
} backends_fake;

static unsigned runs;

static cv_final fake_probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    (void)self;
    (void)req;
    *cost = 100;
    return CV_FINAL_OK;
}

/* The right result through the real backend, then edited. */
static cuvet_status fake_run(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                             cv_backend_out *out)
{
    static ff_file keep;
    const backends_fake *fake = self;
    cv_block right = { 0 };
    cv_final_sink sink = { .ctx = ctx, .to = &right, .most = UINT64_MAX };
    cuvet_status status = cv_backend_strip.run(NULL, ctx, req, &sink, out);

    runs++;
    if (status != CUVET_OK)
        return status;
    keep = ff;
    ff.size = right.span.len;
    cv_span_copy(right.span, ff.bytes);
    cv_block_free(ctx, &right);
    if (fake->edit && (fake->way != SECOND || runs == 2))
        fake->edit();
    out->code_changed = fake->way == AGAIN;
    out->moved = fake->way == MOVES;
    if (fake->way == FAILS) {
        out->code = fake->code;
        status = CUVET_OK;
    } else if (fake->way == HUGE_SIZE) {
        status = cv_final_sink_begin(to, req->max_output + 1);
    } else if (fake->way != SILENT) {
        status = cv_final_sink_begin(to, ff.size);
        ck_assert_int_eq(status, CUVET_OK);
        ck_assert(cv_final_sink_put(to, cv_span_of(ff.bytes, ff.size - (fake->way == SHORT), 0)));
        if (fake->way == LONG)
            ck_assert(!cv_final_sink_put(to, cv_span_of(ff.bytes, 1, 0)));
        ck_assert_int_eq(cv_final_sink_end(to), fake->way != SHORT);
        if (fake->way == TWICE)
            status = cv_final_sink_begin(to, 1);
    }
    ff = keep;
    return status;
}

static void text_byte(void)
{
    ff.bytes[ff_body(".text.") + 5] ^= 1;
}
static void debug_byte(void)
{
    ff.bytes[ff_body(".debug_abbrev") + 3] ^= 1;
}
static void reloc_addend(void)
{
    ff.bytes[ff_body(".rela.debug_info") + 16] ^= 1;
}
static void bank_byte(void)
{
    ff.bytes[ff_body(".nv.constant0") + 1] ^= 1;
}
static void level_byte(void)
{
    ff.bytes[ff_claim(6) + 2] = 2;
}
static void sm_121(void)
{
    ff_put(SM, 1, 103);
}
static void kind_capmerc(void)
{
    ff_put(FLAGS, 1, 2);
}
static void type_rel(void)
{
    ff_put(16, 2, 1);
}
static void garbage(void)
{
    memset(ff.bytes, 0x5A, ff.size);
}
static void no_kernel(void)
{
    size_t at = ff_body(".symtab"), end = at + ff_get(ff_section(".symtab", NULL) + 32, 8);

    for (at += 24; at < end; at += 24)
        if (ff.bytes[at + 4] == 0x12) {
            ff.bytes[at + 5] &= (uint8_t)~0x10u;
            return;
        }
    ck_abort_msg("no kernel");
}
static void weak_symbol(void)
{
    size_t at = ff_body(".symtab"), end = at + ff_get(ff_section(".symtab", NULL) + 32, 8);

    for (at += 24; at < end; at += 24)
        if (ff.bytes[at + 4] == 0x12) {
            ff.bytes[at + 4] = 0x22;
            return;
        }
    ck_abort_msg("no kernel");
}
static void tail(void)
{
    memset(ff.bytes + ff.size, 0, 16);
    ff.size += 16;
}

static const backends_fake FAKES[] = {
    { "honest", NULL, CV_FINAL_OK, CV_R_FINAL_STRIPPED, HONEST },
    { "short", NULL, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SHORT, SHORT },
    { "silent", NULL, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SHORT, SILENT },
    { "too long is cut off", NULL, CV_FINAL_OK, CV_R_FINAL_STRIPPED, LONG },
    { "two results", NULL, CV_FINAL_BACKEND_FAILED, CV_R_FINAL_OUTPUT_SHORT, TWICE },
    { "huge", NULL, CV_FINAL_LIMIT, CV_R_FINAL_OUTPUT_LIMIT, HUGE_SIZE },
    { "time", NULL, CV_FINAL_BACKEND_TIMEOUT, CV_R_FINAL_BACKEND, FAILS },
    { "crash", NULL, CV_FINAL_BACKEND_CRASH, CV_R_FINAL_BACKEND, FAILS },
    { "moved", NULL, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_MOVED, MOVES },
    { "garbage", garbage, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, HONEST },
    { "tail", tail, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, HONEST },
    { "code", text_byte, CV_FINAL_CHECK_TEXT, CV_R_FINAL_CHECK_TEXT, HONEST },
    { "debug", debug_byte, CV_FINAL_CHECK_DEBUG, CV_R_FINAL_CHECK_DEBUG, HONEST },
    { "relocation", reloc_addend, CV_FINAL_CHECK_RELOC, CV_R_FINAL_CHECK_RELOC, HONEST },
    { "bank", bank_byte, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT, HONEST },
    { "claims", level_byte, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT, HONEST },
    { "machine", sm_121, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER, HONEST },
    { "form", kind_capmerc, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, HONEST },
    { "type", type_rel, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, HONEST },
    { "kernel", no_kernel, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, HONEST },
    { "binding", weak_symbol, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS, HONEST },
    { "code made again", text_byte, CV_FINAL_OK, CV_R_FINAL_SM, AGAIN },
    { "code made again, binding", weak_symbol, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS,
      AGAIN },
    { "other the second time", text_byte, CV_FINAL_CHECK_TEXT, CV_R_FINAL_CHECK_TEXT, SECOND },
    { "other the second time", debug_byte, CV_FINAL_CHECK_DEBUG, CV_R_FINAL_CHECK_DEBUG, SECOND },
    { "other the second time", reloc_addend, CV_FINAL_CHECK_RELOC, CV_R_FINAL_CHECK_RELOC, SECOND },
    { "other the second time", bank_byte, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT, SECOND },
};

START_TEST(fakes)
{
    static ff_file before;
    const backends_fake *fake = &FAKES[_i];
    const cv_backend backend = {
        .abi = CV_BACKEND_ABI, .name = "fake", .caps = CV_BACKEND_STRIP, .probe = fake_probe, .run = fake_run
    };
    const cv_backend_use use = { &backend, (void *)(uintptr_t)fake };
    cv_final_options options = ff_options(0, CV_KIND_SASS);
    cuvet_status status;

    ff_load("plain.sm_100.g.cubin");
    before = ff;
    runs = 0;
    options.backend = &use;
    options.n_backends = 1;
    options.self_check = fake->way == SECOND;
    status = ff_run(&options);
    ck_assert_msg((status == CUVET_OK) == (fake->code == CV_FINAL_OK), "%s", fake->what);
    ck_assert_msg(ff_job.code == fake->code, "%s: code %d", fake->what, (int)ff_job.code);
    ck_assert_msg(fake->code == CV_FINAL_OK || ff_said(fake->rule), "%s", fake->what);
    ck_assert_uint_eq(runs, fake->way == SECOND ? 2 : 1);
    ck_assert_mem_eq(before.bytes, ff.bytes, before.size); /* the input is untouched */
}
END_TEST

/* The relocation at this place names the symbol of its neighbour. */
static void other_symbol(void)
{
    size_t at = ff_body(".rela.text.");

    ff_put(at + 12, 4, ff_get(at + 24 + 12, 4));
}

static cuvet_status made_again(const char *name, void (*edit)(void))
{
    const backends_fake fake = { "again", edit, CV_FINAL_OK, CV_R_FINAL_LOST, AGAIN };
    const cv_backend backend = {
        .abi = CV_BACKEND_ABI, .caps = CV_BACKEND_STRIP, .probe = fake_probe, .run = fake_run
    };
    const cv_backend_use use = { &backend, (void *)(uintptr_t)&fake };
    cv_final_options options = ff_options(0, CV_KIND_SASS);

    ff_load(name);
    options.backend = &use;
    options.n_backends = 1;
    return ff_run(&options);
}

/* CV-FINAL-037: what refers to a shared variable has to do so when it was made again. */
START_TEST(lost_reference)
{
    ck_assert_int_eq(made_again("dynshared.sm_100.rdc.cubin", NULL), CUVET_OK);
    ck_assert_int_eq(made_again("dynshared.sm_100.rdc.cubin", other_symbol), CUVET_E_REFUSED);
    ck_assert_int_eq(ff_job.code, CV_FINAL_CHECK_RELOC);
    ck_assert_uint_eq(ff_diag(CV_R_FINAL_LOST)->got, 19);
    ck_assert_uint_eq(ff_diag(CV_R_FINAL_LOST)->file_off, ff_body(".rela.text."));
}
END_TEST

/* Copies whose mask says that the code runs on sm_103: that bit, and nothing else. */
static uint8_t mask_bits, level_bits;

static cuvet_status raising_run(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                                cv_backend_out *out)
{
    size_t at = ff_claim(11) + 4;
    static ff_file keep;
    cuvet_status status;

    (void)self;
    (void)ctx;
    keep = ff;
    ff_put(SM, 1, req->dst_sm);
    ff.bytes[at] |= mask_bits;
    ff.bytes[ff_claim(6) + 2] ^= level_bits;
    out->runs_there = true;
    status = cv_final_sink_begin(to, ff.size);
    ck_assert(cv_final_sink_put(to, cv_span_of(ff.bytes, ff.size, 0)) && cv_final_sink_end(to));
    ff = keep;
    return status;
}

START_TEST(raised_mask)
{
    const cv_backend backend = {
        .abi = CV_BACKEND_ABI, .caps = CV_BACKEND_COPY, .probe = fake_probe, .run = raising_run
    };
    const cv_backend_use use = { &backend, NULL };
    cv_final_options options = ff_options(103, CV_KIND_NONE);
    enum { BIT = 8, OTHER = 64 };

    options.backend = &use;
    options.n_backends = 1;
    ff_load("plain.sm_100.rdc.cubin");
    ff.bytes[ff_claim(11) + 4] &= (uint8_t)~BIT;
    mask_bits = BIT;
    level_bits = 0;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    mask_bits = BIT | OTHER;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_OUTPUT_CONTENT));
    mask_bits = BIT;
    level_bits = 3;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_OUTPUT_CONTENT));
}
END_TEST

/* A backend of another version is not asked, nor one that says it does other things; the cheapest of those
 * that can is taken. */
START_TEST(choice)
{
    static const backends_fake HONEST_ONE = { "honest", NULL, CV_FINAL_OK, CV_R_FINAL_STRIPPED, HONEST };
    const cv_backend backend = {
        .abi = CV_BACKEND_ABI, .name = "fake", .caps = CV_BACKEND_STRIP, .probe = fake_probe, .run = fake_run
    };
    const cv_backend old = { .abi = CV_BACKEND_ABI + 1,
                             .name = "old",
                             .caps = CV_BACKEND_STRIP,
                             .probe = fake_probe,
                             .run = fake_run };
    const cv_backend reader = { .abi = CV_BACKEND_ABI,
                                .name = "reader",
                                .caps = CV_BACKEND_DECODE | CV_BACKEND_COPY,
                                .probe = fake_probe,
                                .run = fake_run };
    const cv_backend_use use[] = { { &old, NULL },
                                   { &reader, NULL },
                                   { &backend, (void *)(uintptr_t)&HONEST_ONE },
                                   { &cv_backend_strip, NULL } };
    cv_final_options options = ff_options(0, CV_KIND_SASS);

    ff_load("plain.sm_100.cubin");
    runs = 0;
    options.backend = use;
    options.n_backends = 4;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_uint_eq(runs, 0);
    options.n_backends = 3;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_uint_eq(runs, 1);
    options.n_backends = 2;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
}
END_TEST

Suite *suite_backends(void);
Suite *suite_backends(void)
{
    Suite *suite = suite_create("finalize/backends");
    TCase *tcase = tcase_create("backends");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_loop_test(tcase, fakes, 0, (int)N(FAKES));
    tcase_add_test(tcase, choice);
    tcase_add_test(tcase, lost_reference);
    tcase_add_test(tcase, raised_mask);
    suite_add_tcase(suite, tcase);
    return suite;
}
