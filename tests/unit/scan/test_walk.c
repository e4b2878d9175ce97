/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a scan of a whole file walks, counts and charges: cases that planted defects got past. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "scan/scan.h"
#include "support/fatbins.h"

static uint8_t bytes[1 << 16];
static uint64_t size, said, owned;
static uint32_t rules[CV_N_RULES];
static cuvet_limits lim;

static void add(const void *block, uint64_t count)
{
    ck_assert_uint_le(size + count, sizeof(bytes));
    memcpy(bytes + size, block, count);
    size += count;
}

static void put(uint64_t at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static void setup(void)
{
    lim = (cuvet_limits){ .size = sizeof(lim) };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    memset(bytes, 0, sizeof(bytes));
    size = 0;
}

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    rules[diag->rule]++;
    said++;
}

static void claim(void *user, const cuvet_claim_info *info)
{
    (void)user;
    if (!(info->flags & (CUVET_CLAIM_INNER | CUVET_CLAIM_SHARED)))
        owned += info->length;
}

/* All of it; what was counted stays in the scan. */
static void scan_all(cv_scan *scan)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = CUVET_DEPTH_FULL, .jobs = 1, .claim = claim };
    cuvet_source src = cv_source_memory(bytes, size);
    cuvet_item item;

    memset(rules, 0, sizeof(rules));
    said = owned = 0;
    ck_assert_int_eq(cv_scan_open(scan, &cv_alloc_default, &lim, &src, &opt, emit, NULL), CUVET_OK);
    while (cv_scan_next(scan, &item) == CUVET_OK)
        ;
    cv_scan_close(scan);
    ck_assert_uint_eq(said + scan->sum.suppressed, scan->sum.errors + scan->sum.warnings + scan->sum.notes);
}

/* One member of text with a name of three letters; where its header begins. */
static uint64_t add_member(const void *payload, uint64_t count)
{
    uint64_t at = size;

    size += 72;
    put(at, 2, 1);
    put(at + 2, 2, CV_FATBIN_MEMBER_VERSION);
    put(at + 4, 4, 72);
    put(at + 8, 8, cv_sat_align(count, 8));
    put(at + 28, 4, 90);
    put(at + 32, 4, 64);
    put(at + 36, 4, 3);
    put(at + 40, 8, CV_FB_64BIT | CV_FB_LINUX);
    memcpy(bytes + at + 64, "abc", 3);
    add(payload, count);
    size = cv_sat_align(size, 8);
    return at;
}

static void begin_container(void)
{
    put(0, 4, CV_FATBIN_MAGIC);
    put(4, 2, CV_FATBIN_VERSION);
    put(6, 2, CV_FATBIN_HEADER);
    size = CV_FATBIN_HEADER;
}

static void end_container(void)
{
    put(8, 8, size - CV_FATBIN_HEADER);
}

static const char TEXT[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

START_TEST(gap_between_containers)
{
    static const uint8_t ZEROS[16];
    static fb_state fatbin;
    cv_scan scan;

    fb_make(&fatbin, "compute_90a");
    add(fatbin.bytes, fatbin.size);
    add(ZEROS, (uint64_t)_i);
    add(fatbin.bytes, fatbin.size);
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.containers, 2);
    ck_assert_uint_eq(rules[CV_R_FATBIN_SECTION_UNCLAIMED], _i % 8 != 0);
}
END_TEST

static void add_header(const char *name, uint64_t count)
{
    char head[61];

    ck_assert_int_eq(
        snprintf(head, sizeof(head), "%-16s%-12d%-6d%-6d%-8d%-10u`\n", name, 0, 0, 0, 644, (unsigned)count),
        60);
    add(head, 60);
}

START_TEST(small_member)
{
    cv_scan scan;

    add("!<arch>\n", 8);
    add_header("a/", sizeof(TEXT) - 1);
    add(TEXT, sizeof(TEXT) - 1);
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.ptx, 1);
}
END_TEST

START_TEST(archive_in_archive)
{
    cv_scan scan;

    lim.nesting = (uint32_t)_i;
    add("!<arch>\n", 8);
    add_header("a/", 68 + 44);
    add("!<arch>\n", 8);
    add_header("b/", 44);
    add(TEXT, 44);
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_LIMIT_NESTING], _i < 2);
}
END_TEST

/* Long names of the outer archive are in its own table, also behind an archive that has another one. */
START_TEST(names_behind_an_archive)
{
    cv_scan scan;

    add("!<arch>\n", 8);
    add_header("//", 24);
    add("a_rather_long_name/\nb/\n\n", 24);
    add_header("/0", 8 + 60 + 4 + 60 + 44);
    add("!<arch>\n", 8);
    add_header("//", 4);
    add("c/\n\n", 4);
    add_header("/0", 44);
    add(TEXT, 44);
    add_header("/20", sizeof(TEXT) - 1);
    add(TEXT, sizeof(TEXT) - 1);
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.ptx, 2);
    ck_assert_uint_eq(rules[CV_R_AR_NAME_OFFSET] + rules[CV_R_AR_NAME_END], 0);
}
END_TEST

