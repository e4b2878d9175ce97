/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* Inputs of up to this size are scanned one by each thread, larger ones by all threads together. */
#define SMALL_INPUT (UINT64_C(16) << 20)
/* From this size on all threads may help with what a thread that went ahead left over. */
#define FOR_ALL_THREADS (UINT64_C(1) << 20)

typedef struct current {
    cli_session *s;
    cli_input in;
    cli_result result;
    cuvet_ctx *ctx;
    cuvet_scan scan;
    bool ahead;  /* a thread has been here: the scan is open, and its first pieces are examined … */
    bool more;   /* … but not all of them */
    bool told;   /* somebody takes what is diagnosed … */
    bool missed; /* … and something was before */
    char *texts; /* of a kept input: what in.name and in.why point to */
} current;

static int exit_of_diag(const cuvet_diag *d)
{
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);

    switch (rule ? rule->cls : CUVET_C_INTERNAL) {
    case CUVET_C_LIMIT: return CLI_X_LIMIT;
    case CUVET_C_IO: return CLI_X_IO;
    case CUVET_C_INTERNAL: return CLI_X_INTERNAL;
    case CUVET_C_FORM:
    case CUVET_C_PROFILE:
    case CUVET_C_TARGET:
    case CUVET_C_UNSUPPORTED: break;
    }
    return CLI_X_FINDINGS;
}

static bool counts(const cli_session *s, cuvet_verdict v)
{
    return (CLI_BIT(v) & (s->fail_on ? s->fail_on : CLI_FINDINGS)) != 0;
}

/* An input that something amounts to this verdict in; rc is what it makes the exit code if it does. A defect
 * of ours is never left out. */
static void amounts_to(current *c, cuvet_verdict v, int rc)
{
    c->result.verdicts |= CLI_BIT(v);
    if (rc == CLI_X_INTERNAL || counts(c->s, v))
        c->result.rc = cli_worse(c->result.rc, rc);
}

/* What is said louder than a note is a finding, also where the verdict by itself is only "unsupported". */
static cuvet_verdict verdict_of(const cuvet_diag *d)
{
    cuvet_verdict v = cuvet_diag_verdict(d);

    if (v >= CUVET_V_SUSPICIOUS || d->severity == CUVET_NOTE)
        return v;
    return d->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_MALFORMED;
}

static void on_diag(void *user, const cuvet_diag *d)
{
    current *c = user;

    if (!c->told) {
        c->missed = true;
        return;
    }
    amounts_to(c, verdict_of(d), exit_of_diag(d));
    if (c->s->sink->finding) {
        cli_progress_clear(c->s);
        c->s->sink->finding(c->s->user, c->s, d);
    }
}

static void on_claim(void *user, const cuvet_claim_info *claim)
{
    current *c = user;

    c->s->sink->claim(c->s->user, c->s, claim);
}

static cuvet_status walk_items(cli_session *s)
{
    cuvet_item it = { .size = sizeof(it) };
    cuvet_status st;

    while ((st = cuvet_scan_next(s->ctx, s->scan, &it)) == CUVET_OK) {
        s->members++;
        if (s->sink->member) {
            cli_progress_clear(s);
            s->sink->member(s->user, s, &it);
        }
        cli_progress_step(s, it.payload_off);
        if (ferror(stdout))
            return CUVET_E_IO; /* nobody reads what else would be found */
    }
    return st;
}

static cuvet_status open_scan(current *c, uint32_t jobs)
{
    const cli_session *s = c->s;
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &s->args->limits, .diag = on_diag, .diag_user = c
    };
    const cuvet_scan_options so = { .size = sizeof(so),
                                    .depth = s->depth,
                                    .jobs = jobs,
                                    .claim = s->sink->claim ? on_claim : NULL,
                                    .claim_user = c,
                                    .target = s->target };
    cuvet_status st = cuvet_ctx_create(&co, &c->ctx);

    return st == CUVET_OK ? cuvet_scan_create(c->ctx, &c->in.source, &so, &c->scan) : st;
}

