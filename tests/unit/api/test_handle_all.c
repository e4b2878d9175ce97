/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every call that takes a handle, of whatever kind, against every way to misuse one: a table, and the table
 * of the interface (src/api/abi.tsv) says whether a call is missing in it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "api/ctx.h"
#include "support/fatbins.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* ---- arguments that are in order ---- */

static struct {
    cuvet_item item;
    cuvet_summary sum;
    cuvet_elf_header header;
    cuvet_elf_section section;
    cuvet_elf_segment segment;
    cuvet_elf_symbol symbol;
    cuvet_elf_reloc reloc;
    cuvet_candidate candidate;
    cuvet_select_result selected;
    cuvet_select_state state;
    cuvet_link_result linked;
    cuvet_event event;
    cuvet_final_result final;
    cuvet_final_explanation why;
    cuvet_finding finding;
    cuvet_image_info info;
    cuvet_diag diag;
    cuvet_image image;
    cuvet_source src;
    cuvet_bytes bytes;
    const void *block;
    const char *text;
    uint64_t number;
    size_t size;
} a;

static int on_function(void *user, uint64_t number, const cuvet_link_function *fn)
{
    (void)user;
    return number == 0 || !fn;
}

static int on_call(void *user, uint64_t from, uint64_t to)
{
    (void)user;
    return from == to;
}

static int on_bytes(void *user, const void *bytes, size_t size)
{
    (void)user;
    return !bytes || !size;
}

static const cuvet_callgraph_sink TELL = {
    .size = sizeof(TELL), .function = on_function, .call = on_call, .raised = on_call
};
static const cuvet_link_sink TAKE = { .size = sizeof(TAKE), .write = on_bytes };

/* What of these is filled by a call, and says its size. */
#define OUTPUTS                                                                                              \
    SIZED(item)                                                                                              \
    SIZED(sum)                                                                                               \
    SIZED(header)                                                                                            \
    SIZED(section)                                                                                           \
    SIZED(segment)                                                                                           \
    SIZED(symbol)                                                                                            \
    SIZED(reloc)                                                                                             \
    SIZED(candidate)                                                                                         \
    SIZED(selected)                                                                                          \
    SIZED(linked) SIZED(event) SIZED(final) SIZED(why) SIZED(finding) SIZED(info) SIZED(diag) SIZED(src)

static void fill(void)
{
#define SIZED(member) a.member.size = sizeof(a.member);
    OUTPUTS
#undef SIZED
    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &a.src), CUVET_OK);
}

/* ---- the table ---- */

/* ROW(type, function, arguments behind the handle, the same with NULL where a pointer is needed). ENDS(type)
 * is its destroy, SIGNALS one that is for objects in use. */
