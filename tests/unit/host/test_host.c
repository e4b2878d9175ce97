/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELFs: a small relocatable object and a small shared object, built here, then one field after the other
 * made wrong. */
#include <check.h>
#include <stdlib.h>

#include "unit/host/host_image.h"

START_TEST(object)
{
    make_object();
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(host.type, 1);
    ck_assert_uint_eq(host.machine, 62);
    ck_assert(!host.searched && !host.is32);
    ck_assert_uint_eq(host.sections.count, 4);
    ck_assert_int_eq(cv_host_sections_at(&host.sections, 0)->kind, CV_HOSTOBJ_FATBIN);
    ck_assert_uint_eq(cv_host_sections_at(&host.sections, 0)->off, BASE + FATBIN);
    ck_assert_uint_eq(cv_host_sections_at(&host.sections, 0)->size, 0x40);
    ck_assert_int_eq(cv_host_sections_at(&host.sections, 2)->kind, CV_HOSTOBJ_MODULE_ID);
    ck_assert_uint_eq(cv_host_sections_at(&host.sections, 3)->index, S_REFS);
    ck_assert_uint_eq(host.wrappers.count, 2);
    ck_assert_uint_eq(cv_host_wrappers_at(&host.wrappers, 1)->version, 2);
    expect_named(2, FATBIN, FATBIN + 0x20);
    done();
}
END_TEST

/* The order of the section table does not matter. */
START_TEST(sections_in_file_order)
{
    make_object();
    section(S_FATBIN, name_of(".nvHRKE"), 1, 0, REFS, 6, 0, 0, 0);
    section(S_REFS, name_of(".nv_fatbin"), 1, 0, FATBIN, 0x40, 0, 0, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(host.sections.count, 4);
    for (uint64_t i = 1; i < host.sections.count; i++)
        ck_assert_uint_lt(cv_host_sections_at(&host.sections, i - 1)->off,
                          cv_host_sections_at(&host.sections, i)->off);
    ck_assert_uint_eq(cv_host_sections_at(&host.sections, 0)->index, S_REFS);
    ck_assert_uint_eq(host.wrappers.count, 2);
    done();
}
END_TEST

START_TEST(shared_object)
{
    make_shared();
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(host.type, 3);
    expect_named(2, FATBIN, FATBIN + 0x20);
    done();
}
END_TEST

/* The same file without its section table, and with one that cannot be used: the wrappers are found by their
 * first bytes. */
START_TEST(stripped)
{
    for (int i = 0; i < 5; i++) {
        start();
        make_shared();
        if (i == 0)
            put(40, 8, 0);
        if (i == 1)
            put(62, 2, 0);
        if (i == 2)
            put(60, 2, 1);
        if (i == 3)
            put(SH(S_NAMES, TYPE), 4, 8);
        if (i == 4)
            put(58, 2, 63);
        put(0x3F0, 4, 0x466243B1); /* data that looks like a wrapper, without a pointer */
        put(0x3F4, 4, 1);
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert_uint_eq(n_diags, i == 4);
        ck_assert(host.searched);
        ck_assert_uint_eq(host.wrappers.count, 2);
        expect_named(2, FATBIN, FATBIN + 0x20);
        cv_host_check_wrappers(&ctx, &host, &(cv_u64s){ 0 });
        ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_CONTAINER], 2); /* both name no container */
        done();
    }
    /* an object without sections cannot say anything */
    start();
    make_object();
    put(40, 8, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(host.wrappers.count, 0);
    ck_assert_uint_eq(n_diags, 0);
    done();
}
END_TEST

typedef struct host_edit {
    const char *what;
    bool shared;
    unsigned at, width;
    uint64_t value;
    cv_rule rule; /* CV_N_RULES: still a good file */
    uint64_t off, got, want;
    uint64_t named;
} host_edit;