static void close_ahead(current *c)
{
    cuvet_ctx_destroy(c->ctx); /* with the scan */
    c->ctx = NULL;
    c->scan = (cuvet_scan){ 0 };
    c->ahead = c->more = c->missed = false;
}

/* What a thread can do of a scan: nothing that anybody hears of. Whatever goes wrong, or cannot be kept, is
 * done again by whoever delivers, from the beginning. */
static void go_ahead(void *item)
{
    current *c = item;
    uint32_t jobs = c->in.source.length < FOR_ALL_THREADS ? 1 : c->s->means.jobs;
    cuvet_status st;

    if (c->in.why)
        return;
    st = open_scan(c, jobs);
    if (st == CUVET_OK)
        st = cuvet_scan_ahead(c->ctx, c->scan);
    c->more = st == CUVET_OK;
    c->ahead = (c->more || st == CUVET_END) && !c->missed;
    if (!c->ahead)
        close_ahead(c);
}

/* A status that no diagnostic explained still needs a verdict and an exit code. */
static void settle(current *c, cuvet_status st)
{
    static const int RC[] = { [CUVET_V_UNSUPPORTED] = CLI_X_FINDINGS,
                              [CUVET_V_SUSPICIOUS] = CLI_X_FINDINGS,
                              [CUVET_V_MALFORMED] = CLI_X_FINDINGS,
                              [CUVET_V_LIMIT] = CLI_X_LIMIT,
                              [CUVET_V_ERROR] = CLI_X_IO };
    cli_result *r = &c->result;

    /* Not from the diagnostics alone: they may be capped to nothing. */
    r->verdict = r->sum.verdict;
    amounts_to(c, r->verdict, RC[r->verdict]);
    if (c->s->args->limits.diagnostics == 0 && r->sum.errors > 0)
        amounts_to(c, CUVET_V_MALFORMED, CLI_X_FINDINGS);
    if (c->s->args->limits.diagnostics == 0 && r->sum.warnings > 0)
        amounts_to(c, CUVET_V_SUSPICIOUS, CLI_X_FINDINGS);
    if (st == CUVET_END)
        return;
    r->verdict = st == CUVET_E_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR;
    amounts_to(c, r->verdict, cli_exit_of(st));
    if (st == CUVET_E_LIMIT)
        return;
    r->why = ferror(stdout) ? "standard output failed" : cli_status_text(st);
}

bool cli_is_finding(const cli_result *r)
{
    return r->rc != CLI_X_CLEAN || (r->verdicts & CLI_FINDINGS) != 0;
}

static void add_to_tally(cli_tally *t, const cli_result *r)
{
    t->files[r->verdict]++;
    t->errors[r->verdict] += r->sum.errors;
    t->warnings[r->verdict] += r->sum.warnings;
}

static void scan_input(current *c)
{
    cli_session *s = c->s;
    cuvet_status st = CUVET_OK, sum = CUVET_OK, closed = CUVET_OK;

    c->told = true;
    if (!c->ahead)
        st = open_scan(c, s->means.jobs);
    s->ctx = c->ctx;
    s->scan = c->scan;
    if (st == CUVET_OK) {
        st = walk_items(s);
        c->result.sum.size = sizeof(c->result.sum);
        sum = cuvet_scan_summary(s->ctx, s->scan, &c->result.sum);
        if (s->sink->closing)
            s->sink->closing(s->user, s);
        closed = cuvet_scan_destroy(s->ctx, &s->scan);
    }
    if (sum != CUVET_OK || closed != CUVET_OK)
        st = CUVET_E_INTERNAL;
    settle(c, st);
    cuvet_ctx_destroy(c->ctx);
    s->ctx = c->ctx = NULL;
}

static bool scan_one(current *c)
{
    cli_session *s = c->s;
    const cli_input *in = &c->in;

    s->in = in;
    s->n_inputs++;
    s->members = 0;
    cli_progress_begin(s);
    if (s->sink->begin)
        s->sink->begin(s->user, s);
    if (in->why) {
        c->result.verdict = in->rc == CLI_X_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR;
        c->result.why = in->why;
        amounts_to(c, c->result.verdict, in->rc);
    } else {
        scan_input(c);
    }
    cli_progress_clear(s);
    if (c->result.why && !cli_reader_gone())
        cli_complain(in->name, "%s", c->result.why);
    s->rc = cli_worse(s->rc, c->result.rc);
    add_to_tally(&s->tally, &c->result);
    if (s->sink->end)
        s->sink->end(s->user, s, &c->result);
    s->in = NULL;
    return !ferror(stdout);
}

