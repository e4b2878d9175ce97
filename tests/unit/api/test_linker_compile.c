/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX into a link, through a compiler of the caller's that does what it is told; and how that is misused. */
#include <stdlib.h>

#include "link_fixture.h"
#include "support/heap.h"

enum { MOST_BYTES = 1 << 16, MOST_EVENTS = 8 };

/* A compiler that gives what it is told to give, and the options and texts that it saw. */
typedef struct linker_compile_fake {
    cuvet_compile_result give;
    cuvet_status status;
    char options[200], text[2048], file[64], log[64];
    uint32_t sm;
    cuvet_kind kind;
    unsigned calls, released, logs;
    cuvet_ctx *ctx; /* to be called from inside, which is refused */
    cuvet_linker linker;
    cuvet_status inside;
} linker_compile_fake;

typedef struct linker_compile_heard {
    cuvet_event_kind kind[MOST_EVENTS];
    unsigned count;
} linker_compile_heard;

static uint8_t given[MOST_BYTES], file_bytes[MOST_BYTES];

static size_t load(const char *name, uint8_t *bytes)
{
    char path[256];
    FILE *file;
    size_t size;

    (void)snprintf(path, sizeof(path), "corpus/samples/%s", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    size = fread(bytes, 1, MOST_BYTES, file);
    ck_assert(size > 0 && size < MOST_BYTES && fclose(file) == 0);
    return size;
}

static void released(cuvet_compile_result *result, void *user)
{
    (void)result;
    ((linker_compile_fake *)user)->released++;
}

static cuvet_status compile(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    linker_compile_fake *fake = user;
    size_t count = request->n < sizeof(fake->text) ? request->n : sizeof(fake->text) - 1;

    fake->calls++;
    fake->options[0] = 0;
    for (size_t i = 0; i < request->n_options; i++) {
        strcat(fake->options, "[");
        strcat(fake->options, request->option[i]);
        strcat(fake->options, "]");
    }
    memcpy(fake->text, request->bytes, count);
    fake->text[count] = 0;
    fake->sm = request->sm;
    fake->kind = request->kind;
    if (fake->ctx)
        fake->inside = cuvet_linker_complete(fake->ctx, fake->linker);
    *out = fake->give;
    out->release = released;
    return fake->status;
}

static void on_log(void *user, const char *file, const char *member, const char *text)
{
    linker_compile_fake *fake = user;

    fake->logs++;
    ck_assert_ptr_null(member);
    (void)snprintf(fake->file, sizeof(fake->file), "%s", file);
    (void)snprintf(fake->log, sizeof(fake->log), "%s", text);
}

static void on_event(void *user, const cuvet_event *event)
{
    linker_compile_heard *heard = user;

    ck_assert_uint_lt(heard->count, MOST_EVENTS);
    heard->kind[heard->count++] = event->kind;
}

static linker_compile_fake fake_giving(const char *file)
{
    linker_compile_fake fake = { .give = { .size = sizeof(fake.give) } };

    if (file) {
        fake.give.n = load(file, given);
        fake.give.bytes = given;
    }
    return fake;
}

/* One file into a link whose compiler is the fake. */
static cuvet_status add_with(linker_compile_fake *fake, const char *target, unsigned flags, const char *file,
                             linker_compile_heard *heard, cuvet_linker *out)
{
    static const char *const OPTIONS[] = { "--maxrregcount=40", "-v" };
    const cuvet_compiler compiler = { sizeof(compiler), compile, fake };
    cuvet_linker_options options = lc_options(target);
    size_t size = load(file, file_bytes);
    cuvet_status status;

    *heard = (linker_compile_heard){ .count = 0 };
    options.flags = flags;
    options.compiler = &compiler;
    options.compiler_options = OPTIONS;
    options.n_compiler_options = N(OPTIONS);
    options.compiler_log = on_log;
    options.compiler_user = fake;
    options.event = on_event;
    options.event_user = heard;
    *out = lc_linker(&options);
    fake->linker = *out;
    status = cuvet_linker_add_memory(lc_ctx, *out, file_bytes, size, file, NULL);
    memset(file_bytes, 0xA5, sizeof(file_bytes)); /* nothing of it is kept */
    return status;
}

/* Text in a container and as a file; what came of it is as if the compiled file had been given. */
START_TEST(compiled)
{
    static const char *const FILES[] = { "ptx-only.fatbin", "plain.ptx" };
    linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
    linker_compile_heard heard;
    cuvet_link_result result = { .size = sizeof(result) }, plain = { .size = sizeof(plain) };
    const cuvet_linker_options options = lc_options("sm_90");
    cuvet_linker linker, other = lc_linker(&options);
    bool file = _i == 1;

    fake.give.log = (char *)"ptxas info: \033[31mx\n";
    fake.give.n_log = strlen(fake.give.log);
    ck_assert_int_eq(add_with(&fake, "sm_90", 0, FILES[_i], &heard, &linker), CUVET_OK);
    ck_assert(fake.calls == 1 && fake.released == 1 && fake.sm == 90 && fake.kind == CUVET_K_PTX);
    ck_assert_str_eq(fake.options, "[--maxrregcount=40][-v]");
    ck_assert_ptr_nonnull(strstr(fake.text, ".target sm_75"));
    ck_assert_str_eq(fake.file, FILES[_i]);
    ck_assert_str_eq(fake.log, "ptxas info: ?[31mx\n");
    ck_assert(heard.count == (file ? 2u : 1u) && heard.kind[heard.count - 1] == CUVET_EVENT_COMPILED);
    ck_assert(lc_said("CV-LINK-120") == file);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, other, given, fake.give.n, "other"), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, other), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, other, &plain), CUVET_OK);
    ck_assert(result.n == plain.n && memcmp(result.bytes, plain.bytes, plain.n) == 0);
    lc_end(other);
    lc_end(linker);
}
END_TEST