START_TEST(each_byte_has_an_owner)
{
    cv_scan scan;

    begin_container();
    (void)add_member(TEXT, sizeof(TEXT));
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(owned, size);
}
END_TEST

START_TEST(findings_above_the_cap_are_counted)
{
    cv_scan scan;

    lim.diagnostics = 2;
    begin_container();
    for (unsigned i = 0; i < 5; i++)
        put(add_member(TEXT, sizeof(TEXT)) + 2, 2, 0x102);
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_FATBIN_MEMBER_VERSION], 2);
    ck_assert_uint_ge(scan.sum.suppressed, 3);
}
END_TEST

/* Each costs as many bytes as it has; there are enough for one and a half. */
START_TEST(containers_inside_cost)
{
    static fb_state fatbin;
    cv_scan scan;

    fb_make(&fatbin, "compute_90a");
    lim.budget = fatbin.size * 3 / 2;
    lim.budget_ratio = 0;
    begin_container();
    for (int i = 0; i < _i; i++)
        (void)add_member(fatbin.bytes, fatbin.size);
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_FATBIN_NESTED], _i);
    ck_assert_uint_eq(rules[CV_R_LIMIT_BUDGET], _i > 1);
}
END_TEST

/* What holds a container is its first owner; whoever walks the container is told to be the second one. */
START_TEST(bytes_inside_have_a_first_owner)
{
    static fb_state fatbin;
    cv_scan scan;

    fb_make(&fatbin, "compute_90a");
    begin_container();
    (void)add_member(fatbin.bytes, fatbin.size);
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_FATBIN_NESTED], 1);
    ck_assert_uint_eq(owned, size);
}
END_TEST

/* A section of an image that lies outside of the file: one finding for each. */
static void break_sections(uint64_t image, unsigned count)
{
    uint64_t shoff = cv_u64_at(cv_span_of(bytes, size, 0), image + 40);

    for (unsigned i = 0; i < count; i++)
        put(image + shoff + (4 + i) * 64 + 24, 8, UINT64_C(1) << 40);
}

/* Each member has fewer findings than are said of a rule, both together have more. */
START_TEST(findings_of_several_members_are_counted)
{
    size_t count;
    const uint8_t *image = sample("plain.sm_75.cubin", &count, 0);
    cv_scan scan;

    lim.diagnostics = 3;
    begin_container();
    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = add_member(image, count);

        put(at, 2, CV_FB_KIND_ELF);
        put(at + 28, 4, 75);
        break_sections(at + 72, 2);
    }
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_SEC_RANGE], 3);
    ck_assert_uint_ge(scan.sum.suppressed, 1);
}
END_TEST

/* A file that is an image: where its sections do not tell how long it is, bytes that no section has are named
 * all the same. */
START_TEST(bytes_behind_a_broken_image)
{
    size_t count;
    const uint8_t *image = sample("plain.sm_75.cubin", &count, 0);
    cv_scan scan;

    add(image, count);
    break_sections(0, 1);
    for (int i = 0; i < 8 * _i; i++)
        add("x", 1);
    scan_all(&scan);
    ck_assert_uint_eq(rules[CV_R_SEC_RANGE], 1);
    ck_assert_uint_eq(rules[CV_R_ELF_TRAILING], _i);
}
END_TEST

/* Literals of LZ4, at least 15, in front of a match of four bytes or of the end. */
static void add_literals(const uint8_t *from, uint64_t count)
{
    static const uint8_t LONG = 0xFF, TOKEN = 0xF0;
    uint64_t rest = count - 15;
    uint8_t last;

    add(&TOKEN, 1);
    for (; rest >= LONG; rest -= LONG)
        add(&LONG, 1);
    last = (uint8_t)rest;
    add(&last, 1);
    add(from, count);
}

/* A member of LZ4: four bytes are repeated, all others are as they are. */
static void add_packed(const uint8_t *image, uint64_t count, uint64_t from, uint64_t to)
{
    uint64_t at = size;
    uint8_t back[2] = { (uint8_t)(to - from), (uint8_t)((to - from) >> 8) };

    (void)add_member("", 0);
    add_literals(image, to);
    add(back, sizeof(back));
    add_literals(image + to + 4, count - to - 4);
    put(at, 2, CV_FB_KIND_ELF);
    put(at + 16, 4, size - at - 72);
    put(at + 28, 4, 75);
    put(at + 40, 8, CV_FB_64BIT | CV_FB_LINUX | CV_FB_LZ4);
    put(at + 56, 8, count);
    size = cv_sat_align(size, 8);
    put(at + 8, 8, size - at - 72);
}

