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
    ADD_BORROWED,
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

static int on_function(void *user, uint64_t number, const cuvet_link_function *function)
{
    (void)number;
    (void)function;
    return user != NULL;
}

static int on_call(void *user, uint64_t from, uint64_t to)
{
    (void)from;
    (void)to;
    return user != NULL;
}

typedef struct linker_calls_taken {
    uint8_t *bytes;
    size_t size, stop; /* stop: at this many bytes, 0: never */
    cuvet_linker linker;
} linker_calls_taken;

static int take(void *user, const void *bytes, size_t size)
{
    linker_calls_taken *taken = user;

    ck_assert(taken && size > 0 && size <= (1 << 20) - taken->size);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, taken->linker, -1), CUVET_E_BUSY);
    memcpy(taken->bytes + taken->size, bytes, size);
    taken->size += size;
    return taken->stop != 0 && taken->size >= taken->stop;
}

static cuvet_callgraph_sink silent_sink(void)
{
    return (cuvet_callgraph_sink){
        .size = sizeof(cuvet_callgraph_sink), .function = on_function, .call = on_call, .raised = on_call
    };
}

static cuvet_status call(cuvet_ctx *ctx, cuvet_linker linker, unsigned which)
{
    const cuvet_callgraph_sink sink = silent_sink();
    const cuvet_link_sink pieces = { .size = sizeof(pieces), .write = take };
    const cuvet_diag diag = { .size = sizeof(diag) };
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_source src = { .size = sizeof(src) };
    const char *at;
    size_t count;

    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    switch (which) {
    case ADD: return cuvet_linker_add(ctx, linker, "bytes", 5, "name");
    case ADD_BORROWED: return cuvet_linker_add_borrowed(ctx, linker, "bytes", 5, "name");
    case ADD_SOURCE: return cuvet_linker_add_source(ctx, linker, &src, "name");
    case MODULE: return cuvet_linker_get_module(ctx, linker, 0, &at);
    case OTHER_SYMBOL: return cuvet_linker_get_symbol(ctx, linker, &diag, 1, &at, &count);
    case CALLGRAPH: return cuvet_linker_callgraph(ctx, linker, &sink);
    case NAME: return cuvet_linker_get_name(ctx, linker, 0, &at);
    case COMPLETE: return cuvet_linker_complete(ctx, linker);
    case RESULT: return cuvet_linker_get_result(ctx, linker, &result);
    case SAVE: return cuvet_linker_save(ctx, linker, AT_FDCWD, "name", 0);
    case WRITE: return cuvet_linker_write(ctx, linker, -1);
    case DELIVER: return cuvet_linker_deliver(ctx, linker, &pieces);
    case SYMBOL: return cuvet_linker_get_symbol(ctx, linker, &diag, 0, &at, &count);
    default: return cuvet_linker_destroy(ctx, &linker);
    }
}

START_TEST(handles)
{
    const lc_case *lcase = lc_find("single_file", "sm_80");
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&opts), stale = lc_linker(&opts), copy = stale;
    cuvet_ctx *other;
    cuvet_elf elf;
    size_t count;
    const uint8_t *bytes = lc_file(lcase->input[0], &count);

    ck_assert_int_eq(cuvet_ctx_create(NULL, &other), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_create(lc_ctx, bytes, count, &elf), CUVET_OK);
    lc_end(copy);
    for (unsigned i = 0; i < N_CALLS; i++) {
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ 0 }, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ UINT64_MAX }, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(lc_ctx, stale, i), CUVET_E_STALE_HANDLE);
        ck_assert_int_eq(call(lc_ctx, (cuvet_linker){ elf.bits }, i), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call(other, linker, i), CUVET_E_HANDLE);
        ck_assert_int_eq(call(NULL, linker, i), CUVET_E_NULL);
    }
    ck_assert_int_eq(cuvet_elf_destroy(lc_ctx, &(cuvet_elf){ linker.bits }), CUVET_E_HANDLE_KIND);
    lc_end(linker);
    cuvet_ctx_destroy(other);
}
END_TEST