#define CALLS                                                                                                \
    ROW(scan, scan_ahead, (ctx, H), (NULL, H))                                                               \
    ROW(scan, scan_next, (ctx, H, &a.item), (ctx, H, NULL))                                                  \
    ROW(scan, scan_payload, (ctx, H, &a.block, &a.size), (ctx, H, &a.block, NULL))                           \
    ROW(scan, scan_payload, (ctx, H, &a.block, &a.size), (ctx, H, NULL, &a.size))                            \
    ROW(scan, scan_summary, (ctx, H, &a.sum), (ctx, H, NULL))                                                \
    ROW(scan, scan_rule_count, (ctx, H, 0, &a.number), (ctx, H, 0, NULL))                                    \
    ENDS(scan)                                                                                               \
    ROW(elf, elf_get_header, (ctx, H, &a.header), (ctx, H, NULL))                                            \
    ROW(elf, elf_get_section, (ctx, H, 0, &a.section), (ctx, H, 0, NULL))                                    \
    ROW(elf, elf_get_segment, (ctx, H, 0, &a.segment), (ctx, H, 0, NULL))                                    \
    ROW(elf, elf_get_symbol, (ctx, H, 0, 0, &a.symbol), (ctx, H, 0, 0, NULL))                                \
    ROW(elf, elf_get_reloc, (ctx, H, 0, 0, &a.reloc), (ctx, H, 0, 0, NULL))                                  \
    ROW(elf, elf_get_symtab, (ctx, H, 0, &a.number), (ctx, H, 0, NULL))                                      \
    ROW(elf, elf_get_string, (ctx, H, 0, 0, &a.bytes), (ctx, H, 0, 0, NULL))                                 \
    ROW(elf, elf_get_kernel, (ctx, H, 0, &a.bytes), (ctx, H, 0, NULL))                                       \
    ENDS(elf)                                                                                                \
    ROW(select, select_add_option, (ctx, H, "-v", 2), (ctx, H, NULL, 2))                                     \
    ROW(select, select_get_option, (ctx, H, 0, &a.text, &a.size), (ctx, H, 0, NULL, &a.size))                \
    ROW(select, select_get_option, (ctx, H, 0, &a.text, &a.size), (ctx, H, 0, &a.text, NULL))                \
    ROW(select, select_bind, (ctx, H, "bytes", 5, 0, NULL), (ctx, H, NULL, 5, 0, NULL))                      \
    ROW(select, select_bind_source, (ctx, H, &a.src, NULL), (ctx, H, NULL, NULL))                            \
    ROW(select, select_run, (ctx, H), (NULL, H))                                                             \
    ROW(select, select_get_candidate, (ctx, H, 0, &a.candidate), (ctx, H, 0, NULL))                          \
    ROW(select, select_get_result, (ctx, H, &a.selected), (ctx, H, NULL))                                    \
    ROW(select, select_take_image, (ctx, H, &a.image), (ctx, H, NULL))                                       \
    ROW(select, select_get_diag, (ctx, H, 0, &a.diag), (ctx, H, 0, NULL))                                    \
    ROW(select, select_get_log, (ctx, H, &a.text, &a.size), (ctx, H, NULL, &a.size))                         \
    ROW(select, select_get_log, (ctx, H, &a.text, &a.size), (ctx, H, &a.text, NULL))                         \
    ROW(select, select_get_state, (ctx, H, &a.state), (ctx, H, NULL))                                        \
    SIGNALS(select, select_cancel)                                                                           \
    ENDS(select)                                                                                             \
    ROW(linker, linker_add, (ctx, H, "bytes", 5, "name"), (ctx, H, NULL, 5, "name"))                         \
    ROW(linker, linker_add, (ctx, H, "bytes", 5, "name"), (ctx, H, "bytes", 5, NULL))                        \
    ROW(linker, linker_add_borrowed, (ctx, H, "bytes", 5, "name"), (ctx, H, NULL, 5, "name"))                \
    ROW(linker, linker_add_borrowed, (ctx, H, "bytes", 5, "name"), (ctx, H, "bytes", 5, NULL))               \
    ROW(linker, linker_add_source, (ctx, H, &a.src, "name"), (ctx, H, NULL, "name"))                         \
    ROW(linker, linker_add_source, (ctx, H, &a.src, "name"), (ctx, H, &a.src, NULL))                         \
    ROW(linker, linker_add_file, (ctx, H, &a.src, "name", NULL), (ctx, H, NULL, "name", NULL))               \
    ROW(linker, linker_add_file, (ctx, H, &a.src, "name", NULL), (ctx, H, &a.src, NULL, NULL))               \
    ROW(linker, linker_add_memory, (ctx, H, "bytes", 5, "name", NULL), (ctx, H, NULL, 5, "name", NULL))      \
    ROW(linker, linker_add_memory, (ctx, H, "bytes", 5, "name", NULL), (ctx, H, "bytes", 5, NULL, NULL))     \
    ROW(linker, linker_get_event, (ctx, H, 0, &a.event), (ctx, H, 0, NULL))                                  \
    ROW(linker, linker_get_module, (ctx, H, 0, &a.text), (ctx, H, 0, NULL))                                  \
    ROW(linker, linker_get_name, (ctx, H, 0, &a.text), (ctx, H, 0, NULL))                                    \
    ROW(linker, linker_complete, (ctx, H), (NULL, H))                                                        \
    ROW(linker, linker_get_result, (ctx, H, &a.linked), (ctx, H, NULL))                                      \
    ROW(linker, linker_get_image, (ctx, H, &a.image), (ctx, H, NULL))                                        \
    ROW(linker, linker_save, (ctx, H, -1, "name", 0), (ctx, H, -1, NULL, 0))                                 \
    ROW(linker, linker_write, (ctx, H, -1), (NULL, H, -1))                                                   \
    ROW(linker, linker_deliver, (ctx, H, &TAKE), (ctx, H, NULL))                                             \
    ROW(linker, linker_get_symbol, (ctx, H, &a.diag, 0, &a.text, &a.size),                                   \
        (ctx, H, NULL, 0, &a.text, &a.size))                                                                 \
    ROW(linker, linker_get_symbol, (ctx, H, &a.diag, 1, &a.text, &a.size),                                   \
        (ctx, H, &a.diag, 1, NULL, &a.size))                                                                 \
    ROW(linker, linker_callgraph, (ctx, H, &TELL), (ctx, H, NULL))                                           \
    ENDS(linker)                                                                                             \
    ROW(finalizer, finalizer_run, (ctx, H, "bytes", 5, NULL), (ctx, H, NULL, 5, NULL))                       \
    ROW(finalizer, finalizer_run_source, (ctx, H, &a.src, NULL), (ctx, H, NULL, NULL))                       \
    ROW(finalizer, finalizer_get_result, (ctx, H, &a.final), (ctx, H, NULL))                                 \
    ROW(finalizer, finalizer_get_image, (ctx, H, &a.image), (ctx, H, NULL))                                  \
    ROW(finalizer, finalizer_save, (ctx, H, -1, "name", 0), (ctx, H, -1, NULL, 0))                           \
    ROW(finalizer, finalizer_explain, (ctx, H, "bytes", 5, &a.why), (ctx, H, NULL, 5, &a.why))               \
    ROW(finalizer, finalizer_explain, (ctx, H, "bytes", 5, &a.why), (ctx, H, "bytes", 5, NULL))              \
    SIGNALS(finalizer, finalizer_cancel)                                                                     \
    ENDS(finalizer)                                                                                          \
    ROW(findings, findings_get, (ctx, H, 0, &a.finding), (ctx, H, 0, NULL))                                  \
    ROW(findings, findings_summary, (ctx, H, &a.sum), (ctx, H, NULL))                                        \
    ENDS(findings)                                                                                           \
    ROW(image, image_get_info, (ctx, H, &a.info), (ctx, H, NULL))                                            \
    ROW(image, image_save, (ctx, H, "none/none", 0), (ctx, H, NULL, 0))                                      \
    ENDS(image)

