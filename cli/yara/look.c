/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shows each piece to the rules, and hands on what they say. */
#include "yara.h"

#include "../whole.h"
#include "process.h"
#include "question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 300
#define TIMEOUT_MOST    86400

/* ---- what ends the rules' look at a file ---- */

static const char TOO_LONG[] = "rules took longer than --yara-timeout";

static void give_up(cli_yara *yara, cuvet_verdict verdict, const char *why)
{
    if (*yara->why)
        return;
    yara->verdict = verdict;
    snprintf(yara->why, sizeof(yara->why), "%s", why);
}

/* Rules go on, but there is something that they were not told, or did not see. */
static void miss(cli_yara *yara, const char *what)
{
    yara->missed = yara->missed ? yara->missed : what;
}

/* The process is of no use any more: all further files say so. */
static void lose(cli_yara *yara)
{
    give_up(yara, CUVET_V_ERROR,
            errno == ETIMEDOUT
                ? "rules took longer than --yara-timeout, and could not be stopped; none looks at anything "
                  "further"
                : "libyara died of its rules or of this file; no rule looks at anything further");
    (void)close(yara->fd); /* it ends by that, or with us */
    yara->fd = -1;
}

/* Of what the process counts nobody needs to know more; sums of a run stay far from their end. */
static uint64_t sum_of(uint64_t count, uint64_t more)
{
    return more > UINT32_MAX - count ? UINT32_MAX : count + more;
}

static void judge_end(cli_yara *yara, const yara_end *end)
{
    char text[128];

    for (size_t i = 0; i < 3; i++)
        yara->hits[i] = sum_of(yara->hits[i], end->hits[i]);
    if (end->cut > 0)
        miss(yara,
             "a string of rules is found a million times in one piece, and was not looked for any further");
    switch (end->outcome) {
    case YARA_TIME:
        yara->left_ms = 0;
        give_up(yara, CUVET_V_LIMIT, TOO_LONG);
        break;
    case YARA_MEMORY: give_up(yara, CUVET_V_LIMIT, "rules found more than there is memory for"); break;
    case YARA_FAILED:
        snprintf(text, sizeof(text), "rules could not be run to their end: libyara's error %u",
                 (unsigned)end->code);
        give_up(yara, CUVET_V_ERROR, text);
        break;
    default: break;
    }
}

/* ---- what rules say ---- */

const char *cli_hit_text(const cli_hit *hit)
{
    return *hit->what->description ? hit->what->description : hit->what->rule;
}

uint64_t cli_hit_file_off(const cli_hit *hit, uint64_t inner_off)
{
    return hit->exact && inner_off <= UINT64_MAX - hit->file_off ? hit->file_off + inner_off : hit->file_off;
}

/* Of a rule as many as the limit 'diagnostics' says, as of the rules of the library; of all, a thousand. */
static bool may_tell(cli_yara *yara, const cli_session *session, const char *rule)
{
    yara_told *told = yara->told;

    if (yara->n_hits == YARA_TOLD_MOST || session->args->limits.diagnostics == 0)
        return false;
    for (; told < yara->told + yara->n_told && strcmp(told->rule, rule) != 0; told++)
        continue;
    if (told == yara->told + yara->n_told) {
        snprintf(told->rule, sizeof(told->rule), "%s", rule);
        told->count = 0;
        yara->n_told++;
    }
    if (told->count >= session->args->limits.diagnostics)
        return false;
    told->count++;
    yara->n_hits++;
    return true;
}

static void place_item(cli_yara *yara, const cuvet_item *item, cli_hit *hit);

/* One question to the process, and what it is about. */
typedef struct asking {
    cli_yara *yara;
    const cli_session *session;
    const cuvet_item *item;
    const cli_inside *inside;
    const yara_parts *parts;
    yara_ask ask;
    int64_t until; /* nobody waits any longer */
} asking;

/* Its name as it is shown: shorter than rules are told it. */
static void name_section(const asking *about, const yara_section *section, cli_hit *hit)
{
    cuvet_elf_section elf = { .size = sizeof(elf) };

    if (cuvet_elf_get_section(about->inside->ctx, about->inside->elf, section->index, &elf) == CUVET_OK)
        (void)cli_escape(elf.name.p, elf.name.n, CLI_MEMBER_CAP, hit->section, sizeof(hit->section));
}