/* -g of the link is the compiler's as well, in front of what the caller gives. */
START_TEST(debug)
{
    linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
    linker_compile_heard heard;
    cuvet_linker linker;

    ck_assert_int_eq(add_with(&fake, "sm_90", CUVET_LINK_DEBUG, "ptx-only.fatbin", &heard, &linker),
                     CUVET_OK);
    ck_assert_str_eq(fake.options, "[--device-debug][--maxrregcount=40][-v]");
    ck_assert_uint_eq(fake.logs, 0); /* it said nothing */
    lc_end(linker);
}
END_TEST

/* The compiler is asked where PTX is the best there is, and nowhere else. */
START_TEST(not_asked)
{
    static const struct {
        const char *target, *file, *id;
        cuvet_status want;
    } ROWS[] = {
        { "sm_90", "none.fatbin", "CV-ADMIT-003", CUVET_E_REFUSED },  /* has code, finished */
        { "sm_90", "multi.fatbin", "CV-ADMIT-003", CUVET_E_REFUSED }, /* the same, and PTX for 120 */
        { "sm_75", "none.fatbin", "CV-INPUT-001", CUVET_E_NO_MATCH }, /* PTX for 90 */
        { "sm_75", "long-names.a", NULL, CUVET_OK },                  /* SASS and PTX of one number */
        { "sm_75", "host-two_a.o", NULL, CUVET_OK },
        { "sm_75", "plain.sm_75.rdc.cubin", NULL, CUVET_OK },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
        linker_compile_heard heard;
        cuvet_linker linker;

        lc_forget();
        ck_assert_msg(add_with(&fake, ROWS[i].target, 0, ROWS[i].file, &heard, &linker) == ROWS[i].want,
                      "row %zu", i);
        ck_assert_uint_eq(fake.calls, 0);
        ck_assert_msg(!ROWS[i].id || lc_said(ROWS[i].id), "row %zu", i);
        lc_end(linker);
    }
}
END_TEST

