/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that nobody writes: sections by the thousand with one name, and sections without bytes that claim
 * alignments or places of others. The result is no larger for it, and no dearer. */
#include "fixture.h"

#include "finalize/rewrite.h"
#include "format/elf/write.h"

/* n more sections behind the others of a file whose table is its end. Their name is empty: that of nobody. */
static void append(unsigned count, const cv_elf_section *like)
{
    size_t table = ff_get(40, 8), old = ff_get(60, 2);
    cv_builder builder;

    ck_assert_uint_eq(ff.size, table + 64 * old);
    ck_assert_uint_le(ff.size + 64 * (size_t)count, sizeof(ff.bytes));
    cv_builder_init(&builder, &ff_x.mem);
    for (unsigned i = 0; i < count; i++)
        cv_elf_write_section(&builder, false, like);
    ck_assert(!builder.failed);
    cv_span_copy(cv_builder_span(&builder), ff.bytes + ff.size);
    ff.size += cv_builder_span(&builder).len;
    cv_builder_free(&builder);
    ff_put(60, 2, old + count);
}

static cv_elf_section header(cv_span file, uint64_t index)
{
    cv_elf_section header;

    cv_elf_read_section(cv_span_tail(file, cv_u64_at(file, 40)), false, index, &header);
    return header;
}

START_TEST(same_names)
{
    cv_final_options options = ff_options(0, CV_KIND_SASS);
    const cv_elf_section like = { .type = CV_SHT_PROGBITS, .align = 1 };
    uint64_t plain, many, count = 10000;

    ff_load("plain.sm_100.rdc.cubin");
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    cv_ctx_unit(&ff_x, 4 * ff.size);
    plain = cv_ctx_work(&ff_x);
    append((unsigned)count, &like);
    cv_ctx_unit(&ff_x, 4 * ff.size);
    many = cv_ctx_work(&ff_x);
    ck_assert_uint_gt(many, plain);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_uint_lt(many - cv_ctx_work(&ff_x), 200 * count); /* pairs would be n * n / 2 */
}
END_TEST

