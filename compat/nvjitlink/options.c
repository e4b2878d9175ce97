/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options: those that the reference takes, measured, with its way to match them: some by how they begin. */
#include "face.h"

#include <stdlib.h>
#include <string.h>

/* Which result a wrong value gives, and where the right one goes. */
typedef enum jit_option {
    JIT_NOTHING = 0, /* accepted, and without an effect here: it is about IR, caches or threads */
    JIT_ARCH,
    JIT_REGISTERS,
    JIT_TIME,
    JIT_VERBOSE,
    JIT_LTO,
    JIT_PTX,
    JIT_OPTIMIZE,
    JIT_DEBUG,
    JIT_LINEINFO,
    JIT_KERNELS,
    JIT_VARIABLES,
    JIT_PTXAS,
    JIT_SPLIT,
    JIT_SPLIT_EXTENDED,
    JIT_RELOCATABLE
} jit_option;

#define VALUE 1u /* ends with '=': what follows is its value */
#define EMPTY 2u /* which may be empty */
#define EXACT 4u /* the whole word; others match by how they begin */

static const struct {
    const char *text;
    jit_option option;
    unsigned flags;
} OPTIONS[] = {
    { "-arch=", JIT_ARCH, VALUE },
    { "-maxrregcount=", JIT_REGISTERS, VALUE },
    { "-time", JIT_TIME, 0 },
    { "-verbose", JIT_VERBOSE, 0 },
    { "-ltoir", JIT_LTO, 0 },
    { "-lto", JIT_LTO, 0 },
    { "-dlto", JIT_LTO, 0 },
    { "-ptx", JIT_PTX, 0 },
    { "-O0", JIT_OPTIMIZE, EXACT },
    { "-O3", JIT_OPTIMIZE, EXACT },
    { "-g", JIT_DEBUG, EXACT },
    { "-lineinfo", JIT_LINEINFO, 0 },
    { "-ftz=", JIT_NOTHING, VALUE | EMPTY },
    { "-prec-div=", JIT_NOTHING, VALUE | EMPTY },
    { "-prec-sqrt=", JIT_NOTHING, VALUE | EMPTY },
    { "-fma=", JIT_NOTHING, VALUE | EMPTY },
    { "-kernels-used=", JIT_KERNELS, VALUE },
    { "-variables-used=", JIT_VARIABLES, VALUE },
    { "-optimize-unused-variables", JIT_NOTHING, 0 },
    { "-Xptxas=", JIT_PTXAS, VALUE },
    { "-Xnvvm=", JIT_NOTHING, VALUE },
    { "-split-compile=", JIT_SPLIT, VALUE | EMPTY },
    { "-split-compile-extended=", JIT_SPLIT_EXTENDED, VALUE },
    { "-jump-table-density=", JIT_NOTHING, VALUE | EMPTY },
    { "-no-cache", JIT_NOTHING, 0 },
    { "-no-opt", JIT_NOTHING, 0 },
    { "-r", JIT_RELOCATABLE, 0 }, /* in no documentation, and there */
};

static void quote(cv_jit_log *log, const char *before, const char *text, const char *after)
{
    cv_jit_print(log, "%s", before);
    cv_jit_put_name(log, text);
    cv_jit_print(log, "%s\n", after);
}

static cv_jit_result unknown(cv_jit_link *link, const char *text)
{
    bool one_digit = strncmp(text, "-O", 2) == 0 && text[2] >= '0' && text[2] <= '9' && text[3] == '\0';

    quote(&link->error, "ERROR: unrecognized option: ", text, one_digit ? " (there are -O0 and -O3)" : "");
    return CV_JIT_UNRECOGNIZED_OPTION;
}

/* "sm_90a", "compute_80", "lto_80": the number is that of the machine in all of them. */
static cv_jit_result take_arch(cv_jit_link *link, const char *value, const char *text)
{
    cv_jit_settings *set = &link->settings;
    const char *digits = strchr(value, '_');
    size_t kind = digits ? (size_t)(digits - value) : 0;
    uint32_t number = 0;
    cuvet_target target;

    set->is_virtual = (kind == 7 && strncmp(value, "compute", kind) == 0) ||
                      (kind == 3 && strncmp(value, "lto", kind) == 0);
    if (!set->is_virtual && (kind != 2 || strncmp(value, "sm", kind) != 0))
        digits = NULL;
    if (!digits || digits[1] < '0' || digits[1] > '9') {
        quote(&link->error, "ERROR: -arch needs a value like sm_90: ", text, "");
        return CV_JIT_UNRECOGNIZED_OPTION;
    }
    (void)memcpy(set->arch, "sm", 2);
    if (strlen(digits) > sizeof(set->arch) - 3) {
        quote(&link->error, "ERROR: unrecognized architecture: ", text, "");
        return CV_JIT_UNRECOGNIZED_ARCH;
    }
    (void)memcpy(set->arch + 2, digits, strlen(digits) + 1);
    if (cuvet_target_parse(set->arch, &target) == CUVET_OK) {
        set->has_arch = true;
        return CV_JIT_SUCCESS;
    }
    for (digits++; *digits >= '0' && *digits <= '9'; digits++)
        number = number < 1000000 ? 10 * number + (uint32_t)(*digits - '0') : number;
    quote(&link->error,
          number < 75 ? "ERROR: unsupported architecture: " : "ERROR: unrecognized architecture: ", text, "");
    return number < 75 ? CV_JIT_UNSUPPORTED_ARCH : CV_JIT_UNRECOGNIZED_ARCH;
}

