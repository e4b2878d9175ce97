/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef CLI_YARA_SO
yara_functions yara_loaded;

/* POSIX: a function's address goes through void *, which C has no cast for. */
static bool take_function(void *lib, const char *name, void *to, size_t size)
{
    void *found = dlsym(lib, name);

    memcpy(to, &found, size);
    return found != NULL;
}

#define TAKE(name) &&take_function(lib, #name, &yara_loaded.name, sizeof(yara_loaded.name))

const char *yara_load(void)
{
    static char why[256];
    void *lib = dlopen(CLI_YARA_SO, RTLD_NOW | RTLD_LOCAL);

    if (lib && (true CLI_OF_YARA(TAKE)))
        return NULL;
    snprintf(why, sizeof(why), "%s", dlerror());
    return why;
}
#else
const char *yara_load(void)
{
    return "this build was made without libyara's header";
}
#endif
