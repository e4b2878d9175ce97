/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives of ar: System V and GNU names, BSD names, thin archives. Pure functions over spans; whoever walks
 * the archive reads 60 bytes, asks here what they mean and goes on at cv_ar_header.next. */
#ifndef CV_FORMAT_ARCHIVE_READ_H
#define CV_FORMAT_ARCHIVE_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_AR_MAGIC       UINT64_C(0x0A3E686372613C21) /* "!<arch>\n" */
#define CV_AR_MAGIC_SIZE  UINT64_C(8)
#define CV_AR_HEADER_SIZE UINT64_C(60)
/* Longest BSD name that is read: file systems stop at 255, paths at 4096. */
#define CV_AR_NAME_MAX UINT64_C(4096)

typedef enum cv_ar_kind { CV_AR_NONE = 0, CV_AR_NORMAL, CV_AR_THIN } cv_ar_kind;

typedef enum cv_ar_entry {
    CV_AR_MEMBER = 0, /* short name: see cv_ar_header.name */
    CV_AR_LONG_NAME,  /* name at name_at in the name table */
    CV_AR_BSD_NAME,   /* name is the first name_size bytes behind the header */
    CV_AR_SYMBOLS,    /* symbol table, 32 or 64 bits, System V or BSD */
    CV_AR_NAMES       /* name table */
} cv_ar_entry;

typedef struct cv_ar_header {
    cv_ar_entry entry;
    uint64_t size;      /* as declared; a BSD name is part of it */
    uint64_t name_at;   /* CV_AR_LONG_NAME */
    uint64_t name_size; /* CV_AR_BSD_NAME */
    cv_span name;       /* CV_AR_MEMBER: without '/' and blanks; borrowed from the header */
    bool stored;        /* the archive holds the bytes (members of thin archives: no) */
    /* Offsets from the start of the header: */
    uint64_t body;      /* first byte of the content, behind a BSD name */
    uint64_t body_size; /* bytes of content that are there */
    uint64_t end;       /* behind the content, before the padding byte */
    uint64_t next;      /* next header, or the end of the archive */
} cv_ar_header;

/* What the first eight bytes say; silent. */
cv_ar_kind cv_ar_probe(cv_span head);
/* The same where an archive must be; reports that a thin archive's members are not opened. */
CV_MUST cuvet_status cv_ar_read_magic(cv_ctx *ctx, cv_span head, cv_ar_kind *out);

/* Member header. 'head' holds the next bytes (at most 60 are looked at), 'remaining' bytes of the archive are
 * left from there.
 * @return OK: *out is valid and next > 60 bytes on, or the end. Also when the member passes the end of the
 * archive: that is reported, body_size is what is there. MALFORMED: no next member can be found. */
CV_MUST cuvet_status cv_ar_read_header(cv_ctx *ctx, cv_span head, uint64_t remaining, cv_ar_kind kind,
                                       cv_ar_header *out);

/* Name of a CV_AR_LONG_NAME member from the body of the name table; header_off is where to report. */
CV_MUST cuvet_status cv_ar_long_name(cv_ctx *ctx, cv_span names, uint64_t name_at, uint64_t header_off,
                                     cv_span *out);
/* Name of a CV_AR_BSD_NAME member from the bytes behind the header: without the zero bytes that pad it. */
cv_span cv_ar_bsd_name(cv_span stored);
/* A BSD symbol table calls itself a member with a name. */
bool cv_ar_is_symbols(cv_span name);
/* The byte between the end of a member and the next header. */
void cv_ar_check_padding(cv_ctx *ctx, cv_span byte);

#endif
