/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backends that do something else than what they were asked for, and who is asked. */
#include "fixture.h"

enum { FLAGS = 48, SM = 49 };

typedef struct fake {
    const char *what;
    void (*edit)(void); /* of the right result, in ff */
    cv_final code;
    cv_rule rule;
    enum { HONEST, SHORT, LONG, SILENT, TWICE, HUGE_SIZE, FAILS, MOVES, SECOND, AGAIN } way;
} fake;

static unsigned runs;

static cv_final fake_probe(const void *self, const cv_backend_req *q, uint32_t *cost)
{
    (void)self;
    (void)q;
    *cost = 100;
    return CV_FINAL_OK;
}

/* The right result through the real backend, then edited. */
static cuvet_status fake_run(void *self, cv_ctx *x, const cv_backend_req *q, cv_final_sink *to,
                             cv_backend_out *out)
{
    static ff_file keep;
    const fake *f = self;
    cv_block right = { 0 };
    cv_final_sink sink = { .ctx = x, .to = &right, .most = UINT64_MAX };
    cuvet_status s = cv_backend_strip.run(NULL, x, q, &sink, out);

    runs++;
    if (s != CUVET_OK)
        return s;
    keep = ff;
    ff.n = right.span.len;
    cv_span_copy(right.span, ff.bytes);
    cv_block_free(x, &right);
    if (f->edit && (f->way != SECOND || runs == 2))
        f->edit();
    out->code_changed = f->way == AGAIN;
    out->moved = f->way == MOVES;
    if (f->way == FAILS) {
        out->code = f->code;
        s = CUVET_OK;
    } else if (f->way == HUGE_SIZE) {
        s = cv_final_sink_begin(to, q->max_output + 1);
    } else if (f->way != SILENT) {
        s = cv_final_sink_begin(to, ff.n);
        ck_assert_int_eq(s, CUVET_OK);
        ck_assert(cv_final_sink_put(to, cv_span_of(ff.bytes, ff.n - (f->way == SHORT), 0)));
        if (f->way == LONG)
            ck_assert(!cv_final_sink_put(to, cv_span_of(ff.bytes, 1, 0)));
        ck_assert_int_eq(cv_final_sink_end(to), f->way != SHORT);
        if (f->way == TWICE)
            s = cv_final_sink_begin(to, 1);
    }
    ff = keep;
    return s;
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
    memset(ff.bytes, 0x5A, ff.n);
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
    memset(ff.bytes + ff.n, 0, 16);
    ff.n += 16;
}

static const fake FAKES[] = {
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
    const fake *f = &FAKES[_i];
    const cv_backend b = {
        .abi = CV_BACKEND_ABI, .name = "fake", .caps = CV_BACKEND_STRIP, .probe = fake_probe, .run = fake_run
    };
    const cv_backend_use use = { &b, (void *)(uintptr_t)f };
    cv_final_options o = ff_options(0, CV_KIND_SASS);
    cuvet_status s;

    ff_load("plain.sm_100.g.cubin");
    before = ff;
    runs = 0;
    o.backend = &use;
    o.n_backends = 1;
    o.self_check = f->way == SECOND;
    s = ff_run(&o);
    ck_assert_msg((s == CUVET_OK) == (f->code == CV_FINAL_OK), "%s", f->what);
    ck_assert_msg(ff_job.code == f->code, "%s: code %d", f->what, (int)ff_job.code);
    ck_assert_msg(f->code == CV_FINAL_OK || ff_said(f->rule), "%s", f->what);
    ck_assert_uint_eq(runs, f->way == SECOND ? 2 : 1);
    ck_assert_mem_eq(before.bytes, ff.bytes, before.n); /* the input is untouched */
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
    const fake f = { "again", edit, CV_FINAL_OK, CV_R_FINAL_LOST, AGAIN };
    const cv_backend b = {
        .abi = CV_BACKEND_ABI, .caps = CV_BACKEND_STRIP, .probe = fake_probe, .run = fake_run
    };
    const cv_backend_use use = { &b, (void *)(uintptr_t)&f };
    cv_final_options o = ff_options(0, CV_KIND_SASS);

    ff_load(name);
    o.backend = &use;
    o.n_backends = 1;
    return ff_run(&o);
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

static cuvet_status raising_run(void *self, cv_ctx *x, const cv_backend_req *q, cv_final_sink *to,
                                cv_backend_out *out)
{
    size_t at = ff_claim(11) + 4;
    static ff_file keep;
    cuvet_status s;

    (void)self;
    (void)x;
    keep = ff;
    ff_put(SM, 1, q->dst_sm);
    ff.bytes[at] |= mask_bits;
    ff.bytes[ff_claim(6) + 2] ^= level_bits;
    out->runs_there = true;
    s = cv_final_sink_begin(to, ff.n);
    ck_assert(cv_final_sink_put(to, cv_span_of(ff.bytes, ff.n, 0)) && cv_final_sink_end(to));
    ff = keep;
    return s;
}

START_TEST(raised_mask)
{
    const cv_backend b = {
        .abi = CV_BACKEND_ABI, .caps = CV_BACKEND_COPY, .probe = fake_probe, .run = raising_run
    };
    const cv_backend_use use = { &b, NULL };
    cv_final_options o = ff_options(103, CV_KIND_NONE);
    enum { BIT = 8, OTHER = 64 };

    o.backend = &use;
    o.n_backends = 1;
    ff_load("plain.sm_100.rdc.cubin");
    ff.bytes[ff_claim(11) + 4] &= (uint8_t)~BIT;
    mask_bits = BIT;
    level_bits = 0;
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    mask_bits = BIT | OTHER;
    ck_assert_int_eq(ff_run(&o), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_OUTPUT_CONTENT));
    mask_bits = BIT;
    level_bits = 3;
    ck_assert_int_eq(ff_run(&o), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_OUTPUT_CONTENT));
}
END_TEST

/* A backend of another version is not asked, nor one that says it does other things; the cheapest of those
 * that can is taken. */
START_TEST(choice)
{
    static const fake HONEST_ONE = { "honest", NULL, CV_FINAL_OK, CV_R_FINAL_STRIPPED, HONEST };
    const cv_backend b = {
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
    const cv_backend_use use[] = {
        { &old, NULL }, { &reader, NULL }, { &b, (void *)(uintptr_t)&HONEST_ONE }, { &cv_backend_strip, NULL }
    };
    cv_final_options o = ff_options(0, CV_KIND_SASS);

    ff_load("plain.sm_100.cubin");
    runs = 0;
    o.backend = use;
    o.n_backends = 4;
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    ck_assert_uint_eq(runs, 0);
    o.n_backends = 3;
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    ck_assert_uint_eq(runs, 1);
    o.n_backends = 2;
    ck_assert_int_eq(ff_run(&o), CUVET_E_REFUSED);
}
END_TEST

Suite *suite_backends(void);
Suite *suite_backends(void)
{
    Suite *s = suite_create("finalize/backends");
    TCase *c = tcase_create("backends");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, ff_setup, ff_teardown);
    tcase_add_loop_test(c, fakes, 0, (int)N(FAKES));
    tcase_add_test(c, choice);
    tcase_add_test(c, lost_reference);
    tcase_add_test(c, raised_mask);
    suite_add_tcase(s, c);
    return s;
}
