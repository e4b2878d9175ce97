/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that are walked and examined while something runs out, each time that it can: work, reads, memory.
 * What cannot be done is said, nothing is lost, and what is found is the same as before, or less. */
#include <check.h>
#include <string.h>

#include "intake/region.h"
#include "intake/unit.h"
#include "support/fatbins.h"
#include "support/heap.h"
#include "unit/intake/made_files.h"

typedef enum fault_kind {
    BY_WORK_OF_WALK,
    BY_WORK_OF_UNIT,
    BY_READ,
    BY_ALLOC,
    BY_ALLOCS,
    BY_LIVE, /* the limit of memory, in bytes that are more than none */
    N_FAULTS
} fault_kind;

typedef struct fault_file {
    const char *sample;
    made_file made; /* instead of a sample */
    cuvet_depth depth;
    bool own, skip;
    uint64_t units;
} fault_file;

static const fault_file FILES[] = {
    { "multi.fatbin", MADE_NONE, CUVET_DEPTH_FULL, false, false, 8 },
    { "multi-lz4.fatbin", MADE_NONE, CUVET_DEPTH_FULL, true, false, 5 },
    { "elf-raw.fatbin", MADE_NONE, CUVET_DEPTH_FULL, true, false, 1 },
    { "elf-raw.fatbin", MADE_NONE, CUVET_DEPTH_FULL, false, true, 1 },
    { "elf-raw.fatbin", MADE_NONE, CUVET_DEPTH_HEADERS, false, false, 1 },
    { "ptx-raw.fatbin", MADE_NONE, CUVET_DEPTH_HEADERS, false, false, 1 },
    { "lto-options.fatbin", MADE_NONE, CUVET_DEPTH_FULL, false, false, 1 },
    { "ident8.fatbin", MADE_NONE, CUVET_DEPTH_FULL, false, false, 1 },
    { "plain.sm_75.cubin", MADE_NONE, CUVET_DEPTH_FULL, true, false, 1 },
    { "plain.sm_75.cubin", MADE_NONE, CUVET_DEPTH_FULL, false, true, 1 },
    { "plain.ptx", MADE_NONE, CUVET_DEPTH_FULL, false, false, 1 },
    { "plain.ptx", MADE_NONE, CUVET_DEPTH_FULL, false, true, 1 },
    { "host-merged.o", MADE_NONE, CUVET_DEPTH_FULL, false, false, 4 },
    { "host-unclaimed.so", MADE_NONE, CUVET_DEPTH_FULL, false, false, 7 },
    { "long-names.a", MADE_NONE, CUVET_DEPTH_FULL, false, false, 6 },
    { "../legal/offload-several.offload", MADE_NONE, CUVET_DEPTH_FULL, false, false, 3 },
    { "../legal/offload-nested.o", MADE_NONE, CUVET_DEPTH_FULL, false, false, 3 },
    { "../legal/offload-behind-data.o", MADE_NONE, CUVET_DEPTH_FULL, false, false, 4 },
    { "../legal/offload-two-sections.o", MADE_NONE, CUVET_DEPTH_FULL, false, false, 4 },
    { "../hostile/CV-OFFLOAD-012.offload", MADE_NONE, CUVET_DEPTH_FULL, false, false, 0 },
    { "../hostile/CV-OFFLOAD-013.offload", MADE_NONE, CUVET_DEPTH_FULL, false, false, 0 },
    { "a long header", MADE_LONG_HEADER, CUVET_DEPTH_FULL, false, false, 0 },
    { "a hidden header", MADE_HIDDEN_HEADER, CUVET_DEPTH_FULL, false, false, 1 },
    { "a hidden member", MADE_HIDDEN_MEMBER, CUVET_DEPTH_FULL, false, false, 1 },
    { "empty members", MADE_EMPTY, CUVET_DEPTH_HEADERS, false, false, 2 },
    { "empty members", MADE_EMPTY, CUVET_DEPTH_FULL, true, false, 2 },
    { "a nest", MADE_NEST, CUVET_DEPTH_FULL, false, false, 1 },
    { "a deep nest", MADE_NEST_DEEP, CUVET_DEPTH_FULL, false, false, 1 },
    { "a wide host", MADE_WIDE_HOST, CUVET_DEPTH_FULL, false, false, 1 },
    { "decoys", MADE_DECOYS, CUVET_DEPTH_FULL, false, false, 2 },
    { "a gap far before", MADE_GAP_FAR, CUVET_DEPTH_FULL, false, false, 1 },
    { "no offload binary", MADE_NO_OFFLOAD, CUVET_DEPTH_FULL, false, false, 1 },
    { "bitcode", MADE_BITCODE, CUVET_DEPTH_FULL, false, false, 1 },
    { "bitcode", MADE_BITCODE, CUVET_DEPTH_FULL, false, true, 1 },
    { "bitcode", MADE_BITCODE, CUVET_DEPTH_HEADERS, false, false, 1 },
    { "bitcode around a container", MADE_BITCODE_HOLDS, CUVET_DEPTH_FULL, false, false, 1 },
    { "bitcode far", MADE_BITCODE_FAR, CUVET_DEPTH_FULL, false, false, 1 },
};

static const uint8_t *bytes;
static size_t size;
static uint64_t fail_at, calls;
static heap_state heap;
static unsigned n_diags;

static cuvet_status read_some(void *user, uint64_t off, void *buf, size_t len)
{
    (void)user;
    if (++calls == fail_at)
        return CUVET_E_IO;
    memcpy(buf, bytes + off, len);
    return CUVET_OK;
}

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    (void)diag;
    n_diags++;
}

