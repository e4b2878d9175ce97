/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "known/known.h"
#include "known/verdicts.h"
#include "pick.h"
#include "report.h"
#include "yara/yara.h"

#include <string.h>

static int run_known(cli_session *session, cli_pick *pick, bool json)
{
    cli_needs needs = CLI_NO_NEEDS;
    cli_known *known;
    int rc = cli_known_start(&known, session, &needs, session->args->value[CLI_O_KNOWN], json);

    if (rc != CLI_X_CLEAN)
        return rc;
    cli_pick_sink(pick, session);
    rc = cli_session_run(session);
    return cli_worse(rc, cli_known_end(known, NULL));
}

/* Rules look at unpacked bytes, which whoever goes ahead has not. */
static int run_rules(cli_session *session, cli_pick *pick)
{
    cli_needs needs = CLI_NO_NEEDS;
    cli_yara yara;
    int rc = cli_yara_begin(&yara, session->args, &needs);

    if (rc != CLI_X_CLEAN)
        return rc;
    session->needs = &needs;
    cli_pick_sink(pick, session);
    cli_yara_sink(&yara, session);
    rc = cli_session_run(session);
    session->needs = NULL;
    cli_yara_end(&yara);
    return rc;
}

static int run_scan(cli_session *session, cli_pick *pick, bool json)
{
    cli_needs needs = CLI_NO_NEEDS;
    cli_keeper keeper = CLI_NO_KEEPER;
    int rc;

    if (session->args->value[CLI_O_KNOWN])
        return run_known(session, pick, json);
    if (session->args->set[CLI_O_YARA])
        return run_rules(session, pick);
    rc = cli_verdicts_start(session, &needs, &keeper);
    if (rc != CLI_X_CLEAN)
        return rc;
    cli_pick_sink(pick, session);
    rc = cli_session_run_ahead(session);
    return cli_worse(rc, cli_verdicts_end(session, &keeper));
}

static int scan_text(cli_session *session, cli_pick *pick)
{
    cli_text_report report;
    int rc;

    if (!cli_text_begin(&report, session->args))
        return CLI_X_INTERNAL;
    session->sink = &cli_text_sink;
    session->user = &report;
    rc = run_scan(session, pick, false);
    cli_text_end(&report, session);
    session->sink = NULL; /* it is gone with the report */
    session->user = NULL;
    return rc;
}

static int scan_ndjson(cli_session *session, cli_pick *pick)
{
    int rc;

    session->sink = &cli_ndjson_sink;
    rc = run_scan(session, pick, true);
    cli_ndjson_summary(session);
    return cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL);
}

static int scan_sarif(cli_session *session, cli_pick *pick)
{
    cli_sarif_report *report = cli_sarif_begin(session->args);

    if (!report) {
        cli_complain(NULL, "out of memory");
        return CLI_X_INTERNAL;
    }
    session->sink = &cli_sarif_sink;
    session->user = report;
    return cli_sarif_end(report, run_scan(session, pick, false));
}

/* One of a list of verdicts, as a bit. */
static bool take_verdict(void *user, const char *word)
{
    unsigned *fail_on = user;
    cli_suggestion suggestion = { .given = word };

    for (int verdict = CUVET_V_UNSUPPORTED; verdict <= CUVET_V_ERROR; verdict++) {
        const char *name = cuvet_verdict_name((cuvet_verdict)verdict);

        if (strcmp(word, name) == 0) {
            *fail_on |= CLI_BIT((unsigned)verdict);
            return true;
        }
        cli_suggest_word(&suggestion, name, strlen(name));
    }
    cli_complain(word, "--fail-on takes unsupported, suspicious, malformed, limit and error, "
                       "with commas between them");
    cli_suggest_end(&suggestion, "");
    return false;
}

/* What an option asks for is done, or refused. */
static bool fits_format(const cli_args *args, const char *format)
{
    bool text = strcmp(format, "text") == 0, sarif = strcmp(format, "sarif") == 0;

    if (!text && (args->set[CLI_O_QUIET] || args->set[CLI_O_ALL]))
        cli_complain(NULL, "--%s is for text output", args->set[CLI_O_QUIET] ? "quiet" : "all");
    else if (sarif && args->set[CLI_O_ONLY_FINDINGS])
        cli_complain(NULL, "--only-findings is for text and ndjson output");
    else if (args->set[CLI_O_KNOWN] && (sarif || args->set[CLI_O_QUIET] || args->set[CLI_O_ONLY_FINDINGS]))
        cli_complain(NULL, "--known is for text and ndjson output in full");
    else if (args->set[CLI_O_KNOWN] && args->set[CLI_O_CACHE])
        cli_complain(NULL, "--known looks into each piece, --cache passes over what was scanned before");
    else if (args->set[CLI_O_YARA] && (args->set[CLI_O_KNOWN] || args->set[CLI_O_CACHE]))
        cli_complain(NULL, "--yara looks into each piece: neither --known nor --cache goes with it");
    else if (args->set[CLI_O_YARA_TIMEOUT] && !args->set[CLI_O_YARA])
        cli_complain(NULL, "--yara-timeout is for --yara");
    else if (args->set[CLI_O_QUIET] &&
             (args->set[CLI_O_ALL] || args->set[CLI_O_NOTES] || args->set[CLI_O_ONLY_FINDINGS]))
        cli_complain(NULL, "--quiet leaves out what --all, --notes and --only-findings are about");
    else
        return true;
    return false;
}

int cmd_scan(int argc, char **argv)
{
    cli_args args;
    cli_session session = { .args = &args, .depth = CUVET_DEPTH_FULL };
    const char *format;
    cli_pick pick;
    int rc;

    if (!cli_parse(CLI_C_SCAN, argc, argv, &args, &rc))
        return rc;
    if (!cli_has_inputs(&args))
        return CLI_X_USAGE;
    if (args.value[CLI_O_TARGET] && cuvet_target_parse(args.value[CLI_O_TARGET], &session.target) != CUVET_OK)
        return cli_no_target(args.value[CLI_O_TARGET]);
    if (!cli_pick_init(&pick, &args))
        return CLI_X_USAGE;
    if (args.value[CLI_O_FAIL_ON] &&
        !cli_each_word(args.value[CLI_O_FAIL_ON], take_verdict, &session.fail_on))
        return CLI_X_USAGE;
    if (args.set[CLI_O_KNOWN] || args.set[CLI_O_YARA])
        args.jobs = 1; /* whoever asks for the bytes of pieces gets them one after the other */
    format = args.value[CLI_O_FORMAT] ? args.value[CLI_O_FORMAT] : "text";
    if (!fits_format(&args, format))
        return CLI_X_USAGE;
    if (strcmp(format, "ndjson") == 0)
        rc = scan_ndjson(&session, &pick);
    else if (strcmp(format, "sarif") == 0)
        rc = scan_sarif(&session, &pick);
    else
        rc = scan_text(&session, &pick);
    cli_pick_end(&pick, session.n_inputs > 0);
    return cli_finish_stdout(rc);
}
