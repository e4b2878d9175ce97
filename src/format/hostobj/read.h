/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the sections of a host object hold besides containers: wrapper records, module ids, host reference
 * lists. Pure functions over spans; which section is which, and where pointers lead, is decided in src/host.
 */
#ifndef CV_FORMAT_HOSTOBJ_READ_H
#define CV_FORMAT_HOSTOBJ_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_WRAPPER_SIZE      UINT64_C(24)
#define CV_WRAPPER_MAGIC     UINT32_C(0x466243B1)
#define CV_WRAPPER_OLD_MAGIC UINT32_C(0x1EE55A01) /* the structure before CUDA 4: named, not decoded */
/* Places of the two pointers in the record. */
#define CV_WRAPPER_DATA   UINT64_C(8)
#define CV_WRAPPER_SECOND UINT64_C(16)

typedef struct cv_wrapper {
    uint32_t magic;
    uint32_t version; /* 1, or 2 from a device link */
    uint64_t data;    /* the container: as stored, before relocation */
    uint64_t second;  /* version 2: the containers that were linked before */
} cv_wrapper;

typedef enum cv_hostobj_kind {
    CV_HOSTOBJ_OTHER = 0,
    CV_HOSTOBJ_FATBIN,    /* .nv_fatbin */
    CV_HOSTOBJ_RELFATBIN, /* __nv_relfatbin */
    CV_HOSTOBJ_WRAPPERS,  /* .nvFatBinSegment */
    CV_HOSTOBJ_MODULE_ID, /* __nv_module_id */
    CV_HOSTOBJ_REFS,      /* .nvHRDE, .nvHRDI, .nvHRCE, .nvHRCI: variables that host code refers to */
    CV_HOSTOBJ_KERNELS,   /* .nvHRKE, .nvHRKI: kernels */
    CV_HOSTOBJ_OFFLOAD    /* offload binaries, told by the type: .llvm.offloading */
} cv_hostobj_kind;

/* Longest section name of interest, with its NUL. */
#define CV_HOSTOBJ_NAME UINT64_C(17)

/* What a section of this name holds. */
cv_hostobj_kind cv_hostobj_section(cv_span name);

/* Record 'index' of the section. @return OK · MALFORMED · UNSUPPORTED (the old structure); reported. */
CV_MUST cuvet_status cv_wrapper_read(cv_ctx *ctx, cv_span records, uint64_t index, cv_wrapper *out);
/* The eight bytes at off begin a wrapper: for searches. */
static inline bool cv_wrapper_at(cv_span span, uint64_t off)
{
    uint64_t head = cv_u64_at(span, off);

    return head == (UINT64_C(1) << 32 | CV_WRAPPER_MAGIC) || head == (UINT64_C(2) << 32 | CV_WRAPPER_MAGIC);
}

/* The relocations of a machine that set a pointer: in objects, and in what is loaded. False: not known. */
CV_MUST bool cv_hostobj_pointers(uint16_t machine, uint32_t *absolute, uint32_t *relative);

/* ELF gABI: the segment of the dynamic section, and the tags that say where relocations lie. All are below
 * CV_DT_TAGS. */
enum { CV_HOST_PT_DYNAMIC = 2 };
enum {
    CV_DT_NULL = 0,
    CV_DT_PLTRELSZ = 2,
    CV_DT_SYMTAB = 6,
    CV_DT_RELA = 7,
    CV_DT_RELASZ = 8,
    CV_DT_RELAENT = 9,
    CV_DT_REL = 17,
    CV_DT_RELSZ = 18,
    CV_DT_RELENT = 19,
    CV_DT_PLTREL = 20,
    CV_DT_JMPREL = 23,
    CV_DT_RELRSZ = 35,
    CV_DT_RELR = 36,
    CV_DT_RELRENT = 37,
    CV_DT_TAGS = 38
};
static inline uint64_t cv_hostobj_dyn_size(bool is32) /* of an entry: a tag, a value */
{
    return is32 ? 8 : 16;
}

/* Bytes that a relocation writes where it is applied: by a loader, or by a linker that makes a host file of
 * objects. 0: none. */
#define CV_RELOC_COPY UINT64_MAX /* as many as its symbol has */
uint64_t cv_hostobj_loaded_bytes(uint16_t machine, bool is32, uint32_t type);
uint64_t cv_hostobj_linked_bytes(uint16_t machine, uint32_t type);
/* Smallest pages that a loader of the machine has, and the largest. */
void cv_hostobj_pages(uint16_t machine, uint64_t *least, uint64_t *most);
/* Types of sections with relocations in forms that are not read: of LLVM, of Android. */
bool cv_hostobj_packed_relocs(uint32_t section_type);

/* Part of a module id or host reference section: strings that end in NUL, one or more, perhaps with NULs
 * between them. last: the part ends the section. False after the first finding. */
CV_MUST bool cv_hostobj_check_text(cv_ctx *ctx, cv_span part, bool last);

#endif
