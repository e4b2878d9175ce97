/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELFs when something runs out while their code is compared and while wrappers are looked for beside the
 * sections; and objects with more section headers than are read at once, which may fail each time. */
#include <check.h>

#include "support/heap.h"
#include "unit/host/host_image.h"

#define MORE  0x380
#define ENTRY (DYNAMIC + 48)

/* ---- what runs out ---- */

typedef enum fault_kind { BY_WORK, BY_READ, BY_ALLOC, BY_ALLOCS, N_FAULTS } fault_kind;

static const cuvet_status STATUS[] = { CUVET_E_LIMIT, CUVET_E_IO, CUVET_E_NOMEM, CUVET_E_NOMEM };

static uint64_t fail_at, calls;
static const uint8_t *bytes;
static heap_state heap;

static cuvet_status read_some(void *user, uint64_t off, void *buf, size_t len)
{
    (void)user;
    if (++calls == fail_at)
        return CUVET_E_IO;
    memcpy(buf, bytes + off, len);
    return CUVET_OK;
}

static void begin(void)
{
    start();
    heap = (heap_state){ 0 };
    ctx.mem.alloc = heap_alloc(&heap);
    fail_at = 0;
}

/* From here on it fails, at the nth time. */
static void arm(fault_kind kind, uint64_t nth)
{
    calls = 0;
    if (kind == BY_WORK)
        cv_ctx_set_work(&ctx, nth);
    else if (kind == BY_READ)
        fail_at = nth + 1;
    else
        heap_fail(&heap, (unsigned long)nth + 1, kind == BY_ALLOCS);
}

/* Has all been done, and nothing failed? */
static bool is_over(fault_kind kind, uint64_t nth, cuvet_status status)
{
    bool failed = kind == BY_WORK ? ctx.work_out : kind == BY_READ ? calls > nth : heap.failed > 0;

    ck_assert_msg(status == CUVET_OK || status == STATUS[kind], "kind %d, %u: %d", (int)kind, (unsigned)nth,
                  (int)status);
    ck_assert(status == CUVET_OK || failed);
    ck_assert_uint_lt(nth, 10000000);
    return !failed;
}

/* ---- code that is compared ---- */

/* Two relocations of an object's code; the packed ones of a program; a program without a known section. */
static void make_code(int form)
{
    if (form == 0) {
        make_object();
        section(S_SHNDX, 0, 4, 0, MORE, 48, S_SYMTAB, S_FATBIN, 24);
        put(MORE, 8, 8);
        put(MORE + 8, 8, 1);
        put(MORE + 24, 8, 0x28);
        put(MORE + 24 + 8, 8, 1);
        return;
    }
    make_shared();
    if (form == 2) {
        for (unsigned i = S_FATBIN; i < S_COUNT; i++)
            put(SH(i, NAME), 4, 0);
        return;
    }
    put(ENTRY, 8, 36);
    put(ENTRY + 8, 8, VADDR + MORE);
    put(ENTRY + 16, 8, 35);
    put(ENTRY + 24, 8, 16);
    put(ENTRY + 32, 8, 0);
    put(PHDRS + 56 + 32, 8, 64 + 32);
    put(MORE, 8, VADDR + FATBIN - 16);
    put(MORE + 8, 8, 1 | 1 << 2 | 1 << 3); /* the first words of the code */
}

START_TEST(code_compared)
{
    static const unsigned FOUND[] = { 2, 2, 0 };
    int form = _i / N_FAULTS;
    fault_kind kind = (fault_kind)(_i % N_FAULTS);
    bool over = false;

    for (uint64_t nth = 0; !over; nth++) {
        cuvet_source src = { sizeof(src), BASE + SIZE, read_some, NULL, -1 };
        cv_host_extents code = { 0 };
        cuvet_status status;

        begin();
        bytes = file;
        make_code(form);
        ck_assert_int_eq(cv_host_read(&ctx, &src, BASE, SIZE, &host), CUVET_OK);
        ck_assert_uint_eq(n_diags, 0);
        for (unsigned i = 0; i < 3; i++)
            ck_assert(cv_host_extents_push(
                &ctx.mem, &code,
                (cv_host_extent){ BASE + FATBIN + 0x10 * i, BASE + FATBIN + 0x10 * i + 0x10 }));
        arm(kind, nth);
        status = cv_host_check_intact(&ctx, &src, &host, &code);
        over = is_over(kind, nth, status);
        ck_assert(!over || (status == CUVET_OK && n_diags == FOUND[form]));
        cv_host_extents_free(&ctx.mem, &code);
        done();
        ck_assert_int_eq(heap.live, 0);
    }
}
END_TEST

/* ---- wrappers that are looked for ---- */

/* Beside the sections, in parts of two segments; and where no section says anything of use. */
static void make_hidden(int form)
{
    make_shared();
    put(SH(S_SEGMENT, NAME), 4, 0);
    if (form == 1) {
        memcpy(img + PHDRS + 112, img + PHDRS, 56);
        put(PHDRS + 112 + 8, 8, SIZE);
        put(PHDRS + 112 + 16, 8, VADDR + 0x10000);
        put(PHDRS + 112 + 32, 8, 32);
        put(PHDRS + 112 + 40, 8, 32);
        put(56, 2, 3);
    } else {
        put(SH(S_FATBIN, NAME), 4, 0);
        put(SH(S_MODULE, NAME), 4, 0);
        put(SH(S_SEGMENT, TYPE), 4, 8);
    }
}

