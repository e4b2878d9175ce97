/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The debug remap over files of compilers: bytes are put into the code of every function, and what the debug
 * sections say afterwards is read by a decoder of this file, which shares nothing with the library. */
#include <check.h>

#include "remap_rows.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static const char *const FILES[] = { "finalize/lines.sm_75.g.rdc",         "finalize/lines.sm_90.lineinfo",
                                     "finalize/lines.sm_100.lineinfo",     "finalize/lines.sm_100.g.rdc",
                                     "finalize/lines.sm_120.lineinfo.rdc", "samples/plain.sm_100.g",
                                     "samples/plain.sm_75.lineinfo" };

static void check_lines(const remap_files_change *change, const char *name)
{
    static remap_rows was, is;
    uint32_t section = section_named(name);
    unsigned moved = 0;

    ck_assert_uint_gt(section, 0);
    decode_lines(section, false, &was);
    decode_lines(section, true, &is);
    ck_assert_uint_gt(was.count, 1);
    ck_assert_uint_eq(was.count, is.count);
    for (unsigned i = 0; i < was.count; i++) {
        const remap_rows_row *left = &was.items[i], *right = &is.items[i];

        ck_assert_msg(left->line == right->line && left->file == right->file &&
                          left->section == right->section && left->end == right->end,
                      "%s: row %u is another", change->label, i);
        ck_assert_uint_eq(right->place, expect_place(change, left->place, size_before(left->section)));
        moved += left->place != right->place;
    }
    ck_assert_msg((moved > 0) == (change->in != change->out), "%s: %u rows moved", change->label, moved);
}

static void check_frames(const remap_files_change *change)
{
    static frame_rows was, is;
    uint32_t section = section_named(".debug_frame");

    ck_assert_uint_gt(section, 0);
    decode_frames(section, false, &was);
    decode_frames(section, true, &is);
    ck_assert_uint_gt(was.count, 1);
    ck_assert_uint_eq(was.count, is.count);
    for (unsigned i = 0; i < was.count; i++) {
        ck_assert_uint_eq(was.items[i].section, is.items[i].section);
        ck_assert_uint_eq(was.items[i].names,
                          is.items[i].names); /* no entry grew: compilers use four bytes */
        ck_assert_uint_eq(is.items[i].place,
                          expect_place(change, was.items[i].place, size_before(was.items[i].section)));
    }
}

/* Everything else that names code: places of variables, ranges of blocks. */
static unsigned check_others(const remap_files_change *change, const char *name)
{
    uint32_t target = section_named(name), was_in = 0, is_in = 0;
    uint64_t was = 0, is = 0;
    unsigned count = 0;

    for (uint64_t at = 0; target && at < cv_cubin_body(&cubin, target).len; at++) {
        if (!named_at(target, false, at, &was_in, &was))
            continue;
        ck_assert(named_at(target, true, at, &is_in, &is));
        ck_assert_uint_eq(was_in, is_in);
        if (size_before(was_in) == 0)
            continue;
        ck_assert_uint_eq(is, expect_place(change, was, size_before(was_in)));
        count += was != is;
    }
    return count;
}

static const remap_files_change CHANGES[] = {
    { "nothing", 0x40, 0, 0 },           { "one instruction more", 0x40, 16, 0 },
    { "much more", 0x70, 0x12340, 0 },   { "at the second instruction", 0x10, 32, 0 },
    { "one less", 0x40, 0, 16 },         { "four become one", 0x30, 16, 64 },
    { "four become six", 0x30, 96, 64 },
};

START_TEST(moved_files)
{
    const remap_files_change *change = &CHANGES[(unsigned)_i % N(CHANGES)];
    const char *name = FILES[(unsigned)_i / N(CHANGES)];
    cuvet_status st;

    load(name);
    change_code(change);
    st = cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code);
    ck_assert_msg(st == CUVET_OK && n_errors == 0 && code == CV_FINAL_OK, "%s, %s: %d, %s", name,
                  change->label, st, n_errors ? cuvet_rule_get(last.rule)->id : "-");
    if (change->in == change->out)
        ck_assert_msg(bodies.count == 0, "%s: the same map, other bytes", name);
    for (uint64_t i = 1; i < bodies.count; i++)
        ck_assert_uint_lt(cv_final_bodies_at(&bodies, i - 1)->section,
                          cv_final_bodies_at(&bodies, i)->section);
    check_lines(change, ".debug_line");
    check_lines(change, ".nv_debug_line_sass");
    check_frames(change);
    if (section_named(".debug_info")) {
        ck_assert_uint_eq(n_stale, 1);
        ck_assert_int_eq(check_others(change, ".debug_info") > 0, change->in != change->out);
        check_others(change, ".debug_loc");
    }
}
END_TEST

/* An identity for some, nothing for others: nothing is said and nothing changes. */
START_TEST(no_maps)
{
    load(FILES[0]);
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_OK);
    ck_assert_uint_eq(bodies.count, 0);
}
END_TEST

static cv_span body_now(uint32_t section)
{
    for (uint64_t i = 0; i < bodies.count; i++)
        if (cv_final_bodies_at(&bodies, i)->section == section)
            return cv_builder_span(&cv_final_bodies_at(&bodies, i)->bytes);
    return cv_cubin_body(&cubin, section);
}

