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

typedef struct run {
    const fz_input *in;
    size_t file; /* bytes of the input that are the payload */
    cuvet_input_config cfg;
    enum compiler how;
    bool copy;
    cuvet_ctx *ctx;
    cuvet_input h;
    fz_alloc alloc;
    uint64_t hash;
    uint64_t n_diags, n_errors; /* delivered since the call began */
    unsigned calls, releases;
} run;

static unsigned ends(const run *r)
{
    return r->in->param >> 22 & 15;
}

static void note(run *r, uint64_t v)
{
    r->hash = fz_mix(r->hash, v);
}

static void on_diag(void *user, const cuvet_diag *d)
{
    run *r = user;

    note(r, fz_diag(d, 0, r->file));
    r->n_diags++;
    r->n_errors += d->severity == CUVET_ERROR;
}

static void release(cuvet_compile_result *c, void *user)
{
    (void)c;
    ((run *)user)->releases++;
}

static void check_request(const run *r, const cuvet_compile_request *q)
{
    FZ_CHECK(q->bytes && q->n, "a compiler gets something");
    FZ_CHECK((q->kind == CUVET_K_LTOIR) || !memchr(q->bytes, 0, q->n), "PTX without NUL");
    FZ_CHECK(q->sm == r->cfg.target.sm && q->suffix == r->cfg.target.suffix, "for the target");
    FZ_CHECK(q->threads == 1 && q->cancel && !*q->cancel, "as configured");
    for (size_t i = 0; i < q->n_options; i++)
        FZ_CHECK(q->option[i] && *q->option[i], "no empty option");
}

static cuvet_status compile(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    run *r = user;
    cuvet_input h = r->h;

    check_request(r, q);
    r->calls++;
    note(r, fz_mix_bytes(q->n_options, q->bytes, q->n));
    out->release = release;
    out->log = (char *)r->in->bytes;
    out->n_log = cv_min(r->file, 100);
    switch (r->how) {
    case TAIL:
        out->bytes = r->in->bytes + r->file;
        out->n = r->in->len - r->file;
        break;
    case WHOLE:
        out->bytes = r->in->bytes;
        out->n = r->file;
        break;
    case ENDS:
        out->end = (cuvet_compile_end)ends(r);
        out->detail = -1;
        break;
    case CANCELS: FZ_CHECK(cuvet_input_cancel(r->ctx, r->h) == CUVET_OK, "cancel"); break;
    case NO_MEMORY: return r->calls > 1 ? CUVET_OK : ends(r) ? (cuvet_status)ends(r) : CUVET_E_NOMEM;
    case DESTROYS: FZ_CHECK(cuvet_input_destroy(r->ctx, &h) == CUVET_OK && h.bits == 0, "destroy"); break;
    case NONE:
    case NOTHING: break;
    }
    return CUVET_OK;
}

static cuvet_input_state state(const run *r)
{
    cuvet_input_state st;

    FZ_CHECK(cuvet_input_get_state(r->ctx, r->h, &st) == CUVET_OK, "state");
    return st;
}

static void note_candidate(run *r, const cuvet_candidate *c)
{
    note(r, (uint64_t)c->kind << 32 | (uint64_t)(uint8_t)c->suffix << 40 | c->sm);
    note(r, (uint64_t)c->reason << 40 | (uint64_t)c->rank << 8 | c->chosen | c->first_container << 1);
    note(r, c->header_off ^ c->flags << 20);
}

static bool get(const run *r, uint64_t i, cuvet_candidate *c)
{
    return cuvet_input_get_candidate(r->ctx, r->h, i, c) == CUVET_OK;
}

