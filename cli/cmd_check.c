/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Does what is shipped have what it is said to have, and nothing that it may not? Of each file, or of each
 * package as a whole. */
#include "check/policy.h"
#include "fingerprint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_run {
    check_policy policy;
    const check_report *report;
    check_codes has;
    check_subject subject;
    bool *seen; /* kernels that are required, by pattern: of the present subject */
    bool each, inside;
    uint64_t stored;       /* bytes of pieces of the present subject */
    uint64_t told, waived; /* findings of the present file */
    bool content; /* the present file is what an image has, or in none: else it lacks what is required */
    uint64_t n_subjects, of_package; /* told of; of the present package */
    cli_looking looking;
    int rc;
} check_run;

/* ---- what is wanted ---- */

static bool take_required(void *user, const char *word)
{
    check_run *run = user;
    check_codes *list = &run->policy.required;

    if (list->count < CHECK_MOST_CODES && check_take_code(word, &list->code[list->count])) {
        list->count++;
        return true;
    }
    cli_complain(word, "--require takes sm_N and compute_N, with commas between them");
    return false;
}

static bool take_forbidden(void *user, const char *word)
{
    check_run *run = user;
    uint32_t kind = check_take_kind(word);

    run->policy.forbidden |= kind;
    if (kind)
        return true;
    cli_complain(word, "--forbid takes ptx, lto-ir and bitcode, with commas between them");
    return false;
}

/* ---- what is there ---- */

/* A place as reports call it: "lib/a.so!/fatbin[0]/entry[1]" within a package. */
static void where_text(const cli_session *session, const cuvet_item *item, char *out, size_t cap)
{
    const char *inner = session->in->what == CLI_ENTRY ? strstr(session->in->name, "!/") : NULL;
    char path[CLI_PATH_CAP];

    cli_path(&item->where, path, sizeof(path));
    snprintf(out, cap, "%.512s%s%s", inner ? inner + strlen("!/") : "", inner ? "!/" : "",
             *path ? path : "the file");
}

static void add_code(check_run *run, const cuvet_item *item)
{
    const check_code code = { .ptx = item->kind == CUVET_K_PTX,
                              .arch = item->arch,
                              .suffix = item->suffix == 'a' || item->suffix == 'f' ? item->suffix : '\0',
                              .stored = item->stored_size };
    check_code *known = check_find_code(&run->has, &code);

    if (known)
        known->stored += item->stored_size;
    else if (run->has.count < CHECK_MOST_CODES)
        run->has.code[run->has.count++] = code;
    else
        run->subject.over = true;
}

static void look_at_item(check_run *run, const cuvet_item *item, const char *where)
{
    const check_policy *policy = &run->policy;
    char text[128];

    if ((unsigned)item->kind < 32 && (policy->forbidden & CLI_BIT(item->kind)) != 0)
        check_add_problem(&run->subject, CHECK_KIND, cuvet_kind_name(item->kind), where);
    if (policy->compressions && (item->flags & CUVET_ITEM_IN_CONTAINER) != 0 &&
        !check_fits(policy->compressions, cuvet_compression_name(item->compression), NULL))
        check_add_problem(&run->subject, CHECK_COMPRESSION, cuvet_compression_name(item->compression), where);
    /* Text and bitcode have no maker that is known for certain. */
    cli_producer_text(&item->producer, text, sizeof(text));
    if (policy->producers && item->kind == CUVET_K_CUBIN && !check_fits(policy->producers, text, NULL))
        check_add_problem(&run->subject, CHECK_PRODUCER, *text ? text : "unknown", where);
}

/* A name with its end. */
static void look_at_kernel(check_run *run, cuvet_bytes name, const char *where)
{
    bool *seen = run->content ? run->seen : NULL;
    char text[CHECK_TEXT_MOST + 1];

    if (name.n > CHECK_TEXT_MOST) {
        check_add_problem(&run->subject, CHECK_UNREAD, "the name of a kernel is too long for a pattern",
                          where);
        return;
    }
    if (name.n > 0)
        memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    (void)check_fits(run->policy.kernels_required, text, seen);
    if (check_fits(run->policy.kernels_forbidden, text, NULL))
        check_add_problem(&run->subject, CHECK_KERNEL_FORBIDDEN, text, where);
}

