/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELFs put together record by record: the legacy ABI, class 32 and extended numbering, of which the
 * samples have none; then limits and failing allocations. */
#include <check.h>
#include <string.h>

#include "cubin/cubin.h"
#include "format/elf/write.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx x;
static cv_cubin cubin;
static cuvet_diag last_finding;
static unsigned findings, notes;
static uint32_t seen[CV_N_RULES];
static heap memory;

static void emit(void *user, const cuvet_diag *d)
{
    (void)user;
    seen[d->rule]++;
    if (d->severity == CUVET_NOTE) {
        notes++;
        return;
    }
    if (findings++ == 0)
        last_finding = *d;
}

static void setup(void)
{
    const cuvet_alloc a = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

    lim.size = sizeof(lim);
    memory = (heap){ 0 };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&x, &a, &lim);
    x.emit = emit;
    cv_cubin_init(&cubin);
}

static void teardown(void)
{
    cv_cubin_free(&x, &cubin);
    cv_islands_drop();
    ck_assert_uint_eq(x.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

static cuvet_status examine(cv_span image, cv_ledger *ledger, uint64_t *extent)
{
    findings = notes = 0;
    memset(seen, 0, sizeof(seen));
    cv_ctx_unit(&x, image.len);
    return cv_cubin_examine(&x, &cubin, image, ledger, extent);
}

static const char *first_finding(void)
{
    return findings ? cuvet_rule_get(last_finding.rule)->id : "none";
}

/* One kernel k of a relocatable file: everything a legacy cubin has, nothing more. */
typedef struct synth {
    bool is32, extended, exe;
    bool hand; /* as the hand-assembled files: other order, other details */
    uint8_t osabi, abi;
    uint32_t version, flags;
    uint64_t reloc_off; /* of the one relocation in .text.k */
    uint64_t shoff_bias;
    uint32_t text_flags;
} synth;

static const synth LEGACY = {
    .osabi = 0x33, .abi = 7, .version = 118, .flags = 0x4B054B, .text_flags = 0x100006
};

enum { SHSTRTAB = 1, STRTAB, SYMTAB, SHNDX, INFO, INFO_K, REL, CONST0, TEXT, ACTION, N_SECTIONS };

static const char NAMES[] = "\0.shstrtab\0.strtab\0.symtab\0.symtab_shndx\0.nv.info\0.nv.info.k\0.rel.text."
                            "k\0.nv.constant0.k\0.text.k\0.nv.rel.action";
static const char SYMBOLS[] = "\0k";

static uint32_t name_at(unsigned section)
{
    uint32_t at = 1;

    for (unsigned i = 1; i < section; i++)
        at += (uint32_t)strlen(NAMES + at) + 1;
    return at;
}

static void put_attr(cv_builder *b, uint8_t code, uint32_t v0, uint32_t v1)
{
    cv_put_u8(b, 4);
    cv_put_u8(b, code);
    cv_put_u16(b, 8);
    cv_put_u32(b, v0);
    cv_put_u32(b, v1);
}

static void put_body(cv_builder *b, const synth *y, unsigned i)
{
    cv_elf_symbol none = { 0 }, k = { 1, 0x12, 0x10, y->extended ? 0xFFFF : TEXT, 0, 128 };
    cv_elf_reloc r = { y->reloc_off, 1, 56, 0 };

    switch (i) {
    case SHSTRTAB: cv_put_span(b, cv_span_of(NAMES, sizeof(NAMES), 0)); break;
    case STRTAB: cv_put_span(b, cv_span_of(SYMBOLS, sizeof(SYMBOLS), 0)); break;
    case SYMTAB:
        cv_elf_write_symbol(b, y->is32, &none);
        cv_elf_write_symbol(b, y->is32, &k);
        break;
    case SHNDX:
        cv_put_u32(b, 0);
        cv_put_u32(b, TEXT);
        break;
    case INFO:
        put_attr(b, 0x2F, 1, 8); /* registers */
        put_attr(b, 0x11, 1, 0); /* frame size */
        put_attr(b, 0x12, 1, 0); /* stack size */
        break;
    case INFO_K:
        cv_put_u32(b, 0x00043704); /* toolkit */
        cv_put_u32(b, y->version);
        cv_put_u32(b, 0x00FF1B03); /* register limit */
        break;
    case REL: cv_elf_write_reloc(b, y->is32, false, &r); break;
    case CONST0: cv_put_zero(b, 0x160); break;
    case ACTION: /* executables only */
        cv_put_u32(b, 75);
        cv_put_zero(b, 0xE0 - 4);
        break;
    default: cv_put_zero(b, 128);
    }
}

static cv_elf_section convention(const synth *y, unsigned i)
{
    uint64_t own = y->exe || y->hand ? 0 : 0x40;

    switch (i) {
    case SYMTAB:
        return (cv_elf_section){ .type = 2,
                                 .link = STRTAB,
                                 .info = 1,
                                 .align = y->is32 ? 4 : 8,
                                 .entsize = cv_elf_sym_size(y->is32) };
    case SHNDX: return (cv_elf_section){ .type = 18, .link = SYMTAB, .align = 4, .entsize = 4 };
    case INFO: return (cv_elf_section){ .type = 0x70000000, .link = SYMTAB, .align = 4 };
    case INFO_K:
        return (cv_elf_section){ .type = 0x70000000, .flags = own, .link = SYMTAB, .info = TEXT, .align = 4 };
    case REL:
        return (cv_elf_section){ .type = 9,
                                 .flags = own,
                                 .link = SYMTAB,
                                 .info = TEXT,
                                 .align = y->is32 ? 4 : 8,
                                 .entsize = cv_elf_rel_size(y->is32, false) };
    case CONST0:
        return (cv_elf_section){
            .type = y->exe || y->hand ? 1 : 0x70000064, .flags = 2 | own, .info = TEXT, .align = 4
        };
    case TEXT:
        return (cv_elf_section){
            .type = 1, .flags = y->text_flags, .link = SYMTAB, .info = 1 | 8u << 24, .align = 128
        };
    case ACTION: return (cv_elf_section){ .type = 0x7000000B, .align = 8, .entsize = 8 };
    default: return (cv_elf_section){ .type = 3, .align = y->hand ? 0 : 1, .entsize = y->hand };
    }
}

static void build(cv_builder *b, const synth *y)
{
    cv_elf_header h = { .is32 = y->is32,
                        .osabi = y->osabi,
                        .abiversion = y->abi,
                        .type = y->exe ? 2 : 1,
                        .machine = 190,
                        .version = y->version,
                        .flags = y->flags,
                        .ehsize = (uint16_t)cv_elf_ehdr_size(y->is32),
                        .shentsize = (uint16_t)cv_elf_shdr_size(y->is32) };
    cv_elf_section s[N_SECTIONS] = { { 0 } };
    unsigned n = y->exe ? N_SECTIONS : ACTION;

    h.shnum = y->extended ? 0 : (uint16_t)n;
    h.shstrndx = y->hand ? 2 : 1;

    cv_builder_free(b);
    for (unsigned pass = 0; pass < 2; pass++) { /* the first pass finds the places */
        cv_builder_free(b);
        cv_elf_write_header(b, &h);
        for (unsigned i = 1; i < n; i++) {
            unsigned what = y->hand && i <= STRTAB ? 3 - i : i;

            s[i] = convention(y, what);
            s[i].link = y->hand && i == SYMTAB ? 1 : s[i].link;
            s[i].name = name_at(what);
            cv_put_align(b, s[i].align ? s[i].align : 1);
            s[i].off = b->len;
            put_body(b, y, what);
            s[i].size = b->len - s[i].off;
        }
        cv_put_align(b, 8);
        cv_put_zero(b, y->shoff_bias);
        h.shoff = b->len;
    }
    s[0].size = y->extended ? n : 0;
    for (unsigned i = 0; i < n; i++)
        cv_elf_write_section(b, y->is32, &s[i]);
    ck_assert(!b->failed);
}

/* Build, examine, and tell whether the rule was reported. */
static bool reports(const synth *y, cv_rule rule)
{
    cv_builder b;
    uint64_t extent;

    cv_builder_init(&b, &x.mem);
    build(&b, y);
    (void)examine(cv_builder_span(&b), NULL, &extent); /* the status follows from the rule */
    cv_cubin_free(&x, &cubin);
    cv_islands_drop();
    cv_builder_free(&b);
    return seen[rule] != 0;
}

START_TEST(legacy_is_clean)
{
    cv_elf_symbol sym;
    cv_ledger ledger = { 0 };
    cv_builder b;
    uint64_t extent = 0, bad, pos = 0;
    synth y = LEGACY;
    cv_span name;

    y.exe = _i & 1;
    y.extended = (_i & 2) != 0;
    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    ck_assert_int_eq(examine(cv_builder_span(&b), &ledger, &extent), CUVET_OK);
    ck_assert_msg(findings == 0 && notes == 0, "%s", first_finding());
    ck_assert_uint_eq(extent, b.len);
    ck_assert(cv_ledger_complete(&x, &ledger, 0, extent, &bad));
    ck_assert(cubin.legacy && cubin.conv && cubin.rel != y.exe && cubin.exe == y.exe);
    ck_assert_uint_eq(cubin.sm, 75);
    ck_assert_uint_eq(cubin.virtual_sm, 75);
    ck_assert_uint_eq(cubin.toolkit, 118);
    ck_assert_uint_eq(cubin.n_kernels, 1);
    ck_assert_uint_eq(cubin.n_relocs, 1);
    ck_assert_uint_eq(cv_cubin_sec(&cubin, TEXT)->const0, CONST0);
    ck_assert_uint_eq(cv_cubin_sec(&cubin, TEXT)->info_sec, INFO_K);
    ck_assert(cv_cubin_next_kernel(&cubin, &pos, &name, &sym));
    ck_assert(cv_span_eq_str(name, "k"));
    ck_assert_uint_eq(sym.size, 128);
    ck_assert(!cv_cubin_next_kernel(&cubin, &pos, &name, &sym));
    cv_ledger_free(&x, &ledger);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

START_TEST(legacy_flags)
{
    static const uint32_t BAD[] = {
        0x4B014B, 0x4B454B, 0x4B074B, 0x4B254B, 0x4B854B, 0x014B054B, 0x404B054B
    };
    static const uint32_t FINE[] = { 0x4B054B, 0x4B064B, 0x480546, 0x4B0D4B, 0x4B154B };
    synth y = LEGACY;

    for (size_t i = 0; i < N(BAD); i++) {
        y.flags = BAD[i];
        ck_assert_msg(reports(&y, CV_R_ELF_FLAGS_LEGACY), "0x%x", (unsigned)BAD[i]);
        ck_assert_uint_eq(last_finding.file_off, 48);
    }
    for (size_t i = 0; i < N(FINE); i++) {
        y.flags = FINE[i];
        ck_assert_msg(!reports(&y, CV_R_ELF_FLAGS_LEGACY), "0x%x", (unsigned)FINE[i]);
    }
    y.flags = 0x63054F; /* 79 */
    ck_assert(reports(&y, CV_R_ELF_SM_UNKNOWN));
    y.flags = 0x804B054B;
    ck_assert(reports(&y, CV_R_ELF_MERCURY));
    ck_assert(!reports(&y, CV_R_ELF_FLAGS_LEGACY));
}
END_TEST

START_TEST(legacy_details)
{
    synth y = LEGACY;

    y.text_flags = 0x800006;
    ck_assert(!reports(&y, CV_R_SEC_FLAGS)); /* eight barriers */
    y.text_flags = 0x1000006;                /* 16 */
    ck_assert(!reports(&y, CV_R_TEXT_BARRIERS));
    y.text_flags = 0x1100006;
    ck_assert(reports(&y, CV_R_TEXT_BARRIERS));
    ck_assert_uint_eq(last_finding.got, 17);
    y.text_flags = 0x8000006;
    ck_assert(reports(&y, CV_R_SEC_FLAGS));
    y = LEGACY;
    y.version = 0;
    ck_assert(reports(&y, CV_R_ELF_VERSION));
    y = LEGACY;
    y.reloc_off = 112;
    ck_assert(!reports(&y, CV_R_RELOC_OFFSET) && !reports(&y, CV_R_RELOC_ALIGN));
    y.reloc_off = 8;
    ck_assert(reports(&y, CV_R_RELOC_ALIGN));
    y.reloc_off = 128;
    ck_assert(reports(&y, CV_R_RELOC_OFFSET));
    y = LEGACY;
    y.shoff_bias = 4;
    ck_assert(reports(&y, CV_R_ELF_SHOFF_ALIGN));
    ck_assert_uint_eq(last_finding.file_off, 40);
    y.shoff_bias = 8;
    ck_assert(reports(&y, CV_R_LEDGER_GAP));
}
END_TEST

START_TEST(hand_assembled)
{
    synth y = LEGACY;
    cv_builder b;
    uint64_t extent = 0, table;

    y.hand = true;
    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    ck_assert(cubin.hand);
    table = cubin.h.shoff;
    cv_patch_u32(&b, table + 64 * CONST0 + 40, SYMTAB); /* link to the symbols: seen */
    cv_patch_u32(&b, table + 64 * INFO + 40, 0);        /* and none where there is one elsewhere */
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    cv_patch_u32(&b, table + 64 * CONST0 + 40, TEXT);
    (void)examine(cv_builder_span(&b), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_LINK_HABIT], 0);
    cv_patch_u32(&b, table + 64 * CONST0 + 40, 0);
    cv_patch_u32(&b, table + 64 * TEXT + 8, 7);        /* flags stay checked */
    (void)examine(cv_builder_span(&b), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_FLAGS], 0);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
    y.hand = false; /* the same looseness is an error elsewhere */
    build(&b, &y);
    cv_patch_u32(&b, table + 64 * INFO + 40, 0);
    (void)examine(cv_builder_span(&b), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_LINK_HABIT], 0);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

/* Thousands of sections share one name of a megabyte: reading it for each of them is not paid for by the
 * file. */
START_TEST(one_long_name)
{
    cv_elf_header h = { .osabi = 0x33,
                        .abiversion = 7,
                        .type = 1,
                        .machine = 190,
                        .version = 118,
                        .flags = 0x4B054B,
                        .ehsize = 64,
                        .shentsize = 64,
                        .shnum = 20000,
                        .shstrndx = 1,
                        .shoff = 64 + (1 << 20) };
    cv_elf_section null = { 0 }, names = { .name = 1, .type = 3, .off = 64, .size = 1 << 20, .align = 1 },
                   one = { .name = 1, .type = 8, .off = 64, .align = 1 };
    cv_builder b;
    uint64_t extent = 0;

    cv_builder_init(&b, &x.mem);
    cv_elf_write_header(&b, &h);
    cv_put_u8(&b, 0);
    for (unsigned i = 0; i < (1 << 20) - 2; i++)
        cv_put_u8(&b, 'a');
    cv_put_u8(&b, 0);
    cv_elf_write_section(&b, false, &null);
    cv_elf_write_section(&b, false, &names);
    for (unsigned i = 2; i < h.shnum; i++)
        cv_elf_write_section(&b, false, &one);
    ck_assert(!b.failed);
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_WORK], 1);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