static const host_edit edits[] = {
    { "class", false, 4, 1, 3, CV_R_HOST_IDENT, 4, 0x30101, 0, 0 },
    { "data", false, 5, 1, 0, CV_R_HOST_IDENT, 4, 0x20001, 0, 0 },
    { "ident version", false, 6, 1, 2, CV_R_HOST_IDENT, 4, 0x20102, 0, 0 },
    { "big-endian", false, 5, 1, 2, CV_R_HOST_BIG_ENDIAN, 5, 2, 1, 0 },
    { "e_type core", false, 16, 2, 4, CV_N_RULES, 0, 0, 0, 0 },
    { "shentsize", false, 58, 2, 40, CV_R_HOST_SHENTSIZE, 58, 40, 64, 0 },
    { "shoff past end", false, 40, 8, SIZE + 1, CV_R_HOST_SHDR_RANGE, SIZE, 64, 0, 0 },
    { "shoff huge", false, 40, 8, UINT64_MAX, CV_R_HOST_SHDR_RANGE, SIZE, 64, 0, 0 },
    { "shnum too many", false, 60, 2, 17, CV_R_HOST_SHDR_RANGE, SECTIONS, 17 * 64, 1024, 0 },
    { "shnum that just fits", false, 60, 2, 16, CV_N_RULES, 0, 0, 0, 2 },
    { "shnum extended huge", false, SH(0, SIZ), 8, 1, CV_N_RULES, 0, 0, 0, 2 },
    { "shstrndx", false, 62, 2, S_COUNT, CV_R_HOST_SHSTRNDX, 62, S_COUNT, S_COUNT, 0 },
    { "shstrndx is no table", false, 62, 2, S_FATBIN, CV_R_HOST_SHSTRNDX, 62, S_FATBIN, S_COUNT, 0 },
    { "names size", false, SH(S_NAMES, SIZ), 8, SIZE, CV_R_HOST_NAMES_RANGE, NAMES, SIZE, SIZE - NAMES, 0 },
    { "names offset", false, SH(S_NAMES, OFFSET), 8, SIZE + 1, CV_R_HOST_NAMES_RANGE, SIZE, sizeof(names), 0,
      0 },
    { "name offset", false, SH(S_SYMTAB, NAME), 4, sizeof(names), CV_R_HOST_NAME_OFFSET, SH(S_SYMTAB, 0),
      sizeof(names), sizeof(names), 2 },
    { "name at the end", false, SH(S_SYMTAB, NAME), 4, sizeof(names) - 1, CV_N_RULES, 0, 0, 0, 2 },
    { "section size", false, SH(S_SEGMENT, SIZ), 8, SIZE, CV_R_HOST_SECTION_RANGE, SEGMENT, SIZE,
      SIZE - SEGMENT, 0 },
    { "section offset", false, SH(S_SEGMENT, OFFSET), 8, UINT64_MAX, CV_R_HOST_SECTION_RANGE, SIZE, 48, 0,
      0 },
    { "section type", false, SH(S_REFS, TYPE), 4, 7, CV_R_HOST_SECTION_TYPE, REFS, 7, 1, 2 },
    { "section without bytes", false, SH(S_REFS, TYPE), 4, 8, CV_R_HOST_SECTION_TYPE, REFS, 8, 1, 2 },
    { "debug file", true, SH(S_MODULE, TYPE), 4, 8, CV_N_RULES, 0, 0, 0, 2 },
    { "compressed", false, SH(S_REFS, FLAGS), 8, 0x802, CV_R_HOST_SECTION_COMPRESSED, REFS, 6, 0, 2 },
    { "mapping", true, SH(S_FATBIN, ADDR), 8, VADDR + FATBIN + 8, CV_R_HOST_SECTION_MAPPING, FATBIN,
      BASE + FATBIN, BASE + FATBIN + 8, 2 },
    { "wrappers outside of segments", true, SH(S_SEGMENT, ADDR), 8, 8, CV_R_HOST_WRAPPER_UNLOADED, SEGMENT, 8,
      0, 2 },
    { "address outside of segments", true, SH(S_FATBIN, ADDR), 8, 8, CV_N_RULES, 0, 0, 0, 2 },
    { "phentsize", true, 54, 2, 32, CV_R_HOST_PHENTSIZE, 54, 32, 56, 0 },
    { "phoff", true, 32, 8, SIZE - 111, CV_R_HOST_PHDR_RANGE, SIZE - 111, 112, 111, 0 },
    { "phnum", true, 56, 2, 0xFFFF, CV_R_HOST_PHDR_RANGE, PHDRS, 56 * 0xFFFF, SIZE - PHDRS, 0 },
    { "no program headers", true, 56, 2, 0, CV_R_HOST_WRAPPER_NULL, SEGMENT + 8, 0, 0, 0 },
    { "load outside of the file", true, PHDRS + 32, 8, SIZE + 1, CV_R_HOST_WRAPPER_UNLOADED, SEGMENT,
      VADDR + SEGMENT, 0, 0 },
    { "dynamic elsewhere", true, PHDRS + 56 + 16, 8, VADDR + DYNAMIC + 8, CV_R_HOST_DYNAMIC, DYNAMIC, 64,
      VADDR + DYNAMIC + 8, 1 },
    { "dynamic without an end", true, PHDRS + 56 + 32, 8, 48, CV_R_HOST_DYNAMIC, DYNAMIC, 48, DYNAMIC, 2 },
    { "dynamic without bytes", true, PHDRS + 56 + 32, 8, 0, CV_R_HOST_DYNAMIC, DYNAMIC, 0, VADDR + DYNAMIC,
      1 },
    { "dynamic outside", true, PHDRS + 56 + 8, 8, SIZE - 63, CV_R_HOST_DYNAMIC, SIZE - 63, 64, SIZE - 63, 1 },
    { "no dynamic", true, PHDRS + 56, 4, 4, CV_R_HOST_WRAPPER_NULL, SEGMENT + 8, 0, 0, 1 },
    { "relocations outside", true, DYNAMIC + 8, 8, VADDR + SIZE - 71, CV_R_HOST_DYNAMIC, DYNAMIC, 72,
      VADDR + SIZE - 71, 1 },
    { "relocation bytes", true, DYNAMIC + 24, 8, UINT64_MAX, CV_R_HOST_DYNAMIC, DYNAMIC, UINT64_MAX,
      VADDR + RELOCS, 1 },
    { "no relocations", true, DYNAMIC + 24, 8, 0, CV_R_HOST_WRAPPER_NULL, SEGMENT + 8, 0, 0, 1 },
    { "relocation entry", true, DYNAMIC + 40, 8, 16, CV_R_HOST_RELOC_ENTRY, DYNAMIC, 16, 24, 1 },
    { "relocation type", true, RELOCS + 24 + 8, 4, 1, CV_R_HOST_RELOC_TYPE, RELOCS + 24, 1, 8, 1 },
    { "stored value", true, SEGMENT + 32, 8, VADDR + FATBIN + 0x28, CV_R_HOST_WRAPPER_ADDEND, SEGMENT + 32,
      VADDR + FATBIN + 0x28, VADDR + FATBIN + 0x20, 2 },
    { "stored zero", true, SEGMENT + 32, 8, 0, CV_N_RULES, 0, 0, 0, 2 },
    { "address of nothing", true, RELOCS + 24 + 16, 8, VADDR + SIZE, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 8,
      VADDR + SIZE, 0, 1 },
    { "same container twice", true, RELOCS + 24 + 16, 8, VADDR + FATBIN + 0x20, CV_R_HOST_WRAPPER_TWICE,
      SEGMENT + 24, BASE + FATBIN + 0x20, 0, 1 },
    { "same place twice", true, RELOCS, 8, VADDR + SEGMENT + 8, CV_R_HOST_RELOC_WRAPPER, RELOCS + 24, 8,
      BASE + SEGMENT + 8, 2 },
    { "half a pointer", true, RELOCS, 8, VADDR + SEGMENT + 4, CV_R_HOST_RELOC_WRAPPER, RELOCS, 8,
      BASE + SEGMENT + 4, 2 },
    { "last byte of a wrapper", true, RELOCS, 8, VADDR + SEGMENT + 47, CV_R_HOST_RELOC_WRAPPER, RELOCS, 8,
      BASE + SEGMENT + 47, 2 },
    { "behind the wrappers", true, RELOCS, 8, VADDR + SEGMENT + 48, CV_N_RULES, 0, 0, 0, 2 },
    { "first byte of a wrapper", true, RELOCS, 8, VADDR + SEGMENT - 7, CV_R_HOST_RELOC_WRAPPER, RELOCS, 8,
      BASE + SEGMENT - 7, 2 },
    { "before the wrappers", true, RELOCS, 8, VADDR + SEGMENT - 8, CV_N_RULES, 0, 0, 0, 2 },
    { "second pointer", true, RELOCS, 8, VADDR + SEGMENT + 40, CV_N_RULES, 0, 0, 0, 2 },
    { "object entry size", false, SH(S_RELA, ENT), 8, 16, CV_R_HOST_RELOC_ENTRY, RELOCS, 16, 24, 0 },
    { "object entry size zero", false, SH(S_RELA, ENT), 8, 0, CV_N_RULES, 0, 0, 0, 2 },
    { "object table outside", false, SH(S_RELA, OFFSET), 8, SIZE - 71, CV_R_HOST_RELOC_ENTRY, SIZE - 71, 24,
      0, 0 },
    { "object table of another section", false, SH(S_RELA, INFO), 4, S_FATBIN, CV_R_HOST_WRAPPER_TARGET,
      SEGMENT + 8, 0, 0, 0 },
    { "object symbol", false, RELOCS + 12, 4, 4, CV_R_HOST_RELOC_SYMBOL, RELOCS, 4, 4, 1 },
    { "object symbol table index", false, SH(S_RELA, LINK), 4, 99, CV_R_HOST_RELOC_SYMBOL, RELOCS, 1, 0, 0 },
    { "object symbol table is none", false, SH(S_SYMTAB, TYPE), 4, 1, CV_R_HOST_RELOC_SYMBOL, RELOCS, 1, 0,
      0 },
    { "object symbol table outside", false, SH(S_SYMTAB, OFFSET), 8, SIZE - 95, CV_R_HOST_RELOC_SYMBOL,
      RELOCS, 1, 0, 0 },
    { "object type", false, RELOCS + 8, 4, 2, CV_R_HOST_RELOC_TYPE, RELOCS, 2, 1, 1 },
    { "object undefined", false, RELOCS + 12, 4, 2, CV_R_HOST_RELOC_UNDEFINED, RELOCS, 2, 0, 1 },
    { "object addend last byte", false, RELOCS + 16, 8, 0x3F, CV_N_RULES, 0, 0, 0, 2 },
    { "object addend", false, RELOCS + 16, 8, 0x40, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 8, 0x40, 0, 1 },
    { "object addend negative", false, RELOCS + 16, 8, UINT64_MAX, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 8,
      UINT64_MAX, 0, 1 },
    { "object symbol value", false, SYMBOLS + 72 + 8, 8, 0x40, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 32, 0x10,
      0, 1 },
    { "object symbol absolute", false, SYMBOLS + 72 + 6, 2, 0xFFF1, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 32,
      0x10, 0, 1 },
    { "object symbol section", false, SYMBOLS + 72 + 6, 2, S_COUNT, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 32,
      0x10, 0, 1 },
    { "object symbol extended", false, SYMBOLS + 72 + 6, 2, 0xFFFF, CV_N_RULES, 0, 0, 0, 2 },
    { "object target without bytes", false, SH(S_FATBIN, TYPE), 4, 8, CV_R_HOST_SECTION_TYPE, FATBIN, 8, 1,
      0 },
    { "no relocation for the first", false, RELOCS + 8, 4, 0, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 8, 0, 0,
      1 },
    { "relocation of the magic", false, RELOCS, 8, 0, CV_R_HOST_RELOC_WRAPPER, RELOCS, 8, 0, 1 },
    { "object same place twice", false, RELOCS + 48, 8, 32, CV_R_HOST_RELOC_WRAPPER, RELOCS + 48, 8, 32, 1 },
    { "same container", false, RELOCS + 24 + 16, 8, UINT64_C(0) - 0x10, CV_R_HOST_WRAPPER_TARGET,
      SEGMENT + 32, UINT64_C(0) - 0x10, 0, 1 },
    { "segment size", false, SH(S_SEGMENT, SIZ), 8, 47, CV_R_HOST_WRAPPER_SIZE, SEGMENT, 47, 24, 1 },
    { "wrapper magic", false, SEGMENT, 1, 0, CV_R_HOST_WRAPPER_MAGIC, SEGMENT, 0x46624300, 0x466243B1, 1 },
    { "wrapper version", true, SEGMENT + 4, 1, 3, CV_R_HOST_WRAPPER_VERSION, SEGMENT + 4, 3, 1, 1 },
    { "module id end", false, MODULE_ID + 7, 1, 'x', CV_R_HOST_TEXT_END, MODULE_ID + 7, 'x', 0, 2 },
    { "reference byte", false, REFS + 2, 1, 7, CV_R_HOST_TEXT_BYTE, REFS + 2, 7, 0, 2 },
    { "machine", true, 18, 2, 8, CV_R_HOST_WRAPPER_HOST, 18, 8, 64, 0 },
    { "machine of an object", false, 18, 2, 183, CV_R_HOST_RELOC_TYPE, RELOCS, 1, 257, 0 },
};