static bool tell_hit(const asking *about, const yara_hit *what)
{
    cli_yara *yara = about->yara;
    /* Its number was judged when it came (wire.c). */
    const yara_section *section = what->section > 0 ? &about->parts->section[what->section - 1] : NULL;
    cli_hit hit = { .item = about->item, .what = what, .severity = (cuvet_severity)what->severity };

    if (!yara->inner->hit || !may_tell(yara, about->session, what->rule))
        return false;
    snprintf(hit.rule, sizeof(hit.rule), "YARA:%s", what->rule);
    place_item(yara, about->item, &hit);
    if (section) {
        name_section(about, section, &hit);
        hit.inner_off = section->off;
        hit.length = section->size;
    }
    if (what->n_places > 0) {
        hit.inner_off = what->place[0].off;
        hit.length = what->place[0].length;
    }
    yara->inner->hit(yara->user, about->session, &hit);
    return true;
}

static bool send_question(const asking *about)
{
    const yara_parts *parts = about->parts;
    const struct {
        const void *bytes;
        uint64_t size;
    } PART[] = {
        { &about->ask, sizeof(about->ask) },
        { parts->section, parts->n_sections * sizeof(*parts->section) },
        { parts->text, parts->n_text },
        { parts->names, parts->n_names },
        { about->inside->bytes.p, about->inside->bytes.n },
    };

    for (size_t i = 0; i < sizeof(PART) / sizeof(PART[0]); i++)
        if (!cli_write_until(about->yara->fd, PART[i].bytes, PART[i].size, about->until))
            return false;
    return true;
}

/* @return false: it says what it may not, or nothing any more */
static bool take_answer(const asking *about)
{
    static yara_hit hit;
    cli_yara *yara = about->yara;
    uint64_t told = 0, said[3] = { 0 }, all;
    uint32_t mark;
    yara_end end;

    for (uint32_t count = 0;; count++) {
        if (!cli_read_until(yara->fd, &mark, sizeof(mark), about->until))
            return false;
        if (mark != YARA_IS_HIT || count == YARA_HITS_PIECE)
            break;
        if (!cli_read_until(yara->fd, &hit, sizeof(hit), about->until) || !yara_hit_ok(&hit, &about->ask))
            return false;
        said[hit.severity]++;
        told += tell_hit(about, &hit);
    }
    if (mark != YARA_IS_END || !cli_read_until(yara->fd, &end, sizeof(end), about->until) ||
        !yara_end_ok(&end, said))
        return false;
    judge_end(yara, &end);
    all = end.hits[CUVET_NOTE] + end.hits[CUVET_WARNING] + end.hits[CUVET_ERROR];
    yara->hidden = sum_of(yara->hidden, all > told ? all - told : 0);
    return true;
}

static void ask(cli_yara *yara, const cli_session *session, const cuvet_item *item, const yara_parts *parts,
                const cli_inside *inside)
{
    int64_t begin = cli_now_ms();
    const asking about = { .yara = yara,
                           .session = session,
                           .item = item,
                           .inside = inside,
                           .parts = parts,
                           .ask = { .milliseconds = (uint32_t)yara->left_ms,
                                    .texts = (uint32_t)parts->n_text,
                                    .n_sections = (uint32_t)parts->n_sections,
                                    .names = (uint32_t)parts->n_names,
                                    .size = inside->bytes.n },
                           .until = yara_process_until(yara->left_ms) };

    errno = 0;
    if (!send_question(&about) || !take_answer(&about)) {
        lose(yara);
        return;
    }
    yara->left_ms -= cli_now_ms() - begin;
    yara->left_ms = yara->left_ms > 0 ? yara->left_ms : 0;
}

/* ---- pieces ---- */

static bool lies_in(const cuvet_path *inner, const cuvet_path *outer)
{
    if (inner->n <= outer->n)
        return false;
    for (uint32_t i = 0; i < outer->n && i < CUVET_PATH_MAX; i++)
        if (inner->step[i].kind != outer->step[i].kind || inner->step[i].flags != outer->step[i].flags ||
            inner->step[i].index != outer->step[i].index)
            return false;
    return true;
}

