/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that nobody writes: sections by the thousand with one name, and sections without bytes that claim
 * alignments or places of others. The result is no larger for it, and no dearer. */
#include "fixture.h"

#include "finalize/rewrite.h"
#include "format/elf/write.h"

/* n more sections behind the others of a file whose table is its end. Their name is empty: that of nobody. */
static void append(unsigned n, const cv_elf_section *like)
{
    size_t table = ff_get(40, 8), old = ff_get(60, 2);
    cv_builder b;

    ck_assert_uint_eq(ff.n, table + 64 * old);
    ck_assert_uint_le(ff.n + 64 * (size_t)n, sizeof(ff.bytes));
    cv_builder_init(&b, &ff_x.mem);
    for (unsigned i = 0; i < n; i++)
        cv_elf_write_section(&b, false, like);
    ck_assert(!b.failed);
    cv_span_copy(cv_builder_span(&b), ff.bytes + ff.n);
    ff.n += cv_builder_span(&b).len;
    cv_builder_free(&b);
    ff_put(60, 2, old + n);
}

static cv_elf_section header(cv_span file, uint64_t i)
{
    cv_elf_section h;

    cv_elf_read_section(cv_span_tail(file, cv_u64_at(file, 40)), false, i, &h);
    return h;
}

START_TEST(same_names)
{
    cv_final_options o = ff_options(0, CV_KIND_SASS);
    const cv_elf_section like = { .type = CV_SHT_PROGBITS, .align = 1 };
    uint64_t plain, many, n = 10000;

    ff_load("plain.sm_100.rdc.cubin");
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    cv_ctx_unit(&ff_x, 4 * ff.n);
    plain = cv_ctx_work(&ff_x);
    append((unsigned)n, &like);
    cv_ctx_unit(&ff_x, 4 * ff.n);
    many = cv_ctx_work(&ff_x);
    ck_assert_uint_gt(many, plain);
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    ck_assert_uint_lt(many - cv_ctx_work(&ff_x), 200 * n); /* pairs would be n * n / 2 */
}
END_TEST

/* Sections with bytes, each aligned to a megabyte: what lies between them would be the file. */
START_TEST(padding_has_an_end)
{
    static const struct {
        unsigned n;
        cuvet_status s;
    } ROWS[] = { { 1, CUVET_OK }, { 3, CUVET_E_LIMIT }, { 60, CUVET_E_LIMIT } };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_rewrite r = { .sm = 100 };
        uint64_t extent;
        cv_cubin c;

        ff_load("plain.sm_100.rdc.cubin");
        for (unsigned k = 0; k < ROWS[i].n; k++) {
            const cv_elf_section like = {
                .type = CV_SHT_PROGBITS, .align = CV_MIB, .off = 64 + 8 * k, .size = 8
            };

            append(1, &like);
        }
        r.kind = (cv_kind)ff.bytes[48];
        ff_forget();
        cv_ctx_unit(&ff_x, 64 * ff.n);
        cv_cubin_init(&c);
        ck_assert_int_eq(cv_cubin_examine(&ff_x, &c, cv_span_of(ff.bytes, ff.n, 0), NULL, &extent), CUVET_OK);
        r.cubin = &c;
        ck_assert_int_eq(cv_rewrite_plan(&ff_x, &r), ROWS[i].s);
        ck_assert_int_eq(ff_said(CV_R_LIMIT_PADDING), ROWS[i].s != CUVET_OK);
        cv_rewrite_free(&ff_x, &r);
        cv_cubin_free(&ff_x, &c);
        cv_islands_drop();
    }
}
END_TEST

/* Where the place of nothing is does not make the file larger. */
START_TEST(empty_sections)
{
    static const struct {
        uint32_t type;
        uint64_t size, align;
    } ROWS[] = {
        { CV_SHT_NOBITS, 16, CV_MIB },  { CV_SHT_NOBITS, 16, CV_MIB / 2 }, { CV_SHT_PROGBITS, 0, 4096 },
        { CV_SHT_PROGBITS, 0, CV_MIB }, { CV_SHT_NOBITS, 16, 128 },
    };
    cv_final_options o = ff_options(0, CV_KIND_SASS);
    uint64_t size;

    ff_load("plain.sm_100.rdc.cubin");
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    size = ff_out.span.len;
    for (size_t i = 0; i < N(ROWS); i++) {
        const cv_elf_section like = { .type = ROWS[i].type, .size = ROWS[i].size, .align = ROWS[i].align };

        ff_load("plain.sm_100.rdc.cubin");
        append(3, &like);
        ck_assert_msg(ff_run(&o) == CUVET_OK, "%zu", i);
        ck_assert_uint_eq(ff_out.span.len, size + 3 * 64);
    }
    for (unsigned bit = 21; bit < 64; bit++) { /* nobody asks for that */
        const cv_elf_section like = { .type = CV_SHT_NOBITS, .size = 16, .align = UINT64_C(1) << bit };

        ff_load("plain.sm_100.rdc.cubin");
        append(1, &like);
        ck_assert_int_ne(ff_run(&o), CUVET_OK);
        ck_assert(ff_said(CV_R_LIMIT_ALIGNMENT));
    }
}
END_TEST