START_TEST(edited)
{
    const host_edit *edit = &edits[_i];

    if (edit->shared)
        make_shared();
    else
        make_object();
    put(edit->at, edit->width, edit->value);
    if (strstr(edit->what, "shnum extended"))
        put(60, 2, S_COUNT); /* the stored number wins where it is not zero */
    ck_assert_msg(read_size(SIZE) == CUVET_OK, "%s", edit->what);
    ck_assert_msg((n_diags != 0) == (edit->rule != CV_N_RULES), "%s: %u diagnostics, first %u", edit->what,
                  n_diags, last.rule);
    if (n_diags) {
        ck_assert_msg(last.rule == edit->rule, "%s: rule %s", edit->what, cuvet_rule_get(last.rule)->id);
        ck_assert_msg(last.file_off == BASE + edit->off, "%s: at %llx", edit->what,
                      (unsigned long long)(last.file_off - BASE));
        ck_assert_msg(last.got == edit->got, "%s: got %llx", edit->what, (unsigned long long)last.got);
        ck_assert_msg(last.want == edit->want, "%s: want %llx", edit->what, (unsigned long long)last.want);
        ck_assert_uint_eq(last.where.step[0].kind, CUVET_P_HOST);
    }
    ck_assert_msg(host.named.count == edit->named, "%s: %llu named", edit->what,
                  (unsigned long long)host.named.count);
    done();
}
END_TEST

