/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any bytes as an input: bound and selected for a target, with a compiler that delivers what the file says.
 * Parameters: bits 8..12 target, 13..14 request, 15 policy, 16 lenient, 17 copy, 18 32-bit addresses, 19..21
 * what the compiler does, 22..25 how it ends, 26 an option, 27 an older toolkit, 28 bound twice. */
#include <string.h>

#include "mutate.h"
#include "scanner.h"

enum compiler {
    NONE = 0,
    TAIL,      /* delivers what follows the last ELF magic: the file ends before it */
    WHOLE,     /* delivers the file */
    ENDS,      /* ends in some other way */
    NOTHING,   /* delivers nothing */
    CANCELS,   /* the caller loses patience meanwhile */
    NO_MEMORY, /* and once more, with memory; or a status that no compiler has */
    DESTROYS   /* the caller destroys the input meanwhile */
};

typedef struct input_run {
    const fz_input *in;
    size_t file; /* bytes of the input that are the payload */
    cuvet_select_options cfg;
    enum compiler how;
    bool copy;
    cuvet_ctx *ctx;
    cuvet_select handle;
    fz_alloc alloc;
    uint64_t hash;
    uint64_t n_diags, n_errors; /* delivered since the call began */
    unsigned calls, releases;
} input_run;

static unsigned ends(const input_run *run)
{
    return run->in->param >> 22 & 15;
}

static void note(input_run *run, uint64_t value)
{
    run->hash = fz_mix(run->hash, value);
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    input_run *run = user;

    note(run, fz_diag(diag, 0, run->file));
    run->n_diags++;
    run->n_errors += diag->severity == CUVET_ERROR;
}

static void release(cuvet_compile_result *result, void *user)
{
    (void)result;
    ((input_run *)user)->releases++;
}

static void check_request(const input_run *run, const cuvet_compile_request *request)
{
    FZ_CHECK(request->bytes && request->n, "a compiler gets something");
    FZ_CHECK((request->kind == CUVET_K_LTOIR) || !memchr(request->bytes, 0, request->n), "PTX without NUL");
    FZ_CHECK(request->sm == run->cfg.target.sm && request->suffix == run->cfg.target.suffix,
             "for the target");
    FZ_CHECK(request->threads == 1 && request->cancel && !*request->cancel, "as configured");
    for (size_t i = 0; i < request->n_options; i++)
        FZ_CHECK(request->option[i] && *request->option[i], "no empty option");
}

static cuvet_status compile(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    input_run *run = user;
    cuvet_select handle = run->handle;

    check_request(run, request);
    run->calls++;
    note(run, fz_mix_bytes(request->n_options, request->bytes, request->n));
    out->release = release;
    out->log = (char *)run->in->bytes;
    out->n_log = cv_min(run->file, 100);
    switch (run->how) {
    case TAIL:
        out->bytes = run->in->bytes + run->file;
        out->n = run->in->len - run->file;
        break;
    case WHOLE:
        out->bytes = run->in->bytes;
        out->n = run->file;
        break;
    case ENDS:
        out->end = (cuvet_compile_end)ends(run);
        out->detail = -1;
        break;
    case CANCELS: FZ_CHECK(cuvet_select_cancel(run->ctx, run->handle) == CUVET_OK, "cancel"); break;
    case NO_MEMORY: return run->calls > 1 ? CUVET_OK : ends(run) ? (cuvet_status)ends(run) : CUVET_E_NOMEM;
    case DESTROYS:
        FZ_CHECK(cuvet_select_destroy(run->ctx, &handle) == CUVET_OK && handle.bits == 0, "destroy");
        break;
    case NONE:
    case NOTHING: break;
    }
    return CUVET_OK;
}

static cuvet_select_state state(const input_run *run)
{
    cuvet_select_state st;

    FZ_CHECK(cuvet_select_get_state(run->ctx, run->handle, &st) == CUVET_OK, "state");
    return st;
}

static void note_candidate(input_run *run, const cuvet_candidate *candidate)
{
    note(run, (uint64_t)candidate->kind << 32 | (uint64_t)(uint8_t)candidate->suffix << 40 | candidate->sm);
    note(run, (uint64_t)candidate->reason << 40 | (uint64_t)candidate->rank << 8 | candidate->flags);
    note(run, candidate->header_off ^ candidate->member_flags << 20);
}

