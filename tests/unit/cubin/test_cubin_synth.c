/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELFs put together record by record: the legacy ABI, class 32 and extended numbering, of which the
 * samples have none; then limits and failing allocations. */
#include <check.h>
#include <string.h>

#include "cubin/cubin.h"
#include "format/elf/write.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_cubin cubin;
static cuvet_diag last_finding;
static unsigned findings, notes;
static uint32_t seen[CV_N_RULES];
static heap_state memory;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    seen[diag->rule]++;
    if (diag->severity == CUVET_NOTE) {
        notes++;
        return;
    }
    if (findings++ == 0)
        last_finding = *diag;
}

static void setup(void)
{
    const cuvet_alloc alloc = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

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

static cuvet_status examine(cv_span image, cv_ledger *ledger, uint64_t *extent)
{
    findings = notes = 0;
    memset(seen, 0, sizeof(seen));
    cv_ctx_unit(&ctx, image.len);
    return cv_cubin_examine(&ctx, &cubin, image, ledger, extent);
}

static const char *first_finding(void)
{
    return findings ? cuvet_rule_get(last_finding.rule)->id : "none";
}

/* One kernel k of a relocatable file: everything a legacy cubin has, nothing more. */
typedef struct cubin_synth {
    bool is32, extended, exe;
    bool hand; /* as the hand-assembled files: other order, other details */
    uint8_t osabi, abi;
    uint32_t version, flags;
    uint64_t reloc_off; /* of the one relocation in .text.k */
    uint64_t shoff_bias;
    uint32_t text_flags;
} cubin_synth;

static const cubin_synth LEGACY = {
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

static void put_attr(cv_builder *builder, uint8_t code, uint32_t v0, uint32_t v1)
{
    cv_put_u8(builder, 4);
    cv_put_u8(builder, code);
    cv_put_u16(builder, 8);
    cv_put_u32(builder, v0);
    cv_put_u32(builder, v1);
}

static void put_body(cv_builder *builder, const cubin_synth *synth, unsigned index)
{
    cv_elf_symbol none = { 0 }, symbol = { 1, 0x12, 0x10, synth->extended ? 0xFFFF : TEXT, 0, 128 };
    cv_elf_reloc reloc = { synth->reloc_off, 1, 56, 0 };

    switch (index) {
    case SHSTRTAB: cv_put_span(builder, cv_span_of(NAMES, sizeof(NAMES), 0)); break;
    case STRTAB: cv_put_span(builder, cv_span_of(SYMBOLS, sizeof(SYMBOLS), 0)); break;
    case SYMTAB:
        cv_elf_write_symbol(builder, synth->is32, &none);
        cv_elf_write_symbol(builder, synth->is32, &symbol);
        break;
    case SHNDX:
        cv_put_u32(builder, 0);
        cv_put_u32(builder, TEXT);
        break;
    case INFO:
        put_attr(builder, 0x2F, 1, 8); /* registers */
        put_attr(builder, 0x11, 1, 0); /* frame size */
        put_attr(builder, 0x12, 1, 0); /* stack size */
        break;
    case INFO_K:
        cv_put_u32(builder, 0x00043704); /* toolkit */
        cv_put_u32(builder, synth->version);
        cv_put_u32(builder, 0x00FF1B03); /* register limit */
        break;
    case REL: cv_elf_write_reloc(builder, synth->is32, false, &reloc); break;
    case CONST0: cv_put_zero(builder, 0x160); break;
    case ACTION: /* executables only */
        cv_put_u32(builder, 75);
        cv_put_zero(builder, 0xE0 - 4);
        break;
    default: cv_put_zero(builder, 128);
    }
}

static cv_elf_section convention(const cubin_synth *synth, unsigned index)
{
    uint64_t own = synth->exe || synth->hand ? 0 : 0x40;

    switch (index) {
    case SYMTAB:
        return (cv_elf_section){ .type = 2,
                                 .link = STRTAB,
                                 .info = 1,
                                 .align = synth->is32 ? 4 : 8,
                                 .entsize = cv_elf_sym_size(synth->is32) };
    case SHNDX: return (cv_elf_section){ .type = 18, .link = SYMTAB, .align = 4, .entsize = 4 };
    case INFO: return (cv_elf_section){ .type = 0x70000000, .link = SYMTAB, .align = 4 };
    case INFO_K:
        return (cv_elf_section){ .type = 0x70000000, .flags = own, .link = SYMTAB, .info = TEXT, .align = 4 };
    case REL:
        return (cv_elf_section){ .type = 9,
                                 .flags = own,
                                 .link = SYMTAB,
                                 .info = TEXT,
                                 .align = synth->is32 ? 4 : 8,
                                 .entsize = cv_elf_rel_size(synth->is32, false) };
    case CONST0:
        return (cv_elf_section){
            .type = synth->exe || synth->hand ? 1 : 0x70000064, .flags = 2 | own, .info = TEXT, .align = 4
        };
    case TEXT:
        return (cv_elf_section){
            .type = 1, .flags = synth->text_flags, .link = SYMTAB, .info = 1 | 8u << 24, .align = 128
        };
    case ACTION: return (cv_elf_section){ .type = 0x7000000B, .align = 8, .entsize = 8 };
    default: return (cv_elf_section){ .type = 3, .align = synth->hand ? 0 : 1, .entsize = synth->hand };
    }
}

static void build(cv_builder *builder, const cubin_synth *synth)
{
    cv_elf_header header = { .is32 = synth->is32,
                             .osabi = synth->osabi,
                             .abiversion = synth->abi,
                             .type = synth->exe ? 2 : 1,
                             .machine = 190,
                             .version = synth->version,
                             .flags = synth->flags,
                             .ehsize = (uint16_t)cv_elf_ehdr_size(synth->is32),
                             .shentsize = (uint16_t)cv_elf_shdr_size(synth->is32) };
    cv_elf_section section[N_SECTIONS] = { { 0 } };
    unsigned count = synth->exe ? N_SECTIONS : ACTION;

    header.shnum = synth->extended ? 0 : (uint16_t)count;
    header.shstrndx = synth->hand ? 2 : 1;

    cv_builder_free(builder);
    for (unsigned pass = 0; pass < 2; pass++) { /* the first pass finds the places */
        cv_builder_free(builder);
        cv_elf_write_header(builder, &header);
        for (unsigned i = 1; i < count; i++) {
            unsigned what = synth->hand && i <= STRTAB ? 3 - i : i;

            section[i] = convention(synth, what);
            section[i].link = synth->hand && i == SYMTAB ? 1 : section[i].link;
            section[i].name = name_at(what);
            cv_put_align(builder, section[i].align ? section[i].align : 1);
            section[i].off = builder->len;
            put_body(builder, synth, what);
            section[i].size = builder->len - section[i].off;
        }
        cv_put_align(builder, 8);
        cv_put_zero(builder, synth->shoff_bias);
        header.shoff = builder->len;
    }
    section[0].size = synth->extended ? count : 0;
    for (unsigned i = 0; i < count; i++)
        cv_elf_write_section(builder, synth->is32, &section[i]);
    ck_assert(!builder->failed);
}

/* Build, examine, and tell whether the rule was reported. */
static bool reports(const cubin_synth *synth, cv_rule rule)
{
    cv_builder builder;
    uint64_t extent;

    cv_builder_init(&builder, &ctx.mem);
    build(&builder, synth);
    (void)examine(cv_builder_span(&builder), NULL, &extent); /* the status follows from the rule */
    cv_cubin_free(&ctx, &cubin);
    cv_islands_drop();
    cv_builder_free(&builder);
    return seen[rule] != 0;
}

START_TEST(legacy_is_clean)
{
    cv_elf_symbol sym;
    cv_ledger ledger = { 0 };
    cv_builder builder;
    uint64_t extent = 0, bad, pos = 0;
    cubin_synth synth = LEGACY;
    cv_span name;

    synth.exe = _i & 1;
    synth.extended = (_i & 2) != 0;
    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    ck_assert_int_eq(examine(cv_builder_span(&builder), &ledger, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    ck_assert_uint_eq(notes, synth.exe); /* of its one relocation */
    ck_assert_uint_eq(seen[CV_R_RELOC_AT_LOAD], synth.exe);
    ck_assert_uint_eq(extent, builder.len);
    ck_assert(cv_ledger_complete(&ctx, &ledger, 0, extent, &bad));
    ck_assert(cubin.legacy && cubin.conv && cubin.rel != synth.exe && cubin.exe == synth.exe);
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
    cv_ledger_free(&ctx, &ledger);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

START_TEST(legacy_flags)
{
    static const uint32_t BAD[] = {
        0x4B014B, 0x4B454B, 0x4B074B, 0x4B254B, 0x4B854B, 0x014B054B, 0x404B054B
    };
    static const uint32_t FINE[] = { 0x4B054B, 0x4B064B, 0x480546, 0x4B0D4B, 0x4B154B };
    cubin_synth synth = LEGACY;

    for (size_t i = 0; i < N(BAD); i++) {
        synth.flags = BAD[i];
        ck_assert_msg(reports(&synth, CV_R_ELF_FLAGS_LEGACY), "0x%x", (unsigned)BAD[i]);
        ck_assert_uint_eq(last_finding.file_off, 48);
    }
    for (size_t i = 0; i < N(FINE); i++) {
        synth.flags = FINE[i];
        ck_assert_msg(!reports(&synth, CV_R_ELF_FLAGS_LEGACY), "0x%x", (unsigned)FINE[i]);
    }
    synth.flags = 0x63054F; /* 79 */
    ck_assert(reports(&synth, CV_R_ELF_SM_UNKNOWN));
    synth.flags = 0x804B054B;
    ck_assert(reports(&synth, CV_R_ELF_NO_MERCURY));
    ck_assert(!reports(&synth, CV_R_ELF_FLAGS_LEGACY));
}
END_TEST

/* What newer linkers make of objects of ABI 7 keeps their counts of barriers. */
START_TEST(barriers_of_older_objects)
{
    static const struct {
        uint32_t flags, text_flags, fits, many;
    } CASES[] = {
        { 0x6004B04, 0x1000006, true, false },  /* sm_75 */
        { 0x6005A04, 0x100006, true, false },   /* sm_90 */
        { 0x6005A04, 0x1100006, true, true },   /* 17, one too many */
        { 0x6005A04, 0x8000006, false, false }, /* no bit of the count */
        { 0x6006404, 0x100006, false, false },  /* sm_100 */
    };
    cubin_synth synth = { .osabi = 0x41, .abi = 8, .version = 1 };

    for (size_t i = 0; i < N(CASES); i++) {
        synth.flags = CASES[i].flags, synth.text_flags = CASES[i].text_flags;
        ck_assert_msg(reports(&synth, CV_R_SEC_FLAGS) == !CASES[i].fits, "case %zu", i);
        ck_assert_msg(reports(&synth, CV_R_TEXT_BARRIERS) == CASES[i].many, "case %zu", i);
    }
}
END_TEST

START_TEST(legacy_details)
{
    cubin_synth synth = LEGACY, small = { .is32 = true, .osabi = 0x33, .abi = 7, .shoff_bias = 4 };

    ck_assert(!reports(&small, CV_R_ELF_SHOFF_ALIGN));
    synth.text_flags = 0x800006;
    ck_assert(!reports(&synth, CV_R_SEC_FLAGS)); /* eight barriers */
    synth.text_flags = 0x1000006;                /* 16 */
    ck_assert(!reports(&synth, CV_R_TEXT_BARRIERS));
    synth.text_flags = 0x1100006;
    ck_assert(reports(&synth, CV_R_TEXT_BARRIERS));
    ck_assert_uint_eq(last_finding.got, 17);
    synth.text_flags = 0x8000006;
    ck_assert(reports(&synth, CV_R_SEC_FLAGS));
    synth = LEGACY;
    synth.version = 0;
    ck_assert(reports(&synth, CV_R_ELF_VERSION));
    synth = LEGACY;
    synth.reloc_off = 112;
    ck_assert(!reports(&synth, CV_R_RELOC_OFFSET) && !reports(&synth, CV_R_RELOC_ALIGN));
    synth.reloc_off = 8;
    ck_assert(reports(&synth, CV_R_RELOC_ALIGN));
    synth.reloc_off = 128;
    ck_assert(reports(&synth, CV_R_RELOC_OFFSET));
    synth = LEGACY;
    synth.shoff_bias = 4;
    ck_assert(reports(&synth, CV_R_ELF_SHOFF_ALIGN));
    ck_assert_uint_eq(last_finding.file_off, 40);
    synth.shoff_bias = 8;
    ck_assert(reports(&synth, CV_R_LEDGER_GAP));
}
END_TEST

START_TEST(hand_assembled)
{
    cubin_synth synth = LEGACY;
    cv_builder builder;
    uint64_t extent = 0, table;

    synth.hand = true;
    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    ck_assert(cubin.hand);
    table = cubin.header.shoff;
    cv_patch_u32(&builder, table + 64 * CONST0 + 40, SYMTAB); /* link to the symbols: seen */
    cv_patch_u32(&builder, table + 64 * INFO + 40, 0);        /* and none where there is one elsewhere */
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    cv_patch_u32(&builder, table + 64 * CONST0 + 40, TEXT);
    (void)examine(cv_builder_span(&builder), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_LINK_HABIT], 0);
    cv_patch_u32(&builder, table + 64 * CONST0 + 40, 0);
    cv_patch_u32(&builder, table + 64 * TEXT + 8, 7);        /* flags stay checked */
    (void)examine(cv_builder_span(&builder), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_FLAGS], 0);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
    synth.hand = false; /* the same looseness is an error elsewhere */
    build(&builder, &synth);
    cv_patch_u32(&builder, table + 64 * INFO + 40, 0);
    (void)examine(cv_builder_span(&builder), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SEC_LINK_HABIT], 0);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

/* Thousands of sections share one name of a megabyte: reading it for each of them is not paid for by the
 * file. */
START_TEST(one_long_name)
{
    cv_elf_header header = { .osabi = 0x33,
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
    cv_builder builder;
    uint64_t extent = 0;

    cv_builder_init(&builder, &ctx.mem);
    cv_elf_write_header(&builder, &header);
    cv_put_u8(&builder, 0);
    for (unsigned i = 0; i < (1 << 20) - 2; i++)
        cv_put_u8(&builder, 'a');
    cv_put_u8(&builder, 0);
    cv_elf_write_section(&builder, false, &null);
    cv_elf_write_section(&builder, false, &names);
    for (unsigned i = 2; i < header.shnum; i++)
        cv_elf_write_section(&builder, false, &one);
    ck_assert(!builder.failed);
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_WORK], 1);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
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
    cubin_synth synth = LEGACY;
    cv_ledger ledger = { 0 };
    cv_builder builder;
    uint64_t extent = 0, bad, table;

    synth.is32 = true;
    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    ck_assert_int_eq(examine(cv_builder_span(&builder), &ledger, &extent), CUVET_OK);
    ck_assert_msg(findings == 0, "%s", first_finding());
    ck_assert_uint_eq(seen[CV_R_ELF_CLASS32], 1);
    ck_assert_uint_eq(extent, builder.len);
    ck_assert(cv_ledger_complete(&ctx, &ledger, 0, extent, &bad));
    ck_assert(!cubin.conv && cubin.n_syms == 2 && cubin.n_relocs == 1);
    cv_ledger_free(&ctx, &ledger);
    table = cubin.header.shoff;
    for (size_t i = 0; i < N(BAD); i++) {
        build(&builder, &synth);
        cv_patch_u32(&builder, table + BAD[i].at, BAD[i].value);
        (void)examine(cv_builder_span(&builder), NULL, &extent); /* whatever else follows */
        ck_assert_msg(seen[BAD[i].rule] != 0, "row %zu", i);
    }
    build(&builder, &synth);
    for (uint64_t count = 0; count < builder.len; count++) { /* no prefix is a file */
        cv_span span = cv_builder_span(&builder);

        span.len = count;
        ck_assert(examine(span, NULL, &extent) != CUVET_OK || findings != 0);
    }
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

START_TEST(extended_numbering)
{
    cubin_synth synth = LEGACY;
    cv_builder builder;
    uint64_t extent = 0, shndx;

    synth.extended = true;
    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(cubin.sec.count, ACTION);
    shndx = cv_cubin_sec(&cubin, SHNDX)->header.off;
    cv_patch_u32(&builder, shndx + 4, ACTION);               /* out of range, by the table */
    (void)examine(cv_builder_span(&builder), NULL, &extent); /* reported below */
    ck_assert_uint_ne(seen[CV_R_SYM_SHNDX], 0);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

START_TEST(trailing_bytes)
{
    cubin_synth synth = LEGACY;
    cv_builder builder;
    uint64_t extent = 0, len;

    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    len = builder.len;
    cv_put_zero(&builder, 7);
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(extent, len);
    cv_cubin_check_tail(&ctx, cv_builder_span(&builder), extent, 7);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 0);
    cv_cubin_check_tail(&ctx, cv_builder_span(&builder), extent, 0);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 1);
    ck_assert_uint_eq(last_finding.file_off, len);
    cv_put_zero(&builder, 1);
    cv_cubin_check_tail(&ctx, cv_builder_span(&builder), extent, 7);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 2);
    cv_patch_u32(&builder, len, 1); /* not zero */
    cv_cubin_check_tail(&ctx, cv_builder_span(&builder), extent, 100);
    ck_assert_uint_eq(seen[CV_R_ELF_TRAILING], 3);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

START_TEST(limits)
{
    cubin_synth synth = LEGACY;
    cv_builder builder;
    uint64_t extent = 0, enough;

    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    ctx.lim.symbols = 1;
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_SYMBOLS], 1);
    ctx.lim.symbols = 2;
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    ctx.lim.sections = ACTION - 1;
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_SECTIONS], 1);
    ctx.lim.sections = ACTION;
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    enough = UINT64_C(1) << 20;
    cv_ctx_set_work(&ctx, enough);
    ck_assert_int_eq(cv_cubin_examine(&ctx, &cubin, cv_builder_span(&builder), NULL, &extent), CUVET_OK);
    enough -= cv_ctx_work(&ctx);
    for (uint64_t width = 0; width < enough; width++) { /* less work is always a limit, said once */
        cv_ctx_unit(&ctx, 0);
        memset(seen, 0, sizeof(seen));
        cv_ctx_set_work(&ctx, width);
        ck_assert_int_eq(cv_cubin_examine(&ctx, &cubin, cv_builder_span(&builder), NULL, &extent),
                         CUVET_E_LIMIT);
        ck_assert_uint_eq(seen[CV_R_LIMIT_WORK], 1);
    }
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

