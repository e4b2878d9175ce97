/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The linker called wrongly: handles, states, options. */
#include "link_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/linker_int.h"
#include "support/scratch.h"

enum call {
    ADD = 0,
    ADD_SOURCE,
    NAME,
    COMPLETE,
    RESULT,
    SAVE,
    WRITE,
    DELIVER,
    MODULE,
    SYMBOL,
    OTHER_SYMBOL,
    CALLGRAPH,
    DESTROY,
    N_CALLS
};

static bool on_function(void *user, uint64_t number, const cuvet_link_function *f)
{
    (void)number;
    (void)f;
    return user == NULL;
}

static bool on_call(void *user, uint64_t from, uint64_t to)
{
    (void)from;
    (void)to;
    return user == NULL;
}

typedef struct taken {
    uint8_t *bytes;
    size_t n, stop; /* stop: at this many bytes, 0: never */
    cuvet_linker l;
} taken;

static bool take(void *user, const void *bytes, size_t n)
{
    taken *t = user;

    ck_assert(t && n > 0 && n <= (1 << 20) - t->n);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, t->l, -1), CUVET_E_BUSY);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return t->stop == 0 || t->n < t->stop;
}

static cuvet_callgraph_sink silent_sink(void)
{
    return (cuvet_callgraph_sink){
        .size = sizeof(cuvet_callgraph_sink), .function = on_function, .call = on_call, .raised = on_call
    };
}

static cuvet_status call(cuvet_ctx *c, cuvet_linker l, unsigned which)
{
    const cuvet_callgraph_sink sink = silent_sink();
    const cuvet_link_sink pieces = { .size = sizeof(pieces), .write = take };
    const cuvet_diag d = { .size = sizeof(d) };
    cuvet_link_result r = { .size = sizeof(r) };
    cuvet_source src = { .size = sizeof(src) };
    const char *p;
    size_t n;

    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    switch (which) {
    case ADD: return cuvet_linker_add(c, l, "bytes", 5, "name");
    case ADD_SOURCE: return cuvet_linker_add_source(c, l, &src, "name");
    case MODULE: return cuvet_linker_module(c, l, 0, &p);
    case OTHER_SYMBOL: return cuvet_linker_other_symbol(c, l, &d, &p, &n);
    case CALLGRAPH: return cuvet_linker_callgraph(c, l, &sink);
    case NAME: return cuvet_linker_name(c, l, 0, &p);
    case COMPLETE: return cuvet_linker_complete(c, l);
    case RESULT: return cuvet_linker_result(c, l, &r);
    case SAVE: return cuvet_linker_save(c, l, AT_FDCWD, "name", 0);
    case WRITE: return cuvet_linker_write(c, l, -1);
    case DELIVER: return cuvet_linker_deliver(c, l, &pieces);
    case SYMBOL: return cuvet_linker_symbol(c, l, &d, &p, &n);
    default: return cuvet_linker_destroy(c, &l);
    }
}

START_TEST(handles)
{
    const lc_case *c = lc_find("single_file", "sm_80");
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = lc_linker(&o), stale = lc_linker(&o), copy = stale;
    cuvet_ctx *other;
    cuvet_elf elf;
    size_t n;
    const uint8_t *p = lc_file(c->input[0], &n);

    ck_assert_int_eq(cuvet_ctx_create(NULL, &other), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_create(lc_ctx, p, n, &elf), CUVET_OK);
    lc_end(copy);
    for (unsigned i = 0; i < N_CALLS; i++) {
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ 0 }, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ UINT64_MAX }, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(lc_ctx, stale, i), CUVET_E_STALE_HANDLE);
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ elf.bits }, i), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call(other, l, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(NULL, l, i), CUVET_E_NULL);
    }
    ck_assert_int_eq(cuvet_elf_destroy(lc_ctx, &(cuvet_elf){ l.bits }), CUVET_E_HANDLE_KIND);
    lc_end(l);
    cuvet_ctx_destroy(other);
}
END_TEST