static bool get(const input_run *run, uint64_t index, cuvet_candidate *candidate)
{
    return cuvet_select_get_candidate(run->ctx, run->handle, index, candidate) == CUVET_OK;
}

/* What bind lists: members that lie in the file, and nothing decided yet. */
static void check_listed(input_run *run)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    uint64_t i = 0;

    for (; get(run, i, &candidate); i++) {
        note_candidate(run, &candidate);
        FZ_CHECK(candidate.depth == 0 && candidate.rank == 0 && !(candidate.flags & CUVET_CANDIDATE_CHOSEN) &&
                     candidate.reason == CUVET_REASON_NONE,
                 "only listed");
        FZ_CHECK(candidate.container_off <= candidate.header_off &&
                     candidate.header_off <= candidate.payload_off,
                 "in order");
        FZ_CHECK(candidate.payload_off <= run->file &&
                     candidate.stored_size <= run->file - candidate.payload_off,
                 "in the file");
    }
    FZ_CHECK(i != 0, "something to select from");
}

static int suffix_order(char suffix)
{
    return suffix == 'a' ? 0 : suffix == 'f' ? 1 : 2;
}

/* a is as good as b or better: the newest, SASS before the rest, 'a' before 'f' before none. */
static bool in_order(const cuvet_candidate *left, const cuvet_candidate *right)
{
    if (left->sm != right->sm)
        return left->sm > right->sm;
    if ((left->kind == CUVET_K_CUBIN) != (right->kind == CUVET_K_CUBIN))
        return left->kind == CUVET_K_CUBIN;
    return suffix_order(left->suffix) <= suffix_order(right->suffix);
}

static void check_fit(const input_run *run, const cuvet_candidate *candidate)
{
    FZ_CHECK(candidate->sm <= run->cfg.target.sm, "nothing newer than the target fits");
    FZ_CHECK(candidate->suffix != 'a' || candidate->sm == run->cfg.target.sm, "'a' fits its own number only");
    FZ_CHECK(candidate->suffix != 'a' || candidate->kind != CUVET_K_CUBIN ||
                 run->cfg.policy == CUVET_ARCH_REFERENCE || run->cfg.target.suffix == 'a',
             "'a' code and the exact policy");
    FZ_CHECK(candidate->kind != CUVET_K_CUBIN || run->cfg.request <= CUVET_REQUEST_SASS,
             "SASS was asked for");
    FZ_CHECK(candidate->kind != CUVET_K_PTX || run->cfg.request == CUVET_REQUEST_LINK ||
                 run->cfg.request == CUVET_REQUEST_PTX,
             "PTX was asked for");
}

/* The candidates of one depth, [from, end): ranks 1, 2, … of those that fit, in order, one of them chosen. */
static void check_depth(input_run *run, uint64_t from, uint64_t end, bool ok)
{
    static const uint64_t MANY = 512;
    cuvet_candidate candidate = { .size = sizeof(candidate) }, by_rank[512];
    uint64_t n_fit = 0, n_chosen = 0;

    FZ_CHECK(end - from <= MANY, "not more than limits.candidates");
    memset(by_rank, 0, (size_t)(end - from) * sizeof(candidate));
    for (uint64_t i = from; get(run, i, &candidate) && i < end; i++) {
        FZ_CHECK(candidate.rank == 0 || candidate.reason == CUVET_REASON_NONE, "what is ranked fits");
        FZ_CHECK(candidate.rank <= end - from, "ranks are dense");
        FZ_CHECK(!(candidate.flags & CUVET_CANDIDATE_CHOSEN) || candidate.rank == 1, "the best is chosen");
        n_chosen += (candidate.flags & CUVET_CANDIDATE_CHOSEN) != 0;
        if (candidate.rank == 0)
            continue;
        check_fit(run, &candidate);
        FZ_CHECK(by_rank[candidate.rank - 1].rank == 0, "a rank is given once");
        by_rank[candidate.rank - 1] = candidate;
        n_fit++;
    }
    for (uint64_t i = 0; i < n_fit; i++)
        FZ_CHECK(by_rank[i].rank == i + 1 && (i == 0 || in_order(&by_rank[i - 1], &by_rank[i])),
                 "ranks tell the order");
    FZ_CHECK(n_chosen <= 1 && (!ok || n_chosen == 1), "one is chosen at each depth");
}

