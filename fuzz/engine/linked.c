/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In the place of cli/loaded.c, for a target that runs where neither jansson nor nettle is: it holds both. */
#define CLI_LOADED_C
#include "loaded.h"

#include "cli.h"

#include <string.h>

#define LINKED(name) .name = (name),

cli_loaded_functions cli_loaded = { CLI_OF_JANSSON(LINKED) CLI_OF_NETTLE(LINKED) };

bool cli_load_hash(void)
{
    return true;
}

bool cli_load_for(const char *format)
{
    if (strcmp(format, "sarif") == 0 || strcmp(format, "ndjson") == 0)
        json_object_seed(0);
    return true;
}