START_TEST(class32)
{
    static const struct {
        uint64_t at;
        uint32_t value;
        cv_rule rule;
    } BAD[] = {
        { SYMTAB * 40 + 36, 24, CV_R_SEC_ENTSIZE },     { REL * 40 + 36, 16, CV_R_SEC_ENTSIZE },
        { TEXT * 40 + 16, 0xFFFFFF80, CV_R_SEC_RANGE }, { TEXT * 40 + 32, 3, CV_R_SEC_ALIGN },
        { TEXT * 40 + 12, 4096, CV_R_SEC_ADDR },        { TEXT * 40, 0x1000, CV_R_SEC_NAME },
        { REL * 40 + 28, 77, CV_R_RELOC_TARGET },       { SYMTAB * 40 + 28, 9, CV_R_SYM_INFO_RANGE },
        { SYMTAB * 40 + 20, 31, CV_R_SEC_MULTIPLE },    { CONST0 * 40 + 24, 99, CV_R_SEC_LINK },
    };
    synth y = LEGACY;
    cv_ledger ledger = { 0 };
    cv_builder b;
    uint64_t extent = 0, bad, table;

    y.is32 = true;
    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    ck_assert_int_eq(examine(cv_builder_span(&b), &ledger, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    ck_assert_uint_eq(seen[CV_R_ELF_CLASS32], 1);
    ck_assert_uint_eq(extent, b.len);
    ck_assert(cv_ledger_complete(&x, &ledger, 0, extent, &bad));
    ck_assert(!cubin.conv && cubin.n_syms == 2 && cubin.n_relocs == 1);
    cv_ledger_free(&x, &ledger);
    table = cubin.h.shoff;
    for (size_t i = 0; i < N(BAD); i++) {
        build(&b, &y);
        cv_patch_u32(&b, table + BAD[i].at, BAD[i].value);
        (void)examine(cv_builder_span(&b), NULL, &extent); /* whatever else follows */
        ck_assert_msg(seen[BAD[i].rule] != 0, "row %zu", i);
    }
    build(&b, &y);
    for (uint64_t n = 0; n < b.len; n++) { /* no prefix is a file */
        cv_span s = cv_builder_span(&b);

        s.len = n;
        ck_assert(examine(s, NULL, &extent) != CUVET_OK || findings != 0);
    }
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

START_TEST(extended_numbering)
{
    synth y = LEGACY;
    cv_builder b;
    uint64_t extent = 0, shndx;

    y.extended = true;
    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(cubin.sec.n, ACTION);
    shndx = cv_cubin_sec(&cubin, SHNDX)->h.off;
    cv_patch_u32(&b, shndx + 4, ACTION);               /* out of range, by the table */
    (void)examine(cv_builder_span(&b), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SYM_SHNDX], 0);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

START_TEST(trailing_bytes)
{
    synth y = LEGACY;
    cv_builder b;
    uint64_t extent = 0, len;

    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    len = b.len;
    cv_put_zero(&b, 7);
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(extent, len);
    cv_cubin_check_tail(&x, cv_builder_span(&b), extent, 7);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 0);
    cv_cubin_check_tail(&x, cv_builder_span(&b), extent, 0);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 1);
    ck_assert_uint_eq(last_finding.file_off, len);
    cv_put_zero(&b, 1);
    cv_cubin_check_tail(&x, cv_builder_span(&b), extent, 7);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 2);
    cv_patch_u32(&b, len, 1); /* not zero */
    cv_cubin_check_tail(&x, cv_builder_span(&b), extent, 100);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 3);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

