/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of link share while it runs. */
#ifndef CLI_LINK_INT_H
#define CLI_LINK_INT_H

#include "broker.h"
#include "input.h"
#include "link_args.h"
#include "team.h"

typedef struct link_run {
    const link_args *args;
    cuvet_ctx *ctx;
    cuvet_linker linker;
    cuvet_diag *diag; /* said since they were last printed, or dropped */
    size_t n_diag, cap_diag;
    bool lost_diag;     /* no memory for one */
    const char *member; /* of an archive, that the diagnostics are about; NULL: none */
    size_t at;          /* number of the operand */
    bool told;          /* of which something was told */
    int rc_before;      /* the exit code before it */
    int member_rc;      /* of what was said of its members alone */
    bool completing;    /* all of them are there */
    cli_broker broker;  /* of the compiler and the code generator */
    cli_team team;
    link_end end;
    int rc;
} link_run;

/* link_input.c */
/** One operand: what is in it for the target goes to the linker, or run->rc says that it could not. */
void link_input(link_run *run, const cli_input *in);
/** Takes the events of the linker. @param user the link_run. */
void link_on_event(void *user, const cuvet_event *event);
/** Takes what a compiler says. @param user the link_run. */
void link_on_compiler_log(void *user, const char *file, const char *member, const char *text);

/* link_say.c: for people, on standard error. */
/** "cuvet: error: <file>: <text> [rule]" */
extern const link_voice LINK_OURS;
/** Takes the diagnostics of the context. @param user the link_run. */
void link_on_diag(void *user, const cuvet_diag *diag);
/** Behind a message: the target, where the reference names it, and the end of the line. */
void link_end_line(const link_run *run);
/** Print what was said about one input. */
void link_say_input(link_run *run, const char *file);
/** Print what was said about the link as a whole. */
void link_say_link(link_run *run);
void link_drop(link_run *run);
/** "cuvet: error: <file>: <text>" and the exit code. */
void link_error(link_run *run, const char *file, int rc, const char *text);
/** Obeys -w and -Werror. */
/** An input that could not be opened. */
void link_unreadable(link_run *run, const cli_input *in);
/** In the reference's words: the file has no code for the target. Obeys -Werror alone. */
void link_warn_arch(link_run *run, const char *file);
void link_warn(link_run *run, const char *file, const char *text);
void link_note(const link_run *run, const char *file, const char *text);
/** The exit code of a status: memory that ran out is a limit here. */
int link_exit_of(cuvet_status status);

/* link_report.c */
/** What the kernels of a result use, on standard error, as -v of the reference tells it. */
void link_report(link_run *run, const void *image, size_t size);
/** The call graph, on standard error, as --dump-callgraph of the reference tells it; nothing where there is
 * none. */
void link_callgraph(link_run *run);

#endif
