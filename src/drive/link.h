/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files into a link: what is found in them is examined, admitted, finalized where it is for another machine,
 * and handed to the linker; what became of each piece is told as an event. The public linker is a handle for
 * this. */
#ifndef CV_DRIVE_LINK_H
#define CV_DRIVE_LINK_H

#include <cuvet/linker.h>

#include "drive/select.h"
#include "finalize/external.h"
#include "finalize/job.h"
#include "intake/probe.h"
#include "link/run.h"
#include "scan/scan.h"

/* An input as it was given: ours, because the link reads it again, and works in it. */
typedef struct cv_link_input {
    cv_block bytes;
    cv_block name;
    cv_id host;     /* host object that it comes from, CV_NONE: none */
    bool of_system; /* of a system library */
} cv_link_input;

/* An event; its names lie in the pool of the linker. */
typedef struct cv_link_event {
    cuvet_event told;
    uint64_t file_at, member_at;
} cv_link_event;

CV_VEC(cv_link_inputs, cv_link_input);
CV_VEC(cv_link_events, cv_link_event);
CV_VEC(cv_link_modules, cv_block);

typedef enum cv_linker_state {
    CV_LINKER_COLLECTING,
    CV_LINKER_LINKED,
    CV_LINKER_FAILED,
    CV_LINKER_POISONED
} cv_linker_state;

/* What a file is taken apart with. */
typedef struct cv_link_tools {
    cv_scan scan;
    cv_input choice;
} cv_link_tools;

/* Who compiles PTX; options and callbacks are the caller's. */
typedef struct cv_link_compiler {
    cuvet_compiler compiler; /* compile NULL: nobody */
    const char *const *option;
    size_t n_options;
    void (*log)(void *user, const char *file, const char *member, const char *text);
    void *user;
} cv_link_compiler;

typedef struct cv_linker {
    cv_ctx ctx;
    cv_link_options opts;
    cuvet_executor executor; /* that the options point to, where there is one */
    cv_link_inputs input;
    cv_link link;
    cv_islands islands; /* that the parsed objects of the inputs refer to */
    cv_hosts hosts;
    bool host_info, of_system; /* of_system: the file at hand is a library of the system */
    bool may_be_empty, modules_only;
    cv_link_modules module; /* names of those that took part, terminated */
    cv_cubin parsed;        /* of what is judged */
    cv_final_options final; /* of inputs for another member of the family */
    cv_final_tool generator;
    cv_link_compiler ptx;
    cv_backend_use backend[2];
    cv_final_job job; /* of the finalization at hand: too large for a stack */
    cv_emit_fn *emit; /* who listens meanwhile */
    void *emit_user;
    bool begun;
    cv_linker_state state;
    cv_block out;   /* the result but for the code that is borrowed from the inputs … */
    bool whole;     /* … or all of it */
    cv_slices file; /* all of it */
    cuvet_link_result result;
    /* of files */
    cuvet_link_event_fn *on_event; /* NULL: nobody listens */
    void *event_user;
    cv_link_events event;
    cv_u8s event_text;
    cv_link_tools *tools;           /* of the file at hand; NULL: there is none */
    cv_mem tool_mem;                /* for what lasts no longer than a file, and for tools */
    cv_diags pending;               /* said since the last event, not handed on yet */
    cuvet_status lost;              /* LIMIT, NOMEM: one of them could not be kept, or an event; else OK */
    uint64_t lost_live, lost_limit; /* bytes, then */
    bool retargeted;                /* the last input was finalized for the target */
    uint64_t peak;                  /* of the memory of tools */
} cv_linker;

/* prepare.c */
/* Work on the input that comes next, as if it had so many bytes. */
void cv_linker_unit(cv_linker *linker, uint64_t bytes);
/* One device ELF on its way into the link: from memory, or from a source when that is given. */
typedef struct cv_link_piece {
    const cuvet_source *src;
    cv_span image, name;
    bool borrow; /* the image stays as it is as long as the linker is there */
    cv_id host;  /* CV_NONE: of none */
    bool of_system;
    const cv_class *known; /* what it is; NULL: nobody has looked */
    /* Or it was examined, and its bytes and what was parsed of them are moved: by a selection … */
    cv_input *choice;
    cv_scan *scan; /* … or a scan */
} cv_link_piece;

/* Examine, admit and finalize it, and hand it to the link. Its status is that of cuvet_linker_add(). */
CV_MUST cuvet_status cv_linker_add(cv_linker *linker, const cv_link_piece *piece);

/* take_part.c */
/* May a piece of device code be linked that lies there? @return OK · END (it is left out; said) · REFUSED */
CV_MUST cuvet_status cv_linker_judge_place(cv_linker *linker, const cuvet_item *item);
/* Which of the inputs are objects of the link. They stand in the same order in both lists until then. */
CV_MUST cuvet_status cv_linker_gather(cv_linker *linker);

/* compiler.c */
/* Give a selection the compiler of the link with its options. @return as cv_input_option() */
CV_MUST cuvet_status cv_linker_give_compiler(const cv_linker *linker, cv_input *choice);

/* link.c */
/* A whole file: see cuvet_linker_add_file(). */
CV_MUST cuvet_status cv_linker_add_file(cv_linker *linker, const cuvet_source *src, cv_span name,
                                        unsigned flags);

/* events.c */
/* Which of the diagnostics that are held back count. */
typedef enum cv_telling {
    CV_TELL_FINDINGS, /* errors, warnings, and what a container has instead of code for the target */
    CV_TELL_MEMBERS,  /* members of an archive that are no objects */
    CV_TELL_ALL
} cv_telling;

/* From here to cv_linker_leave() diagnostics are held back. */
void cv_linker_listen(cv_linker *linker);
void cv_linker_leave(cv_linker *linker);
/* Something of a file could not be kept in that memory: what is added then ends so, and a limit is said. The
 * first reason counts. @return it: LIMIT, NOMEM */
cuvet_status cv_linker_lose(cv_linker *linker, const cv_mem *mem);
/* The function that holds them, for other contexts. */
void cv_linker_hold(void *linker, const cuvet_diag *diag);
void cv_linker_drop(cv_linker *linker);
bool cv_linker_holds(const cv_linker *linker, cv_rule rule);
/* Those that count go to the caller, the others are dropped. @return how many went */
uint64_t cv_linker_hand_on(cv_linker *linker, cv_telling telling);
/* The same one by one, and they stay: *index is the place of the next one, 0 to begin with. False: no more.
 * */
CV_MUST bool cv_linker_hand_on_next(cv_linker *linker, cv_telling telling, uint64_t *index, cuvet_diag *diag);
/* A name for events, and room for so many of them. @return OK · NOMEM · LIMIT */
CV_MUST cuvet_status cv_linker_event_name(cv_linker *linker, cv_span name, uint64_t *at);
CV_MUST cuvet_status cv_linker_event_room(cv_linker *linker, uint64_t count);
/* What became of something, after the diagnostics that were handed on. */
void cv_linker_tell(cv_linker *linker, const cv_link_event *event);
/* What the compiler said of a piece with these names, terminated. */
void cv_linker_tell_log(const cv_linker *linker, uint64_t file_at, uint64_t member_at, const char *text);
/* @return OK · END */
CV_MUST cuvet_status cv_linker_get_event(const cv_linker *linker, uint64_t index, cuvet_event *out);

#endif
