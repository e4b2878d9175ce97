/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Code generators that misbehave: each in its own way, each with its own message; what went in is as it was,
 * and nothing is left behind. The last tests take the real one, where it is installed. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "finalize/external.h"
#include "finalize/job.h"
#include "proc/external.h"
#include "support/scratch.h"

#define MAX_FILE (1u << 18)
#define N(table) (sizeof(table) / sizeof((table)[0]))
#define NONE     CV_N_RULES
#define OBJECT   "corpus/finalize/lines.sm_100.g.rdc.cubin"

static char dir[SCRATCH_MAX], nest[SCRATCH_MAX + 16], program[PATH_MAX];
static uint8_t bytes[MAX_FILE], before[MAX_FILE];
static size_t n_bytes;
static cv_ctx ctx;
static cuvet_diag last, note; /* the last error; the last note of the finalizer */
static unsigned n_errors;
static char said[1 << 17];
static uint8_t level_most;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (diag->severity == CUVET_ERROR) {
        last = *diag;
        n_errors++;
    }
    if (diag->rule == CV_R_FINAL_FASTPATH || diag->rule == CV_R_FINAL_SAME_MADE ||
        diag->rule == CV_R_FINAL_MADE)
        note = *diag;
}

static void keep_log(void *user, const char *log)
{
    (void)user;
    snprintf(said, sizeof(said), "%s", log);
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    ssize_t got = readlink("/proc/self/exe", program, sizeof(program) - 32);
    char *slash;

    ck_assert_int_gt(got, 0);
    program[got] = 0;
    slash = strrchr(program, '/');
    ck_assert_ptr_nonnull(slash);
    strcpy(slash, "/fake_compiler"); /* beside this binary */
    ck_assert_int_eq(access(program, X_OK), 0);
    scratch_make(dir);
    snprintf(nest, sizeof(nest), "%s/nest", dir);
    ck_assert_int_eq(mkdir(nest, 0700), 0);
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = emit;
    n_errors = 0;
    note = (cuvet_diag){ 0 };
    said[0] = 0;
    level_most = 2;
}

static int entries(const char *path)
{
    DIR *stream = opendir(path);
    int count = 0;

    ck_assert_ptr_nonnull(stream);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count - 2;
}

static void teardown(void)
{
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(entries(nest), 0);
    ck_assert_int_eq(rmdir(nest), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    errno = 0;
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no child, no zombie */
    ck_assert_int_eq(errno, ECHILD);
}

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    n_bytes = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert_uint_lt(n_bytes, sizeof(bytes));
    memcpy(before, bytes, n_bytes);
}

/* Finalize what is loaded for a target, by this program alone. */
static cuvet_status finalize(const char *path, uint32_t sm, cv_external *external, cv_block *out,
                             cv_final *code)
{
    cv_final_tool tool = { { sizeof(cuvet_compiler), cv_external_compile, external }, keep_log, NULL };
    const cv_backend_use use = { &cv_backend_external, &tool };
    const cv_final_options options = {
        .target_sm = sm, .level_most = level_most, .backend = &use, .n_backends = 1
    };
    cuvet_external conf = external->conf;
    cv_final_job job;
    cuvet_status status;

    conf.size = sizeof(conf);
    conf.path = path;
    conf.directory = nest;
    external->alloc = cv_alloc_default;
    ck_assert_int_eq(cv_external_check(&conf, &external->conf), CUVET_OK);
    cv_ctx_unit(&ctx, n_bytes);
    status = cv_final_run(&job, &ctx, &options, cv_span_of(bytes, n_bytes, 0), "input", out);
    *code = job.code;
    cv_final_end(&job);
    ck_assert_msg(memcmp(bytes, before, n_bytes) == 0, "the input was changed");
    return status;
}

typedef struct external_row {
    const char *name;
    cuvet_status status;
    cv_final code;
    cv_rule rule;
    uint64_t got;
} external_row;

