/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls of code that stays are never left out: a call graph that lacks one, in objects that nobody examined,
 * is refused where relocations are decided, and the checker of that stage sees one that got lost. */
#include <check.h>
#include <string.h>

#include "link/in/stages.h"
#include "link/run.h"
#include "support/link_cases.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx x;
static cv_link l;
static cv_block images[4];
static unsigned n_images;
static cuvet_diag said;

static unsigned unreached; /* notes of CV-LINK-084 */

static void on_diag(void *user, const cuvet_diag *d)
{
    (void)user;
    unreached += d->rule == CV_R_LINK_UNREACHED;
    if (d->severity < CUVET_WARNING)
        return;
    said = *d;
}

static void add_image(const char *input)
{
    cv_block *b = &images[n_images++];
    uint64_t extent;
    size_t n;
    const uint8_t *p = lc_file(input, &n);
    cv_cubin c;

    ck_assert_uint_le(n_images, N(images));
    cv_cubin_init(&c);
    ck_assert_int_eq(cv_block_copy(&x, b, cv_span_of(p, n, 0)), CUVET_OK);
    ck_assert_int_eq(cv_cubin_examine(&x, &c, b->span, NULL, &extent), CUVET_OK);
    ck_assert_int_eq(cv_link_add(&l, b->span, &c, "object"), CUVET_OK);
}

static void begin(const char *name)
{
    const lc_case *c = lc_find(name, "sm_80");
    cv_link_options o = { .target.sm = 80, .key = { 1, 2 } };
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    x.emit = on_diag;
    cv_ctx_unit(&x, CV_MIB);
    cv_link_begin(&l, &x, &o);
    n_images = 0;
    for (unsigned i = 0; i < c->n; i++)
        add_image(c->input[i]);
}

static void end(void)
{
    cv_link_end(&l);
    while (n_images > 0)
        cv_block_free(&x, &images[--n_images]);
    cv_islands_drop();
    ck_assert_uint_eq(x.mem.live, 0);
}

static uint64_t decide(void)
{
    uint64_t i = 0;

    while (strcmp(cv_link_stage(i), "decide") != 0)
        i++;
    return i;
}

static const char *const CASES[] = { "extern_basic", "stack_chain", "printf_assert", "shared_static" };

/* Every function calls itself, and nobody else. */
START_TEST(no_graph)
{
    unsigned edges = 0;

    begin(CASES[_i]);
    for (unsigned k = 0; k < n_images; k++) {
        const cv_cubin *c = &cv_l_obj(&l, k)->cubin;
        cv_span graph = cv_cubin_body(c, cv_cubin_first(c, CV_ROLE_CALLGRAPH));
        uint8_t *p = images[k].mem + (graph.off - images[k].span.off);

        for (uint64_t at = 0; at + 8 <= graph.len && cv_u32_at(graph, at + 4) != UINT32_MAX - 1; at += 8)
            if (cv_u32_at(graph, at) != 0) {
                memcpy(p + at + 4, p + at, 4);
                edges++;
            }
    }
    ck_assert_uint_gt(edges, 0);
    ck_assert_int_eq(cv_link_run_to(&l, decide()), CUVET_E_REFUSED);
    ck_assert_str_eq(cuvet_rule_get(said.rule)->id, "CV-LINK-022");
    end();
}
END_TEST

/* A relocation of code that calls another function. */
static cv_irel *a_call(cv_osec **of)
{
    for (uint64_t i = 0; i < l.osec.n; i++) {
        cv_osec *q = cv_l_osec(&l, i);

        if (q->group != CV_G_REL || cv_l_osec(&l, q->target)->group != CV_G_CODE)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(&l, r)->next) {
            cv_irel *e = cv_l_irel(&l, r);
            cv_id fn = cv_l_isym(&l, e->sym)->fn;

            *of = q;
            if (e->keep && fn != CV_NONE && fn != cv_l_osec(&l, q->target)->fn)
                return e;
        }
    }
    ck_abort_msg("nothing is called");
}

START_TEST(lost)
{
    cv_osec *q;
    cv_irel *e;

    begin(CASES[_i]);
    ck_assert_int_eq(cv_link_run_to(&l, decide()), CUVET_OK);
    ck_assert_int_eq(cv_link_check(&l, decide()), CUVET_OK);
    e = a_call(&q);
    cv_l_fn(&l, cv_l_isym(&l, e->sym)->fn)->live = false;
    ck_assert_int_eq(cv_link_check(&l, decide()), CUVET_OK); /* it stays, and is refused later */
    e->keep = false;
    q->n_kept--;
    ck_assert_int_eq(cv_link_check(&l, decide()), CUVET_E_INTERNAL);
    ck_assert_str_eq(cuvet_rule_get(said.rule)->id, "CV-LINK-016");
    end();
}
END_TEST

/* What stays although no kernel reaches it calls nobody, as in the reference: said once, and the checker
 * knows it. */
START_TEST(kept_unreached)
{
    unreached = 0;
    begin("kept_unreached");
    ck_assert_int_eq(cv_link_run_to(&l, decide()), CUVET_OK);
    ck_assert_int_eq(cv_link_check(&l, decide()), CUVET_OK);
    ck_assert_uint_eq(unreached, 1);
    for (cv_id i = 0; i < l.fn.n; i++) {
        if (!cv_l_fn(&l, i)->kernel)
            cv_l_fn(&l, i)->reachable = true;
    }
    ck_assert_int_eq(cv_link_check(&l, decide()), CUVET_E_INTERNAL);
    end();
}
END_TEST

Suite *suite_link_calls(void);
Suite *suite_link_calls(void)
{
    Suite *s = suite_create("link calls");
    TCase *t = tcase_create("calls");

    tcase_add_loop_test(t, no_graph, 0, (int)N(CASES));
    tcase_add_loop_test(t, lost, 0, (int)N(CASES));
    tcase_add_test(t, kept_unreached);
    suite_add_tcase(s, t);
    return s;
}