/* What bind lists: members that lie in the file, and nothing decided yet. */
static void check_listed(run *r)
{
    cuvet_candidate c = { .size = sizeof(c) };
    uint64_t i = 0;

    for (; get(r, i, &c); i++) {
        note_candidate(r, &c);
        FZ_CHECK(c.depth == 0 && c.rank == 0 && !c.chosen && c.reason == CUVET_REASON_NONE, "only listed");
        FZ_CHECK(c.container_off <= c.header_off && c.header_off <= c.payload_off, "in order");
        FZ_CHECK(c.payload_off <= r->file && c.stored_size <= r->file - c.payload_off, "in the file");
    }
    FZ_CHECK(i != 0, "something to select from");
}

static int suffix_order(char s)
{
    return s == 'a' ? 0 : s == 'f' ? 1 : 2;
}

/* a is as good as b or better: the newest, SASS before the rest, 'a' before 'f' before none. */
static bool in_order(const cuvet_candidate *a, const cuvet_candidate *b)
{
    if (a->sm != b->sm)
        return a->sm > b->sm;
    if ((a->kind == CUVET_K_CUBIN) != (b->kind == CUVET_K_CUBIN))
        return a->kind == CUVET_K_CUBIN;
    return suffix_order(a->suffix) <= suffix_order(b->suffix);
}

static void check_fit(const run *r, const cuvet_candidate *c)
{
    FZ_CHECK(c->sm <= r->cfg.target.sm, "nothing newer than the target fits");
    FZ_CHECK(c->suffix != 'a' || c->sm == r->cfg.target.sm, "'a' fits its own number only");
    FZ_CHECK(c->suffix != 'a' || c->kind != CUVET_K_CUBIN || r->cfg.policy == CUVET_ARCH_REFERENCE ||
                 r->cfg.target.suffix == 'a',
             "'a' code and the exact policy");
    FZ_CHECK(c->kind != CUVET_K_CUBIN || r->cfg.request <= CUVET_REQUEST_SASS, "SASS was asked for");
    FZ_CHECK(c->kind != CUVET_K_PTX || r->cfg.request == CUVET_REQUEST_LINK ||
                 r->cfg.request == CUVET_REQUEST_PTX,
             "PTX was asked for");
}

/* The candidates of one depth, [from, end): ranks 1, 2, … of those that fit, in order, one of them chosen. */
static void check_depth(run *r, uint64_t from, uint64_t end, bool ok)
{
    static const uint64_t MANY = 512;
    cuvet_candidate c = { .size = sizeof(c) }, by_rank[512];
    uint64_t n_fit = 0, n_chosen = 0;

    FZ_CHECK(end - from <= MANY, "not more than limits.candidates");
    memset(by_rank, 0, (size_t)(end - from) * sizeof(c));
    for (uint64_t i = from; get(r, i, &c) && i < end; i++) {
        FZ_CHECK(c.rank == 0 || c.reason == CUVET_REASON_NONE, "what is ranked fits");
        FZ_CHECK(c.rank <= end - from, "ranks are dense");
        FZ_CHECK(!c.chosen || c.rank == 1, "the best is chosen");
        n_chosen += c.chosen;
        if (c.rank == 0)
            continue;
        check_fit(r, &c);
        FZ_CHECK(by_rank[c.rank - 1].rank == 0, "a rank is given once");
        by_rank[c.rank - 1] = c;
        n_fit++;
    }
    for (uint64_t i = 0; i < n_fit; i++)
        FZ_CHECK(by_rank[i].rank == i + 1 && (i == 0 || in_order(&by_rank[i - 1], &by_rank[i])),
                 "ranks tell the order");
    FZ_CHECK(n_chosen <= 1 && (!ok || n_chosen == 1), "one is chosen at each depth");
}

static void check_candidates(run *r, bool ok)
{
    uint64_t from = 0, i = 0;
    uint32_t depth = 0;
    cuvet_candidate c = { .size = sizeof(c) };

    for (; get(r, i, &c); i++) {
        note_candidate(r, &c);
        FZ_CHECK(c.depth == depth || c.depth == depth + 1, "depths follow one another");
        if (c.depth == depth)
            continue;
        check_depth(r, from, i, true); /* there is a deeper one: something was chosen here */
        from = i;
        depth++;
    }
    check_depth(r, from, i, ok);
}

