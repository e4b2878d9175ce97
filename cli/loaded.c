/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define CLI_LOADED_C
#include "loaded.h"

#include "cli.h"

#include <dlfcn.h>
#include <string.h>

cli_loaded_functions cli_loaded;

/* What jansson's header calls where it counts references. */
void json_delete(json_t *json)
{
    cli_loaded.json_delete(json);
}

static bool load_failed(void)
{
    cli_complain(NULL, "this report needs a library: %s", dlerror());
    return false;
}

/* POSIX: a function's address goes through void *, which C has no cast for. */
static bool take_function(void *lib, const char *name, void *to, size_t size)
{
    void *found = dlsym(lib, name);

    memcpy(to, &found, size);
    return found != NULL || load_failed();
}

#define TAKE(name) &&take_function(lib, #name, &cli_loaded.name, sizeof(cli_loaded.name))

static bool load_jansson(void)
{
    void *lib = dlopen(CLI_JANSSON_SO, RTLD_NOW | RTLD_LOCAL);

    return lib ? true CLI_OF_JANSSON(TAKE) : load_failed();
}

static bool load_nettle(void)
{
    void *lib = dlopen(CLI_NETTLE_SO, RTLD_NOW | RTLD_LOCAL);

    return lib ? true CLI_OF_NETTLE(TAKE) : load_failed();
}

bool cli_load_hash(void)
{
    return load_nettle();
}

bool cli_load_for(const char *format)
{
    bool sarif = strcmp(format, "sarif") == 0;

    if (!sarif && strcmp(format, "ndjson") != 0)
        return true;
    if (!load_jansson() || (sarif && !load_nettle()))
        return false;
    /* The key of its hash tables, for which it opens a file. */
    cli_loaded.json_object_seed(0);
    return true;
}