typedef enum subject {
    OF_scan,
    OF_elf,
    OF_select,
    OF_linker,
    OF_finalizer,
    OF_findings,
    OF_image,
    SUBJECTS
} subject;
static const cv_handle_kind KIND[SUBJECTS] = { CV_H_SCAN,      CV_H_ELF,      CV_H_SELECT, CV_H_LINKER,
                                               CV_H_FINALIZER, CV_H_FINDINGS, CV_H_IMAGE };

typedef enum nature { WORKS, SIGNALS, ENDS } nature;

/* A case of one switch for each row, so that each has a number and a handle of its own type. */
#define ROW(type, function, good, bad)                                                                       \
    case __COUNTER__ - FIRST: {                                                                              \
        const cuvet_##type H = { bits };                                                                     \
                                                                                                             \
        return null ? cuvet_##function bad : cuvet_##function good;                                          \
    }
#define SIGNALS(type, function) ROW(type, function, (ctx, H), (NULL, H))
#define ENDS(type)                                                                                           \
    case __COUNTER__ - FIRST: {                                                                              \
        cuvet_##type handle = { bits };                                                                      \
                                                                                                             \
        return cuvet_##type##_destroy(ctx, null ? NULL : &handle);                                           \
    }

enum { FIRST = __COUNTER__ + 1 };

static cuvet_status call_row(unsigned row, cuvet_ctx *ctx, uint64_t bits, bool null)
{
    switch (row) {
        CALLS
    default: abort();
    }
}

#undef ROW
#undef SIGNALS
#undef ENDS

