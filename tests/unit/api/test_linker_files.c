/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whole files into a link: what nvcc makes, archives, fat binaries and what is refused, by the library alone;
 * each piece has its event. Then the same with every allocation failing. */
#include <stdlib.h>

#include "link_fixture.h"
#include "support/heap.h"

enum { MOST_BYTES = 1 << 18, MOST_FILES = 4, MOST_EVENTS = 8 };

typedef struct linker_files_sample {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} linker_files_sample;

static void load(linker_files_sample *sample, const char *name)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "corpus/samples/%s", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    sample->size = fread(sample->bytes, 1, sizeof(sample->bytes), file);
    ck_assert(sample->size > 0 && sample->size < sizeof(sample->bytes) && fclose(file) == 0);
}

typedef struct linker_files_row {
    const char *target, *file[MOST_FILES];
    unsigned flags;
    cuvet_status added, completed; /* of the last file, and of the link */
    cuvet_event_kind event[MOST_EVENTS];
    unsigned n_events;
    uint64_t objects;
} linker_files_row;

/* A flag of the link among those of the files. */
#define LINK_SHIFT    8
#define OF_LINK(flag) ((flag) << LINK_SHIFT)

/* What nvcc 13.0 made (corpus/samples), for the machines it was made for and for others. */
static const linker_files_row ROWS[] = {
    { "sm_75",
      { "host-two_a.o", "host-two_b.o" },
      0,
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_TAKEN, CUVET_EVENT_TAKEN },
      2,
      2 },
    { "sm_75",
      { "long-names.a" },
      0,
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_TAKEN, CUVET_EVENT_TAKEN, CUVET_EVENT_OUTSIDE },
      3,
      2 },
    { "sm_75",
      { "host-merged.o" },
      0,
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_TAKEN, CUVET_EVENT_FINDINGS, CUVET_EVENT_TAKEN },
      3,
      2 },
    { "sm_90", { "host-launch.o" }, 0, CUVET_OK, CUVET_OK, { CUVET_EVENT_TAKEN }, 1, 1 },
    { "sm_75",
      { "host-two_a.o" },
      0,
      CUVET_OK,
      CUVET_E_REFUSED, /* the other half is missing */
      { CUVET_EVENT_TAKEN },
      1,
      0 },
    { "sm_75", { "host-plain.so" }, 0, CUVET_OK, CUVET_E_REFUSED, { CUVET_EVENT_OUTSIDE }, 1, 0 },
    { "sm_75", { "host-dlink.o" }, 0, CUVET_OK, CUVET_E_REFUSED, { CUVET_EVENT_OUTSIDE }, 1, 0 },
    { "sm_75",
      { "host-launch.o" },
      0,
      CUVET_E_NO_MATCH,
      CUVET_E_REFUSED,
      { CUVET_EVENT_REFUSED, CUVET_EVENT_NOTHING_FITS },
      2,
      0 },
    { "sm_75", { "plain.ptx" }, 0, CUVET_E_REFUSED, CUVET_E_REFUSED, { CUVET_EVENT_NEEDS_COMPILER }, 1, 0 },
    { "sm_75", { "thin.a" }, 0, CUVET_E_REFUSED, CUVET_E_REFUSED, { CUVET_EVENT_THIN }, 1, 0 },
    { "sm_75",
      { "multi.fatbin" },
      0,
      CUVET_E_REFUSED, /* holds finished programs */
      CUVET_E_REFUSED,
      { CUVET_EVENT_REFUSED, CUVET_EVENT_NOTHING_FITS },
      2,
      0 },
    /* In the place of the reference linker: what it passes over, and what it makes of nothing. */
    { "sm_90",
      { "elf-raw.fatbin" },
      CUVET_ADD_OPTIONAL,
      CUVET_OK,
      CUVET_E_REFUSED,
      { CUVET_EVENT_NO_MATCH },
      1,
      0 },
    { "sm_90",
      { "elf-raw.fatbin" },
      CUVET_ADD_OPTIONAL | OF_LINK(CUVET_LINK_MAY_BE_EMPTY),
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_NO_MATCH },
      1,
      0 },
    { "sm_75",
      { "host-plain.o" },
      CUVET_ADD_OPTIONAL | OF_LINK(CUVET_LINK_MAY_BE_EMPTY),
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_OUTSIDE },
      1,
      0 },
    { "sm_90",
      { "lto.fatbin" },
      CUVET_ADD_OPTIONAL,
      CUVET_E_REFUSED,
      CUVET_E_REFUSED,
      { CUVET_EVENT_NEEDS_LTO },
      1,
      0 },
    { "sm_75",
      { "host-two_a.o", "host-two_b.o" },
      OF_LINK(CUVET_LINK_MODULES_ONLY),
      CUVET_OK,
      CUVET_OK,
      { CUVET_EVENT_TAKEN },
      0,
      0 },
};