/* Tables of lines name source files; the rest of debug information names more. */
static void look_at_sections(check_run *run, const cli_inside *inside, const char *where)
{
    cuvet_elf_section section = { .size = sizeof(section) };
    bool debug = false, sources = false;

    for (uint64_t i = 1; i < inside->use.count; i++) {
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK)
            return;
        debug = debug || cli_begins_with(section.name, ".debug_info");
        sources = sources || cli_begins_with(section.name, ".debug_line");
    }
    if (debug && run->policy.no_debug)
        check_add_problem(&run->subject, CHECK_DEBUG, "debug information", where);
    if (sources && run->policy.no_sources)
        check_add_problem(&run->subject, CHECK_SOURCES, "line information", where);
}

/* Wherever it stands, and be it in a comment: nothing may pass. */
static bool has_word(cuvet_bytes text, const char *word)
{
    return text.n > 0 && memmem(text.p, text.n, word, strlen(word)) != NULL;
}

typedef struct check_entry {
    check_run *run;
    const char *where;
} check_entry;

static bool on_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    const check_entry *entry = user;

    (void)digest;
    look_at_kernel(entry->run, name, entry->where);
    return true;
}

static void look_at_text(check_run *run, const cli_session *session, cuvet_bytes text, const char *where)
{
    check_entry entry = { run, where };
    cli_digest digest;

    if (!cli_fingerprint_text(text, &run->looking, session, &digest, on_entry, &entry))
        check_add_problem(&run->subject, CHECK_UNREAD, "its entries are not known", where);
    if (run->policy.no_sources &&
        (has_word(text, ".file") || has_word(text, ".loc\t") || has_word(text, ".loc ")))
        check_add_problem(&run->subject, CHECK_SOURCES, "line information", where);
    if (run->policy.no_debug && (has_word(text, ".debug_") || has_word(text, "@@DWARF")))
        check_add_problem(&run->subject, CHECK_DEBUG, "debug information", where);
}

static void look_inside(check_run *run, const cli_session *session, const cuvet_item *item, const char *where)
{
    cli_inside inside;

    cli_inside_look(&inside, &run->looking, session, item);
    if (!inside.unpacked || (item->kind == CUVET_K_CUBIN && (!inside.has || inside.use.cut)))
        check_add_problem(&run->subject, CHECK_UNREAD, "what is in it is not known", where);
    for (size_t i = 0; inside.has && i < inside.use.n_kernels; i++)
        look_at_kernel(run, inside.use.kernel[i].name, where);
    if (inside.has)
        look_at_sections(run, &inside, where);
    if (item->kind == CUVET_K_PTX && inside.unpacked)
        look_at_text(run, session, inside.bytes, where);
    cli_inside_leave(&inside);
}

static void on_begin(void *user, const cli_session *session)
{
    check_run *run = user;

    run->told = run->waived = 0;
    cli_looking_begin(&run->looking, session);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    check_run *run = user;
    bool waived, closed = cli_is_closed(diag);

    if (diag->severity == CUVET_NOTE && !closed)
        return;
    waived = check_waived(&run->policy, session->in->name, diag) ||
             check_known(&run->policy, session->in->name, diag);
    if (closed && !waived)
        check_add_problem(&run->subject, CHECK_UNREAD, "packed, and not opened",
                          session->in->what == CLI_ENTRY ? session->in->name : "");
    if (closed)
        return;
    run->told++;
    run->waived += waived;
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    check_run *run = user;
    char where[2 * CLI_PATH_CAP + 512];

    where_text(session, item, where, sizeof(where));
    run->content = session->in->fate == CLI_FATE_CONTENT;
    run->stored += item->stored_size;
    look_at_item(run, item, where);
    if (run->content && (item->kind == CUVET_K_PTX || item->kind == CUVET_K_CUBIN) && item->arch != 0)
        add_code(run, item);
    if (run->inside && (item->kind == CUVET_K_PTX || item->kind == CUVET_K_CUBIN))
        look_inside(run, session, item, where);
    else if (run->inside && item->kind != CUVET_K_FATBIN)
        check_add_problem(&run->subject, CHECK_UNREAD, cuvet_kind_name(item->kind), where);
}

