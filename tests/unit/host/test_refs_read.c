/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is read of host objects before a link: the names of their modules, which kernels they refer to, and
 * where in a file they are. */
#include <check.h>

#include "host/refs.h"
#include "support/heap.h"
#include "unit/host/host_image.h"

static cv_hosts hosts;
static cv_host_shelf shelf;

static void begin(void)
{
    start();
    cv_hosts_init(&hosts, 1, 2);
    shelf = (cv_host_shelf){ .mem = &ctx.mem };
}

static void end(void)
{
    cv_host_shelf_free(&shelf);
    cv_hosts_free(&ctx.mem, &hosts);
    done();
}

static cuvet_status read_object(uint64_t off, uint64_t size)
{
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(cuvet_source_memory(file, off + size, &src), CUVET_OK);
    return cv_hosts_read_object(&ctx, &hosts, &src, cv_span_of(file, off + size, 0), off, size, &shelf);
}

/* The object with other texts in it, of as many bytes as there are. */
static void make_texts(const char *module, const char *refs)
{
    make_object();
    memset(img + MODULE_ID, 0, 32);
    memcpy(img + MODULE_ID, module, strlen(module));
    memcpy(img + REFS, refs, strlen(refs));
    put(SH(S_MODULE, SIZ), 8, strlen(module) + 1);
    put(SH(S_REFS, SIZ), 8, strlen(refs) + 1);
}

static const struct {
    const char *module;
    bool good;
} MODULES[] = {
    { "_", true },      { "0", true },       { "9", true },      { "A", true },     { "Z", true },
    { "a", true },      { "z", true },       { "x_1B", true },   { "/", false },    { ":", false },
    { "@", false },     { "[", false },      { "^", false },     { "`", false },    { "{", false },
    { "a b", false },   { "a;", false },     { "\x7F", false },  { "def ", false }, { "def a-", false },
    { "def aZ", true }, { "def  a", false }, { "define", true }, { "a\"", false },  { "\\a", false },
};

/* They become part of a C program: nothing else than names of one. */
START_TEST(module_names)
{
    cuvet_status status;

    begin();
    make_texts(MODULES[_i].module, "_Z1k*");
    status = read_object(BASE, SIZE);
    ck_assert_msg((status == CUVET_OK) == MODULES[_i].good, "%s", MODULES[_i].module);
    ck_assert((ctx.seen[CV_R_LINK_MODULE] + ctx.seen[CV_R_HOST_TEXT_BYTE] == 0) == MODULES[_i].good);
    end();
}
END_TEST

/* Does it say what its host code refers to? A list of variables says so as well, and names no kernel. */
START_TEST(lists)
{
    static const struct {
        const char *section;
        bool lists;
        uint64_t refs;
    } ROWS[] = { { ".nvHRKE", true, 1 }, { ".nvHRDE", true, 0 }, { ".nvHR?E", false, 0 } };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        begin();
        make_texts("m", "_Z1k*");
        memcpy(img + NAMES + name_of(".nvHRKE"), ROWS[i].section, 7);
        ck_assert_int_eq(read_object(BASE, SIZE), CUVET_OK);
        ck_assert_uint_eq(hosts.host.count, 1);
        ck_assert(cv_lhosts_at(&hosts.host, 0)->lists == ROWS[i].lists);
        ck_assert_uint_eq(cv_lhosts_at(&hosts.host, 0)->n_refs, ROWS[i].refs);
        ck_assert_uint_eq(hosts.used.count, ROWS[i].refs);
        end();
    }
}
END_TEST

/* Made by a device link: it names modules that are linked, and holds nothing that can be. */
START_TEST(finished)
{
    for (int i = 0; i < 4; i++) {
        begin();
        make_texts(i & 1 ? "def m" : "m", "");
        if (i & 2) {
            put(SH(S_FATBIN, NAME), 4, name_of(".a_name_that_is_longer_than_all_of_interest"));
            memcpy(img + NAMES + name_of(".a_name_that_is_longer_than_all_of_interest"), "__nv_relfatbin",
                   15);
        }
        ck_assert_int_eq(read_object(BASE, SIZE), CUVET_OK);
        ck_assert(cv_hosts_is_finished(&hosts, 0) == (i == 1));
        end();
    }
}
END_TEST