/* The top byte is the number of the note, as far as there is room for it; older files have no such byte. */
START_TEST(flags)
{
    cv_cubin c = { .h = { .flags = 0x12345678 } };

    ck_assert_uint_eq(cv_final_flags(&c, CV_KIND_SASS, 103, 5), 0x05006704);
    ck_assert_uint_eq(cv_final_flags(&c, CV_KIND_CAPMERC, 0x1FFFF, 0xFE), 0xFEFFFF02);
    ck_assert_uint_eq(cv_final_flags(&c, CV_KIND_SASS, 100, 0xFF), 0xFF006404);
    ck_assert_uint_eq(cv_final_flags(&c, CV_KIND_SASS, 100, 0x123), 0xFF006404);
    c.legacy = true;
    ck_assert_uint_eq(cv_final_flags(&c, CV_KIND_SASS, 90, 5), 0x1234565A);
}
END_TEST

/* Sections that share a name share it afterwards. */
START_TEST(shared_names)
{
    cv_final_options o = ff_options(0, CV_KIND_SASS);
    cv_elf_section like = { .type = CV_SHT_PROGBITS, .align = 1 };
    uint64_t size;

    ff_load("plain.sm_100.g.rdc.cubin");
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    size = header(ff_out.span, 1).size;
    like.name = (uint32_t)ff_get(ff_section(".nv_debug_info_reg_type", NULL), 4);
    append(3, &like);
    ck_assert_int_eq(ff_run(&o), CUVET_OK);
    ck_assert_uint_eq(header(ff_out.span, 1).size, size);
}
END_TEST

/* What stays must not name what goes: sections that nobody knows, by their link and by their number. */
START_TEST(references)
{
    cv_final_options o = ff_options(0, CV_KIND_SASS);

    for (unsigned i = 0; i < 4; i++) {
        cv_elf_section like = { .type = CV_SHT_PROGBITS, .align = 1 };
        unsigned capsule, code;

        ff_load("plain.sm_100.rdc.cubin");
        ff_section(".nv.capmerc.text", &capsule);
        ff_section(".text.", &code);
        if (i < 2)
            like.link = i ? capsule : code;
        else {
            like.flags = CV_SHF_INFO_LINK;
            like.info = i == 3 ? capsule : code;
        }
        append(1, &like);
        ff_forget();
        ck_assert_int_eq(ff_run(&o), i % 2 ? CUVET_E_REFUSED : CUVET_OK);
        ck_assert_int_eq(ff_job.code, i % 2 ? CV_FINAL_TYPE : CV_FINAL_OK);
        if (i % 2) {
            const cuvet_diag *d = ff_diag(CV_R_FINAL_REFERS);

            ck_assert_uint_eq(d->got, capsule);
            ck_assert_uint_eq(d->file_off, ff.n - 64 + (i == 1 ? 40 : 44));
        }
    }
}
END_TEST

/* The file at hand again, with nothing left out. */
static void write_again(cv_block *out)
{
    cv_rewrite r = { .kind = (cv_kind)ff.bytes[48], .sm = (uint32_t)ff_get(49, 2) };
    cv_final_sink sink = { .ctx = &ff_x, .to = out, .most = UINT64_MAX };
    uint64_t extent;
    cv_cubin c;

    cv_ctx_unit(&ff_x, 64 * ff.n);
    cv_cubin_init(&c);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &c, cv_span_of(ff.bytes, ff.n, 0), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(ff_x.n_errors, 0);
    r.cubin = &c;
    ck_assert_int_eq(cv_rewrite_plan(&ff_x, &r), CUVET_OK);
    ck_assert_int_eq(cv_rewrite_write(&ff_x, &r, &sink), CUVET_OK);
    cv_rewrite_free(&ff_x, &r);
    cv_cubin_free(&ff_x, &c);
    cv_islands_drop();
}