/* Sections with bytes, each aligned to a megabyte: what lies between them would be the file. */
START_TEST(padding_has_an_end)
{
    static const struct {
        unsigned count;
        cuvet_status status;
    } ROWS[] = { { 1, CUVET_OK }, { 3, CUVET_E_LIMIT }, { 60, CUVET_E_LIMIT } };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_rewrite rewrite = { .sm = 100 };
        uint64_t extent;
        cv_cubin cubin;

        ff_load("plain.sm_100.rdc.cubin");
        for (unsigned k = 0; k < ROWS[i].count; k++) {
            const cv_elf_section like = {
                .type = CV_SHT_PROGBITS, .align = CV_MIB, .off = 64 + 8 * k, .size = 8
            };

            append(1, &like);
        }
        rewrite.kind = (cv_kind)ff.bytes[48];
        ff_forget();
        cv_ctx_unit(&ff_x, 64 * ff.size);
        cv_cubin_init(&cubin);
        ck_assert_int_eq(cv_cubin_examine(&ff_x, &cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                         CUVET_OK);
        rewrite.cubin = &cubin;
        ck_assert_int_eq(cv_rewrite_plan(&ff_x, &rewrite), ROWS[i].status);
        ck_assert_int_eq(ff_said(CV_R_LIMIT_PADDING), ROWS[i].status != CUVET_OK);
        cv_rewrite_free(&ff_x, &rewrite);
        cv_cubin_free(&ff_x, &cubin);
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
    cv_final_options options = ff_options(0, CV_KIND_SASS);
    uint64_t size;

    ff_load("plain.sm_100.rdc.cubin");
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    size = ff_out.span.len;
    for (size_t i = 0; i < N(ROWS); i++) {
        const cv_elf_section like = { .type = ROWS[i].type, .size = ROWS[i].size, .align = ROWS[i].align };

        ff_load("plain.sm_100.rdc.cubin");
        append(3, &like);
        ck_assert_msg(ff_run(&options) == CUVET_OK, "%zu", i);
        ck_assert_uint_eq(ff_out.span.len, size + 3 * 64);
    }
    for (unsigned bit = 21; bit < 64; bit++) { /* nobody asks for that */
        const cv_elf_section like = { .type = CV_SHT_NOBITS, .size = 16, .align = UINT64_C(1) << bit };

        ff_load("plain.sm_100.rdc.cubin");
        append(1, &like);
        ck_assert_int_ne(ff_run(&options), CUVET_OK);
        ck_assert(ff_said(CV_R_LIMIT_ALIGNMENT));
    }
}
END_TEST

/* The top byte is the number of the note, as far as there is room for it; older files have no such byte. */
START_TEST(flags)
{
    cv_cubin cubin = { .header = { .flags = 0x12345678 } };

    ck_assert_uint_eq(cv_final_flags(&cubin, CV_KIND_SASS, 103, 5), 0x05006704);
    ck_assert_uint_eq(cv_final_flags(&cubin, CV_KIND_CAPMERC, 0x1FFFF, 0xFE), 0xFEFFFF02);
    ck_assert_uint_eq(cv_final_flags(&cubin, CV_KIND_SASS, 100, 0xFF), 0xFF006404);
    ck_assert_uint_eq(cv_final_flags(&cubin, CV_KIND_SASS, 100, 0x123), 0xFF006404);
    cubin.legacy = true;
    ck_assert_uint_eq(cv_final_flags(&cubin, CV_KIND_SASS, 90, 5), 0x1234565A);
}
END_TEST

/* Sections that share a name share it afterwards. */
START_TEST(shared_names)
{
    cv_final_options options = ff_options(0, CV_KIND_SASS);
    cv_elf_section like = { .type = CV_SHT_PROGBITS, .align = 1 };
    uint64_t size;

    ff_load("plain.sm_100.g.rdc.cubin");
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    size = header(ff_out.span, 1).size;
    like.name = (uint32_t)ff_get(ff_section(".nv_debug_info_reg_type", NULL), 4);
    append(3, &like);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_uint_eq(header(ff_out.span, 1).size, size);
}
END_TEST

/* What stays must not name what goes: sections that nobody knows, by their link and by their number. */
START_TEST(references)
{
    cv_final_options options = ff_options(0, CV_KIND_SASS);

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
        ck_assert_int_eq(ff_run(&options), i % 2 ? CUVET_E_REFUSED : CUVET_OK);
        ck_assert_int_eq(ff_job.code, i % 2 ? CV_FINAL_TYPE : CV_FINAL_OK);
        if (i % 2) {
            const cuvet_diag *diag = ff_diag(CV_R_FINAL_REFERS);

            ck_assert_uint_eq(diag->got, capsule);
            ck_assert_uint_eq(diag->file_off, ff.size - 64 + (i == 1 ? 40 : 44));
        }
    }
}
END_TEST

