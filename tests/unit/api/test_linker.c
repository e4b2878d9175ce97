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

typedef struct image {
    const uint8_t *p;
    size_t n;
} image;

static bool has_bytes(const lc_section *s)
{
    return s->type != NOBITS && s->type != CUDA_SHARED && s->type != CUDA_GLOBAL && s->type != 0;
}

static uint64_t align_up(uint64_t v, uint64_t align)
{
    return align > 1 ? (v + align - 1) / align * align : v;
}

/* Of common variables of one name the reference takes the alignment of the first. Of those of weak_common_ptx
 * the second asks for more, and gets it from us. */
static bool same_align(const lc_section *a, const lc_section *b)
{
    return a->align == b->align || (strcmp(b->name, ".nv.global") == 0 && b->align == 4 && a->align == 8);
}

/* Same sections with the same bytes. */
static void compare_sections(image got, image want)
{
    ck_assert_uint_eq(lc_sections(got.p), lc_sections(want.p));
    for (unsigned i = 0; i < lc_sections(want.p); i++) {
        lc_section a = lc_section_of(got.p, i), b = lc_section_of(want.p, i);

        ck_assert_str_eq(a.name, b.name);
        ck_assert_msg(a.type == b.type && a.flags == b.flags && a.addr == b.addr, "%s: type, flags", b.name);
        ck_assert_msg(a.link == b.link && a.info == b.info, "%s: link %u %u, info %x %x", b.name, a.link,
                      b.link, a.info, b.info);
        ck_assert_msg(same_align(&a, &b) && a.entsize == b.entsize, "%s: alignment", b.name);
        if (strcmp(b.name, TOOL_NOTE) == 0)
            continue;
        ck_assert_msg(a.size == b.size, "%s: size %llx, want %llx", b.name, (unsigned long long)a.size,
                      (unsigned long long)b.size);
        ck_assert(!has_bytes(&a) || (a.off <= got.n && a.size <= got.n - a.off));
        for (uint64_t k = 0; has_bytes(&b) && k < b.size; k++)
            ck_assert_msg(got.p[a.off + k] == want.p[b.off + k], "%s+%llx: %02x, want %02x", b.name,
                          (unsigned long long)k, got.p[a.off + k], want.p[b.off + k]);
    }
}

/* Where things lie follows from the sizes by one rule, which the reference keeps as well; what is between
 * them is zero. The end of the contents. */
static uint64_t check_layout(image f)
{
    uint64_t at = 64;

    for (unsigned i = 1; i < lc_sections(f.p); i++) {
        lc_section s = lc_section_of(f.p, i);
        uint64_t off = align_up(at, s.align);

        ck_assert_msg(s.off == off, "%s: at %llx, want %llx", s.name, (unsigned long long)s.off,
                      (unsigned long long)off);
        for (; at < off; at++)
            ck_assert_uint_eq(f.p[at], 0);
        at += has_bytes(&s) ? s.size : 0;
    }
    return at;
}

/* An offset of one file is the same place in the other: where a section or the program headers begin or end.
 */
static bool same_place(image got, uint64_t x, image want, uint64_t y)
{
    if ((x == lc_number(got.p, 32, 8) && y == lc_number(want.p, 32, 8)) || (x == got.n && y == want.n))
        return true;
    for (unsigned i = 0; i < lc_sections(want.p); i++) {
        lc_section a = lc_section_of(got.p, i), b = lc_section_of(want.p, i);

        if ((x == a.off && y == b.off) || (has_bytes(&b) && x == a.off + a.size && y == b.off + b.size))
            return true;
    }
    return false;
}

static void compare_segments(image got, image want)
{
    uint64_t at = lc_number(got.p, 32, 8), from = lc_number(want.p, 32, 8);

    for (unsigned i = 0; i < lc_number(want.p, 56, 2); i++, at += SEGMENT_BYTES, from += SEGMENT_BYTES) {
        uint64_t a[4], b[4]; /* offset, file size, memory size, alignment */

        for (unsigned k = 0; k < 4; k++) {
            static const unsigned FIELD[] = { 8, 32, 40, 48 };

            a[k] = lc_number(got.p, at + FIELD[k], 8);
            b[k] = lc_number(want.p, from + FIELD[k], 8);
        }
        ck_assert_uint_eq(lc_number(got.p, at, 8), lc_number(want.p, from, 8)); /* type, flags */
        ck_assert_mem_eq(got.p + at + 16, want.p + from + 16, 16);              /* addresses */
        ck_assert_uint_eq(a[3], b[3]);
        ck_assert_uint_eq(a[2] - a[1], b[2] - b[1]);
        ck_assert_msg(same_place(got, a[0], want, b[0]), "segment %u begins elsewhere", i);
        ck_assert_msg(same_place(got, a[0] + a[1], want, b[0] + b[1]), "segment %u ends elsewhere", i);
    }
}