/* ---- what is wrong ---- */

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

static void find_missing(check_run *run)
{
    const check_policy *policy = &run->policy;
    char word[CHECK_CODE_CAP];

    for (size_t i = 0; i < policy->required.count; i++)
        if (!is_covered(run, &policy->required.code[i])) {
            check_code_text(&policy->required.code[i], word);
            check_add_problem(&run->subject, CHECK_ARCHITECTURE, word, "");
        }
    for (size_t i = 0; i < check_n_patterns(policy->kernels_required); i++)
        if (!run->seen[i])
            check_add_problem(&run->subject, CHECK_KERNEL_MISSING, check_pattern(policy->kernels_required, i),
                              "");
}

static void find_large(check_run *run)
{
    const check_policy *policy = &run->policy;
    char text[128], word[CHECK_CODE_CAP];

    if (policy->most_stored && run->stored > policy->most_stored) {
        snprintf(text, sizeof(text), "%" PRIu64 " bytes of %" PRIu64, run->stored, policy->most_stored);
        check_add_problem(&run->subject, CHECK_SIZE, text, "");
    }
    for (size_t i = 0; i < policy->most.count; i++) {
        const check_code *has = check_find_code(&run->has, &policy->most.code[i]);

        if (!has || has->stored <= policy->most.code[i].stored)
            continue;
        check_code_text(has, word);
        snprintf(text, sizeof(text), "%s: %" PRIu64 " bytes of %" PRIu64, word, has->stored,
                 policy->most.code[i].stored);
        check_add_problem(&run->subject, CHECK_SIZE, text, "");
    }
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

static void end_subject(check_run *run, const char *name, bool entry)
{
    check_subject *subject = &run->subject;
    bool over = subject->over;

    subject->name = name;
    subject->entry = entry;
    subject->has = &run->has;
    find_missing(run);
    find_large(run);
    if (over)
        check_add_problem(subject, CHECK_UNREAD, "more architectures than are told apart", "");
    if (run->has.count)
        qsort(run->has.code, run->has.count, sizeof(run->has.code[0]), by_code);
    run->report->subject(subject);
    run->n_subjects++;
    run->of_package++;
    if (subject->n_problems)
        run->rc = cli_worse(run->rc, over ? CLI_X_LIMIT : CLI_X_FINDINGS);
    check_drop_problems(subject);
    subject->over = false;
    subject->worst = CUVET_V_CLEAN;
    run->has.count = 0;
    run->stored = 0;
    for (size_t i = 0; i < check_n_patterns(run->policy.kernels_required); i++)
        run->seen[i] = false;
}

/* Findings that do not count leave the rest of a verdict. */
static cuvet_verdict verdict_of(const check_run *run, const cli_result *result)
{
    bool all = run->waived > 0 && run->waived == run->told && result->sum.suppressed == 0 && !result->why;
    bool broken = (result->verdicts & (CLI_BIT(CUVET_V_LIMIT) | CLI_BIT(CUVET_V_ERROR))) != 0;

    if (!all || broken)
        return result->verdict;
    return (result->verdicts & CLI_BIT(CUVET_V_UNSUPPORTED)) != 0 ? CUVET_V_UNSUPPORTED : CUVET_V_CLEAN;
}

static void judge_file(check_run *run, const cli_session *session, const cli_result *result)
{
    cuvet_verdict verdict = verdict_of(run, result);
    const char *where = session->in->what == CLI_ENTRY ? session->in->name : "";

    if (verdict > run->subject.worst)
        run->subject.worst = verdict;
    if (session->in->why)
        check_add_problem(&run->subject, CHECK_UNREAD, session->in->why, where);
    if (verdict >= CUVET_V_SUSPICIOUS)
        check_add_problem(&run->subject, CHECK_VERDICT, cuvet_verdict_name(verdict), where);
    else if (run->policy.no_unsupported && (result->verdicts & CLI_BIT(CUVET_V_UNSUPPORTED)) != 0)
        check_add_problem(&run->subject, CHECK_VERDICT, cuvet_verdict_name(CUVET_V_UNSUPPORTED), where);
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
            end_subject(run, in->name, false);
        run->of_package = 0;
        return;
    }
    judge_file(run, session, result);
    if (in->what == CLI_INPUT) {
        end_subject(run, in->name, in->what == CLI_ENTRY);
        run->of_package = 0;
    } else if (run->each && (run->subject.n_problems || result->sum.members + result->sum.images > 0)) {
        end_subject(run, in->name, in->what == CLI_ENTRY);
    }
}