static void check_candidates(input_run *run, bool ok)
{
    uint64_t from = 0, i = 0;
    uint32_t depth = 0;
    cuvet_candidate candidate = { .size = sizeof(candidate) };

    for (; get(run, i, &candidate); i++) {
        note_candidate(run, &candidate);
        FZ_CHECK(candidate.depth == depth || candidate.depth == depth + 1, "depths follow one another");
        if (candidate.depth == depth)
            continue;
        check_depth(run, from, i, true); /* there is a deeper one: something was chosen here */
        from = i;
        depth++;
    }
    check_depth(run, from, i, ok);
}

/* All that was delivered since the last bind is kept. */
static void check_kept(input_run *run, uint64_t count)
{
    cuvet_diag diag = { .size = sizeof(diag) };
    uint64_t i = 0;

    for (; cuvet_select_get_diag(run->ctx, run->handle, i, &diag) == CUVET_OK; i++)
        note(run, fz_diag(&diag, 0, run->file));
    FZ_CHECK(i == count, "what was said is kept");
}

static void open_context(input_run *run, const cuvet_limits *lim)
{
    cuvet_alloc alloc = fz_alloc_of(&run->alloc);
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = &alloc, .limits = lim, .diag = on_diag, .diag_user = run
    };

    FZ_CHECK(cuvet_ctx_create(&opt, &run->ctx) == CUVET_OK, "a context");
}

/* The result once more, as an input of its own: the same comes out. */
static void check_again(const input_run *run, const cuvet_select_result *got)
{
    input_run trial = { .in = run->in, .file = got->n, .cfg = run->cfg };
    cuvet_elf_header head = { .size = sizeof(head) };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_elf elf;

    fz_limits(0, &lim);
    open_context(&trial, &lim);
    if (got->kind == CUVET_K_CUBIN || got->kind == CUVET_K_MERCURY) {
        FZ_CHECK(cuvet_elf_create(trial.ctx, got->bytes, got->n, &elf) == CUVET_OK,
                 "a result is a whole ELF");
        FZ_CHECK(cuvet_elf_get_header(trial.ctx, elf, &head) == CUVET_OK, "header");
        trial.cfg.request = CUVET_REQUEST_SASS;
    }
    FZ_CHECK(cuvet_select_create(trial.ctx, &trial.cfg, &trial.handle) == CUVET_OK, "an input");
    FZ_CHECK(cuvet_select_bind(trial.ctx, trial.handle, got->bytes, got->n, CUVET_BIND_BORROW, NULL) ==
                 CUVET_OK,
             "a result is an input");
    FZ_CHECK(cuvet_select_run(trial.ctx, trial.handle) == CUVET_OK, "and selected again");
    FZ_CHECK(cuvet_select_get_result(trial.ctx, trial.handle, &result) == CUVET_OK, "result");
    FZ_CHECK(result.kind == got->kind, "as the same thing");
    if (got->kind != CUVET_K_LTOIR) /* which does not name its target itself */
        FZ_CHECK(result.sm == got->sm && result.suffix == got->suffix, "for the same architecture");
    FZ_CHECK(result.n == got->n && memcmp(result.bytes, got->bytes, result.n) == 0, "with the same bytes");
    cuvet_ctx_destroy(trial.ctx);
    FZ_CHECK(trial.alloc.live == 0, "nothing stays allocated");
}

static void check_result(input_run *run, unsigned pass)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) }, next = { .size = sizeof(next) };
    cuvet_image_info info = { .size = sizeof(info) };
    cuvet_image img = { 1 }, none = { 1 };
    uint64_t hash;
    cuvet_select_result got = { .size = sizeof(got) };

    FZ_CHECK(cuvet_select_get_result(run->ctx, run->handle, &got) == CUVET_OK && got.bytes && got.n,
             "a result");
    FZ_CHECK(get(run, got.candidate, &candidate) && (candidate.flags & CUVET_CANDIDATE_CHOSEN) != 0,
             "names its candidate");
    for (uint64_t i = got.candidate; get(run, i, &next); i++)
        FZ_CHECK(next.depth == candidate.depth, "of the deepest container");
    FZ_CHECK((got.flags & CUVET_IMAGE_COMPILED) != 0 || got.sm == candidate.sm, "and its number");
    FZ_CHECK(((got.flags & CUVET_IMAGE_COMPILED) != 0) == (run->calls != 0), "the compiler was used or not");
    if (run->cfg.request <= CUVET_REQUEST_SASS)
        FZ_CHECK(got.kind == CUVET_K_CUBIN || got.kind == CUVET_K_MERCURY, "a device ELF");
    else
        FZ_CHECK(got.kind == (run->cfg.request == CUVET_REQUEST_PTX ? CUVET_K_PTX : CUVET_K_LTOIR),
                 "what was asked for");
    note(run, fz_mix_bytes(got.sm, got.bytes, got.n));
    if (pass == 0)
        check_again(run, &got);
    hash = fz_mix_bytes(0, got.bytes, got.n);
    FZ_CHECK(cuvet_select_take_image(run->ctx, run->handle, &img) == CUVET_OK, "take");
    FZ_CHECK(cuvet_image_get_info(run->ctx, img, &info) == CUVET_OK, "an image");
    FZ_CHECK(info.n == got.n && fz_mix_bytes(0, info.bytes, info.n) == hash, "what is taken is the result");
    FZ_CHECK(cuvet_select_take_image(run->ctx, run->handle, &none) == CUVET_E_STATE && !none.bits, "once");
    FZ_CHECK(cuvet_image_destroy(run->ctx, &img) == CUVET_OK, "and ends");
}