static const struct {
    const char *function;
    subject of;
    nature how;
    const char *good; /* its arguments, as a text */
} ROWS[] = {
#define ROW(type, function, good, bad) { "cuvet_" #function, OF_##type, WORKS, #good },
#define SIGNALS(type, function)        { "cuvet_" #function, OF_##type, SIGNALS, "" },
#define ENDS(type)                     { "cuvet_" #type "_destroy", OF_##type, ENDS, "" },
    CALLS
};

/* ---- one object of each kind ---- */

static void make_all(cuvet_ctx *ctx, uint64_t bits[SUBJECTS])
{
    static const cuvet_select_options SELECTION = { .size = sizeof(SELECTION), .target = { 90, 0 } };
    static const cuvet_linker_options LINK = { .size = sizeof(LINK), .target = { 90, 0 } };
    static const cuvet_finalize_options FINAL = { .size = sizeof(FINAL) };
    static const char FILE_NAME[] = "corpus/samples/plain.sm_90.rdc.cubin";
    size_t count;
    const uint8_t *bytes = sample("plain.sm_90.rdc.cubin", &count, 0);

    ck_assert_int_eq(cuvet_scan_create(ctx, &a.src, NULL, (cuvet_scan *)&bits[OF_scan]), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_create(ctx, bytes, count, (cuvet_elf *)&bits[OF_elf]), CUVET_OK);
    ck_assert_int_eq(cuvet_select_create(ctx, &SELECTION, (cuvet_select *)&bits[OF_select]), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_create(ctx, &LINK, (cuvet_linker *)&bits[OF_linker]), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &FINAL, (cuvet_finalizer *)&bits[OF_finalizer]), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_file(ctx, FILE_NAME, NULL, (cuvet_findings *)&bits[OF_findings]), CUVET_OK);
    ck_assert_int_eq(cuvet_select_file(ctx, NULL, "sm_90", FILE_NAME, (cuvet_image *)&bits[OF_image]),
                     CUVET_OK);
}

static cuvet_ctx *ctx, *stranger;
static uint64_t mine[SUBJECTS], gone[SUBJECTS], foreign[SUBJECTS];

static void expect(unsigned row, cuvet_ctx *in, uint64_t bits, cuvet_status want, const char *what)
{
    cuvet_status got = call_row(row, in, bits, false);

    ck_assert_msg(got == want, "%s of a handle that is %s: %s, not %s", ROWS[row].function, what,
                  cuvet_status_name(got), cuvet_status_name(want));
}

static void destroy(cuvet_ctx *in, subject which, uint64_t bits, cuvet_status want, const char *what)
{
    for (unsigned row = 0; row < N(ROWS); row++)
        if (ROWS[row].of == which && ROWS[row].how == ENDS)
            expect(row, in, bits, want, what);
}

static void setup(void)
{
    fill();
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &stranger), CUVET_OK);
    stranger->handles.salt = (uint16_t)(ctx->handles.salt + 1);
    make_all(ctx, gone);
    make_all(ctx, mine);
    make_all(stranger, foreign);
    for (unsigned i = 0; i < SUBJECTS; i++)
        destroy(ctx, i, gone[i], CUVET_OK, "alive");
}

static void teardown(void)
{
    cuvet_ctx_destroy(stranger);
    cuvet_ctx_destroy(ctx);
}

START_TEST(misuse)
{
    for (unsigned row = 0; row < N(ROWS); row++) {
        const subject of = ROWS[row].of;

        expect(row, NULL, mine[of], CUVET_E_NULL, "without a context");
        expect(row, ctx, 0, CUVET_E_HANDLE, "zero");
        expect(row, ctx, UINT64_MAX, CUVET_E_HANDLE, "made up");
        expect(row, ctx, mine[of] + 60000, CUVET_E_HANDLE, "of no slot");
        expect(row, ctx, mine[of] + (UINT64_C(1) << 32), CUVET_E_HANDLE, "of a later object");
        expect(row, ctx, foreign[of], CUVET_E_HANDLE, "of another context");
        expect(row, stranger, mine[of], CUVET_E_HANDLE, "of another context");
        expect(row, ctx, gone[of], CUVET_E_STALE_HANDLE, "gone");
        for (unsigned other = 0; other < SUBJECTS; other++)
            if (other != of)
                expect(row, ctx, mine[other], CUVET_E_HANDLE_KIND, "of another kind");
        ck_assert_msg(call_row(row, ctx, mine[of], true) == CUVET_E_NULL, "%s without a pointer, row %u",
                      ROWS[row].function, row);
    }
    /* None of that has ended anything, and where a new object has the slot the old handle stays stale. */
    make_all(ctx, foreign);
    for (unsigned i = 0; i < SUBJECTS; i++) {
        destroy(ctx, i, gone[i], CUVET_E_STALE_HANDLE, "gone, and its slot used again");
        destroy(ctx, i, mine[i], CUVET_OK, "alive");
        destroy(ctx, i, mine[i], CUVET_E_STALE_HANDLE, "gone");
    }
}
END_TEST

