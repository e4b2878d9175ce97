/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One page for a browser: what is in files and packages, and what is wrong with it. */
#include "demangle.h"
#include "outfile.h"
#include "page/page.h"

#include <string.h>

typedef struct report_run {
    page_doc page;
    cli_outfile out;
    bool begun;    /* the page */
    bool replaces; /* there is a file of that name … */
    struct stat old;
    bool same; /* … and it is an input */
} report_run;

static const char EXISTS[] = "file exists (--force replaces it)";
static report_run report;

/* Before there is anything to tell: a run that the cage ends has no page. */
static void begin_page(report_run *run, const cli_session *session)
{
    if (!run->begun)
        page_put_head(&run->page, session);
    run->begun = true;
    run->page.session = session;
}

static void on_begin(void *user, const cli_session *session)
{
    report_run *run = user;

    begin_page(run, session);
    run->same = run->same || (run->replaces && cli_input_is(session->in, &run->old));
    cli_looking_begin(&run->page.looking, session);
    page_begin_ranges(&run->page);
    if (session->in->what == CLI_INPUT)
        page_begin_file(&run->page);
}

static void on_claim(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    report_run *run = user;

    (void)session;
    page_add_range(&run->page, claim);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    report_run *run = user;

    (void)session;
    if (diag->severity != CUVET_NOTE)
        page_begin_file(&run->page);
    page_add_finding(&run->page, diag);
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    report_run *run = user;
    cli_inside inside;

    page_begin_file(&run->page);
    cli_inside_look(&inside, &run->page.looking, session, item);
    page_add_piece(&run->page, item, &inside);
    cli_inside_leave(&inside);
}

/* Of a package, what has no device code and nothing that is wrong is left out. */
static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    report_run *run = user;

    begin_page(run, session); /* a package may have no entries */
    if (session->in->what == CLI_PACKAGE)
        page_end_package(&run->page, result);
    else if (!run->page.file.begun && session->in->what == CLI_ENTRY && result->verdict == CUVET_V_CLEAN)
        page_drop_file(&run->page);
    else
        page_end_file(&run->page, result);
}

/* ---- the command ---- */

/* Standard output takes a page as it takes any other text. */
static bool open_output(report_run *run, cli_porter *porter, const cli_args *args, int *rc)
{
    const char *path = args->value[CLI_O_OUTPUT], *why;

    if (path && strcmp(path, "-") == 0)
        path = NULL;
    why = cli_outfile_open(&run->out, porter, path, args->set[CLI_O_FORCE]);
    *rc = CLI_X_IO;
    if (why) {
        cli_complain(path, "%s", why);
        return false;
    }
    *rc = CLI_X_USAGE;
    if (path && cli_outfile_collides((const cli_outfile *const[]){ &run->out }, 1, args))
        return false;
    run->replaces = path && stat(path, &run->old) == 0;
    if (run->replaces && !args->set[CLI_O_FORCE]) { /* asked again when it gets its name */
        cli_complain(path, "%s", EXISTS);
        *rc = CLI_X_IO;
        return false;
    }
    *rc = cli_porter_begin(porter);
    return *rc == CLI_X_CLEAN;
}

static int give_out(report_run *run, const cli_session *session, bool whole)
{
    cuvet_status status = whole ? CUVET_OK : CUVET_E_IO;

    if (!run->out.path)
        return CLI_X_CLEAN; /* a failure is told when standard output is flushed */
    if (run->same) {
        cli_complain(run->out.path, "a page would be written over what is read");
        return CLI_X_USAGE;
    }
    if (session->cut_short || !run->begun)
        return CLI_X_IO; /* which was said */
    if (!cli_json_ok())
        return CLI_X_INTERNAL;
    if (whole)
        status = cli_outfile_finish(&run->out, CUVET_OK);
    if (status == CUVET_E_EXISTS)
        cli_complain(run->out.path, "%s",
                     session->args->set[CLI_O_FORCE] ? "exists and is not a regular file" : EXISTS);
    else if (status != CUVET_OK)
        cli_complain(run->out.path, "%s", cli_status_text(status));
    return status == CUVET_E_EXISTS ? CLI_X_IO : cli_exit_of(status);
}

static int run_report(cli_session *session, cli_needs *needs)
{
    const cli_outfile *out = &report.out;
    int rc = cli_demangle_start(session->args, &needs->helper);

    if (rc != CLI_X_CLEAN)
        return rc;
    if (out->path && cli_outfile_ready(out) != CUVET_OK) {
        cli_complain(out->path, "%s", cli_status_text(cli_outfile_ready(out)));
        return cli_exit_of(cli_outfile_ready(out));
    }
    if (!page_begin(&report.page, out->path ? out->draft.fd : -1))
        return CLI_X_INTERNAL;
    rc = cli_session_run(session);
    if (!session->cut_short)
        begin_page(&report, session); /* folders may have no files */
    if (report.begun)
        rc = cli_worse(rc, give_out(&report, session, page_end(&report.page, session)));
    rc = cli_worse(rc, report.page.looking.rc);
    cli_demangle_stop();
    return rc;
}

int cmd_report(int argc, char **argv)
{
    static const cli_sink SINK = {
        .begin = on_begin, .finding = on_finding, .member = on_member, .claim = on_claim, .end = on_end
    };
    cli_args args;
    cli_porter porter = CLI_NO_PORTER;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session session = {
        .args = &args, .sink = &SINK, .user = &report, .depth = CUVET_DEPTH_FULL, .needs = &needs
    };
    int rc;

    report.out = (cli_outfile)CLI_NO_OUTFILE;
    if (!cli_parse(CLI_C_REPORT, argc, argv, &args, &rc))
        return rc;
    if (!cli_has_inputs(&args))
        return CLI_X_USAGE;
    if (!cli_load_hash())
        return CLI_X_IO;
    if (open_output(&report, &porter, &args, &rc)) {
        cli_porter_needs(&porter, &needs);
        rc = run_report(&session, &needs);
        page_free(&report.page);
    }
    cli_outfile_close(&report.out);
    cli_porter_stop(&porter);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
