/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The three forms a scan is reported in. All are fed by the same diagnostics in the same order. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "session.h"

#include "loaded.h"
#include "record.h"

#define CLI_SCHEMA         "cuvet/1"
#define CLI_JSON_CAP       16384u /* bytes of a text, before it is escaped */
#define CLI_JSON_EXACT_MAX ((UINT64_C(1) << 53) - 1)

/* report_text.c: for people. Streams by file: keeps counters, and the first finding of each rule. */
typedef struct cli_text_report {
    bool notes, colour, quiet, all, only_findings;
    bool heading;                 /* the line with the file's name was printed */
    struct cli_rule_group *group; /* rules of the present file, in the order of their first findings */
    uint32_t *group_of;           /* by rule: which group it has, from 1; 0: none */
    size_t n_rules, n_groups;
    struct cli_hit_group *hit; /* rules of the user's that hit in the present file */
    size_t n_hits, cap_hits;
} cli_text_report;

extern const cli_sink cli_text_sink;
/** false: out of memory. */
bool cli_text_begin(cli_text_report *report, const cli_args *args);
/** Print the summary, if there were several files, and release the report. */
void cli_text_end(cli_text_report *report, const cli_session *session);
/** "2 containers, 5 members (3 elf, 2 ptx), 1 image"; also used by list. */
void cli_put_counts(const cuvet_summary *summary);
/** "; by filter not shown: 3 pieces with 2 findings", or nothing. */
void cli_put_filtered(const cli_result *result);
/** "x.whl: package of 5 entries", a line. */
void cli_put_package(const cli_session *session);
bool cli_use_colour(void);

/* report_ndjson.c: one object per line; flushed at the end of each file, and when some time has passed. */
extern const cli_sink cli_ndjson_sink;
/** After several inputs: how many got which verdict. */
void cli_ndjson_summary(const cli_session *session);
/** The record of a member; it can be added to, then is to be put. */
cli_record *cli_ndjson_member(const cli_session *session, const cuvet_item *item);
void cli_ndjson_put(void);
/** Schema and type, in this order, then the file. */
json_t *cli_json_begin(const char *type, const char *file);

#define CLI_SARIF_SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

/* report_sarif.c: SARIF 2.1.0. Keeps all findings, of which the limit 'diagnostics' bounds the number per
 * rule and file. */
typedef struct cli_sarif_report cli_sarif_report;
extern const cli_sink cli_sarif_sink;
cli_sarif_report *cli_sarif_begin(const cli_args *args);
/** Print the log and release the report. @return rc, or a worse one. */
int cli_sarif_end(cli_sarif_report *report, int rc);

/* hash.c. The library for it must have been loaded. */
#define CLI_SHA256_CAP (2 * SHA256_DIGEST_SIZE + 1)
_Static_assert(sizeof(cli_digest) == SHA256_DIGEST_SIZE, "a whole one");
void cli_digest_of(cli_digest *digest, const void *bytes, size_t size);
/** Of a part of a source. @return false: it could not be read */
bool cli_digest_source(cli_digest *digest, const cuvet_source *source, uint64_t off, uint64_t size);
/** Of all bytes of an open file, whatever they are to whoever unpacks them. Not known: it cannot be read. */
void cli_hash_package(cli_package_hash *hash, int fd, uint64_t size);
int cli_digest_order(const cli_digest *left, const cli_digest *right);
/** Not zeros? */
bool cli_digest_known(const cli_digest *digest);
void cli_digest_text(const cli_digest *digest, char out[CLI_SHA256_CAP]);
/** The same rule at the same place is the same finding, however the bytes around it move. */
void cli_fingerprint_of(const char *rule, const char *place, char out[CLI_SHA256_CAP]);
/** 2 n digits and a NUL. */
void cli_hex(const uint8_t *bytes, size_t size, char *out);

/* json.c: helpers over jansson. A failed allocation is remembered and told by cli_json_ok(). */
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);
/** Escaped text, at most CLI_JSON_CAP bytes of it. */
json_t *cli_json_bytes(const void *bytes, size_t size);
json_t *cli_json_text(const char *text);
/** Number; above 2^53-1, where readers lose digits, a string "0x...". */
json_t *cli_json_u64(uint64_t value);
bool cli_json_ok(void);
/** @return false */
bool cli_json_failed(void);
/** Print one object on one line, flush, release it. */
void cli_json_put(json_t *object);

#endif