/* Whatever a compiler does wrong has its rule, names the PTX, and leaves nothing in the link. */
START_TEST(bad_compilers)
{
    static const struct {
        cuvet_compile_end end;
        const char *file; /* output */
        const char *id;
        cuvet_status want;
    } ROWS[] = {
        { CUVET_COMPILE_FAILED, NULL, "CV-COMPILE-003", CUVET_E_COMPILER },
        { CUVET_COMPILE_CRASHED, NULL, "CV-COMPILE-004", CUVET_E_COMPILER },
        { CUVET_COMPILE_TIMEOUT, NULL, "CV-COMPILE-005", CUVET_E_COMPILER },
        { CUVET_COMPILE_EMPTY, NULL, "CV-COMPILE-006", CUVET_E_COMPILER },
        { CUVET_COMPILED, NULL, "CV-COMPILE-006", CUVET_E_COMPILER },
        { CUVET_COMPILE_OVERSIZED, NULL, "CV-COMPILE-007", CUVET_E_COMPILER },
        { CUVET_COMPILE_NOT_FOUND, NULL, "CV-COMPILE-008", CUVET_E_COMPILER },
        { CUVET_COMPILE_UNSUPPORTED, NULL, "CV-COMPILE-009", CUVET_E_COMPILER },
        { (cuvet_compile_end)77, NULL, "CV-COMPILE-003", CUVET_E_COMPILER },
        { CUVET_COMPILE_CANCELLED, NULL, NULL, CUVET_E_CANCELLED },
        { CUVET_COMPILED, "plain.ptx", "CV-INPUT-010", CUVET_E_MALFORMED },
        { CUVET_COMPILED, "plain.sm_75.rdc.cubin", "CV-ADMIT-005", CUVET_E_REFUSED },
        { CUVET_COMPILED, "plain.sm_86.rdc.cubin", "CV-INPUT-009", CUVET_E_REFUSED },
        { CUVET_COMPILED, "plain.sm_89.cubin", "CV-ADMIT-003", CUVET_E_REFUSED },
    };
    static const char *const FILES[] = { "ptx-only.fatbin", "plain.ptx" };

    for (size_t i = 0; i < N(ROWS) * N(FILES); i++) {
        const char *file = FILES[i / N(ROWS)];
        linker_compile_fake fake = fake_giving(ROWS[i % N(ROWS)].file);
        linker_compile_heard heard;
        cuvet_linker linker;

        lc_forget();
        fake.give.end = ROWS[i % N(ROWS)].end;
        fake.give.detail = 5;
        ck_assert_msg(add_with(&fake, "sm_89", 0, file, &heard, &linker) == ROWS[i % N(ROWS)].want, "row %zu",
                      i);
        ck_assert(fake.calls == 1 && fake.released == 1);
        ck_assert_msg(!ROWS[i % N(ROWS)].id || lc_said(ROWS[i % N(ROWS)].id), "row %zu", i);
        if (ROWS[i % N(ROWS)].id && file == FILES[0]) {
            const cuvet_diag *diag = lc_diag(ROWS[i % N(ROWS)].id);

            ck_assert(diag->where.n >= 2 && diag->where.step[0].kind == CUVET_P_FATBIN &&
                      diag->where.step[1].kind == CUVET_P_ENTRY);
        }
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_REFUSED);
        ck_assert(lc_said("CV-LINK-014"));
        lc_end(linker);
    }
}
END_TEST

/* Every byte of what comes back is a stranger's: a link, or a refusal that names a rule, and no more. */
START_TEST(damaged)
{
    size_t size = load("plain.sm_90.rdc.cubin", given), linked = 0, refused = 0;

    for (size_t at = 0; at < size; at += 7) {
        linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
        linker_compile_heard heard;
        cuvet_linker linker;
        cuvet_status status;

        lc_forget();
        given[at] ^= 0x41;
        status = add_with(&fake, "sm_90", 0, "ptx-only.fatbin", &heard, &linker);
        ck_assert_int_ne(status, CUVET_E_INTERNAL);
        ck_assert_msg(status == CUVET_OK || lc_n_said() > 0, "byte %zu: status %d", at, (int)status);
        linked += status == CUVET_OK;
        refused += status != CUVET_OK;
        lc_end(linker);
    }
    ck_assert(linked > 10 && refused > 100);
}
END_TEST

START_TEST(misuse)
{
    static const char *const EMPTY[] = { "-v", "" }, *const HOLE[] = { "-v", NULL };
    linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
    const cuvet_compiler compiler = { sizeof(compiler), compile, &fake };
    const cuvet_compiler no_function = { .size = sizeof(no_function) }, no_size = { 0, compile, &fake };
    cuvet_linker_options options = lc_options("sm_90");
    linker_compile_heard heard;
    cuvet_linker linker;

    options.compiler = &no_function;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    options.compiler = &no_size;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    options.compiler = &compiler;
    options.n_compiler_options = 1;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    options.n_compiler_options = 2;
    options.compiler_options = EMPTY;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    options.compiler_options = HOLE;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    options.n_compiler_options = 1;
    options.compiler = NULL;
    ck_assert_int_eq(cuvet_linker_create(lc_ctx, &options, &linker), CUVET_E_USAGE);
    ck_assert(linker.bits == 0 && fake.calls == 0);
    /* It calls the linker that asks it. */
    fake.ctx = lc_ctx;
    ck_assert_int_eq(add_with(&fake, "sm_90", 0, "ptx-only.fatbin", &heard, &linker), CUVET_OK);
    ck_assert_int_eq(fake.inside, CUVET_E_BUSY);
    lc_end(linker);
    /* A status that no compiler has. */
    fake = fake_giving("plain.sm_90.rdc.cubin");
    fake.status = CUVET_E_MALFORMED;
    ck_assert_int_eq(add_with(&fake, "sm_90", 0, "ptx-only.fatbin", &heard, &linker), CUVET_E_INTERNAL);
    ck_assert_uint_eq(fake.released, 1);
    lc_end(linker);
    fake.status = CUVET_E_NOMEM;
    ck_assert_int_eq(add_with(&fake, "sm_90", 0, "ptx-only.fatbin", &heard, &linker), CUVET_E_NOMEM);
    lc_end(linker);
}
END_TEST

