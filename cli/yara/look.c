/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shows each piece to the rules, and hands on what they say. */
#include "yara.h"

#include "../fingerprint.h"
#include "../whole.h"
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_SECONDS 300
#define TIMEOUT_MOST    86400

/* ---- one question ---- */

/* The variables and the sections of a piece. */
typedef struct question_parts {
    char *text; /* variables, each with its NUL */
    size_t n_text, cap_text;
    char *names;
    size_t n_names, cap_names;
    yara_section *section;
    size_t n_sections, cap_sections;
    uint64_t bytes; /* of sections */
    bool failed;    /* no memory */
} question_parts;

static void *grow(question_parts *parts, void *list, size_t need, size_t *cap, size_t size)
{
    size_t more = *cap ? *cap : 256;
    void *out;

    if (need <= *cap)
        return list;
    while (more < need)
        more *= 2;
    out = reallocarray(list, more, size);
    parts->failed = parts->failed || !out;
    if (!out)
        return list;
    *cap = more;
    return out;
}

static void add_text(question_parts *parts, const void *bytes, size_t size)
{
    parts->text = grow(parts, parts->text, parts->n_text + size, &parts->cap_text, 1);
    if (parts->failed || size == 0)
        return;
    memcpy(parts->text + parts->n_text, bytes, size);
    parts->n_text += size;
}

/* A variable, which ends with its NUL. */
static void add_variable(question_parts *parts, const char *text)
{
    add_text(parts, text, strlen(text) + 1);
}

/* Names of kernels, a line each. What is no plain text in one is escaped: a name cannot be two. */
static bool add_kernel(void *user, cuvet_bytes name, const cli_digest *digest)
{
    question_parts *parts = user;
    char escaped[4 * CLI_TEXT_CAP + 2];
    size_t len = cli_escape(name.p, name.n, CLI_TEXT_CAP, escaped, sizeof(escaped) - 1);

    (void)digest;
    if (parts->n_text + len + 1 > YARA_KERNELS_MOST)
        return true; /* the others are counted by nobody; their pieces are seen all the same */
    escaped[len] = '\n';
    add_text(parts, escaped, len + 1);
    return !parts->failed;
}

static void add_kernels(cli_yara *yara, question_parts *parts, const cli_session *session,
                        const cuvet_item *item, const cli_inside *inside)
{
    cli_digest digest;

    for (size_t i = 0; inside->has && i < inside->use.n_kernels; i++)
        (void)add_kernel(parts, inside->use.kernel[i].name, NULL);
    if (item->kind == CUVET_K_PTX && yara->wants_kernels)
        (void)cli_fingerprint_text(inside->bytes, &yara->looking, session, &digest, add_kernel, parts);
    add_text(parts, "", 1);
}

static void add_variables(cli_yara *yara, question_parts *parts, const cli_session *session,
                          const cuvet_item *item, const cli_inside *inside)
{
    char arch[32], producer[128], path[CLI_PATH_CAP];

    cli_arch_text(item, arch, sizeof(arch));
    cli_producer_text(&item->producer, producer, sizeof(producer));
    cli_path(&item->where, path, sizeof(path));
    add_variable(parts, arch);
    add_variable(parts, cuvet_kind_name(item->kind));
    add_variable(parts, producer);
    add_kernels(yara, parts, session, item, inside);
    add_variable(parts, cuvet_compression_name(item->compression));
    add_variable(parts, path);
    add_variable(parts, session->in->name);
}

static void add_section(question_parts *parts, const cli_inside *inside, const cuvet_elf_section *section)
{
    const cuvet_bytes *body = &section->body;
    char name[4 * CLI_MEMBER_CAP + 1];
    size_t len = cli_escape(section->name.p, section->name.n, CLI_MEMBER_CAP, name, sizeof(name));

    if (body->n == 0 || len == 0 || section->off > inside->bytes.n ||
        body->n > inside->bytes.n - section->off)
        return;
    parts->section =
        grow(parts, parts->section, parts->n_sections + 1, &parts->cap_sections, sizeof(*parts->section));
    parts->names = grow(parts, parts->names, parts->n_names + len + 1, &parts->cap_names, 1);
    if (parts->failed || parts->n_names > UINT32_MAX - len - 1)
        return;
    parts->section[parts->n_sections++] =
        (yara_section){ .off = section->off, .size = body->n, .name = (uint32_t)parts->n_names };
    memcpy(parts->names + parts->n_names, name, len + 1);
    parts->n_names += len + 1;
    parts->bytes = parts->bytes > UINT64_MAX - body->n ? UINT64_MAX : parts->bytes + body->n;
}