/* Nothing is left out: the same contents, the same sharing between twins, at most smaller gaps. */
START_TEST(same_again)
{
    static const char *const NAMES[] = { "plain.sm_100.cubin",       "plain.sm_100.g.rdc.cubin",
                                         "plain.sm_110.rdc.cubin",   "vars.sm_100.cubin",
                                         "vars.sm_100.linked.cubin", "indirect.sm_100.rdc.cubin",
                                         "plain.sm_90.g.cubin" };
    cv_span was = cv_span_of(ff.bytes, 0, 0);
    cv_block out = { 0 }, again = { 0 };
    unsigned shared = 0, pairs = 0;

    ff_load(NAMES[_i]);
    was.len = ff.n;
    write_again(&out);
    ck_assert_uint_le(out.span.len, ff.n);
    for (uint64_t i = 1; i < ff_get(60, 2); i++) {
        cv_elf_section a = header(was, i), b = header(out.span, i);

        if (b.size == a.size && !cv_elf_type_exempt(a.type))
            ck_assert_mem_eq(ff.bytes + a.off, cv_span_tail(out.span, b.off).base, a.size);
        a.off = b.off = 0;
        ck_assert_mem_eq(&a, &b, sizeof(a));
        for (uint64_t k = 1; k < i; k++) {
            cv_elf_section c = header(was, k);

            if (a.size == 0 || c.size == 0 || cv_elf_type_exempt(a.type) || cv_elf_type_exempt(c.type))
                continue;
            shared = header(was, i).off == c.off;
            pairs += shared;
            ck_assert_int_eq(header(out.span, i).off == header(out.span, k).off, shared);
        }
    }
    ck_assert_int_eq(pairs != 0, strstr(NAMES[_i], ".g.rdc") || strstr(NAMES[_i], "vars") ||
                                     strstr(NAMES[_i], "indirect"));
    ff.n = out.span.len;
    cv_span_copy(out.span, ff.bytes);
    write_again(&again);
    ck_assert(cv_span_eq(again.span, out.span));
    cv_block_free(&ff_x, &again);
    cv_block_free(&ff_x, &out);
}
END_TEST

/* A section that shares its bytes gets others: its twin keeps them. */
START_TEST(new_contents)
{
    cv_final_body body = { 0 };
    cv_final_bodies bodies = { 0 };
    cv_block out = { 0 };
    cv_rewrite r = { .kind = CV_KIND_CAPMERC, .sm = 100, .bodies = &bodies };
    cv_final_sink sink = { .ctx = &ff_x, .to = &out, .most = UINT64_MAX };
    uint64_t extent, twin, size;
    cv_span old;
    cv_cubin c;

    ff_load("plain.sm_100.g.rdc.cubin");
    cv_ctx_unit(&ff_x, 64 * ff.n);
    cv_cubin_init(&c);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &c, cv_span_of(ff.bytes, ff.n, 0), NULL, &extent), CUVET_OK);
    r.cubin = &c;
    ff_section(".debug_abbrev", &body.section);
    twin = ff_body(".nv.merc.debug_abbrev");
    size = ff_get(ff_section(".debug_abbrev", NULL) + 32, 8);
    ck_assert_uint_eq(twin, ff_body(".debug_abbrev"));
    old = cv_span_of(ff.bytes + twin, size, 0);
    cv_builder_init(&body.bytes, &ff_x.mem);
    for (uint64_t i = 0; i < size; i++)
        cv_put_u8(&body.bytes, (uint8_t)~cv_u8_at(old, i));
    ck_assert(cv_final_bodies_push(&ff_x.mem, &bodies, body));
    ck_assert_int_eq(cv_rewrite_plan(&ff_x, &r), CUVET_OK);
    ck_assert_int_eq(cv_rewrite_write(&ff_x, &r, &sink), CUVET_OK);
    ck_assert_uint_ge(out.span.len, ff.n + size);
    ck_assert(cv_span_eq(cv_cubin_body(&c, body.section), old)); /* ff is still the old file */
    ff.n = out.span.len;
    twin = 0;
    cv_span_copy(out.span, ff.bytes);
    for (uint64_t i = 0; i < size; i++)
        twin += (uint8_t)(ff.bytes[ff_body(".debug_abbrev") + i] ^
                          ff.bytes[ff_body(".nv.merc.debug_abbrev") + i]) == 0xFF;
    ck_assert_uint_eq(twin, size);
    cv_builder_free(&cv_final_bodies_at(&bodies, 0)->bytes);
    cv_final_bodies_free(&ff_x.mem, &bodies);
    cv_rewrite_free(&ff_x, &r);
    cv_cubin_free(&ff_x, &c);
    cv_block_free(&ff_x, &out);
    cv_islands_drop();
}
END_TEST

