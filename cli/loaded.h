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

#define CLI_OF_JANSSON(USE)                                                                                  \
    USE(json_array)                                                                                          \
    USE(json_array_append_new)                                                                               \
    USE(json_array_insert_new)                                                                               \
    USE(json_array_get)                                                                                      \
    USE(json_array_size)                                                                                     \
    USE(json_deep_copy)                                                                                      \
    USE(json_delete)                                                                                         \
    USE(json_dumpf)                                                                                          \
    USE(json_false)                                                                                          \
    USE(json_integer)                                                                                        \
    USE(json_integer_value)                                                                                  \
    USE(json_null)                                                                                           \
    USE(json_object)                                                                                         \
    USE(json_object_get)                                                                                     \
    USE(json_object_seed)                                                                                    \
    USE(json_object_iter)                                                                                    \
    USE(json_object_iter_key)                                                                                \
    USE(json_object_iter_next)                                                                               \
    USE(json_object_iter_value)                                                                              \
    USE(json_object_set_new)                                                                                 \
    USE(json_pack)                                                                                           \
    USE(json_string)                                                                                         \
    USE(json_stringn)                                                                                        \
    USE(json_loadb)                                                                                          \
    USE(json_dumps)                                                                                          \
    USE(json_object_size)                                                                                    \
    USE(json_string_value)                                                                                   \
    USE(json_true)

#define CLI_OF_NETTLE(USE)                                                                                   \
    USE(nettle_sha256_init)                                                                                  \
    USE(nettle_sha256_update)                                                                                \
    USE(nettle_sha256_digest)

typedef struct cli_loaded_functions {
#define FIELD(name) __typeof__(name) *name;
    CLI_OF_JANSSON(FIELD)
    CLI_OF_NETTLE(FIELD)
#undef FIELD
} cli_loaded_functions;

extern cli_loaded_functions cli_loaded;

#ifndef CLI_LOADED_C
#define json_array             cli_loaded.json_array
#define json_array_append_new  cli_loaded.json_array_append_new
#define json_array_insert_new  cli_loaded.json_array_insert_new
#define json_array_get         cli_loaded.json_array_get
#define json_array_size        cli_loaded.json_array_size
#define json_deep_copy         cli_loaded.json_deep_copy
#define json_dumpf             cli_loaded.json_dumpf
#define json_false             cli_loaded.json_false
#define json_integer           cli_loaded.json_integer
#define json_integer_value     cli_loaded.json_integer_value
#define json_null              cli_loaded.json_null
#define json_object            cli_loaded.json_object
#define json_object_get        cli_loaded.json_object_get
#define json_object_seed       cli_loaded.json_object_seed
#define json_object_iter       cli_loaded.json_object_iter
#define json_object_iter_key   cli_loaded.json_object_iter_key
#define json_object_iter_next  cli_loaded.json_object_iter_next
#define json_object_iter_value cli_loaded.json_object_iter_value
#define json_object_set_new    cli_loaded.json_object_set_new
#define json_pack              cli_loaded.json_pack
#define json_string            cli_loaded.json_string
#define json_stringn           cli_loaded.json_stringn
#define json_true              cli_loaded.json_true
#define json_loadb             cli_loaded.json_loadb
#define json_dumps             cli_loaded.json_dumps
#define json_object_size       cli_loaded.json_object_size
#define json_string_value      cli_loaded.json_string_value
#define nettle_sha256_init     cli_loaded.nettle_sha256_init
#define nettle_sha256_update   cli_loaded.nettle_sha256_update
#define nettle_sha256_digest   cli_loaded.nettle_sha256_digest
#endif

#endif