/* More options than the limits let through: refused with the rule, and the compiler is not asked. */
START_TEST(too_many_options)
{
    static const char *many[4096];
    linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
    const cuvet_compiler compiler = { sizeof(compiler), compile, &fake };
    cuvet_linker_options options = lc_options("sm_90");
    cuvet_linker linker;
    size_t size = load("ptx-only.fatbin", file_bytes);

    for (size_t i = 0; i < N(many); i++)
        many[i] = "-v";
    options.compiler = &compiler;
    options.compiler_options = many;
    options.n_compiler_options = N(many);
    linker = lc_linker(&options);
    ck_assert_int_eq(cuvet_linker_add_memory(lc_ctx, linker, file_bytes, size, "x", NULL), CUVET_E_LIMIT);
    ck_assert(fake.calls == 0 && lc_said("CV-LIMIT-017"));
    lc_end(linker);
}
END_TEST

static cuvet_status link_once(cuvet_ctx *ctx, linker_compile_fake *fake, const char *file)
{
    const cuvet_compiler compiler = { sizeof(compiler), compile, fake };
    cuvet_linker_options options = { .size = sizeof(options), .compiler = &compiler };
    size_t size = load(file, file_bytes);
    cuvet_linker linker;
    cuvet_status status;

    ck_assert_int_eq(cuvet_target_parse("sm_90", &options.target), CUVET_OK);
    status = cuvet_linker_create(ctx, &options, &linker);
    if (status != CUVET_OK)
        return status;
    status = cuvet_linker_add_memory(ctx, linker, file_bytes, size, file, NULL);
    if (status == CUVET_OK)
        status = cuvet_linker_complete(ctx, linker);
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
    return status;
}

/* The Nth allocation fails, alone and with all later ones. */
START_TEST(faults)
{
    static const char *const FILES[] = { "ptx-only.fatbin", "plain.ptx" };
    linker_compile_fake fake = fake_giving("plain.sm_90.rdc.cubin");
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
    unsigned long failures = 0;
    bool more = true;
    cuvet_ctx *ctx;

    fake.give.log = (char *)"said";
    fake.give.n_log = 4;
    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    for (unsigned long count = 1; more; count++) {
        for (unsigned all = 0; all < 2; all++) {
            cuvet_status status;

            fake.calls = fake.released = 0;
            heap_fail(&heap, count, all != 0);
            status = link_once(ctx, &fake, FILES[_i]);
            heap_mend(&heap);
            more = heap.failed != 0;
            failures += status == CUVET_E_NOMEM;
            ck_assert_msg(status == CUVET_OK || status == CUVET_E_NOMEM || status == CUVET_E_LIMIT,
                          "allocation %lu: status %d", count, (int)status);
            ck_assert_uint_eq(fake.calls, fake.released);
        }
    }
    ck_assert_uint_gt(failures, 10);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(heap.live, 0);
}
END_TEST

Suite *suite_linker_compile(void);
Suite *suite_linker_compile(void)
{
    Suite *suite = suite_create("linker_compile");
    TCase *tcase = tcase_create("compile");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, compiled, 0, 2);
    tcase_add_test(tcase, debug);
    tcase_add_test(tcase, not_asked);
    tcase_add_test(tcase, bad_compilers);
    tcase_add_test(tcase, damaged);
    tcase_add_test(tcase, misuse);
    tcase_add_test(tcase, too_many_options);
    tcase_add_loop_test(tcase, faults, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
