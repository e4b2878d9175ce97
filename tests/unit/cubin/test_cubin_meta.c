/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Metadata rules of device ELFs. Each row takes a good file, changes one or two places in its metadata and
 * names the one rule that must be reported, and where; the unchanged file, and the rows that name no rule,
 * are the legal neighbours. Facts that no sample has (hand-assembled, older and newer tools) are set between
 * the stages. Run from the root of the repository. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cubin/cubin.h"
#include "format/note/write.h"
#include "format/tlv/read.h"
#include "support/heap.h"

#define MAX_FILE (1u << 18)
#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_cubin cubin;
static uint8_t bytes[MAX_FILE];
static uint64_t size;
static heap_state memory;

static struct {
    cuvet_diag diags[64];
    unsigned count;
} got;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (got.count < N(got.diags))
        got.diags[got.count++] = *diag;
}

static void setup(void)
{
    const cuvet_alloc alloc = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

    lim.size = sizeof(lim);
    memory = (heap_state){ 0 };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &alloc, &lim);
    ctx.emit = emit;
    cv_cubin_init(&cubin);
}

static void teardown(void)
{
    cv_cubin_free(&ctx, &cubin);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

static void load(const char *name)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "corpus/samples/%s.cubin", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert(size > 64 && size < sizeof(bytes));
}

/* Facts set after the notes were read. */
enum {
    AS_IS,
    HAND,
    NVLINK,
    NEWER,
    OLD,
    MORE = 16
}; /* MORE: the edit has consequences that are reported after it */

static cuvet_status examine(int facts)
{
    uint64_t extent = 0;
    cuvet_status status;

    got.count = 0;
    cv_ctx_unit(&ctx, size);
    status = cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent);
    ck_assert_int_eq(status, CUVET_OK);
    cubin.old_tools = facts == OLD;
    cv_cubin_read_notes(&ctx, &cubin);
    cubin.hand = facts == HAND;
    if (facts == HAND)
        cv_ctx_begin_profile(&ctx, CV_PROFILE_HAND, false);
    if (facts == NVLINK)
        cubin.producer.tool = CV_TOOL_NVLINK;
    if (facts == NEWER)
        cubin.toolkit = 0;
    cv_cubin_check_sections(&ctx, &cubin);
    cv_cubin_check_symbols(&ctx, &cubin);
    if (facts == NEWER)
        cubin.toolkit = 132;
    return cv_cubin_check_meta(&ctx, &cubin);
}

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