/* The file at hand again, with nothing left out. */
static void write_again(cv_block *out)
{
    cv_rewrite rewrite = { .kind = (cv_kind)ff.bytes[48], .sm = (uint32_t)ff_get(49, 2) };
    cv_final_sink sink = { .ctx = &ff_x, .to = out, .most = UINT64_MAX };
    uint64_t extent;
    cv_cubin cubin;

    cv_ctx_unit(&ff_x, 64 * ff.size);
    cv_cubin_init(&cubin);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                     CUVET_OK);
    ck_assert_uint_eq(ff_x.n_errors, 0);
    rewrite.cubin = &cubin;
    ck_assert_int_eq(cv_rewrite_plan(&ff_x, &rewrite), CUVET_OK);
    ck_assert_int_eq(cv_rewrite_write(&ff_x, &rewrite, &sink), CUVET_OK);
    cv_rewrite_free(&ff_x, &rewrite);
    cv_cubin_free(&ff_x, &cubin);
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
    was.len = ff.size;
    write_again(&out);
    ck_assert_uint_le(out.span.len, ff.size);
    for (uint64_t i = 1; i < ff_get(60, 2); i++) {
        cv_elf_section left = header(was, i), right = header(out.span, i);

        if (right.size == left.size && !cv_elf_type_exempt(left.type))
            ck_assert_mem_eq(ff.bytes + left.off, cv_span_tail(out.span, right.off).base, left.size);
        left.off = right.off = 0;
        ck_assert_mem_eq(&left, &right, sizeof(left));
        for (uint64_t k = 1; k < i; k++) {
            cv_elf_section head = header(was, k);

            if (left.size == 0 || head.size == 0 || cv_elf_type_exempt(left.type) ||
                cv_elf_type_exempt(head.type))
                continue;
            shared = header(was, i).off == head.off;
            pairs += shared;
            ck_assert_int_eq(header(out.span, i).off == header(out.span, k).off, shared);
        }
    }
    ck_assert_int_eq(pairs != 0, strstr(NAMES[_i], ".g.rdc") || strstr(NAMES[_i], "vars") ||
                                     strstr(NAMES[_i], "indirect"));
    ff.size = out.span.len;
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
    cv_rewrite rewrite = { .kind = CV_KIND_CAPMERC, .sm = 100, .bodies = &bodies };
    cv_final_sink sink = { .ctx = &ff_x, .to = &out, .most = UINT64_MAX };
    uint64_t extent, twin, size;
    cv_span old;
    cv_cubin cubin;

    ff_load("plain.sm_100.g.rdc.cubin");
    cv_ctx_unit(&ff_x, 64 * ff.size);
    cv_cubin_init(&cubin);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                     CUVET_OK);
    rewrite.cubin = &cubin;
    ff_section(".debug_abbrev", &body.section);
    twin = ff_body(".nv.merc.debug_abbrev");
    size = ff_get(ff_section(".debug_abbrev", NULL) + 32, 8);
    ck_assert_uint_eq(twin, ff_body(".debug_abbrev"));
    old = cv_span_of(ff.bytes + twin, size, 0);
    cv_builder_init(&body.bytes, &ff_x.mem);
    for (uint64_t i = 0; i < size; i++)
        cv_put_u8(&body.bytes, (uint8_t)~cv_u8_at(old, i));
    ck_assert(cv_final_bodies_push(&ff_x.mem, &bodies, body));
    ck_assert_int_eq(cv_rewrite_plan(&ff_x, &rewrite), CUVET_OK);
    ck_assert_int_eq(cv_rewrite_write(&ff_x, &rewrite, &sink), CUVET_OK);
    ck_assert_uint_ge(out.span.len, ff.size + size);
    ck_assert(cv_span_eq(cv_cubin_body(&cubin, body.section), old)); /* ff is still the old file */
    ff.size = out.span.len;
    twin = 0;
    cv_span_copy(out.span, ff.bytes);
    for (uint64_t i = 0; i < size; i++)
        twin += (uint8_t)(ff.bytes[ff_body(".debug_abbrev") + i] ^
                          ff.bytes[ff_body(".nv.merc.debug_abbrev") + i]) == 0xFF;
    ck_assert_uint_eq(twin, size);
    cv_builder_free(&cv_final_bodies_at(&bodies, 0)->bytes);
    cv_final_bodies_free(&ff_x.mem, &bodies);
    cv_rewrite_free(&ff_x, &rewrite);
    cv_cubin_free(&ff_x, &cubin);
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
        cv_final_options options = ff_options(103, CV_KIND_NONE);
        size_t at;

        ff_load("plain.sm_100.rdc.cubin");
        options.tool = cv_span_of(TOOLS[i].tool, strlen(TOOLS[i].tool), 0);
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        ck_assert(!ff_job.linked);
        ff.size = ff_out.span.len;
        cv_span_copy(ff_out.span, ff.bytes);
        options.tool.len = 0;
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        ck_assert_msg(ff_job.linked == TOOLS[i].linked, "%s", TOOLS[i].tool);
        /* a note of a version that nobody knows says nothing */
        at = ff_body(".note.nv.tkinfo");
        at += (24 + ff_get(at + 4, 4) + 3) & ~(size_t)3;
        ck_assert_uint_eq(ff_get(at + 24, 4), 2);
        ff_put(at + 24, 4, 3);
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        ck_assert(!ff_job.linked);
    }
}
END_TEST

