/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is chosen of a fat binary: a file that the input puts together of code for many machines, in one or
 * more containers, now and then inside of members, selected for any target. Which member it is says
 * tests/model/select.c, which is the sheet; what is given out is that code, unless it is broken or no
 * object for a linker. Limits that just suffice change nothing, one less is said. Or it is scanned, with
 * headers that say something else than their code does (fatbin.md sections 4 and 6), and containers that
 * begin in the last bytes of code. Bytes: target, what is asked of the limits, depth; two for each member. */
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "model/select.h"
#include "scanner.h"

FZ_CARRY(cv_code_of_choices, CV_FUZZ_CHOICES);

typedef struct choices_code {
    uint32_t sm;
    char suffix;
    bool linkable;
    uint32_t end; /* of its last function */
    uint32_t header, header_size, off, size;
} choices_code;

#define CODE(sm, suffix, linkable, end, header, header_size, off, size)                                      \
    { sm, suffix, linkable, end, header, header_size, off, size },
static const choices_code CODES[] = {
#include "choices.inc"
};
#undef CODE

enum { MOST_BYTES = 1 << 17, MEMBERS = 6, CONTAINER = 16, MEMBER = 64, PAD = 15, RULES = 6 };
enum { ROOMY, CANDIDATES, CANDIDATES_LESS, INPUT, INPUT_LESS, DEPTH, DEPTH_LESS, AMONG_TEXT, SCANNED, ASKS };

typedef struct choices_run {
    uint8_t bytes[MOST_BYTES];
    size_t size, begin; /* of the container at hand */
    md_member member[MEMBERS];
    const choices_code *code[MEMBERS];
    bool broken[MEMBERS];
    unsigned count, asks, depth;
    cuvet_target target;
    unsigned said[RULES];
} choices_run;

static const char *const SAID[RULES] = { "CV-INPUT-005", "CV-INPUT-006", "CV-LIMIT-019",
                                         "CV-LIMIT-001", "CV-LIMIT-008", "CV-ADMIT-003" };
enum { OTHER, EQUAL, TOO_MANY, TOO_LARGE, TOO_DEEP, FINISHED };

static void append(choices_run *run, const void *bytes, size_t size)
{
    run->size = fz_append(run->bytes, sizeof(run->bytes), run->size, bytes, size);
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void begin_container(choices_run *run)
{
    static const uint8_t HEAD[CONTAINER] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, CONTAINER };

    run->begin = run->size;
    append(run, HEAD, sizeof(HEAD));
}

static void end_container(choices_run *run)
{
    put(run->bytes + run->begin + 8, run->size - run->begin - CONTAINER, 8);
}

static void append_member(choices_run *run, const uint8_t *header, size_t header_size, const uint8_t *bytes,
                          size_t size)
{
    static const uint8_t ZEROS[8] = { 0 };
    size_t at = run->size;

    append(run, header, header_size);
    append(run, bytes, size);
    append(run, ZEROS, (8 - size % 8) % 8);
    put(run->bytes + at + 8, run->size - at - header_size, 8);
}

/* The whole file as the content of a member for the target. */
static void nest(choices_run *run)
{
    uint8_t header[MEMBER] = { 2, 0, 1, 1, MEMBER, [0x18] = 8, 0, 1, 0, 0, [0x28] = 0x11 };
    uint8_t *inner = malloc(run->size);
    size_t size = run->size;

    FZ_CHECK(inner != NULL, "memory");
    memcpy(inner, run->bytes, size);
    put(header + 0x1C, run->target.sm, 4);
    header[0x2B] = run->target.sm >= 100; /* it has a capsule */
    if (run->target.suffix)
        header[0x2A] = run->target.suffix == 'a' ? 0x10 : 0x20;
    run->size = 0;
    begin_container(run);
    append_member(run, header, sizeof(header), inner, size);
    end_container(run);
    free(inner);
}

