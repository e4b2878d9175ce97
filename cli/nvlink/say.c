/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the reference linker would say, in its words and its form; what it would not say, in its form. */
#include "nvlink.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* See link_say.c for the marks. What is not here is said in our words, with place and rule. */
static const link_text TEXTS[] = {
    { "CV-LINK-001", "Multiple definition of '%s' in '%f', first defined %F", false },
    { "CV-LINK-002", "Size doesn't match for '%s' in '%f', first specified %F", false },
    { "CV-LINK-003", "Memory space doesn't match for '%s' in '%f', first specified %F", false },
    { "CV-LINK-004", "Prototype doesn't match for '%s' in '%f', first defined %F", false },
    { "CV-LINK-005", "Function '%s' not declared __global__ in all source files", false },
    { "CV-LINK-026", "Managed attribute doesn't match for '%s' in '%f', first specified %F", false },
    { "CV-LINK-006", "Undefined reference to '%s' in '%f'", false },
    { "CV-LINK-007", "entry function%S with max regcount of %w calls function '%s' with regcount of %g",
      false },
    { "CV-LINK-008", "Stack size for entry function '%s' cannot be statically determined", false },
    { "CV-LINK-009", "File uses too much global constant data (%x bytes, 0x10000 max)", false },
    { "CV-LINK-010", "Entry function '%s' uses too much shared data (%x bytes, %y max)", false },
    { "CV-ADMIT-005", "Input file '%f' arch does not match target '%T'", true },
    { "CV-COMPILE-001",
      "Input file '%f' has nothing but PTX for target '%T', which needs a compiler: "
      "CUVET_COMPILER=/path/to/ptxas "
      "[CV-COMPILE-001]",
      true },
};

/* What ends a link at once is fatal there, as everything is that only we refuse. */
static void begin(const char *severity, const char *file, bool own)
{
    bool fatal = !own && strcmp(severity, "error") == 0;

    fprintf(stderr, "nvlink %-8s: ", fatal ? "fatal" : severity);
    if (own || !file)
        return;
    fputs("Input file '", stderr);
    cli_put_str(stderr, file);
    fputs("': ", stderr);
}

const link_voice NVLINK_VOICE = { begin, TEXTS, sizeof(TEXTS) / sizeof(TEXTS[0]), true };

__attribute__((format(printf, 2, 0))) static void put_line(const char *severity, const char *format,
                                                           va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, format, ap) < 0)
        text = NULL; /* what is said then is short, and true */
    begin(severity, NULL, true);
    cli_put_str(stderr, text ? text : "out of memory");
    fputc('\n', stderr);
    free(text);
}

bool nvlink_fatal(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    put_line("fatal", format, ap);
    va_end(ap);
    return false;
}

void nvlink_warn(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    put_line("warning", format, ap);
    va_end(ap);
}
