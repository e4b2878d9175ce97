/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The linker against the reference: every case of corpus/link, byte for byte. Only .note.nv.tkinfo, which
 * names the tool, is another; it moves what follows it. */
#include <stdarg.h>

#include "link_fixture.h"

#define NOBITS        8u
#define CUDA_SHARED   0x7000000Au
#define CUDA_GLOBAL   0x70000007u
#define TOOL_NOTE     ".note.nv.tkinfo"
#define KERNELS_USED  "--kernels-used="
#define SEGMENT_BYTES 56

typedef struct linker_image {
    const uint8_t *bytes;
    size_t size;
} linker_image;

static bool has_bytes(const lc_section *section)
{
    return section->type != NOBITS && section->type != CUDA_SHARED && section->type != CUDA_GLOBAL &&
           section->type != 0;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

/* Of common variables of one name the reference takes the alignment of the first. Of those of weak_common_ptx
 * the second asks for more, and gets it from us. */
static bool same_align(const lc_section *left, const lc_section *right)
{
    return left->align == right->align ||
           (strcmp(right->name, ".nv.global") == 0 && right->align == 4 && left->align == 8);
}

/* Same sections with the same bytes; ck_assert writes to a file where it holds, too, once for each byte. */
static void compare_sections(linker_image got, linker_image want)
{
    ck_assert_uint_eq(lc_sections(got.bytes), lc_sections(want.bytes));
    for (unsigned i = 0; i < lc_sections(want.bytes); i++) {
        lc_section left = lc_section_of(got.bytes, i), right = lc_section_of(want.bytes, i);

        ck_assert_str_eq(left.name, right.name);
        ck_assert_msg(left.type == right.type && left.flags == right.flags && left.addr == right.addr,
                      "%s: type, flags", right.name);
        ck_assert_msg(left.link == right.link && left.info == right.info, "%s: link %u %u, info %x %x",
                      right.name, left.link, right.link, left.info, right.info);
        ck_assert_msg(same_align(&left, &right) && left.entsize == right.entsize, "%s: alignment",
                      right.name);
        if (strcmp(right.name, TOOL_NOTE) == 0)
            continue;
        ck_assert_msg(left.size == right.size, "%s: size %llx, want %llx", right.name,
                      (unsigned long long)left.size, (unsigned long long)right.size);
        ck_assert(!has_bytes(&left) || (left.off <= got.size && left.size <= got.size - left.off));
        for (uint64_t k = 0; has_bytes(&right) && k < right.size; k++)
            if (got.bytes[left.off + k] != want.bytes[right.off + k])
                ck_abort_msg("%s+%llx: %02x, want %02x", right.name, (unsigned long long)k,
                             got.bytes[left.off + k], want.bytes[right.off + k]);
    }
}

/* Where things lie follows from the sizes by one rule, which the reference keeps as well; what is between
 * them is zero. The end of the contents. */
static uint64_t check_layout(linker_image image)
{
    uint64_t at = 64;

    for (unsigned i = 1; i < lc_sections(image.bytes); i++) {
        lc_section section = lc_section_of(image.bytes, i);
        uint64_t off = align_up(at, section.align);

        ck_assert_msg(section.off == off, "%s: at %llx, want %llx", section.name,
                      (unsigned long long)section.off, (unsigned long long)off);
        for (; at < off; at++)
            if (image.bytes[at] != 0)
                ck_abort_msg("%llx: %02x, want 0", (unsigned long long)at, image.bytes[at]);
        at += has_bytes(&section) ? section.size : 0;
    }
    return at;
}

/* An offset of one file is the same place in the other: where a section or the program headers begin or end.
 */
static bool same_place(linker_image got, uint64_t first, linker_image want, uint64_t second)
{
    if ((first == lc_number(got.bytes, 32, 8) && second == lc_number(want.bytes, 32, 8)) ||
        (first == got.size && second == want.size))
        return true;
    for (unsigned i = 0; i < lc_sections(want.bytes); i++) {
        lc_section left = lc_section_of(got.bytes, i), right = lc_section_of(want.bytes, i);

        if ((first == left.off && second == right.off) ||
            (has_bytes(&right) && first == left.off + left.size && second == right.off + right.size))
            return true;
    }
    return false;
}

static void compare_segments(linker_image got, linker_image want)
{
    uint64_t at = lc_number(got.bytes, 32, 8), from = lc_number(want.bytes, 32, 8);

    for (unsigned i = 0; i < lc_number(want.bytes, 56, 2); i++, at += SEGMENT_BYTES, from += SEGMENT_BYTES) {
        uint64_t left[4], right[4]; /* offset, file size, memory size, alignment */

        for (unsigned k = 0; k < 4; k++) {
            static const unsigned FIELD[] = { 8, 32, 40, 48 };

            left[k] = lc_number(got.bytes, at + FIELD[k], 8);
            right[k] = lc_number(want.bytes, from + FIELD[k], 8);
        }
        ck_assert_uint_eq(lc_number(got.bytes, at, 8), lc_number(want.bytes, from, 8)); /* type, flags */
        ck_assert_mem_eq(got.bytes + at + 16, want.bytes + from + 16, 16);              /* addresses */
        ck_assert_uint_eq(left[3], right[3]);
        ck_assert_uint_eq(left[2] - left[1], right[2] - right[1]);
        ck_assert_msg(same_place(got, left[0], want, right[0]), "segment %u begins elsewhere", i);
        ck_assert_msg(same_place(got, left[0] + left[1], want, right[0] + right[1]),
                      "segment %u ends elsewhere", i);
    }
}

static void compare(linker_image got, linker_image want)
{
    uint64_t end = align_up(check_layout(got), 8), segments = lc_number(want.bytes, 56, 2);

    ck_assert_uint_eq(align_up(check_layout(want), 8), lc_number(want.bytes, 40, 8));
    ck_assert_mem_eq(got.bytes, want.bytes, 32);
    ck_assert_mem_eq(got.bytes + 48, want.bytes + 48, 16); /* flags, sizes, counts */
    ck_assert_uint_eq(lc_number(got.bytes, 40, 8), end);
    end += 64 * (uint64_t)lc_sections(got.bytes);
    ck_assert_uint_eq(lc_number(got.bytes, 32, 8), lc_number(want.bytes, 32, 8) ? end : 0);
    ck_assert_uint_eq(got.size, end + SEGMENT_BYTES * segments);
    compare_sections(got, want);
    compare_segments(got, want);
}

/* ---- from sm_100 on: the same but for what belongs to the capsule ---- */

#define CAPSULE_FLAG 0x10000000u
#define SYMBOL_BYTES 24
#define RELA         4u
#define SYMTAB       2u
#define STRTAB       3u

/* Has the other side a section like it? Empty relocation sections stay where the capsule has relocations. */
static bool is_plain(const lc_section *section)
{
    return !(section->flags & CAPSULE_FLAG) && !(section->type == RELA && section->size == 0);
}

/* Number of a section among the plain ones, 0 stays 0. */
static unsigned plain_number(linker_image image, unsigned index)
{
    unsigned count = 0;

    for (unsigned i = 1; i <= index; i++) {
        lc_section section = lc_section_of(image.bytes, i);

        count += is_plain(&section);
    }
    return count;
}

static const char *string_at(linker_image image, const lc_section *table, uint64_t off)
{
    ck_assert_uint_lt(off, table->size);
    return (const char *)image.bytes + table->off + off;
}

static void compare_symbols(linker_image got, const lc_section *left, linker_image want,
                            const lc_section *right)
{
    lc_section names = lc_section_of(got.bytes, left->link), others = lc_section_of(want.bytes, right->link);

    ck_assert_uint_eq(left->size, right->size);
    for (uint64_t i = 0; i < right->size; i += SYMBOL_BYTES) {
        const uint8_t *first = got.bytes + left->off + i, *second = want.bytes + right->off + i;

        ck_assert_str_eq(string_at(got, &names, lc_number(first, 0, 4)),
                         string_at(want, &others, lc_number(second, 0, 4)));
        ck_assert_mem_eq(first + 4, second + 4, 2);  /* type, binding, visibility */
        ck_assert_mem_eq(first + 8, second + 8, 16); /* value, size */
        ck_assert_uint_eq(plain_number(got, (unsigned)lc_number(first, 6, 2)),
                          plain_number(want, (unsigned)lc_number(second, 6, 2)));
    }
}

static void compare_plain_section(linker_image got, const lc_section *left, linker_image want,
                                  const lc_section *right)
{
    bool names_section = (right->flags & 0x40) || right->type == RELA;

    ck_assert_str_eq(left->name, right->name);
    ck_assert_msg(left->type == right->type && left->flags == right->flags && same_align(left, right) &&
                      left->entsize == right->entsize,
                  "%s: header", right->name);
    ck_assert_uint_eq(plain_number(got, left->link), plain_number(want, right->link));
    if (names_section)
        ck_assert_uint_eq(plain_number(got, left->info), plain_number(want, right->info));
    else if (right->type != SYMTAB)
        ck_assert_msg(left->info == right->info, "%s: info %x, want %x", right->name, left->info,
                      right->info);
    if (strcmp(right->name, TOOL_NOTE) == 0 || right->type == STRTAB)
        return;
    if (right->type == SYMTAB) {
        compare_symbols(got, left, want, right);
        return;
    }
    ck_assert_msg(left->size == right->size, "%s: size %llx, want %llx", right->name,
                  (unsigned long long)left->size, (unsigned long long)right->size);
    if (has_bytes(right))
        ck_assert_msg(memcmp(got.bytes + left->off, want.bytes + right->off, right->size) == 0, "%s: bytes",
                      right->name);
}

/* Kind and machine; program headers of the same kinds and sizes. */
static void compare_plain_headers(linker_image got, linker_image want)
{
    uint64_t at = lc_number(got.bytes, 32, 8), from = lc_number(want.bytes, 32, 8);

    ck_assert_mem_eq(got.bytes, want.bytes, 32);
    ck_assert_uint_eq(lc_number(got.bytes, 48, 1), 4);
    ck_assert_uint_eq(lc_number(want.bytes, 48, 1), 2);
    ck_assert_mem_eq(got.bytes + 49, want.bytes + 49, 2);
    ck_assert_uint_eq(lc_number(got.bytes, 56, 2), lc_number(want.bytes, 56, 2));
    for (unsigned i = 0; i < lc_number(want.bytes, 56, 2); i++, at += SEGMENT_BYTES, from += SEGMENT_BYTES) {
        ck_assert_uint_eq(lc_number(got.bytes, at, 8), lc_number(want.bytes, from, 8));
        ck_assert_uint_eq(lc_number(got.bytes, at + 40, 8) - lc_number(got.bytes, at + 32, 8),
                          lc_number(want.bytes, from + 40, 8) - lc_number(want.bytes, from + 32, 8));
    }
}

static void compare_plain(linker_image got, linker_image want)
{
    unsigned at = 0;

    compare_plain_headers(got, want);
    check_layout(got);
    for (unsigned i = 0; i < lc_sections(want.bytes); i++) {
        lc_section right = lc_section_of(want.bytes, i), left;

        if (!is_plain(&right))
            continue;
        ck_assert_uint_lt(at, lc_sections(got.bytes));
        left = lc_section_of(got.bytes, at++);
        ck_assert(!has_bytes(&left) || (left.off <= got.size && left.size <= got.size - left.off));
        compare_plain_section(got, &left, want, &right);
    }
    ck_assert_uint_eq(at, lc_sections(got.bytes));
}

/* The options of a row; *used: room for a name. */
static cuvet_linker_options options_of(const lc_case *lcase, char *text, size_t most, const char **used)
{
    cuvet_linker_options options = lc_options(lcase->target);
    char *rest = text, *word;

    ck_assert_uint_lt((size_t)snprintf(text, most, "%s", strcmp(lcase->options, "-") ? lcase->options : ""),
                      most);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (strcmp(word, "-r") == 0)
            options.flags |= CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE;
        else if (strcmp(word, "-g") == 0)
            options.flags |= CUVET_LINK_DEBUG;
        else if (strcmp(word, "--preserve-relocs") == 0)
            options.flags |= CUVET_LINK_PRESERVE_RELOCS;
        else if (strcmp(word, "--suppress-stack-size-warning") == 0)
            options.flags |= CUVET_LINK_NO_STACK_WARNING;
        else if (strcmp(word, "--warning-as-error") == 0)
            options.flags |= CUVET_LINK_WARNINGS_ARE_ERRORS;
        else if (strncmp(word, KERNELS_USED, strlen(KERNELS_USED)) == 0)
            *used = word + strlen(KERNELS_USED);
        else
            ck_assert_msg(*word == 0, "option %s", word);
    }
    options.kernels_used = *used ? used : NULL;
    options.n_kernels_used = *used ? 1 : 0;
    return options;
}

