/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What comes out: one byte for another machine, the same sections without capsules; what holds after the
 * stages. */
#include "fixture.h"

#include "finalize/compare.h"
#include "finalize/rewrite.h"
#include "support/link_cases.h"

enum { FLAGS = 48, SM = 49 };

/* Samples with capsules; the machine that the mask of the compiler allows besides their own, 0: none. */
static const struct {
    const char *name;
    uint32_t other;
} CAPSULES[] = {
    { "plain.sm_100.cubin", 103 },
    { "plain.sm_100.rdc.cubin", 103 },
    { "plain.sm_100.g.cubin", 103 },
    { "plain.sm_100.g.rdc.cubin", 103 },
    { "plain.sm_100.lineinfo.cubin", 103 },
    { "plain.sm_100a.cubin", 0 },
    { "plain.sm_100a.rdc.cubin", 0 },
    { "plain.sm_100f.cubin", 103 },
    { "plain.sm_103.cubin", 0 },
    { "plain.sm_103.rdc.cubin", 0 },
    { "plain.sm_110.cubin", 0 },
    { "plain.sm_110.rdc.cubin", 0 },
    { "plain.sm_120.cubin", 121 },
    { "plain.sm_120.rdc.cubin", 121 },
    { "plain.sm_120.g.cubin", 121 },
    { "plain.sm_120.lineinfo.cubin", 121 },
    { "plain.sm_121.cubin", 0 },
    { "plain.sm_121.rdc.cubin", 0 },
    { "branchy.sm_100.cubin", 103 },
    { "branchy.sm_100.rdc.cubin", 103 },
    { "dynshared.sm_100.cubin", 103 },
    { "indirect.sm_100.rdc.cubin", 103 },
    { "nocode.sm_100.cubin", 0 },
    { "nocode.sm_100.rdc.cubin", 0 },
};
static const uint32_t TARGETS[] = { 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 };

/* Exactly one byte, for exactly the machines that the mask allows. */
START_TEST(copies)
{
    for (unsigned total = 0; total < N(TARGETS); total++) {
        cv_final_options options = ff_options(TARGETS[total], CV_KIND_NONE);
        cuvet_status status;
        uint64_t differ = 0, at = 0;
        uint32_t sm;

        ff_load(CAPSULES[_i].name);
        sm = (uint32_t)ff_get(SM, 2);
        status = ff_run(&options);
        ck_assert_msg((status == CUVET_OK) == (TARGETS[total] == sm || TARGETS[total] == CAPSULES[_i].other),
                      "%s to sm_%u", CAPSULES[_i].name, TARGETS[total]);
        if (status != CUVET_OK)
            continue;
        ck_assert_uint_eq(ff_out.span.len, ff.size);
        for (size_t i = 0; i < ff.size; i++)
            if (cv_u8_at(ff_out.span, i) != ff.bytes[i]) {
                differ++;
                at = i;
            }
        ck_assert_uint_eq(differ, TARGETS[total] != sm);
        ck_assert_uint_eq(at, differ ? SM : 0);
        ck_assert_int_eq(ff_said(CV_R_FINAL_FASTPATH), differ != 0);
        ck_assert_int_eq(ff_job.code, differ ? CV_FINAL_OK : CV_FINAL_NOT_NEEDED);
        options.fastpath_off = true;
        ck_assert_int_eq(ff_run(&options) == CUVET_OK, differ == 0);
        ck_assert_int_eq(ff_said(CV_R_FINAL_FASTPATH_OFF), differ != 0); /* CV-FINAL-041 */
        ck_assert(!ff_said(CV_R_FINAL_NEEDS_CODE));
        options.kind = CV_KIND_SASS;
        ck_assert_int_eq(ff_run(&options) == CUVET_OK, differ == 0);
        ck_assert_int_eq(ff_said(CV_R_FINAL_FASTPATH_OFF), differ != 0);
    }
}
END_TEST