/* All that was delivered since the last bind is kept. */
static void check_kept(run *r, uint64_t n)
{
    cuvet_diag d = { .size = sizeof(d) };
    uint64_t i = 0;

    for (; cuvet_input_get_diag(r->ctx, r->h, i, &d) == CUVET_OK; i++)
        note(r, fz_diag(&d, 0, r->file));
    FZ_CHECK(i == n, "what was said is kept");
}

static void open_context(run *r, const cuvet_limits *lim)
{
    cuvet_alloc a = fz_alloc_of(&r->alloc);
    cuvet_ctx_options opt = { sizeof(opt), &a, lim, on_diag, r };

    FZ_CHECK(cuvet_ctx_create(&opt, &r->ctx) == CUVET_OK, "a context");
}

/* The result once more, as an input of its own: the same comes out. */
static void check_again(const run *r, const cuvet_result *got)
{
    run a = { .in = r->in, .file = got->n, .cfg = r->cfg };
    cuvet_elf_header head = { .size = sizeof(head) };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_result b = { .size = sizeof(b) };
    cuvet_elf e;

    fz_limits(0, &lim);
    open_context(&a, &lim);
    if (got->kind == CUVET_K_CUBIN || got->kind == CUVET_K_MERCURY) {
        FZ_CHECK(cuvet_elf_create(a.ctx, got->bytes, got->n, &e) == CUVET_OK, "a result is a whole ELF");
        FZ_CHECK(cuvet_elf_get_header(a.ctx, e, &head) == CUVET_OK, "header");
        a.cfg.request = CUVET_REQUEST_SASS;
    }
    FZ_CHECK(cuvet_input_create(a.ctx, &a.cfg, &a.h) == CUVET_OK, "an input");
    FZ_CHECK(cuvet_input_bind(a.ctx, a.h, got->bytes, got->n, CUVET_BIND_BORROW, NULL) == CUVET_OK,
             "a result is an input");
    FZ_CHECK(cuvet_input_select(a.ctx, a.h) == CUVET_OK, "and selected again");
    FZ_CHECK(cuvet_input_get_result(a.ctx, a.h, &b) == CUVET_OK, "result");
    FZ_CHECK(b.kind == got->kind, "as the same thing");
    if (got->kind != CUVET_K_LTOIR) /* which does not name its target itself */
        FZ_CHECK(b.sm == got->sm && b.suffix == got->suffix, "for the same architecture");
    FZ_CHECK(b.n == got->n && memcmp(b.bytes, got->bytes, b.n) == 0, "with the same bytes");
    cuvet_ctx_destroy(a.ctx);
    FZ_CHECK(a.alloc.live == 0, "nothing stays allocated");
}

static void check_result(run *r, unsigned pass)
{
    cuvet_candidate c = { .size = sizeof(c) }, next = { .size = sizeof(next) };
    cuvet_image img = { .size = sizeof(img) }, none = { .size = sizeof(none) };
    cuvet_result got = { .size = sizeof(got) };

    FZ_CHECK(cuvet_input_get_result(r->ctx, r->h, &got) == CUVET_OK && got.bytes && got.n, "a result");
    FZ_CHECK(get(r, got.candidate, &c) && c.chosen, "names its candidate");
    for (uint64_t i = got.candidate; get(r, i, &next); i++)
        FZ_CHECK(next.depth == c.depth, "of the deepest container");
    FZ_CHECK(got.compiled || got.sm == c.sm, "and its number");
    FZ_CHECK(got.compiled == (r->calls != 0), "the compiler was used or not");
    if (r->cfg.request <= CUVET_REQUEST_SASS)
        FZ_CHECK(got.kind == CUVET_K_CUBIN || got.kind == CUVET_K_MERCURY, "a device ELF");
    else
        FZ_CHECK(got.kind == (r->cfg.request == CUVET_REQUEST_PTX ? CUVET_K_PTX : CUVET_K_LTOIR),
                 "what was asked for");
    note(r, fz_mix_bytes(got.sm, got.bytes, got.n));
    if (pass == 0)
        check_again(r, &got);
    FZ_CHECK(cuvet_input_take_result(r->ctx, r->h, &img) == CUVET_OK, "take");
    FZ_CHECK(img.n == got.n && fz_mix_bytes(0, img.bytes, img.n) == fz_mix_bytes(0, got.bytes, got.n),
             "what is taken is the result");
    FZ_CHECK(cuvet_input_take_result(r->ctx, r->h, &none) == CUVET_E_STATE && !none.bytes, "once");
    cuvet_image_destroy(&img);
}

