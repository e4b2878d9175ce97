/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A host ELF, parsed: where device code is kept and which containers the program names. Read through the
 * source in small exact pieces; the file as a whole is searched by the scan, whatever is found or broken
 * here. */
#ifndef CV_HOST_HOST_H
#define CV_HOST_HOST_H

#include <cuvet/kind.h>

#include "base/vec.h"
#include "format/elf/read.h"
#include "format/hostobj/read.h"
#include "io/source.h"

/* All offsets of bytes ('off', 'target') are offsets in the source, not in the region. */

typedef struct cv_host_section {
    uint64_t off, size, addr;
    uint32_t index; /* in the section table */
    cv_hostobj_kind kind;
} cv_host_section;

CV_VEC(cv_host_sections, cv_host_section);

/* What bytes of the file are for, by the sections that hold no device code. */
typedef enum cv_host_use {
    CV_HOST_OUTSIDE = 0, /* of all sections */
    CV_HOST_DATA,        /* of the program, which may load code from there on its own */
    CV_HOST_NO_DATA      /* code, comments, notes, debug data, symbols */
} cv_host_use;

typedef struct cv_host_range {
    uint64_t off, end;
    cv_host_use use;
} cv_host_range;

CV_VEC(cv_host_ranges, cv_host_range);

typedef enum cv_host_pointer {
    CV_HOST_STORED = 0, /* data is the value in the record: an address */
    CV_HOST_RELOCATED,  /* data was set by a relocation: an address */
    CV_HOST_FOUND,      /* target is valid */
    CV_HOST_SKIPPED,    /* not followed; said why */
    CV_HOST_LOST        /* leads nowhere; reported unless it was found by a search */
} cv_host_pointer;

typedef struct cv_host_wrapper {
    uint64_t off;  /* of the record */
    uint64_t slot; /* address of the pointer, or its offset in the section in a relocatable object */
    uint64_t data;
    uint64_t target;           /* of what should be a container header */
    uint32_t version, section; /* 0: in none */
    cv_host_pointer state;
} cv_host_wrapper;

CV_VEC(cv_host_wrappers, cv_host_wrapper);

/* Device code in the file: what a program gets of it must be what was examined. */
typedef struct cv_host_extent {
    uint64_t off, end;
} cv_host_extent;

CV_VEC(cv_host_extents, cv_host_extent);
CV_VEC(cv_host_loads, cv_elf_segment);

typedef struct cv_host {
    uint64_t base, size; /* the region */
    bool is32;
    uint16_t type, machine;
    /* Those that hold device code or belong to it, inside the region, in file order. */
    cv_host_sections sections;
    cv_host_ranges ranges;     /* all other sections with bytes; those beside each other may be one */
    cv_host_wrappers wrappers; /* in the order of the file; then those that no section shows */
    bool searched;             /* what is loaded was searched for wrappers as well */
    cv_u64s named;             /* sorted: every target once. Containers that are here are referenced */
    uint64_t work;             /* that reading it took */
    cv_elf_header header;
    uint64_t n_sections;              /* whose headers can be read */
    cv_host_loads loads;              /* PT_LOAD segments, in the order of the table */
    cv_elf_segment dynamic;           /* PT_DYNAMIC, or zero */
    bool segments_read, dynamic_read; /* what is wrong with them was said */
} cv_host;

/* What is known of a file or member of a source before somebody walks it: what it is, and its tables, when
 * they were read and nothing was said of them. */
typedef struct cv_known {
    uint64_t base;   /* where it begins */
    cuvet_kind kind; /* NONE: nobody has looked */
    bool read;       /* there is a host */
    cv_host host;
} cv_known;

CV_VEC(cv_known_list, cv_known);

/* In the order of the source. */
typedef struct cv_host_shelf {
    cv_mem *mem; /* what they are in */
    cv_known_list list;
    uint64_t next; /* not asked for yet */
} cv_host_shelf;

/* So many are kept at once: what lies behind them is read again. */
#define CV_HOST_SHELF_MAX 4096u

/* Read the host ELF in [base, base + size) of the source; the caller knows that the ELF magic is there. *out
 * must be zero, is valid whatever is returned, and is freed with cv_host_free().
 * @return OK: also when rules were broken, all is reported, *out holds what could be read · NOMEM · IO ·
 * LIMIT (reported). */
CV_MUST cuvet_status cv_host_read(cv_ctx *ctx, const cuvet_source *src, uint64_t base, uint64_t size,
                                  cv_host *out);
void cv_host_free(cv_ctx *ctx, cv_host *host);

/* What begins there is of that kind. Without room it is forgotten, and looked at again. */
void cv_host_put_kind(cv_host_shelf *shelf, uint64_t base, cuvet_kind kind);
/* Keep the host, when there is room: *host is zero afterwards. */
void cv_host_keep(cv_host_shelf *shelf, cv_ctx *ctx, cv_host *host);
/* NONE: it is not known. */
CV_MUST cuvet_kind cv_host_kind_at(cv_host_shelf *shelf, uint64_t base);
/* The host that begins at 'base', for what reading it cost; *out was zero. False: it is not there, or too
 * dear for what is left, and has to be read. */
CV_MUST bool cv_host_take(cv_host_shelf *shelf, cv_ctx *ctx, uint64_t base, cv_host *out);
void cv_host_shelf_free(cv_host_shelf *shelf);

/* What is this byte for? */
cv_host_use cv_host_use_at(const cv_host *host, uint64_t off);
/* A container that no wrapper names was found: look for wrappers that the sections do not show, once. What is
 * loaded in no section is searched, and all data when there are sections for containers, but none for
 * wrappers.
 * @return OK · NOMEM · IO · LIMIT (reported) */
CV_MUST cuvet_status cv_host_look_further(cv_ctx *ctx, const cuvet_source *src, cv_host *host);
/* Is the container at this offset named by a wrapper? */
bool cv_host_names(const cv_host *host, uint64_t container_off);
/* After the walk: every wrapper must name one of the containers that were found (offsets in the source,
 * sorted). */
void cv_host_check_wrappers(cv_ctx *ctx, const cv_host *host, const cv_u64s *containers);
/* After the walk: no relocation and no other segment changes the device code on its way into memory, nor the
 * relocations themselves. code: in the order of the file, may overlap; offsets in the source.
 * @return OK: also when it found something · NOMEM · IO · LIMIT (reported) */
CV_MUST cuvet_status cv_host_check_intact(cv_ctx *ctx, const cuvet_source *src, cv_host *host,
                                          const cv_host_extents *code);

#endif
