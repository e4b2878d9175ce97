/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A stack of which nobody knows the size, in what is printed: apart from the reading, which libraries in the
 * places of others need alone. */
#include <inttypes.h>

#include "resources.h"

const char *cli_stack_text(uint32_t stack, const char *unknown, char text[CLI_STACK_CAP])
{
    if (stack == CLI_STACK_UNKNOWN)
        return unknown;
    snprintf(text, CLI_STACK_CAP, "%" PRIu32, stack);
    return text;
}

void cli_stack_json(cli_record *record, const char *key, uint32_t stack)
{
    if (stack == CLI_STACK_UNKNOWN)
        cli_record_null(record, key);
    else
        cli_record_u64(record, key, stack);
}