START_TEST(limits)
{
    synth y = LEGACY;
    cv_builder b;
    uint64_t extent = 0, enough;

    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    x.lim.symbols = 1;
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_SYMBOLS], 1);
    x.lim.symbols = 2;
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    x.lim.sections = ACTION - 1;
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_SECTIONS], 1);
    x.lim.sections = ACTION;
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_OK);
    enough = UINT64_C(1) << 20;
    cv_ctx_set_work(&x, enough);
    ck_assert_int_eq(cv_cubin_examine(&x, &cubin, cv_builder_span(&b), NULL, &extent), CUVET_OK);
    enough -= cv_ctx_work(&x);
    for (uint64_t w = 0; w < enough; w++) { /* less work is always a limit, said once */
        cv_ctx_unit(&x, 0);
        memset(seen, 0, sizeof(seen));
        cv_ctx_set_work(&x, w);
        ck_assert_int_eq(cv_cubin_examine(&x, &cubin, cv_builder_span(&b), NULL, &extent), CUVET_E_LIMIT);
        ck_assert_uint_eq(seen[CV_R_LIMIT_WORK], 1);
    }
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

/* The n-th allocation fails, for every n there is. */
START_TEST(no_memory)
{
    synth y = LEGACY;
    cv_ledger ledger = { 0 };
    cv_builder b;
    cuvet_status s;
    uint64_t extent, n = 0;

    cv_builder_init(&b, &x.mem);
    build(&b, &y);
    do {
        heap_fail(&memory, ++n, false);
        s = examine(cv_builder_span(&b), &ledger, &extent);
        ck_assert(s == CUVET_OK || s == CUVET_E_NOMEM);
        cv_cubin_free(&x, &cubin);
        cv_ledger_free(&x, &ledger);
    } while (s != CUVET_OK);
    ck_assert_uint_gt(n, 3);
    heap_mend(&memory);
    x.mem.limit = x.mem.live + 64; /* the budget instead of the allocator */
    ck_assert_int_eq(examine(cv_builder_span(&b), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_LIVE], 1);
    cv_cubin_free(&x, &cubin);
    cv_builder_free(&b);
}
END_TEST

Suite *suite_test_cubin_synth(void)
{
    Suite *s = suite_create("cubin_synth");
    TCase *t = tcase_create("cubin_synth");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, legacy_is_clean, 0, 4);
    tcase_add_test(t, legacy_flags);
    tcase_add_test(t, legacy_details);
    tcase_add_test(t, hand_assembled);
    tcase_add_test(t, one_long_name);
    tcase_add_test(t, class32);
    tcase_add_test(t, extended_numbering);
    tcase_add_test(t, trailing_bytes);
    tcase_add_test(t, limits);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return s;
}