static void check_success(const lc_case *lcase, cuvet_linker linker)
{
    cuvet_link_result result = { .size = sizeof(result) };
    linker_image want;

    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_uint_eq(result.objects, lcase->count);
    want.bytes = lc_file(lcase->output, &want.size);
    if (lc_number(want.bytes, 48, 1) == 2) /* SASS and a capsule */
        compare_plain((linker_image){ result.bytes, result.n }, want);
    else
        compare((linker_image){ result.bytes, result.n }, want);
}

/* All rules of the row were said; there is no result. */
static void check_refusal(const lc_case *lcase, cuvet_linker linker)
{
    cuvet_link_result result = { .size = sizeof(result) };
    char text[200], *rest = text, *id;

    snprintf(text, sizeof(text), "%s", lcase->output);
    while ((id = strsep(&rest, " ")) != NULL)
        ck_assert_msg(lc_said(id), "%s was not said", id);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_E_STATE);
    ck_assert(result.bytes == NULL && result.n == 0);
}

/* An index that is not read would test nothing. */
START_TEST(all_rows)
{
    ck_assert_int_gt(lc_rows(), 100);
    ck_assert_int_eq(lc_rows(), (int)lc_count());
}
END_TEST

typedef cuvet_status linker_add(cuvet_ctx *ctx, cuvet_linker linker, const void *bytes, size_t size,
                                const char *name);