typedef struct fault_outcome {
    cuvet_status walk;
    cuvet_status unit; /* the first that is not OK */
    uint64_t units, examined, said;
    bool out; /* of work, or of live memory */
} fault_outcome;

static void examine(cv_worker *worker, const cuvet_source *src, const fault_file *file, cv_unit *unit,
                    uint64_t work, fault_outcome *out)
{
    cv_examine_options opt = { .depth = file->depth, .ledger = true, .own = file->own };
    cv_result result;

    unit->skip_payload = file->skip;
    unit->work_most = work;
    cv_examine(worker, src, unit, &opt, &result);
    ck_assert(result.status == CUVET_OK || result.status == CUVET_E_NOMEM);
    if (out->unit == CUVET_OK)
        out->unit = result.status;
    out->said += result.diags.count;
    out->out = out->out || worker->ctx.work_out || result.has_live || worker->ctx.seen[CV_R_LIMIT_LIVE] > 0;
    out->examined += (result.item.flags & CUVET_ITEM_EXAMINED) != 0;
    ck_assert(!result.has_live || result.verdict == CUVET_V_LIMIT);
    cv_result_free(&result);
}

static void arm(fault_kind kind, uint64_t nth, cv_ctx *ctx, cv_worker *worker)
{
    if (kind == BY_WORK_OF_WALK)
        cv_ctx_set_work(ctx, nth);
    if (kind == BY_READ)
        fail_at = nth + 1;
    if (kind == BY_ALLOC || kind == BY_ALLOCS)
        heap_fail(&heap, (unsigned long)nth + 1, kind == BY_ALLOCS);
    if (kind == BY_LIVE)
        ctx->mem.limit = worker->ctx.mem.limit = nth;
}

static fault_outcome run(const fault_file *file, fault_kind kind, uint64_t nth)
{
    cuvet_source src = { sizeof(src), size, read_some, NULL, -1 };
    cuvet_limits lim = { .size = sizeof(lim) };
    fault_outcome out = { CUVET_OK, CUVET_OK, 0, 0, 0, false };
    static cv_worker worker;
    cuvet_alloc alloc;
    cv_walk walk;
    cv_unit unit;
    cv_ctx ctx;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.nesting = 100;
    heap = (heap_state){ 0 };
    calls = fail_at = n_diags = 0;
    alloc = heap_alloc(&heap);
    cv_ctx_init(&ctx, &alloc, &lim);
    cv_ctx_unit(&ctx, size);
    ctx.emit = emit;
    cv_worker_init(&worker, &alloc, &lim);
    arm(kind, nth, &ctx, &worker);
    out.walk = cv_walk_open(&ctx, &walk, &src, 0, size, false, true);
    while (out.walk == CUVET_OK && (out.walk = cv_walk_next(&ctx, &walk, &unit)) == CUVET_OK) {
        ck_assert_uint_le(unit.off + unit.header_size + unit.payload_size, size);
        examine(&worker, &src, file, &unit, kind == BY_WORK_OF_UNIT ? nth + 1 : 0, &out);
        (void)cv_walk_is_inside(&walk);
        out.units++;
    }
    out.said += n_diags;
    out.out = out.out || ctx.work_out || ctx.seen[CV_R_LIMIT_LIVE] > 0 || out.walk == CUVET_E_LIMIT;
    cv_walk_close(&ctx, &walk);
    ck_assert_uint_eq(ctx.mem.live, 0);
    cv_worker_free(&worker);
    ck_assert_uint_eq(worker.ctx.mem.live, 0);
    cv_islands_drop();
    ck_assert_int_eq(heap.live, 0);
    return out;
}

static bool may_end(fault_kind kind, cuvet_status status)
{
    return status == CUVET_END || (kind == BY_READ && status == CUVET_E_IO) ||
           (kind >= BY_ALLOC && status == CUVET_E_NOMEM) || (kind == BY_LIVE && status == CUVET_E_LIMIT);
}

START_TEST(runs_out)
{
    static const uint64_t STEPS[] = { 37, 97, 1, 1, 1, 203 };
    const fault_file *file = &FILES[_i / N_FAULTS];
    fault_kind kind = (fault_kind)(_i % N_FAULTS);
    bool over = false;
    fault_outcome good;

    bytes = file->made ? made_bytes(file->made, &size) : sample(file->sample, &size, 0);
    good = run(file, N_FAULTS, 0);
    ck_assert(good.walk == CUVET_END && good.unit == CUVET_OK && !good.out);
    ck_assert_msg(good.units == file->units, "%s: %u", file->sample, (unsigned)good.units);
    for (uint64_t nth = 0; !over; nth += STEPS[kind]) {
        fault_outcome out = run(file, kind, nth);

        over = kind == BY_READ                         ? calls <= nth
               : kind == BY_ALLOC || kind == BY_ALLOCS ? heap.failed == 0
                                                       : !out.out;
        ck_assert_msg(may_end(kind, out.walk), "%s %d %u: %d", file->sample, (int)kind, (unsigned)nth,
                      (int)out.walk);
        ck_assert(out.unit == CUVET_OK || kind == BY_ALLOC || kind == BY_ALLOCS);
        ck_assert_uint_le(out.examined, good.examined);
        ck_assert(!over || (out.walk == good.walk && out.units == good.units && out.said == good.said &&
                            out.unit == CUVET_OK && out.examined == good.examined));
        ck_assert_uint_lt(nth, UINT64_C(1) << 28);
    }
}
END_TEST

Suite *suite_intake_faults(void);
Suite *suite_intake_faults(void)
{
    Suite *suite = suite_create("intake/faults");
    TCase *tcase = tcase_create("faults");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, runs_out, 0, (int)CV_COUNT(FILES) * N_FAULTS);
    suite_add_tcase(suite, tcase);
    return suite;
}
