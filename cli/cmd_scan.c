/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <string.h>

static int scan_text(cli_session *s)
{
    cli_text_report r;
    int rc;

    cli_text_begin(&r, s->args);
    s->sink = &cli_text_sink;
    s->user = &r;
    rc = cli_session_run(s);
    cli_text_end(&r);
    return rc;
}

static int scan_ndjson(cli_session *s)
{
    int rc;

    s->sink = &cli_ndjson_sink;
    rc = cli_session_run(s);
    return cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL);
}

static int scan_sarif(cli_session *s)
{
    cli_sarif_report *r = cli_sarif_begin(s->args);

    if (!r) {
        cli_complain(NULL, "out of memory");
        return CLI_X_INTERNAL;
    }
    s->sink = &cli_sarif_sink;
    s->user = r;
    return cli_sarif_end(r, cli_session_run(s));
}

int cmd_scan(int argc, char **argv)
{
    cli_args a;
    cli_session s = { .args = &a, .depth = CUVET_DEPTH_FULL };
    const char *format;
    int rc;

    if (!cli_parse(CLI_C_SCAN, argc, argv, &a, &rc))
        return rc;
    if (a.n_operands == 0) {
        cli_complain(NULL, "no input; name files, or - for standard input");
        return CLI_X_USAGE;
    }
    if (a.value[CLI_O_ARCH] && cuvet_target_parse(a.value[CLI_O_ARCH], &s.target) != CUVET_OK) {
        cli_complain(a.value[CLI_O_ARCH], "no such target; sm_75 to sm_121, with a or f where there is one");
        return CLI_X_USAGE;
    }
    format = a.value[CLI_O_FORMAT] ? a.value[CLI_O_FORMAT] : "text";
    if (strcmp(format, "ndjson") == 0)
        rc = scan_ndjson(&s);
    else if (strcmp(format, "sarif") == 0)
        rc = scan_sarif(&s);
    else
        rc = scan_text(&s);
    return cli_finish_stdout(rc);
}
