/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include "known/keeper.h"
#include "known/recording.h"
#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* Inputs of up to this size are scanned one by each thread, larger ones by all threads together. */
#define SMALL_INPUT (UINT64_C(16) << 20)
/* From this size on all threads may help with what a thread that went ahead left over. */
#define FOR_ALL_THREADS (UINT64_C(1) << 20)

typedef struct session_current {
    cli_session *session;
    cli_input in;
    cli_result result;
    cuvet_ctx *ctx;
    cuvet_scan scan;
    bool ahead;  /* a thread has been here: the scan is open, and its first pieces are examined … */
    bool more;   /* … but not all of them */
    bool told;   /* somebody takes what is diagnosed … */
    bool missed; /* … and something was before */
    char *texts; /* of a kept input: what in.name and in.why point to */
    struct cli_retold *retold; /* what an earlier run told of it; NULL: it is scanned */
    cli_recording recording;   /* what this one tells, where that is to be kept */
} session_current;

/* An earlier scan. */
struct cli_retold {
    uint8_t *bytes;
    size_t size;
    struct {
        cuvet_rule rule;
        uint64_t count;
    } * above; /* rules that were reported more often than was told */
    size_t n_above;
};

static int exit_of_diag(const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);

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

static bool is_finding(const cli_session *session, cuvet_verdict verdict)
{
    return (CLI_BIT(verdict) & (session->fail_on ? session->fail_on : CLI_FINDINGS)) != 0;
}

static void add_verdict(cli_result *result, const cli_session *session, cuvet_verdict verdict, int rc)
{
    result->verdicts |= CLI_BIT(verdict);
    if (rc == CLI_X_INTERNAL || is_finding(session, verdict))
        result->rc = cli_worse(result->rc, rc);
}

/* An input that something amounts to this verdict in; rc is what it makes the exit code if it does. A defect
 * of ours is never left out. */
static void amounts_to(session_current *current, cuvet_verdict verdict, int rc)
{
    add_verdict(&current->result, current->session, verdict, rc);
}

void cli_result_amounts(cli_result *result, const cli_session *session, cuvet_verdict verdict, int rc)
{
    add_verdict(result, session, verdict, rc);
    result->verdict = verdict > result->verdict ? verdict : result->verdict;
}

bool cli_is_closed(const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);

    return rule && strcmp(rule->id, "CV-FILE-002") == 0;
}

/* What is said louder than a note is a finding, also where the verdict by itself is only "unsupported". */
static cuvet_verdict verdict_of(const cuvet_diag *diag)
{
    cuvet_verdict verdict = cuvet_diag_verdict(diag);

    if (verdict >= CUVET_V_SUSPICIOUS || diag->severity == CUVET_NOTE)
        return verdict;
    return diag->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_MALFORMED;
}

/* What the machine had to do with is no property of the file. */
static void record_diag(session_current *current, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);

    if (!rule || rule->cls == CUVET_C_IO || rule->cls == CUVET_C_INTERNAL)
        current->recording.off = true;
    cli_recording_diag(&current->recording, diag);
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    session_current *current = user;

    if (!current->told) {
        current->missed = true;
        return;
    }
    amounts_to(current, verdict_of(diag), exit_of_diag(diag));
    if (!current->retold)
        record_diag(current, diag);
    if (current->session->sink->finding) {
        cli_progress_clear(current->session);
        current->session->sink->finding(current->session->user, current->session, diag);
    }
}

static void on_claim(void *user, const cuvet_claim_info *claim)
{
    session_current *current = user;

    current->session->sink->claim(current->session->user, current->session, claim);
}

static void tell_item(cli_session *session, const cuvet_item *item)
{
    session->members++;
    if (session->sink->member) {
        cli_progress_clear(session);
        session->sink->member(session->user, session, item);
    }
    cli_progress_step(session, item->payload_off);
}

static cuvet_status walk_items(session_current *current)
{
    cli_session *session = current->session;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_status status;

    while ((status = cuvet_scan_next(session->ctx, session->scan, &item)) == CUVET_OK) {
        cli_recording_item(&current->recording, &item);
        tell_item(session, &item);
        if (ferror(stdout))
            return CUVET_E_IO; /* nobody reads what else would be found */
    }
    return status;
}

static cuvet_status open_scan(session_current *current, uint32_t jobs)
{
    const cli_session *session = current->session;
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &session->args->limits, .diag = on_diag, .diag_user = current
    };
    const cuvet_scan_options so = { .size = sizeof(so),
                                    .depth = session->depth,
                                    .jobs = jobs,
                                    .claim = session->sink->claim ? on_claim : NULL,
                                    .claim_user = current,
                                    .target = session->target };
    cuvet_status status = cuvet_ctx_create(&co, &current->ctx);

    return status == CUVET_OK ? cuvet_scan_create(current->ctx, &current->in.source, &so, &current->scan)
                              : status;
}