static void compare(image got, image want)
{
    uint64_t end = align_up(check_layout(got), 8), segments = lc_number(want.p, 56, 2);

    ck_assert_uint_eq(align_up(check_layout(want), 8), lc_number(want.p, 40, 8));
    ck_assert_mem_eq(got.p, want.p, 32);
    ck_assert_mem_eq(got.p + 48, want.p + 48, 16); /* flags, sizes, counts */
    ck_assert_uint_eq(lc_number(got.p, 40, 8), end);
    end += 64 * (uint64_t)lc_sections(got.p);
    ck_assert_uint_eq(lc_number(got.p, 32, 8), lc_number(want.p, 32, 8) ? end : 0);
    ck_assert_uint_eq(got.n, end + SEGMENT_BYTES * segments);
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
static bool is_plain(const lc_section *s)
{
    return !(s->flags & CAPSULE_FLAG) && !(s->type == RELA && s->size == 0);
}

/* Number of a section among the plain ones, 0 stays 0. */
static unsigned plain_number(image f, unsigned index)
{
    unsigned n = 0;

    for (unsigned i = 1; i <= index; i++) {
        lc_section s = lc_section_of(f.p, i);

        n += is_plain(&s);
    }
    return n;
}

static const char *string_at(image f, const lc_section *table, uint64_t off)
{
    ck_assert_uint_lt(off, table->size);
    return (const char *)f.p + table->off + off;
}

static void compare_symbols(image got, const lc_section *a, image want, const lc_section *b)
{
    lc_section names = lc_section_of(got.p, a->link), others = lc_section_of(want.p, b->link);

    ck_assert_uint_eq(a->size, b->size);
    for (uint64_t i = 0; i < b->size; i += SYMBOL_BYTES) {
        const uint8_t *x = got.p + a->off + i, *y = want.p + b->off + i;

        ck_assert_str_eq(string_at(got, &names, lc_number(x, 0, 4)),
                         string_at(want, &others, lc_number(y, 0, 4)));
        ck_assert_mem_eq(x + 4, y + 4, 2);  /* type, binding, visibility */
        ck_assert_mem_eq(x + 8, y + 8, 16); /* value, size */
        ck_assert_uint_eq(plain_number(got, (unsigned)lc_number(x, 6, 2)),
                          plain_number(want, (unsigned)lc_number(y, 6, 2)));
    }
}

static void compare_plain_section(image got, const lc_section *a, image want, const lc_section *b)
{
    bool names_section = (b->flags & 0x40) || b->type == RELA;

    ck_assert_str_eq(a->name, b->name);
    ck_assert_msg(a->type == b->type && a->flags == b->flags && same_align(a, b) && a->entsize == b->entsize,
                  "%s: header", b->name);
    ck_assert_uint_eq(plain_number(got, a->link), plain_number(want, b->link));
    if (names_section)
        ck_assert_uint_eq(plain_number(got, a->info), plain_number(want, b->info));
    else if (b->type != SYMTAB)
        ck_assert_msg(a->info == b->info, "%s: info %x, want %x", b->name, a->info, b->info);
    if (strcmp(b->name, TOOL_NOTE) == 0 || b->type == STRTAB)
        return;
    if (b->type == SYMTAB) {
        compare_symbols(got, a, want, b);
        return;
    }
    ck_assert_msg(a->size == b->size, "%s: size %llx, want %llx", b->name, (unsigned long long)a->size,
                  (unsigned long long)b->size);
    if (has_bytes(b))
        ck_assert_msg(memcmp(got.p + a->off, want.p + b->off, b->size) == 0, "%s: bytes", b->name);
}

/* Kind and machine; program headers of the same kinds and sizes. */
static void compare_plain_headers(image got, image want)
{
    uint64_t at = lc_number(got.p, 32, 8), from = lc_number(want.p, 32, 8);

    ck_assert_mem_eq(got.p, want.p, 32);
    ck_assert_uint_eq(lc_number(got.p, 48, 1), 4);
    ck_assert_uint_eq(lc_number(want.p, 48, 1), 2);
    ck_assert_mem_eq(got.p + 49, want.p + 49, 2);
    ck_assert_uint_eq(lc_number(got.p, 56, 2), lc_number(want.p, 56, 2));
    for (unsigned i = 0; i < lc_number(want.p, 56, 2); i++, at += SEGMENT_BYTES, from += SEGMENT_BYTES) {
        ck_assert_uint_eq(lc_number(got.p, at, 8), lc_number(want.p, from, 8));
        ck_assert_uint_eq(lc_number(got.p, at + 40, 8) - lc_number(got.p, at + 32, 8),
                          lc_number(want.p, from + 40, 8) - lc_number(want.p, from + 32, 8));
    }
}

static void compare_plain(image got, image want)
{
    unsigned k = 0;

    compare_plain_headers(got, want);
    check_layout(got);
    for (unsigned i = 0; i < lc_sections(want.p); i++) {
        lc_section b = lc_section_of(want.p, i), a;

        if (!is_plain(&b))
            continue;
        ck_assert_uint_lt(k, lc_sections(got.p));
        a = lc_section_of(got.p, k++);
        ck_assert(!has_bytes(&a) || (a.off <= got.n && a.size <= got.n - a.off));
        compare_plain_section(got, &a, want, &b);
    }
    ck_assert_uint_eq(k, lc_sections(got.p));
}

/* The options of a row; *used: room for a name. */
static cuvet_linker_options options_of(const lc_case *c, char *text, size_t most, const char **used)
{
    cuvet_linker_options o = lc_options(c->target);
    char *rest = text, *word;

    ck_assert_uint_lt((size_t)snprintf(text, most, "%s", strcmp(c->options, "-") ? c->options : ""), most);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (strcmp(word, "-r") == 0)
            o.flags |= CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE;
        else if (strcmp(word, "-g") == 0)
            o.flags |= CUVET_LINK_DEBUG;
        else if (strcmp(word, "--preserve-relocs") == 0)
            o.flags |= CUVET_LINK_PRESERVE_RELOCS;
        else if (strcmp(word, "--suppress-stack-size-warning") == 0)
            o.flags |= CUVET_LINK_NO_STACK_WARNING;
        else if (strcmp(word, "--warning-as-error") == 0)
            o.flags |= CUVET_LINK_WARNINGS_ARE_ERRORS;
        else if (strncmp(word, KERNELS_USED, strlen(KERNELS_USED)) == 0)
            *used = word + strlen(KERNELS_USED);
        else
            ck_assert_msg(*word == 0, "option %s", word);
    }
    o.kernels_used = *used ? used : NULL;
    o.n_kernels_used = *used ? 1 : 0;
    return o;
}