static uint64_t section_named(const char *name)
{
    for (uint64_t i = 1; i < cubin.sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    ck_abort_msg("no section %s", name);
}

static uint64_t symbol_named(const char *name, bool section)
{
    cv_elf_symbol symbol;
    cv_span text;

    for (uint64_t i = 1; i < cubin.n_syms; i++) {
        cv_elf_read_symbol(cubin.symtab, false, i, &symbol);
        if (cv_span_cstr(cubin.strtab, symbol.name, &text) && cv_span_eq_str(text, name) &&
            (cv_elf_sym_type(&symbol) == CV_STT_SECTION) == section)
            return i;
    }
    ck_abort_msg("no symbol %s", name);
}

/* Place of an edit; the picture of the good file is in cubin. */
static uint64_t place(const cubin_meta_edit *edit)
{
    uint64_t pos = 0;
    unsigned count = 0;
    cv_span span;
    cv_tlv tlv;

    if (*edit->section == '@') {
        bool section = edit->section[1] == '@';

        return cubin.symtab.off + 24 * symbol_named(edit->section + 1 + section, section) + edit->at;
    }
    span = cv_cubin_body(&cubin, section_named(edit->section));
    for (pos = 0; edit->code == -2; pos++)
        if (cv_span_starts(cv_span_tail(span, pos), "-arch sm_"))
            return span.off + pos + 9 + edit->at;
    if (edit->code < 0)
        return span.off + edit->at;
    while (cv_tlv_at(span, pos, &tlv) == CV_TLV_OK) {
        pos = tlv.next;
        if (tlv.code == edit->code && count++ == edit->nth)
            return span.off + tlv.off + edit->at;
    }
    ck_abort_msg("%s has no record %x", edit->section, (unsigned)edit->code);
}

static uint64_t apply(const cubin_meta_edit *edit)
{
    uint64_t at = place(edit);

    ck_assert_uint_lt(at + edit->width, size);
    for (unsigned i = 0; i < edit->width; i++)
        bytes[at + i] = (uint8_t)(edit->value >> 8 * i);
    return at;
}

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

static void expect_only(const cubin_meta_row *row, uint64_t at)
{
    if (row->rule == CV_N_RULES) {
        ck_assert_msg(got.count == 0, "%s: %s", row->label,
                      got.count ? cuvet_rule_get(got.diags[0].rule)->id : "");
        return;
    }
    ck_assert_msg(got.count > 0, "%s: nothing reported", row->label);
    ck_assert_msg(got.diags[0].rule == (cuvet_rule)row->rule, "%s: %s", row->label,
                  cuvet_rule_get(got.diags[0].rule)->id);
    ck_assert_msg(got.count == 1 || row->facts == MORE, "%s: also %s", row->label,
                  got.count > 1 ? cuvet_rule_get(got.diags[1].rule)->id : "");
    if (row->from != ELSEWHERE)
        ck_assert_msg(got.diags[0].file_off == at + (uint64_t)row->from, "%s: at %lld from the edit",
                      row->label, (long long)(got.diags[0].file_off - at));
    ck_assert_uint_le(got.diags[0].file_off, size);
}

START_TEST(rows)
{
    const cubin_meta_row *row = &ROWS[_i];
    uint64_t at = 0;

    load(row->file);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_msg(got.count == 0, "%s: %s", row->file,
                  got.count ? cuvet_rule_get(got.diags[0].rule)->id : "");
    if (row->edit.section)
        at = apply(&row->edit);
    if (row->own_edit.section)
        apply(&row->own_edit);
    ck_assert_int_eq(examine(row->facts), CUVET_OK);
    expect_only(row, at);
}
END_TEST

/* Ordinals need not descend: the first and the last parameter change places, ordinals and all. */
START_TEST(any_order)
{
    const cubin_meta_edit first = R2(BF, 0x17, 0, 0, 0, 0), last = R2(BF, 0x17, 2, 0, 0, 0);
    uint8_t keep[16];
    uint64_t left, right;

    load(B90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    left = place(&first);
    right = place(&last);
    memcpy(keep, bytes + left, 16);
    memcpy(bytes + left, bytes + right, 16);
    memcpy(bytes + right, keep, 16);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_uint_eq(got.count, 0);
}
END_TEST

/* The path of a finding ends with its section. */
START_TEST(path)
{
    const cubin_meta_edit edit = R(F, 0x1C, 4, 4, 0x10000);
    char text[64], want[64];

    load(P90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    apply(&edit);
    snprintf(want, sizeof(want), "section[%u]", (unsigned)section_named(F));
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    cuvet_path_text(&got.diags[0].where, text, sizeof(text));
    ck_assert_str_eq(text, want);
    ck_assert_uint_eq(ctx.path.n, 0);
}
END_TEST

/* What the notes tell the rest. */
START_TEST(facts)
{
    load("plain.sm_90a");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_PTXAS);
    ck_assert_uint_eq(cubin.virtual_sm, 90);
    ck_assert(cubin.suffix_known && cubin.suffix == 'a');
    ck_assert(cubin.compat_accel_known && cubin.compat_accel);
    ck_assert_uint_gt(cubin.toolkit, 0);
    ck_assert_uint_gt(cubin.compat.len, 0);
    load("plain.sm_100f");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert(cubin.suffix_known && cubin.suffix == 'f' && cubin.compat_accel_known && !cubin.compat_accel);
    load("two.sm_90.linked");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_NVLINK);
    load(P75);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert(cubin.suffix_known && cubin.suffix == 0 && !cubin.compat_accel_known);
    ck_assert_uint_eq(cubin.compat.len, 0);
}
END_TEST

/* The note of the hand assembler, of the same size as the one it replaces; it may declare 6 bytes of device
 * note. */
START_TEST(hand_assembled)
{
    static const char filler[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    static const char *const names[] = { "nvasm_internal", "nvasm_infernal" };
    const cubin_meta_edit six = B(CU, 4, 4, 6);

    for (unsigned k = 0; k < 2; k++) {
        cv_tkinfo tkinfo = { 2,     { 0 }, cv_span_of(names[k], 14, 0),
                             { 0 }, { 0 }, cv_span_of("-arch SM75", 10, 0) };
        cv_builder builder;
        cv_span note;

        load(P90);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        note = cv_cubin_body(&cubin, section_named(TK));
        tkinfo.build = cv_span_of(filler, note.len - 48 - 5 - 24, 0);
        ck_assert_uint_le(tkinfo.build.len, sizeof(filler) - 1);
        cv_builder_init(&builder, &ctx.mem);
        ck_assert(cv_tkinfo_put(&builder, &tkinfo));
        ck_assert_uint_eq(builder.len, note.len);
        apply(&six);
        for (uint64_t i = 0; i < note.len; i++)
            bytes[note.off + i] = cv_u8_at(cv_builder_span(&builder), i);
        cv_builder_free(&builder);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        ck_assert_int_eq(cubin.producer.tool, k ? CV_TOOL_OTHER : CV_TOOL_NVASM);
        ck_assert(!cubin.suffix_known);
        /* Of a stranger's file it is counted, not judged. */
        ck_assert_uint_eq(got.count, 0);
        ck_assert_uint_eq(ctx.differences, k);
        cv_ctx_end_profile(&ctx, 0);
        ck_assert_uint_eq(got.count, k);
        if (k)
            ck_assert_uint_eq(got.diags[0].rule, CV_R_PROFILE_STRANGER);
    }
}
END_TEST

/* Sections without bytes in the file hold nothing that could be wrong. */
START_TEST(no_bytes)
{
    static const char *const names[] = { TK, CU, G, F, ".nv.compat", CG };
    uint64_t extent = 0;

    load(P90);
    ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
    for (unsigned k = 0; k < N(names); k++)
        cv_secs_at(&cubin.sec, section_named(names[k]))->in_file = false;
    got.count = 0;
    cv_cubin_read_notes(&ctx, &cubin);
    ck_assert_int_eq(cv_cubin_check_meta(&ctx, &cubin), CUVET_OK);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_PTXAS); /* found with the header, from the file itself */
}
END_TEST

/* A tool note section without a note. */
START_TEST(no_note)
{
    uint64_t extent = 0;

    load(P90);
    ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
    cv_secs_at(&cubin.sec, section_named(TK))->header.size = 0;
    got.count = 0;
    cv_cubin_read_notes(&ctx, &cubin);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_uint_eq(got.diags[0].rule, CV_R_NOTE_EMPTY);
}
END_TEST

/* Work that runs out anywhere ends in one report and no crash; the work a file needs is what it has at most.
 */
START_TEST(work)
{
    uint64_t extent = 0;

    load(U100);
    for (uint64_t left = 0; left < 4000; left++) {
        cv_ctx_unit(&ctx, size);
        ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
        got.count = 0;
        cv_ctx_set_work(&ctx, left);
        cv_cubin_read_notes(&ctx, &cubin);
        ck_assert_int_eq(cv_cubin_check_meta(&ctx, &cubin), CUVET_OK);
        cv_islands_drop();
        if (!ctx.work_out) {
            ck_assert_uint_gt(left, 100);
            return;
        }
        ck_assert_uint_eq(ctx.seen[CV_R_LIMIT_WORK], 1);
    }
    ck_abort_msg("4,000 units of work are not enough");
}
END_TEST

/* Every allocation fails once: the status says so, nothing leaks. */
START_TEST(no_memory)
{
    const cubin_meta_edit swap = R2(BF, 0x17, 0, 8, 2, 1), other = R2(BF, 0x17, 1, 8, 2, 2);
    unsigned failed = 0;
    cuvet_status status;

    load(B90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    apply(&swap); /* out of order: needs memory to check */
    apply(&other);
    for (uint64_t count = 1; count < 64; count++) {
        heap_mend(&memory);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        heap_fail(&memory, count, false);
        status = cv_cubin_check_meta(&ctx, &cubin);
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        failed += status == CUVET_E_NOMEM;
        if (status == CUVET_OK)
            break;
    }
    ck_assert_uint_ge(failed, 2);
}
END_TEST

Suite *suite_cubin_meta(void)
{
    Suite *suite = suite_create("cubin_meta");
    TCase *tcase = tcase_create("cubin_meta");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, rows, 0, (int)N(ROWS));
    tcase_add_test(tcase, any_order);
    tcase_add_test(tcase, path);
    tcase_add_test(tcase, facts);
    tcase_add_test(tcase, hand_assembled);
    tcase_add_test(tcase, no_bytes);
    tcase_add_test(tcase, no_note);
    tcase_add_test(tcase, work);
    tcase_add_test(tcase, no_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
