/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libnvJitLink's functions over the public API of libcuvet. Their names, numbers and signatures are those of
 * NVIDIA's public header and documentation; users go on including that header, and nothing here is installed
 * as one. docs/nvjitlink.md says what answers otherwise than the reference, and why. */
#ifndef CV_JIT_FACE_H
#define CV_JIT_FACE_H

#include <stdarg.h>

#include <cuvet/cuvet.h>

/* Results. */
typedef enum cv_jit_result {
    CV_JIT_SUCCESS = 0,
    CV_JIT_UNRECOGNIZED_OPTION = 1,
    CV_JIT_MISSING_ARCH = 2,
    CV_JIT_INVALID_INPUT = 3,
    CV_JIT_PTX_COMPILE = 4,
    CV_JIT_NVVM_COMPILE = 5,
    CV_JIT_INTERNAL = 6,
    CV_JIT_UNRECOGNIZED_INPUT = 8,
    CV_JIT_NULL_INPUT = 10,
    CV_JIT_INCOMPATIBLE_OPTIONS = 11,
    CV_JIT_INCORRECT_INPUT_TYPE = 12,
    CV_JIT_UNRECOGNIZED_ARCH = 16,
    CV_JIT_UNSUPPORTED_ARCH = 17,
    CV_JIT_LTO_NOT_ENABLED = 18
} cv_jit_result;

/* Kinds of inputs. */
typedef enum cv_jit_input {
    CV_JIT_INPUT_NONE = 0,
    CV_JIT_INPUT_CUBIN = 1,
    CV_JIT_INPUT_PTX = 2,
    CV_JIT_INPUT_LTOIR = 3,
    CV_JIT_INPUT_FATBIN = 4,
    CV_JIT_INPUT_OBJECT = 5,
    CV_JIT_INPUT_LIBRARY = 6,
    CV_JIT_INPUT_INDEX = 7,
    CV_JIT_INPUT_ANY = 10
} cv_jit_input;

/* A log: lines of text, NUL-terminated once it has any; NULL when empty. */
typedef struct cv_jit_log {
    char *text;
    size_t size, cap; /* without the NUL */
    bool full;        /* it said that there is more than fits */
} cv_jit_log;

/* A list of strings that the link owns. */
typedef struct cv_jit_list {
    char **item;
    size_t size, cap;
} cv_jit_list;

typedef enum cv_jit_state {
    CV_JIT_REFUSED = 0, /* create failed: logs and destroy only */
    CV_JIT_OPEN,        /* takes inputs */
    CV_JIT_LINKED,      /* has a result */
    CV_JIT_FAILED       /* complete failed: there is no result */
} cv_jit_state;

/* What the options say. */
typedef struct cv_jit_settings {
    char arch[24]; /* "sm_90a" */
    bool has_arch, is_virtual;
    bool lto, ptx, relocatable, debug, lineinfo, verbose, timing, split, split_extended, variables_used;
    cv_jit_list kernels_used;
    cv_jit_list compiler; /* options for whoever compiles PTX */
    cv_jit_list given;    /* all of them, as they were given */
} cv_jit_settings;

/* What was said during one call of the linker, kept until its names can be asked for. */
typedef struct cv_jit_said {
    cuvet_diag *diag;
    size_t size, cap;
    bool lost; /* no memory for one of them */
} cv_jit_said;

/* Copies of the inputs of a link that is handed on. */
typedef struct cv_jit_held cv_jit_held;

typedef struct cv_jit_link {
    cv_jit_state state;
    cv_jit_settings settings;
    cv_jit_log error, info;
    cv_jit_log compiler_log; /* of the call that runs */
    cv_jit_said said;
    bool needs_compiler, needs_lto; /* an event of the call that runs */
    cuvet_ctx *ctx;
    cuvet_linker linker;
    cuvet_compiler compiler; /* zero: none */
    bool has_compiler;
    const void *result; /* borrowed from the linker, or from 'handed' */
    size_t n_result;
    double started, completed;       /* seconds, for -time */
    char *lto_library, *lto_program; /* paths */
    cv_jit_held *held;               /* NULL: LTO-IR is refused */
    bool has_ir;                     /* an input has some */
    cuvet_compile_result handed;     /* what came back */
    struct cuvet_workers *workers;   /* NULL: it is linked in this process; borrowed */
    struct cuvet_job *job;
    struct cuvet_job *checked; /* of the call that runs: an input that was refused */
    bool lost;                 /* the worker of the call that runs gave no answer, which is said */
} cv_jit_link;