START_TEST(hidden)
{
    int form = _i / N_FAULTS;
    fault_kind kind = (fault_kind)(_i % N_FAULTS);
    bool over = false;

    for (uint64_t nth = 0; !over; nth++) {
        cuvet_source src = { sizeof(src), BASE + SIZE + 32, read_some, NULL, -1 };
        cuvet_status status;

        begin();
        bytes = file;
        make_hidden(form);
        ck_assert_int_eq(cv_host_read(&ctx, &src, BASE, SIZE + 32, &host), CUVET_OK);
        ck_assert_uint_eq(n_diags, 0);
        arm(kind, nth);
        status = cv_host_look_further(&ctx, &src, &host);
        over = is_over(kind, nth, status);
        ck_assert(!over || ctx.seen[CV_R_HOST_WRAPPER_PLACE] == 2);
        done();
        ck_assert_int_eq(heap.live, 0);
    }
}
END_TEST

/* ---- many sections ---- */

enum { WIDE_COUNT = 2100, WIDE_RELA = 2060, WIDE_CODE, WIDE_SHNDX = 2070, WIDE_FATBIN = 2080 };

static uint8_t wide[SIZE + 64 * WIDE_COUNT];

static void move_section(unsigned from, unsigned to)
{
    memcpy(wide + SIZE + 64 * to, img + SH(from, 0), 64);
    memset(wide + SIZE + 64 * from, 0, 64);
}

/* The relocations of the wrappers, and some of code, lie behind the first run of headers; the symbols name
 * sections before it, or behind. */
static void make_wide(bool extended)
{
    make_object();
    put(40, 8, SIZE);
    put(60, 2, WIDE_COUNT);
    if (extended) {
        put(SYMBOLS + 24 + 6, 2, 0xFFFF);
        put(SYMBOLS + 72 + 6, 2, 0xFFFF);
        put(SHNDX + 4, 4, WIDE_FATBIN);
        put(SHNDX + 12, 4, WIDE_FATBIN);
    }
    put(MORE, 8, 0);
    put(MORE + 8, 8, 1);
    memset(wide, 0, sizeof(wide));
    memcpy(wide, img, SIZE);
    memcpy(wide + SIZE, img + SECTIONS, 64 * S_COUNT);
    move_section(S_RELA, WIDE_RELA);
    move_section(S_SHNDX, WIDE_SHNDX);
    if (extended)
        move_section(S_FATBIN, WIDE_FATBIN);
    section(S_SHNDX, 0, 4, 0, MORE, 24, S_SYMTAB, extended ? WIDE_FATBIN : S_FATBIN, 24);
    memcpy(wide + SIZE + 64 * WIDE_CODE, img + SH(S_SHNDX, 0), 64);
}

START_TEST(many_sections)
{
    fault_kind kind = (fault_kind)(_i % N_FAULTS);
    bool over = false;

    for (uint64_t nth = 0; !over; nth += kind == BY_WORK ? 20011 : 1) {
        cuvet_source src = { sizeof(src), sizeof(wide), read_some, NULL, -1 };
        cuvet_status status;

        begin();
        make_wide(_i >= N_FAULTS);
        cv_ctx_unit(&ctx, sizeof(wide));
        bytes = wide;
        arm(kind, nth);
        status = cv_host_read(&ctx, &src, 0, sizeof(wide), &host);
        if (status == CUVET_OK) {
            cv_host_extents code = { 0 };

            ck_assert_uint_eq(n_diags, 0);
            ck_assert_uint_eq(host.named.count, 2);
            ck_assert_uint_eq(*cv_u64s_at(&host.named, 0), FATBIN);
            if (cv_host_extents_push(&ctx.mem, &code, (cv_host_extent){ FATBIN, FATBIN + 0x40 }))
                status = cv_host_check_intact(&ctx, &src, &host, &code);
            cv_host_extents_free(&ctx.mem, &code);
        }
        over = is_over(kind, nth, status);
        ck_assert(!over || (n_diags == 1 && last.rule == CV_R_HOST_RELOC_CODE));
        done();
        ck_assert_int_eq(heap.live, 0);
    }
}
END_TEST

/* Wrappers in two sections, each with relocations of its own. */
START_TEST(two_sections_of_wrappers)
{
    cuvet_status status;

    begin();
    make_object();
    section(S_SEGMENT, name_of(".nvFatBinSegment"), 1, 0, SEGMENT, 24, 0, 0, 0);
    section(S_SHNDX, name_of(".nvFatBinSegment"), 1, 0, SEGMENT + 24, 24, 0, 0, 0);
    section(S_RELA, name_of(".rela.x"), 4, 0, RELOCS, 24, S_SYMTAB, S_SEGMENT, 24);
    section(S_REFS, name_of(".rela.x"), 4, 0, RELOCS + 24, 48, S_SYMTAB, S_SHNDX, 24);
    reloc(1, 8, 3, 1, 0x10);
    reloc(2, 16, 2, 1, 0);
    status = read_size(SIZE);
    ck_assert_int_eq(status, CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    expect_named(2, FATBIN, FATBIN + 0x20);
    done();
}
END_TEST

Suite *suite_model_host_wide(void);
Suite *suite_model_host_wide(void)
{
    Suite *suite = suite_create("host/host_wide");
    TCase *tcase = tcase_create("wide");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, code_compared, 0, 3 * N_FAULTS);
    tcase_add_loop_test(tcase, hidden, 0, 2 * N_FAULTS);
    tcase_add_loop_test(tcase, many_sections, 0, 2 * N_FAULTS);
    tcase_add_test(tcase, two_sections_of_wrappers);
    suite_add_tcase(suite, tcase);
    return suite;
}
