/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links with LTO-IR. cuvet has no compiler of it: with CUVET_NVJITLINK the user says which libnvJitLink has, and
 * then such a link goes there as a whole, into a process of its own. Every input that cuvet can read is judged
 * before, as for a link of its own; what comes back is judged like a stranger's file. */
#include "face.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "cuvet-lto"

struct cv_jit_held {
    cuvet_lto_input **input; /* they, their bytes and their names are ours */
    size_t size, cap;
};

/* The program is where this library is. The loader knows the folder, whatever the process did since. */
static char *program_path(void)
{
    char folder[PATH_MAX], *path;
    struct link_map *map = NULL;
    Dl_info info;
    size_t size;

    if (!dladdr1((void *)(uintptr_t)cv_jit_lto_open, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
        dlinfo(map, RTLD_DI_ORIGIN, folder) != 0 || folder[0] != '/')
        return NULL;
    size = strlen(folder) + sizeof("/" PROGRAM);
    path = malloc(size);
    if (path)
        (void)snprintf(path, size, "%s/" PROGRAM, folder);
    return path;
}

cv_jit_result cv_jit_lto_open(cv_jit_link *link)
{
    const char *library = secure_getenv("CUVET_NVJITLINK");

    if (!link->settings.lto || !library || library[0] == '\0')
        return CV_JIT_SUCCESS;
    if (library[0] != '/') {
        cv_jit_print(&link->error, "ERROR: CUVET_NVJITLINK: no absolute path\n");
        return CV_JIT_INTERNAL;
    }
    link->lto_library = strdup(library);
    link->lto_program = program_path();
    link->held = calloc(1, sizeof(*link->held));
    if (!link->lto_library || !link->lto_program || !link->held) {
        cv_jit_print(&link->error, "ERROR: no memory, or the folder of this library is not known\n");
        return CV_JIT_INTERNAL;
    }
    return CV_JIT_SUCCESS;
}

static void end_input(cuvet_lto_input *input)
{
    if (!input)
        return;
    free((void *)(uintptr_t)input->bytes);
    free((void *)(uintptr_t)input->name);
    free(input);
}

cv_jit_result cv_jit_lto_hold(cv_jit_link *link, cv_jit_input type, const void *data, size_t size,
                              const char *name)
{
    static const cuvet_kind KINDS[] = {
        0, CUVET_K_CUBIN, CUVET_K_PTX, CUVET_K_LTOIR, CUVET_K_FATBIN, CUVET_K_HOST_ELF, CUVET_K_ARCHIVE
    };
    cv_jit_held *held = link->held;
    cuvet_lto_input *input = calloc(1, sizeof(*input));
    void *bytes = malloc(size);

    if (held->size == held->cap) {
        size_t cap = held->cap ? 2 * held->cap : 16;
        cuvet_lto_input **more = reallocarray(held->input, cap, sizeof(*more));

        if (more) {
            held->input = more;
            held->cap = cap;
        }
    }
    if (input)
        *input = (cuvet_lto_input){
            .size = sizeof(*input), .kind = KINDS[type], .bytes = bytes, .n = size, .name = strdup(name)
        };
    if (!input || !bytes || !input->name || held->size == held->cap) {
        if (!input)
            free(bytes);
        end_input(input);
        cv_jit_print(&link->error, "ERROR: no memory for a copy of an input\n");
        return CV_JIT_INTERNAL;
    }
    memcpy(bytes, data, size);
    held->input[held->size++] = input;
    return CV_JIT_SUCCESS;
}

/* How it ended, for whoever has to mend it. */
static cv_jit_result explain(cv_jit_link *link, const cuvet_compile_result *result)
{
    long long detail = (long long)result->detail;

    if (result->end == CUVET_COMPILE_FAILED && detail > CUVET_LTO_EXIT_REFUSED)
        return (cv_jit_result)(detail - CUVET_LTO_EXIT_REFUSED); /* its log says it */
    cv_jit_print(&link->error, "ERROR: LTO-IR was not compiled: %s %s (%lld)\n",
                 result->end == CUVET_COMPILE_NOT_FOUND ? link->lto_program : link->lto_library,
                 cuvet_compile_end_name(result->end), detail);
    return CV_JIT_NVVM_COMPILE;
}

static cuvet_status scan_here(cv_jit_link *link, uint64_t *errors)
{
    cuvet_summary summary = { .size = sizeof(summary) };
    cuvet_findings findings;
    cuvet_status status = cuvet_scan_memory(link->ctx, link->result, link->n_result, NULL, &findings);

    if (status == CUVET_OK) {
        status = cuvet_findings_summary(link->ctx, findings, &summary);
        *errors = summary.errors;
        if (cuvet_findings_destroy(link->ctx, &findings) != CUVET_OK)
            status = CUVET_E_INTERNAL;
    }
    cv_jit_say(link, "result of the library");
    return status;
}

/* What the library made is no better than any other file. */
static cv_jit_result judge_cubin(cv_jit_link *link)
{
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_target target;
    uint64_t errors = 0;
    cuvet_status status = cuvet_classify(link->result, link->n_result, NULL, 0, &info, NULL);

    if (status == CUVET_OK)
        status = cuvet_target_parse(link->settings.arch, &target);
    if (status == CUVET_OK &&
        ((info.type != CUVET_K_CUBIN && info.type != CUVET_K_MERCURY) || info.sm != target.sm))
        status = CUVET_E_MALFORMED;
    if (status == CUVET_OK)
        status = link->workers ? cv_jit_isolate_scan(link, link->result, link->n_result, &errors)
                               : scan_here(link, &errors);
    if (status == CUVET_OK && errors > 0)
        status = CUVET_E_MALFORMED;
    if (status == CUVET_OK)
        return CV_JIT_SUCCESS;
    cv_jit_print(&link->error, "ERROR: what %s made is no device code that can be trusted: %s\n",
                 link->lto_library, cuvet_status_text(status));
    return CV_JIT_INTERNAL;
}

static cv_jit_result judge_ptx(cv_jit_link *link)
{
    cuvet_content_info info = { .size = sizeof(info) };
    const char *text = link->result;

    /* It ends with a NUL, which is part of the size that programs ask for. */
    if (link->n_result > 1 && text[link->n_result - 1] == '\0' &&
        cuvet_classify(text, link->n_result - 1, NULL, 0, &info, NULL) == CUVET_OK &&
        info.type == CUVET_K_PTX)
        return CV_JIT_SUCCESS;
    cv_jit_print(&link->error, "ERROR: what %s made is no PTX\n", link->lto_library);
    return CV_JIT_INTERNAL;
}

static void put_log(cv_jit_link *link, bool failed)
{
    cv_jit_log *log = failed ? &link->error : &link->info;

    if (!link->handed.log || link->handed.n_log == 0)
        return;
    cv_jit_put_lines(log, link->handed.log, link->handed.n_log);
}

cv_jit_result cv_jit_lto_complete(cv_jit_link *link)
{
    const char *folder = secure_getenv("TMPDIR");
    cuvet_external program = { .size = sizeof(program), .path = link->lto_program };
    cuvet_lto_request request = { .size = sizeof(request),
                                  .flags = link->settings.ptx ? CUVET_LTO_PTX : 0,
                                  .input = (const cuvet_lto_input *const *)link->held->input,
                                  .n_inputs = link->held->size,
                                  .option = (const char *const *)link->settings.given.item,
                                  .n_options = link->settings.given.size };
    cv_jit_result result;
    cuvet_status status;

    if (folder && folder[0] == '/') /* a relative one would be another place for the child */
        program.directory = folder;
    link->handed.size = sizeof(link->handed);
    status = cuvet_lto_run(&program, link->lto_library, NULL, &request, &link->handed);
    if (status != CUVET_OK) {
        cv_jit_print(&link->error, "ERROR: LTO-IR was not compiled: %s\n", cuvet_status_text(status));
        return CV_JIT_INTERNAL;
    }
    put_log(link, link->handed.end != CUVET_COMPILED);
    if (link->handed.end != CUVET_COMPILED)
        return explain(link, &link->handed);
    link->result = link->handed.bytes;
    link->n_result = link->handed.n;
    result = link->settings.ptx ? judge_ptx(link) : judge_cubin(link);
    if (result == CV_JIT_SUCCESS)
        link->state = CV_JIT_LINKED;
    return result;
}

void cv_jit_lto_close(cv_jit_link *link)
{
    for (size_t i = 0; link->held && i < link->held->size; i++)
        end_input(link->held->input[i]);
    if (link->held)
        free(link->held->input);
    free(link->held);
    free(link->lto_library);
    free(link->lto_program);
    if (link->handed.size != 0)
        cuvet_lto_end(NULL, &link->handed);
}