START_TEST(nothing_given)
{
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = { 1 };
    const cuvet_diag diag = { .size = sizeof(diag) };
    cuvet_source src = { .size = sizeof(src) };
    const char *at;
    size_t count;

    ck_assert_int_eq(cuvet_linker_create(NULL, &opts, &linker), CUVET_E_NULL);
    ck_assert_uint_eq(linker.bits, 0);
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, NULL, &linker), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, NULL), CUVET_E_NULL);
    linker = lc_linker(&opts);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, NULL, 5, "name"), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, "bytes", 5, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_borrowed(lc_ctx, linker, NULL, 5, "name"), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_borrowed(lc_ctx, linker, "bytes", 5, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, NULL, "name"), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, &src, NULL), CUVET_E_NULL);
    src.size--;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, &src, "name"), CUVET_E_USAGE);
    src.size++;
    src.read_at = NULL;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, &src, "name"), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, AT_FDCWD, NULL, 0), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, NULL, 0, &at, &count), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, NULL, &count), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 1, &at, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, 0, &at), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &(cuvet_callgraph_sink){ 0 }), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_destroy(lc_ctx, NULL), CUVET_E_NULL);
    lc_end(linker);
}
END_TEST

/* The graph of a case, counted; what the reference prints for it is in tests/unit/api/test_linker.c. */
START_TEST(call_graphs)
{
    const lc_case *lcase = lc_find("stack_chain", "sm_80");
    cuvet_linker_options opts = lc_options("sm_80");
    cuvet_callgraph_sink sink = silent_sink();
    cuvet_linker linker = lc_linker(&opts);
    size_t count;

    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_E_STATE);
    for (unsigned i = 0; i < lcase->count; i++) {
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_OK);
    sink.user = &count; /* stops at once */
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_E_CANCELLED);
    lc_end(linker);
    opts.flags |= CUVET_LINK_RELOCATABLE;
    linker = lc_linker(&opts);
    for (unsigned i = 0; i < lcase->count; i++) {
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    sink.user = NULL;
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_E_STATE);
    lc_end(linker);
}
END_TEST

START_TEST(options)
{
    cuvet_linker_options opts = lc_options("sm_80"), good = opts;
    cuvet_linker linker;

    opts.size--;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_USAGE);
    ck_assert_uint_eq(linker.bits, 0);
    ck_assert_uint_eq(lc_n_said(), 1);
    ck_assert(lc_said("CV-API-001"));
    opts = good;
    opts.policy = CUVET_ARCH_EXACT + 1;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_USAGE);
    opts = good;
    opts.toolkit = 65536;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_USAGE);
    opts.toolkit = 65535;
    lc_end(lc_linker(&opts));
    opts = good;
    opts.n_kernels_used = 1;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_USAGE);
    opts = good;
    opts.flags |= CUVET_LINK_EXACT_RELOCATABLE;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_USAGE);
    opts.flags |= CUVET_LINK_RELOCATABLE;
    lc_end(lc_linker(&opts));
    opts = good;
    opts.target.sm = 77;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_ARCH);
    opts.target = (cuvet_target){ 0 };
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &opts, &linker), CUVET_E_ARCH);
    ck_assert_uint_eq(lc_n_said(), 1);
    opts.target.sm = 100;
    lc_end(lc_linker(&opts));
}
END_TEST

/* Taken, left out, refused: by the row of spec/places.def; what is no place is refused as well. */
START_TEST(places)
{
    static const cuvet_place TAKEN[] = { CUVET_PLACE_FILE, CUVET_PLACE_MEMBER, CUVET_PLACE_OBJECT,
                                         CUVET_PLACE_NAMED };
    static const cuvet_place LEFT[] = { CUVET_PLACE_FINISHED, CUVET_PLACE_PROGRAM, CUVET_PLACE_DATA,
                                        CUVET_PLACE_OFFLOAD };
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&opts);
    linker_state *body;

    ck_assert_int_eq(cv_linker_use(lc_ctx, linker, &body), CUVET_OK);
    for (unsigned place = 0; place < 100; place++) {
        cuvet_item item = { .place = (cuvet_place)place, .flags = place % 2 ? CUVET_ITEM_IN_CONTAINER : 0 };
        cuvet_status want = CUVET_E_REFUSED;

        item.where.n = place % 4 == 0 ? UINT32_MAX : place % 4; /* whatever a caller says */
        for (size_t i = 0; i < sizeof(TAKEN) / sizeof(TAKEN[0]); i++)
            want = TAKEN[i] == item.place ? CUVET_OK : want;
        for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
            want = LEFT[i] == item.place ? CUVET_END : want;
        ck_assert_int_eq(cv_linker_judge_place(body, &item), want);
    }
    ck_assert_int_eq(cv_linker_done(lc_ctx, linker, CUVET_OK), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_REFUSED); /* nothing to link */
    lc_end(linker);
}
END_TEST