static void close_ahead(session_current *current)
{
    cuvet_ctx_destroy(current->ctx); /* with the scan */
    current->ctx = NULL;
    current->scan = (cuvet_scan){ 0 };
    current->ahead = current->more = current->missed = false;
}

/* What a thread can do of a scan: nothing that anybody hears of. Whatever goes wrong, or cannot be kept, is
 * done again by whoever delivers, from the beginning. */
static void go_ahead(void *item)
{
    session_current *current = item;
    uint32_t jobs = current->in.source.length < FOR_ALL_THREADS ? 1 : current->session->means.jobs;
    cuvet_status status;

    if (current->in.why || current->in.what == CLI_PACKAGE || current->retold)
        return;
    status = open_scan(current, jobs);
    if (status == CUVET_OK)
        status = cuvet_scan_ahead(current->ctx, current->scan);
    current->more = status == CUVET_OK;
    current->ahead = (current->more || status == CUVET_END) && !current->missed;
    if (!current->ahead)
        close_ahead(current);
}

/* A status that no diagnostic explained still needs a verdict and an exit code. */
static void settle_status(session_current *current, cuvet_status status)
{
    static const int RC[] = { [CUVET_V_UNSUPPORTED] = CLI_X_FINDINGS,
                              [CUVET_V_SUSPICIOUS] = CLI_X_FINDINGS,
                              [CUVET_V_MALFORMED] = CLI_X_FINDINGS,
                              [CUVET_V_LIMIT] = CLI_X_LIMIT,
                              [CUVET_V_ERROR] = CLI_X_IO };
    cli_result *result = &current->result;

    /* Not from the diagnostics alone: they may be capped to nothing. */
    result->verdict = result->sum.verdict;
    amounts_to(current, result->verdict, RC[result->verdict]);
    if (current->session->args->limits.diagnostics == 0 && result->sum.errors > 0)
        amounts_to(current, CUVET_V_MALFORMED, CLI_X_FINDINGS);
    if (current->session->args->limits.diagnostics == 0 && result->sum.warnings > 0)
        amounts_to(current, CUVET_V_SUSPICIOUS, CLI_X_FINDINGS);
    if (status == CUVET_END)
        return;
    result->verdict = status == CUVET_E_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR;
    amounts_to(current, result->verdict, cli_exit_of(status));
    if (status == CUVET_E_LIMIT)
        return;
    result->why = ferror(stdout) ? "standard output failed" : cli_status_text(status);
}

bool cli_is_finding(const cli_result *result)
{
    return result->rc != CLI_X_CLEAN || (result->verdicts & CLI_FINDINGS) != 0;
}

static void add_to_tally(cli_tally *tally, const cli_result *result)
{
    tally->files[result->verdict]++;
    tally->errors[result->verdict] += result->sum.errors;
    tally->warnings[result->verdict] += result->sum.warnings;
}

/* ---- verdicts of an earlier run ---- */

uint64_t cli_session_count(const cli_session *session, cuvet_rule rule)
{
    const struct cli_retold *retold = session->cache.retold;
    uint64_t count = 0;

    for (size_t i = 0; retold && i < retold->n_above; i++)
        if (retold->above[i].rule == rule)
            return retold->above[i].count;
    if (retold || cuvet_scan_rule_count(session->ctx, session->scan, rule, &count) != CUVET_OK)
        return 0;
    return count;
}

static void drop_retold(session_current *current)
{
    if (current->retold) {
        free(current->retold->above);
        free(current->retold->bytes);
    }
    free(current->retold);
    current->retold = NULL;
}

/* Counts come behind all that they are about: they are taken out first. @return false: it cannot be told */
static bool take_counts(struct cli_retold *retold)
{
    cli_retelling telling = { .bytes = retold->bytes, .size = retold->size };
    cli_told told;

    do {
        void *more = NULL;

        told = cli_retelling_step(&telling);
        if (told != CLI_TOLD_COUNT)
            continue;
        more = reallocarray(retold->above, retold->n_above + 1, sizeof(*retold->above));
        if (!more)
            return false;
        retold->above = more;
        retold->above[retold->n_above].rule = telling.rule;
        retold->above[retold->n_above++].count = telling.count;
    } while (told != CLI_TOLD_END && told != CLI_TOLD_DAMAGED);
    return told == CLI_TOLD_END;
}