static bool listed_status(cuvet_status status)
{
    return status == CUVET_E_UNKNOWN || status == CUVET_E_TRUNCATED || status == CUVET_E_MALFORMED ||
           status == CUVET_E_UNSUPPORTED || status == CUVET_E_REFUSED || status == CUVET_E_LIMIT;
}

static cuvet_status bind(input_run *run)
{
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_status status;

    run->n_diags = run->n_errors = 0;
    status = cuvet_select_bind(run->ctx, run->handle, run->in->bytes, run->file,
                               run->copy ? CUVET_BIND_COPY : CUVET_BIND_BORROW, &info);
    note(run, (uint64_t)status);
    note(run, fz_mix(info.off, info.length) ^ (uint64_t)info.type << 8 ^ info.sm);
    if (status == CUVET_OK) {
        FZ_CHECK(state(run) == CUVET_SELECT_BOUND, "bound");
        FZ_CHECK(info.off <= run->file && info.length <= run->file - info.off, "content lies in the file");
        check_listed(run);
    } else {
        FZ_CHECK(listed_status(status), "a status that bind has");
        FZ_CHECK(run->n_errors, "a reason is given");
    }
    return status;
}

static void select_one(input_run *run, bool roomy, unsigned pass)
{
    uint64_t before = run->n_diags;
    cuvet_select_result got = { .size = sizeof(got) };
    cuvet_status status;
    bool cancelled, squeezed;

    run->n_errors = 0;
    status = cuvet_select_run(run->ctx, run->handle);
    note(run, (uint64_t)status);
    if (run->how == DESTROYS && run->calls) {
        FZ_CHECK(status == CUVET_E_STALE_HANDLE, "gone meanwhile");
        run->handle.bits = 0;
        return;
    }
    if (run->how == NO_MEMORY && run->calls && ends(run)) {
        FZ_CHECK(status == CUVET_E_INTERNAL && state(run) == CUVET_SELECT_FAILED, "not a compiler's status");
        return;
    }
    squeezed = !roomy && status == CUVET_E_LIMIT; /* that comes before whatever the compiler did */
    if (run->how == NO_MEMORY && run->calls && !squeezed) {
        FZ_CHECK(status == CUVET_E_NOMEM && state(run) == CUVET_SELECT_BOUND, "as if it had not been called");
        check_listed(run);
        run->n_diags = before;
        status = cuvet_select_run(run->ctx, run->handle);
    }
    cancelled = run->how == CANCELS || (run->how == ENDS && ends(run) == CUVET_COMPILE_CANCELLED);
    FZ_CHECK(squeezed || (status == CUVET_E_CANCELLED) == (run->calls && cancelled),
             "cancelled if somebody did");
    if (status == CUVET_OK) {
        FZ_CHECK(state(run) == CUVET_SELECT_SELECTED, "selected");
    } else {
        FZ_CHECK(state(run) == CUVET_SELECT_FAILED, "failed");
        FZ_CHECK(cuvet_select_get_result(run->ctx, run->handle, &got) == CUVET_E_STATE && !got.bytes,
                 "no result");
        FZ_CHECK(listed_status(status) || status == CUVET_E_NO_MATCH || status == CUVET_E_COMPILER ||
                     status == CUVET_E_CANCELLED,
                 "a status that select has");
        FZ_CHECK(run->n_errors || status == CUVET_E_CANCELLED ||
                     (status == CUVET_E_UNSUPPORTED && run->n_diags > before),
                 "a reason is given");
    }
    check_candidates(run, status == CUVET_OK);
    if (roomy)
        check_kept(run, run->n_diags);
    if (status == CUVET_OK)
        check_result(run, pass);
    FZ_CHECK(cuvet_select_run(run->ctx, run->handle) == CUVET_E_STATE, "once");
}

