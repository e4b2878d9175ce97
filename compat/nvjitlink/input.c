/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs: what they are is decided by their bytes, and has to be what the caller says. */
#include "face.h"

#include <stdlib.h>
#include <string.h>

static const char *const TYPE_NAMES[] = { "none",   "CUBIN",  "PTX",     "LTOIR",
                                          "FATBIN", "OBJECT", "LIBRARY", "INDEX" };

/* NONE: nothing that a link takes. A file that is cut off keeps what it begins to be. */
static cv_jit_input type_of(const void *data, size_t size)
{
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_status status = cuvet_classify(data, size, NULL, 0, &info, NULL);

    if (status != CUVET_OK && status != CUVET_E_TRUNCATED && status != CUVET_E_MALFORMED)
        return CV_JIT_INPUT_NONE;
    switch ((int)info.type) {
    case CUVET_K_CUBIN:
    case CUVET_K_MERCURY: return CV_JIT_INPUT_CUBIN;
    case CUVET_K_PTX: return CV_JIT_INPUT_PTX;
    case CUVET_K_LTOIR:
    case CUVET_K_NVVM:
    case CUVET_K_BITCODE: return CV_JIT_INPUT_LTOIR;
    case CUVET_K_FATBIN: return CV_JIT_INPUT_FATBIN;
    case CUVET_K_HOST_ELF: return CV_JIT_INPUT_OBJECT;
    case CUVET_K_ARCHIVE: return CV_JIT_INPUT_LIBRARY;
    default: return CV_JIT_INPUT_NONE;
    }
}

static cv_jit_result refuse(cv_jit_link *link, cv_jit_result result, const char *text, const char *name)
{
    cv_jit_print(&link->error, "ERROR: %s: ", text);
    cv_jit_put_name(&link->error, name);
    cv_jit_print(&link->error, "\n");
    return result;
}

static cv_jit_result refuse_type(cv_jit_link *link, int type, cv_jit_input found, const char *name)
{
    cv_jit_print(&link->error, "ERROR: the input is %s and not of type NVJITLINK_INPUT_%s: ",
                 found == CV_JIT_INPUT_NONE ? "of no type" : TYPE_NAMES[found], TYPE_NAMES[type]);
    cv_jit_put_name(&link->error, name);
    cv_jit_print(&link->error, "\n");
    return CV_JIT_INCORRECT_INPUT_TYPE;
}

static cv_jit_result refuse_ir(cv_jit_link *link, const char *name)
{
    if (!link->settings.lto)
        return refuse(link, CV_JIT_LTO_NOT_ENABLED, "LTO-IR, and -lto is not given", name);
    return refuse(
        link, CV_JIT_NVVM_COMPILE,
        "LTO-IR needs the vendor's compiler, and CUVET_NVJITLINK names no libnvJitLink that has it: "
        "compile without link-time optimization",
        name);
}

/* Is it of the type that it was given as? */
static cv_jit_result judge_type(cv_jit_link *link, int type, cv_jit_input found, const char *name)
{
    if (type == CV_JIT_INPUT_NONE || type < 0 || (type > CV_JIT_INPUT_INDEX && type != CV_JIT_INPUT_ANY))
        return refuse(link, CV_JIT_INCORRECT_INPUT_TYPE, "there is no such input type", name);
    if (type == CV_JIT_INPUT_ANY && found == CV_JIT_INPUT_NONE)
        return refuse(link, CV_JIT_UNRECOGNIZED_INPUT, "the input is nothing that can be linked", name);
    if (type != CV_JIT_INPUT_ANY && type != (int)found)
        return refuse_type(link, type, found, name);
    return CV_JIT_SUCCESS;
}

static void put_compiler_log(cv_jit_link *link, bool failed)
{
    cv_jit_log *from = &link->compiler_log, *to = failed ? &link->error : &link->info;

    if (from->text) { /* without -verbose a compiler says what it warns of */
        cv_jit_text(to, from->text, from->size);
        if (from->text[from->size - 1] != '\n')
            cv_jit_text(to, "\n", 1);
    }
    cv_jit_log_end(from);
}

/* Is there LTO-IR for the target in a file in which nothing else fits? */
static bool holds_ir(cv_jit_link *link, const void *data, size_t size)
{
    cuvet_select_options options = { .size = sizeof(options), .request = CUVET_REQUEST_LTOIR };
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    cuvet_select selection;
    bool found = false;

    if (cuvet_target_parse(link->settings.arch, &options.target) != CUVET_OK ||
        cuvet_select_create(link->ctx, &options, &selection) != CUVET_OK)
        return false;
    if (cuvet_select_bind(link->ctx, selection, data, size, CUVET_BIND_BORROW, NULL) == CUVET_OK) {
        for (uint64_t i = 0;
             !found && cuvet_select_get_candidate(link->ctx, selection, i, &candidate) == CUVET_OK; i++)
            found = candidate.kind == CUVET_K_LTOIR && candidate.reason == CUVET_REASON_NONE;
    }
    if (cuvet_select_destroy(link->ctx, &selection) != CUVET_OK)
        found = false;
    cv_jit_drop(link); /* what was wrong with the file is said already */
    return found;
}

