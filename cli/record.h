/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One object of NDJSON, written field by field into memory that the next one uses again. For outputs of many
 * records: building a tree for each, and walking it, takes jansson 6 µs for a member of a scan, which is as
 * long as finding, unpacking and judging it (docs/evidence/bench.md); this takes half a microsecond. The
 * bytes are those that jansson would write.
 *
 * Keys are constants of ours. Inside of an array, keys are NULL. A record that ran out of memory is not
 * printed, and cli_json_ok() tells. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_record {
    char *text;
    size_t len, cap;
    char *escaped; /* what cli_escape() makes of a text */
    size_t escaped_cap;
    bool more;   /* a comma comes first */
    bool failed; /* out of memory: it is not whole */
} cli_record;

/** Schema, type, and the file if there is one. */
void cli_record_begin(cli_record *record, const char *type, const char *file);
/** The same without any member: of another format. */
void cli_record_start(cli_record *record);
/** Print what there is of it; it goes on. */
void cli_record_flush(cli_record *record, FILE *to);
/** Text of ours, or that was escaped: valid UTF-8. */
void cli_record_string(cli_record *record, const char *key, const char *text);
/** Any bytes: escaped, at most CLI_JSON_CAP of them. */
void cli_record_bytes(cli_record *record, const char *key, const void *bytes, size_t size);
/** The same with at most 'most' of them. */
void cli_record_cut(cli_record *record, const char *key, const void *bytes, size_t size, size_t most);
void cli_record_text(cli_record *record, const char *key, const char *text);
/** Above 2^53-1, where readers lose digits, a string "0x...". */
void cli_record_u64(cli_record *record, const char *key, uint64_t value);
void cli_record_signed(cli_record *record, const char *key, int64_t value);
void cli_record_bool(cli_record *record, const char *key, bool value);
void cli_record_null(cli_record *record, const char *key);
/** '{' or '['. */
void cli_record_open(cli_record *record, const char *key, char bracket);
void cli_record_close(cli_record *record, char bracket);
/** Print it on one line. */
void cli_record_put(cli_record *record, FILE *to);
void cli_record_free(cli_record *record);

#endif