/* A linker that was here has left its name. */
START_TEST(linkers)
{
    static const struct {
        const char *tool;
        bool linked;
    } TOOLS[] = { { "nvlink", true },  { "nvJIT API", true }, { "cuvet", true },
                  { "cuvet2", false }, { "ptxas", false },    { "nvJIT", false } };

    for (size_t i = 0; i < N(TOOLS); i++) {
        cv_final_options o = ff_options(103, CV_KIND_NONE);
        size_t at;

        ff_load("plain.sm_100.rdc.cubin");
        o.tool = cv_span_of(TOOLS[i].tool, strlen(TOOLS[i].tool), 0);
        ck_assert_int_eq(ff_run(&o), CUVET_OK);
        ck_assert(!ff_job.linked);
        ff.n = ff_out.span.len;
        cv_span_copy(ff_out.span, ff.bytes);
        o.tool.len = 0;
        ck_assert_int_eq(ff_run(&o), CUVET_OK);
        ck_assert_msg(ff_job.linked == TOOLS[i].linked, "%s", TOOLS[i].tool);
        /* a note of a version that nobody knows says nothing */
        at = ff_body(".note.nv.tkinfo");
        at += (24 + ff_get(at + 4, 4) + 3) & ~(size_t)3;
        ck_assert_uint_eq(ff_get(at + 24, 4), 2);
        ff_put(at + 24, 4, 3);
        ck_assert_int_eq(ff_run(&o), CUVET_OK);
        ck_assert(!ff_job.linked);
    }
}
END_TEST

/* Backends of the library take files by the conventions only. */
START_TEST(conventions)
{
    cv_backend_req q = { .in_kind = CV_KIND_CAPMERC, .out_kind = CV_KIND_SASS, .src_sm = 100, .dst_sm = 100 };
    cv_cubin c = { .conv = true, .abi8 = true };
    uint32_t cost = 0;

    q.cubin = &c;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &q, &cost), CV_FINAL_OK);
    c.conv = false;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &q, &cost), CV_FINAL_NO_BACKEND);
    c.conv = true;
    c.abi8 = false;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &q, &cost), CV_FINAL_NO_BACKEND);
    q.out_kind = CV_KIND_CAPMERC;
    ck_assert_int_eq(cv_backend_copy.probe(NULL, &q, &cost), CV_FINAL_OK);
    c.conv = false;
    ck_assert_int_eq(cv_backend_copy.probe(NULL, &q, &cost), CV_FINAL_NO_BACKEND);
}
END_TEST

static void *no_block(void *user, size_t n)
{
    (void)user;
    (void)n;
    return NULL;
}

/* Nothing to write into: memory, or a limit, by its own code. */
START_TEST(no_room)
{
    static const cv_backend *const BACKENDS[] = { &cv_backend_copy, &cv_backend_strip };
    uint64_t extent;
    cv_cubin c;

    ff_load("plain.sm_100.cubin");
    cv_ctx_unit(&ff_x, 64 * ff.n);
    cv_cubin_init(&c);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &c, cv_span_of(ff.bytes, ff.n, 0), NULL, &extent), CUVET_OK);
    for (unsigned i = 0; i < 4; i++) {
        const cv_backend_req q = { .in = cv_span_of(ff.bytes, ff.n, 0),
                                   .cubin = &c,
                                   .in_kind = CV_KIND_CAPMERC,
                                   .out_kind = i & 1 ? CV_KIND_SASS : CV_KIND_CAPMERC,
                                   .src_sm = 100,
                                   .dst_sm = 100 };
        cv_block out = { 0 };
        cv_final_sink sink = { .ctx = &ff_x, .to = &out, .most = i < 2 ? 100 : UINT64_MAX };
        void *(*before)(void *, size_t) = ff_x.mem.alloc.alloc;
        cv_backend_out said = { 0 };
        cuvet_status s;

        if (i >= 2)
            ff_x.mem.alloc.alloc = no_block;
        s = BACKENDS[i & 1]->run(NULL, &ff_x, &q, &sink, &said);
        ff_x.mem.alloc.alloc = before;
        ck_assert_int_eq(s, i < 2 ? CUVET_E_LIMIT : CUVET_E_NOMEM);
        ck_assert_int_eq(said.code, i < 2 ? CV_FINAL_LIMIT : CV_FINAL_MEMORY);
        ck_assert(i >= 2 || ff_said(CV_R_FINAL_OUTPUT_LIMIT));
        cv_block_free(&ff_x, &out);
    }
    cv_cubin_free(&ff_x, &c);
    cv_islands_drop();
}
END_TEST

Suite *suite_writer(void);
Suite *suite_writer(void)
{
    Suite *s = suite_create("finalize/writer");
    TCase *c = tcase_create("writer");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, ff_setup, ff_teardown);
    tcase_add_test(c, same_names);
    tcase_add_test(c, padding_has_an_end);
    tcase_add_test(c, empty_sections);
    tcase_add_test(c, flags);
    tcase_add_test(c, no_room);
    tcase_add_test(c, references);
    tcase_add_loop_test(c, same_again, 0, 7);
    tcase_add_test(c, new_contents);
    tcase_add_test(c, linkers);
    tcase_add_test(c, conventions);
    tcase_add_test(c, shared_names);
    suite_add_tcase(s, c);
    return s;
}