typedef struct linker_files_heard {
    cuvet_event_kind kind[MOST_EVENTS];
    unsigned count;
} linker_files_heard;

static void on_event(void *user, const cuvet_event *event)
{
    linker_files_heard *heard = user;

    ck_assert(event->size == sizeof(*event) && event->file && *event->file);
    ck_assert_uint_lt(heard->count, MOST_EVENTS);
    heard->kind[heard->count++] = event->kind;
}

/* The same by index. */
static void check_events(cuvet_ctx *ctx, cuvet_linker linker, const linker_files_row *row,
                         const linker_files_heard *heard)
{
    cuvet_event event = { .size = sizeof(event) };

    ck_assert_uint_eq(heard->count, row->n_events);
    for (unsigned i = 0; i < row->n_events; i++) {
        ck_assert_int_eq(cuvet_linker_get_event(ctx, linker, i, &event), CUVET_OK);
        ck_assert_msg(event.kind == row->event[i] && heard->kind[i] == row->event[i], "%s: event %u: %s",
                      row->file[0], i, cuvet_event_kind_name(event.kind));
        ck_assert(event.file && strstr(row->file[0], ".a")
                      ? event.member != NULL || event.kind == CUVET_EVENT_THIN
                      : event.member == NULL);
    }
    ck_assert_int_eq(cuvet_linker_get_event(ctx, linker, row->n_events, &event), CUVET_END);
}

typedef struct linker_files_outcome {
    cuvet_status status;
    size_t count;
    uint64_t hash;
} linker_files_outcome;

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = size;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* From memory, or from a source. */
static linker_files_outcome link_row(cuvet_ctx *ctx, const linker_files_row *row, bool memory, bool whole)
{
    static linker_files_sample sample;
    linker_files_heard heard = { .count = 0 };
    cuvet_linker_options options = {
        .size = sizeof(options), .event = on_event, .event_user = &heard, .flags = row->flags >> LINK_SHIFT
    };
    const cuvet_add_options add = { .size = sizeof(add), .flags = row->flags & (OF_LINK(1u) - 1) };
    cuvet_link_result made = { .size = sizeof(made) };
    linker_files_outcome out = { 0 };
    cuvet_linker linker;

    ck_assert_int_eq(cuvet_target_parse(row->target, &options.target), CUVET_OK);
    out.status = cuvet_linker_create(ctx, &options, &linker);
    if (out.status != CUVET_OK)
        return out;
    for (unsigned i = 0; i < MOST_FILES && row->file[i] && out.status == CUVET_OK; i++) {
        cuvet_source src = { .size = sizeof(src) };

        load(&sample, row->file[i]);
        ck_assert_int_eq(cuvet_source_memory(sample.bytes, sample.size, &src), CUVET_OK);
        out.status = memory
                         ? cuvet_linker_add_memory(ctx, linker, sample.bytes, sample.size, row->file[i], &add)
                         : cuvet_linker_add_file(ctx, linker, &src, row->file[i], &add);
        memset(sample.bytes, 0xA5, sample.size); /* nothing of it is kept */
    }
    if (whole) {
        ck_assert_int_eq(out.status, row->added);
        check_events(ctx, linker, row, &heard);
    }
    if (out.status == CUVET_OK || whole)
        out.status = cuvet_linker_complete(ctx, linker);
    if (out.status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_get_result(ctx, linker, &made), CUVET_OK);
    if (whole) {
        ck_assert_int_eq(out.status, row->completed);
        ck_assert_uint_eq(made.objects, row->objects);
    }
    if (made.bytes)
        out.hash = hash_of(made.bytes, made.n);
    out.count = made.n;
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
    return out;
}

