/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sample with some places changed, as tables name them. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_EDIT_H
#define TESTS_UNIT_CUBIN_CUBIN_EDIT_H

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

/* The file, its length, and the picture that places are looked up in: that of the file as it was examined
 * last. */
typedef struct cubin_file {
    uint8_t bytes[1u << 18];
    uint64_t size;
    cv_cubin cubin;
} cubin_file;

/* A file of a folder below the working directory; a sample, without its ending, or "folder/name" of the
 * corpora. */
void cubin_file_read(cubin_file *file, const char *folder, const char *name);
void cubin_file_load(cubin_file *file, const char *name);
uint64_t cubin_file_section(const cubin_file *file, const char *name); /* "0": the null section */
uint64_t cubin_file_symbol(const cubin_file *file, const char *name, bool merc);
/* Offset in the file of what an edit changes. */
uint64_t cubin_file_place(const cubin_file *file, const cubin_edit *edit);
void cubin_file_apply(cubin_file *file, const cubin_edit *edit, uint64_t at);

#endif
