/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What differs between two releases of a file or package? */
#include "demangle.h"
#include "diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_SHOWN = 20 };

/* What the whole comes to, the worst last. */
typedef enum diff_result { SAME_BYTES, SAME_CODE, OTHER_CODE, CODE_LOST } diff_result;

typedef struct diff_run {
    cli_contents side[2]; /* the old one, the new one */
    size_t n_ended;
    cli_looking looking;
    const char *name[2], *fail_on; /* of the command line */
    bool json, all;
    diff_result result;
    /* of the architecture that is told of */
    cli_diff_state showing;
    uint64_t shown, left_out;
} diff_run;

static cli_record record; /* one at a time */

static const char *result_name(diff_result result)
{
    static const char *const NAME[] = { "same", "metadata", "code", "lost" };

    return NAME[result];
}

static void comes_to(diff_run *run, diff_result result)
{
    if (result > run->result)
        run->result = result;
}

/* ---- what is there ---- */

static cli_contents *present_side(diff_run *run)
{
    return &run->side[run->n_ended < 2 ? run->n_ended : 1];
}

static void on_begin(void *user, const cli_session *session)
{
    diff_run *run = user;

    cli_looking_begin(&run->looking, session);
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    diff_run *run = user;

    cli_contents_add(present_side(run), &run->looking, session, item);
}

static void on_claim(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    diff_run *run = user;

    cli_contents_claim(present_side(run), &run->looking, session, claim);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    diff_run *run = user;

    (void)session;
    cli_contents_finding(present_side(run), diag);
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    diff_run *run = user;

    if (cli_contents_end(present_side(run), session, result))
        run->n_ended++;
}

/* ---- an architecture ---- */

static bool has_other_kernels(const cli_diff_code *at)
{
    return at->kernels[CLI_CHANGED] + at->kernels[CLI_LOST] + at->kernels[CLI_ADDED] > 0;
}

/* Pieces that have no partner, of the side that has fewer of them. */
static uint64_t changed_pieces(const cli_diff_code *at)
{
    uint64_t fewer =
        at->old_pieces.count < at->new_pieces.count ? at->old_pieces.count : at->new_pieces.count;

    return fewer - at->same_bytes - at->same_code;
}

static void judge_code(diff_run *run, const cli_diff_code *at)
{
    cli_diff_state state = cli_diff_state_of(at);
    bool other = changed_pieces(at) > 0 || at->old_pieces.count != at->new_pieces.count;

    if (state == CLI_SAME)
        return;
    comes_to(run, has_other_kernels(at) || other ? OTHER_CODE : SAME_CODE);
    if (state == CLI_LOST || at->kernels[CLI_LOST] > 0)
        comes_to(run, CODE_LOST);
}

static void put_number(const char *name, uint64_t before, uint64_t after, const char **sep)
{
    if (before == after)
        return;
    printf("%s%s %" PRIu64 " -> %" PRIu64, *sep, name, before, after);
    *sep = ", ";
}

static void put_stack(uint32_t before, uint32_t after, const char **sep)
{
    char left[CLI_STACK_CAP], right[CLI_STACK_CAP];

    if (before == after)
        return;
    printf("%sstack %s -> %s", *sep, cli_stack_text(before, "unknown", left),
           cli_stack_text(after, "unknown", right));
    *sep = ", ";
}

static void put_changes(const cli_kernel_seen *before, const cli_kernel_seen *after)
{
    const char *sep = "  ";

    put_number("registers", before->registers, after->registers, &sep);
    put_stack(before->stack, after->stack, &sep);
    put_number("shared", before->shared, after->shared, &sep);
    put_number("local", before->local, after->local, &sep);
    put_number("barriers", before->barriers, after->barriers, &sep);
    if (cli_digest_known(&before->machine) && cli_digest_order(&before->machine, &after->machine) == 0)
        printf("%sthe same machine code", sep);
}

static void show_kernel(void *user, const cli_diff_code *at, cli_diff_state state, const cli_diff_run *before,
                        const cli_diff_run *after)
{
    diff_run *run = user;
    const cli_kernel_seen *left = run->side[0].kernel + before->first;
    const cli_kernel_seen *right = run->side[1].kernel + after->first;
    cuvet_bytes name;

    (void)at;
    if (state != run->showing)
        return;
    if (!run->all && run->shown >= KERNELS_SHOWN) {
        run->left_out++;
        return;
    }
    run->shown++;
    name = cli_demangle(before->count ? left->name : right->name);
    printf("    %-8s ", cli_diff_state_name(state));
    cli_put(stdout, name.p, name.n);
    if (before->count == 1 && after->count == 1)
        put_changes(left, right);
    putchar('\n');
}

