/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls of code that stays are never left out: a call graph that lacks one, in objects that nobody examined,
 * is refused where relocations are decided, and the checker of that stage sees one that got lost. */
#include <check.h>
#include <string.h>

#include "link/run.h"
#include "support/link_cases.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_link link;
static cv_block images[4];
static unsigned n_images;
static cuvet_diag said;

static unsigned unreached; /* notes of CV-LINK-084 */

static void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    unreached += diag->rule == CV_R_LINK_UNREACHED;
    if (diag->severity < CUVET_WARNING)
        return;
    said = *diag;
}

static void add_image(const char *input)
{
    cv_block *block = &images[n_images++];
    uint64_t extent;
    size_t count;
    const uint8_t *bytes = lc_file(input, &count);
    cv_cubin cubin;

    ck_assert_uint_le(n_images, N(images));
    cv_cubin_init(&cubin);
    ck_assert_int_eq(cv_block_copy(&ctx, block, cv_span_of(bytes, count, 0)), CUVET_OK);
    ck_assert_int_eq(cv_cubin_examine(&ctx, &cubin, block->span, NULL, &extent), CUVET_OK);
    ck_assert_int_eq(cv_link_add(&link, block->span, &cubin, "object"), CUVET_OK);
}

static void begin(const char *name)
{
    const lc_case *lcase = lc_find(name, "sm_80");
    cv_link_options options = { .target.sm = 80, .key = { 1, 2 } };
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = on_diag;
    cv_ctx_unit(&ctx, CV_MIB);
    cv_link_begin(&link, &ctx, &options);
    n_images = 0;
    for (unsigned i = 0; i < lcase->count; i++)
        add_image(lcase->input[i]);
}

static void end(void)
{
    cv_link_end(&link);
    while (n_images > 0)
        cv_block_free(&ctx, &images[--n_images]);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

static uint64_t decide(void)
{
    uint64_t i = 0;

    while (strcmp(cv_link_stage(i), "scan_relocs") != 0)
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
        const cv_cubin *cubin = &cv_l_obj(&link, k)->cubin;
        cv_span graph = cv_cubin_body(cubin, cv_cubin_first(cubin, CV_ROLE_CALLGRAPH));
        uint8_t *bytes = images[k].mem + (graph.off - images[k].span.off);

        for (uint64_t at = 0; at + 8 <= graph.len && cv_u32_at(graph, at + 4) != UINT32_MAX - 1; at += 8)
            if (cv_u32_at(graph, at) != 0) {
                memcpy(bytes + at + 4, bytes + at, 4);
                edges++;
            }
    }
    ck_assert_uint_gt(edges, 0);
    ck_assert_int_eq(cv_link_run_to(&link, decide()), CUVET_E_REFUSED);
    ck_assert_str_eq(cuvet_rule_get(said.rule)->id, "CV-LINK-022");
    end();
}
END_TEST

/* A relocation of code that calls another function. */
static cv_id a_call(cv_id *of)
{
    for (uint64_t i = 0; i < link.out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(&link, i);

        if (osec->group != CV_G_REL || cv_l_osec(&link, osec->target)->group != CV_G_CODE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(link.out, &cur);) {
            cv_id fn = cv_l_fn_of(&link, cur.rel->sym);

            *of = (cv_id)i;
            if (cv_l_fixup(&link, cur.id)->keep && fn != CV_NONE && fn != cv_l_osec(&link, osec->target)->fn)
                return cur.id;
        }
    }
    ck_abort_msg("nothing is called");
}

START_TEST(lost)
{
    cv_id osec, rel;

    begin(CASES[_i]);
    ck_assert_int_eq(cv_link_run_to(&link, decide()), CUVET_OK);
    ck_assert_int_eq(cv_link_check(&link, decide()), CUVET_OK);
    rel = a_call(&osec);
    cv_l_fn_calls(&link, cv_l_fn_of(&link, cv_l_irel(&link, rel)->sym))->live = false;
    ck_assert_int_eq(cv_link_check(&link, decide()), CUVET_OK); /* it stays, and is refused later */
    cv_l_fixup(&link, rel)->keep = false;
    cv_l_fixed(&link, osec)->n_kept--;
    ck_assert_int_eq(cv_link_check(&link, decide()), CUVET_E_INTERNAL);
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
    ck_assert_int_eq(cv_link_run_to(&link, decide()), CUVET_OK);
    ck_assert_int_eq(cv_link_check(&link, decide()), CUVET_OK);
    ck_assert_uint_eq(unreached, 1);
    for (cv_id i = 0; i < link.functions->fn.count; i++) {
        if (!cv_l_fn(&link, i)->kernel)
            cv_l_fn_calls(&link, i)->reachable = true;
    }
    ck_assert_int_eq(cv_link_check(&link, decide()), CUVET_E_INTERNAL);
    end();
}
END_TEST

Suite *suite_link_calls(void);
Suite *suite_link_calls(void)
{
    Suite *suite = suite_create("link calls");
    TCase *tcase = tcase_create("calls");

    tcase_add_loop_test(tcase, no_graph, 0, (int)N(CASES));
    tcase_add_loop_test(tcase, lost, 0, (int)N(CASES));
    tcase_add_test(tcase, kept_unreached);
    suite_add_tcase(suite, tcase);
    return suite;
}