static void draw(choices_run *run, fz_ops *ops)
{
    uint32_t container = 0;

    begin_container(run);
    while (run->count < MEMBERS && (run->count == 0 || fz_ops_left(ops))) {
        uint8_t what = fz_u8(ops), how = fz_u8(ops);
        const choices_code *code = &CODES[what % CV_COUNT(CODES)];
        size_t body;

        if (run->count > 0 && (how & 3) == 3) {
            end_container(run);
            begin_container(run);
            container++;
        }
        run->code[run->count] = code;
        run->broken[run->count] = (how & 0x70) == 0x70;
        run->member[run->count] =
            (md_member){ .wide = true, .sm = code->sm, .suffix = code->suffix, .container = container };
        append_member(run, cv_code_of_choices + code->header, code->header_size,
                      cv_code_of_choices + code->off, code->size);
        body = run->size - (code->size + 7) / 8 * 8;
        if (run->broken[run->count])
            run->bytes[body + PAD] = 1; /* the last byte of e_ident */
        run->count++;
    }
    end_container(run);
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    choices_run *run = user;

    for (unsigned i = 0; i < RULES; i++) {
        cuvet_rule rule;

        FZ_CHECK(cuvet_rule_find(SAID[i], &rule) == CUVET_OK, "a rule");
        run->said[i] += diag->rule == rule;
    }
}

static unsigned best_of(const choices_run *run, const md_target *target, bool first)
{
    unsigned best = MEMBERS;

    for (unsigned i = 0; i < run->count; i++)
        if (md_fits(&run->member[i], target) && (!first || run->member[i].container == 0) &&
            (best == MEMBERS || md_is_before(&run->member[i], i, &run->member[best], best, target)))
            best = i;
    return best;
}

/* "Another container holds an equally good member" */
static bool has_equal(const choices_run *run, const md_target *target, unsigned best)
{
    bool found = false;

    for (unsigned i = 0; i < run->count; i++)
        found = found || (i != best && run->member[i].container != run->member[best].container &&
                          md_fits(&run->member[i], target) && run->member[i].sm == run->member[best].sm &&
                          run->member[i].suffix == run->member[best].suffix);
    return found;
}

static void check_result(const choices_run *run, cuvet_ctx *ctx, cuvet_select handle, unsigned best)
{
    cuvet_select_result result = { .size = sizeof(result) };
    const choices_code *code = run->code[best];
    bool own = code->sm == run->target.sm;

    FZ_CHECK(cuvet_select_get_result(ctx, handle, &result) == CUVET_OK, "a result");
    FZ_CHECK(run->depth > 0 || result.candidate == best, "the best is chosen");
    FZ_CHECK(!own || (result.n == code->size &&
                      memcmp(result.bytes, cv_code_of_choices + code->off, result.n) == 0),
             "and given out as it is");
}

static void check(choices_run *run, cuvet_ctx *ctx, cuvet_select handle)
{
    const md_target target = {
        .sm = run->target.sm, .suffix = run->target.suffix, .sass = true, .ptx = true
    };
    unsigned best = best_of(run, &target, false);
    cuvet_status status = cuvet_select_run(ctx, handle), expected;

    expected = best == MEMBERS              ? CUVET_E_NO_MATCH
               : run->broken[best]          ? CUVET_E_MALFORMED
               : !run->code[best]->linkable ? CUVET_E_REFUSED
                                            : CUVET_OK;
    if (run->asks == DEPTH_LESS && run->depth > 0)
        expected = CUVET_E_LIMIT;
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "sm_%u%c, %u members, depth %u, asks %u: best %u, status %d, expected %d\n",
                      run->target.sm, run->target.suffix ? run->target.suffix : ' ', run->count, run->depth,
                      run->asks, best, (int)status, (int)expected);
    FZ_CHECK(status == expected, "what comes of the best");
    FZ_CHECK((run->said[TOO_DEEP] > 0) == (expected == CUVET_E_LIMIT), "too deep is said");
    FZ_CHECK((run->said[FINISHED] > 0) == (expected == CUVET_E_REFUSED),
             "a program is refused for being one");
    if (status == CUVET_OK)
        check_result(run, ctx, handle, best);
    if (run->depth == 0 && best != MEMBERS) {
        FZ_CHECK((run->said[OTHER] > 0) == (best_of(run, &target, true) != best),
                 "what the reference would take is said");
        FZ_CHECK((run->said[EQUAL] > 0) == has_equal(run, &target, best), "what is as good is said");
    }
}