/* Unpacked code is not searched for containers; one that begins in its last bytes is found. In what is packed
 * it does not stand. */
START_TEST(container_at_the_end_of_code)
{
    static const uint8_t MAGIC[] = { 0x50, 0xED, 0x55, 0xBA }, TAIL[] = { 1, 0, 16, 0 };
    static uint8_t image[1 << 13];
    size_t count;
    const uint8_t *from = sample("plain.sm_75.cubin", &count, 0);
    cv_span span = cv_span_of(image, sizeof(image), 0);
    uint64_t end, code, frames;
    cv_scan scan;

    ck_assert_uint_le(count, sizeof(image));
    memcpy(image, from, count);
    end = cv_u64_at(span, 40);
    code = end + 13 * 64; /* the last section ends where the table of sections begins */
    ck_assert_uint_eq(cv_u64_at(span, code + 24) + cv_u64_at(span, code + 32), end);
    frames = cv_u64_at(span, end + 4 * 64 + 24); /* of a debugger */
    end -= cv_max((uint64_t)_i, 1);
    if (_i > 0)
        memcpy(image + end, MAGIC, sizeof(MAGIC));
    memcpy(image + end + sizeof(MAGIC), TAIL, sizeof(TAIL));
    memcpy(image + frames, TAIL, sizeof(TAIL));
    begin_container();
    add_packed(image, count, frames, end + sizeof(MAGIC));
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.unpacked, count);
    ck_assert_uint_eq(rules[CV_R_FATBIN_HIDDEN], _i > 0);
}
END_TEST

/* Code over other code: what lay between is not taken for code, so that a container there is found. */
START_TEST(code_over_code)
{
    static const uint8_t CONTAINER[] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0 };
    static uint8_t image[1 << 13];
    size_t count;
    const uint8_t *from = sample("two.sm_75.linked.cubin", &count, 0);
    cv_span span = cv_span_of(image, sizeof(image), 0);
    uint64_t table, code[2] = { 0, 0 }, zeros = 32;
    unsigned found = 0;
    cv_scan scan;

    ck_assert_uint_le(count, sizeof(image));
    memcpy(image, from, count);
    table = cv_u64_at(span, 40);
    for (uint64_t at = table; at < table + 64 * (uint64_t)cv_u16_at(span, 60); at += 64)
        if (cv_u32_at(span, at + 4) == 1 && (cv_u64_at(span, at + 8) & 4) && found < 2)
            code[found++] = at;
    ck_assert_uint_eq(found, 2);
    memcpy(image + cv_u64_at(span, code[1] + 24) + 64, CONTAINER, sizeof(CONTAINER));
    memcpy(image + code[1] + 24, image + code[0] + 24, 8); /* both at one place */
    while (cv_u32_at(span, zeros) != 0)
        zeros++;
    begin_container();
    add_packed(image, count, 9, zeros);
    end_container();
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.unpacked, count);
    ck_assert_uint_eq(rules[CV_R_FATBIN_HIDDEN], 1);
}
END_TEST

/* The name of a member is long enough for a whole container: it is found, and it is no member. */
START_TEST(container_in_a_name)
{
    static fb_state fatbin;
    char name[17];
    cv_scan scan;

    fb_make(&fatbin, "compute_90a");
    add("!<arch>\n", 8);
    ck_assert_int_lt(snprintf(name, sizeof(name), "#1/%u", (unsigned)fatbin.size), (int)sizeof(name));
    add_header(name, fatbin.size + 44);
    add(fatbin.bytes, fatbin.size);
    add(TEXT, 44);
    scan_all(&scan);
    ck_assert_uint_eq(scan.sum.containers, 1);
    ck_assert_uint_eq(rules[CV_R_HOST_PLACE], 1);
    ck_assert_uint_eq(scan.sum.ptx, 2);
    ck_assert_uint_eq(owned, size);
}
END_TEST

Suite *suite_walk(void)
{
    Suite *suite = suite_create("walk");
    TCase *tcase = tcase_create("walk");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, gap_between_containers, 8, 17);
    tcase_add_test(tcase, small_member);
    tcase_add_loop_test(tcase, archive_in_archive, 1, 3);
    tcase_add_test(tcase, names_behind_an_archive);
    tcase_add_test(tcase, each_byte_has_an_owner);
    tcase_add_test(tcase, findings_above_the_cap_are_counted);
    tcase_add_loop_test(tcase, containers_inside_cost, 1, 3);
    tcase_add_test(tcase, bytes_inside_have_a_first_owner);
    tcase_add_test(tcase, findings_of_several_members_are_counted);
    tcase_add_loop_test(tcase, bytes_behind_a_broken_image, 0, 2);
    tcase_add_loop_test(tcase, container_at_the_end_of_code, 0, 4);
    tcase_add_test(tcase, code_over_code);
    tcase_add_test(tcase, container_in_a_name);
    suite_add_tcase(suite, tcase);
    return suite;
}