/* What is left has the bytes that it had; what is done is not done again. */
START_TEST(strips)
{
    static ff_file before;
    cv_final_options options = ff_options(CAPSULES[_i].other, CV_KIND_SASS);
    unsigned kept = 1;

    ff_load(CAPSULES[_i].name);
    before = ff;
    options.self_check = true;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert(ff_said(CV_R_FINAL_STRIPPED));
    ck_assert_uint_lt(ff_out.span.len, ff.size);
    ff.size = ff_out.span.len;
    cv_span_copy(ff_out.span, ff.bytes);
    ck_assert_uint_eq(ff_get(FLAGS, 1), 4);
    if (CAPSULES[_i].other)
        ck_assert_uint_eq(ff_get(SM, 2), CAPSULES[_i].other);
    for (unsigned i = 1; i < (unsigned)(before.bytes[60] | before.bytes[61] << 8); i++) {
        cv_elf_section left, right;
        cv_span all = cv_span_of(before.bytes, before.size, 0), now = cv_span_of(ff.bytes, ff.size, 0);
        size_t table = before.bytes[40] | (size_t)before.bytes[41] << 8 | (size_t)before.bytes[42] << 16;

        cv_elf_read_section(cv_span_tail(all, table), false, i, &left);
        if (left.flags & CV_SHF_CUDA_MERC)
            continue;
        cv_elf_read_section(cv_span_tail(now, ff_get(40, 8)), false, kept++, &right);
        ck_assert_uint_eq(left.type, right.type);
        ck_assert_uint_eq(left.flags, right.flags);
        if (i == before.bytes[62] || left.type == CV_SHT_SYMTAB)
            continue;
        ck_assert_uint_eq(left.size, right.size);
        if (!cv_elf_type_exempt(left.type))
            ck_assert_mem_eq(before.bytes + left.off, ff.bytes + right.off, left.size);
    }
    ck_assert_uint_eq(kept, ff_get(60, 2));
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_int_eq(ff_job.code, CV_FINAL_NOT_NEEDED);
    ck_assert_mem_eq(ff_out.mem, ff.bytes, ff.size);
}
END_TEST

/* Our note comes behind the others, and nothing else changes; the file that keeps its capsules too. */
START_TEST(tool_note)
{
    static const cv_kind KIND[] = { CV_KIND_CAPMERC, CV_KIND_SASS };

    for (unsigned k = 0; k < N(KIND); k++) {
        cv_final_options options = ff_options(CAPSULES[_i].other, KIND[k]);
        cv_span text;

        ff_load(CAPSULES[_i].name);
        options.tool = cv_span_of("ours", 4, 0);
        options.tool_version = cv_span_of("1.2.3", 5, 0);
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        if (ff_job.code == CV_FINAL_NOT_NEEDED) {
            ck_assert_mem_eq(ff_out.mem, ff.bytes, ff.size);
            continue;
        }
        ff.size = ff_out.span.len;
        cv_span_copy(ff_out.span, ff.bytes);
        text = cv_span_of(ff.bytes + ff_body(".note.nv.tkinfo"),
                          ff_get(ff_section(".note.nv.tkinfo", NULL) + 32, 8), 0);
        ck_assert_ptr_nonnull(memmem(text.base, text.len, "\0ours\0001.2.3\0", 12));
        options.kind = CV_KIND_NONE;
        options.tool.len = 0;
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        ck_assert_int_eq(ff_job.code, CV_FINAL_NOT_NEEDED);
    }
}
END_TEST

START_TEST(bad_note)
{
    cv_final_options options = ff_options(103, CV_KIND_NONE);

    ff_load("plain.sm_100.cubin");
    options.tool = cv_span_of("a\0b", 3, 0);
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert_int_eq(ff_job.code, CV_FINAL_CONFLICT);
}
END_TEST

/* Backends by themselves. */
START_TEST(one_backend)
{
    static const cv_backend_use COPY = { .backend = &cv_backend_copy },
                                STRIP = { .backend = &cv_backend_strip };
    cv_final_options options = ff_options(103, CV_KIND_NONE);

    ff_load("plain.sm_100.cubin");
    options.n_backends = 1;
    options.backend = &STRIP;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_NO_BACKEND));
    ck_assert_int_eq(ff_job.code, CV_FINAL_NO_BACKEND);
    options.backend = &COPY;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    options.kind = CV_KIND_SASS; /* never another form than asked for */
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_FINAL_NO_BACKEND));
    options.n_backends = 0;
    options.kind = CV_KIND_NONE;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    options.target_sm = 100; /* that needs none */
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
}
END_TEST