/* What names a place in a section that became longer follows it. */
START_TEST(into_lines)
{
    const remap_files_change change = { "much more", 0x70, 0x12340, 0 };
    uint32_t table, lines;
    uint64_t was, i, at;
    cv_elf_symbol symbol;
    cv_elf_reloc reloc;

    load(FILES[3]);
    table = section_named(".rela.debug_info");
    lines = section_named(".debug_line");
    was = cv_cubin_body(&cubin, lines).len; /* its end: where one more unit would be */
    ck_assert_uint_lt(was, 0x10000);
    for (i = 0;; i++) {
        ck_assert_uint_lt(i, cv_cubin_body(&cubin, table).len / cv_elf_rel_size(false, true));
        cv_elf_read_reloc(cv_cubin_body(&cubin, table), false, true, i, &reloc);
        cv_elf_read_symbol(cubin.symtab, false, reloc.sym, &symbol);
        if (cv_cubin_shndx(&cubin, false, reloc.sym, &symbol) == lines)
            break;
    }
    at = cv_cubin_body(&cubin, table).off + i * cv_elf_rel_size(false, true) + 16;
    patch_loaded(at, (uint8_t)was);
    patch_loaded(at + 1, (uint8_t)(was >> 8));
    change_code(&change);
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_OK);
    ck_assert_uint_gt(body_now(lines).len, was);
    cv_elf_read_reloc(body_now(table), false, true, i, &reloc);
    ck_assert_uint_eq((uint64_t)reloc.addend, body_now(lines).len);
}
END_TEST

/* A symbol inside of its code: its value speaks of the new code, what is added to it of the old one. */
START_TEST(inner_symbols)
{
    const remap_files_change change = { "more", 0x40, 0x100, 0 };
    const uint64_t esize = cv_elf_rel_size(false, true);
    static uint8_t symbols[4096];
    uint32_t frames, symbol = 0;
    unsigned count = 0;
    cv_elf_symbol raw_symbol;
    cv_elf_reloc reloc;

    load(FILES[3]);
    frames = section_named(".rela.debug_frame");
    for (uint64_t i = 0; symbol == 0; i++) {
        ck_assert_uint_lt(i, cv_cubin_body(&cubin, frames).len / esize);
        cv_elf_read_reloc(cv_cubin_body(&cubin, frames), false, true, i, &reloc);
        cv_elf_read_symbol(cubin.symtab, false, reloc.sym, &raw_symbol);
        if (cv_cubin_sec(&cubin, cv_cubin_shndx(&cubin, false, reloc.sym, &raw_symbol))->role == CV_ROLE_TEXT)
            symbol = reloc.sym;
    }
    change_code(&change);
    /* what was at 0x60 is at 0x160; whoever names the symbol goes back by as much as before */
    ck_assert_uint_le(cubin.symtab.len, sizeof(symbols));
    cv_span_copy(cubin.symtab, symbols);
    symbols[symbol * cv_elf_sym_size(false) + 8] = 0x60;
    symbols[symbol * cv_elf_sym_size(false) + 9] = 0x01;
    cubin.symtab = cv_span_of(symbols, cubin.symtab.len, cubin.symtab.off);
    for (uint32_t i = 1; i < cubin.sec.count; i++)
        for (uint64_t k = 0;
             cv_cubin_sec(&cubin, i)->role == CV_ROLE_RELA && k < cv_cubin_body(&cubin, i).len / esize; k++) {
            cv_elf_read_reloc(cv_cubin_body(&cubin, i), false, true, k, &reloc);
            for (unsigned right = 0; reloc.sym == symbol && reloc.type == 2 && right < 8; right++)
                patch_loaded(cv_cubin_body(&cubin, i).off + k * esize + 16 + right,
                             (uint8_t)((uint64_t)(reloc.addend - 0x60) >> 8 * right));
        }
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_OK);
    for (uint64_t i = 0; i < cv_cubin_body(&cubin, frames).len / esize; i++) {
        cv_elf_read_reloc(body_now(frames), false, true, i, &reloc);
        if (reloc.sym != symbol || reloc.type != 2) /* the other names a size */
            continue;
        ck_assert_int_eq(reloc.addend, -0x160); /* the begin of the code is still the begin */
        count++;
    }
    ck_assert_uint_gt(count, 0);
}
END_TEST

/* One function moves, the others do not. */
START_TEST(one_function)
{
    const remap_files_change change = { "one", 0x40, 48, 0 };

    load(FILES[3]);
    change_code(&change);
    for (uint64_t i = 1; i < said.maps.count; i++)
        cv_secs_at(&cubin.sec, cv_offset_maps_at(&said.maps, i)->section)->header.size -= change.in;
    said.maps.count = 1;
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_OK);
    for (unsigned k = 0; k < 2; k++) {
        static remap_rows was, is;
        uint32_t section = section_named(k ? ".debug_line" : ".nv_debug_line_sass");

        decode_lines(section, false, &was);
        decode_lines(section, true, &is);
        ck_assert_uint_eq(was.count, is.count);
        for (unsigned i = 0; i < was.count; i++) {
            uint64_t code_size = size_before(was.items[i].section);

            ck_assert_uint_eq(is.items[i].place, code_size
                                                     ? expect_place(&change, was.items[i].place, code_size)
                                                     : was.items[i].place);
        }
    }
}
END_TEST

Suite *suite_remap(void);
Suite *suite_remap(void)
{
    Suite *suite = suite_create("remap");
    TCase *tcase = tcase_create("remap");

    tcase_add_checked_fixture(tcase, remap_setup, remap_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, moved_files, 0, (int)(N(FILES) * N(CHANGES)));
    tcase_add_test(tcase, no_maps);
    tcase_add_test(tcase, into_lines);
    tcase_add_test(tcase, inner_symbols);
    tcase_add_test(tcase, one_function);
    suite_add_tcase(suite, tcase);
    return suite;
}
