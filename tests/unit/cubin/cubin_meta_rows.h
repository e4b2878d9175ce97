/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One edit or two of the metadata of a sample for each rule of test_cubin_meta.c, with the place that it is
 * reported at. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_META_ROWS_H
#define TESTS_UNIT_CUBIN_CUBIN_META_ROWS_H

#include "cubin/cubin.h"

/* Facts set after the notes were read. */
enum {
    AS_IS,
    HAND,
    NVLINK,
    NEWER,
    OLD,
    MORE = 16
}; /* MORE: the edit has consequences that are reported after it */

typedef struct cubin_meta_edit {
    const char *section; /* NULL: none; "@name", "@@name": symbol table entry, of a section */
    /* Record with this code, the nth; -1: at counts from the start of the section; -2: from the number behind
     * "-arch sm_". */
    int code;
    unsigned nth;
    uint64_t at;
    unsigned width;
    uint64_t value;
} cubin_meta_edit;

typedef struct cubin_meta_row {
    const char *label, *file;
    cubin_meta_edit edit, own_edit;
    int facts;
    cv_rule rule; /* CV_N_RULES: nothing is reported */
    int64_t from; /* place: distance from the first edit; ELSEWHERE */
} cubin_meta_row;

#define ELSEWHERE INT64_MIN
#define NO                                                                                                   \
    {                                                                                                        \
        NULL, 0, 0, 0, 0, 0                                                                                  \
    }
#define R(section, code, at, width, value)                                                                   \
    {                                                                                                        \
        section, code, 0, at, width, value                                                                   \
    }
#define R2(section, code, nth, at, width, value)                                                             \
    {                                                                                                        \
        section, code, nth, at, width, value                                                                 \
    }
#define B(section, at, width, value)                                                                         \
    {                                                                                                        \
        section, -1, 0, at, width, value                                                                     \
    }
#define OK   CV_N_RULES, 0
#define G    ".nv.info"
#define F    ".nv.info._Z5plainPi"
#define BF   ".nv.info._Z7branchyPi3bigc"
#define M    ".nv.merc.nv.info._Z5plainPi"
#define CG   ".nv.callgraph"
#define CU   ".note.nv.cuinfo"
#define TK   ".note.nv.tkinfo"
#define P75  "plain.sm_75"
#define P90  "plain.sm_90"
#define P100 "plain.sm_100"
#define B90  "branchy.sm_90"
#define R90  "recurse.sm_90.rdc"
#define I90  "indirect.sm_90.rdc"
#define U100 "unified.sm_100.rdc"