/* Sections that are listed twice, or in another order: each is matched once. */
START_TEST(matching)
{
    static ff_file first;
    cv_final_same same = { 0 };
    cv_final code = CV_FINAL_OK;
    cuvet_status broken;
    cv_cubin left, right;
    uint64_t extent;
    size_t handle;

    cv_cubin_init(&left);
    cv_cubin_init(&right);
    ff_load("plain.sm_100.g.cubin");
    first = ff;
    cv_ctx_unit(&ff_x, 64 * ff.size);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &left, cv_span_of(first.bytes, first.size, 0), NULL, &extent),
                     CUVET_OK);
    same.before = &left;
    same.after = &right;
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &right, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                     CUVET_OK);
    ck_assert_int_eq(cv_final_compare(&ff_x, &same, &code), CUVET_OK);
    ck_assert_int_eq(code, CV_FINAL_OK);
    /* one takes the name of another: then there are two of that name here, and one of them there */
    handle = ff_section(".debug_info", NULL);
    ff_put(handle, 4, ff_get(ff_section(".debug_abbrev", NULL), 4));
    cv_ctx_unit(&ff_x, 64 * ff.size);
    broken = cv_cubin_examine(&ff_x, &right, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent);
    ck_assert_int_eq(broken, CUVET_OK); /* and reported: still a picture */
    ck_assert_int_eq(cv_final_compare(&ff_x, &same, &code), CUVET_E_REFUSED);
    ck_assert_int_eq(code, CV_FINAL_CHECK_DEBUG);
    cv_cubin_free(&ff_x, &left);
    cv_cubin_free(&ff_x, &right);
    cv_islands_drop();
}
END_TEST

/* The name of a twin, as the comparison sees it, keeps its dot. */
START_TEST(names)
{
    cv_sec sec = { .name = cv_span_of(".nv.merc.debug_line", 19, 0) };

    ck_assert(cv_span_eq_str(cv_final_plain_name(&sec), ".debug_line"));
    sec.name = cv_span_of(".nv.mercury", 11, 0);
    ck_assert(cv_span_eq_str(cv_final_plain_name(&sec), ".nv.mercury"));
    sec.name = cv_span_of(".debug_line", 11, 0);
    ck_assert(cv_span_eq_str(cv_final_plain_name(&sec), ".debug_line"));
}
END_TEST

