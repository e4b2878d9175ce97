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
    cuvet_select selection;
    cuvet_status status;
    bool found = false;

    if (link->workers)
        return cv_jit_isolate_holds_ir(link, data, size);
    if (cuvet_target_parse(link->settings.arch, &options.target) != CUVET_OK ||
        cuvet_select_create(link->ctx, &options, &selection) != CUVET_OK)
        return false;
    if (cuvet_select_bind(link->ctx, selection, data, size, CUVET_BIND_BORROW, NULL) == CUVET_OK) {
        status = cuvet_select_run(link->ctx, selection);
        /* Packed IR is chosen, and cannot be unpacked by anybody but its compiler. */
        found = status == CUVET_OK || status == CUVET_E_UNSUPPORTED;
    }
    if (cuvet_select_destroy(link->ctx, &selection) != CUVET_OK)
        found = false;
    cv_jit_drop(link); /* what was wrong with the file is said already */
    return found;
}

/* One answer for everything that was wrong with it. */
static cv_jit_result answer(cv_jit_link *link, cuvet_status status, const char *name)
{
    if (link->lost)
        return refuse(link, CV_JIT_INTERNAL, "nobody can tell what is wrong with the input", name);
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

/* Of what it has besides LTO-IR cuvet would take its own choice; whoever compiles prefers the IR. */
static cv_jit_result hold(cv_jit_link *link, cv_jit_input found, const void *data, size_t size,
                          const char *name)
{
    link->has_ir |= link->needs_lto || holds_ir(link, data, size);
    cv_jit_drop(link); /* that nothing else of it fits is no news */
    return cv_jit_lto_hold(link, found, data, size, name);
}

static cuvet_status add_compiled(cv_jit_link *link, const cuvet_compile_result *made, const char *name)
{
    cuvet_status status;

    if (made->log)
        cv_jit_put_lines(&link->compiler_log, made->log, made->n_log);
    if (made->end != CUVET_COMPILED) {
        cv_jit_print(&link->error, "ERROR: the compiler of PTX: %s (%lld)\n",
                     cuvet_compile_end_name(made->end), (long long)made->detail);
        return CUVET_E_COMPILER;
    }
    status = cv_jit_isolate_check(link, made->bytes, made->n, name);
    if (status == CUVET_OK)
        return cv_jit_isolate_add(link, made->bytes, made->n, name);
    return status == CUVET_E_NOMEM || status == CUVET_E_INTERNAL ? status : CUVET_E_COMPILER;
}

/* As a link in this process asks: for a debugger where that is wanted, then what the user says. */
static cuvet_status ask_compiler(cv_jit_link *link, const void *data, size_t size, cuvet_compile_result *made)
{
    static const int NEVER = 0;
    const cv_jit_list *given = &link->settings.compiler;
    size_t first = link->settings.debug ? 1 : 0;
    cuvet_compile_request request = { .size = sizeof(request),
                                      .kind = CUVET_K_PTX,
                                      .bytes = data,
                                      .n = strnlen(data, size),
                                      .n_options = first + given->size,
                                      .threads = 1,
                                      .cancel = &NEVER };
    const char **option = calloc(request.n_options + 1, sizeof(*option));
    cuvet_target target;
    cuvet_status status = cuvet_target_parse(link->settings.arch, &target);

    if (!option)
        return CUVET_E_NOMEM;
    option[0] = "--device-debug";
    for (size_t i = 0; i < given->size; i++)
        option[first + i] = given->item[i];
    request.option = option;
    request.sm = target.sm;
    request.suffix = target.suffix;
    if (status == CUVET_OK)
        status = link->compiler.compile(link->compiler.user, &request, made);
    free(option);
    return status;
}

/* Workers start no program: the compiler is started here, in a cage of its own, and a worker gets its result. */
static cuvet_status compile_isolated(cv_jit_link *link, const void *data, size_t size, const char *name)
{
    cuvet_compile_result made = { .size = sizeof(made) };
    cuvet_status status;

    if (!link->has_compiler)
        return CUVET_E_COMPILER;
    status = ask_compiler(link, data, size, &made);
    if (status != CUVET_OK)
        return status;
    status = add_compiled(link, &made, name);
    if (made.release)
        made.release(&made, link->compiler.user);
    return status;
}

/* Where the link happens: judge it, and unless it is handed on have it. */
static cuvet_status take(cv_jit_link *link, cv_jit_input found, const void *data, size_t size,
                         const char *name)
{
    cuvet_add_options options = { .size = sizeof(options), .flags = CUVET_ADD_LIBRARY };
    cuvet_status status;

    if (!link->workers)
        return cuvet_linker_add_memory(link->ctx, link->linker, data, size, name, &options);
    if (found == CV_JIT_INPUT_PTX)
        return compile_isolated(link, data, size, name);
    status = cv_jit_isolate_check(link, data, size, name);
    return status == CUVET_OK && !link->held ? cv_jit_isolate_add(link, data, size, name) : status;
}

cv_jit_result cv_jit_add(cv_jit_link *link, int type, const void *data, size_t size, const char *name)
{
    cv_jit_input found;
    cv_jit_result result;
    cuvet_status status;

    if (link->state != CV_JIT_OPEN)
        return CV_JIT_INTERNAL;
    if (size == 0)
        return CV_JIT_INVALID_INPUT;
    if (!name)
        name = "(null)";
    found = type_of(data, size);
    result = judge_type(link, type, found, name);
    if (result != CV_JIT_SUCCESS)
        return result;
    if (link->held && (found == CV_JIT_INPUT_LTOIR || found == CV_JIT_INPUT_PTX)) {
        /* Whoever compiles them judges them: nothing of them gets into a link of ours. */
        link->has_ir |= found == CV_JIT_INPUT_LTOIR;
        return cv_jit_lto_hold(link, found, data, size, name);
    }
    if (found == CV_JIT_INPUT_LTOIR)
        return refuse_ir(link, name);
    link->needs_compiler = link->needs_lto = link->lost = false;
    status = take(link, found, data, size, name);
    if (link->held && is_well(link, status, data, size))
        return hold(link, found, data, size, name);
    put_compiler_log(link, status != CUVET_OK);
    if (link->workers && status != CUVET_OK)
        cv_jit_isolate_say(link);
    cv_jit_say(link, name);
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