/* The container that was met last, and that it lies in. */
static const yara_outer *outer_of(cli_yara *yara, const cuvet_item *item)
{
    while (yara->n_outer > 0 && !lies_in(&item->where, &yara->outer[yara->n_outer - 1].where))
        yara->n_outer--;
    return yara->n_outer > 0 ? &yara->outer[yara->n_outer - 1] : NULL;
}

static void place_item(cli_yara *yara, const cuvet_item *item, cli_hit *hit)
{
    const yara_outer *outer = outer_of(yara, item);
    bool inner = outer && outer->inner;

    hit->file_off = inner ? outer->file_off : item->payload_off;
    hit->exact = !inner && item->compression == CUVET_Z_NONE;
}

static void enter_container(cli_yara *yara, const cuvet_item *item)
{
    const yara_outer *outer = outer_of(yara, item);
    bool inner = outer && outer->inner;

    if (yara->n_outer == YARA_NESTED_MOST)
        return;
    yara->outer[yara->n_outer++] = (yara_outer){ .where = item->where,
                                                 .file_off = inner ? outer->file_off : item->payload_off,
                                                 .inner = inner || item->compression != CUVET_Z_NONE };
}

/* The whole once, a section up to three times. */
static bool may_look(cli_yara *yara, const yara_parts *parts, size_t size)
{
    uint64_t again = parts->bytes > UINT64_MAX / 3 ? UINT64_MAX : 3 * parts->bytes;
    uint64_t all = size > UINT64_MAX - again ? UINT64_MAX : size + again;

    if (yara->left_ms == 0) {
        give_up(yara, CUVET_V_LIMIT, TOO_LONG);
        return false;
    }
    if (all > yara->looking.left) {
        give_up(yara, CUVET_V_LIMIT, "the limit 'work' ends what rules look at in this file");
        return false;
    }
    yara->looking.left -= all;
    return true;
}

static void look_at(cli_yara *yara, const cli_session *session, const cuvet_item *item)
{
    yara_parts parts = { .text = NULL };
    cli_inside inside;

    yara->looking.rc = CLI_X_CLEAN;
    cli_inside_look(&inside, &yara->looking, session, item);
    if (inside.unpacked)
        yara_parts_take(&parts, yara, session, item, &inside);
    if (yara->looking.rc != CLI_X_CLEAN)
        give_up(yara, CUVET_V_LIMIT, "a limit ends what rules are told of this file");
    else if (parts.failed)
        give_up(yara, CUVET_V_LIMIT, "there is no room for what rules are told of this file");
    else if (!inside.unpacked)
        yara->unseen++;
    else if (may_look(yara, &parts, inside.bytes.n))
        ask(yara, session, item, &parts, &inside);
    if (parts.cut)
        miss(yara, "the names of kernels and sections of a piece are more than rules are told of");
    yara_parts_free(&parts);
    cli_inside_leave(&inside);
}

/* ---- the sink ---- */

static int64_t timeout_ms(const cli_args *args)
{
    uint64_t seconds = TIMEOUT_SECONDS;

    if (args->value[CLI_O_YARA_TIMEOUT] &&
        (!cli_number(args->value[CLI_O_YARA_TIMEOUT], &seconds) || seconds < 1 || seconds > TIMEOUT_MOST))
        return 0;
    return (int64_t)seconds * 1000;
}

static void on_begin(void *user, const cli_session *session)
{
    cli_yara *yara = user;

    cli_looking_begin(&yara->looking, session);
    yara->left_ms = timeout_ms(session->args);
    memset(yara->hits, 0, sizeof(yara->hits));
    yara->hidden = yara->unseen = 0;
    yara->n_told = yara->n_hits = yara->n_outer = 0;
    *yara->why = '\0';
    yara->missed = NULL;
    if (yara->inner->begin)
        yara->inner->begin(yara->user, session);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    const cli_yara *yara = user;

    if (yara->inner->finding)
        yara->inner->finding(yara->user, session, diag);
}

static uint32_t sum32(uint32_t count, uint64_t more)
{
    return more > UINT32_MAX - count ? UINT32_MAX : count + (uint32_t)more;
}