static const external_row ROWS[] = {
    { "do=cubin", CUVET_OK, CV_FINAL_OK, NONE, 0 },
    { "do=exit7", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_FAILED, CV_R_BACKEND_FAILED, 7 },
    { "do=segv", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_CRASH, CV_R_BACKEND_CRASH, 11 },
    { "do=sleep", CUVET_E_LIMIT, CV_FINAL_BACKEND_TIMEOUT, CV_R_BACKEND_TIMEOUT, 1500 },
    { "do=loop", CUVET_E_LIMIT, CV_FINAL_BACKEND_TIMEOUT, CV_R_BACKEND_TIMEOUT, 1000 },
    { "do=none", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, 0 },
    { "do=empty", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, 0 },
    { "do=symlink", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, 0 },
    { "do=hardlink", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, 0 },
    { "do=fifo", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, 0 },
    { "do=size=600000", CUVET_E_LIMIT, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED, 500000 },
    { "do=size=9999999999", CUVET_E_LIMIT, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED, 500000 },
    { "do=nocode", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_NO_CODE, 43168 },
    { "do=size=4096", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_NO_CODE, 4096 },
    { "do=short", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_NO_CODE, 21584 },
    { "do=wrongsm", CUVET_E_REFUSED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER, 100 },
    { "do=kind", CUVET_E_REFUSED, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, 0 },
    { "do=symbols", CUVET_E_REFUSED, CV_FINAL_CHECK_TEXT, CV_R_FINAL_CHECK_TEXT, 0 },
    { "do=othercode", CUVET_E_REFUSED, CV_FINAL_CHECK_TEXT, CV_R_BACKEND_CAPSULE, 33 },
    { "do=brood", CUVET_OK, CV_FINAL_OK, NONE, 0 },
    { "do=hopper", CUVET_OK, CV_FINAL_OK, NONE, 0 },
    { "do=forks", CUVET_E_UNSUPPORTED, CV_FINAL_BACKEND_FAILED, CV_R_BACKEND_FAILED, 0 },
    { "do=flood", CUVET_OK, CV_FINAL_OK, NONE, 0 },
    { "do=closeall", CUVET_OK, CV_FINAL_OK, NONE, 0 },
};

START_TEST(misbehaves)
{
    const external_row *row = &ROWS[_i];
    bool sleeps = strcmp(row->name, "do=sleep") == 0;
    cv_external external = {
        .conf = { .deadline_ms = sleeps ? 1500 : 60000, .cpu_seconds = 1, .output = 500000, .processes = 16 }
    };
    cv_block out = { 0 };
    char path[128];
    cv_final code = CV_FINAL_OK;
    cuvet_status status;

    snprintf(path, sizeof(path), "%s/%s", dir, row->name);
    ck_assert_int_eq(symlink(program, path), 0);
    load(OBJECT);
    status = finalize(path, 103, &external, &out, &code);
    ck_assert_msg(status == row->status && code == row->code, "%s: status %d, code %d, %s", row->name, status,
                  code, n_errors ? cuvet_rule_get(last.rule)->id : "-");
    if (row->rule != NONE) {
        ck_assert_msg(last.rule == (cuvet_rule)row->rule, "%s: %s", row->name, cuvet_rule_get(last.rule)->id);
        ck_assert_msg(row->got == 0 || last.got == row->got, "%s: got %llu", row->name,
                      (unsigned long long)last.got);
        ck_assert_uint_eq(out.span.len, 0);
    } else {
        ck_assert_uint_eq(out.span.len, n_bytes);
        ck_assert_uint_eq(cv_u8_at(out.span, 49), 103);
    }
    if (strcmp(row->name, "do=flood") == 0)
        ck_assert_uint_le(strlen(said), 65536 + 80);
    cv_block_free(&ctx, &out);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static cuvet_status with_for(uint32_t sm, const char *how, cv_block *out, cv_final *code)
{
    cv_external external = { .conf = { .deadline_ms = 60000 } };
    char path[128];
    cuvet_status status;

    snprintf(path, sizeof(path), "%s/%s", dir, how);
    ck_assert_int_eq(symlink(program, path), 0);
    status = finalize(path, sm, &external, out, code);
    ck_assert_int_eq(unlink(path), 0);
    return status;
}

static cuvet_status with(const char *how, cv_block *out, cv_final *code)
{
    return with_for(103, how, out, code);
}

static uint64_t number(size_t off, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = width; i > 0; i--)
        value = value << 8 | bytes[off + i - 1];
    return value;
}