static void put_count(uint64_t count, const char *what)
{
    printf("%" PRIu64 " %s%s", count, what, count == 1 ? "" : "s");
}

/* "; 3 with the same code" */
static void put_some(uint64_t count, const char *what, const char **sep)
{
    if (count == 0)
        return;
    printf("%s%" PRIu64 " %s", *sep, count, what);
    *sep = ", ";
}

static void put_side(uint64_t pieces, uint64_t kernels, uint64_t stored)
{
    put_count(pieces, "piece");
    fputs(", ", stdout);
    put_count(kernels, "kernel");
    printf(", %" PRIu64 " bytes", stored);
}

static void put_both(const cli_diff_code *at)
{
    const char *sep = "";
    uint64_t changed = changed_pieces(at);

    put_count(at->new_pieces.count, "piece");
    fputs(" (", stdout);
    put_some(at->same_bytes, "as before", &sep);
    put_some(at->same_code, "with the same code", &sep);
    put_some(changed, "changed", &sep);
    put_some(at->old_pieces.count - at->same_bytes - at->same_code - changed, "lost", &sep);
    put_some(at->new_pieces.count - at->same_bytes - at->same_code - changed, "new", &sep);
    fputs("), ", stdout);
    put_count(at->kernels[CLI_SAME] + at->kernels[CLI_CHANGED] + at->kernels[CLI_ADDED], "kernel");
    if (at->old_kernels.count + at->new_kernels.count > 0) {
        sep = "";
        fputs(" (", stdout);
        put_some(at->kernels[CLI_SAME], "as before", &sep);
        put_some(at->kernels[CLI_CHANGED], "changed", &sep);
        put_some(at->kernels[CLI_LOST], "lost", &sep);
        put_some(at->kernels[CLI_ADDED], "new", &sep);
        putchar(')');
    }
    if (at->old_stored == at->new_stored)
        printf(", %" PRIu64 " bytes", at->new_stored);
    else
        printf(", %" PRIu64 " -> %" PRIu64 " bytes", at->old_stored, at->new_stored);
}

static void code_text(diff_run *run, const cli_diff_code *at)
{
    static const cli_diff_state ORDER[] = { CLI_LOST, CLI_CHANGED, CLI_ADDED };
    cli_diff_state state = cli_diff_state_of(at);

    printf("  %-12s %-8s ", at->code, cli_diff_state_name(state));
    if (state == CLI_LOST)
        put_side(at->old_pieces.count, at->kernels[CLI_LOST], at->old_stored);
    else if (state == CLI_ADDED)
        put_side(at->new_pieces.count, at->kernels[CLI_ADDED], at->new_stored);
    else
        put_both(at);
    putchar('\n');
    if (state != CLI_CHANGED && !run->all)
        return;
    run->shown = run->left_out = 0;
    for (size_t i = 0; i < sizeof(ORDER) / sizeof(ORDER[0]); i++) {
        run->showing = ORDER[i];
        cli_diff_each_kernel(&run->side[0], &run->side[1], at, show_kernel, run);
    }
    if (run->left_out)
        printf("    and %" PRIu64 " more (--all)\n", run->left_out);
}

/* Each variant once. */
static void kernel_uses(const char *key, const cli_contents *contents, const cli_diff_run *run)
{
    char hash[CLI_SHA256_CAP];

    cli_record_open(&record, key, '[');
    for (size_t i = run->first; i < run->first + run->count; i = cli_diff_variant(contents, run, i)) {
        const cli_kernel_seen *kernel = &contents->kernel[i];

        cli_digest_text(&kernel->print, hash);
        cli_record_open(&record, NULL, '{');
        cli_record_string(&record, "fingerprint", hash);
        cli_digest_text(&kernel->machine, hash);
        if (cli_digest_known(&kernel->machine))
            cli_record_string(&record, "machine_code", hash);
        cli_record_u64(&record, "registers", kernel->registers);
        cli_stack_json(&record, "stack", kernel->stack);
        cli_record_u64(&record, "shared", kernel->shared);
        cli_record_u64(&record, "local", kernel->local);
        cli_record_u64(&record, "barriers", kernel->barriers);
        cli_record_close(&record, '}');
    }
    cli_record_close(&record, ']');
}