static bool listed_status(cuvet_status s)
{
    return s == CUVET_E_UNKNOWN || s == CUVET_E_TRUNCATED || s == CUVET_E_MALFORMED ||
           s == CUVET_E_UNSUPPORTED || s == CUVET_E_REFUSED || s == CUVET_E_LIMIT;
}

static cuvet_status bind(run *r)
{
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_status s;

    r->n_diags = r->n_errors = 0;
    s = cuvet_input_bind(r->ctx, r->h, r->in->bytes, r->file, r->copy ? CUVET_BIND_COPY : CUVET_BIND_BORROW,
                         &info);
    note(r, (uint64_t)s);
    note(r, fz_mix(info.off, info.length) ^ (uint64_t)info.type << 8 ^ info.sm);
    if (s == CUVET_OK) {
        FZ_CHECK(state(r) == CUVET_INPUT_BOUND, "bound");
        FZ_CHECK(info.off <= r->file && info.length <= r->file - info.off, "content lies in the file");
        check_listed(r);
    } else {
        FZ_CHECK(listed_status(s), "a status that bind has");
        FZ_CHECK(r->n_errors, "a reason is given");
    }
    return s;
}

static void select_one(run *r, bool roomy, unsigned pass)
{
    uint64_t before = r->n_diags;
    cuvet_result got = { .size = sizeof(got) };
    cuvet_status s;
    bool cancelled, squeezed;

    r->n_errors = 0;
    s = cuvet_input_select(r->ctx, r->h);
    note(r, (uint64_t)s);
    if (r->how == DESTROYS && r->calls) {
        FZ_CHECK(s == CUVET_E_STALE_HANDLE, "gone meanwhile");
        r->h.bits = 0;
        return;
    }
    if (r->how == NO_MEMORY && r->calls && ends(r)) {
        FZ_CHECK(s == CUVET_E_INTERNAL && state(r) == CUVET_INPUT_FAILED, "not a compiler's status");
        return;
    }
    squeezed = !roomy && s == CUVET_E_LIMIT; /* that comes before whatever the compiler did */
    if (r->how == NO_MEMORY && r->calls && !squeezed) {
        FZ_CHECK(s == CUVET_E_NOMEM && state(r) == CUVET_INPUT_BOUND, "as if it had not been called");
        check_listed(r);
        r->n_diags = before;
        s = cuvet_input_select(r->ctx, r->h);
    }
    cancelled = r->how == CANCELS || (r->how == ENDS && ends(r) == CUVET_COMPILE_CANCELLED);
    FZ_CHECK(squeezed || (s == CUVET_E_CANCELLED) == (r->calls && cancelled), "cancelled if somebody did");
    if (s == CUVET_OK) {
        FZ_CHECK(state(r) == CUVET_INPUT_SELECTED, "selected");
    } else {
        FZ_CHECK(state(r) == CUVET_INPUT_FAILED, "failed");
        FZ_CHECK(cuvet_input_get_result(r->ctx, r->h, &got) == CUVET_E_STATE && !got.bytes, "no result");
        FZ_CHECK(listed_status(s) || s == CUVET_E_NO_MATCH || s == CUVET_E_COMPILER || s == CUVET_E_CANCELLED,
                 "a status that select has");
        FZ_CHECK(r->n_errors || s == CUVET_E_CANCELLED || (s == CUVET_E_UNSUPPORTED && r->n_diags > before),
                 "a reason is given");
    }
    check_candidates(r, s == CUVET_OK);
    if (roomy)
        check_kept(r, r->n_diags);
    if (s == CUVET_OK)
        check_result(r, pass);
    FZ_CHECK(cuvet_input_select(r->ctx, r->h) == CUVET_E_STATE, "once");
}