/* A fat binary behind a text, in a member of an archive, where no tool looks. */
static void hide(choices_run *run)
{
    static const char TEXT[] = "Read me first.\n\n";
    char header[FZ_AR_HEADER + 1];
    size_t front = 8 + FZ_AR_HEADER + sizeof(TEXT) - 1;

    FZ_CHECK(front + run->size + 1 <= sizeof(run->bytes), "room");
    memmove(run->bytes + front, run->bytes, run->size);
    fz_ar_header(header, "text/", run->size + sizeof(TEXT) - 1);
    memcpy(run->bytes, "!<arch>\n", 8);
    memcpy(run->bytes + 8, header, FZ_AR_HEADER);
    memcpy(run->bytes + 8 + FZ_AR_HEADER, TEXT, sizeof(TEXT) - 1);
    run->size += front;
}

/* ---- a scan of headers that do not agree ---- */

enum {
    AGREES,
    OTHER_SUFFIX,
    OTHER_MACHINE,
    OTHER_KIND,
    SUFFIXES = 0x300000,
    LZ4 = 0x2000,
    CODE_MOST = 1 << 14
};

typedef struct choices_said {
    bool suffix, machine, twice, hidden; /* what has to be said */
    uint64_t target[MEMBERS];            /* of the members of this container: kind, number and suffix */
    unsigned count;
} choices_said;

/* The code; 'inside' bytes of a container's first word may be the last ones of a function. */
static size_t unpacked(const choices_code *code, unsigned inside, uint8_t *out)
{
    static const uint8_t HEAD[CONTAINER] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, CONTAINER };

    FZ_CHECK(code->size <= CODE_MOST && code->end + CONTAINER <= code->size, "a function is not the last");
    memcpy(out, cv_code_of_choices + code->off, code->size);
    if (inside)
        memcpy(out + code->end - inside, HEAD, sizeof(HEAD));
    return code->size;
}

static void append_scanned(choices_run *run, choices_said *said, const choices_code *code, uint8_t how)
{
    uint8_t header[256], content[CODE_MOST], packed[LZ4_COMPRESSBOUND(CODE_MOST)];
    unsigned edit = how >> 2 & 3, inside = edit == AGREES && (how & 0x80) ? how >> 4 & 3 : 0;
    size_t size = unpacked(code, inside, content);
    uint64_t flags, target;
    int stored = (how & 0x80) ? LZ4_compress_default((const char *)content, (char *)packed, (int)size,
                                                     (int)sizeof(packed))
                              : 0;

    FZ_CHECK(code->header_size <= sizeof(header), "a header has room");
    memcpy(header, cv_code_of_choices + code->header, code->header_size);
    flags = header[0x28] | (uint64_t)header[0x29] << 8 | (uint64_t)header[0x2A] << 16;
    if (edit == OTHER_SUFFIX) /* none, 'a', 'f' */
        flags = (flags & SUFFIXES) == 0          ? flags | 0x100000
                : (flags & SUFFIXES) == 0x100000 ? flags ^ SUFFIXES
                                                 : flags & ~(uint64_t)SUFFIXES;
    if (edit == OTHER_MACHINE)
        put(header + 0x1C, code->sm + 1, 4);
    if (edit == OTHER_KIND)
        put(header, 1, 2);
    put(header + 0x28, stored ? flags | LZ4 : flags, 3);
    put(header + 0x10, (uint64_t)stored, 4);
    put(header + 0x38, stored ? size : 0, 8);
    append_member(run, header, code->header_size, stored ? packed : content, stored ? (size_t)stored : size);
    said->suffix = said->suffix || edit == OTHER_SUFFIX;
    said->machine = said->machine || edit == OTHER_MACHINE;
    said->hidden = said->hidden || inside != 0;
    target =
        (uint64_t)header[0] << 48 | (uint64_t)(header[0x1C] | header[0x1D] << 8) << 32 | (flags & SUFFIXES);
    for (unsigned i = 0; i < said->count; i++)
        said->twice = said->twice || said->target[i] == target;
    said->target[said->count++] = target;
}

static bool is_said(const choices_run *run, const char *rule)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_alloc alloc = { 0 };
    fz_input in;
    fz_scan scan = { .in = &in, .depth = CUVET_DEPTH_FULL, .jobs = 1, .claims = true };

    fz_open(&in, run->bytes, run->size);
    FZ_CHECK(cuvet_limits_preset("strict", &lim) == CUVET_OK, "limits");
    FZ_CHECK(cuvet_rule_find(rule, &scan.wanted) == CUVET_OK, "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    FZ_CHECK(scan.status == CUVET_END && fz_scan_covered(&scan), "every byte of the file has one owner");
    fz_scan_free(&scan);
    fz_close(&in);
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "%s: %u times\n", rule, (unsigned)scan.n_wanted);
    return scan.n_wanted > 0;
}

