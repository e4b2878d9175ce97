/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A page for a browser that shows what is in files: page.html, page.css and a script, and in it the data,
 * which is written while the run goes on. docs/report.md says what the records are. */
#ifndef CLI_PAGE_PAGE_H
#define CLI_PAGE_PAGE_H

#include "../inside.h"

#define PAGE_SCHEMA "cuvet-report/1"

/* Parts of the data, each with a bound of its own: a part that is full takes nothing away from the others. */
typedef enum page_part {
    PAGE_FILES,
    PAGE_FINDINGS,
    PAGE_PIECES,
    PAGE_KERNELS,
    PAGE_RANGES, /* of files */
    PAGE_INNER,  /* of what is unpacked, and the names of sections */
    PAGE_CELLS,  /* what stands for ranges that are too many */
    PAGE_PARTS
} page_part;

/* The texts that were written already: a number for each, as long as there is room. */
#define PAGE_SETS 65536u
#define PAGE_WAYS 4u
typedef struct page_known {
    cli_digest digest;
    uint32_t number; /* from 1; 0: free */
} page_known;

/* Numbers in one text, with commas between them: a browser looks at them when somebody wants to see them. */
#define PAGE_LIST 16384u
typedef struct page_list {
    char text[PAGE_LIST];
    size_t used;
} page_list;

/* A finding waits for the bytes of its piece. */
#define PAGE_WAITING 1024u

/* Ranges above the bound are added up, by owner, in cells of one size. */
#define PAGE_COLUMNS 1024u
#define PAGE_OWNERS  16u

/* What a file has for one architecture. */
#define PAGE_CODES 128u
#define PAGE_CODE  32
typedef struct page_code {
    char name[PAGE_CODE];
    const char *kind;
    uint64_t pieces, stored, size, kernels;
} page_code;

/* Where it goes. */
typedef struct page_out {
    int fd; /* -1: standard output */
    bool failed, more;
    char *block;
    size_t used;
    size_t data_at; /* where the data stands in page.html */
    uint64_t put;   /* bytes so far */
    uint64_t left[PAGE_PARTS];
} page_out;

/* What is counted of the present file, and what of it is shown. */
typedef struct page_file {
    bool begun, hidden; /* hidden: there is no room to tell of it */
    uint64_t kernels, shown_pieces, shown_findings;
    uint64_t n_ranges, shown_ranges, n_inner, shown_inner;
    page_code code[PAGE_CODES];
    size_t n_codes;
} page_file;

/* The ledger of the present file. */
typedef struct page_ledger {
    /* a run of ranges of one path, that is being written */
    page_list list;
    bool in_run, inner;
    uint32_t path_text;
    cuvet_path path;
    uint64_t at, index; /* where the last one ended; the last section */
    /* the whole in cells */
    uint64_t cell_bytes;
    uint64_t cell[PAGE_COLUMNS][PAGE_OWNERS];
    const char *owner[PAGE_OWNERS];
    size_t n_owners;
} page_ledger;

/* What all files have come to. */
typedef struct page_sums {
    uint64_t files, hidden, packages, pieces, kernels;
    uint32_t findings_left, notes_left;
    uint8_t *told; /* by rule: there is a finding of it on the page */
    size_t n_rules;
} page_sums;

typedef struct page_doc {
    page_out out;
    cli_record record; /* the one that is being made … */
    cli_record text;   /* … texts that go before it … */
    cli_record run;    /* … and one of kernels, which needs texts */
    page_known *known;
    uint32_t n_texts;
    const cli_session *session;
    cli_looking looking;
    page_file file;
    page_ledger ledger;
    cuvet_diag waiting[PAGE_WAITING];
    size_t n_waiting;
    page_sums sums;
} page_doc;

/* write.c */
bool page_begin(page_doc *page, int fd);
/** All that is left of the page. @return false: it was not written to its end */
bool page_end(page_doc *page, const cli_session *session);
void page_free(page_doc *page);
void page_put(page_doc *page, const void *bytes, size_t size);
/** The data is a list of records, each an array that begins with its kind. */
void page_open(page_doc *page, const char *kind);
void page_close(page_doc *page, page_part part);
/** The same from another record than page->record. */
void page_close_from(page_doc *page, cli_record *record, page_part part);
void page_open_in(cli_record *record, const char *kind);
/** @return false: it is full, and to be put first */
bool page_list_has_room(const page_list *list);
/** A sign, then a number: what is as the one before is left out by whoever knows. */
void page_list_add(page_list *list, const char *sign, uint64_t value);
void page_list_sign(page_list *list, const char *sign);
/** What stands between two of a list: nothing before the first. */
const char *page_list_comma(const page_list *list);
/** Into page->record, and empty again. */
void page_list_put(page_doc *page);
/** The number of a text, which is written where it is new; at most 'most' bytes of it are. */
uint32_t page_text(page_doc *page, page_part part, const void *bytes, size_t size, size_t most);
uint32_t page_string(page_doc *page, page_part part, const char *text);
uint32_t page_path(page_doc *page, page_part part, const cuvet_path *path);
static inline bool page_has_room(const page_doc *page, page_part part)
{
    return !page->file.hidden && page->out.left[part] > 0;
}

/* places.c: what owns which bytes */
void page_begin_ranges(page_doc *page);
void page_add_range(page_doc *page, const cuvet_claim_info *claim);
void page_end_run(page_doc *page);
void page_put_cells(page_doc *page);

/* findings.c */
void page_add_finding(page_doc *page, const cuvet_diag *diag);
/** Those that wait. @param item the piece that they may be about @param inside its bytes; NULL: there is
 * none */
void page_put_findings(page_doc *page, const cuvet_item *item, const cli_inside *inside);
/** What the rules are that there are findings of. */
void page_put_rules(page_doc *page);

/* pieces.c */
void page_add_piece(page_doc *page, const cuvet_item *item, const cli_inside *inside);
void page_put_codes(page_doc *page);

/* data.c: files */
void page_begin_file(page_doc *page);
void page_end_file(page_doc *page, const cli_result *result);
/** Nothing is to be told of it: an entry of a package without device code. */
void page_drop_file(page_doc *page);
void page_end_package(page_doc *page, const cli_result *result);
void page_put_head(page_doc *page, const cli_session *session);
void page_put_end(page_doc *page, const cli_session *session);

#endif