static void log_is_clean(const run *r)
{
    const char *p;
    size_t n;

    FZ_CHECK(cuvet_input_get_log(r->ctx, r->h, &p, &n) == CUVET_OK && p[n] == 0, "a log");
    for (size_t i = 0; i < n; i++)
        FZ_CHECK((p[i] >= 32 && p[i] < 127) || p[i] == '\n', "of printable characters");
}

static uint64_t once(run *r, const cuvet_limits *lim, unsigned pass)
{
    const cuvet_compiler cc = { sizeof(cc), compile, r };
    bool roomy = lim->live >= CV_MIB;
    cuvet_status s;

    open_context(r, lim);
    s = cuvet_input_create(r->ctx, &r->cfg, &r->h);
    FZ_CHECK(s == CUVET_OK || (!roomy && s == CUVET_E_LIMIT), "an input");
    if (s == CUVET_OK && r->how != NONE)
        FZ_CHECK(cuvet_input_set_compiler(r->ctx, r->h, &cc) == CUVET_OK, "a compiler");
    if (s == CUVET_OK && r->in->param >> 26 & 1) {
        s = cuvet_input_option(r->ctx, r->h, "-v -O0", 6);
        FZ_CHECK(s == CUVET_OK || (!roomy && s == CUVET_E_LIMIT), "an option");
    }
    if (s == CUVET_OK)
        s = bind(r);
    if (s == CUVET_OK && r->in->param >> 28 & 1)
        FZ_CHECK(bind(r) == CUVET_OK || !roomy, "what was bound can be bound again");
    if (s == CUVET_OK)
        select_one(r, roomy, pass);
    if (r->h.bits) {
        log_is_clean(r);
        FZ_CHECK(cuvet_input_destroy(r->ctx, &r->h) == CUVET_OK, "destroy");
    }
    cuvet_ctx_destroy(r->ctx);
    FZ_CHECK(r->alloc.live == 0, "nothing stays allocated");
    FZ_CHECK(r->calls == r->releases, "what a compiler gives it gets back");
    return r->hash;
}

static cuvet_input_config config(uint32_t param)
{
    cuvet_input_config c = { .size = sizeof(c) };
    size_t n = 0, want = param >> 8 & 31;

    while (cuvet_target_get(n, &c.target) == CUVET_OK)
        n++;
    /* sm_90 without parameters: most of the samples have code for it */
    for (size_t i = 0; cuvet_target_get(i, &c.target) == CUVET_OK && c.target.sm < 90; i++)
        want++;
    FZ_CHECK(cuvet_target_get(want % n, &c.target) == CUVET_OK, "a target");
    c.request = (cuvet_request)(param >> 13 & 3);
    c.policy = param >> 15 & 1 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    c.flags = (param >> 16 & 1 ? CUVET_INPUT_LENIENT : 0) | (param >> 18 & 1 ? CUVET_INPUT_ADDRESS32 : 0);
    c.toolkit = param >> 27 & 1 ? 128 : 0;
    return c;
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
        run r = { .in = &in,
                  .file = in.len,
                  .cfg = config(in.param),
                  .how = (enum compiler)(in.param >> 19 & 7),
                  .copy = in.param >> 17 & 1 };

        if (r.how == TAIL)
            r.file = tail(&in);
        /* Whose memory it is makes no difference, while there is enough of it. */
        if (pass == 1 && lim.live >= CV_MIB)
            r.copy = !r.copy;
        hash[pass] = once(&r, &lim, pass);
    }
    FZ_CHECK(hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)