START_TEST(nothing_given)
{
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = { 1 };
    const cuvet_diag d = { .size = sizeof(d) };
    cuvet_source src = { .size = sizeof(src) };
    const char *p;
    size_t n;

    ck_assert_int_eq(cuvet_linker_create(NULL, &o, &l), CUVET_E_NULL);
    ck_assert_uint_eq(l.bits, 0);
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, NULL, &l), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, NULL), CUVET_E_NULL);
    l = lc_linker(&o);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, NULL, 5, "name"), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, "bytes", 5, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, NULL, "name"), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, &src, NULL), CUVET_E_NULL);
    src.size--;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, &src, "name"), CUVET_E_USAGE);
    src.size++;
    src.read_at = NULL;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, &src, "name"), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, AT_FDCWD, NULL, 0), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_name(lc_ctx, l, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, NULL, &p, &n), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, NULL, &n), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_other_symbol(lc_ctx, l, &d, &p, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_module(lc_ctx, l, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_module(lc_ctx, l, 0, &p), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &(cuvet_callgraph_sink){ 0 }), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_destroy(lc_ctx, NULL), CUVET_E_NULL);
    lc_end(l);
}
END_TEST

/* The graph of a case, counted; what the reference prints for it is in tests/unit/api/test_linker.c. */
START_TEST(call_graphs)
{
    const lc_case *c = lc_find("stack_chain", "sm_80");
    cuvet_linker_options o = lc_options("sm_80");
    cuvet_callgraph_sink sink = silent_sink();
    cuvet_linker l = lc_linker(&o);
    size_t n;

    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_E_STATE);
    for (unsigned i = 0; i < c->n; i++) {
        const uint8_t *p = lc_file(c->input[i], &n);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_OK);
    sink.user = &n; /* stops at once */
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_E_CANCELLED);
    lc_end(l);
    o.flags |= CUVET_LINK_RELOCATABLE;
    l = lc_linker(&o);
    for (unsigned i = 0; i < c->n; i++) {
        const uint8_t *p = lc_file(c->input[i], &n);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    sink.user = NULL;
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_E_STATE);
    lc_end(l);
}
END_TEST

START_TEST(options)
{
    cuvet_linker_options o = lc_options("sm_80"), good = o;
    cuvet_linker l;

    o.size--;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_USAGE);
    ck_assert_uint_eq(l.bits, 0);
    ck_assert_uint_eq(lc_n_said(), 1);
    ck_assert(lc_said("CV-API-001"));
    o = good;
    o.policy = CUVET_ARCH_EXACT + 1;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_USAGE);
    o = good;
    o.toolkit = 65536;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_USAGE);
    o.toolkit = 65535;
    lc_end(lc_linker(&o));
    o = good;
    o.n_kernels_used = 1;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_USAGE);
    o = good;
    o.flags |= CUVET_LINK_EXACT_RELOCATABLE;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_USAGE);
    o.flags |= CUVET_LINK_RELOCATABLE;
    lc_end(lc_linker(&o));
    o = good;
    o.target.sm = 77;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_ARCH);
    o.target = (cuvet_target){ 0 };
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &o, &l), CUVET_E_ARCH);
    ck_assert_uint_eq(lc_n_said(), 1);
    o.target.sm = 100;
    lc_end(lc_linker(&o));
}
END_TEST