START_TEST(extended_numbers)
{
    make_object();
    put(60, 2, 0);
    put(62, 2, 0xFFFF);
    put(SH(0, SIZ), 8, S_COUNT);
    put(SH(0, LINK), 4, S_NAMES);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    expect_named(2, FATBIN, FATBIN + 0x20);
    done();
    /* a number that no file can hold */
    start();
    put(SH(0, SIZ), 8, UINT64_MAX / 2);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_HOST_SHDR_RANGE);
    ck_assert_uint_eq(last.got, UINT64_MAX);
    done();
    /* and no section at all */
    start();
    put(SH(0, SIZ), 8, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(host.sections.count, 0);
    done();
}
END_TEST

/* The table beside the symbol table that holds section numbers: each way in which it can fail to answer. */
START_TEST(extended_symbol)
{
    for (int i = 0; i < 4; i++) {
        start();
        make_object();
        put(SYMBOLS + 72 + 6, 2, 0xFFFF);
        if (i == 0)
            put(SH(S_SHNDX, TYPE), 4, 1);
        if (i == 1)
            put(SH(S_SHNDX, LINK), 4, S_FATBIN);
        if (i == 2)
            put(SH(S_SHNDX, SIZ), 8, 12);
        if (i == 3)
            put(SH(S_SHNDX, OFFSET), 8, SIZE);
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, CV_R_HOST_RELOC_UNDEFINED);
        expect_named(1, FATBIN, 0);
        done();
    }
}
END_TEST