static const cubin_meta_row ROWS[] = {
    { "plain sm_75", P75, NO, NO, AS_IS, OK },
    { "plain sm_100", P100, NO, NO, AS_IS, OK },
    { "branchy", B90, NO, NO, AS_IS, OK },
    { "indirect", I90, NO, NO, AS_IS, OK },
    { "unified", U100, NO, NO, AS_IS, OK },
    { "linked", "two.sm_90.linked", NO, NO, AS_IS, OK },
    /* global records */
    { "registers of symbol out", P90, R(G, 0x2F, 4, 4, 0xFFFF), NO, MORE, CV_R_TLV_SYMBOL, 0 },
    { "frame of no function", P90, R(G, 0x11, 4, 4, 1), NO, MORE, CV_R_TLV_SYMBOL_TYPE, 0 },
    { "255 registers", P90, R(G, 0x2F, 8, 4, 255), NO, AS_IS, OK },
    { "256 registers", P90, R(G, 0x2F, 8, 4, 256), NO, AS_IS, CV_R_TLV_REGCOUNT, 0 },
    { "more registers than the header", P75, R(G, 0x2F, 8, 4, 200), NO, AS_IS, OK },
    { "less registers than the header", P75, R(G, 0x2F, 8, 4, 2), NO, AS_IS, CV_R_TLV_REGCOUNT_INFO,
      ELSEWHERE },
    { "two registers", P90, R(G, 0x2F, 8, 4, 2), NO, AS_IS, OK },
    { "one register", P90, R(G, 0x2F, 8, 4, 1), NO, AS_IS, CV_R_TLV_REGCOUNT, 0 },
    { "no register", P90, R(G, 0x2F, 8, 4, 0), NO, AS_IS, CV_R_TLV_REGCOUNT, 0 },
    { "no register count", P90, R(G, 0x2F, 1, 1, 0x23), NO, AS_IS, CV_R_TLV_NO_REGCOUNT, ELSEWHERE },
    { "no register count, by hand", P90, R(G, 0x2F, 1, 1, 0x23), NO, HAND, OK },
    { "no frame size", P90, R(G, 0x11, 1, 1, 0x23), NO, AS_IS, CV_R_TLV_NO_FRAME, ELSEWHERE },
    { "no stack size", P90, R(G, 0x12, 1, 1, 0x23), NO, AS_IS, CV_R_TLV_NO_STACK, ELSEWHERE },
    { "maximum stack twice", R90, R(G, 0x11, 1, 1, 0x23), NO, MORE, CV_R_TLV_SYMBOL_SAME, 3 },
    { "no frame in the Mercury table", P100, R(".nv.merc.nv.info", 0x11, 1, 1, 0x23), NO, AS_IS,
      CV_R_TLV_NO_FRAME, ELSEWHERE },
    { "Mercury symbol out", P100, R(".nv.merc.nv.info", 0x2F, 4, 4, 0xFFFF), NO, MORE, CV_R_TLV_SYMBOL, 0 },
    { "sampler of symbol out", P90, R(G, 0x12, 1, 1, 0x09), R(G, 0x09, 4, 4, 0xFFFF), MORE, CV_R_TLV_SYMBOL,
      3 },
    { "broken global section", P90, R(G, 0x2F, 0, 1, 9), NO, AS_IS, CV_R_TLV_FORMAT, 0 },
    { "function attribute in the global section", P90, R(G, 0x12, 0, 4, 0x00FF1B03),
      R(G, 0x1B, 4, 8, UINT64_C(0x0000530100005301)), MORE, CV_R_TLV_SCOPE, 1 },
    /* records of a function */
    { "broken section", P90, R(F, 0x36, 0, 1, 0), NO, AS_IS, CV_R_TLV_FORMAT, 0 },
    { "unknown code", P90, R(F, 0x36, 1, 1, 0x6E), NO, AS_IS, CV_R_TLV_UNKNOWN, 0 },
    { "code nobody writes", P90, R(F, 0x36, 1, 1, 0x33), NO, AS_IS, CV_R_TLV_UNSEEN, 0 },
    { "global attribute in a function", P90, R(F, 0x36, 0, 4, 0x00005301), R(F, 0x53, 4, 4, 0x00002B01),
      AS_IS, CV_R_TLV_SCOPE, 1 },
    { "clone attribute in the native section", P90, R(F, 0x36, 1, 1, 0x5A), NO, AS_IS, CV_R_TLV_SCOPE, 0 },
    { "native attribute in the clone", P100, R(M, 0x4A, 0, 4, 0x00001903), NO, MORE, CV_R_TLV_SCOPE, 1 },
    { "twice, low code", P90, R(F, 0x36, 0, 4, 0x00002B01), R2(F, 0x2B, 0, 4, 4, 0x00002B01), AS_IS,
      CV_R_TLV_REPEATED, 5 },
    { "twice, high code", P90, R(F, 0x36, 0, 4, 0x00005401), R2(F, 0x54, 0, 4, 4, 0x00005401), AS_IS,
      CV_R_TLV_REPEATED, 5 },
    { "one and two CTAs", P90, R(F, 0x36, 0, 4, 0x00005101), R(F, 0x51, 4, 4, 0x00005201), AS_IS,
      CV_R_TLV_TCGEN05, ELSEWHERE },
    { "one CTA", P90, R(F, 0x36, 0, 4, 0x00005101), R(F, 0x51, 4, 4, 0x00004101), AS_IS, OK },
    { "exit at the end", P90, R(F, 0x1C, 4, 4, 0x10000), NO, AS_IS, CV_R_TLV_TEXT_OFFSET, 0 },
    { "exit between instructions", P90, R(F, 0x1C, 4, 1, 0x18), NO, AS_IS, CV_R_TLV_TEXT_ALIGN, 0 },
    { "exit in the clone", P100, R(M, 0x1C, 4, 4, 0x1000000), NO, AS_IS, CV_R_TLV_TEXT_OFFSET, 0 },
    { "branch target", B90, R(BF, 0x34, 16, 4, 0x10000), NO, AS_IS, CV_R_TLV_TEXT_OFFSET, 0 },
    { "branch offset", B90, R(BF, 0x34, 4, 4, 0xE8), NO, AS_IS, CV_R_TLV_TEXT_ALIGN, 0 },
    { "branch count", B90, R(BF, 0x34, 12, 4, 100), NO, AS_IS, CV_R_TLV_BRANCHES, -8 },
    { "group lists, lengths", B90, R(BF, 0x29, 2, 2, 4), R(BF, 0x29, 8, 4, 0x00002B01), AS_IS,
      CV_R_TLV_COOP_COUNT, ELSEWHERE },
    { "externs", P90, R(F, 0x36, 0, 8, UINT64_C(0x0000FFFF00040F04)), NO, AS_IS, CV_R_TLV_SYMBOL, 4 },
    { "externs of a section", P90, R(F, 0x36, 0, 8, UINT64_C(0x0000000100040F04)), NO, AS_IS,
      CV_R_TLV_SYMBOL_TYPE, 4 },
    { "sampler in a function's section", P90, R(F, 0x0A, 1, 1, 0x09), NO, MORE, CV_R_TLV_SCOPE, 0 },
    { "externs of a function", P100, R(F, 0x36, 0, 8, UINT64_C(0x0000000800040F04)), NO, AS_IS, OK },
    { "annotation", B90, R(BF, 0x05, 0, 8, UINT64_C(0x0000000100085504)),
      R(BF, 0x55, 8, 8, UINT64_C(0x00002B0100000010)), AS_IS, OK },
    { "annotation outside", B90, R(BF, 0x05, 0, 8, UINT64_C(0x0000000100085504)),
      R(BF, 0x55, 8, 8, UINT64_C(0x00002B0100010000)), AS_IS, CV_R_TLV_TEXT_OFFSET, 8 },
    { "annotation of another type", B90, R(BF, 0x05, 0, 8, UINT64_C(0x0000000200085504)),
      R(BF, 0x55, 8, 8, UINT64_C(0x00002B0100000010)), AS_IS, CV_R_TLV_ANNOTATION_TYPE, 4 },
    /* parameters */
    { "bank symbol without a type", P90, B("@@.nv.constant0._Z5plainPi", 4, 1, 0), NO, AS_IS,
      CV_R_TLV_CBANK_SYMBOL, ELSEWHERE },
    { "bank symbol without a type, by hand", P90, B("@@.nv.constant0._Z5plainPi", 4, 1, 0), NO, HAND, OK },
    { "undefined bank symbol, by hand", P90, B("@@.nv.constant0._Z5plainPi", 4, 4, 0), NO, HAND, OK },
    { "undefined bank symbol of another name, by hand", P90, B("@@.text._Z5plainPi", 4, 4, 0),
      R(F, 0x0A, 4, 4, 4), HAND, CV_R_TLV_CBANK_SECTION, ELSEWHERE },
    { "bank of another symbol", P90, R(F, 0x0A, 4, 4, 1), NO, AS_IS, CV_R_TLV_CBANK_SECTION, 0 },
    { "bank symbol out", P90, R(F, 0x0A, 4, 4, 0xFFFF), NO, AS_IS, CV_R_TLV_SYMBOL, 0 },
    { "bank offset", P90, R(F, 0x0A, 8, 2, 0x160), NO, AS_IS, CV_R_TLV_CBANK_OFFSET, 0 },
    { "bank offset of large parameters", P75, R(F, 0x17, 1, 1, 0x45), R(F, 0x45, 12, 4, 8), AS_IS,
      CV_R_TLV_CBANK_OFFSET, ELSEWHERE },
    { "bank size", P90, R(F, 0x0A, 10, 2, 4), NO, AS_IS, CV_R_TLV_PARAM_SIZE, 0 },
    { "bank too small", P90, R(F, 0x0A, 10, 2, 16), R(F, 0x19, 2, 2, 16), MORE, CV_R_TLV_CBANK_SIZE, -2 },
    { "parameter size", P90, R(F, 0x19, 2, 2, 4), NO, MORE, CV_R_TLV_PARAM_SIZE, ELSEWHERE },
    { "parameter end", P90, R(F, 0x17, 10, 2, 4), NO, AS_IS, CV_R_TLV_PARAM_END, ELSEWHERE },
    { "parameter ordinal", P90, R(F, 0x17, 8, 2, 1), NO, AS_IS, CV_R_TLV_PARAM_ORDINAL, 0 },
    { "parameter bank", P90, R(F, 0x17, 13, 1, 0), NO, AS_IS, CV_R_TLV_PARAM_BANK, -1 },
    { "parameter space", P90, R(F, 0x17, 13, 1, 0xF1), NO, AS_IS, CV_R_TLV_PARAM_SPACE, -1 },
    { "parameter space of global memory", P90, R(F, 0x17, 13, 1, 0xF5), NO, AS_IS, OK },
    { "ordinal twice", B90, R2(BF, 0x17, 1, 8, 2, 2), NO, AS_IS, CV_R_TLV_PARAM_ORDINAL, 0 },
    { "ordinal 3 of 3", B90, R2(BF, 0x17, 0, 8, 2, 3), NO, AS_IS, CV_R_TLV_PARAM_ORDINAL, 0 },
    { "first word", P90, R(F, 0x17, 4, 4, 1), NO, AS_IS, CV_R_TLV_ZERO, 0 },
    { "both kinds", B90, R2(BF, 0x17, 2, 1, 1, 0x45), R(BF, 0x45, 12, 4, 8), AS_IS, CV_R_TLV_PARAM_MIXED,
      ELSEWHERE },
    { "parameters of a device function", R90, R(".nv.info._Z7descendi", 0x50, 1, 1, 0x19), NO, AS_IS,
      CV_R_TLV_PARAM_KERNEL, ELSEWHERE },
    { "some parameter attributes", P90, R(F, 0x19, 1, 1, 0x38), NO, AS_IS, CV_R_TLV_PARAM_KERNEL, ELSEWHERE },
    /* versions */
    { "another toolkit", P90, R(F, 0x37, 4, 4, 129), NO, AS_IS, CV_R_TLV_API_VERSION, 0 },
    { "older toolkit, linked", P100, R(F, 0x37, 4, 4, 129), NO, NVLINK, OK },
    { "newer toolkit, linked", P100, R(F, 0x37, 4, 4, 131), NO, NVLINK, CV_R_TLV_API_VERSION, 0 },
    { "newer ISA", P90, R(F, 0x5F, 2, 2, 0x0102), NO, AS_IS, CV_R_TLV_ISA_NEW, 0 },
    { "newest ISA", P75, R(F, 0x5F, 2, 2, 0x0101), NO, AS_IS, OK },
    /* notes */
    { "note of another owner", P90, B(TK, 12, 1, 'O'), NO, AS_IS, CV_R_NOTE_OWNER, -12 },
    { "tool note, version 1", P90, B(TK, 24, 4, 1), NO, AS_IS, CV_R_TKINFO_VERSION, 0 },
    { "tool note, version 3", P90, B(TK, 24, 4, 3), NO, AS_IS, CV_R_TKINFO_NEW, 0 },
    { "tool note, version 127", P90, B(TK, 24, 4, 130), NO, AS_IS, CV_R_TKINFO_NEW, 0 },
    { "tool note of old tools, too new", P90, B(TK, 24, 4, 130), NO, OLD, CV_R_TKINFO_NEW, 0 },
    { "tool note of old tools, 119", P90, B(TK, 24, 4, 119), NO, OLD, CV_R_TKINFO_NEW, 0 },
    { "tool note of old tools", P90, B(TK, 24, 4, 128), NO, OLD, OK },
    { "tool note, short", P90, B(TK, 4, 4, 3), NO, MORE, CV_R_TKINFO_SIZE, 0 },
    { "another architecture", P90, { TK, -2, 0, 0, 1, '8' }, NO, AS_IS, CV_R_TKINFO_ARCH, ELSEWHERE },
    { "unknown tool", P90, B(TK, 49, 1, 'q'), NO, AS_IS, OK },
    { "no architecture in the line", P90, { TK, -2, 0, 0, 1, 'x' }, NO, AS_IS, OK },
    { "device note declares 6", P90, B(CU, 4, 4, 6), NO, AS_IS, CV_R_CUINFO_DESCSZ, 0 },
    { "device note, version 3", P90, B(CU, 24, 2, 3), NO, AS_IS, CV_R_CUINFO_NEW, 0 },
    { "lower virtual architecture", P90, B(CU, 26, 2, 75), NO, AS_IS, OK },
    { "higher virtual architecture", P90, B(CU, 26, 2, 91), NO, AS_IS, CV_R_CUINFO_VIRTUAL_SM, 0 },
    { "suffix a without its tag", "plain.sm_90a", R(".nv.compat", 9, 2, 1, 0), NO, AS_IS, CV_R_COMPAT_ACCEL,
      -2 },
    { "tag without suffix a", P90, R(".nv.compat", 9, 2, 1, 1), NO, AS_IS, CV_R_COMPAT_ACCEL, -2 },
    { "no accelerator tag", P90, R(".nv.compat", 9, 1, 1, 15), NO, MORE, CV_R_COMPAT_UNKNOWN, 0 },
    { "another tag in its place", P90, R(".nv.compat", 9, 1, 1, 12), NO, AS_IS, CV_R_COMPAT_MISSING,
      ELSEWHERE },
    { "broken compat", P90, R(".nv.compat", 9, 0, 1, 7), NO, AS_IS, CV_R_TLV_FORMAT, 0 },
    /* tables */
    { "caller out", R90, B(CG, 8, 4, 0xFFFF), NO, AS_IS, CV_R_CALL_SYMBOL, 0 },
    { "callee out", R90, B(CG, 12, 4, 0xFFFF), NO, AS_IS, CV_R_CALL_SYMBOL, 0 },
    { "caller is a section", R90, B(CG, 8, 4, 1), NO, AS_IS, CV_R_CALL_SYMBOL_TYPE, 0 },
    { "callee is null", R90, B(CG, 12, 4, 0), NO, AS_IS, CV_R_CALL_SYMBOL_TYPE, 0 },
    { "caller of another file", "two_a.sm_90.rdc", B(CG, 8, 4, 18), NO, AS_IS, CV_R_CALL_FROM, 0 },
    { "callee is a kernel", "two_a.sm_90.rdc", B(CG, 12, 4, 16), NO, AS_IS, CV_R_CALL_KERNEL, 0 },
    { "no address prototype", I90, B(CG, 20, 4, 0), NO, AS_IS, CV_R_CALL_STRING, 0 },
    { "no address prototype of a kernel", I90, B(CG, 20, 4, 0), B(CG, 16, 4, 21), AS_IS, OK },
    { "address prototype out", I90, B(CG, 20, 4, 0xFFFFFF), NO, AS_IS, CV_R_CALL_STRING, 0 },
    { "no call prototype", I90, B(CG, 44, 4, 0), NO, AS_IS, CV_R_CALL_STRING, 0 },
    { "possible callee out", I90, B(CG, 60, 4, 0xFFFF), NO, AS_IS, CV_R_CALL_SYMBOL, 0 },
    { "marker", P90, B(CG, 12, 4, 0xFFFFFFFB), NO, AS_IS, CV_R_CALL_MARKER, -4 },
    { "prototype of a symbol out", R90, B(".nv.prototype", 0, 4, 0xFFFF), NO, AS_IS, CV_R_PROTO_SYMBOL, 0 },
    { "prototype of a section", R90, B(".nv.prototype", 0, 4, 1), NO, AS_IS, CV_R_PROTO_SYMBOL_TYPE, 0 },
    { "prototype of a kernel", R90, B(".nv.prototype", 0, 4, 18), NO, AS_IS, CV_R_PROTO_KERNEL, 0 },
    { "prototype string", R90, B(".nv.prototype", 4, 4, 0), NO, AS_IS, CV_R_PROTO_STRING, 0 },
    { "unified function out", U100, B(".nv.uft.entry", 0, 4, 0xFFFF), NO, AS_IS, CV_R_UNIFIED_SYMBOL, 0 },
    { "unified function is null", U100, B(".nv.uft.entry", 0, 4, 0), NO, AS_IS, CV_R_UNIFIED_SYMBOL_TYPE, 0 },
    { "unified variable out", U100, B(".nv.udt.entry", 0, 4, 0xFFFF), NO, AS_IS, CV_R_UNIFIED_SYMBOL, 0 },
    { "unified variable is null", U100, B(".nv.udt.entry", 0, 4, 0), NO, AS_IS, CV_R_UNIFIED_SYMBOL_TYPE, 0 },
    { "Mercury unified function out", U100, B(".nv.merc.nv.uft.entry", 0, 4, 0xFFFF), NO, AS_IS,
      CV_R_UNIFIED_SYMBOL, 0 },
    { "relocation actions", P75, B(".nv.rel.action", 8, 1, 1), NO, AS_IS, CV_R_REL_ACTION, -8 },
    { "relocation actions, newer", P75, B(".nv.rel.action", 0, 1, 0x74), R(F, 0x37, 4, 4, 132), NEWER,
      CV_R_REL_ACTION_NEW, 0 },
    { "no relocation actions after linking", P90, NO, NO, NVLINK, CV_R_REL_ACTION_PRESENCE, ELSEWHERE },
};

#endif