static void kernel_json(void *user, const cli_diff_code *at, cli_diff_state state, const cli_diff_run *before,
                        const cli_diff_run *after)
{
    const diff_run *run = user;
    cuvet_bytes name, plain;

    if (state == CLI_SAME)
        return;
    name = before->count ? run->side[0].kernel[before->first].name : run->side[1].kernel[after->first].name;
    cli_record_begin(&record, "diff_kernel", NULL);
    cli_record_string(&record, "code", at->code);
    cli_record_string(&record, "state", cli_diff_state_name(state));
    cli_record_bytes(&record, "name", name.p, name.n);
    plain = cli_demangle(name);
    if (plain.p != name.p)
        cli_record_bytes(&record, "demangled", plain.p, plain.n);
    kernel_uses("old", &run->side[0], before);
    kernel_uses("new", &run->side[1], after);
    cli_record_put(&record, stdout);
}

static void side_json(const char *key, uint64_t before, uint64_t after)
{
    cli_record_open(&record, key, '{');
    cli_record_u64(&record, "old", before);
    cli_record_u64(&record, "new", after);
}

static void code_json(diff_run *run, const cli_diff_code *at)
{
    cli_record_begin(&record, "diff_code", NULL);
    cli_record_string(&record, "code", at->code);
    cli_record_string(&record, "state", cli_diff_state_name(cli_diff_state_of(at)));
    side_json("pieces", at->old_pieces.count, at->new_pieces.count);
    cli_record_u64(&record, "same", at->same_bytes);
    cli_record_u64(&record, "same_code", at->same_code);
    cli_record_close(&record, '}');
    cli_record_open(&record, "kernels", '{');
    for (cli_diff_state state = CLI_SAME; state <= CLI_ADDED; state++)
        cli_record_u64(&record, cli_diff_state_name(state), at->kernels[state]);
    cli_record_close(&record, '}');
    side_json("stored", at->old_stored, at->new_stored);
    cli_record_close(&record, '}');
    cli_record_put(&record, stdout);
    cli_diff_each_kernel(&run->side[0], &run->side[1], at, kernel_json, run);
}

/* ---- files and producers ---- */

/* A row that both sides have by this name, or one of them. */
static void put_row(const diff_run *run, const char *type, const char *name, uint64_t before, uint64_t after)
{
    cli_diff_state state = before == 0 ? CLI_ADDED : after == 0 ? CLI_LOST : CLI_CHANGED;

    if (run->json) {
        cli_record_begin(&record, type, NULL);
        cli_record_text(&record, "name", name);
        cli_record_string(&record, "state", cli_diff_state_name(state));
        side_json("pieces", before, after);
        cli_record_close(&record, '}');
        cli_record_put(&record, stdout);
        return;
    }
    printf("  %-8s %-8s ", strcmp(type, "diff_file") == 0 ? "file" : "made by", cli_diff_state_name(state));
    cli_put_str(stdout, name);
    printf("  %" PRIu64 " -> %" PRIu64 " pieces\n", before, after);
}

/* Both lists are sorted. */
static void compare_named(diff_run *run, const char *type, const cli_named_seen *before, size_t n_before,
                          const cli_named_seen *after, size_t n_after)
{
    for (size_t one = 0, other = 0; one < n_before || other < n_after;) {
        int order = one == n_before ? 1 : other == n_after ? -1 : strcmp(before[one].name, after[other].name);
        uint64_t had = order <= 0 ? before[one].pieces : 0, has = order >= 0 ? after[other].pieces : 0;
        bool same =
            order == 0 && had == has && cli_digest_order(&before[one].bytes, &after[other].bytes) == 0;

        if (!same) {
            put_row(run, type, order <= 0 ? before[one].name : after[other].name, had, has);
            comes_to(run, SAME_CODE);
        }
        one += order <= 0;
        other += order >= 0;
    }
}

/* Where code is counts where both sides are packages: what was in one file, and is in another now. */
static bool has_names(const cli_contents *contents)
{
    for (size_t i = 0; i < contents->n_files; i++)
        if (*contents->file[i].name)
            return true;
    return false;
}

/* ---- the whole ---- */

static bool is_whole(const cli_contents *contents)
{
    return !contents->unread && contents->worst < CUVET_V_SUSPICIOUS;
}