/* One answer for everything that was wrong with it. */
static cv_jit_result answer(cv_jit_link *link, cuvet_status status, const char *name)
{
    if (link->needs_lto)
        return refuse_ir(link, name);
    if (link->needs_compiler || (status == CUVET_E_COMPILER && !link->has_compiler))
        return refuse(link, CV_JIT_PTX_COMPILE, "PTX, and CUVET_PTXAS names no compiler for it", name);
    if (status == CUVET_E_COMPILER)
        return refuse(link, CV_JIT_PTX_COMPILE, "the PTX was not compiled", name);
    cv_jit_print(&link->error, "ERROR: bad input (%s): ", cuvet_status_text(status));
    cv_jit_put_name(&link->error, name);
    cv_jit_print(&link->error, "\n");
    return status == CUVET_E_NOMEM || status == CUVET_E_INTERNAL || status == CUVET_E_POISONED
               ? CV_JIT_INTERNAL
               : CV_JIT_INVALID_INPUT;
}

/* Nothing is wrong with it, and something in it is for the target, if only for a compiler. */
static bool is_well(cv_jit_link *link, cuvet_status status, const void *data, size_t size)
{
    if (status != CUVET_E_NO_MATCH && status != CUVET_E_COMPILER)
        return status == CUVET_OK;
    return link->needs_compiler || link->needs_lto || holds_ir(link, data, size);
}

/* Of what it has besides LTO-IR cuvet would take its own
 * choice; whoever compiles prefers the IR. */
static cv_jit_result hold(cv_jit_link *link, cv_jit_input found, const void *data, size_t size,
                          const char *name)
{
    link->has_ir |= link->needs_lto || holds_ir(link, data, size);
    cv_jit_drop(link); /* that nothing else of it fits is no news */
    return cv_jit_lto_hold(link, found, data, size, name ? name : "(null)");
}

cv_jit_result cv_jit_add(cv_jit_link *link, int type, const void *data, size_t size, const char *name)
{
    cuvet_add_options options = { .size = sizeof(options), .flags = CUVET_ADD_LIBRARY };
    cv_jit_input found;
    cv_jit_result result;
    cuvet_status status;

    if (link->state != CV_JIT_OPEN)
        return CV_JIT_INTERNAL;
    if (size == 0)
        return CV_JIT_INVALID_INPUT;
    found = type_of(data, size);
    result = judge_type(link, type, found, name);
    if (result != CV_JIT_SUCCESS)
        return result;
    if (link->held && (found == CV_JIT_INPUT_LTOIR || found == CV_JIT_INPUT_PTX)) {
        /* Whoever compiles them judges them: nothing of them gets into a link of ours. */
        link->has_ir |= found == CV_JIT_INPUT_LTOIR;
        return cv_jit_lto_hold(link, found, data, size, name ? name : "(null)");
    }
    if (found == CV_JIT_INPUT_LTOIR)
        return refuse_ir(link, name);
    link->needs_compiler = link->needs_lto = false;
    status = cuvet_linker_add_memory(link->ctx, link->linker, data, size, name ? name : "(null)", &options);
    if (link->held && is_well(link, status, data, size))
        return hold(link, found, data, size, name);
    put_compiler_log(link, status != CUVET_OK);
    cv_jit_say(link, name ? name : "(null)");
    if (status == CUVET_E_NO_MATCH && holds_ir(link, data, size))
        link->needs_lto = true;
    /* For a newer machine, which no compiler would take, or what the compiler made of it is none. */
    if ((status == CUVET_E_NO_MATCH || status == CUVET_E_MALFORMED) && found == CV_JIT_INPUT_PTX)
        status = CUVET_E_COMPILER;
    return status == CUVET_OK ? CV_JIT_SUCCESS : answer(link, status, name);
}

cv_jit_result cv_jit_add_file(cv_jit_link *link, int type, const char *path)
{
    cv_jit_result result = CV_JIT_INVALID_INPUT;
    cuvet_limits limits = { .size = sizeof(limits) };
    cuvet_source source = { .size = sizeof(source) };
    void *bytes = NULL;

    if (link->state != CV_JIT_OPEN)
        return CV_JIT_INTERNAL;
    if (cuvet_source_path(path, &source) != CUVET_OK)
        return refuse(link, CV_JIT_INVALID_INPUT, "no such file", path);
    if (cuvet_limits_preset("strict", &limits) != CUVET_OK || source.length > limits.input ||
        source.length > SIZE_MAX - 1)
        result = refuse(link, CV_JIT_INVALID_INPUT, "the file is too large", path);
    else if (source.length == 0)
        result = refuse(link, CV_JIT_INVALID_INPUT, "the file is empty", path);
    else if (!(bytes = malloc((size_t)source.length)))
        result = refuse(link, CV_JIT_INTERNAL, "no memory for the file", path);
    else if (source.read_at(source.user, 0, bytes, (size_t)source.length) != CUVET_OK)
        result = refuse(link, CV_JIT_INVALID_INPUT, "the file cannot be read", path);
    else
        result = cv_jit_add(link, type, bytes, (size_t)source.length, path);
    free(bytes);
    cuvet_source_destroy(&source);
    return result;
}
