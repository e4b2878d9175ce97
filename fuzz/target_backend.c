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

typedef struct world {
    fz *f;
    cv_span in, made;
} world;

static cv_final probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    (void)self;
    (void)req;
    *cost = 1;
    return CV_FINAL_OK;
}

/* A map for each code section that the file may have. */
static bool say_moves(const world *w, cv_ctx *x, cv_backend_out *out)
{
    cv_elf_section e;
    cv_elf_header h;
    cv_span table;

    if (!cv_elf_peek(w->made, &h) || h.is32 || !cv_span_sub(w->made, h.shoff, (uint64_t)h.shnum * 64, &table))
        return true;
    for (uint32_t i = 1; i < h.shnum; i++) {
        cv_elf_read_section(table, false, i, &e);
        if (!(e.flags & CV_SHF_EXECINSTR) || e.type != CV_SHT_PROGBITS)
            continue;
        if (!cv_offset_maps_push(&x->mem, &out->maps,
                                 (cv_offset_map){ i, e.size, e.size, out->moves.n, 1 }) ||
            !cv_moves_push(&x->mem, &out->moves, (cv_moved){ 16, 16 }))
            return false;
    }
    return true;
}

static cuvet_status run_backend(void *self, cv_ctx *x, const cv_backend_req *req, cv_final_sink *to,
                                cv_backend_out *out)
{
    const world *w = self;
    cuvet_status st = cv_final_sink_begin(to, w->made.len);

    FZ_CHECK(req->in.len == w->in.len, "the backend gets the input");
    out->code_changed = w->f->in->param >> MADE_AGAIN & 1;
    out->moved = w->f->in->param >> MOVED & 1;
    if (st != CUVET_OK)
        return st;
    if (out->moved && !say_moves(w, x, out)) {
        out->code = CV_FINAL_MEMORY;
        return cv_nomem(x, 0);
    }
    return cv_final_sink_put(to, w->made) && cv_final_sink_end(to) ? CUVET_OK : CUVET_E_INTERNAL;
}

static const cv_backend STRANGER = {
    .abi = CV_BACKEND_ABI, .name = "stranger", .caps = CV_BACKEND_ENCODE, .probe = probe, .run = run_backend
};

static void release(cuvet_compile_result *r, void *user)
{
    (void)user;
    free(r->bytes);
    free(r->log);
}

/* The same from outside, where there are more ways to end. */
static cuvet_status compile(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    const world *w = user;

    FZ_CHECK(req->kind == CUVET_K_CUBIN && req->n == w->in.len && req->n_options == 0 && req->cancel,
             "a request is complete");
    *out = (cuvet_compile_result){ .size = sizeof(*out),
                                   .end = (cuvet_compile_end)(w->f->in->param >> END & 15),
                                   .detail = (int64_t)w->f->in->param,
                                   .n = (size_t)w->made.len,
                                   .n_log = 5,
                                   .release = release };
    out->bytes = w->made.len ? malloc((size_t)w->made.len) : NULL;
    out->log = malloc(5);
    if (out->bytes)
        cv_span_copy(w->made, out->bytes);
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
static void check_result(const world *w, const cv_final_job *j, cv_span out)
{
    static cv_cubin c;
    uint64_t extent = 0, errors;
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_ctx x;

    FZ_CHECK(cuvet_limits_preset("roomy", &lim) == CUVET_OK, "limits");
    cv_ctx_init(&x, NULL, &lim);
    cv_ctx_unit(&x, 64 * out.len);
    cv_cubin_init(&c);
    FZ_CHECK(cv_cubin_examine(&x, &c, out, NULL, &extent) == CUVET_OK, "a result can be examined");
    errors = x.n_errors;
    FZ_CHECK(errors == 0 || j->code == CV_FINAL_NOT_NEEDED, "a result has no errors");
    FZ_CHECK(j->code == CV_FINAL_NOT_NEEDED ? cv_span_eq(out, w->in) : c.sm == j->dst_sm,
             "it is for the target");
    FZ_CHECK(c.n_kernels == j->cubin.n_kernels && c.h.type == j->cubin.h.type, "it holds what went in");
    cv_cubin_free(&x, &c);
}

static cv_final_job job;

static void finalize(world *w)
{
    fz *f = w->f;
    uint32_t p = f->in->param;
    cv_final_tool tool = { { sizeof(cuvet_compiler), compile, w }, hear, NULL };
    const cv_backend_use use[] = { { p >> OUTSIDE & 1 ? &cv_backend_external : &STRANGER,
                                     p >> OUTSIDE & 1 ? (void *)&tool : (void *)w } };
    const cv_final_options o = { .target_sm = TARGETS[p >> TARGET & 15],
                                 .level_most = 4,
                                 .key = { p, ~(uint64_t)p },
                                 .backend = use,
                                 .n_backends = 1 };
    uint64_t before = fz_reported(f);
    cv_block out = { 0 };
    cuvet_status st;

    cv_ctx_unit(&f->x, 4 * (w->in.len + w->made.len));
    st = cv_final_run(&job, &f->x, &o, w->in, NULL, &out);
    FZ_CHECK(job.code != CV_FINAL_INTERNAL && st != CUVET_E_INTERNAL, "no stage breaks an invariant");
    FZ_CHECK((st == CUVET_OK) == (out.span.len != 0), "a result or none");
    FZ_CHECK((st == CUVET_OK) == (job.code == CV_FINAL_OK || job.code == CV_FINAL_NOT_NEEDED),
             "the code says how it ended");
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NOMEM || st == CUVET_E_CANCELLED || fz_reported(f) > before ||
                 f->x.work_out,
             "what is refused has a reason");
    fz_note(f, (uint64_t)job.code << 32 | (uint64_t)st);
    fz_note_bytes(f, out.mem, out.span.len);
    if (st == CUVET_OK)
        check_result(w, &job, out.span);
    cv_block_free(&f->x, &out);
    cv_final_end(&job);
    cv_ctx_unit(&f->x, 0);
}

static void run(fz *f)
{
    world w = { .f = f, .in = fz_span(f) };
    uint64_t at = 4;

    while (at + 4 <= w.in.len && cv_u32_at(w.in, at) != CV_ELF_MAGIC)
        at++;
    at = cv_min(at, w.in.len);
    if (at + 4 > w.in.len)
        at = w.in.len;
    w.made = cv_span_tail(w.in, at);
    w.in.len = at;
    finalize(&w);
}

CV_FUZZ_TARGET(backend)
{
    return fz_some_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
