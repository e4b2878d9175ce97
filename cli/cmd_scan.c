/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"
#include "report.h"

#include <string.h>

static int scan_text(cli_session *s, cli_pick *pick)
{
    cli_text_report r;
    int rc;

    if (!cli_text_begin(&r, s->args))
        return CLI_X_INTERNAL;
    s->sink = &cli_text_sink;
    s->user = &r;
    cli_pick_sink(pick, s);
    rc = cli_session_run_ahead(s);
    cli_text_end(&r, s);
    return rc;
}

static int scan_ndjson(cli_session *s, cli_pick *pick)
{
    int rc;

    s->sink = &cli_ndjson_sink;
    cli_pick_sink(pick, s);
    rc = cli_session_run_ahead(s);
    cli_ndjson_summary(s);
    return cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL);
}

static int scan_sarif(cli_session *s, cli_pick *pick)
{
    cli_sarif_report *r = cli_sarif_begin(s->args);

    if (!r) {
        cli_complain(NULL, "out of memory");
        return CLI_X_INTERNAL;
    }
    s->sink = &cli_sarif_sink;
    s->user = r;
    cli_pick_sink(pick, s);
    return cli_sarif_end(r, cli_session_run_ahead(s));
}

/* A list of verdicts, as bits. */
static bool fail_on(const char *list, unsigned *out)
{
    for (const char *p = list;;) {
        size_t n = strcspn(p, ",");
        char word[32];
        cli_suggestion s = { .given = word };
        int v = CUVET_V_UNSUPPORTED;

        snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word)), p);
        while (v <= CUVET_V_ERROR && strcmp(word, cuvet_verdict_name((cuvet_verdict)v)) != 0) {
            const char *name = cuvet_verdict_name((cuvet_verdict)v++);

            cli_suggest_word(&s, name, strlen(name));
        }
        if (v > CUVET_V_ERROR) {
            cli_complain(word, "--fail-on takes unsupported, suspicious, malformed, limit and error, "
                               "with commas between them");
            cli_suggest_end(&s, "");
            return false;
        }
        *out |= CLI_BIT((unsigned)v);
        if (p[n] == '\0')
            return true;
        p += n + 1;
    }
}

/* What an option asks for is done, or refused. */
static bool fits_format(const cli_args *a, const char *format)
{
    bool text = strcmp(format, "text") == 0, sarif = strcmp(format, "sarif") == 0;

    if (!text && (a->set[CLI_O_QUIET] || a->set[CLI_O_ALL]))
        cli_complain(NULL, "--%s is for text output", a->set[CLI_O_QUIET] ? "quiet" : "all");
    else if (sarif && a->set[CLI_O_ONLY_FINDINGS])
        cli_complain(NULL, "--only-findings is for text and ndjson output");
    else if (a->set[CLI_O_QUIET] && (a->set[CLI_O_ALL] || a->set[CLI_O_NOTES] || a->set[CLI_O_ONLY_FINDINGS]))
        cli_complain(NULL, "--quiet leaves out what --all, --notes and --only-findings are about");
    else
        return true;
    return false;
}

int cmd_scan(int argc, char **argv)
{
    cli_args a;
    cli_session s = { .args = &a, .depth = CUVET_DEPTH_FULL };
    const char *format;
    cli_pick pick;
    int rc;

    if (!cli_parse(CLI_C_SCAN, argc, argv, &a, &rc))
        return rc;
    if (!cli_has_inputs(&a))
        return CLI_X_USAGE;
    if (a.value[CLI_O_TARGET] && cuvet_target_parse(a.value[CLI_O_TARGET], &s.target) != CUVET_OK)
        return cli_no_target(a.value[CLI_O_TARGET]);
    if (!cli_pick_init(&pick, &a))
        return CLI_X_USAGE;
    if (a.value[CLI_O_FAIL_ON] && !fail_on(a.value[CLI_O_FAIL_ON], &s.fail_on))
        return CLI_X_USAGE;
    format = a.value[CLI_O_FORMAT] ? a.value[CLI_O_FORMAT] : "text";
    if (!fits_format(&a, format))
        return CLI_X_USAGE;
    if (strcmp(format, "ndjson") == 0)
        rc = scan_ndjson(&s, &pick);
    else if (strcmp(format, "sarif") == 0)
        rc = scan_sarif(&s, &pick);
    else
        rc = scan_text(&s, &pick);
    cli_pick_end(&pick, s.n_inputs > 0);
    return cli_finish_stdout(rc);
}
