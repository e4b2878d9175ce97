/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where a scan says that device code lies: places of spec/places.def, in files that nvcc made, in archives
 * around them, and in such a file of which one relocation was changed. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "scan/scan.h"
#include "support/fatbins.h"

enum { MOST_ITEMS = 8, MOST_PLACES = 2, DEEPEST = 3 };

/* The second wrapper of host-merged.o names the second container: the addend of its relocation. */
#define SECOND_NAME  UINT64_C(0xEB8)
#define SECOND_PLACE UINT64_C(0x5B8)

static const struct {
    const char *sample;
    unsigned archives;                  /* around it, each in the next */
    uint64_t zeroed;                    /* eight bytes of the sample, or 0 */
    cuvet_place container[MOST_PLACES]; /* one after the other; the rest are as the last one */
} FILES[] = {
    { "elf-raw.fatbin", 0, 0, { CUVET_PLACE_FILE, CUVET_PLACE_FILE } },
    { "elf-raw.fatbin", 1, 0, { CUVET_PLACE_MEMBER, CUVET_PLACE_MEMBER } },
    { "elf-raw.fatbin", 2, 0, { CUVET_PLACE_ARCHIVE, CUVET_PLACE_ARCHIVE } },
    { "elf-raw.fatbin", 3, 0, { CUVET_PLACE_ARCHIVE, CUVET_PLACE_ARCHIVE } },
    { "back-to-back.fatbin", 0, 0, { CUVET_PLACE_FILE, CUVET_PLACE_FOLLOWING } },
    { "host-two_a.o", 0, 0, { CUVET_PLACE_OBJECT, CUVET_PLACE_OBJECT } },
    { "host-two_a.o", 1, 0, { CUVET_PLACE_OBJECT, CUVET_PLACE_OBJECT } },
    { "host-two_a.o", 2, 0, { CUVET_PLACE_ARCHIVE, CUVET_PLACE_ARCHIVE } },
    { "host-plain.o", 0, 0, { CUVET_PLACE_FINISHED, CUVET_PLACE_FINISHED } },
    { "host-plain.o", 1, 0, { CUVET_PLACE_FINISHED, CUVET_PLACE_FINISHED } },
    { "host-plain.exe", 0, 0, { CUVET_PLACE_PROGRAM, CUVET_PLACE_PROGRAM } },
    { "host-plain.so", 0, 0, { CUVET_PLACE_PROGRAM, CUVET_PLACE_PROGRAM } },
    /* Tools that link take no programs from archives. */
    { "host-plain.exe", 1, 0, { CUVET_PLACE_BYTES, CUVET_PLACE_BYTES } },
    { "host-plain.so", 1, 0, { CUVET_PLACE_BYTES, CUVET_PLACE_BYTES } },
    /* Images of offload binaries: as a file, in a member, in a section of an object, of a program. */
    { "../legal/offload-one.offload", 0, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/offload-one.offload", 1, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/CV-BC-001.offload-bitcode-object.o", 0, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/CV-BC-001.offload-bitcode-object.o", 1, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/offload-without-names.o", 0, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/offload-first-section.o", 0, 0, { CUVET_PLACE_OFFLOAD, CUVET_PLACE_OFFLOAD } },
    { "../legal/offload-program.so", 0, 0, { CUVET_PLACE_PROGRAM, CUVET_PLACE_PROGRAM } },
    { "../legal/offload-program.so", 1, 0, { CUVET_PLACE_BYTES, CUVET_PLACE_BYTES } },
    { "host-merged.o", 0, 0, { CUVET_PLACE_OBJECT, CUVET_PLACE_NAMED } },
    { "host-merged.o", 0, SECOND_NAME, { CUVET_PLACE_OBJECT, CUVET_PLACE_UNNAMED } },
};

static uint8_t bytes[1 << 16];

static void emit(void *user, const cuvet_diag *diag)
{
    unsigned *elsewhere = user;

    *elsewhere += diag->rule == CV_R_HOST_PLACE;
}

/* What is there becomes the only member of an archive; its new size. */
static uint64_t wrap(uint64_t size)
{
    char head[69];

    ck_assert_int_eq(snprintf(head, sizeof(head), "!<arch>\n%-16s%-12d%-6d%-6d%-8d%-10u`\n", "a/", 0, 0, 0,
                              644, (unsigned)size),
                     68);
    ck_assert_uint_le(size + 68 + 1, sizeof(bytes));
    memmove(bytes + 68, bytes, size);
    memcpy(bytes, head, 68);
    size += 68;
    if (size % 2)
        bytes[size++] = '\n';
    return size;
}

static uint64_t make(int row)
{
    size_t size;
    const uint8_t *from = sample(FILES[row].sample, &size, 0);

    ck_assert_uint_le(size, sizeof(bytes));
    memcpy(bytes, from, size);
    if (FILES[row].zeroed) {
        ck_assert_uint_eq(cv_u64_at(cv_span_of(bytes, size, 0), FILES[row].zeroed), SECOND_PLACE);
        memset(bytes + FILES[row].zeroed, 0, 8);
    }
    for (unsigned i = 0; i < FILES[row].archives; i++)
        size = wrap(size);
    return size;
}

START_TEST(places)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = CUVET_DEPTH_FULL, .jobs = 1 };
    cuvet_source src = cv_source_memory(bytes, make(_i));
    cuvet_limits lim = { .size = sizeof(lim) };
    unsigned elsewhere = 0, containers = 0;
    uint64_t last = UINT64_MAX;
    cuvet_item item;
    static cv_scan scan;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.nesting = DEEPEST;
    ck_assert_int_eq(cv_scan_open(&scan, &cv_alloc_default, &lim, &src, &opt, emit, &elsewhere), CUVET_OK);
    while (cv_scan_next(&scan, &item) == CUVET_OK) {
        containers += item.container_off != last;
        last = item.container_off;
        ck_assert_int_eq(item.place, FILES[_i].container[cv_min(containers, MOST_PLACES) - 1]);
    }
    cv_scan_close(&scan);
    ck_assert_uint_ge(containers, 1);
    ck_assert((containers > 1) == (FILES[_i].container[0] != FILES[_i].container[1]));
    /* Of what no tool takes from there the user is told. */
    ck_assert_uint_eq(elsewhere, FILES[_i].container[0] == CUVET_PLACE_BYTES);
}
END_TEST

Suite *suite_place(void)
{
    Suite *suite = suite_create("place");
    TCase *tcase = tcase_create("place");

    tcase_add_loop_test(tcase, places, 0, (int)CV_COUNT(FILES));
    suite_add_tcase(suite, tcase);
    return suite;
}
