/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One edit or two of a sample for each rule of test_cubin.c, with the place that it is reported at. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_ROWS_H
#define TESTS_UNIT_CUBIN_CUBIN_ROWS_H

#include "cubin/internal.h"

typedef enum { NOTHING, HEADER, SECTION, SYMBOL, MERC_SYMBOL, SEGMENT, BODY, LABEL } edit_kind;

typedef struct cubin_edit {
    edit_kind kind;
    const char *name; /* section; symbol, "@name" for a section symbol */
    int64_t at;       /* offset, field, or distance from the end when negative */
    unsigned width;
    uint64_t value;
} cubin_edit;

#define H(at, width, value)                                                                                  \
    {                                                                                                        \
        HEADER, NULL, at, width, value                                                                       \
    }
#define S(name, field, value)                                                                                \
    {                                                                                                        \
        SECTION, name, CV_SH_##field, 0, value                                                               \
    }
#define Y(name, field, value)                                                                                \
    {                                                                                                        \
        SYMBOL, name, CV_ST_##field, 0, value                                                                \
    }
#define M(name, field, value)                                                                                \
    {                                                                                                        \
        MERC_SYMBOL, name, CV_ST_##field, 0, value                                                           \
    }
#define G(field, index, value)                                                                               \
    {                                                                                                        \
        SEGMENT, NULL, CV_PH_##field, index, value                                                           \
    }
#define B(section, at, width, value)                                                                         \
    {                                                                                                        \
        BODY, section, at, width, value                                                                      \
    }
#define L(section, at, value)                                                                                \
    {                                                                                                        \
        LABEL, section, at, 1, value                                                                         \
    } /* byte of a section's name */
#define NONE                                                                                                 \
    {                                                                                                        \
        NOTHING, NULL, 0, 0, 0                                                                               \
    }
#define HERE     (-1) /* the place of the first edit */
#define SECOND   (-2) /* the place of the second edit */
#define ANYWHERE (-3)

typedef struct cubin_row {
    cv_rule rule;
    const char *sample;
    cubin_edit edits[2];
    int64_t at;
    cuvet_status status; /* OK: the picture is built all the same */
} cubin_row;

#define FATAL    CUVET_E_MALFORMED
#define EXE      "plain.sm_90"
#define REL      "plain.sm_90.rdc"
#define OLD      "plain.sm_75"
#define OLDREL   "plain.sm_75.rdc"
#define CAP      "plain.sm_100"
#define DBG      "plain.sm_100.g.rdc"
#define VARS     "vars.sm_90"
#define VARREL   "vars.sm_90.rdc"
#define VARCAP   "vars.sm_100"
#define CALLS    "two_a.sm_90.rdc"
#define OLDCALLS "two_a.sm_75.rdc"
#define POINTERS "indirect.sm_90.rdc"
#define LINKED   "two.sm_90.linked"
#define TWINS    "two.sm_100.linked"
#define TABLES   "branchy.sm_100"
#define OWNERS   "owners.sm_90.rdc"
#define K        "_Z5plainPi"