START_TEST(rel_tables)
{
    make_object();
    put(SH(S_RELA, TYPE), 4, 9);
    put(SH(S_RELA, SIZ), 8, 32);
    put(SH(S_RELA, ENT), 8, 16);
    put(RELOCS + 16, 8, 32);
    put(RELOCS + 24, 4, 1);
    put(RELOCS + 28, 4, 3);
    put(SEGMENT + 32, 8, 0x18);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    expect_named(2, FATBIN, FATBIN + 0x28);
    done();
}
END_TEST

/* Two pointers to one container in an object, and a wrapper without any relocation table. */
START_TEST(object_twice)
{
    make_object();
    reloc(1, 32, 1, 1, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_TWICE);
    ck_assert_uint_eq(last.want, 0);
    ck_assert_uint_eq(last.where.step[1].kind, CUVET_P_WRAPPER);
    ck_assert_uint_eq(last.where.step[1].index, 1);
    expect_named(1, FATBIN, 0);
    done();
}
END_TEST

START_TEST(old_wrapper_and_second_pointer)
{
    make_object();
    put(SEGMENT, 4, 0x1EE55A01);
    put(SEGMENT + 24 + 4, 4, 1);
    put(SEGMENT + 24 + 16, 8, 9);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 2);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_OLD);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_SECOND], 1);
    expect_named(1, FATBIN + 0x20, 0);
    done();
}
END_TEST

