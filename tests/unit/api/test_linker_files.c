/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whole files into a link: what nvcc makes, archives, fat binaries and what is refused, by the library alone;
 * each piece has its event. Then the same with every allocation failing. */
#include <stdlib.h>

#include "link_fixture.h"
#include "support/heap.h"

enum { MOST_BYTES = 1 << 18, MOST_FILES = 4, MOST_EVENTS = 8 };

typedef struct sample {
    uint8_t bytes[MOST_BYTES];
    size_t n;
} sample;

static void load(sample *s, const char *name)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "corpus/samples/%s", name);
    f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    s->n = fread(s->bytes, 1, sizeof(s->bytes), f);
    ck_assert(s->n > 0 && s->n < sizeof(s->bytes) && fclose(f) == 0);
}

typedef struct row {
    const char *target, *file[MOST_FILES];
    unsigned flags;
    cuvet_status added, completed; /* of the last file, and of the link */
    cuvet_event_kind event[MOST_EVENTS];
    unsigned n_events;
    uint64_t objects;
} row;

/* What nvcc 13.0 made (corpus/samples), for the machines it was made for and for others. */
static const row ROWS[] = {
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
};

typedef struct heard {
    cuvet_event_kind kind[MOST_EVENTS];
    unsigned n;
} heard;

static void on_event(void *user, const cuvet_event *event)
{
    heard *h = user;

    ck_assert(event->size == sizeof(*event) && event->file && *event->file);
    ck_assert_uint_lt(h->n, MOST_EVENTS);
    h->kind[h->n++] = event->kind;
}

/* The same by index. */
static void check_events(cuvet_ctx *ctx, cuvet_linker l, const row *r, const heard *h)
{
    cuvet_event event = { .size = sizeof(event) };

    ck_assert_uint_eq(h->n, r->n_events);
    for (unsigned i = 0; i < r->n_events; i++) {
        ck_assert_int_eq(cuvet_linker_get_event(ctx, l, i, &event), CUVET_OK);
        ck_assert_msg(event.kind == r->event[i] && h->kind[i] == r->event[i], "%s: event %u: %s", r->file[0],
                      i, cuvet_event_kind_name(event.kind));
        ck_assert(event.file && strstr(r->file[0], ".a")
                      ? event.member != NULL || event.kind == CUVET_EVENT_THIN
                      : event.member == NULL);
    }
    ck_assert_int_eq(cuvet_linker_get_event(ctx, l, r->n_events, &event), CUVET_END);
}

typedef struct outcome {
    cuvet_status status;
    size_t n;
    uint64_t hash;
} outcome;

static uint64_t hash_of(const uint8_t *p, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h;
}

/* From memory, or from a source. */
static outcome link_row(cuvet_ctx *ctx, const row *r, bool memory, bool whole)
{
    static sample s;
    heard h = { .n = 0 };
    cuvet_linker_options o = { .size = sizeof(o), .event = on_event, .event_user = &h };
    const cuvet_add_options add = { .size = sizeof(add), .flags = r->flags };
    cuvet_link_result made = { .size = sizeof(made) };
    outcome out = { 0 };
    cuvet_linker l;

    ck_assert_int_eq(cuvet_target_parse(r->target, &o.target), CUVET_OK);
    out.status = cuvet_linker_create(ctx, &o, &l);
    if (out.status != CUVET_OK)
        return out;
    for (unsigned i = 0; i < MOST_FILES && r->file[i] && out.status == CUVET_OK; i++) {
        cuvet_source src = { .size = sizeof(src) };

        load(&s, r->file[i]);
        ck_assert_int_eq(cuvet_source_memory(s.bytes, s.n, &src), CUVET_OK);
        out.status = memory ? cuvet_linker_add_memory(ctx, l, s.bytes, s.n, r->file[i], &add)
                            : cuvet_linker_add_file(ctx, l, &src, r->file[i], &add);
        memset(s.bytes, 0xA5, s.n); /* nothing of it is kept */
    }
    if (whole) {
        ck_assert_int_eq(out.status, r->added);
        check_events(ctx, l, r, &h);
    }
    if (out.status == CUVET_OK || whole)
        out.status = cuvet_linker_complete(ctx, l);
    if (out.status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_result(ctx, l, &made), CUVET_OK);
    if (whole) {
        ck_assert_int_eq(out.status, r->completed);
        ck_assert_uint_eq(made.objects, r->objects);
    }
    if (made.bytes)
        out.hash = hash_of(made.bytes, made.n);
    out.n = made.n;
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &l), CUVET_OK);
    return out;
}

START_TEST(files)
{
    const row *r = &ROWS[_i];
    outcome a = link_row(lc_ctx, r, false, true), b = link_row(lc_ctx, r, true, true);

    ck_assert(a.n == b.n && a.hash == b.hash);
    ck_assert((a.n > 0) == (r->completed == CUVET_OK));
}
END_TEST

START_TEST(misuse)
{
    const cuvet_linker_options o = lc_options("sm_75");
    const cuvet_add_options bad = { .size = sizeof(bad), .flags = 1u << 31 };
    cuvet_linker l = lc_linker(&o);
    cuvet_event event = { .size = 1 };
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(cuvet_source_memory("x", 1, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add_file(NULL, l, &src, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, l, NULL, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, l, &src, NULL, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, l, &src, "x", &bad), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, l, NULL, 1, "x", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, l, "x", 1, "x", NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, l, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, l, 0, &event), CUVET_E_USAGE);
    event.size = sizeof(event);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, l, 0, &event), CUVET_OK);
    ck_assert(event.kind == CUVET_EVENT_REFUSED && event.status == CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_E_REFUSED);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, l, &src, "x", NULL), CUVET_E_STATE);
    lc_end(l);
    ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, l, &src, "x", NULL), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, l, 0, &event), CUVET_E_STALE_HANDLE);
    ck_assert_str_eq(cuvet_event_kind_name((cuvet_event_kind)99), "?");
}
END_TEST

/* The Nth allocation fails, alone and with all later ones: an error, or what would have been made anyway. */
START_TEST(faults)
{
    const row *r = &ROWS[_i];
    heap h = { 0 };
    const cuvet_alloc a = heap_alloc(&h);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &a };
    unsigned long failures = 0;
    bool more = true;
    cuvet_ctx *ctx;
    outcome want;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = link_row(ctx, r, false, false);
    for (unsigned long n = 1; more; n++) {
        for (unsigned all = 0; all < 2; all++) {
            outcome o;

            heap_fail(&h, n, all != 0);
            o = link_row(ctx, r, false, false);
            heap_mend(&h);
            more = h.failed != 0;
            failures += o.status == CUVET_E_NOMEM;
            ck_assert_msg((o.n == 0 && (o.status == CUVET_E_NOMEM || o.status == CUVET_E_LIMIT)) ||
                              (o.status == want.status && o.hash == want.hash),
                          "%s, allocation %lu: status %d", r->file[0], n, (int)o.status);
        }
    }
    ck_assert_uint_gt(failures, 10);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(h.live, 0);
}
END_TEST

Suite *suite_linker_files(void);
Suite *suite_linker_files(void)
{
    Suite *s = suite_create("linker_files");
    TCase *t = tcase_create("files");

    tcase_add_checked_fixture(t, lc_setup, lc_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, files, 0, N(ROWS));
    tcase_add_test(t, misuse);
    tcase_add_loop_test(t, faults, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