/* Containers are looked at piece by piece. */
static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    cli_yara *yara = user;
    const uint64_t warnings = yara->hits[CUVET_WARNING], errors = yara->hits[CUVET_ERROR];
    cuvet_item told = *item;

    if (item->kind == CUVET_K_FATBIN)
        enter_container(yara, item);
    else if (yara->fd < 0)
        give_up(yara, CUVET_V_ERROR, "no rule looked at it: libyara died before");
    else if (!*yara->why)
        look_at(yara, session, item);
    told.warnings = sum32(told.warnings, yara->hits[CUVET_WARNING] - warnings);
    told.errors = sum32(told.errors, yara->hits[CUVET_ERROR] - errors);
    if (yara->inner->member)
        yara->inner->member(yara->user, session, &told);
}

static void on_closing(void *user, const cli_session *session)
{
    const cli_yara *yara = user;

    if (yara->inner->closing)
        yara->inner->closing(yara->user, session);
}

/* A rule says nothing about form: its errors make a file suspicious as well. */
static void on_settle(void *user, const cli_session *session, cli_result *result)
{
    const cli_yara *yara = user;
    bool error;

    if (session->in->why)
        return;
    result->ruled = true;
    result->hits = yara->hits[CUVET_NOTE] + yara->hits[CUVET_WARNING] + yara->hits[CUVET_ERROR];
    result->unseen = yara->unseen;
    result->sum.notes += yara->hits[CUVET_NOTE];
    result->sum.warnings += yara->hits[CUVET_WARNING];
    result->sum.errors += yara->hits[CUVET_ERROR];
    result->sum.suppressed += yara->hidden;
    if (yara->unseen > 0)
        cli_result_amounts(result, session, CUVET_V_UNSUPPORTED, CLI_X_FINDINGS);
    if (yara->hits[CUVET_WARNING] + yara->hits[CUVET_ERROR] > 0)
        cli_result_amounts(result, session, CUVET_V_SUSPICIOUS, CLI_X_FINDINGS);
    if (!*yara->why && !yara->missed)
        return;
    error = *yara->why && yara->verdict == CUVET_V_ERROR;
    cli_result_amounts(result, session, error ? CUVET_V_ERROR : CUVET_V_LIMIT,
                       error ? CLI_X_INTERNAL : CLI_X_LIMIT);
    if (!result->why)
        result->why = *yara->why ? yara->why : yara->missed;
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    const cli_yara *yara = user;

    if (yara->inner->end)
        yara->inner->end(yara->user, session, result);
}

int cli_yara_begin(cli_yara *yara, const cli_args *args, cli_needs *needs)
{
    int64_t timeout = timeout_ms(args);
    int rc;

    *yara = (cli_yara){ .fd = -1 };
    if (timeout == 0) {
        cli_complain(args->value[CLI_O_YARA_TIMEOUT],
                     "--yara-timeout takes a number of seconds, from 1 to 86400");
        return CLI_X_USAGE;
    }
    rc = yara_process_start(args, (uint32_t)(timeout / 1000), &yara->fd);
    if (rc != CLI_X_CLEAN)
        return rc;
    yara->wants_sections = yara_rules_have(YARA_SECTION);
    yara->wants_kernels = yara_rules_have("kernels");
    yara_rules_forget();
    yara->looking.plain = true;
    yara->looking.shallow = !yara->wants_sections && !yara->wants_kernels;
    if (yara->wants_kernels && !cli_load_hash())
        return CLI_X_IO;
    yara->told = malloc(YARA_TOLD_MOST * sizeof(*yara->told));
    if (!yara->told) {
        cli_complain(NULL, "out of memory");
        return CLI_X_INTERNAL;
    }
    needs->helper = yara->fd;
    return CLI_X_CLEAN;
}

void cli_yara_sink(cli_yara *yara, cli_session *session)
{
    static const cli_sink RULES = { .begin = on_begin,
                                    .finding = on_finding,
                                    .member = on_member,
                                    .closing = on_closing,
                                    .settle = on_settle,
                                    .end = on_end };

    yara->inner = session->sink;
    yara->user = session->user;
    session->sink = &RULES;
    session->user = yara;
}

void cli_yara_end(cli_yara *yara)
{
    if (yara->fd >= 0)
        (void)close(yara->fd); /* the process ends by that; there is nothing to wait for */
    free(yara->told);
    yara->told = NULL;
}