/* Taken, left out, refused: by the row of spec/places.def; what is no place is refused as well. */
START_TEST(places)
{
    static const cuvet_place TAKEN[] = { CUVET_PLACE_FILE, CUVET_PLACE_MEMBER, CUVET_PLACE_OBJECT,
                                         CUVET_PLACE_NAMED };
    static const cuvet_place LEFT[] = { CUVET_PLACE_FINISHED, CUVET_PLACE_PROGRAM, CUVET_PLACE_DATA };
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = lc_linker(&o);
    linker *k;

    ck_assert_int_eq(cv_linker_use(lc_ctx, l, &k), CUVET_OK);
    for (unsigned place = 0; place < 100; place++) {
        cuvet_item item = { .place = (cuvet_place)place, .in_container = place % 2 };
        cuvet_status want = CUVET_E_REFUSED;

        item.where.n = place % 4 == 0 ? UINT32_MAX : place % 4; /* whatever a caller says */
        for (size_t i = 0; i < sizeof(TAKEN) / sizeof(TAKEN[0]); i++)
            want = TAKEN[i] == item.place ? CUVET_OK : want;
        for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
            want = LEFT[i] == item.place ? CUVET_END : want;
        ck_assert_int_eq(cv_linker_judge_place(k, &item), want);
    }
    ck_assert_int_eq(cv_linker_done(lc_ctx, l, CUVET_OK), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_E_REFUSED); /* nothing to link */
    lc_end(l);
}
END_TEST

/* Collecting, then linked or failed, for good. */
START_TEST(states)
{
    const lc_case *c = lc_find("single_file", "sm_80");
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = lc_linker(&o);
    cuvet_link_result r = { .size = sizeof(r), .n = 1 };
    const char *name = NULL;
    size_t n;
    const uint8_t *p = lc_file(c->input[0], &n);

    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_E_STATE);
    ck_assert(r.n == 0 && r.bytes == NULL);
    ck_assert_int_eq(cuvet_linker_name(lc_ctx, l, 0, &name), CUVET_END);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "first"), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_name(lc_ctx, l, 0, &name), CUVET_OK);
    ck_assert_str_eq(name, "first");
    ck_assert_int_eq(cuvet_linker_name(lc_ctx, l, 1, &name), CUVET_END);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "late"), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_OK);
    ck_assert(r.n > 64 && r.objects == 1 && r.kernels == 1 && r.functions >= 1);
    lc_end(l);
    l = lc_linker(&o);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_E_REFUSED); /* nothing to link */
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "late"), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_E_STATE);
    lc_end(l);
}
END_TEST

/* The bytes and the name are copied; a diagnostic that points nowhere has no symbol. */
START_TEST(borrowed)
{
    const lc_case *c = lc_find("single_file", "sm_80");
    const cuvet_linker_options o = lc_options("sm_80");
    static lc_object object;
    char name[] = "name";
    const char *p;
    cuvet_diag d = { .where = { .n = 2 } };
    cuvet_linker l = lc_linker(&o);
    size_t n;

    lc_load(&object, c->input[0]);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, object.bytes, object.n, name), CUVET_OK);
    memset(&object, 0xFF, sizeof(object));
    memset(name, 'x', 4);
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, &n), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_name(lc_ctx, l, 0, &p), CUVET_OK);
    ck_assert_str_eq(p, "name");
    d.where.step[0] = (cuvet_step){ CUVET_P_MEMBER, true, 0 };
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, &n), CUVET_E_NO_MATCH);
    d.where.step[1] = (cuvet_step){ CUVET_P_SYMBOL, true, 1 };
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, &n), CUVET_OK);
    d.where.step[1].index = UINT64_MAX;
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, &n), CUVET_E_NO_MATCH);
    d.where.step[0].index = 1;
    ck_assert_int_eq(cuvet_linker_symbol(lc_ctx, l, &d, &p, &n), CUVET_E_NO_MATCH);
    lc_end(l);
}
END_TEST

static cuvet_status never(void *user, uint64_t off, void *buf, size_t len)
{
    (void)user;
    (void)off;
    (void)buf;
    (void)len;
    return CUVET_E_IO;
}

/* Long code is written from where it lies in the input; in the deep builds all code is. Every way out gives
 * the same bytes, in any order. */