/* ---- the command ---- */

static const check_report *report_of(const char *name)
{
    static const check_report *const ALL[] = { &check_text, &check_ndjson, &check_junit, &check_sarif };

    for (size_t i = 0; name && i < sizeof(ALL) / sizeof(ALL[0]); i++)
        if (strcmp(ALL[i]->name, name) == 0)
            return ALL[i];
    return &check_text;
}

/* What is asked for, of the command line and of a file. */
static int load(check_run *run, const cli_args *args)
{
    const char *const *value = args->value;
    int rc = CLI_X_CLEAN;

    if (!value[CLI_O_REQUIRE] && !value[CLI_O_FORBID] && !value[CLI_O_POLICY_FILE]) {
        cli_complain(NULL, "--require, --forbid or --policy is needed");
        return CLI_X_USAGE;
    }
    if ((value[CLI_O_POLICY_FILE] || value[CLI_O_BASELINE]) && !cli_load_for("sarif"))
        return CLI_X_IO;
    if (value[CLI_O_POLICY_FILE])
        rc = check_policy_load(value[CLI_O_POLICY_FILE], &run->policy);
    if (rc == CLI_X_CLEAN && value[CLI_O_BASELINE])
        rc = check_baseline_load(value[CLI_O_BASELINE], &run->policy);
    if (rc == CLI_X_CLEAN &&
        ((value[CLI_O_REQUIRE] && !cli_each_word(value[CLI_O_REQUIRE], take_required, run)) ||
         (value[CLI_O_FORBID] && !cli_each_word(value[CLI_O_FORBID], take_forbidden, run))))
        rc = CLI_X_USAGE;
    run->seen = calloc(check_n_patterns(run->policy.kernels_required) + 1, sizeof(*run->seen));
    return rc == CLI_X_CLEAN && !run->seen ? CLI_X_INTERNAL : rc;
}

static void unload(check_run *run)
{
    free(run->subject.problem);
    free(run->seen);
    check_policy_drop(&run->policy);
}

int cmd_check(int argc, char **argv)
{
    static const cli_sink SINK = {
        .begin = on_begin, .finding = on_finding, .member = on_member, .end = on_end
    };
    static check_run run;
    cli_args args;
    /* Findings are counted here, where some may not count. */
    cli_session session = { .args = &args,
                            .sink = &SINK,
                            .user = &run,
                            .depth = CUVET_DEPTH_FULL,
                            .fail_on = CLI_BIT(CUVET_V_LIMIT) | CLI_BIT(CUVET_V_ERROR) };
    int rc;

    if (!cli_parse(CLI_C_CHECK, argc, argv, &args, &rc))
        return rc;
    rc = load(&run, &args);
    run.each = args.set[CLI_O_EACH];
    run.inside = check_policy_looks_inside(&run.policy);
    run.report = report_of(args.value[CLI_O_FORMAT]);
    if (rc == CLI_X_CLEAN && !run.report->begin(&args))
        rc = CLI_X_INTERNAL;
    if (rc != CLI_X_CLEAN) {
        unload(&run);
        return rc;
    }
    rc = run.inside ? cli_session_run(&session)
                    : cli_session_run_ahead(&session); /* before run.rc is looked at */
    rc = cli_worse(rc, cli_worse(run.rc, run.looking.rc));
    /* Nothing that was asked for may pass because nobody looked. */
    if (rc == CLI_X_CLEAN && run.n_subjects == 0) {
        cli_complain(NULL, "nothing was checked");
        rc = CLI_X_FINDINGS;
    }
    check_policy_end(&run.policy);
    run.report->end(rc);
    unload(&run);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