/* The n-th allocation fails, for every n there is. */
START_TEST(no_memory)
{
    cubin_synth synth = LEGACY;
    cv_ledger ledger = { 0 };
    cv_builder builder;
    cuvet_status status;
    uint64_t extent, count = 0;

    cv_builder_init(&builder, &ctx.mem);
    build(&builder, &synth);
    do {
        heap_fail(&memory, ++count, false);
        status = examine(cv_builder_span(&builder), &ledger, &extent);
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        cv_cubin_free(&ctx, &cubin);
        cv_ledger_free(&ctx, &ledger);
    } while (status != CUVET_OK);
    ck_assert_uint_gt(count, 3);
    heap_mend(&memory);
    ctx.mem.limit = ctx.mem.live + 64; /* the budget instead of the allocator */
    ck_assert_int_eq(examine(cv_builder_span(&builder), NULL, &extent), CUVET_E_LIMIT);
    ck_assert_uint_eq(seen[CV_R_LIMIT_LIVE], 1);
    cv_cubin_free(&ctx, &cubin);
    cv_builder_free(&builder);
}
END_TEST

Suite *suite_test_cubin_synth(void)
{
    Suite *suite = suite_create("cubin_synth");
    TCase *tcase = tcase_create("cubin_synth");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, legacy_is_clean, 0, 4);
    tcase_add_test(tcase, legacy_flags);
    tcase_add_test(tcase, barriers_of_older_objects);
    tcase_add_test(tcase, legacy_details);
    tcase_add_test(tcase, hand_assembled);
    tcase_add_test(tcase, one_long_name);
    tcase_add_test(tcase, class32);
    tcase_add_test(tcase, extended_numbering);
    tcase_add_test(tcase, trailing_bytes);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, no_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