static void all_ways(cuvet_linker l, const char *want, bool write_first)
{
    char dir[SCRATCH_MAX], path[SCRATCH_MAX + 8];
    uint8_t *one = malloc(1 << 20), *two = malloc(1 << 20);
    cuvet_link_sink sink = { .size = sizeof(sink), .write = take };
    taken t = { .bytes = two, .l = l };
    cuvet_link_result r = { .size = sizeof(r) };
    ssize_t got;
    size_t n;
    int fd, at;

    ck_assert(one && two);
    scratch_make(dir);
    at = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, at, "out", 0), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, l, at), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    if (write_first)
        ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, at, "out", 0), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, at, "out", CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, at, "out", 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, l, at, "a/b", 0), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, l, at), CUVET_E_IO);
    (void)snprintf(path, sizeof(path), "%s/out", dir);
    fd = open(path, O_RDWR);
    got = read(fd, one, 1 << 20);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, l, fd), CUVET_OK);
    sink.user = &t;
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, l, &sink), CUVET_OK);
    ck_assert(t.n == r.n && memcmp(t.bytes, one, r.n) == 0);
    t = (taken){ .bytes = two, .stop = 1, .l = l };
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, l, &sink), CUVET_E_CANCELLED);
    sink.size = 0;
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, l, &sink), CUVET_E_USAGE);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert(read(fd, two, 1 << 20) == got && got == (ssize_t)r.n);
    ck_assert(lc_file(want, &n) && n > 64 && r.n > 64);
    ck_assert(memcmp(one, r.bytes, r.n) == 0 && memcmp(two, r.bytes, r.n) == 0);
    (void)close(fd);
    (void)unlink(path);
    (void)close(at);
    (void)rmdir(dir);
    free(one);
    free(two);
}

/* From memory and from a source, saved before and after the result is put together. */
START_TEST(ways_in_and_out)
{
    const char *const names[] = { "single_file", "func_ptr" };
    const cuvet_linker_options o = lc_options("sm_80");

    for (unsigned i = 0; i < 2 * N(names); i++) {
        const lc_case *c = lc_find(names[i / 2], "sm_80");
        cuvet_linker l = lc_linker(&o);
        cuvet_source src = { .size = sizeof(src) };

        for (unsigned k = 0; k < c->n; k++) {
            static lc_object mine;
            const uint8_t *p;
            size_t n;

            lc_load(&mine, c->input[k]);
            p = lc_file(c->input[k], &n);
            ck_assert_int_eq(cuvet_source_memory(mine.bytes, mine.n, &src), CUVET_OK);
            ck_assert_int_eq(i % 2 ? cuvet_linker_add_source(lc_ctx, l, &src, "object")
                                   : cuvet_linker_add(lc_ctx, l, mine.bytes, mine.n, "object"),
                             CUVET_OK);
            ck_assert(memcmp(mine.bytes, p, n) == 0);
        }
        all_ways(l, c->output, i % 2 == 0);
        lc_end(l);
    }
}
END_TEST

START_TEST(bad_sources)
{
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = lc_linker(&o);
    cuvet_source src = { .size = sizeof(src), .length = 100, .read_at = never };

    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, &src, "object"), CUVET_E_IO);
    ck_assert(lc_said("CV-IO-001"));
    lc_forget();
    src.length = UINT64_MAX;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, l, &src, "object"), CUVET_E_LIMIT);
    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    ck_assert_int_ne(cuvet_linker_add_source(lc_ctx, l, &src, "object"), CUVET_OK);
    lc_end(l);
}
END_TEST

Suite *suite_linker_calls(void)
{
    Suite *s = suite_create("linker calls");
    TCase *t = tcase_create("calls");

    tcase_add_checked_fixture(t, lc_setup, lc_teardown);
    tcase_add_test(t, handles);
    tcase_add_test(t, nothing_given);
    tcase_add_test(t, options);
    tcase_add_test(t, places);
    tcase_add_test(t, states);
    tcase_add_test(t, borrowed);
    tcase_add_test(t, ways_in_and_out);
    tcase_add_test(t, bad_sources);
    tcase_add_test(t, call_graphs);
    suite_add_tcase(s, t);
    return s;
}