/* 32-bit: sections are kept, wrappers are not followed, and nothing is said where there are none. */
START_TEST(class32)
{
    static const struct {
        unsigned name;
        uint32_t type, off, size;
    } callback[] = {
        { 0, 0, 0, 0 }, { 1, 1, FATBIN, 0x40 }, { 12, 1, SEGMENT, 16 }, { 0, 3, NAMES, sizeof(names) }
    };

    for (int k = 0; k < 4; k++) {
        int with = k & 1;

        start();
        ident(1);
        img[4] = 1;
        memset(img + 16, 0, 48);
        put(16, 2, k < 2 ? 1 : 3);
        put(18, 2, 3);
        put(20, 4, 1);
        put(32, 4, SECTIONS);
        put(40, 2, 52);
        put(46, 2, 40);
        put(48, 2, 4);
        put(50, 2, 3);
        for (unsigned i = 0; i < 4; i++) {
            put(SECTIONS + 40 * i, 4, i == 2 && !with ? 0 : callback[i].name);
            put(SECTIONS + 40 * i + 4, 4, callback[i].type);
            put(SECTIONS + 40 * i + 16, 4, callback[i].off);
            put(SECTIONS + 40 * i + 20, 4, callback[i].size);
        }
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert(host.is32);
        ck_assert_uint_eq(n_diags, (unsigned)with);
        ck_assert_uint_eq(host.sections.count, 1 + (uint64_t)with);
        ck_assert_uint_eq(host.wrappers.count, 0);
        if (with)
            ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_HOST);
        done();
    }
}
END_TEST

START_TEST(cut_header)
{
    for (uint64_t count = 4; count < 64; count++) {
        start();
        make_object();
        ck_assert_int_eq(read_size(count), CUVET_OK);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, CV_R_HOST_TRUNCATED);
        ck_assert_uint_eq(last.got, count);
        ck_assert_uint_eq(last.want, 64);
        done();
    }
}
END_TEST

/* Every prefix of a whole file breaks a rule: the section table is its last part. */
START_TEST(every_prefix)
{
    for (uint64_t count = 64; count < SECTIONS + 64 * S_COUNT; count++) {
        start();
        if (_i)
            make_shared();
        else
            make_object();
        ck_assert_int_eq(read_size(count), CUVET_OK);
        ck_assert_uint_ge(ctx.n_errors, 1);
        ck_assert_uint_eq(last.rule, CV_R_HOST_SHDR_RANGE);
        done();
    }
}
END_TEST

/* Every byte set to values that matter: a verdict, all places inside of the file, the same again on a second
 * run. */
START_TEST(every_byte)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7F, 0x80, 0xFF };

    for (unsigned at = 0; at < SECTIONS + 64 * S_COUNT; at++)
        for (size_t k = 0; k < sizeof(values); k++) {
            unsigned count = 0;
            uint64_t named = 0;

            for (int run = 0; run < 2; run++) {
                start();
                if (_i)
                    make_shared();
                else
                    make_object();
                img[at] = values[k];
                ck_assert_int_eq(read_size(SIZE), CUVET_OK);
                if (n_diags) {
                    ck_assert(last.file_off >= BASE && last.file_off <= BASE + SIZE);
                }
                for (uint64_t i = 0; i < host.named.count; i++)
                    ck_assert(*cv_u64s_at(&host.named, i) >= BASE &&
                              *cv_u64s_at(&host.named, i) < BASE + SIZE);
                ck_assert(run == 0 || (count == n_diags && named == host.named.count));
                count = n_diags;
                named = host.named.count;
                done();
            }
        }
}
END_TEST