static void scan_drawn(choices_run *run, fz_ops *ops)
{
    choices_said said = { 0 };

    begin_container(run);
    for (unsigned i = 0; i < MEMBERS && (i == 0 || fz_ops_left(ops)); i++) {
        const choices_code *code = &CODES[fz_u8(ops) % CV_COUNT(CODES)];
        uint8_t how = fz_u8(ops);

        if (said.count > 0 && (how & 3) == 3) {
            end_container(run);
            begin_container(run);
            said.count = 0;
        }
        append_scanned(run, &said, code, how);
    }
    end_container(run);
    FZ_CHECK(is_said(run, "CV-AGREE-002") == said.machine, "the number of the machine is that of the code");
    FZ_CHECK(is_said(run, "CV-AGREE-006") == said.suffix, "the suffix is that of the code");
    FZ_CHECK(is_said(run, "CV-FATBIN-048") == said.twice, "members for one target are said");
    FZ_CHECK(is_said(run, "CV-FATBIN-051") == said.hidden, "a container that begins in code is said");
}

static void select_from(choices_run *run)
{
    fz_alloc counting = { 0 };
    cuvet_alloc alloc = fz_alloc_of(&counting);
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_ctx_options with = {
        .size = sizeof(with), .alloc = &alloc, .limits = &lim, .diag = on_diag, .diag_user = run
    };
    cuvet_select_options options = { .size = sizeof(options), .target = run->target };
    cuvet_ctx *ctx = NULL;
    cuvet_select handle;
    cuvet_status status, expected = CUVET_OK;

    FZ_CHECK(cuvet_limits_preset("strict", &lim) == CUVET_OK, "limits");
    if (run->asks == CANDIDATES || run->asks == CANDIDATES_LESS)
        lim.candidates = (run->depth ? 1 : run->count) - (run->asks == CANDIDATES_LESS);
    if (run->asks == INPUT || run->asks == INPUT_LESS)
        lim.input = run->size - (run->asks == INPUT_LESS);
    if (run->asks == DEPTH || run->asks == DEPTH_LESS)
        lim.nesting = cv_max(run->depth, 1) - (run->asks == DEPTH_LESS && run->depth > 0);
    if (run->asks == CANDIDATES_LESS || run->asks == INPUT_LESS)
        expected = CUVET_E_LIMIT;
    if (run->asks == AMONG_TEXT)
        expected = CUVET_E_REFUSED;
    FZ_CHECK(cuvet_ctx_create(&with, &ctx) == CUVET_OK, "a context");
    FZ_CHECK(cuvet_select_create(ctx, &options, &handle) == CUVET_OK, "a selection");
    status = cuvet_select_bind(ctx, handle, run->bytes, run->size, CUVET_BIND_BORROW, NULL);
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "bound %d, expected %d\n", (int)status, (int)expected);
    FZ_CHECK(status == expected, "what can be bound");
    FZ_CHECK((run->said[TOO_MANY] > 0) == (run->asks == CANDIDATES_LESS) &&
                 (run->said[TOO_LARGE] > 0) == (run->asks == INPUT_LESS),
             "a limit is said");
    if (status == CUVET_OK && run->asks != CANDIDATES)
        check(run, ctx, handle);
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(counting.live == 0, "nothing stays allocated");
}

CV_FUZZ_TARGET(choices)
{
    choices_run *run = calloc(1, sizeof(*run));
    fz_ops ops = { .bytes = data, .size = size };
    uint8_t target = fz_u8(&ops), how = fz_u8(&ops);
    uint64_t targets = 0;

    FZ_CHECK(run != NULL, "memory");
    while (cuvet_target_get(targets, &run->target) == CUVET_OK)
        targets++;
    FZ_CHECK(cuvet_target_get(target % targets, &run->target) == CUVET_OK, "a target");
    run->asks = how % ASKS;
    run->depth = how >= 0x80 ? 1 + (how >> 3) % 3 : 0;
    if (run->asks == SCANNED) {
        scan_drawn(run, &ops);
        free(run);
        return 0;
    }
    draw(run, &ops);
    if (run->asks == AMONG_TEXT)
        hide(run);
    for (unsigned i = 0; i < run->depth && run->asks != AMONG_TEXT; i++)
        nest(run);
    select_from(run);
    free(run);
    return 0;
}