/* Has an earlier run of this program seen the same bytes? */
static void look_up(session_current *current)
{
    const cli_session *session = current->session;
    uint8_t *bytes;
    size_t size;

    current->recording.off = !session->cache.keeper || current->in.number == 0;
    if (current->recording.off || current->in.why)
        return;
    bytes = cli_keeper_get(session->cache.keeper, current->in.number, &size);
    current->retold = bytes ? calloc(1, sizeof(*current->retold)) : NULL;
    if (!current->retold) {
        free(bytes);
        return;
    }
    *current->retold = (struct cli_retold){ .bytes = bytes, .size = size };
    if (take_counts(current->retold))
        cli_keeper_put(session->cache.keeper, current->in.number, NULL, 0);
    else
        drop_retold(current); /* damaged: it is scanned, and kept in its place */
}

/* As if it were scanned. */
static void retell_input(session_current *current)
{
    cli_session *session = current->session;
    cli_retelling telling = { .bytes = current->retold->bytes, .size = current->retold->size };
    cli_told told;

    session->cache.retold = current->retold;
    session->cache.inputs++;
    current->told = true;
    while ((told = cli_retelling_step(&telling)) != CLI_TOLD_END && told != CLI_TOLD_DAMAGED &&
           !ferror(stdout)) {
        if (told == CLI_TOLD_DIAG)
            on_diag(current, &telling.diag);
        else if (told == CLI_TOLD_ITEM)
            tell_item(session, &telling.item);
    }
    current->result.sum = telling.sum;
    if (session->sink->closing)
        session->sink->closing(session->user, session);
    settle_status(current, told == CLI_TOLD_END ? CUVET_END : CUVET_E_IO);
    session->cache.retold = NULL;
}

/* The counts of rules of which more was found than told, and the end. */
static void keep_recording(session_current *current, cuvet_status status)
{
    const cli_session *session = current->session;
    cli_recording *recording = &current->recording;
    const cuvet_summary *sum = &current->result.sum;

    for (cuvet_rule rule = 0; !recording->off && sum->suppressed > 0 && cuvet_rule_get(rule); rule++) {
        uint64_t count = 0;

        if (cuvet_scan_rule_count(session->ctx, session->scan, rule, &count) == CUVET_OK && count > 0)
            cli_recording_count(recording, rule, count);
    }
    if (!recording->off)
        cli_recording_end(recording, sum);
    if (session->cache.keeper && current->in.number > 0) {
        bool good = status == CUVET_END && !recording->off && sum->verdict < CUVET_V_ERROR;

        cli_keeper_put(session->cache.keeper, current->in.number, good ? recording->bytes : NULL,
                       recording->size);
    }
    cli_recording_free(recording);
}

static void scan_input(session_current *current)
{
    cli_session *session = current->session;
    cuvet_status status = CUVET_OK, sum = CUVET_OK, closed = CUVET_OK;

    current->told = true;
    if (!current->ahead)
        status = open_scan(current, session->means.jobs);
    session->ctx = current->ctx;
    session->scan = current->scan;
    if (status == CUVET_OK) {
        status = walk_items(current);
        current->result.sum.size = sizeof(current->result.sum);
        sum = cuvet_scan_summary(session->ctx, session->scan, &current->result.sum);
        if (session->sink->closing)
            session->sink->closing(session->user, session);
        keep_recording(current, sum == CUVET_OK ? status : sum);
        closed = cuvet_scan_destroy(session->ctx, &session->scan);
    }
    if (sum != CUVET_OK || closed != CUVET_OK)
        status = CUVET_E_INTERNAL;
    settle_status(current, status);
    cuvet_ctx_destroy(current->ctx);
    session->ctx = current->ctx = NULL;
}

/* What cannot be read is an error; what a package has, and nobody can unpack, is judged like a piece of a
 * file. */
static cuvet_verdict verdict_of_rc(int rc)
{
    return rc == CLI_X_LIMIT      ? CUVET_V_LIMIT
           : rc == CLI_X_FINDINGS ? CUVET_V_MALFORMED
           : rc == CLI_X_CLEAN    ? CUVET_V_UNSUPPORTED
                                  : CUVET_V_ERROR;
}

/* Its entries were inputs of their own. */
static bool end_package(session_current *current)
{
    cli_session *session = current->session;

    session->in = &current->in;
    if (session->sink->end)
        session->sink->end(session->user, session, &current->result);
    session->in = NULL;
    return !ferror(stdout);
}