START_TEST(wrappers_against_containers)
{
    cv_u64s found = { 0 };

    make_object();
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert(cv_host_names(&host, BASE + FATBIN));
    ck_assert(cv_host_names(&host, BASE + FATBIN + 0x20));
    ck_assert(!cv_host_names(&host, BASE + FATBIN + 0x10));
    ck_assert(!cv_host_names(&host, 0));
    ck_assert(!cv_host_names(&host, UINT64_MAX));
    ck_assert(cv_u64s_push(&ctx.mem, &found, 16));
    ck_assert(cv_u64s_push(&ctx.mem, &found, BASE + FATBIN));
    ck_assert(cv_u64s_push(&ctx.mem, &found, BASE + FATBIN + 0x20));
    cv_host_check_wrappers(&ctx, &host, &found);
    ck_assert_uint_eq(n_diags, 0);
    found.count = 2;
    cv_host_check_wrappers(&ctx, &host, &found);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_CONTAINER);
    ck_assert_uint_eq(last.file_off, BASE + SEGMENT + 32);
    ck_assert_uint_eq(last.got, BASE + FATBIN + 0x20);
    ck_assert_uint_eq(last.where.step[1].index, 1);
    cv_u64s_free(&ctx.mem, &found);
    done();
}
END_TEST

/* A name table above what is read: a note, and the search instead. */
START_TEST(names_too_large)
{
    uint64_t size = (UINT64_C(17) << 20);
    uint8_t *big = calloc(1, size);
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_ptr_nonnull(big);
    make_shared();
    put(SH(S_NAMES, OFFSET), 8, SIZE);
    put(SH(S_NAMES, SIZ), 8, (16 << 20) + 1);
    memcpy(big, img, SIZE);
    ck_assert_int_eq(cuvet_source_memory(big, size, &src), CUVET_OK);
    cv_ctx_unit(&ctx, size);
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, size, &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_HOST_NAMES_SIZE);
    ck_assert(host.searched);
    ck_assert_uint_eq(host.named.count, 2);
    cv_host_free(&ctx, &host);
    free(big);
}
END_TEST

/* Long string sections are read in parts, each judged. */
START_TEST(long_text)
{
    static uint8_t big[200000];
    cuvet_source src = { .size = sizeof(src) };

    make_object();
    memcpy(big, img, SIZE);
    memset(big + SIZE, 'a', sizeof(big) - SIZE);
    big[sizeof(big) - 1] = 0;
    for (unsigned i = 0; i < 8; i++) {
        big[SH(S_MODULE, OFFSET) + i] = (uint8_t)((uint64_t)SIZE >> 8 * i);
        big[SH(S_MODULE, SIZ) + i] = (uint8_t)((sizeof(big) - SIZE) >> 8 * i);
    }
    ck_assert_int_eq(cuvet_source_memory(big, sizeof(big), &src), CUVET_OK);
    cv_ctx_unit(&ctx, sizeof(big));
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, sizeof(big), &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    cv_host_free(&ctx, &host);
    big[150000] = 1;
    big[160000] = 1;
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, sizeof(big), &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.file_off, 150000);
    cv_host_free(&ctx, &host);
}
END_TEST

Suite *suite_model_host(void);
Suite *suite_model_host(void)
{
    Suite *suite = suite_create("host/host");
    TCase *tcase = tcase_create("read");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, object);
    tcase_add_test(tcase, sections_in_file_order);
    tcase_add_test(tcase, shared_object);
    tcase_add_test(tcase, stripped);
    tcase_add_loop_test(tcase, edited, 0, sizeof(edits) / sizeof(edits[0]));
    tcase_add_test(tcase, extended_numbers);
    tcase_add_test(tcase, extended_symbol);
    tcase_add_test(tcase, rel_tables);
    tcase_add_test(tcase, object_twice);
    tcase_add_test(tcase, old_wrapper_and_second_pointer);
    tcase_add_test(tcase, class32);
    tcase_add_test(tcase, cut_header);
    tcase_add_loop_test(tcase, every_prefix, 0, 2);
    tcase_add_loop_test(tcase, every_byte, 0, 2);
    tcase_add_test(tcase, wrappers_against_containers);
    tcase_add_test(tcase, names_too_large);
    tcase_add_test(tcase, long_text);
    suite_add_tcase(suite, tcase);
    return suite;
}