static void log_is_clean(const input_run *run)
{
    const char *at;
    size_t count;

    FZ_CHECK(cuvet_select_get_log(run->ctx, run->handle, &at, &count) == CUVET_OK && at[count] == 0, "a log");
    for (size_t i = 0; i < count; i++)
        FZ_CHECK((at[i] >= 32 && at[i] < 127) || at[i] == '\n', "of printable characters");
}

static uint64_t once(input_run *run, const cuvet_limits *lim, unsigned pass)
{
    const cuvet_compiler cc = { sizeof(cc), compile, run };
    bool roomy = lim->live >= CV_MIB;
    cuvet_status status;

    open_context(run, lim);
    run->cfg.compiler = run->how != NONE ? &cc : NULL;
    status = cuvet_select_create(run->ctx, &run->cfg, &run->handle);
    run->cfg.compiler = NULL; /* it was copied */
    FZ_CHECK(status == CUVET_OK || (!roomy && status == CUVET_E_LIMIT), "an input");
    if (status == CUVET_OK && run->in->param >> 26 & 1) {
        status = cuvet_select_add_option(run->ctx, run->handle, "-v -O0", 6);
        FZ_CHECK(status == CUVET_OK || (!roomy && status == CUVET_E_LIMIT), "an option");
    }
    if (status == CUVET_OK)
        status = bind(run);
    if (status == CUVET_OK && run->in->param >> 28 & 1)
        FZ_CHECK(bind(run) == CUVET_OK || !roomy, "what was bound can be bound again");
    if (status == CUVET_OK)
        select_one(run, roomy, pass);
    if (run->handle.bits) {
        log_is_clean(run);
        FZ_CHECK(cuvet_select_destroy(run->ctx, &run->handle) == CUVET_OK, "destroy");
    }
    cuvet_ctx_destroy(run->ctx);
    FZ_CHECK(run->alloc.live == 0, "nothing stays allocated");
    FZ_CHECK(run->calls == run->releases, "what a compiler gives it gets back");
    return run->hash;
}

static cuvet_select_options config(uint32_t param)
{
    cuvet_select_options config = { .size = sizeof(config) };
    size_t count = 0, want = param >> 8 & 31;

    while (cuvet_target_get(count, &config.target) == CUVET_OK)
        count++;
    /* sm_90 without parameters: most of the samples have code for it */
    for (size_t i = 0; cuvet_target_get(i, &config.target) == CUVET_OK && config.target.sm < 90; i++)
        want++;
    FZ_CHECK(cuvet_target_get(want % count, &config.target) == CUVET_OK, "a target");
    config.request = (cuvet_request)(param >> 13 & 3);
    config.policy = param >> 15 & 1 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    config.flags =
        (param >> 16 & 1 ? CUVET_SELECT_LENIENT : 0) | (param >> 18 & 1 ? CUVET_SELECT_ADDRESS32 : 0);
    config.toolkit = param >> 27 & 1 ? 128 : 0;
    return config;
}

/* Where the last ELF begins, if something is before it. */
static size_t tail(const fz_input *in)
{
    for (size_t at = in->len >= 4 ? in->len - 4 : 0; at > 0; at--)
        if (memcmp(in->bytes + at,
                   "\x7f"
                   "ELF",
                   4) == 0)
            return at;
    return in->len;
}

CV_FUZZ_TARGET(input)
{
    uint64_t hash[2];
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    for (unsigned pass = 0; pass < 2; pass++) {
        input_run run = { .in = &in,
                          .file = in.len,
                          .cfg = config(in.param),
                          .how = (enum compiler)(in.param >> 19 & 7),
                          .copy = in.param >> 17 & 1 };

        if (run.how == TAIL)
            run.file = tail(&in);
        /* Whose memory it is makes no difference, while there is enough of it. */
        if (pass == 1 && lim.live >= CV_MIB)
            run.copy = !run.copy;
        hash[pass] = once(&run, &lim, pass);
    }
    FZ_CHECK(hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)
