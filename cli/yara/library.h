/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libyara, loaded by the process that uses it and by no other (process.c): what is used of it is listed here,
 * and called by its own name, as in loaded.h. A build without its header has no rules, and says so. */
#ifndef CLI_YARA_LIBRARY_H
#define CLI_YARA_LIBRARY_H

#if defined(__has_include)
#if __has_include(<yara.h>)
#include <yara.h>
#endif
#endif

/* Its structures are those of one version of it: so is the name. */
#if defined(YR_MAJOR_VERSION) && YR_MAJOR_VERSION == 4 && YR_MINOR_VERSION == 2
#define CLI_YARA_SO "libyara.so.9"
#endif
#if defined(YR_MAJOR_VERSION) && YR_MAJOR_VERSION == 4 && YR_MINOR_VERSION > 2
#define CLI_YARA_SO "libyara.so.10"
#endif

#ifdef CLI_YARA_SO
#define CLI_OF_YARA(USE)                                                                                     \
    USE(yr_initialize)                                                                                       \
    USE(yr_set_configuration)                                                                                \
    USE(yr_compiler_create)                                                                                  \
    USE(yr_compiler_set_callback)                                                                            \
    USE(yr_compiler_set_include_callback)                                                                    \
    USE(yr_compiler_define_string_variable)                                                                  \
    USE(yr_compiler_add_string)                                                                              \
    USE(yr_compiler_get_rules)                                                                               \
    USE(yr_rules_load_stream)                                                                                \
    USE(yr_scanner_create)                                                                                   \
    USE(yr_scanner_set_callback)                                                                             \
    USE(yr_scanner_set_flags)                                                                                \
    USE(yr_scanner_set_timeout)                                                                              \
    USE(yr_scanner_define_string_variable)                                                                   \
    USE(yr_scanner_scan_mem)

typedef struct yara_functions {
#define FIELD(name) __typeof__(name) *name;
    CLI_OF_YARA(FIELD)
#undef FIELD
} yara_functions;

extern yara_functions yara_loaded;
#endif

/** @return NULL, or why it cannot be had; the text is static */
const char *yara_load(void);

#endif