static void link_golden(const lc_case *lcase, linker_add *add)
{
    bool success = strncmp(lcase->output, "CV-", 3) != 0;
    const char *used = NULL;
    char text[200];
    const cuvet_linker_options options = options_of(lcase, text, sizeof(text), &used);
    cuvet_linker linker = lc_linker(&options);
    cuvet_status status;

    for (unsigned i = 0; i < lcase->count; i++) {
        size_t count;
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        status = add(lc_ctx, linker, bytes, count, lcase->input[i]);
        ck_assert_msg(status == CUVET_OK, "%s %s: input %u is %s", lcase->name, lcase->target, i,
                      cuvet_status_name(status));
    }
    status = cuvet_linker_complete(lc_ctx, linker);
    ck_assert_msg(status == (success ? CUVET_OK : CUVET_E_REFUSED), "%s %s: %s", lcase->name, lcase->target,
                  cuvet_status_name(status));
    if (success)
        check_success(lcase, linker);
    else
        check_refusal(lcase, linker);
    lc_end(linker);
}

/* What is borrowed is not written to: the second link has the bytes of the first. */
START_TEST(golden)
{
    link_golden(lc_get((unsigned)_i), cuvet_linker_add_borrowed);
    link_golden(lc_get((unsigned)_i), cuvet_linker_add);
}
END_TEST