/* Modules that are linked already: named so by another object, whichever is read first. */
START_TEST(linked)
{
    static const struct {
        const char *modules[3];
        bool linked;
    } ROWS[] = {
        { { "def a", "a", NULL }, true },      { { "a", "def a", NULL }, true },
        { { "a", "def b", NULL }, false },     { { "def b", "a", "def c" }, false },
        { { "a", "def c", "def b" }, false },  { { "a", "b", NULL }, false },
        { { "def a", "def b", NULL }, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_id index = ROWS[i].modules[0][0] == 'd' ? 1 : 0;

        begin();
        for (int k = 0; k < 3 && ROWS[i].modules[k]; k++) {
            make_texts(ROWS[i].modules[k], "");
            ck_assert_int_eq(read_object(BASE, SIZE), CUVET_OK);
        }
        ck_assert_msg(cv_hosts_is_linked(&hosts, index) == ROWS[i].linked, "row %u", (unsigned)i);
        end();
    }
}
END_TEST

/* No host object: too short to be one, something else, device code. */
START_TEST(left_alone)
{
    for (int i = 0; i < 4; i++) {
        begin();
        make_object();
        if (i == 1)
            put(0, 4, 0);
        if (i == 2)
            put(18, 2, 190);
        ck_assert_int_eq(read_object(BASE, i == 0 ? 3 : SIZE), CUVET_OK);
        ck_assert_uint_eq(hosts.host.count, i == 3);
        ck_assert_uint_eq(n_diags, 0);
        end();
    }
}
END_TEST

/* Each time that memory is asked for. */
START_TEST(no_room)
{
    cuvet_status status = CUVET_E_NOMEM;

    for (unsigned count = 1; status != CUVET_OK; count++) {
        heap_state heap = { 0 };

        begin();
        ctx.mem.alloc = heap_alloc(&heap);
        make_texts("def m", "k*");
        heap_fail(&heap, count, _i != 0);
        status = read_object(BASE, SIZE);
        ck_assert(status == CUVET_OK || (status == CUVET_E_NOMEM && heap.failed > 0));
        end();
        ck_assert_int_eq(heap.live, 0);
        ck_assert_uint_lt(count, 100);
    }
}
END_TEST

/* Members one behind the other, with room between them; the one in the middle has no name. */
START_TEST(members)
{
    static const struct {
        uint64_t off;
        char name; /* 0: none */
    } ROWS[] = { { 9, 0 },    { 10, 'a' }, { 19, 'a' }, { 20, 0 }, { 29, 0 },   { 30, 0 },   { 39, 0 },
                 { 40, 'b' }, { 49, 'b' }, { 50, 0 },   { 59, 0 }, { 60, 'c' }, { 69, 'c' }, { 70, 0 } };
    cv_span name;

    begin();
    ck_assert_int_eq(cv_hosts_point_out(&ctx, &hosts, 10, 20, cv_span_of("a", 1, 0)), CUVET_OK);
    ck_assert_int_eq(cv_hosts_point_out(&ctx, &hosts, 30, 40, cv_span_of("", 0, 0)), CUVET_OK);
    ck_assert_int_eq(cv_hosts_point_out(&ctx, &hosts, 40, 50, cv_span_of("b", 1, 0)), CUVET_OK);
    ck_assert_int_eq(cv_hosts_point_out(&ctx, &hosts, 60, 70, cv_span_of("c", 1, 0)), CUVET_OK);
    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        ck_assert_msg(cv_hosts_member_at(&hosts, ROWS[i].off, &name) == (ROWS[i].name != 0), "%u",
                      (unsigned)ROWS[i].off);
        if (ROWS[i].name)
            ck_assert(name.len == 1 && cv_u8_at(name, 0) == (uint8_t)ROWS[i].name);
    }
    end();
}
END_TEST

/* ---- what was read before ---- */

