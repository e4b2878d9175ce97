/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Between the files that read a host ELF: host.c (tables, sections), wrappers.c and object.c (wrappers and
 * where they point), search.c (wrappers that no section shows), loader.c (segments), writes.c (relocations
 * that a loader applies), intact.c (device code as it is loaded). */
#ifndef CV_HOST_PARTS_H
#define CV_HOST_PARTS_H

#include "format/elf/read.h"
#include "host/host.h"

typedef struct cv_host_read_ctx {
    cv_ctx *ctx;
    const cuvet_source *src;
    uint64_t base, size;
    cv_host *host;
    cv_elf_header header;
    bool listed; /* the section table can be read … */
    bool tables; /* … and the names in it */
    uint64_t n_sections;
    uint32_t names_index;      /* section index of the name table, 0: none */
    cv_block headers;          /* a run of section headers … */
    uint64_t first, n_headers; /* … which ones */
    cv_block names;            /* the whole name table */
    cv_block part;             /* whatever is looked at for a moment */
    cv_block one;              /* … while another part is looked at */
    cv_keys slots;             /* wrappers by the address of their pointer */
    bool quiet;                /* what is wrong with wrappers is not said: some are data */
} cv_host_read_ctx;

/* [off, off + len) lies in the region. */
static inline bool cv_host_has(const cv_host_read_ctx *reader, uint64_t off, uint64_t len)
{
    return off <= reader->size && len <= reader->size - off;
}

/* Load a range of the region that cv_host_has(). */
CV_MUST cuvet_status cv_host_load(cv_host_read_ctx *reader, cv_block *block, uint64_t off, uint64_t len);
/* Section header index < n_sections. */
CV_MUST cuvet_status cv_host_header(cv_host_read_ctx *reader, uint64_t index, cv_elf_section *out);
/* Pointers of the wrappers of a relocatable object; absolute: the relocation type that sets a pointer. */
CV_MUST cuvet_status cv_host_resolve_object(cv_host_read_ctx *reader, uint32_t absolute);
/* All wrappers of the sections, or by search; then their pointers. */
CV_MUST cuvet_status cv_host_read_wrappers(cv_host_read_ctx *reader);
/* Wrappers of what is loaded, without pointers: when there is no section table. */
CV_MUST cuvet_status cv_host_search_wrappers(cv_host_read_ctx *reader);
CV_MUST cuvet_status cv_host_add_wrapper(cv_host_read_ctx *reader, const cv_wrapper *wrapper, uint64_t off,
                                         uint64_t slot, uint32_t section);
/* Pointers of the wrappers from 'first' on, and all places that are named; said what is wrong. */
CV_MUST cuvet_status cv_host_resolve(cv_host_read_ctx *reader, uint64_t first);
/* The pointers alone, of what is loaded; relative: the relocation type that sets one. */
CV_MUST cuvet_status cv_host_resolve_loaded(cv_host_read_ctx *reader, uint64_t first, uint32_t relative);
/* What was read along the way. */
void cv_host_free_blocks(cv_host_read_ctx *reader);

/* ---- what a loader does ---- */

CV_MUST cuvet_status cv_host_read_loads(cv_host_read_ctx *reader);
/* Offset in the region of len bytes at an address, from the last segment that holds them, as a loader
 * maps. */
CV_MUST bool cv_host_map(cv_host_read_ctx *reader, uint64_t addr, uint64_t len, uint64_t *off);
/* The other way: address of a place in the region. */
CV_MUST bool cv_host_address(cv_host_read_ctx *reader, uint64_t off, uint64_t *addr);
/* The bytes [off, end) of the region are loaded by no segment, or as they are. False: not those at *bad. */
CV_MUST bool cv_host_loaded_whole(cv_host_read_ctx *reader, uint64_t off, uint64_t end, uint64_t *bad);

/* Where the dynamic section says that relocations are: a loader knows no other place. */
typedef enum cv_host_table { CV_HOST_RELR, CV_HOST_REL, CV_HOST_RELA, CV_HOST_PLT } cv_host_table;

typedef struct cv_host_entries {
    uint64_t off, bytes, entry; /* in the region; 0 bytes: there are none */
} cv_host_entries;

typedef struct cv_host_relocs {
    cv_host_entries packed, rel, rela, plt;
    cv_host_entries dynamic; /* the dynamic section itself */
    uint64_t symbols;        /* address of the symbol table */
} cv_host_relocs;

/* One relocation of those tables. */
typedef struct cv_host_write {
    cv_host_table table;
    uint64_t off;        /* of the entry, in the source */
    uint64_t place, len; /* the addresses that it writes */
    uint32_t type;
    bool has_addend; /* false: what is stored at the place is the value */
    uint64_t addend;
} cv_host_write;

/* @return OK · NOMEM · IO · LIMIT (reported) */
typedef cuvet_status (*cv_host_visit)(cv_host_read_ctx *reader, const cv_host_write *write, void *user);

/* What is wrong with the dynamic section is reported. */
CV_MUST cuvet_status cv_host_read_dynamic(cv_host_read_ctx *reader, cv_host_relocs *out);
/* Every relocation that writes to an address of [low, high), in the order of the loader. Those that write
 * nothing are left out. */
CV_MUST cuvet_status cv_host_each_write(cv_host_read_ctx *reader, const cv_host_relocs *relocs, uint64_t low,
                                        uint64_t high, cv_host_visit visit, void *user);

#endif