static void check_success(const lc_case *c, cuvet_linker l)
{
    cuvet_link_result r = { .size = sizeof(r) };
    image want;

    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_OK);
    ck_assert_uint_eq(r.objects, c->n);
    want.p = lc_file(c->output, &want.n);
    if (lc_number(want.p, 48, 1) == 2) /* SASS and a capsule */
        compare_plain((image){ r.bytes, r.n }, want);
    else
        compare((image){ r.bytes, r.n }, want);
}

/* All rules of the row were said; there is no result. */
static void check_refusal(const lc_case *c, cuvet_linker l)
{
    cuvet_link_result r = { .size = sizeof(r) };
    char text[200], *rest = text, *id;

    snprintf(text, sizeof(text), "%s", c->output);
    while ((id = strsep(&rest, " ")) != NULL)
        ck_assert_msg(lc_said(id), "%s was not said", id);
    ck_assert_int_eq(cuvet_linker_result(lc_ctx, l, &r), CUVET_E_STATE);
    ck_assert(r.bytes == NULL && r.n == 0);
}

/* An index that is not read would test nothing. */
START_TEST(all_rows)
{
    ck_assert_int_gt(lc_rows(), 100);
    ck_assert_int_eq(lc_rows(), (int)lc_count());
}
END_TEST

