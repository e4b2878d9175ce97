/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of archives of ar, one after the other, as spec/rules_archive.def and the manual of ar describe
 * them: 60 bytes of text, then the content, at even places. */
#ifndef CV_TESTS_MODEL_ARCHIVE_H
#define CV_TESTS_MODEL_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum md_ar_form {
    MD_AR_SHORT,    /* the name stands in the header */
    MD_AR_IN_TABLE, /* "/N": in the table of names, from its byte N on */
    MD_AR_IN_FRONT, /* "#1/N": the first N bytes of the content are the name */
    MD_AR_INDEX,    /* a table of symbols */
    MD_AR_NAMES     /* "//": the table of names */
} md_ar_form;

typedef struct md_ar_member {
    const char *broken; /* the rule for which no member can be read; NULL: none */
    bool cut;           /* it passes the end of the archive */
    md_ar_form form;
    uint64_t number; /* N */
    /* From the header on: */
    uint64_t body, body_size, end, next;
} md_ar_member;

/* The member at 'bytes', of which 'left' are left of the archive. */
void md_ar_read(const uint8_t *bytes, size_t left, bool thin, md_ar_member *out);

/* The name from a byte of the table on: its length; *broken: the rule for which it has none. */
size_t md_ar_name(const uint8_t *table, size_t size, uint64_t at, const char **broken);

#endif