/* No byte of an input is kept beside the caller's. */
static uint64_t peak_of(const lc_case *lcase, linker_add *add, size_t *total)
{
    const cuvet_linker_options options = lc_options(lcase->target);
    cuvet_linker linker;
    cuvet_ctx *ctx;
    uint64_t peak;

    *total = 0;
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_create(ctx, &options, &linker), CUVET_OK);
    for (unsigned i = 0; i < lcase->count; i++) {
        size_t count;
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        *total += count;
        ck_assert_int_eq(add(ctx, linker, bytes, count, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
    peak = cuvet_ctx_peak(ctx);
    cuvet_ctx_destroy(ctx);
    return peak;
}

START_TEST(borrowed)
{
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");
    size_t total;
    uint64_t copied = peak_of(lcase, cuvet_linker_add, &total);

    ck_assert_uint_ge(copied - peak_of(lcase, cuvet_linker_add_borrowed, &total), total);
}
END_TEST

/* The same once more gives the same, and what is destroyed in between makes no difference. */
START_TEST(twice)
{
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");
    const cuvet_linker_options options = lc_options(lcase->target);
    cuvet_link_result result[2] = { { .size = sizeof(result[0]) }, { .size = sizeof(result[0]) } };
    cuvet_linker linker[2];

    for (unsigned k = 0; k < 2; k++) {
        linker[k] = lc_linker(&options);
        for (unsigned i = 0; i < lcase->count; i++) {
            size_t count;
            const uint8_t *bytes = lc_file(lcase->input[i], &count);

            ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker[k], bytes, count, k ? "one" : "another"),
                             CUVET_OK);
        }
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker[k]), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker[k], &result[k]), CUVET_OK);
    }
    ck_assert(result[0].n == result[1].n && result[0].functions == result[1].functions &&
              result[0].kernels == result[1].kernels);
    ck_assert_mem_eq(result[0].bytes, result[1].bytes, result[0].n);
    lc_end(linker[0]);
    lc_end(linker[1]);
}
END_TEST

