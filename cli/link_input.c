/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The operands of a link go to the library, and what becomes of them is told. */
#include "link_int.h"

#include <stdlib.h>
#include <string.h>

/* The device runtime is a library that is linked when it is needed, whatever directory it lies in. */
static bool is_system_library(const link_run *run, const char *name)
{
    const char *slash = strrchr(name, '/');

    return strstr(slash ? slash : name, "cudadevrt") && !run->args->set[LINK_O_KEEP_SYSTEM];
}

/* What a kind of event is called; NULL: its diagnostics say it. */
static const char *text_of(const cuvet_event *event)
{
    switch (event->kind) {
    case CUVET_EVENT_NO_MATCH: return "not linked: no code for the target [CV-INPUT-001]";
    case CUVET_EVENT_WHOLE_PROGRAM:
        return "not linked: a finished program, not relocatable code [CV-ADMIT-003]";
    case CUVET_EVENT_ALREADY_LINKED: return "left out, because a device link made it";
    case CUVET_EVENT_NO_DEVICE_CODE: return "no device code in it";
    case CUVET_EVENT_NOTHING_FITS: return "nothing in it can be linked for the target";
    case CUVET_EVENT_NOT_IN_CONTAINER: return "device code outside of a container is not linked";
    case CUVET_EVENT_NEEDS_COMPILER: return "PTX has to be compiled before it can be linked (--compiler)";
    case CUVET_EVENT_COMPILED: return "compiled from PTX";
    case CUVET_EVENT_NEEDS_LTO: return "IR for link-time optimization needs a compiler";
    case CUVET_EVENT_THIN: return "a thin archive does not hold its members";
    case CUVET_EVENT_TAKEN:
    case CUVET_EVENT_RETARGETED:
    case CUVET_EVENT_FINDINGS:
    case CUVET_EVENT_NOT_NEEDED:
    case CUVET_EVENT_NOT_AN_OBJECT:
    case CUVET_EVENT_OUTSIDE:
    case CUVET_EVENT_DAMAGED:
    case CUVET_EVENT_REFUSED: break;
    }
    return NULL;
}

/* Members that are left out or damaged have their names in the text. */
static bool is_of_member(const cuvet_event *event)
{
    return event->kind == CUVET_EVENT_NOT_AN_OBJECT || event->kind == CUVET_EVENT_DAMAGED;
}

/* "lib.a(member.o)" */
static char *name_of(const cuvet_event *event)
{
    const char *member = is_of_member(event) ? NULL : event->member;
    size_t cap = strlen(event->file) + (member ? strlen(member) : 0) + 3;
    char *name = malloc(cap);

    if (name)
        (void)snprintf(name, cap, member ? "%s(%s)" : "%s", event->file, member);
    return name;
}

/* That nothing came of a file is told when no reason was. */
static bool is_needless(const link_run *run, const cuvet_event *event, int before)
{
    return event->kind == CUVET_EVENT_NOTHING_FITS || event->kind == CUVET_EVENT_NO_DEVICE_CODE
               ? before != run->rc_before
               : event->kind == CUVET_EVENT_NO_MATCH && run->args->set[LINK_O_NO_ARCH_WARNING];
}

/* A status that no diagnostic explained: none of those about the piece, or, of a place, none that made the
 * exit code worse. */
static bool is_unexplained(const link_run *run, const cuvet_event *event, int before)
{
    return event->kind == CUVET_EVENT_OUTSIDE ? cli_worse(before, run->rc) == before
                                              : run->rc == CLI_X_CLEAN && run->member_rc == CLI_X_CLEAN;
}

static void say_text(link_run *run, const cuvet_event *event, const char *name, int before)
{
    const char *text = text_of(event);
    bool failed = event->status != CUVET_OK;

    if (text && is_needless(run, event, before))
        return;
    if (text && failed)
        link_error(run, name, CLI_X_FINDINGS, text);
    else if (failed && is_unexplained(run, event, before))
        link_error(run, name, link_exit_of(event->status), cli_status_text(event->status));
    else if (failed)
        run->rc = cli_worse(run->rc, link_exit_of(event->status));
    else if (event->kind == CUVET_EVENT_NO_MATCH && !event->member && run->args->role->stand_in)
        link_warn_arch(run, event->file);
    else if (event->kind == CUVET_EVENT_WHOLE_PROGRAM)
        link_warn(run, name, text);
    else if (text)
        link_note(run, name, text);
}

void link_on_event(void *user, const cuvet_event *event)
{
    link_run *run = user;
    char *name = run->completing ? NULL : name_of(event);
    int before = run->rc;

    if (name) {
        run->rc = CLI_X_CLEAN;
        run->member = is_of_member(event) ? event->member : NULL;
        link_say_input(run, name);
        run->member = NULL;
        say_text(run, event, name, before);
        /* A file that is refused for its members says no more than they do. */
        run->member_rc = is_of_member(event) ? cli_worse(run->member_rc, run->rc) : CLI_X_CLEAN;
        run->rc = cli_worse(before, run->rc);
    } else if (!run->completing) {
        run->lost_diag = true;
    }
    run->told = true;
    free(name);
}

void link_on_compiler_log(void *user, const char *file, const char *member, const char *text)
{
    const cuvet_event piece = { .kind = CUVET_EVENT_COMPILED, .file = file, .member = member };
    link_run *run = user;
    char *name = name_of(&piece);

    if (name)
        cli_broker_log("compiler", name, text);
    else
        run->lost_diag = true;
    free(name);
}

void link_input(link_run *run, const cli_input *in)
{
    const cuvet_add_options opt = {
        .size = sizeof(opt),
        .flags = (is_system_library(run, in->name) ? CUVET_ADD_SYSTEM : 0) |
                 (run->args->library[run->at] ? CUVET_ADD_LIBRARY : 0) |
                 (run->args->role->stand_in ? CUVET_ADD_OPTIONAL : 0),
    };
    cuvet_status status;

    if (in->why) {
        link_unreadable(run, in);
        return;
    }
    run->told = false;
    run->member_rc = CLI_X_CLEAN;
    run->rc_before = run->rc;
    status = cuvet_linker_add_file(run->ctx, run->linker, &in->source, in->name, &opt);
    if (status != CUVET_OK && (!run->told || run->rc == CLI_X_CLEAN))
        link_error(run, in->name, link_exit_of(status), cli_status_text(status));
}