static bool scan_one(session_current *current)
{
    cli_session *session = current->session;
    const cli_input *in = &current->in;

    if (in->what == CLI_PACKAGE)
        return end_package(current);
    session->in = in;
    session->n_inputs++;
    session->members = 0;
    cli_progress_begin(session);
    if (session->sink->begin)
        session->sink->begin(session->user, session);
    if (in->why) {
        current->result.verdict = verdict_of_rc(in->rc);
        current->result.why = in->why;
        amounts_to(current, current->result.verdict, in->rc);
    } else if (current->retold) {
        retell_input(current);
    } else {
        scan_input(current);
    }
    if (session->sink->settle)
        session->sink->settle(session->user, session, &current->result);
    cli_progress_clear(session);
    if (current->result.why && !cli_reader_gone())
        cli_complain(in->name, "%s", current->result.why);
    session->rc = cli_worse(session->rc, current->result.rc);
    add_to_tally(&session->tally, &current->result);
    if (session->sink->end)
        session->sink->end(session->user, session, &current->result);
    session->in = NULL;
    return !ferror(stdout);
}

/* ---- several inputs at a time ---- */

static void drop_kept(void *item)
{
    session_current *current = item;

    close_ahead(current);
    drop_retold(current);
    cli_recording_free(&current->recording);
    if (current->in.kept)
        cuvet_source_destroy(&current->in.source);
    free(current->texts);
}

static bool deliver_kept(void *user, void *item)
{
    cli_session *session = user;
    session_current *current = item;
    bool go_on = true;

    if (current->in.remark) {
        cli_complain(current->in.name, "%s", current->in.why);
    } else {
        /* All threads turn to what is left: there are never more of them than were asked for. */
        if (!current->in.why && !current->retold && current->in.what != CLI_PACKAGE &&
            (current->more || !current->ahead))
            cli_pool_pause(session->pool);
        go_on = scan_one(current);
    }
    drop_kept(current);
    return go_on;
}

/* The name, and what is said about an input that cannot be read, in memory of our own: one behind the other.
 */
static char *keep_texts(const cli_input *in)
{
    size_t len = strlen(in->name) + 1, why = in->why ? strlen(in->why) + 1 : 0;
    char *texts = malloc(len + why);

    if (texts)
        memcpy(texts, in->name, len);
    if (texts && why)
        memcpy(texts + len, in->why, why);
    return texts;
}

static bool keep_input(cli_session *session, cli_input *in, char *texts)
{
    session_current *current = cli_pool_room(session->pool);

    if (!current) {
        free(texts);
        return false;
    }
    in->kept = !in->why;
    *current = (session_current){ .session = session, .in = *in, .texts = texts };
    current->in.name = texts;
    current->in.why = in->why ? texts + strlen(texts) + 1 : NULL;
    look_up(current);
    return cli_pool_put(session->pool, in->why ? 0 : in->source.length);
}

static bool on_input(void *user, cli_input *in)
{
    cli_session *session = user;
    session_current current = { .session = session, .in = *in };
    bool keep = session->pool && (in->why || in->source.length <= SMALL_INPUT);
    char *texts = keep ? keep_texts(in) : NULL;
    bool go_on;

    if (texts)
        return keep_input(session, in, texts);
    if (session->pool && !cli_pool_drain(session->pool))
        return false;
    if (in->remark) {
        cli_complain(in->name, "%s", in->why);
        return true;
    }
    look_up(&current);
    go_on = scan_one(&current);
    drop_retold(&current);
    cli_recording_free(&current.recording);
    return go_on;
}

static bool on_idle(void *user)
{
    const cli_session *session = user;

    return session->pool && cli_pool_step(session->pool);
}

static void on_means(void *user, const cli_means *means)
{
    static const cli_pool_calls CALLS = { .work = go_ahead, .deliver = deliver_kept, .drop = drop_kept };
    cli_session *session = user;

    session->means = *means;
    if (means->jobs > 1 && means->room > 1)
        session->pool = cli_pool_open(means->jobs, sizeof(session_current), means->room, &CALLS,
                                      session); /* without it: in turn */
}

int cli_session_run(cli_session *session)
{
    int rc;

    if (!cli_has_inputs(session->args))
        return CLI_X_USAGE;
    session->means.jobs = session->args->jobs;
    /* Clean also after an early stop, which is a failed standard output: reported when that is flushed. */
    rc = cli_each_input(session->args, session->needs, on_input,
                        session); /* before session->rc is looked at */
    session->cut_short = rc != CLI_X_CLEAN;
    return cli_worse(session->rc, rc);
}

int cli_session_run_ahead(cli_session *session)
{
    static const cli_ahead_calls CALLS = { .means = on_means, .input = on_input, .idle = on_idle };
    int rc;

    if (!cli_has_inputs(session->args))
        return CLI_X_USAGE;
    rc = cli_each_input_ahead(session->args, session->needs, &CALLS, session);
    if (session->pool)
        (void)cli_pool_drain(session->pool); /* what stops it is a failed standard output, as above */
    cli_pool_close(session->pool);
    session->pool = NULL;
    session->cut_short = rc != CLI_X_CLEAN;
    return cli_worse(session->rc, rc);
}
