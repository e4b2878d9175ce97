/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend that nobody vouches for: the input is an object, and from the next ELF magic on what the backend
 * says that it became. Parameters: 8..11 target, 12 the code was made again, 13 it moved (to where it was:
 * each code section has a map), 14 through the interface of code generators outside, 15..18 how one of those
 * ends. What comes out is a proper device ELF for the target with the kernels of the input, or nothing, with
 * a reason. */
#include <stdlib.h>
#include <string.h>

#include "common.h"

#include "finalize/external.h"
#include "finalize/job.h"
#include "mutate.h"

enum { TARGET = 8, MADE_AGAIN = 12, MOVED, OUTSIDE, END };

static const uint32_t TARGETS[16] = {
    0, 103, 100, 110, 120, 121, 90, 75, 80, 89, 99, 101, 104, 130, 102, 107
};

typedef struct backend_world {
    fz_state *fuzz;
    cv_span in, made;
} backend_world;

static cv_final probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    (void)self;
    (void)req;
    *cost = 1;
    return CV_FINAL_OK;
}

/* A map for each code section that the file may have. */
static bool say_moves(const backend_world *world, cv_ctx *ctx, cv_backend_out *out)
{
    cv_elf_section header;
    cv_elf_header other_header;
    cv_span table;

    if (!cv_elf_peek(world->made, &other_header) || other_header.is32 ||
        !cv_span_sub(world->made, other_header.shoff, (uint64_t)other_header.shnum * 64, &table))
        return true;
    for (uint32_t i = 1; i < other_header.shnum; i++) {
        cv_elf_read_section(table, false, i, &header);
        if (!(header.flags & CV_SHF_EXECINSTR) || header.type != CV_SHT_PROGBITS)
            continue;
        if (!cv_offset_maps_push(&ctx->mem, &out->maps,
                                 (cv_offset_map){ i, header.size, header.size, out->moves.count, 1 }) ||
            !cv_moves_push(&ctx->mem, &out->moves, (cv_moved){ 16, 16 }))
            return false;
    }
    return true;
}

static cuvet_status run_backend(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                                cv_backend_out *out)
{
    const backend_world *world = self;
    cuvet_status st = cv_final_sink_begin(to, world->made.len);

    FZ_CHECK(req->in.len == world->in.len, "the backend gets the input");
    out->code_changed = world->fuzz->in->param >> MADE_AGAIN & 1;
    out->moved = world->fuzz->in->param >> MOVED & 1;
    if (st != CUVET_OK)
        return st;
    if (out->moved && !say_moves(world, ctx, out)) {
        out->code = CV_FINAL_MEMORY;
        return cv_nomem(ctx, 0);
    }
    return cv_final_sink_put(to, world->made) && cv_final_sink_end(to) ? CUVET_OK : CUVET_E_INTERNAL;
}

static const cv_backend STRANGER = {
    .abi = CV_BACKEND_ABI, .name = "stranger", .caps = CV_BACKEND_ENCODE, .probe = probe, .run = run_backend
};

static void release(cuvet_compile_result *result, void *user)
{
    (void)user;
    free(result->bytes);
    free(result->log);
}

/* The same from outside, where there are more ways to end. */
static cuvet_status compile(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    const backend_world *world = user;

    FZ_CHECK(req->kind == CUVET_K_CUBIN && req->n == world->in.len && req->n_options == 0 && req->cancel,
             "a request is complete");
    *out = (cuvet_compile_result){ .size = sizeof(*out),
                                   .end = (cuvet_compile_end)(world->fuzz->in->param >> END & 15),
                                   .detail = (int64_t)world->fuzz->in->param,
                                   .n = (size_t)world->made.len,
                                   .n_log = 5,
                                   .release = release };
    out->bytes = world->made.len ? malloc((size_t)world->made.len) : NULL;
    out->log = malloc(5);
    if (out->bytes)
        cv_span_copy(world->made, out->bytes);
    if (out->log)
        memcpy(out->log, "\x1b[2J\n", 5);
    return CUVET_OK;
}