/* ---- several inputs at a time ---- */

static void drop_kept(void *item)
{
    current *c = item;

    close_ahead(c);
    if (c->in.kept)
        cuvet_source_destroy(&c->in.source);
    free(c->texts);
}

static bool deliver_kept(void *user, void *item)
{
    cli_session *s = user;
    current *c = item;
    bool go_on = true;

    if (c->in.remark) {
        cli_complain(c->in.name, "%s", c->in.why);
    } else {
        /* All threads turn to what is left: there are never more of them than were asked for. */
        if (!c->in.why && (c->more || !c->ahead))
            cli_pool_pause(s->pool);
        go_on = scan_one(c);
    }
    drop_kept(c);
    return go_on;
}

/* The name, and what is said about an input that cannot be read, in memory of our own: one behind the other.
 */
static char *keep_texts(const cli_input *in)
{
    size_t n = strlen(in->name) + 1, why = in->why ? strlen(in->why) + 1 : 0;
    char *texts = malloc(n + why);

    if (texts)
        memcpy(texts, in->name, n);
    if (texts && why)
        memcpy(texts + n, in->why, why);
    return texts;
}

static bool keep_input(cli_session *s, cli_input *in, char *texts)
{
    current *c = cli_pool_room(s->pool);

    if (!c) {
        free(texts);
        return false;
    }
    in->kept = !in->why;
    *c = (current){ .s = s, .in = *in, .texts = texts };
    c->in.name = texts;
    c->in.why = in->why ? texts + strlen(texts) + 1 : NULL;
    return cli_pool_put(s->pool, in->why ? 0 : in->source.length);
}

static bool on_input(void *user, cli_input *in)
{
    cli_session *s = user;
    current c = { .s = s, .in = *in };
    bool keep = s->pool && (in->why || in->source.length <= SMALL_INPUT);
    char *texts = keep ? keep_texts(in) : NULL;

    if (texts)
        return keep_input(s, in, texts);
    if (s->pool && !cli_pool_drain(s->pool))
        return false;
    if (!in->remark)
        return scan_one(&c);
    cli_complain(in->name, "%s", in->why);
    return true;
}

static bool on_idle(void *user)
{
    const cli_session *s = user;

    return s->pool && cli_pool_step(s->pool);
}

static void on_means(void *user, const cli_means *m)
{
    static const cli_pool_calls CALLS = { .work = go_ahead, .deliver = deliver_kept, .drop = drop_kept };
    cli_session *s = user;

    s->means = *m;
    if (m->jobs > 1 && m->room > 1)
        s->pool = cli_pool_open(m->jobs, sizeof(current), m->room, &CALLS, s); /* without it: in turn */
}

int cli_session_run(cli_session *s)
{
    int rc;

    if (!cli_has_inputs(s->args))
        return CLI_X_USAGE;
    s->means.jobs = s->args->jobs;
    /* Clean also after an early stop, which is a failed standard output: reported when that is flushed. */
    rc = cli_each_input(s->args, s->needs, on_input, s); /* before s->rc is looked at */
    s->cut_short = rc != CLI_X_CLEAN;
    return cli_worse(s->rc, rc);
}

int cli_session_run_ahead(cli_session *s)
{
    static const cli_ahead_calls CALLS = { .means = on_means, .input = on_input, .idle = on_idle };
    int rc;

    if (!cli_has_inputs(s->args))
        return CLI_X_USAGE;
    rc = cli_each_input_ahead(s->args, s->needs, &CALLS, s);
    if (s->pool)
        (void)cli_pool_drain(s->pool); /* what stops it is a failed standard output, as above */
    cli_pool_close(s->pool);
    s->pool = NULL;
    s->cut_short = rc != CLI_X_CLEAN;
    return cli_worse(s->rc, rc);
}