static const cubin_row ROWS[] = {
    { CV_R_ELF_MAGIC, EXE, { H(0, 1, 0x7E), NONE }, HERE, FATAL },
    { CV_R_ELF_CLASS, EXE, { H(4, 1, 3), NONE }, HERE, FATAL },
    { CV_R_ELF_DATA, EXE, { H(5, 1, 3), NONE }, HERE, FATAL },
    { CV_R_ELF_BIG_ENDIAN, EXE, { H(5, 1, 2), NONE }, HERE, CUVET_E_UNSUPPORTED },
    { CV_R_ELF_IDENT_VERSION, EXE, { H(6, 1, 0), NONE }, HERE, FATAL },
    { CV_R_ELF_ABI, EXE, { H(7, 1, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_ABI_NEW, EXE, { H(8, 1, 9), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_ABI, EXE, { H(8, 1, 7), NONE }, 7, CUVET_OK },
    { CV_R_ELF_ABI, EXE, { H(7, 1, 0x33), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_ABI_OLD, EXE, { H(7, 1, 0x33), H(8, 1, 6) }, SECOND, CUVET_OK },
    { CV_R_ELF_PAD, EXE, { H(9, 1, 1), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PAD, EXE, { H(15, 1, 0x80), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_TYPE, EXE, { H(16, 2, 3), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_TYPE, EXE, { H(16, 2, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_MERCURY, EXE, { H(16, 2, 0xFF00), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_MERCURY, EXE, { H(48, 1, 5), NONE }, 16, CUVET_OK },
    { CV_R_ELF_MACHINE, EXE, { H(18, 2, 62), NONE }, HERE, FATAL },
    { CV_R_ELF_VERSION, EXE, { H(20, 4, 2), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_VERSION, EXE, { H(20, 4, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_ENTRY, EXE, { H(24, 8, 1), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_EHSIZE, EXE, { H(52, 2, 63), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHENTSIZE, EXE, { H(54, 2, 64), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHENTSIZE, EXE, { H(54, 2, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHENTSIZE, REL, { H(54, 2, 40), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHDR_RANGE, EXE, { H(32, 8, UINT64_MAX), NONE }, HERE, FATAL },
    { CV_R_ELF_PHDR_RANGE, EXE, { H(32, 8, 0x20), NONE }, HERE, FATAL },
    { CV_R_ELF_PHDR_RANGE, EXE, { H(56, 2, 0xFFFF), NONE }, 32, FATAL },
    { CV_R_ELF_PHDR_PLACE, EXE, { H(32, 8, 64), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHDR_PLACE, REL, { H(32, 8, 64), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_PHDR_REL, EXE, { H(16, 2, 1), NONE }, 56, CUVET_OK },
    { CV_R_ELF_PHDR_TYPE, EXE, { H(56, 2, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_SHENTSIZE, EXE, { H(58, 2, 56), NONE }, HERE, FATAL },
    { CV_R_ELF_SHDR_RANGE, EXE, { H(40, 8, 0xFFFFFFFFFFFFFFF0), NONE }, HERE, FATAL },
    { CV_R_ELF_SHDR_RANGE, EXE, { H(40, 8, 56), NONE }, HERE, FATAL },
    { CV_R_ELF_SHDR_RANGE, EXE, { H(60, 2, 0xFFFF), NONE }, 40, FATAL },
    { CV_R_ELF_SHDR_RANGE, EXE, { H(60, 2, 0), S("0", SIZE, 900000) }, 40, FATAL },
    { CV_R_ELF_NO_SECTIONS, EXE, { H(60, 2, 0), NONE }, 40, FATAL },
    { CV_R_ELF_NO_SECTIONS, EXE, { H(60, 2, 0), H(40, 8, 0) }, SECOND, FATAL },
    { CV_R_LIMIT_SECTIONS, EXE, { H(60, 2, 0), S("0", SIZE, 4000001) }, 40, CUVET_E_LIMIT },
    { CV_R_ELF_SHSTRNDX, EXE, { H(62, 2, 0), NONE }, HERE, FATAL },
    { CV_R_ELF_SHSTRNDX, EXE, { H(62, 2, 3), NONE }, HERE, FATAL },
    { CV_R_ELF_SHSTRNDX, EXE, { H(62, 2, 15), NONE }, HERE, FATAL },
    { CV_R_ELF_SHSTRNDX, EXE, { H(62, 2, 0xFFFF), NONE }, HERE, FATAL },
    { CV_R_ELF_SHSTRNDX, EXE, { S(".shstrtab", TYPE, 1), NONE }, 62, FATAL },
    { CV_R_ELF_FLAGS_KIND, EXE, { H(48, 1, 2), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_ACCEL, EXE, { H(48, 1, 0x0C), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_KIND, CAP, { H(48, 1, 0), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_KIND, CAP, { H(48, 1, 6), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_SM, EXE, { H(50, 1, 1), NONE }, 49, CUVET_OK },
    { CV_R_ELF_SM_UNKNOWN, EXE, { H(49, 1, 99), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_NOTE, EXE, { H(51, 1, 5), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_FLAGS_NOTE, EXE, { H(51, 1, 0xFF), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_NULL, EXE, { S("0", INFO, 1), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_NULL, EXE, { S("0", NAME, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_NAME, EXE, { S(".text." K, NAME, 0x113), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_NAME, EXE, { S(".text." K, NAME, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_NAME_MIDDLE, EXE, { S(".symtab", NAME, 3), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_RANGE, EXE, { S(".text." K, OFFSET, UINT64_MAX - 127), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_RANGE, EXE, { S(".text." K, SIZE, UINT64_MAX), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_RANGE, EXE, { S(".symtab", OFFSET, 0x100000), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_MEMORY_PLACE, EXE, { S(".nv.shared.reserved.0", OFFSET, 0x10000), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_IN_HEADER, EXE, { S(".shstrtab", OFFSET, 0x3F), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ALIGN, EXE, { S(".text." K, ALIGN, 127), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_OFFSET, EXE, { S(".text." K, OFFSET, 0x5F0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_OFFSET, EXE, { S(".nv.shared.reserved.0", ALIGN, 1 << 20), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_ADDR, EXE, { S(".text." K, ADDR, 0x1000), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_MULTIPLE, EXE, { S(".symtab", SIZE, 239), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_MULTIPLE, EXE, { S(".nv.callgraph", SIZE, 31), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_COMPRESSED, EXE, { S(".debug_frame", FLAGS, 0x800), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_COMPRESSED, EXE, { S(".text." K, FLAGS, 0x806), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FLAGS, EXE, { S(".debug_frame", FLAGS, 0x7F00), NONE }, HERE, CUVET_OK },
    { CV_R_ELF_SHSTRNDX_NAME, EXE, { H(62, 2, 2), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE_NAME, EXE, { L(".nv.callgraph", 5, 'x'), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_MEMORY_SIZE, EXE, { S(".nv.shared.reserved.0", SIZE, 0x10001), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_UNKNOWN, EXE, { S(".debug_frame", NAME, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_UNKNOWN, EXE, { L(".debug_frame", 0, ','), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_TYPE, EXE, { S(".text." K, TYPE, 0x70000064), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE, EXE, { S(".nv.constant0." K, TYPE, 0x70000064), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE, REL, { S(".nv.constant0." K, TYPE, 0x70000065), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE, EXE, { S(".nv.constant0." K, TYPE, 0x70000006), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE, REL, { S(".nv.info." K, TYPE, 0x70000006), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE_HABIT, REL, { S(".nv.constant0." K, TYPE, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_TYPE_HABIT, REL, { S(".nv.constant0." K, TYPE, 0x70000006), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FLAGS, EXE, { S(".text." K, FLAGS, 7), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FLAGS, "plain.sm_100", { S(".text." K, FLAGS, 0x100006), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FLAGS_HABIT, EXE, { S(".nv.info." K, FLAGS, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FLAGS_HABIT, OLD, { S(".note.nv.cuinfo", FLAGS, 0x1000040), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_LINK_HABIT, EXE, { S(".nv.info." K, LINK, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_LINK, EXE, { S(".symtab", LINK, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_LINK, EXE, { S(".symtab", LINK, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_LINK_HABIT, CAP, { S(".nv.capmerc.text." K, LINK, 3), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_LINK_HABIT, EXE, { S(".note.nv.cuinfo", LINK, 4), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_INFO, EXE, { S(".nv.info", INFO, 12), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_INFO, EXE, { S(".note.nv.cuinfo", INFO, 7), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_INFO_RANGE, EXE, { S(".nv.info." K, INFO, 15), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_INFO_RANGE, EXE, { S(".nv.constant0." K, INFO, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FN, EXE, { S(".nv.info." K, INFO, 14), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_FN, EXE, { L(".nv.info." K, 10, 'q'), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_FN, CAP, { S(".nv.merc.nv.info." K, INFO, 12), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ALIGN_ROLE, EXE, { S(".text." K, ALIGN, 64), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ALIGN_ROLE, EXE, { S(".symtab", ALIGN, 4), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ENTSIZE, EXE, { S(".symtab", ENTSIZE, 16), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ENTSIZE, EXE, { S(".symtab", ENTSIZE, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ENTSIZE_HABIT, EXE, { S(".debug_frame", ENTSIZE, 2), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ENTSIZE, EXE, { S(".rela.debug_frame", ENTSIZE, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_ENTSIZE, OLDREL, { S(".rel.debug_frame", ENTSIZE, 24), NONE }, HERE, CUVET_OK },
    { CV_R_SEC_DUPLICATE,
      EXE,
      { L(".note.nv.cuinfo", 9, 't'), L(".note.nv.cuinfo", 10, 'k') },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SEC_MISSING_TABLE, EXE, { L(".symtab", 1, 'x'), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_MISSING_NOTE, EXE, { S(".note.nv.tkinfo", NAME, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_MISSING_COMPAT, EXE, { S(".nv.compat", NAME, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_UNEXPECTED, EXE, { H(49, 1, 89), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_UNEXPECTED, CAP, { H(49, 1, 90), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_ORDER, EXE, { L(".strtab", 2, 'y'), L(".strtab", 3, 'm') }, ANYWHERE, CUVET_OK },
    { CV_R_STR_BOUNDS, EXE, { B(".strtab", 0, 1, 'a'), NONE }, HERE, CUVET_OK },
    { CV_R_STR_BOUNDS, EXE, { B(".strtab", -1, 1, 'a'), NONE }, HERE, CUVET_OK },
    { CV_R_STR_BOUNDS, EXE, { B(".shstrtab", -1, 1, 'a'), NONE }, HERE, CUVET_OK },
    { CV_R_STR_BOUNDS, EXE, { S(".strtab", SIZE, 0), NONE }, HERE, CUVET_OK },
    { CV_R_TEXT_SIZE, EXE, { S(".text." K, SIZE, 0x178), NONE }, HERE, CUVET_OK },
    { CV_R_TEXT_SYMBOL, EXE, { S(".text." K, INFO, 7), NONE }, HERE, CUVET_OK },
    { CV_R_TEXT_SYMBOL, EXE, { S(".text." K, INFO, 0xFFFFFF), NONE }, HERE, CUVET_OK },
    { CV_R_TEXT_SYMBOL, CAP, { S(".nv.capmerc.text." K, INFO, 0xFFFFFFFF), NONE }, HERE, CUVET_OK },
    { CV_R_TEXT_REGISTERS, EXE, { S(".text." K, INFO, 0x08000008), NONE }, HERE, CUVET_OK },
    { CV_R_PAIR_NO_INFO, EXE, { S(".nv.info." K, NAME, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_PAIR_NO_CONST0, EXE, { S(".nv.constant0." K, NAME, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_PAIR_NO_CONST0, EXE, { Y(K, OTHER, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_PAIR_NO_CAPSULE, CAP, { S(".nv.capmerc.text." K, NAME, 0), NONE }, ANYWHERE, CUVET_OK },
    /* Two sections for one function: the other one gets its name. */
    { CV_R_PAIR_INFO, EXE, { S(".nv.constant0." K, NAME, 110), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_PAIR_CONST0, EXE, { S(".nv.info." K, NAME, 250), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_PAIR_CAPSULE,
      CAP,
      { S(".nv.merc.nv.info." K, NAME, 275), B(".nv.merc.nv.info." K, 0, 4, 12) },
      ANYWHERE,
      CUVET_OK },
    { CV_R_CAPSULE_TEXT, CAP, { B(".nv.capmerc.text." K, 0, 4, 1), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_TEXT, CAP, { B(".nv.capmerc.text." K, 0, 4, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_WORD, CAP, { B(".nv.capmerc.text." K, 4, 4, 0xC0000002), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_END, CAP, { B(".nv.capmerc.text." K, -2, 2, 0x0450), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_END, CAP, { B(".nv.capmerc.text." K, -2, 2, 0x0950), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_END, CAP, { B(".nv.capmerc.text." K, -2, 2, 0x03D0), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_END, CAP, { B(".nv.capmerc.text." K, -2, 2, 0x08D0), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_SIZE, CAP, { S(".nv.capmerc.text." K, SIZE, 15), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_SIZE, CAP, { S(".nv.capmerc.text." K, SIZE, 8), NONE }, HERE, CUVET_OK },
    { CV_R_CAPSULE_SMALL, CAP, { S(".nv.capmerc.text." K, SIZE, 14), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ZERO, EXE, { Y("0", NAME, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ZERO_VALUE, EXE, { Y("0", VALUE, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_OTHER, EXE, { Y(K, OTHER, 0x90), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_NAME, EXE, { Y(K, NAME, 0x158), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_NAME, EXE, { Y(K, NAME, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_NAME_MIDDLE, EXE, { Y(K, NAME, 2), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ABSOLUTE, EXE, { Y(K, SHNDX, 0xFFF1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ABSOLUTE, CAP, { M(K, SHNDX, 0xFFF1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_COMMON, EXE, { Y(K, SHNDX, 0xFFF2), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_COMMON, CALLS, { Y("_Z5twicei", SHNDX, 0xFFF2), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ALIGN, CALLS, { Y("shared_counter", SHNDX, 0xFFF2), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_SHARED_EMPTY,
      "dynshared.sm_75.rdc",
      { Y("$___ZZ9dynsharedPiE4head__24", SIZE, 0), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_UNDEFINED, EXE, { Y(K, SHNDX, 0), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_LEFT_OPEN, VARS, { Y("zeroed", SHNDX, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_NOT_PROVIDED, LINKED, { Y("_Z5twicei", SHNDX, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_NOBODYS, CALLS, { Y("_Z5twicei", INFO, 0x22), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_NOBODYS, CALLS, { Y("_Z5twicei", INFO, 0x02), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_ALIAS,
      POINTERS,
      { Y("_Z7add_onei", SHNDX, 16), Y("_Z7add_onei", VALUE, 128) },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_FOR_OTHERS, VARREL, { Y("zeroed", INFO, 0x10), NONE }, HERE, CUVET_OK },
    { CV_R_TWIN_SYMBOL, CAP, { M(K, INFO, 0x22), NONE }, HERE, CUVET_OK },
    { CV_R_TWIN_SYMBOL, CAP, { M(K, OTHER, 0), NONE }, HERE, CUVET_OK },
    { CV_R_TWIN_DATA, VARCAP, { S(".nv.merc.nv.constant.user", SIZE, 4), NONE }, HERE, CUVET_OK },
    { CV_R_TWIN_CODE, TWINS, { B(".nv.merc.rela.text._Z6callerPi", 12, 4, 9), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_TWIN_CODE, TWINS, { B(".nv.merc.rela.text._Z6callerPi", 16, 8, 4), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_TWIN_CODE,
      TWINS,
      { B(".nv.merc.rela.text._Z6callerPi", 8, 4, 0x10001), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_TWIN_CODE,
      TWINS,
      { B(".nv.merc.rela.text._Z6callerPi", 72 + 16, 8, 208), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_TWIN_CODE, TWINS, { B(".rela.text._Z6callerPi", 16, 8, 4), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_TWIN_TABLE,
      TABLES,
      { B(".nv.merc.rela.nv.constant.optimizer._Z7branchyPi3bigc", 16, 8, 640), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_TWIN_TABLE, TABLES, { B(".nv.constant2._Z7branchyPi3bigc", 0, 4, 4), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_TWIN_DEBUG, TWINS, { B(".nv.merc.rela.debug_frame", 12, 4, 9), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_TWIN_CALLS,
      "unified.sm_100.rdc",
      { B(".nv.merc.nv.udt.entry", 16, 4, 0x12), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_RESERVED_SECTION, EXE, { Y(K, SHNDX, 0xFF00), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SHNDX, EXE, { Y(K, SHNDX, 15), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SHNDX, EXE, { Y(K, SHNDX, 0xFEFF), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_XINDEX, EXE, { Y(K, SHNDX, 0xFFFF), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_TYPE, EXE, { Y(K, INFO, 0x14), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_TYPE, EXE, { Y(K, INFO, 0x32), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_INFO_RANGE, EXE, { S(".symtab", INFO, 11), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_INFO, EXE, { S(".symtab", INFO, 7), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_INFO, CAP, { S(".nv.merc.symtab", INFO, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SECTION, EXE, { Y("@.text." K, VALUE, 16), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SECTION, EXE, { Y("@.text." K, SIZE, 16), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_SECTION_NAME, EXE, { Y("@.debug_frame", NAME, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SECTION_TWICE, EXE, { Y("@.debug_frame", SHNDX, 5), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SECTION_TWICE, DBG, { M("@.debug_info", SHNDX, 29), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_FUNC_PLACE, EXE, { Y(K, SHNDX, 4), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_FUNC_PLACE, CAP, { M(K, SHNDX, 12), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_FUNC_ALIGN, EXE, { Y(K, VALUE, 8), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_KERNEL, EXE, { Y(K, SIZE, 0x100), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_KERNEL_BEGIN, EXE, { Y(K, VALUE, 0x80), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_KERNEL_NAME, EXE, { Y(K, NAME, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_RANGE, EXE, { Y(K, SIZE, 0x181), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_RANGE, EXE, { Y(K, VALUE, UINT64_MAX - 15), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_RANGE, OLDREL, { Y("_param", VALUE, 0x161), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TARGET, EXE, { S(".rela.debug_frame", INFO, 12), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TARGET, EXE, { S(".rela.debug_frame", INFO, 0), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TARGET, EXE, { S(".rela.debug_frame", INFO, 11), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TARGET, EXE, { S(".rela.debug_frame", INFO, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TARGET, DBG, { S(".nv.merc.rela.debug_info", INFO, 11), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TYPE, EXE, { B(".rela.debug_frame", 8, 4, 117), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TYPE, DBG, { B(".nv.merc.rela.debug_info", 8, 4, 0x10041), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_TYPE, DBG, { B(".nv.merc.rela.debug_info", 8, 4, 2), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_SYMBOL, EXE, { B(".rela.debug_frame", 12, 4, 10), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_SYMBOL, EXE, { B(".rela.debug_frame", 12, 4, UINT32_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_SYMBOL, DBG, { B(".nv.merc.rela.debug_info", 12, 4, 25), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_NONE, EXE, { B(".rela.debug_frame", 8, 4, 0), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_DEBUG_TYPE, EXE, { B(".rela.debug_frame", 8, 4, 6), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_ADDEND, EXE, { B(".rela.debug_frame", 16, 8, UINT64_C(1) << 40), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_ADDEND, EXE, { B(".rela.debug_frame", 16, 8, UINT64_C(1) << 63), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OVERLAP, "weak.sm_90", { B(".rela.debug_frame", 0, 8, 0x130), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OFFSET, EXE, { B(".rela.debug_frame", 0, 8, 0x68), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OFFSET, EXE, { B(".rela.debug_frame", 0, 8, 0x61), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OFFSET, EXE, { B(".rela.debug_frame", 0, 8, UINT64_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OFFSET, DBG, { B(".nv.merc.rela.debug_info", 0, 8, 0x9F), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_FLAGS, EXE, { G(FLAGS, 2, 7), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_FLAGS, EXE, { G(FLAGS, 0, 6), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_OVERLAP, EXE, { G(OFFSET, 4, 0x600), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_FOREIGN, EXE, { G(OFFSET, 2, 0x3c8), G(FILESZ, 2, 0x68) }, HERE, CUVET_OK },
    { CV_R_SEG_FOREIGN, EXE, { G(OFFSET, 2, 0), G(FILESZ, 2, 0x40) }, HERE, CUVET_OK },
    { CV_R_SEG_LEFT_OUT, EXE, { G(FILESZ, 2, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEG_LEFT_OUT, EXE, { G(FILESZ, 4, 0), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEG_KIND, EXE, { G(FLAGS, 2, 4), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_KIND, EXE, { G(FLAGS, 4, 6), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_MEMORY_MORE, EXE, { G(MEMSZ, 3, 1), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_MEMORY_MORE, VARS, { G(MEMSZ, 4, 0x10000), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_MEMORY_PLACE, VARS, { G(MEMSZ, 3, 0x290), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_CALL, CALLS, { B(".nv.callgraph", 8, 4, 18), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_CALL, CALLS, { B(".nv.callgraph", 12, 4, 16), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_ADDRESS, POINTERS, { B(".rela.nv.global.init", 12, 4, 21), NONE }, HERE, CUVET_OK },
    /* A call of itself, its own address, that the call graph does not have; part 4 stands in for nothing. */
    { CV_R_RELOC_CALL, OWNERS, { B(".rela.text._Z5againi", 12, 4, 27), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_ADDRESS, OWNERS, { B(".nv.callgraph", 40, 4, 26), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_ADDRESS, OWNERS, { B(".nv.callgraph", 32, 4, 27), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_INDIRECT, POINTERS, { B(".nv.callgraph", 40, 4, 20), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_FOREIGN, OWNERS, { B(".rela.text._Z6secondPi", 12, 4, 21), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_FOREIGN, OWNERS, { B(".rela.text._Z6secondPi", 12, 4, 20), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_FOREIGN, OWNERS, { B(".rela.text._Z6secondPi", 12, 4, 30), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_INSIDE,
      OWNERS,
      { B(".rela.text._Z5againi", 12, 4, 27), B(".rela.text._Z5againi", 16, 8, 16) },
      SECOND,
      CUVET_OK },
    { CV_R_RELOC_INSIDE, CALLS, { B(".rela.text._Z6callerPi", 16, 8, 16), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_INSIDE, CALLS, { B(".rela.text._Z6callerPi", 40, 8, 0x180), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_INSIDE, OLDCALLS, { B(".text._Z6callerPi", 0x64, 1, 4), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_ABSOLUTE, VARS, { Y("with_value", SHNDX, 0xFFF1), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_LINKED, VARS, { B(".rela.nv.constant4", 8, 4, 66), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_NO_FUNCTION, CALLS, { B(".rela.text._Z6callerPi", 12, 4, 3), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_NO_FUNCTION, CALLS, { B(".rela.text._Z6callerPi", 12, 4, 17), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_NO_FUNCTION, LINKED, { B(".rela.text._Z6callerPi", 12, 4, 6), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_VARIABLE_PLACE, VARS, { Y("with_value", SHNDX, 2), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_VARIABLE_PLACE, VARS, { Y("zeroed", SHNDX, 0x11), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_FUNCTION, POINTERS, { Y("_Z7add_onei", SIZE, 0x80), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_TWICE, LINKED, { Y("shared_counter", NAME, 414), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_VARIABLE_PLACE, VARS, { Y("table", SHNDX, 0x0c), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_CODE_TYPE, LINKED, { B(".rela.text._Z6callerPi", 8, 4, 76), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_OVER,
      LINKED,
      { B(".rela.text._Z6callerPi", 8, 4, 114), B(".text._Z6callerPi", 0x24, 1, 4) },
      ANYWHERE,
      CUVET_OK },
    { CV_R_RELOC_CODE_TYPE, LINKED, { B(".rela.text._Z6callerPi", 8, 4, 5), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_CODE_TYPE, CALLS, { B(".rela.text._Z6callerPi", 8, 4, 67), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_AT_LOAD, LINKED, { NONE, NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_OVERLAP, VARS, { Y("with_value", VALUE, 7), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_OVERLAP, VARS, { Y("address_of", SIZE, 9), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_SAME_PLACE, VARS, { Y("managed_value", VALUE, 8), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SPACE, VARS, { Y("table", OTHER, 4), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SPACE, VARS, { Y("with_value", OTHER, 0x60), NONE }, HERE, CUVET_OK },
    { CV_R_SYM_SPACE, "vars.sm_90.rdc", { Y("table", OTHER, 0x20), NONE }, HERE, CUVET_OK },
    { CV_R_RELOC_BITS, LINKED, { B(".rela.text._Z6callerPi", 0, 8, 0x20), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_RELOC_OVER, LINKED, { B(".text._Z6callerPi", 0x14, 1, 1), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SYM_KERNEL_OTHER,
      "weak.sm_90",
      { Y("_Z11weak_kernelIfEvPT_", SHNDX, 18), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_KERNEL_TWICE,
      "weak.sm_90",
      { Y("_Z11weak_kernelIfEvPT_", NAME, 769), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_KERNEL_TWICE, /* a local one is launched as well */
      "weak.sm_90",
      { Y("_Z11weak_kernelIfEvPT_", INFO, 0x02), Y("_Z11weak_kernelIfEvPT_", NAME, 769) },
      ANYWHERE,
      CUVET_OK },
    { CV_R_SYM_TWICE, VARS, { Y("zeroed", NAME, 269), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEC_BANK_SIZE, VARS, { S(".nv.constant3", SIZE, 0x10004), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_TYPE, EXE, { G(TYPE, 2, 2), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_RANGE, EXE, { G(FILESZ, 2, UINT64_MAX), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEG_RANGE, EXE, { G(OFFSET, 2, UINT64_MAX), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_ADDRESS, EXE, { G(VADDR, 2, 4096), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_ADDRESS, EXE, { G(PADDR, 2, 4096), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_SEG_ALIGN, EXE, { G(ALIGN, 2, 16), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_MEMORY, EXE, { G(MEMSZ, 2, 0x178), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_MEMORY_SMALL, EXE, { G(MEMSZ, 2, 0x17F), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_TABLE, EXE, { G(OFFSET, 0, 0x600), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_TABLE, EXE, { G(FILESZ, 0, 56), NONE }, HERE, CUVET_OK },
    { CV_R_SEG_BEGIN, EXE, { G(OFFSET, 2, 0x610), G(FILESZ, 2, 0x170) }, HERE, CUVET_OK },
    { CV_R_SEG_BOUNDARY, EXE, { G(FILESZ, 2, 0x170), NONE }, HERE, CUVET_OK },
    { CV_R_LEDGER_OVERLAP, EXE, { S(".debug_frame", OFFSET, 0x2D8), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_OVERLAP, EXE, { S(".debug_frame", SIZE, 0x69), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_OVERLAP, EXE, { S(".nv.constant0." K, OFFSET, 0x600), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_OVERLAP,
      DBG,
      { S(".nv.merc.nv_debug_info_reg_sass", OFFSET, 0x14C4), NONE },
      ANYWHERE,
      CUVET_OK },
    { CV_R_LEDGER_GAP, EXE, { S(".debug_frame", SIZE, 0x58), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_GAP, CAP, { S(".shstrtab", SIZE, 0x100), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_GAP_DATA, EXE, { B(".text." K, -0x190, 1, 7), NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_RESERVED_DATA, "plain.sm_110", { NONE, NONE }, ANYWHERE, CUVET_OK },
    { CV_R_LEDGER_RESERVED_NONZERO, "plain.sm_110", { H(49, 1, 120), NONE }, ANYWHERE, CUVET_OK },
};

#endif