static size_t place_of(const char *name)
{
    size_t table = number(40, 8), names = number(table + 64 * number(62, 2) + 24, 8);

    for (size_t handle = table + 64; handle < table + 64 * number(60, 2); handle += 64)
        if (strcmp((const char *)bytes + names + number(handle, 4), name) == 0)
            return number(handle + 24, 8);
    ck_abort_msg("no section %s", name);
}

/* The mask of the input for sm_103, in its first byte. */
static size_t mask_at(void)
{
    size_t at = place_of(".nv.compat");

    while (bytes[at + 1] != 11)
        at += bytes[at] == 4 ? 4 + number(at + 2, 2) : 4;
    return at + 4;
}

/* Where the generator makes the very code of the input for the target, the input is the result, with a mask
 * that says so: its relocations are all there, which the reference linker's own file has lost. */
START_TEST(same_code)
{
    static uint8_t want[MAX_FILE];
    cv_block out = { 0 };
    cv_final code;

    load("corpus/samples/dynshared.sm_100.rdc.cubin");
    bytes[mask_at()] &= (uint8_t)~8u;
    memcpy(before, bytes, n_bytes);
    memcpy(want, bytes, n_bytes);
    want[49] = 103;
    want[mask_at()] |= 8;
    ck_assert_int_eq(with("do=cubin", &out, &code), CUVET_OK);
    ck_assert(cv_span_eq(out.span, cv_span_of(want, n_bytes, 0)));
    ck_assert_int_eq(note.rule, CV_R_FINAL_SAME_MADE); /* CV-FINAL-042 */
    ck_assert_uint_eq(note.got, 100);
    ck_assert_uint_eq(note.want, 103);
    cv_block_free(&ctx, &out);
}
END_TEST

/* For another family the generator's own file is the result, whatever its code: the input's .nv.info is about
 * another machine. */
START_TEST(other_family)
{
    cv_block out = { 0 };
    cv_final code;
    size_t level;

    load("corpus/samples/plain.sm_100.rdc.cubin");
    level = place_of(".nv.compat");
    while (bytes[level + 1] != 6)
        level += bytes[level] == 4 ? 4 + number(level + 2, 2) : 4;
    bytes[level + 2] = 4;
    memcpy(before, bytes, n_bytes);
    level_most = 4;
    ck_assert_int_eq(with_for(110, "do=named", &out, &code), CUVET_OK);
    ck_assert_int_eq(note.rule, CV_R_FINAL_MADE); /* CV-FINAL-043: none of its functions */
    ck_assert_uint_eq(note.got, 0);
    ck_assert_uint_ge(note.want, 1);
    ck_assert_uint_eq(cv_u8_at(out.span, 49), 110);
    ck_assert_uint_eq(cv_u8_at(out.span, mask_at()), bytes[mask_at()]);
    cv_block_free(&ctx, &out);
}
END_TEST

/* What a relocation overwrites may be anything in the generator's file; the operation in front of it may not,
 * and what no relocation overwrites neither. */
START_TEST(fields)
{
    enum { INSN = 0x70, AFTER = 0x80 }; /* of the relocation against 'head', of the instruction behind it */
    cv_block out = { 0 };
    char how[32];
    cv_final code;
    size_t text;

    load("corpus/samples/dynshared.sm_100.rdc.cubin");
    text = place_of(".text._Z9dynsharedPi");
    ck_assert_uint_eq(number(place_of(".rela.text._Z9dynsharedPi") + 24, 8), INSN);
    for (unsigned i = 0; i < 16; i++) {
        bool field = i >= 4 && i < 8;

        snprintf(how, sizeof(how), "do=flip=%zu", text + INSN + i);
        ck_assert_msg((with(how, &out, &code) == CUVET_OK) == field, "byte %u", i);
        ck_assert(field || (last.rule == CV_R_BACKEND_CAPSULE && code == CV_FINAL_CHECK_TEXT) ||
                  last.rule == CV_R_FINAL_OUTPUT_FORM);
        cv_block_free(&ctx, &out);
    }
    snprintf(how, sizeof(how), "do=flip=%zu", text + AFTER + 4);
    ck_assert_int_eq(with(how, &out, &code), CUVET_E_REFUSED);
}
END_TEST