/* A call graph, written down. */
typedef struct linker_told {
    char text[1024];
    size_t count;
} linker_told;

__attribute__((format(printf, 2, 3))) static int write_down(linker_told *told, const char *format, ...)
{
    va_list ap;
    int count;

    va_start(ap, format);
    count = vsnprintf(told->text + told->count, sizeof(told->text) - told->count, format, ap);
    va_end(ap);
    ck_assert_int_gt(count, 0);
    told->count += (size_t)count;
    ck_assert_uint_lt(told->count, sizeof(told->text));
    return 0;
}

static int on_function(void *user, uint64_t number, const cuvet_link_function *function)
{
    ck_assert((function->flags & CUVET_FUNCTION_KEPT) != 0 &&
              (function->flags & CUVET_FUNCTION_DEFINED) != 0);
    return write_down(user, "\n%u %s[%u]", (unsigned)number,
                      (function->flags & CUVET_FUNCTION_KERNEL) != 0          ? "^"
                      : (function->flags & CUVET_FUNCTION_ADDRESS_TAKEN) != 0 ? "&"
                                                                              : "",
                      function->registers);
}

static int on_call(void *user, uint64_t from, uint64_t to)
{
    ck_assert_uint_ge(from, 1);
    return write_down(user, " %u", (unsigned)to);
}

static int on_raised(void *user, uint64_t function, uint64_t kernel)
{
    return write_down(user, "\n%u raises %u", (unsigned)function, (unsigned)kernel);
}

/* What the reference prints for the case, without the names. */
START_TEST(call_graph)
{
    static const char EXPECTED[] = "\n1 ^[24] 4 3 2 4 3 2\n2 &[24]\n3 &[37]\n4 &[24]\n5 ^[8]\n6 ^[30] 7"
                                   "\n7 [51] 8 9\n8 [62]\n9 [24]\n3 raises 1\n7 raises 6\n8 raises 6";
    const lc_case *lcase = lc_find("dump_callgraph", "sm_80");
    const cuvet_linker_options options = lc_options("sm_80");
    cuvet_linker linker = lc_linker(&options);
    linker_told told = { .count = 0 };
    const cuvet_callgraph_sink sink = {
        .size = sizeof(sink), .user = &told, .function = on_function, .call = on_call, .raised = on_raised
    };
    size_t count;

    for (unsigned i = 0; i < lcase->count; i++) {
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, linker, &sink), CUVET_OK);
    ck_assert_str_eq(told.text, EXPECTED);
    lc_end(linker);
}
END_TEST

Suite *suite_linker(void)
{
    Suite *suite = suite_create("linker");
    TCase *tcase = tcase_create("golden");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, all_rows);
    tcase_add_loop_test(tcase, golden, 0, lc_rows());
    tcase_add_test(tcase, twice);
    tcase_add_test(tcase, borrowed);
    tcase_add_test(tcase, call_graph);
    suite_add_tcase(suite, tcase);
    return suite;
}
