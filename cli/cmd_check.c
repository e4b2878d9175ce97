/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Does what is shipped have the code that it is said to have? Of each file, or of each package as a whole. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CODES = 512, TEXT_CAP = 32 };

/* An architecture that there is code for, or has to be: machine code, or PTX. */
typedef struct check_code {
    bool ptx;
    char suffix;
    uint32_t arch;
} check_code;

typedef struct check_codes {
    check_code code[MOST_CODES];
    size_t count;
} check_codes;

typedef struct check_run {
    check_codes required, has;
    uint32_t forbidden, found; /* kinds, as bits */
    bool each, json;
    bool over;                     /* more architectures than are told apart */
    bool unread;                   /* something could not be looked at */
    cuvet_verdict worst;           /* of what the present subject holds */
    uint64_t subjects, of_package; /* told of; of the present package */
    int rc;
} check_run;

/* Kinds that may be forbidden: what is compiled where it runs, or says more than machine code does. */
static const cuvet_kind KINDS[] = { CUVET_K_PTX, CUVET_K_LTOIR, CUVET_K_BITCODE };

static void code_text(const check_code *code, char out[TEXT_CAP])
{
    snprintf(out, TEXT_CAP, "%s%" PRIu32 "%.1s", code->ptx ? "compute_" : "sm_", code->arch,
             (char[]){ code->suffix, '\0' });
}

/* ---- what is wanted ---- */

static bool take_code(const char *word, check_code *code)
{
    const char *at = strncmp(word, "sm_", 3) == 0        ? word + 3
                     : strncmp(word, "compute_", 8) == 0 ? word + 8
                                                         : NULL;
    size_t digits = at ? strspn(at, "0123456789") : 0;
    const char *end = at ? at + digits : NULL;
    uint32_t arch = 0;

    if (digits == 0 || digits > 4 || *at == '0' || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0))
        return false;
    while (at < end)
        arch = 10 * arch + (uint32_t)(*at++ - '0');
    *code = (check_code){ .ptx = word[0] == 'c', .arch = arch, .suffix = *end };
    return true;
}

static bool take_required(void *user, const char *word)
{
    check_run *run = user;
    check_codes *list = &run->required;

    if (list->count < MOST_CODES && take_code(word, &list->code[list->count])) {
        list->count++;
        return true;
    }
    cli_complain(word, "--require takes sm_N and compute_N, with commas between them");
    return false;
}

static bool take_forbidden(void *user, const char *word)
{
    check_run *run = user;

    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (strcmp(word, cuvet_kind_name(KINDS[i])) == 0) {
            run->forbidden |= CLI_BIT(KINDS[i]);
            return true;
        }
    cli_complain(word, "--forbid takes ptx, lto-ir and bitcode, with commas between them");
    return false;
}

/* ---- what is there ---- */

static bool same_code(const check_code *left, const check_code *right)
{
    return left->ptx == right->ptx && left->arch == right->arch && left->suffix == right->suffix;
}

static int by_code(const void *left, const void *right)
{
    const check_code *one = left, *other = right;

    if (one->ptx != other->ptx)
        return one->ptx ? 1 : -1;
    if (one->arch != other->arch)
        return one->arch < other->arch ? -1 : 1;
    return one->suffix - other->suffix;
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    check_run *run = user;
    check_codes *has = &run->has;
    const check_code code = { .ptx = item->kind == CUVET_K_PTX,
                              .arch = item->arch,
                              .suffix = item->suffix == 'a' || item->suffix == 'f' ? item->suffix : '\0' };

    (void)session;
    if ((unsigned)item->kind < 32)
        run->found |= CLI_BIT(item->kind);
    if ((item->kind != CUVET_K_PTX && item->kind != CUVET_K_CUBIN) || item->arch == 0)
        return;
    for (size_t i = 0; i < has->count; i++)
        if (same_code(&has->code[i], &code))
            return;
    if (has->count < MOST_CODES)
        has->code[has->count++] = code;
    else
        run->over = true;
}

/* Machine code for an architecture runs there whatever its suffix is; PTX is compiled for what is newer. */
static bool covers(const check_code *has, const check_code *wanted)
{
    if (has->ptx != wanted->ptx)
        return false;
    if (wanted->suffix)
        return has->arch == wanted->arch && has->suffix == wanted->suffix;
    return wanted->ptx ? has->arch >= wanted->arch && !has->suffix : has->arch == wanted->arch;
}

static bool is_covered(const check_run *run, const check_code *wanted)
{
    for (size_t i = 0; i < run->has.count; i++)
        if (covers(&run->has.code[i], wanted))
            return true;
    return false;
}

/* ---- what is said ---- */

static bool lacks_something(const check_run *run)
{
    for (size_t i = 0; i < run->required.count; i++)
        if (!is_covered(run, &run->required.code[i]))
            return true;
    return false;
}

static void put_codes(const check_run *run, const check_codes *list, bool lacking)
{
    const char *sep = " ";
    char word[TEXT_CAP];

    for (size_t i = 0; i < list->count; i++) {
        if (lacking && is_covered(run, &list->code[i]))
            continue;
        code_text(&list->code[i], word);
        printf("%s%s", sep, word);
        sep = ", ";
    }
}