static void hear(void *user, const char *log)
{
    (void)user;
    FZ_CHECK(strcmp(log, "?[2J\n") == 0, "what it says is made safe");
}

/* By a context that knows nothing of how it came about. */
static void check_result(const backend_world *world, const cv_final_job *other_job, cv_span out)
{
    static cv_cubin cubin;
    uint64_t extent = 0, errors;
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_ctx ctx;

    FZ_CHECK(cuvet_limits_preset("roomy", &lim) == CUVET_OK, "limits");
    cv_ctx_init(&ctx, &fz_pool, &lim);
    cv_ctx_unit(&ctx, 64 * out.len);
    cv_cubin_init(&cubin);
    FZ_CHECK(cv_cubin_examine(&ctx, &cubin, out, NULL, &extent) == CUVET_OK, "a result can be examined");
    errors = ctx.n_errors;
    FZ_CHECK(errors == 0 || other_job->code == CV_FINAL_NOT_NEEDED, "a result has no errors");
    FZ_CHECK(other_job->code == CV_FINAL_NOT_NEEDED ? cv_span_eq(out, world->in)
                                                    : cubin.sm == other_job->dst_sm,
             "it is for the target");
    FZ_CHECK(cubin.n_kernels == other_job->cubin.n_kernels &&
                 cubin.header.type == other_job->cubin.header.type,
             "it holds what went in");
    cv_cubin_free(&ctx, &cubin);
}

static cv_final_job job;

static void finalize(backend_world *world)
{
    fz_state *fuzz = world->fuzz;
    uint32_t place = fuzz->in->param;
    cv_final_tool tool = { { sizeof(cuvet_compiler), compile, world }, hear, NULL };
    const cv_backend_use use[] = { { place >> OUTSIDE & 1 ? &cv_backend_external : &STRANGER,
                                     place >> OUTSIDE & 1 ? (void *)&tool : (void *)world } };
    const cv_final_options options = { .target_sm = TARGETS[place >> TARGET & 15],
                                       .level_most = 4,
                                       .key = { place, ~(uint64_t)place },
                                       .backend = use,
                                       .n_backends = 1 };
    uint64_t before = fz_reported(fuzz);
    cv_block out = { 0 };
    cuvet_status st;

    cv_ctx_unit(&fuzz->ctx, 4 * (world->in.len + world->made.len));
    st = cv_final_run(&job, &fuzz->ctx, &options, world->in, NULL, &out);
    FZ_CHECK(job.code != CV_FINAL_INTERNAL && st != CUVET_E_INTERNAL, "no stage breaks an invariant");
    FZ_CHECK((st == CUVET_OK) == (out.span.len != 0), "a result or none");
    FZ_CHECK((st == CUVET_OK) == (job.code == CV_FINAL_OK || job.code == CV_FINAL_NOT_NEEDED),
             "the code says how it ended");
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NOMEM || st == CUVET_E_CANCELLED || fz_reported(fuzz) > before ||
                 fuzz->ctx.work_out,
             "what is refused has a reason");
    fz_note(fuzz, (uint64_t)job.code << 32 | (uint64_t)st);
    fz_note_bytes(fuzz, out.mem, out.span.len);
    if (st == CUVET_OK)
        check_result(world, &job, out.span);
    cv_block_free(&fuzz->ctx, &out);
    cv_final_end(&job);
    cv_ctx_unit(&fuzz->ctx, 0);
}

static void run(fz_state *fuzz)
{
    backend_world world = { .fuzz = fuzz, .in = fz_span(fuzz) };
    uint64_t at = 4;

    while (at + 4 <= world.in.len && cv_u32_at(world.in, at) != CV_ELF_MAGIC)
        at++;
    at = cv_min(at, world.in.len);
    if (at + 4 > world.in.len)
        at = world.in.len;
    world.made = cv_span_tail(world.in, at);
    world.in.len = at;
    finalize(&world);
}

CV_FUZZ_TARGET(backend)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
