/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jansson and nettle. They serve reports in JSON, and take longer to load than a small link takes, so they
 * are loaded when a command line asks for such a report: before the cage is entered. What is used of them is
 * listed here, and called by its own name. */
#ifndef CLI_LOADED_H
#define CLI_LOADED_H

#include <jansson.h>
#include <nettle/sha2.h>
#include <nettle/version.h>

#if JANSSON_MAJOR_VERSION == 2
#define CLI_JANSSON_SO "libjansson.so.4"
#endif
#if NETTLE_VERSION_MAJOR == 3
#define CLI_NETTLE_SO "libnettle.so.8"
#endif

#define CLI_OF_JANSSON(F)                                                                                    \
    F(json_array)                                                                                            \
    F(json_array_append_new)                                                                                 \
    F(json_array_get)                                                                                        \
    F(json_array_size)                                                                                       \
    F(json_deep_copy)                                                                                        \
    F(json_delete)                                                                                           \
    F(json_dumpf)                                                                                            \
    F(json_false)                                                                                            \
    F(json_integer)                                                                                          \
    F(json_integer_value)                                                                                    \
    F(json_null)                                                                                             \
    F(json_object)                                                                                           \
    F(json_object_get)                                                                                       \
    F(json_object_seed)                                                                                      \
    F(json_object_set_new)                                                                                   \
    F(json_pack)                                                                                             \
    F(json_string)                                                                                           \
    F(json_stringn)                                                                                          \
    F(json_true)

#define CLI_OF_NETTLE(F)                                                                                     \
    F(nettle_sha256_init)                                                                                    \
    F(nettle_sha256_update)                                                                                  \
    F(nettle_sha256_digest)

typedef struct cli_loaded_functions {
#define FIELD(name) __typeof__(name) *name;
    CLI_OF_JANSSON(FIELD)
    CLI_OF_NETTLE(FIELD)
#undef FIELD
} cli_loaded_functions;

extern cli_loaded_functions cli_loaded;

#ifndef CLI_LOADED_C
#define json_array            cli_loaded.json_array
#define json_array_append_new cli_loaded.json_array_append_new
#define json_array_get        cli_loaded.json_array_get
#define json_array_size       cli_loaded.json_array_size
#define json_deep_copy        cli_loaded.json_deep_copy
#define json_dumpf            cli_loaded.json_dumpf
#define json_false            cli_loaded.json_false
#define json_integer          cli_loaded.json_integer
#define json_integer_value    cli_loaded.json_integer_value
#define json_null             cli_loaded.json_null
#define json_object           cli_loaded.json_object
#define json_object_get       cli_loaded.json_object_get
#define json_object_seed      cli_loaded.json_object_seed
#define json_object_set_new   cli_loaded.json_object_set_new
#define json_pack             cli_loaded.json_pack
#define json_string           cli_loaded.json_string
#define json_stringn          cli_loaded.json_stringn
#define json_true             cli_loaded.json_true
#define nettle_sha256_init    cli_loaded.nettle_sha256_init
#define nettle_sha256_update  cli_loaded.nettle_sha256_update
#define nettle_sha256_digest  cli_loaded.nettle_sha256_digest
#endif

#endif