/* While a call is in it, on another thread or in a callback of its own: nothing but the end, and what is made
 * for that. */
START_TEST(in_use)
{
    void *body;

    for (unsigned i = 0; i < SUBJECTS; i++)
        ck_assert_int_eq(cv_handle_get(ctx, KIND[i], mine[i], &body), CUVET_OK);
    for (unsigned row = 0; row < N(ROWS); row++)
        if (ROWS[row].how != ENDS)
            expect(row, ctx, mine[ROWS[row].of], ROWS[row].how == WORKS ? CUVET_E_BUSY : CUVET_OK, "in use");
    for (unsigned i = 0; i < SUBJECTS; i++)
        destroy(ctx, i, mine[i], CUVET_OK, "in use");
    for (unsigned row = 0; row < N(ROWS); row++)
        expect(row, ctx, mine[ROWS[row].of], CUVET_E_STALE_HANDLE, "gone while in use");
    for (unsigned i = 0; i < SUBJECTS; i++)
        ck_assert_int_eq(cv_handle_done(ctx, mine[i], CUVET_OK), CUVET_E_STALE_HANDLE);
    for (unsigned row = 0; row < N(ROWS); row++)
        expect(row, ctx, mine[ROWS[row].of], CUVET_E_STALE_HANDLE, "gone");
}
END_TEST