START_TEST(files)
{
    const linker_files_row *row = &ROWS[_i];
    linker_files_outcome left = link_row(lc_ctx, row, false, true), right = link_row(lc_ctx, row, true, true);

    ck_assert(left.count == right.count && left.hash == right.hash);
    ck_assert((left.count > 0) ==
              (row->completed == CUVET_OK && !(row->flags & OF_LINK(CUVET_LINK_MODULES_ONLY))));
}
END_TEST

/* Without code the modules are there all the same. */
START_TEST(modules_alone)
{
    static linker_files_sample sample;
    const char *modules[2][2] = { { NULL } };

    for (unsigned i = 0; i < 2; i++) {
        cuvet_linker_options options = lc_options("sm_75");
        cuvet_link_result made = { .size = sizeof(made) };
        cuvet_linker linker;

        options.flags = i ? CUVET_LINK_MODULES_ONLY : 0;
        linker = lc_linker(&options);
        load(&sample, "host-two_a.o");
        ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, linker, sample.bytes, sample.size, "a", NULL),
                         CUVET_OK);
        load(&sample, "host-two_b.o");
        ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, linker, sample.bytes, sample.size, "b", NULL),
                         CUVET_OK);
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
        for (unsigned k = 0; k < 2; k++)
            ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, k, &modules[i][k]), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, 2, &modules[i][0]), CUVET_END);
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &made), CUVET_OK);
        ck_assert((made.n == 0) == (i == 1));
    }
    for (unsigned k = 0; k < 2; k++)
        ck_assert_str_eq(modules[0][k], modules[1][k]);
}
END_TEST

START_TEST(misuse)
{
    const cuvet_linker_options options = lc_options("sm_75");
    const cuvet_add_options bad = { .size = sizeof(bad), .flags = 1u << 31 };
    cuvet_linker linker = lc_linker(&options);
    cuvet_event event = { .size = 1 };
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(cuvet_source_memory("x", 1, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add_file(NULL, linker, &src, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, NULL, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, &src, NULL, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, &src, "x", &bad), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, linker, NULL, 1, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, linker, "x", 1, "x", NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, 0, &event), CUVET_E_USAGE);
    event.size = sizeof(event);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, 0, &event), CUVET_OK);
    ck_assert(event.kind == CUVET_EVENT_REFUSED && event.status == CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_REFUSED);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, &src, "x", NULL), CUVET_E_STATE);
    lc_end(linker);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, &src, "x", NULL), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, 0, &event), CUVET_E_STALE_HANDLE);
    ck_assert_str_eq(cuvet_event_kind_name((cuvet_event_kind)99), "?");
}
END_TEST

/* The Nth allocation fails, alone and with all later ones: an error, or what would have been made anyway. */
START_TEST(faults)
{
    const linker_files_row *row = &ROWS[_i];
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
    unsigned long failures = 0;
    bool more = true;
    cuvet_ctx *ctx;
    linker_files_outcome want;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = link_row(ctx, row, false, false);
    for (unsigned long count = 1; more; count++) {
        for (unsigned all = 0; all < 2; all++) {
            linker_files_outcome outcome;

            heap_fail(&heap, count, all != 0);
            outcome = link_row(ctx, row, false, false);
            heap_mend(&heap);
            more = heap.failed != 0;
            failures += outcome.status == CUVET_E_NOMEM;
            ck_assert_msg((outcome.count == 0 && outcome.status == CUVET_E_NOMEM) ||
                              (outcome.status == want.status && outcome.hash == want.hash),
                          "%s, allocation %lu: status %d", row->file[0], count, (int)outcome.status);
        }
    }
    ck_assert_uint_gt(failures, 2);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(heap.live, 0);
}
END_TEST

Suite *suite_linker_files(void);
Suite *suite_linker_files(void)
{
    Suite *suite = suite_create("linker_files");
    TCase *tcase = tcase_create("files");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, files, 0, N(ROWS));
    tcase_add_test(tcase, modules_alone);
    tcase_add_test(tcase, misuse);
    tcase_add_loop_test(tcase, faults, 0, N(ROWS));
    suite_add_tcase(suite, tcase);
    return suite;
}
