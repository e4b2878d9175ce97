/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples with some places changed, for test_cubin_decides.c. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_DECIDE_ROWS_H
#define TESTS_UNIT_CUBIN_CUBIN_DECIDE_ROWS_H

#include "cubin_edit.h"

enum { EDITS = 4 };

typedef struct cubin_decide_row {
    const char *what, *sample;
    cubin_edit edits[EDITS]; /* those that are left out change nothing */
    cv_rule rule;
    bool said; /* after the edits */
} cubin_decide_row;

#define UNIFIED "unified.sm_100.rdc"
#define DEBUG   "plain.sm_100.g.rdc"
#define CUVER   "legal/cuver-vars.sm_100"
/* A longer part of a section's name. */
#define LL(name, at, width, value)                                                                           \
    {                                                                                                        \
        LABEL, name, at, width, value                                                                        \
    }

static const cubin_decide_row ROWS[] = {
    { "program headers of no size", EXE, { H(54, 2, 0) }, CV_R_ELF_PHENTSIZE, true },
    /* A section of records becomes one of section indices. */
    { "section indices of the Mercury table",
      CAP,
      { LL(".nv.merc.nv.info." K, 9, 8, UINT64_C(0x735F6261746D7973)),
        LL(".nv.merc.nv.info." K, 17, 5, UINT64_C(0x0078646E68)),
        S(".nv.merc.nv.info." K, TYPE, CV_SHT_SYMTAB_SHNDX), M(K, SHNDX, 0xFFFF) },
      CV_R_SYM_XINDEX,
      false },
    { "section indices of the Mercury table, of another type",
      CAP,
      { LL(".nv.merc.nv.info." K, 9, 8, UINT64_C(0x735F6261746D7973)),
        LL(".nv.merc.nv.info." K, 17, 5, UINT64_C(0x0078646E68)), M(K, SHNDX, 0xFFFF) },
      CV_R_SYM_XINDEX,
      true },
    /* The only capsule of code is gone: that of the stub is left. */
    { "a capsule of a unified function alone",
      UNIFIED,
      { S(".nv.capmerc.text.unified_function", NAME, 0) },
      CV_R_PAIR_NO_CAPSULE,
      true },
    /* tkinfo becomes cuver. */
    { "notes of old tools and of new ones",
      EXE,
      { LL(".note.nv.tkinfo", 9, 6, UINT64_C(0x007265767563)) },
      CV_R_SEC_MISSING_NOTE,
      true },
    { "reserved memory that ends behind the file",
      CAP,
      { S(".nv.merc.nv.shared.reserved.0", SIZE, 0x8000) },
      CV_R_LEDGER_RESERVED_NONZERO,
      false },
    { "addresses of another bank, shared",
      VARCAP,
      { L(".nv.constant4", 12, '5') },
      CV_R_LEDGER_OVERLAP,
      true },
    { "addresses of no bank, shared", VARCAP, { S(".nv.constant4", NAME, 0) }, CV_R_LEDGER_OVERLAP, true },
    { "debug data of another name, shared",
      DEBUG,
      { S(".debug_abbrev", NAME, 0) },
      CV_R_LEDGER_OVERLAP,
      true },
    { "debug data of another kind, shared",
      DEBUG,
      { L(".nv.merc.debug_abbrev", 15, 'x') },
      CV_R_LEDGER_OVERLAP,
      true },
    { "sources of another name, shared",
      DEBUG,
      { S(".nv_debug_ptx_txt.1747608423", NAME, 0) },
      CV_R_LEDGER_OVERLAP,
      true },
    { "sources of another kind, shared",
      DEBUG,
      { L(".nv.merc.nv_debug_ptx_txt.1747608423", 18, 'x') },
      CV_R_LEDGER_OVERLAP,
      true },
    { "a tool note of an old version that is not known",
      EXE,
      { B(".note.nv.tkinfo", 24, 4, 128) },
      CV_R_TKINFO_NEW,
      true },
    { "a tool note of no known version", EXE, { B(".note.nv.tkinfo", 24, 4, 130) }, CV_R_TKINFO_NEW, true },
    { "a unified variable that a linker placed",
      UNIFIED,
      { Y("unified_value", INFO, 0x11) },
      CV_R_UNIFIED_SYMBOL_TYPE,
      false },
    { "a capsule that counts nothing", CAP, { B(".nv.capmerc.text." K, 8, 4, 0) }, CV_R_CAPSULE_WORD, true },
    { "a capsule that counts one", CAP, { B(".nv.capmerc.text." K, 8, 4, 1) }, CV_R_CAPSULE_WORD, false },
    { "a stub that is a kernel",
      UNIFIED,
      { Y("__cuda_uf_stub_unified_function", OTHER, 0x10) },
      CV_R_PAIR_NO_CONST0,
      false },
};

/* What is looked at while work or memory runs out. */
static const cubin_decide_row RUN_OUT[] = {
    { "a link with capsules", TWINS, { NONE }, 0, false },
    { "branch tables", TABLES, { NONE }, 0, false },
    { "unified functions", UNIFIED, { NONE }, 0, false },
    { "memory of its own", OWNERS, { NONE }, 0, false },
    { "bytes in reserved memory", "plain.sm_110", { NONE }, 0, false },
    { "a segment that leaves out more than a word", EXE, { G(MEMSZ, 2, 0x170) }, CV_R_SEG_MEMORY, true },
};

#endif