/* It may write nowhere but in its directory, where the kernel can see to that. */
START_TEST(writes_outside)
{
    cv_external external = { .conf = { .deadline_ms = 5000 } };
    cv_block out = { 0 };
    char path[SCRATCH_MAX + 288], target[160];
    cv_final code;

    snprintf(target, sizeof(target), "%s/escaped", dir);
    snprintf(path, sizeof(path), "%s/do=outside=%s", dir, target);
    for (char *at = strstr(path, "outside="); (at = strchr(at, '/')) != NULL;)
        *at = ':';
    ck_assert_int_eq(symlink(program, path), 0);
    load(OBJECT);
    ck_assert_int_eq(finalize(path, 103, &external, &out, &code), CUVET_OK);
    if (strstr(said, "outside no") == NULL)
        fprintf(stderr, "SKIPPED: no Landlock here, the code generator can write outside: %s", said);
    ck_assert_ptr_nonnull(strstr(said, "null yes"));
    ck_assert_int_ne(access(target, F_OK), 0);
    cv_block_free(&ctx, &out);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(not_there)
{
    cv_external external = { .conf = { .deadline_ms = 5000 } };
    cv_block out = { 0 };
    cv_final code;

    load(OBJECT);
    ck_assert_int_eq(finalize("/nowhere/nvlink", 103, &external, &out, &code), CUVET_E_IO);
    ck_assert_int_eq(code, CV_FINAL_NO_BACKEND);
    ck_assert_int_eq(last.rule, CV_R_BACKEND_NOT_STARTED);
    ck_assert_uint_eq(last.got, ENOENT);
    ck_assert_uint_eq(last.want, 103);
}
END_TEST

/* Whoever takes only PTX says so. */
static cuvet_status only_ptx(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    bool *asked = user;

    *asked =
        req->kind == CUVET_K_CUBIN && req->n_options == 0 && req->sm == 103 && req->cancel && !*req->cancel;
    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    return CUVET_OK;
}

static cuvet_status probe_status(const char *path, uint32_t sm, cv_kind kind, cv_rule *rule)
{
    bool asked = false;
    cv_final_tool tool = { { sizeof(cuvet_compiler), only_ptx, &asked }, NULL, NULL };
    const cv_backend_use use = { &cv_backend_external, &tool };
    const cv_final_options options = {
        .target_sm = sm, .kind = kind, .level_most = 2, .backend = &use, .n_backends = 1
    };
    cv_block out = { 0 };
    cv_final_job job;
    cuvet_status status;

    load(path);
    cv_ctx_unit(&ctx, n_bytes);
    last = (cuvet_diag){ 0 };
    status = cv_final_run(&job, &ctx, &options, cv_span_of(bytes, n_bytes, 0), NULL, &out);
    *rule = (cv_rule)last.rule;
    cv_final_end(&job);
    cv_block_free(&ctx, &out);
    ck_assert_int_eq(asked, *rule == CV_R_BACKEND_UNSUPPORTED);
    return status;
}

START_TEST(what_it_takes)
{
    cv_rule rule;

    ck_assert_int_eq(probe_status(OBJECT, 103, CV_KIND_CAPMERC, &rule), CUVET_E_UNSUPPORTED);
    ck_assert_int_eq(rule, CV_R_BACKEND_UNSUPPORTED);
    ck_assert_int_eq(probe_status(OBJECT, 103, CV_KIND_SASS, &rule), CUVET_E_REFUSED);
    ck_assert_int_eq(probe_status(OBJECT, 120, CV_KIND_CAPMERC, &rule), CUVET_E_REFUSED);
    ck_assert_int_eq(rule, CV_R_FINAL_INCOMPATIBLE);
    ck_assert_int_eq(probe_status("corpus/finalize/lines.sm_100.lineinfo.cubin", 103, CV_KIND_CAPMERC, &rule),
                     CUVET_E_REFUSED); /* a program: nvlink would say success, and write nothing */
}
END_TEST

/* ---- the real one ---- */

static bool real_nvlink(char *path, size_t len)
{
    const char *at = getenv("PATH");

    for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        snprintf(path, len, "%.*s/nvlink", (int)strcspn(at, ":"), at);
        if (path[0] == '/' && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static bool runs_there(uint32_t sm)
{
    const cv_backend_use use[] = { { &cv_backend_copy, NULL }, { &cv_backend_strip, NULL } };
    const cv_final_options options = {
        .target_sm = sm, .level_most = 2, .backend = use, .n_backends = N(use)
    };
    unsigned errors = n_errors;
    cv_block out = { 0 };
    cv_final_job job;
    cuvet_status status;

    cv_ctx_unit(&ctx, n_bytes);
    status = cv_final_run(&job, &ctx, &options, cv_span_of(bytes, n_bytes, 0), NULL, &out);
    cv_final_end(&job);
    cv_block_free(&ctx, &out);
    ck_assert(status == CUVET_OK || last.rule == CV_R_FINAL_NEEDS_CODE);
    n_errors = errors;
    return status == CUVET_OK;
}

/* A shared variable: the real one makes the same code, and loses the relocation. */
START_TEST(real_same_code)
{
    cv_external external = { .conf = { .deadline_ms = 60000 } };
    cv_block out = { 0 };
    char path[PATH_MAX];
    cv_final code;

    if (!real_nvlink(path, sizeof(path))) {
        fprintf(stderr, "SKIPPED: no nvlink on PATH, the real code generator was not asked\n");
        return;
    }
    load("corpus/samples/dynshared.sm_100.rdc.cubin");
    bytes[mask_at()] &= (uint8_t)~8u;
    memcpy(before, bytes, n_bytes);
    ck_assert_int_eq(finalize(path, 103, &external, &out, &code), CUVET_OK);
    ck_assert_uint_eq(out.span.len, n_bytes);
    ck_assert_uint_eq(cv_u8_at(out.span, 49), 103);
    ck_assert_uint_eq(cv_u8_at(out.span, mask_at()), bytes[mask_at()] | 8);
    cv_block_free(&ctx, &out);
}
END_TEST

START_TEST(real)
{
    cv_external external = { .conf = { .deadline_ms = 60000 } };
    cv_block out = { 0 };
    char path[PATH_MAX];
    cv_final code;
    cuvet_status status;

    if (!real_nvlink(path, sizeof(path))) {
        fprintf(stderr, "SKIPPED: no nvlink on PATH, the real code generator was not asked\n");
        return;
    }
    load("corpus/finalize/wide.sm_100.rdc.cubin");
    ck_assert(!runs_there(103)); /* nothing but making the code again helps */
    status = finalize(path, 103, &external, &out, &code);
    ck_assert_msg(status == CUVET_OK, "status %d, code %d, %s, %s", status, code,
                  n_errors ? cuvet_rule_get(last.rule)->id : "-", said);
    ck_assert_uint_eq(cv_u8_at(out.span, 49), 103);
    ck_assert_uint_eq(cv_u8_at(out.span, 48), CV_KIND_CAPMERC);
    ck_assert_int_eq(note.rule, CV_R_FINAL_MADE);
    ck_assert_uint_ge(note.got, 1);
    ck_assert_uint_le(note.got, note.want);
    ck_assert(!cv_span_eq(cv_span_tail(out.span, 64), cv_span_of(bytes + 64, n_bytes - 64, 0)));
    cv_block_free(&ctx, &out);
}
END_TEST

Suite *suite_external(void);
Suite *suite_external(void)
{
    Suite *suite = suite_create("external");
    TCase *tcase = tcase_create("external");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, misbehaves, 0, (int)N(ROWS));
    tcase_add_test(tcase, same_code);
    tcase_add_test(tcase, other_family);
    tcase_add_test(tcase, fields);
    tcase_add_test(tcase, writes_outside);
    tcase_add_test(tcase, not_there);
    tcase_add_test(tcase, what_it_takes);
    tcase_add_test(tcase, real);
    tcase_add_test(tcase, real_same_code);
    suite_add_tcase(suite, tcase);
    return suite;
}