START_TEST(golden)
{
    const lc_case *c = lc_get((unsigned)_i);
    bool success = strncmp(c->output, "CV-", 3) != 0;
    const char *used = NULL;
    char text[200];
    const cuvet_linker_options o = options_of(c, text, sizeof(text), &used);
    cuvet_linker l = lc_linker(&o);
    cuvet_status s;

    for (unsigned i = 0; i < c->n; i++) {
        size_t n;
        const uint8_t *p = lc_file(c->input[i], &n);

        s = cuvet_linker_add(lc_ctx, l, p, n, c->input[i]);
        ck_assert_msg(s == CUVET_OK, "%s %s: input %u is %s", c->name, c->target, i, cuvet_status_name(s));
    }
    s = cuvet_linker_complete(lc_ctx, l);
    ck_assert_msg(s == (success ? CUVET_OK : CUVET_E_REFUSED), "%s %s: %s", c->name, c->target,
                  cuvet_status_name(s));
    if (success)
        check_success(c, l);
    else
        check_refusal(c, l);
    lc_end(l);
}
END_TEST

/* The same once more gives the same, and what is destroyed in between makes no difference. */
START_TEST(twice)
{
    const lc_case *c = lc_find("virtual_calls", "sm_90");
    const cuvet_linker_options o = lc_options(c->target);
    cuvet_link_result r[2] = { { .size = sizeof(r[0]) }, { .size = sizeof(r[0]) } };
    cuvet_linker l[2];

    for (unsigned k = 0; k < 2; k++) {
        l[k] = lc_linker(&o);
        for (unsigned i = 0; i < c->n; i++) {
            size_t n;
            const uint8_t *p = lc_file(c->input[i], &n);

            ck_assert_int_eq(cuvet_linker_add(lc_ctx, l[k], p, n, k ? "one" : "another"), CUVET_OK);
        }
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l[k]), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_result(lc_ctx, l[k], &r[k]), CUVET_OK);
    }
    ck_assert(r[0].n == r[1].n && r[0].functions == r[1].functions && r[0].kernels == r[1].kernels);
    ck_assert_mem_eq(r[0].bytes, r[1].bytes, r[0].n);
    lc_end(l[0]);
    lc_end(l[1]);
}
END_TEST

/* A call graph, written down. */
typedef struct told {
    char text[1024];
    size_t n;
} told;

__attribute__((format(printf, 2, 3))) static bool write_down(told *t, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(t->text + t->n, sizeof(t->text) - t->n, format, ap);
    va_end(ap);
    ck_assert_int_gt(n, 0);
    t->n += (size_t)n;
    ck_assert_uint_lt(t->n, sizeof(t->text));
    return true;
}

static bool on_function(void *user, uint64_t number, const cuvet_link_function *f)
{
    ck_assert(f->kept && f->defined);
    return write_down(user, "\n%u %s[%u]", (unsigned)number,
                      f->kernel          ? "^"
                      : f->address_taken ? "&"
                                         : "",
                      f->registers);
}

static bool on_call(void *user, uint64_t from, uint64_t to)
{
    ck_assert_uint_ge(from, 1);
    return write_down(user, " %u", (unsigned)to);
}

static bool on_raised(void *user, uint64_t function, uint64_t kernel)
{
    return write_down(user, "\n%u raises %u", (unsigned)function, (unsigned)kernel);
}

/* What the reference prints for the case, without the names. */
START_TEST(call_graph)
{
    static const char EXPECTED[] = "\n1 ^[24] 4 3 2 4 3 2\n2 &[24]\n3 &[37]\n4 &[24]\n5 ^[8]\n6 ^[30] 7"
                                   "\n7 [51] 8 9\n8 [62]\n9 [24]\n3 raises 1\n7 raises 6\n8 raises 6";
    const lc_case *c = lc_find("dump_callgraph", "sm_80");
    const cuvet_linker_options o = lc_options("sm_80");
    cuvet_linker l = lc_linker(&o);
    told t = { .n = 0 };
    const cuvet_callgraph_sink sink = {
        .size = sizeof(sink), .user = &t, .function = on_function, .call = on_call, .raised = on_raised
    };
    size_t n;

    for (unsigned i = 0; i < c->n; i++) {
        const uint8_t *p = lc_file(c->input[i], &n);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, l, p, n, "object"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, l), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_callgraph(lc_ctx, l, &sink), CUVET_OK);
    ck_assert_str_eq(t.text, EXPECTED);
    lc_end(l);
}
END_TEST

Suite *suite_linker(void)
{
    Suite *s = suite_create("linker");
    TCase *t = tcase_create("golden");

    tcase_add_checked_fixture(t, lc_setup, lc_teardown);
    tcase_add_test(t, all_rows);
    tcase_add_loop_test(t, golden, 0, lc_rows());
    tcase_add_test(t, twice);
    tcase_add_test(t, call_graph);
    suite_add_tcase(s, t);
    return s;
}