static void add_sections(question_parts *parts, const cli_inside *inside)
{
    cuvet_elf_section section = { .size = sizeof(section) };

    for (uint64_t i = 1; inside->has && !parts->failed && i < inside->use.count; i++) {
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK)
            return;
        add_section(parts, inside, &section);
    }
}

static void free_parts(question_parts *parts)
{
    free(parts->text);
    free(parts->names);
    free(parts->section);
}

/* ---- what ends the rules' look at a file ---- */

static void give_up(cli_yara *yara, cuvet_verdict verdict, const char *why)
{
    if (*yara->why)
        return;
    yara->verdict = verdict;
    snprintf(yara->why, sizeof(yara->why), "%s", why);
}

/* The process is of no use any more: all further files say so. */
static void lose(cli_yara *yara)
{
    give_up(yara, CUVET_V_ERROR,
            errno == EAGAIN
                ? "rules took longer than --yara-timeout, and could not be stopped; none looks at anything "
                  "further"
                : "libyara died of its rules or of this file; no rule looks at anything further");
    (void)close(yara->fd); /* it ends by that, or with us */
    yara->fd = -1;
}

static void judge_end(cli_yara *yara, const yara_end *end)
{
    char text[128];

    for (size_t i = 0; i < 3; i++)
        yara->hits[i] = yara->hits[i] > UINT64_MAX - end->hits[i] ? UINT64_MAX : yara->hits[i] + end->hits[i];
    switch (end->outcome) {
    case YARA_TIME:
        yara->left_ms = 0;
        give_up(yara, CUVET_V_LIMIT, "rules took longer than --yara-timeout");
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
    size_t i = 0;
    uint64_t all = 0;

    for (; i < yara->n_told && strcmp(yara->told[i].rule, rule) != 0; i++)
        continue;
    for (size_t other = 0; other < yara->n_told; other++)
        all += yara->told[other].count;
    if (all >= YARA_TOLD_MOST)
        return false;
    if (i == yara->n_told) {
        snprintf(yara->told[i].rule, sizeof(yara->told[i].rule), "%s", rule);
        yara->told[i].count = 0;
        yara->n_told++;
    }
    if (yara->told[i].count >= session->args->limits.diagnostics)
        return false;
    yara->told[i].count++;
    return true;
}

static void place_item(cli_yara *yara, const cuvet_item *item, cli_hit *hit);

/* NULL: the whole piece. Its number was judged when it came (wire.c). */
static const yara_section *section_of(const question_parts *parts, const yara_hit *what)
{
    return what->section > 0 && what->section <= parts->n_sections && parts->section
               ? &parts->section[what->section - 1]
               : NULL;
}

static bool tell_hit(cli_yara *yara, const cli_session *session, const cuvet_item *item,
                     const question_parts *parts, const yara_hit *what)
{
    const yara_section *section = section_of(parts, what);
    cli_hit hit = { .item = item,
                    .what = what,
                    .section = section ? parts->names + section->name : "",
                    .severity = (cuvet_severity)what->severity };

    if (!yara->inner->hit || !may_tell(yara, session, what->rule))
        return false;
    snprintf(hit.rule, sizeof(hit.rule), "YARA:%s", what->rule);
    place_item(yara, item, &hit);
    if (what->n_places > 0) {
        hit.inner_off = what->place[0].off;
        hit.length = what->place[0].length;
    } else if (section) {
        hit.inner_off = section->off;
        hit.length = section->size;
    }
    yara->inner->hit(yara->user, session, &hit);
    return true;
}

static bool send_question(const cli_yara *yara, const question_parts *parts, cuvet_bytes bytes, yara_ask *ask)
{
    *ask = (yara_ask){ .milliseconds = (uint32_t)yara->left_ms,
                       .texts = (uint32_t)parts->n_text,
                       .n_sections = (uint32_t)parts->n_sections,
                       .names = (uint32_t)parts->n_names,
                       .size = bytes.n };
    return cli_write_all(yara->fd, ask, sizeof(*ask)) &&
           cli_write_all(yara->fd, parts->section, parts->n_sections * sizeof(*parts->section)) &&
           cli_write_all(yara->fd, parts->text, parts->n_text) &&
           cli_write_all(yara->fd, parts->names, parts->n_names) && cli_write_all(yara->fd, bytes.p, bytes.n);
}

/* @return false: it says what it may not, or nothing any more */
static bool take_answer(cli_yara *yara, const cli_session *session, const cuvet_item *item,
                        const question_parts *parts, const yara_ask *ask)
{
    static yara_hit hit;
    uint64_t told = 0;
    uint32_t mark;
    yara_end end;

    for (uint32_t count = 0;; count++) {
        errno = 0;
        if (!cli_read_all(yara->fd, &mark, sizeof(mark)))
            return false;
        if (mark != YARA_IS_HIT || count == YARA_HITS_PIECE)
            break;
        if (!cli_read_all(yara->fd, &hit, sizeof(hit)) || !yara_hit_ok(&hit, ask))
            return false;
        told += tell_hit(yara, session, item, parts, &hit);
    }
    if (mark != YARA_IS_END || !cli_read_all(yara->fd, &end, sizeof(end)) || !yara_end_ok(&end))
        return false;
    judge_end(yara, &end);
    yara->hidden +=
        end.hits[0] + end.hits[1] + end.hits[2] > told ? end.hits[0] + end.hits[1] + end.hits[2] - told : 0;
    return true;
}

static int64_t now_ms(void)
{
    struct timespec time;

    return clock_gettime(CLOCK_MONOTONIC, &time) == 0 ? (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000
                                                      : 0;
}

static void ask(cli_yara *yara, const cli_session *session, const cuvet_item *item,
                const question_parts *parts, cuvet_bytes bytes)
{
    int64_t begin = now_ms();
    yara_ask head;

    errno = 0;
    if (!send_question(yara, parts, bytes, &head) || !take_answer(yara, session, item, parts, &head)) {
        lose(yara);
        return;
    }
    yara->left_ms -= now_ms() - begin;
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
static bool may_look(cli_yara *yara, const cli_session *session, const question_parts *parts, size_t size)
{
    uint64_t again = parts->bytes > UINT64_MAX / 3 ? UINT64_MAX : 3 * parts->bytes;
    uint64_t all = size > UINT64_MAX - again ? UINT64_MAX : size + again;

    (void)session;
    if (all > yara->looking.left) {
        give_up(yara, CUVET_V_LIMIT, "the limit 'work' ends what rules look at in this file");
        return false;
    }
    yara->looking.left -= all;
    return true;
}

static void look_at(cli_yara *yara, const cli_session *session, const cuvet_item *item)
{
    question_parts parts = { .text = NULL };
    cli_inside inside;

    yara->looking.rc = CLI_X_CLEAN;
    cli_inside_look(&inside, &yara->looking, session, item);
    if (inside.unpacked) {
        add_variables(yara, &parts, session, item, &inside);
        if (yara->wants_sections)
            add_sections(&parts, &inside);
    }
    if (yara->looking.rc != CLI_X_CLEAN)
        give_up(yara, CUVET_V_LIMIT, "a limit ends what rules are told of this file");
    else if (parts.failed)
        give_up(yara, CUVET_V_LIMIT, "there is no room for what rules are told of this file");
    else if (!inside.unpacked)
        yara->unseen++;
    else if (may_look(yara, session, &parts, inside.bytes.n))
        ask(yara, session, item, &parts, inside.bytes);
    free_parts(&parts);
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
    yara->n_told = yara->n_outer = 0;
    *yara->why = '\0';
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

    if (session->in->why)
        return;
    result->ruled = true;
    result->hits = yara->hits[CUVET_NOTE] + yara->hits[CUVET_WARNING] + yara->hits[CUVET_ERROR];
    result->unseen = yara->unseen;
    result->sum.notes += yara->hits[CUVET_NOTE];
    result->sum.warnings += yara->hits[CUVET_WARNING];
    result->sum.errors += yara->hits[CUVET_ERROR];
    result->sum.suppressed += yara->hidden;
    if (yara->hits[CUVET_WARNING] + yara->hits[CUVET_ERROR] > 0)
        cli_result_amounts(result, session, CUVET_V_SUSPICIOUS, CLI_X_FINDINGS);
    if (!*yara->why)
        return;
    cli_result_amounts(result, session, yara->verdict,
                       yara->verdict == CUVET_V_LIMIT ? CLI_X_LIMIT : CLI_X_INTERNAL);
    if (!result->why)
        result->why = yara->why;
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