/* "-v,-O1" is two options. */
static bool take_list(cv_jit_list *list, const char *value)
{
    while (*value) {
        size_t len = strcspn(value, ", ");

        if (len > 0 && !cv_jit_list_add(list, value, len))
            return false;
        value += len + (value[len] != '\0');
    }
    return true;
}

static cv_jit_result negative(cv_jit_link *link, const char *value, const char *text)
{
    if (value[0] != '-')
        return CV_JIT_SUCCESS;
    quote(&link->error, "ERROR: a number of threads is not negative: ", text, "");
    return CV_JIT_UNRECOGNIZED_OPTION;
}

static bool no_memory(cv_jit_link *link, jit_option option, const char *value, const char *text)
{
    cv_jit_settings *set = &link->settings;

    switch ((int)option) {
    case JIT_REGISTERS:
    case JIT_OPTIMIZE: return !cv_jit_list_add(&set->compiler, text, strlen(text));
    case JIT_PTXAS: return !take_list(&set->compiler, value);
    case JIT_KERNELS: return !cv_jit_list_add(&set->kernels_used, value, strlen(value));
    default: return false;
    }
}

static cv_jit_result take(cv_jit_link *link, jit_option option, const char *value, const char *text)
{
    cv_jit_settings *set = &link->settings;

    switch ((int)option) {
    case JIT_ARCH: return take_arch(link, value, text);
    case JIT_TIME: set->timing = true; break;
    case JIT_VERBOSE: set->verbose = true; break;
    case JIT_LTO: set->lto = true; break;
    case JIT_PTX: set->ptx = true; break;
    case JIT_DEBUG: set->debug = true; break;
    case JIT_LINEINFO: set->lineinfo = true; break;
    case JIT_VARIABLES: set->variables_used = true; break;
    case JIT_RELOCATABLE: set->relocatable = true; break;
    case JIT_SPLIT: set->split = true; return negative(link, value, text);
    case JIT_SPLIT_EXTENDED: set->split_extended = true; return negative(link, value, text);
    default: break;
    }
    return no_memory(link, option, value, text) ? CV_JIT_INTERNAL : CV_JIT_SUCCESS;
}

static cv_jit_result read_option(cv_jit_link *link, const char *text)
{
    for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(OPTIONS[0]); i++) {
        size_t len = strlen(OPTIONS[i].text);
        unsigned flags = OPTIONS[i].flags;

        if (strncmp(text, OPTIONS[i].text, len) != 0 || ((flags & EXACT) && text[len] != '\0'))
            continue;
        if ((flags & (VALUE | EMPTY)) == VALUE && text[len] == '\0') {
            quote(&link->error, "ERROR: missing option value: ", text, "");
            return CV_JIT_UNRECOGNIZED_OPTION;
        }
        return take(link, OPTIONS[i].option, text + len, text);
    }
    return unknown(link, text);
}

static cv_jit_result judge(cv_jit_link *link)
{
    cv_jit_settings *set = &link->settings;

    if (!set->has_arch) {
        cv_jit_print(&link->error, "ERROR: -arch=sm_N is missing\n");
        return CV_JIT_MISSING_ARCH;
    }
    if (set->ptx && !set->lto) {
        cv_jit_print(&link->error, "ERROR: -ptx requires -lto\n");
        return CV_JIT_INCOMPATIBLE_OPTIONS;
    }
    if (set->is_virtual && !set->ptx) {
        cv_jit_print(&link->error, "ERROR: a virtual architecture requires -ptx\n");
        return CV_JIT_INCOMPATIBLE_OPTIONS;
    }
    if (set->split && set->split_extended)
        cv_jit_print(&link->info, "-split-compile is ignored, because -split-compile-extended is given\n");
    if (set->verbose && !cv_jit_list_add(&set->compiler, "-v", 2))
        return CV_JIT_INTERNAL;
    if (set->lineinfo && !set->debug && !cv_jit_list_add(&set->compiler, "-lineinfo", 9))
        return CV_JIT_INTERNAL;
    return CV_JIT_SUCCESS;
}

cv_jit_result cv_jit_options(cv_jit_link *link, uint32_t count, const char *const *options)
{
    for (uint32_t i = 0; i < count; i++) {
        cv_jit_result result;

        if (!options[i]) {
            cv_jit_print(&link->error, "ERROR: option %u is NULL\n", (unsigned)i);
            return CV_JIT_NULL_INPUT;
        }
        if (!cv_jit_list_add(&link->settings.given, options[i], strlen(options[i])))
            return CV_JIT_INTERNAL;
        result = read_option(link, options[i]);
        if (result != CV_JIT_SUCCESS)
            return result;
    }
    return judge(link);
}