/* Collecting, then linked or failed, for good. */
START_TEST(states)
{
    const lc_case *lcase = lc_find("single_file", "sm_80");
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&opts);
    cuvet_link_result result = { .size = sizeof(result), .n = 1 };
    const char *name = NULL;
    size_t count;
    const uint8_t *bytes = lc_file(lcase->input[0], &count);

    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_E_STATE);
    ck_assert(result.n == 0 && result.bytes == NULL);
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, 0, &name), CUVET_END);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "first"), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, 0, &name), CUVET_OK);
    ck_assert_str_eq(name, "first");
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, 1, &name), CUVET_END);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "late"), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert(result.n > 64 && result.objects == 1 && result.kernels == 1 && result.functions >= 1);
    lc_end(linker);
    linker = lc_linker(&opts);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_REFUSED); /* nothing to link */
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "late"), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_E_STATE);
    lc_end(linker);
}
END_TEST

/* The bytes and the name are copied; a diagnostic that points nowhere has no symbol. */
START_TEST(borrowed)
{
    const lc_case *lcase = lc_find("single_file", "sm_80");
    const cuvet_linker_options opts = lc_options("sm_80");
    static lc_object object;
    char name[] = "name";
    const char *at;
    cuvet_diag diag = { .where = { .n = 2 } };
    cuvet_linker linker = lc_linker(&opts);
    size_t count;

    lc_load(&object, lcase->input[0]);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object.bytes, object.size, name), CUVET_OK);
    memset(&object, 0xFF, sizeof(object));
    memset(name, 'x', 4);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, 0, &at), CUVET_OK);
    ck_assert_str_eq(at, "name");
    diag.where.step[0] = (cuvet_step){ CUVET_P_MEMBER, CUVET_STEP_INDEX, 0 };
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    diag.where.step[1] = (cuvet_step){ CUVET_P_SYMBOL, CUVET_STEP_INDEX, 1 };
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_OK);
    diag.where.step[1].index = UINT64_MAX;
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    diag.where.step[0].index = 1;
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    lc_end(linker);
}
END_TEST

/* Whatever somebody writes into a diagnostic: a symbol of an input, or none. A path has as many steps as
 * there is room for, whatever number it says. */