/* After destroy the handle of the caller is 0, and destroying that is misuse of its own kind. */
START_TEST(destroyed_twice)
{
#define TWICE(type)                                                                                          \
    do {                                                                                                     \
        cuvet_##type handle = { mine[OF_##type] }, copy = handle;                                            \
                                                                                                             \
        ck_assert_int_eq(cuvet_##type##_destroy(ctx, &handle), CUVET_OK);                                    \
        ck_assert_uint_eq(handle.bits, 0);                                                                   \
        ck_assert_int_eq(cuvet_##type##_destroy(ctx, &handle), CUVET_E_HANDLE);                              \
        ck_assert_int_eq(cuvet_##type##_destroy(ctx, &copy), CUVET_E_STALE_HANDLE);                          \
        ck_assert_uint_ne(copy.bits, 0);                                                                     \
    } while (0)
    TWICE(scan);
    TWICE(elf);
    TWICE(select);
    TWICE(linker);
    TWICE(finalizer);
    TWICE(findings);
    TWICE(image);
}
END_TEST

static bool has_output(const char *arguments)
{
#define SIZED(member)                                                                                        \
    if (strstr(arguments, "&a." #member))                                                                    \
        return strcmp(#member, "diag") != 0 || !strstr(arguments, "&a.diag, ");
    OUTPUTS
#undef SIZED
    return false;
}

/* A structure of a size that no version had is neither filled nor read, and the object is as it was. A
 * diagnostic that is asked about is borrowed, whatever size it says. */
START_TEST(sizes)
{
    static const size_t ODD[] = { 0, 7, 12, 1 << 20 };
    unsigned refused = 0;

    for (unsigned i = 0; i < N(ODD); i++) {
#define SIZED(member) a.member.size = ODD[i];
        OUTPUTS
#undef SIZED
        for (unsigned row = 0; row < N(ROWS); row++)
            if (has_output(ROWS[row].good)) {
                expect(row, ctx, mine[ROWS[row].of], CUVET_E_USAGE, "asked to fill an odd size");
                refused++;
            }
    }
    ck_assert_uint_gt(refused, 20 * N(ODD));
    for (unsigned i = 0; i < SUBJECTS; i++)
        destroy(ctx, i, mine[i], CUVET_OK, "alive");
}
END_TEST

/* Flags and numbers that no version had, where there is no structure around them. */
START_TEST(values)
{
    const cuvet_linker linker = { mine[OF_linker] };
    const cuvet_finalizer finalizer = { mine[OF_finalizer] };
    const cuvet_image image = { mine[OF_image] };
    const cuvet_scan scan = { mine[OF_scan] };
    const cuvet_elf elf = { mine[OF_elf] };
    const cuvet_link_sink nobody = { .size = sizeof(nobody) };
    cuvet_callgraph_sink tell = TELL;

    ck_assert_int_eq(cuvet_linker_save(ctx, linker, -1, "name", 4), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, -1, "name", 4), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_image_save(ctx, image, "none", 4), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_get_symbol(ctx, linker, &a.diag, 2, &a.text, &a.size), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_deliver(ctx, linker, &nobody), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_scan_rule_count(ctx, scan, UINT32_MAX, &a.number), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_elf_get_symtab(ctx, elf, 2, &a.number), CUVET_E_USAGE);
    ck_assert_int_ne(cuvet_elf_get_string(ctx, elf, UINT64_MAX, 0, &a.bytes), CUVET_OK);
    for (unsigned i = 0; i < 3; i++, tell = TELL) {
        if (i == 0)
            tell.function = NULL;
        else if (i == 1)
            tell.call = NULL;
        else
            tell.raised = NULL;
        ck_assert_int_eq(cuvet_linker_callgraph(ctx, linker, &tell), CUVET_E_USAGE);
    }
}
END_TEST

/* Is this text the name of a function in the table? */
static bool is_in_table(const char *name)
{
    for (unsigned row = 0; row < N(ROWS); row++)
        if (strcmp(ROWS[row].function, name) == 0)
            return true;
    return false;
}

/* Each handle of the interface has its end, and each function that takes one behind a context is there. */
START_TEST(table_is_whole)
{
    static char kind[16], name[80], rest[1200], handles[32][80];
    unsigned n_handles = 0, functions = 0;
    FILE *table = fopen("src/api/abi.tsv", "r");
    char wanted[200];

    ck_assert_ptr_nonnull(table);
    for (unsigned pass = 0; pass < 2; pass++) {
        rewind(table);
        while (fgets(rest, sizeof(rest), table)) {
            if (sscanf(rest, "%15[^\t]\t%79[^\t]\t", kind, name) != 2)
                continue;
            if (pass == 0 && strcmp(kind, "member") == 0 && strstr(name, ".bits")) {
                ck_assert_uint_lt(n_handles, N(handles));
                *strstr(name, ".bits") = 0;
                strcpy(handles[n_handles++], name);
            }
            for (unsigned i = 0; pass == 1 && strcmp(kind, "function") == 0 && i < n_handles; i++) {
                snprintf(wanted, sizeof(wanted), "(cuvet_ctx *ctx, %.79s ", handles[i]);
                if (!strstr(rest, wanted))
                    continue;
                /* what makes one has a pointer to it at the end, what ends it has it there alone */
                ck_assert_msg(is_in_table(name), "%s takes a handle and is not in the table", name);
                functions++;
            }
        }
    }
    fclose(table);
    ck_assert_uint_eq(n_handles, SUBJECTS);
    ck_assert_uint_gt(functions, 45);
    for (unsigned i = 0; i < n_handles; i++) {
        snprintf(wanted, sizeof(wanted), "%.79s_destroy", handles[i]);
        ck_assert_msg(is_in_table(wanted), "no %s", wanted);
    }
}
END_TEST

Suite *suite_handle_all(void)
{
    Suite *suite = suite_create("handle_all");
    TCase *tcase = tcase_create("handle_all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, misuse);
    tcase_add_test(tcase, in_use);
    tcase_add_test(tcase, destroyed_twice);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, values);
    tcase_add_test(tcase, table_is_whole);
    suite_add_tcase(suite, tcase);
    return suite;
}