/* log.c */
void cv_jit_print(cv_jit_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for text of any length. */
void cv_jit_text(cv_jit_log *log, const char *text, size_t size);
/* The same for bytes that nobody vouches for: what does not print is escaped. */
void cv_jit_put(cv_jit_log *log, const char *text, size_t size);
void cv_jit_put_name(cv_jit_log *log, const char *name);
/* The same for lines, which stay lines. */
void cv_jit_put_lines(cv_jit_log *log, const char *text, size_t size);
void cv_jit_log_end(cv_jit_log *log);
bool cv_jit_list_add(cv_jit_list *list, const char *text, size_t size);
void cv_jit_list_end(cv_jit_list *list);

/* options.c: read them; what is wrong goes to the error log. */
cv_jit_result cv_jit_options(cv_jit_link *link, uint32_t count, const char *const *options);

/* say.c: the diagnostics of the call that just ended, into the logs. */
void cv_jit_on_diag(void *user, const cuvet_diag *diag);
void cv_jit_say(cv_jit_link *link, const char *file);
void cv_jit_drop(cv_jit_link *link);
/* Is it that the stack of a kernel is not known? The reference says that in the info log. */
bool cv_jit_is_stack(const char *rule);
void cv_jit_say_stack(cv_jit_link *link, const char *symbol, size_t len);
/* The reference's words for what a rule is about; NULL: it has none. */
const char *cv_jit_words(const char *rule);

/* link.c */
void cv_jit_on_event(void *user, const cuvet_event *event);
cv_jit_result cv_jit_open(cv_jit_link *link, uint32_t count, const char *const *options);
cv_jit_result cv_jit_complete(cv_jit_link *link);
void cv_jit_close(cv_jit_link *link);

/* input.c */
cv_jit_result cv_jit_add(cv_jit_link *link, int type, const void *data, size_t size, const char *name);
cv_jit_result cv_jit_add_file(cv_jit_link *link, int type, const char *path);

/* lto.c */
/* Does the user say who compiles LTO-IR? */
cv_jit_result cv_jit_lto_open(cv_jit_link *link);
/* Keep a copy of an input that is well. */
cv_jit_result cv_jit_lto_hold(cv_jit_link *link, cv_jit_input type, const void *data, size_t size,
                              const char *name);
cv_jit_result cv_jit_lto_complete(cv_jit_link *link);
void cv_jit_lto_close(cv_jit_link *link);

/* isolate.c: another process. */
cv_jit_result cv_jit_isolate_open(cv_jit_link *link);
cv_jit_result cv_jit_isolate_begin(cv_jit_link *link, const cuvet_linker_options *options);
/* Is an input well? As cuvet_linker_add_memory(); INTERNAL: the worker was lost. What happened is in the link,
 * what is wrong with it is told by cv_jit_isolate_say(), or never. */
cuvet_status cv_jit_isolate_check(cv_jit_link *link, const void *data, size_t size, const char *name);
bool cv_jit_isolate_holds_ir(cv_jit_link *link, const void *data, size_t size);
cuvet_status cv_jit_isolate_add(cv_jit_link *link, const void *data, size_t size, const char *name);
void cv_jit_isolate_say(cv_jit_link *link);
cv_jit_result cv_jit_isolate_complete(cv_jit_link *link);
cuvet_status cv_jit_isolate_scan(cv_jit_link *link, const void *data, size_t size, uint64_t *errors);
void cv_jit_isolate_close(cv_jit_link *link);

/* report.c: -verbose. */
void cv_jit_report(cv_jit_link *link);

/* handle.c: handles are numbers with a generation in them, never addresses. Of a handle that is none, or is
 * not one any more, nothing is read. */
/** @return 0: none is left. The link is locked until cv_jit_release(). */
uintptr_t cv_jit_handle_new(cv_jit_link **link);
/** The link behind a handle, locked until cv_jit_release(). @return NULL: there is none */
cv_jit_link *cv_jit_handle_get(uintptr_t bits);
void cv_jit_release(uintptr_t bits);
/** End a handle whose link is locked and closed; unlocks it. */
void cv_jit_handle_end(uintptr_t bits);

#endif