/* Of what has no device code nothing can be lost: it is not what somebody meant to compare. */
static bool has_code(const diff_run *run)
{
    return run->side[0].n_pieces > 0;
}

static void say_text(const diff_run *run)
{
    static const char *const WHAT[] = { "no difference", "the same code under other metadata",
                                        "the code differs", "the code differs, and something is lost" };

    cli_put_str(stdout, run->name[0]);
    fputs(" -> ", stdout);
    cli_put_str(stdout, run->name[1]);
    printf(": %s", WHAT[run->result]);
    for (size_t i = 0; i < 2; i++)
        if (!is_whole(&run->side[i]))
            printf("; the %s one %s", i ? "new" : "old",
                   run->side[i].unread ? "could not be looked at in full"
                                       : cuvet_verdict_name(run->side[i].worst));
    if (!has_code(run))
        fputs("; the old one has no device code", stdout);
    putchar('\n');
}

static void say_json(const diff_run *run)
{
    cli_record_begin(&record, "diff", NULL);
    cli_record_text(&record, "old", run->name[0]);
    cli_record_text(&record, "new", run->name[1]);
    cli_record_string(&record, "result", result_name(run->result));
    cli_record_bool(&record, "complete", is_whole(&run->side[0]) && is_whole(&run->side[1]));
    cli_record_string(&record, "old_verdict", cuvet_verdict_name(run->side[0].worst));
    cli_record_string(&record, "new_verdict", cuvet_verdict_name(run->side[1].worst));
    cli_record_put(&record, stdout);
}

static bool counts(const diff_run *run)
{
    const char *word = run->fail_on;
    diff_result least = !word || strcmp(word, "any") == 0 ? SAME_CODE
                        : strcmp(word, "code") == 0       ? OTHER_CODE
                                                          : CODE_LOST;

    return run->result >= least;
}

static int compare(diff_run *run)
{
    cli_contents *before = &run->side[0], *after = &run->side[1];
    cli_diff_code at = { .code = NULL };

    cli_contents_sort(before);
    cli_contents_sort(after);
    while (cli_diff_next(before, after, &at)) {
        judge_code(run, &at);
        (run->json ? code_json : code_text)(run, &at);
    }
    if (has_names(before) && has_names(after))
        compare_named(run, "diff_file", before->file, before->n_files, after->file, after->n_files);
    compare_named(run, "diff_producer", before->producer, before->n_producers, after->producer,
                  after->n_producers);
    (run->json ? say_json : say_text)(run);
    return has_code(run) && is_whole(before) && is_whole(after) && !counts(run) ? CLI_X_CLEAN
                                                                                : CLI_X_FINDINGS;
}

int cmd_diff(int argc, char **argv)
{
    static const cli_sink SINK = {
        .begin = on_begin, .finding = on_finding, .member = on_member, .claim = on_claim, .end = on_end
    };
    static diff_run run;
    cli_args args;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session session = {
        .args = &args, .sink = &SINK, .user = &run, .needs = &needs, .depth = CUVET_DEPTH_FULL
    };
    int rc;

    if (!cli_parse(CLI_C_DIFF, argc, argv, &args, &rc))
        return rc;
    if (args.n_operands != 2 || (strcmp(args.operands[0], "-") == 0 && strcmp(args.operands[1], "-") == 0)) {
        cli_complain(NULL, "diff takes two files: OLD NEW");
        return CLI_X_USAGE;
    }
    run.name[0] = args.operands[0];
    run.name[1] = args.operands[1];
    run.fail_on = args.value[CLI_O_FAIL_ON];
    run.json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    run.all = args.set[CLI_O_ALL];
    if (!cli_load_hash())
        return CLI_X_IO;
    cli_contents_begin(&run.side[0], &args, args.operands[0]);
    cli_contents_begin(&run.side[1], &args, args.operands[1]);
    rc = cli_demangle_start(&args, &needs.helper);
    if (rc != CLI_X_CLEAN)
        return rc;
    rc = cli_session_run(&session);
    rc = cli_worse(rc, run.looking.rc);
    /* What could not be read was said, and is no reason to call its kernels lost. */
    if (run.n_ended == 2 && rc != CLI_X_IO && rc < CLI_X_INTERNAL)
        rc = cli_worse(rc, compare(&run));
    else
        rc = cli_worse(rc, CLI_X_IO);
    cli_demangle_stop();
    cli_record_free(&record);
    cli_contents_free(&run.side[0]);
    cli_contents_free(&run.side[1]);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