START_TEST(made_up_diagnostics)
{
    const lc_case *lcase = lc_find("single_file", "sm_80");
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&opts);
    cuvet_diag diag = { .where = { .n = 2 } };
    const uint8_t *bytes;
    unsigned found = 0;
    const char *at;
    size_t count;

    bytes = lc_file(lcase->input[0], &count);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "object"), CUVET_OK);
    diag.where.n = 1;
    diag.where.step[0] = (cuvet_step){ CUVET_P_MEMBER, CUVET_STEP_INDEX, 0 };
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 1, &at, &count), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    for (unsigned kinds = 0; kinds < 64; kinds++)
        for (uint64_t index = 0; index < 100; index++)
            for (unsigned which = 0; which < 2; which++) {
                diag.where.n = kinds & 1 ? UINT32_MAX : CUVET_PATH_MAX;
                for (unsigned i = 0; i < CUVET_PATH_MAX; i++)
                    diag.where.step[i] =
                        (cuvet_step){ i < 4 && kinds >> i & 1 ? CUVET_P_MEMBER : CUVET_P_SYMBOL,
                                      CUVET_STEP_INDEX, i < 2 ? index & kinds >> 4 : index };
                if (cuvet_linker_get_symbol(lc_ctx, linker, &diag, which, &at, &count) == CUVET_OK)
                    found += strlen(at) == count;
            }
    ck_assert_uint_gt(found, 10);
    for (unsigned i = 0; i < CUVET_PATH_MAX; i++)
        diag.where.step[i] = (cuvet_step){ CUVET_P_ELF, CUVET_STEP_INDEX, 0 };
    diag.where.n = UINT32_MAX; /* nothing behind the steps is read */
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, &diag, 0, &at, &count), CUVET_E_NO_MATCH);
    lc_end(linker);
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
static void all_ways(cuvet_linker linker, const char *want, bool write_first)
{
    char dir[SCRATCH_MAX], path[SCRATCH_MAX + 8];
    uint8_t *one = malloc(1 << 20), *two = malloc(1 << 20);
    cuvet_link_sink sink = { .size = sizeof(sink), .write = take };
    linker_calls_taken taken = { .bytes = two, .linker = linker };
    cuvet_link_result result = { .size = sizeof(result) };
    ssize_t got;
    size_t count;
    int fd, at;

    ck_assert(one && two);
    scratch_make(dir);
    at = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, at, "out", 0), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, linker, at), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    if (write_first)
        ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, at, "out", 0), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, at, "out", CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, at, "out", 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_linker_save(lc_ctx, linker, at, "a/b", 0), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, linker, at), CUVET_E_IO);
    (void)snprintf(path, sizeof(path), "%s/out", dir);
    fd = open(path, O_RDWR);
    got = read(fd, one, 1 << 20);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(cuvet_linker_write(lc_ctx, linker, fd), CUVET_OK);
    sink.user = &taken;
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, linker, &sink), CUVET_OK);
    ck_assert(taken.size == result.n && memcmp(taken.bytes, one, result.n) == 0);
    taken = (linker_calls_taken){ .bytes = two, .stop = 1, .linker = linker };
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, linker, &sink), CUVET_E_CANCELLED);
    sink.size = 0;
    ck_assert_int_eq(cuvet_linker_deliver(lc_ctx, linker, &sink), CUVET_E_USAGE);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert(read(fd, two, 1 << 20) == got && got == (ssize_t)result.n);
    ck_assert(lc_file(want, &count) && count > 64 && result.n > 64);
    ck_assert(memcmp(one, result.bytes, result.n) == 0 && memcmp(two, result.bytes, result.n) == 0);
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
    const cuvet_linker_options opts = lc_options("sm_80");

    for (unsigned i = 0; i < 2 * N(names); i++) {
        const lc_case *lcase = lc_find(names[i / 2], "sm_80");
        cuvet_linker linker = lc_linker(&opts);
        cuvet_source src = { .size = sizeof(src) };

        for (unsigned k = 0; k < lcase->count; k++) {
            static lc_object mine;
            const uint8_t *bytes;
            size_t count;

            lc_load(&mine, lcase->input[k]);
            bytes = lc_file(lcase->input[k], &count);
            ck_assert_int_eq(cuvet_source_memory(mine.bytes, mine.size, &src), CUVET_OK);
            ck_assert_int_eq(i % 2 ? cuvet_linker_add_source(lc_ctx, linker, &src, "object")
                                   : cuvet_linker_add(lc_ctx, linker, mine.bytes, mine.size, "object"),
                             CUVET_OK);
            ck_assert(memcmp(mine.bytes, bytes, count) == 0);
        }
        all_ways(linker, lcase->output, i % 2 == 0);
        lc_end(linker);
    }
}
END_TEST

START_TEST(bad_sources)
{
    const cuvet_linker_options opts = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&opts);
    cuvet_source src = { .size = sizeof(src), .length = 100, .read_at = never };

    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, &src, "object"), CUVET_E_IO);
    ck_assert(lc_said("CV-IO-001"));
    lc_forget();
    src.length = UINT64_MAX;
    ck_assert_int_eq(cuvet_linker_add_source(lc_ctx, linker, &src, "object"), CUVET_E_LIMIT);
    ck_assert_int_eq(cuvet_source_memory("bytes", 5, &src), CUVET_OK);
    ck_assert_int_ne(cuvet_linker_add_source(lc_ctx, linker, &src, "object"), CUVET_OK);
    lc_end(linker);
}
END_TEST

Suite *suite_linker_calls(void)
{
    Suite *suite = suite_create("linker calls");
    TCase *tcase = tcase_create("calls");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, handles);
    tcase_add_test(tcase, nothing_given);
    tcase_add_test(tcase, options);
    tcase_add_test(tcase, places);
    tcase_add_test(tcase, states);
    tcase_add_test(tcase, borrowed);
    tcase_add_test(tcase, made_up_diagnostics);
    tcase_add_test(tcase, ways_in_and_out);
    tcase_add_test(tcase, bad_sources);
    tcase_add_test(tcase, call_graphs);
    suite_add_tcase(suite, tcase);
    return suite;
}