static void put_kinds(uint32_t kinds)
{
    const char *sep = " ";

    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (kinds & CLI_BIT(KINDS[i])) {
            printf("%s%s", sep, cuvet_kind_name(KINDS[i]));
            sep = ", ";
        }
}

static void say_text(const check_run *run, const char *name, bool good)
{
    uint32_t wrong = run->forbidden & run->found;

    cli_put_str(stdout, name);
    fputs(good ? ": ok" : ": not ok", stdout);
    if (run->worst != CUVET_V_CLEAN)
        printf("; %s", cuvet_verdict_name(run->worst));
    if (run->unread)
        fputs("; not all of it could be read", stdout);
    if (lacks_something(run)) {
        fputs("; lacks", stdout);
        put_codes(run, &run->required, true);
    }
    if (wrong) {
        fputs("; may not have", stdout);
        put_kinds(wrong);
    }
    fputs(run->has.count ? "; has" : "; no device code", stdout);
    put_codes(run, &run->has, false);
    if (run->over)
        fputs(", and more", stdout);
    putchar('\n');
}

static json_t *json_codes(const check_run *run, const check_codes *list, bool lacking)
{
    json_t *array = json_array();
    char word[TEXT_CAP];

    for (size_t i = 0; i < list->count; i++) {
        if (lacking && is_covered(run, &list->code[i]))
            continue;
        code_text(&list->code[i], word);
        cli_json_append(array, json_string(word));
    }
    return array;
}

static void say_json(const check_run *run, const char *name, bool good)
{
    json_t *object = cli_json_begin("check", name), *kinds = json_array();

    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (run->forbidden & run->found & CLI_BIT(KINDS[i]))
            cli_json_append(kinds, json_string(cuvet_kind_name(KINDS[i])));
    cli_json_set(object, "ok", json_boolean(good));
    cli_json_set(object, "verdict", json_string(cuvet_verdict_name(run->worst)));
    cli_json_set(object, "has", json_codes(run, &run->has, false));
    cli_json_set(object, "lacks", json_codes(run, &run->required, true));
    cli_json_set(object, "forbidden", kinds);
    cli_json_put(object);
}

static void end_subject(check_run *run, const char *name)
{
    bool good = !lacks_something(run) && !(run->forbidden & run->found) && run->worst < CUVET_V_SUSPICIOUS &&
                !run->over && !run->unread;

    if (run->has.count)
        qsort(run->has.code, run->has.count, sizeof(run->has.code[0]), by_code);
    (run->json ? say_json : say_text)(run, name, good);
    run->subjects++;
    run->of_package++;
    if (!good)
        run->rc = cli_worse(run->rc, run->over ? CLI_X_LIMIT : CLI_X_FINDINGS);
    run->has.count = 0;
    run->found = 0;
    run->over = run->unread = false;
    run->worst = CUVET_V_CLEAN;
}

/* Entries of a package add up, unless each file is asked for: then those that have code. */
static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    check_run *run = user;
    const cli_input *in = session->in;

    if (in->what == CLI_PACKAGE) {
        if (in->rc != 0)
            return;
        if (!run->each || run->of_package == 0)
            end_subject(run, in->name);
        run->of_package = 0;
        return;
    }
    run->unread = run->unread || in->why;
    if (result->verdict > run->worst)
        run->worst = result->verdict;
    if (in->what == CLI_INPUT) {
        end_subject(run, in->name);
        run->of_package = 0;
    } else if (run->each && (in->why || result->verdict >= CUVET_V_SUSPICIOUS ||
                             result->sum.members + result->sum.images > 0)) {
        end_subject(run, in->name);
    }
}

int cmd_check(int argc, char **argv)
{
    static const cli_sink SINK = { .member = on_member, .end = on_end };
    static check_run run;
    cli_args args;
    cli_session session = { .args = &args, .sink = &SINK, .user = &run, .depth = CUVET_DEPTH_FULL };
    int rc;

    if (!cli_parse(CLI_C_CHECK, argc, argv, &args, &rc))
        return rc;
    if (!args.value[CLI_O_REQUIRE] && !args.value[CLI_O_FORBID]) {
        cli_complain(NULL, "--require or --forbid is needed");
        return CLI_X_USAGE;
    }
    if ((args.value[CLI_O_REQUIRE] && !cli_each_word(args.value[CLI_O_REQUIRE], take_required, &run)) ||
        (args.value[CLI_O_FORBID] && !cli_each_word(args.value[CLI_O_FORBID], take_forbidden, &run)))
        return CLI_X_USAGE;
    run.each = args.set[CLI_O_EACH];
    run.json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    rc = cli_session_run_ahead(&session); /* before run.rc is looked at */
    rc = cli_worse(rc, run.rc);
    /* Nothing that was asked for may pass because nobody looked. */
    if (rc == CLI_X_CLEAN && run.subjects == 0) {
        cli_complain(NULL, "nothing was checked");
        rc = CLI_X_FINDINGS;
    }
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