/* A plan that says something else than what is written: CV-FINAL-033, and nothing is complete. */
START_TEST(passes)
{
    for (int more = -1; more <= 1; more += 2) {
        cv_block out = { 0 };
        cv_rewrite rewrite = { .kind = CV_KIND_CAPMERC, .sm = 100 };
        cv_final_sink sink = { .ctx = &ff_x, .to = &out, .most = UINT64_MAX };
        uint64_t extent;
        cv_cubin cubin;

        ff_load("plain.sm_100.cubin");
        cv_ctx_unit(&ff_x, 64 * ff.size);
        cv_cubin_init(&cubin);
        ck_assert_int_eq(cv_cubin_examine(&ff_x, &cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                         CUVET_OK);
        rewrite.cubin = &cubin;
        ck_assert_int_eq(cv_rewrite_plan(&ff_x, &rewrite), CUVET_OK);
        rewrite.total = (uint64_t)((int64_t)rewrite.total + more);
        ck_assert_int_eq(cv_rewrite_write(&ff_x, &rewrite, &sink), CUVET_E_INTERNAL);
        ck_assert(!sink.done);
        ck_assert(ff_said(CV_R_FINAL_PASSES));
        cv_rewrite_free(&ff_x, &rewrite);
        cv_cubin_free(&ff_x, &cubin);
        cv_block_free(&ff_x, &out);
        cv_islands_drop();
    }
}
END_TEST

/* What nvlink --preserve-relocs writes has records of relocations that were applied, also of the capsules.
 * Those stay, these go. */
START_TEST(preserved_relocations)
{
    const cv_final_options options = ff_options(0, CV_KIND_SASS);
    const uint8_t *bytes = lc_file(lc_find("shared_moved", "sm_100")->output, &ff.size);
    enum { RESOLVED = 0x70000003 };
    unsigned kept = 0;

    memcpy(ff.bytes, bytes, ff.size);
    ck_assert_uint_gt(ff_body(".nv.merc.nv.resolvedrela.text."), 0);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert(ff_said(CV_R_FINAL_STRIPPED));
    ff.size = ff_out.span.len;
    cv_span_copy(ff_out.span, ff.bytes);
    for (size_t handle = ff_get(40, 8), i = 0; i < ff_get(60, 2); i++, handle += 64) {
        kept += ff_get(handle + 4, 4) == RESOLVED;
        ck_assert_uint_eq(ff_get(handle + 8, 8) >> 28, 0);
    }
    ck_assert_uint_eq(kept, 5);
}
END_TEST

/* What must hold after the stages, each clause broken once; a broken one is CV-FINAL-034 with the number of
 * the stage. */
START_TEST(invariants)
{
    cv_final_options options = ff_options(103, CV_KIND_SASS);
    cv_final_job *job = &ff_job;
    cv_final_body body = { .section = 3 };

    ff_load("plain.sm_100.cubin");
    cv_ctx_unit(&ff_x, 4 * ff.size);
    ck_assert_int_eq(cv_final_run(job, &ff_x, &options, cv_span_of(ff.bytes, ff.size, 0), "x", &ff_out),
                     CUVET_OK);
#define BREAKS(check, change, back)                                                                          \
    ck_assert(check(job));                                                                                   \
    change;                                                                                                  \
    ck_assert(!check(job));                                                                                  \
    back;                                                                                                    \
    ck_assert(check(job))
    job->req.cubin = &job->cubin;
    BREAKS(cv_final_fastpath_holds, job->verbatim = true, job->verbatim = false);
    BREAKS(cv_final_fastpath_holds, job->req.dst_sm = 100, job->req.dst_sm = 103);
    BREAKS(cv_final_fastpath_holds, job->req.cubin = &job->result, job->req.cubin = &job->cubin);
    BREAKS(cv_final_choose_holds, job->use.backend = NULL, job->use.backend = &cv_backend_strip);
    BREAKS(cv_final_choose_holds, job->use.backend = &cv_backend_copy, job->use.backend = &cv_backend_strip);
    BREAKS(cv_final_choose_holds, job->verbatim = true, job->verbatim = false);
    BREAKS(cv_final_read_holds,
           *cv_u8s_at(&job->part, cv_cubin_sec(&job->cubin, job->cubin.symtab_index)->header.link) =
               CV_PART_TWIN,
           *cv_u8s_at(&job->part, cv_cubin_sec(&job->cubin, job->cubin.symtab_index)->header.link) =
               CV_PART_STRINGS);
    BREAKS(cv_final_admit_holds, job->cubin.extent++, job->cubin.extent--);
    BREAKS(cv_final_admit_holds, job->cubin.exe = false, job->cubin.exe = true);
    BREAKS(cv_final_admit_holds, job->cubin.abi8 = false, job->cubin.abi8 = true);
    BREAKS(cv_final_admit_holds, job->out_kind = CV_KIND_NONE, job->out_kind = CV_KIND_SASS);
    BREAKS(cv_final_admit_holds, job->dst_sm = 0, job->dst_sm = 103);
    BREAKS(cv_final_classify_holds, job->part.count--, job->part.count++);
    BREAKS(cv_final_classify_holds, job->in_kind = CV_KIND_SASS, job->in_kind = CV_KIND_CAPMERC);
    BREAKS(cv_final_classify_holds, *cv_u8s_at(&job->part, 1) = CV_PART_TWIN,
           *cv_u8s_at(&job->part, 1) = CV_PART_STRINGS);
    job->made_cubin = job->result; /* as it was before the file was written */
    ck_assert(cv_final_transform_holds(job) == (job->made.span.len == job->made_cubin.extent));
    BREAKS(cv_final_notes_holds,
           ck_assert(cv_final_bodies_push(&ff_x.mem, &job->bodies, (cv_final_body){ .section = 0 })),
           job->bodies.count = 0);
    ck_assert(cv_final_bodies_push(&ff_x.mem, &job->bodies, body));
    BREAKS(cv_final_notes_holds, ck_assert(cv_final_bodies_push(&ff_x.mem, &job->bodies, body)),
           job->bodies.count = 1);
    BREAKS(cv_final_notes_holds, cv_final_bodies_at(&job->bodies, 0)->section = 9999,
           cv_final_bodies_at(&job->bodies, 0)->section = 3);
    cv_final_bodies_free(&ff_x.mem, &job->bodies);
    cv_cubin_init(&job->made_cubin);
    job->stage = 4;
    job->code = CV_FINAL_OK;
    ck_assert_int_eq(cv_final_broken(job), CUVET_E_INTERNAL);
    ck_assert_int_eq(job->code, CV_FINAL_INTERNAL);
    ck_assert_uint_eq(ff_diag(CV_R_FINAL_INVARIANT)->got, 4);
    cv_final_end(job);
    cv_islands_drop();
}
END_TEST

/* Before anything is read nothing is known. */
START_TEST(nothing_known)
{
    cv_final_options options = ff_options(103, CV_KIND_SASS);
    cv_final_job *job = &ff_job;

    *job = (cv_final_job){ .ctx = &ff_x, .options = &options };
    cv_cubin_init(&job->cubin);
    BREAKS(cv_final_prepare_holds, job->in_kind = CV_KIND_SASS, job->in_kind = CV_KIND_NONE);
    BREAKS(cv_final_prepare_holds, job->use.backend = &cv_backend_copy, job->use.backend = NULL);
    BREAKS(cv_final_prepare_holds, options.kind = (cv_kind)3, options.kind = CV_KIND_SASS);
    options.kind = CV_KIND_MERCURY;
    BREAKS(cv_final_prepare_holds, options.phase = CV_PHASE_POSTLINK, options.phase = CV_PHASE_ALONE);
}
END_TEST

static char trace[1000];

static void on_trace(void *user, const char *line)
{
    (void)user;
    strcat(strcat(trace, line), "\n");
}

/* The words of the reference, in its order. */
START_TEST(traces)
{
    cv_final_options options = ff_options(103, CV_KIND_NONE);

    options.trace = on_trace;
    ff_load("plain.sm_100.cubin");
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_str_eq(trace, "FNLZR: Input ELF: sample\nFNLZR: Flags [ 1 | 0 ]\nFNLZR: Starting sample\n"
                            "FNLZR: Ending sample\n");
    trace[0] = 0;
    options.phase = CV_PHASE_POSTLINK;
    options.kind = CV_KIND_CAPMERC;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_str_eq(trace, "FNLZR: Input ELF: sample\nFNLZR: Post-Link Mode\nFNLZR: Flags [ 1 | 0 ]\n"
                            "FNLZR: Starting sample\nFNLZR: Ending sample\n");
    trace[0] = 0;
    options.phase = CV_PHASE_PRELINK;
    options.kind = CV_KIND_MERCURY;
    cv_ctx_unit(&ff_x, 4 * ff.size);
    ck_assert_int_eq(cv_final_run(&ff_job, &ff_x, &options, cv_span_of(ff.bytes, ff.size, 0), NULL, &ff_out),
                     CUVET_E_REFUSED);
    cv_final_end(&ff_job);
    cv_islands_drop();
    ck_assert_str_eq(trace, "FNLZR: Input ELF: in-memory-ELF-image\nFNLZR: JIT Path\nFNLZR: preLink Mode\n"
                            "FNLZR: Flags [ 0 | 1 ]\nFNLZR: Starting JIT\nFNLZR: Ending JIT\n");
}
END_TEST

Suite *suite_engine(void)
{
    Suite *suite = suite_create("finalize/engine");
    TCase *tcase = tcase_create("engine");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_loop_test(tcase, copies, 0, (int)N(CAPSULES));
    tcase_add_loop_test(tcase, strips, 0, (int)N(CAPSULES));
    tcase_add_loop_test(tcase, tool_note, 0, (int)N(CAPSULES));
    tcase_add_test(tcase, bad_note);
    tcase_add_test(tcase, one_backend);
    tcase_add_test(tcase, matching);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, passes);
    tcase_add_test(tcase, preserved_relocations);
    tcase_add_test(tcase, invariants);
    tcase_add_test(tcase, nothing_known);
    tcase_add_test(tcase, traces);
    suite_add_tcase(suite, tcase);
    return suite;
}