/* A host is kept once, where there is room for it, and given back for what it cost. */
START_TEST(kept)
{
    cv_mem narrow;
    cv_host again = { 0 };

    cv_mem_init(&narrow, NULL, 1);
    begin();
    make_object();
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    shelf.mem = &narrow; /* no room for the entry */
    cv_host_keep(&shelf, &ctx, &host);
    ck_assert(shelf.list.count == 0 && host.sections.count == 4);
    narrow.limit = 16 * sizeof(cv_known); /* nor for what the host holds */
    cv_host_put_kind(&shelf, BASE, CUVET_K_HOST_ELF);
    narrow.limit = narrow.live;
    cv_host_keep(&shelf, &ctx, &host);
    ck_assert(shelf.list.count == 1 && host.sections.count == 4);
    narrow.limit = CV_MIB;
    cv_host_keep(&shelf, &ctx, &host);
    ck_assert_uint_eq(host.sections.count, 0);
    ck_assert_int_eq(cv_host_kind_at(&shelf, BASE), CUVET_K_HOST_ELF);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    cv_host_keep(&shelf, &ctx, &host); /* one is there */
    ck_assert_uint_eq(host.sections.count, 4);
    ck_assert(!cv_host_take(&shelf, &ctx, BASE - 1, &again));
    cv_ctx_set_work(&ctx, host.work - 1); /* too dear: nobody is told of a limit */
    ck_assert(!cv_host_take(&shelf, &ctx, BASE, &again));
    ck_assert_uint_eq(n_diags, 0);
    ctx.cancel = &(const int){ 1 };
    ctx.work_left = 0;
    ctx.work_rest = host.work;
    ck_assert(!cv_host_take(&shelf, &ctx, BASE, &again)); /* the user has enough of it */
    ctx.cancel = NULL;
    cv_ctx_set_work(&ctx, host.work);
    ctx.mem.limit = ctx.mem.live;
    ck_assert(!cv_host_take(&shelf, &ctx, BASE, &again));
    ctx.mem.limit = UINT64_MAX;
    cv_ctx_set_work(&ctx, host.work);
    ck_assert(cv_host_take(&shelf, &ctx, BASE, &again));
    ck_assert_uint_eq(again.sections.count, 4);
    ck_assert_uint_eq(cv_ctx_work(&ctx), 0);
    cv_host_free(&ctx, &again);
    ck_assert(!cv_host_take(&shelf, &ctx, BASE, &again)); /* it is gone */
    ck_assert(!cv_host_take(&shelf, &ctx, BASE + 1, &again));
    end();
    ck_assert_uint_eq(narrow.live, 0);
}
END_TEST

/* So many, and what lies behind them is read again. */
START_TEST(kept_at_most)
{
    begin();
    for (uint64_t i = 0; i <= CV_HOST_SHELF_MAX; i++)
        cv_host_put_kind(&shelf, i * 64, CUVET_K_HOST_ELF);
    ck_assert_uint_eq(shelf.list.count, CV_HOST_SHELF_MAX);
    ck_assert_int_eq(cv_host_kind_at(&shelf, (CV_HOST_SHELF_MAX - 1) * 64), CUVET_K_HOST_ELF);
    ck_assert_int_eq(cv_host_kind_at(&shelf, CV_HOST_SHELF_MAX * 64), CUVET_K_NONE);
    end();
}
END_TEST

Suite *suite_refs_read(void);
Suite *suite_refs_read(void)
{
    Suite *suite = suite_create("host/refs_read");
    TCase *tcase = tcase_create("refs_read");

    tcase_add_loop_test(tcase, module_names, 0, (int)CV_COUNT(MODULES));
    tcase_add_test(tcase, lists);
    tcase_add_test(tcase, finished);
    tcase_add_test(tcase, linked);
    tcase_add_test(tcase, left_alone);
    tcase_add_loop_test(tcase, no_room, 0, 2);
    tcase_add_test(tcase, members);
    tcase_add_test(tcase, kept);
    tcase_add_test(tcase, kept_at_most);
    suite_add_tcase(suite, tcase);
    return suite;
}