/* Backends of the library take files by the conventions only. */
START_TEST(conventions)
{
    cv_backend_req req = {
        .in_kind = CV_KIND_CAPMERC, .out_kind = CV_KIND_SASS, .src_sm = 100, .dst_sm = 100
    };
    cv_cubin cubin = { .conv = true, .abi8 = true };
    uint32_t cost = 0;

    req.cubin = &cubin;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &req, &cost), CV_FINAL_OK);
    cubin.conv = false;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &req, &cost), CV_FINAL_NO_BACKEND);
    cubin.conv = true;
    cubin.abi8 = false;
    ck_assert_int_eq(cv_backend_strip.probe(NULL, &req, &cost), CV_FINAL_NO_BACKEND);
    req.out_kind = CV_KIND_CAPMERC;
    ck_assert_int_eq(cv_backend_copy.probe(NULL, &req, &cost), CV_FINAL_OK);
    cubin.conv = false;
    ck_assert_int_eq(cv_backend_copy.probe(NULL, &req, &cost), CV_FINAL_NO_BACKEND);
}
END_TEST

static void *no_block(void *user, size_t size)
{
    (void)user;
    (void)size;
    return NULL;
}

/* Nothing to write into: memory, or a limit, by its own code. */
START_TEST(no_room)
{
    static const cv_backend *const BACKENDS[] = { &cv_backend_copy, &cv_backend_strip };
    uint64_t extent;
    cv_cubin cubin;

    ff_load("plain.sm_100.cubin");
    cv_ctx_unit(&ff_x, 64 * ff.size);
    cv_cubin_init(&cubin);
    ck_assert_int_eq(cv_cubin_examine(&ff_x, &cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent),
                     CUVET_OK);
    for (unsigned i = 0; i < 4; i++) {
        const cv_backend_req req = { .in = cv_span_of(ff.bytes, ff.size, 0),
                                     .cubin = &cubin,
                                     .in_kind = CV_KIND_CAPMERC,
                                     .out_kind = i & 1 ? CV_KIND_SASS : CV_KIND_CAPMERC,
                                     .src_sm = 100,
                                     .dst_sm = 100 };
        cv_block out = { 0 };
        cv_final_sink sink = { .ctx = &ff_x, .to = &out, .most = i < 2 ? 100 : UINT64_MAX };
        void *(*before)(void *, size_t) = ff_x.mem.alloc.alloc;
        cv_backend_out said = { 0 };
        cuvet_status status;

        if (i >= 2)
            ff_x.mem.alloc.alloc = no_block;
        status = BACKENDS[i & 1]->run(NULL, &ff_x, &req, &sink, &said);
        ff_x.mem.alloc.alloc = before;
        ck_assert_int_eq(status, i < 2 ? CUVET_E_LIMIT : CUVET_E_NOMEM);
        ck_assert_int_eq(said.code, i < 2 ? CV_FINAL_LIMIT : CV_FINAL_MEMORY);
        ck_assert(i >= 2 || ff_said(CV_R_FINAL_OUTPUT_LIMIT));
        cv_block_free(&ff_x, &out);
    }
    cv_cubin_free(&ff_x, &cubin);
    cv_islands_drop();
}
END_TEST

Suite *suite_writer(void);
Suite *suite_writer(void)
{
    Suite *suite = suite_create("finalize/writer");
    TCase *tcase = tcase_create("writer");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_test(tcase, same_names);
    tcase_add_test(tcase, padding_has_an_end);
    tcase_add_test(tcase, empty_sections);
    tcase_add_test(tcase, flags);
    tcase_add_test(tcase, no_room);
    tcase_add_test(tcase, references);
    tcase_add_loop_test(tcase, same_again, 0, 7);
    tcase_add_test(tcase, new_contents);
    tcase_add_test(tcase, linkers);
    tcase_add_test(tcase, conventions);
    tcase_add_test(tcase, shared_names);
    suite_add_tcase(suite, tcase);
    return suite;
}
