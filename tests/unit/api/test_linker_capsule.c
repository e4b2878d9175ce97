/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links for sm_100 and later: what is said of capsules and of code for other machines, and debug data that is
 * written anew, each rule with a neighbour that is just legal. */
#include "link_fixture.h"

static lc_object object[2];
static cuvet_status status;
static uint64_t line_bytes; /* of .debug_line in the result */

static void load(const char *name, const char *target)
{
    const lc_case *lcase = lc_find(name, target);

    ck_assert_uint_eq(lcase->count, N(object));
    for (unsigned i = 0; i < N(object); i++)
        lc_load(&object[i], lcase->input[i]);
}

/* Status of the first call that fails. */
static cuvet_status link_for(const char *target, bool relocatable)
{
    cuvet_linker_options options = lc_options(target);
    cuvet_link_result linked = { .size = sizeof(linked) };
    cuvet_linker linker;

    options.flags |= relocatable ? CUVET_LINK_RELOCATABLE : 0;
    linker = lc_linker(&options);
    lc_forget();
    status = CUVET_OK;
    for (unsigned i = 0; i < N(object) && status == CUVET_OK; i++)
        status = cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object");
    if (status == CUVET_OK)
        status = cuvet_linker_complete(lc_ctx, linker);
    line_bytes = 0;
    if (status == CUVET_OK) {
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &linked), CUVET_OK);
        for (unsigned i = 0; i < lc_sections(linked.bytes); i++)
            if (strcmp(lc_section_of(linked.bytes, i).name, ".debug_line") == 0)
                line_bytes = lc_section_of(linked.bytes, i).size;
    }
    lc_end(linker);
    return status;
}

static uint8_t result[1 << 16];
static size_t n_result;

/* Link what is loaded, with a code generator or without, and keep what comes out. */
static cuvet_status link_keep(const char *target, const cuvet_compiler *compiler, uint8_t *to, size_t *size)
{
    cuvet_linker_options options = lc_options(target);
    cuvet_link_result linked = { .size = sizeof(linked) };
    cuvet_linker linker;
    cuvet_status other_status = CUVET_OK;

    options.generator = compiler;
    linker = lc_linker(&options);
    lc_forget();
    for (unsigned i = 0; i < N(object) && other_status == CUVET_OK; i++)
        other_status = cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object");
    if (other_status == CUVET_OK)
        other_status = cuvet_linker_complete(lc_ctx, linker);
    if (other_status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &linked), CUVET_OK);
    ck_assert_uint_le(linked.n, sizeof(result));
    if (linked.n)
        memcpy(to, linked.bytes, linked.n);
    *size = linked.n;
    lc_end(linker);
    return other_status;
}

static lc_section section(unsigned at, const char *name)
{
    unsigned index;

    return lc_find_section(object[at].bytes, name, &index);
}

/* The record of .nv.compat with this tag. */
static size_t claim(unsigned index, uint8_t tag)
{
    lc_section part = section(index, ".nv.compat");

    for (size_t at = part.off; at < part.off + part.size;
         at += object[index].bytes[at] == 4 ? 4 + object[index].bytes[at + 2] : 4)
        if (object[index].bytes[at + 1] == tag)
            return at;
    ck_abort_msg("no tag %u", tag);
}

enum { FASTPATH = 11, TCGEN05 = 5, RUNS_ON_103 = 8 };

/* CV-ADMIT-012: code of sm_100 runs on sm_103 where its mask says so, and only there, also in
 * a relocatable link: nothing makes the code again. */
START_TEST(retarget)
{
    load("extern_basic", "sm_100");
    ck_assert_int_eq(link_for("sm_103", false), CUVET_OK);
    ck_assert_int_eq(link_for("sm_110", false), CUVET_E_REFUSED);
    object[1].bytes[claim(1, FASTPATH) + 4] &= (uint8_t)~RUNS_ON_103;
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert_int_eq(link_for("sm_103", false), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-ADMIT-012"));
    ck_assert_uint_eq(lc_diag("CV-ADMIT-012")->severity, CUVET_ERROR);
    ck_assert_uint_eq(lc_diag("CV-ADMIT-012")->file_off, 48);
    ck_assert_int_eq(link_for("sm_100", true), CUVET_OK);
    ck_assert_int_eq(link_for("sm_103", true), CUVET_E_REFUSED);
}
END_TEST

/* A code generator that makes the very code of the input, for whatever machine; or another. */
typedef struct linker_capsule_generator {
    unsigned asked;
    bool other;
    uint8_t made[1 << 16];
} linker_capsule_generator;

static cuvet_status generate(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    linker_capsule_generator *generator = user;
    unsigned i;

    generator->asked++;
    ck_assert((request->kind == CUVET_K_CUBIN) && request->n <= sizeof(generator->made));
    memcpy(generator->made, request->bytes, request->n);
    generator->made[49] = (uint8_t)request->sm;
    if (generator->other)
        generator->made[lc_find_section(generator->made, ".text.", &i).off] ^= 1;
    *out = (cuvet_compile_result){
        .size = sizeof(*out), .end = CUVET_COMPILED, .bytes = generator->made, .n = request->n
    };
    return CUVET_OK;
}

/* Code that does not say that it runs on the target is asked of a code generator, when there is one. */
START_TEST(made_again)
{
    static linker_capsule_generator generator;
    const cuvet_compiler compiler = { .size = sizeof(compiler), .compile = generate, .user = &generator };
    static uint8_t native[1 << 16];
    size_t n_native;

    load("extern_basic", "sm_100");
    ck_assert_int_eq(link_keep("sm_103", NULL, native, &n_native), CUVET_OK); /* the mask allows it */
    for (unsigned i = 0; i < N(object); i++)
        object[i].bytes[claim(i, FASTPATH) + 4] &= (uint8_t)~RUNS_ON_103;
    generator = (linker_capsule_generator){ .other = false };
    ck_assert_int_eq(link_keep("sm_103", &compiler, result, &n_result), CUVET_OK);
    ck_assert_uint_eq(generator.asked, 4); /* for the target, and for its own machine */
    ck_assert_uint_eq(n_result, n_native);
    ck_assert_mem_eq(result, native, n_native);
    ck_assert_int_eq(link_keep("sm_100", &compiler, result, &n_result), CUVET_OK);
    ck_assert_uint_eq(generator.asked, 4); /* nobody is asked for what is there */
    generator.other = true;
    ck_assert_int_eq(link_keep("sm_103", &compiler, result, &n_result), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-BACKEND-009") && lc_diag("CV-BACKEND-009")->where.step[0].kind == CUVET_P_MEMBER);
    ck_assert(!lc_said("CV-LINK-016"));
}
END_TEST

/* CV-LINK-015: how many of the inputs have a capsule, as a note. */
START_TEST(capsules)
{
    load("extern_basic", "sm_100");
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert_int_eq(lc_diag("CV-LINK-015")->severity, CUVET_NOTE);
    ck_assert_uint_eq(lc_diag("CV-LINK-015")->got, 2);
    ck_assert_uint_eq(lc_diag("CV-LINK-015")->want, 2);
    load("extern_basic", "sm_80");
    ck_assert_int_eq(link_for("sm_80", false), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-015"));
}
END_TEST

static void check_frames(bool refused, uint64_t input, uint64_t at)
{
    cuvet_status other_status = link_for("sm_100", false);

    /* Two relocations of the same bytes, or of what is no code: refused when it is added. */
    if (other_status == CUVET_E_MALFORMED) {
        ck_assert(refused && (lc_said("CV-ELF-114") || lc_said("CV-ELF-193")));
        return;
    }
    ck_assert_int_eq(other_status, refused ? CUVET_E_REFUSED : CUVET_OK);
    ck_assert_int_eq(lc_said("CV-LINK-030"), refused);
    ck_assert(!lc_said("CV-LINK-016"));
    if (!refused)
        return;
    ck_assert_int_eq(lc_diag("CV-LINK-030")->where.step[0].kind, CUVET_P_MEMBER);
    ck_assert_uint_eq(lc_diag("CV-LINK-030")->where.step[0].index, input);
    ck_assert_int_eq(lc_diag("CV-LINK-030")->where.step[2].kind, CUVET_P_SECTION);
    ck_assert_uint_eq(lc_diag("CV-LINK-030")->got, at);
}

/* Offset of the entry in an object that is a description, the length of it in *len. */
static uint64_t description(unsigned index, uint64_t *len)
{
    lc_section part = section(index, ".debug_frame");

    for (uint64_t at = 0; at < part.size; at += 12 + *len) {
        *len = lc_number(object[index].bytes, part.off + at + 4, 8);
        if (lc_number(object[index].bytes, part.off + at + 12, 8) != UINT64_MAX)
            return at;
    }
    ck_abort_msg("no description");
}

/* CV-LINK-030: entries that cannot be told apart, or that leave no room for what is patched in them. */
START_TEST(frame_entries)
{
    static const struct {
        unsigned at, width; /* in the description */
        uint64_t value;
        bool refused;
    } ROWS[] = {
        { 0, 4, 0x24, true },        /* narrow */
        { 4, 8, 7, true },           /* less than what identifies it */
        { 4, 8, 23, true },          /* … than where the code is and how long */
        { 4, 8, UINT64_MAX, true },  /* past the section */
        { 12, 8, UINT64_MAX, true }, /* a common part that names a function */
        { 36, 4, 0, false },         /* the first instructions: anything */
    };

    for (unsigned k = 0; k < N(ROWS); k++) {
        uint64_t len, at, got;

        load("weak_big_first", "sm_100");
        at = description(1, &len);
        lc_put(&object[1], section(1, ".debug_frame").off + at + ROWS[k].at, ROWS[k].width, ROWS[k].value);
        got = ROWS[k].at == 12 ? at + 12 : at;
        check_frames(ROWS[k].refused, 1, got);
    }
}
END_TEST

/* … and what is patched elsewhere, or names something else. */
START_TEST(frame_references)
{
    enum { SYMBOL = 12 };
    static const struct {
        unsigned field;
        int by; /* added */
        bool section;
    } ROWS[] = { { 0, 8, false }, { 0, 16, false }, { 0, 4, false }, { SYMBOL, 0, true } };

    for (unsigned k = 0; k < N(ROWS); k++) {
        uint64_t len, at;
        lc_section part;
        size_t end = 0;

        load("weak_big_first", "sm_100");
        at = description(1, &len) + 20; /* where the function is named */
        part = section(1, ".rela.debug_frame");
        for (size_t i = part.off; i < part.off + part.size; i += 24)
            if (lc_number(object[1].bytes, i, 8) == at)
                end = i;
        ck_assert_uint_gt(end, 0);
        lc_put(&object[1], end + ROWS[k].field, ROWS[k].section ? 4 : 8,
               ROWS[k].section ? 1 : at + (uint64_t)ROWS[k].by);
        /* 8 further on is the length of the code, which names the same function: relocated twice */
        check_frames(true, 1, ROWS[k].section ? at : at + (uint64_t)ROWS[k].by);
    }
}
END_TEST

/* What a capsule says of frames is used only where it is of the same kind: neither a common part nor a
 * description can stand for the other. */
START_TEST(frame_twins)
{
    static const uint64_t IDS[] = { 0, UINT64_MAX };

    for (unsigned k = 0; k < N(IDS); k++) {
        lc_section part;
        uint64_t at = 0, id, count = 0;

        load("weak_big_first", "sm_100");
        part = section(1, ".nv.merc.debug_frame");
        for (; at < part.size; at += 12 + lc_number(object[1].bytes, part.off + at + 4, 8), count++) {
            id = lc_number(object[1].bytes, part.off + at + 12, 8);
            if ((id == UINT64_MAX) != (IDS[k] == UINT64_MAX))
                lc_put(&object[1], part.off + at + 12, 8, IDS[k]);
        }
        ck_assert_uint_ge(count, 4);
        check_frames(false, 0, 0);
    }
}
END_TEST

/* CV-LINK-031: line information of another version is kept whole, and that is said. */
START_TEST(line_versions)
{
    uint64_t all, anew;

    load("lines", "sm_100");
    all = section(0, ".debug_line").size + section(1, ".debug_line").size;
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-031"));
    anew = line_bytes;
    ck_assert(anew > 0 && anew < all); /* two functions are dead */
    lc_put(&object[1], section(1, ".debug_line").off + 4, 2, 5);
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert_int_eq(lc_diag("CV-LINK-031")->severity, CUVET_NOTE);
    ck_assert_uint_eq(lc_diag("CV-LINK-031")->where.n, 3); /* input, file, section */
    ck_assert_uint_eq(lc_diag("CV-LINK-031")->where.step[0].index, 1);
    ck_assert_uint_eq(line_bytes, all);
}
END_TEST

/* … and so is what a relocation crosses, which could not be patched behind the move. */
START_TEST(line_crossing)
{
    lc_section part, other_section;

    load("lines", "sm_100");
    part = section(1, ".rela.debug_line");
    other_section = section(1, ".debug_line");
    lc_put(&object[1], part.off, 8,
           other_section.size - 22 - 6); /* the end of one function's rows and the begin of another's */
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert(lc_said("CV-LINK-031"));
    ck_assert_uint_eq(line_bytes, section(0, ".debug_line").size + other_section.size);
}
END_TEST

/* CV-LINK-032: both inputs must say the same of tcgen05, or one says nothing. */
START_TEST(claims)
{
    static const uint8_t ROWS[][3] = { { 5, 5, 0 }, { 5, 6, 1 }, { 6, 5, 1 },
                                       { 6, 6, 0 }, { 0, 6, 0 }, { 6, 0, 0 } };

    for (unsigned k = 0; k < N(ROWS); k++) {
        load("extern_basic", "sm_100");
        for (unsigned i = 0; i < 2; i++)
            object[i].bytes[claim(i, TCGEN05) + 2] = ROWS[k][i];
        ck_assert_int_eq(link_for("sm_100", false), ROWS[k][2] ? CUVET_E_REFUSED : CUVET_OK);
        ck_assert_int_eq(lc_said("CV-LINK-032"), ROWS[k][2]);
    }
}
END_TEST

/* The record of .nv.compat of the result with this tag; NULL: there is none. */
static const uint8_t *claim_of_result(uint8_t tag)
{
    unsigned index;
    lc_section part = lc_find_section(result, ".nv.compat", &index);

    for (size_t at = part.off; at < part.off + part.size; at += result[at] == 4 ? 4U + result[at + 2] : 4)
        if (result[at + 1] == tag)
            return result + at;
    return NULL;
}

/* Tags that are not known are dropped, whatever they say; that of the patch version gets two bytes, whatever
 * it had; an object without a tag stands for a value, too. */
START_TEST(other_claims)
{
    static const uint8_t DROPPED[] = { 0, 1, 4, 10, 12, 13, 14, 0x55 };
    static const struct {
        uint8_t record[2][4], want[4]; /* in the place of the record of tag 3; a want of format 0: none */
    } ROWS[] = {
        { { { 2, 0x55, 1, 0 }, { 2, 0x55, 1, 0 } }, { 2, 3, 3, 0 } },
        { { { 2, 0x55, 1, 0 }, { 3, 0x55, 44, 1 } }, { 2, 3, 3, 0 } },
        { { { 1, 0, 0, 0 }, { 2, 1, 7, 0 } }, { 2, 3, 3, 0 } },
        { { { 2, 4, 1, 0 }, { 2, 4, 2, 0 } }, { 2, 3, 3, 0 } },
        { { { 3, 10, 1, 0 }, { 3, 10, 2, 0 } }, { 2, 3, 3, 0 } },
        { { { 2, 12, 1, 0 }, { 2, 12, 1, 0 } }, { 2, 3, 3, 0 } },
        { { { 3, 13, 1, 0 }, { 3, 14, 1, 0 } }, { 2, 3, 3, 0 } },
        { { { 2, 8, 5, 0 }, { 2, 8, 2, 0 } }, { 3, 8, 5, 0 } },
        { { { 2, 8, 5, 0 }, { 3, 8, 2, 1 } }, { 3, 8, 2, 1 } },
        { { { 2, 3, 2, 0 }, { 2, 3, 1, 0 } }, { 2, 3, 3, 0 } },
        { { { 2, 3, 5, 0 }, { 2, 3, 2, 0 } }, { 2, 3, 7, 0 } },
        { { { 2, 3, 8, 0 }, { 2, 0x55, 2, 0 } }, { 2, 3, 11, 0 } },
    };

    for (unsigned k = 0; k < N(ROWS); k++) {
        load("extern_basic", "sm_100");
        for (unsigned i = 0; i < 2; i++)
            memcpy(object[i].bytes + claim(i, 3), ROWS[k].record[i], 4);
        ck_assert_int_eq(link_keep("sm_100", NULL, result, &n_result), CUVET_OK);
        for (unsigned i = 0; i < N(DROPPED); i++)
            ck_assert_ptr_null(claim_of_result(DROPPED[i]));
        ck_assert_ptr_nonnull(claim_of_result(ROWS[k].want[1]));
        ck_assert_mem_eq(claim_of_result(ROWS[k].want[1]), ROWS[k].want, 4);
    }
}
END_TEST

/* Objects without a tag: those that count get a value, written behind what the others brought. */
START_TEST(absent_claims)
{
    static const uint8_t ROWS[][4] = { { 2, TCGEN05, 0, 0 }, { 2, 3, 3, 0 }, { 2, 6, 1, 0 }, { 3, 7, 0, 1 } };

    for (unsigned k = 0; k < N(ROWS); k++)
        for (unsigned both = 0; both < 2; both++) {
            uint8_t tag = ROWS[k][1];

            load("extern_basic", "sm_100");
            for (unsigned i = 0; i <= both; i++)
                memcpy(object[i].bytes + claim(i, tag), (uint8_t[]){ 2, 0x55, 0, 0 }, 4);
            ck_assert_int_eq(link_keep("sm_100", NULL, result, &n_result), CUVET_OK);
            ck_assert_ptr_nonnull(claim_of_result(tag));
            if (tag == 7 && !both)
                ck_assert_uint_eq(claim_of_result(tag)[2], 1); /* the other one's is larger */
            else
                ck_assert_mem_eq(claim_of_result(tag), ROWS[k], 4);
        }
}
END_TEST

/* The machines that code runs on as it is: what one object says speaks for no other one, and who loses the
 * mark of the one machine that his code is for loses the others as well. A result that claims more would be
 * finalized. */
START_TEST(claims_of_all)
{
    static const uint8_t NO_BITS[8] = { 0 };
    uint8_t bits = 0;

    load("extern_basic", "sm_100");
    ck_assert_int_eq(link_keep("sm_100", NULL, result, &n_result), CUVET_OK);
    ck_assert_ptr_nonnull(claim_of_result(FASTPATH));
    bits = claim_of_result(FASTPATH)[4];
    ck_assert_uint_ne(bits & RUNS_ON_103, 0);
    for (unsigned i = 0; i < N(object); i++) { /* one of them says nothing */
        load("extern_basic", "sm_100");
        object[i].bytes[claim(i, FASTPATH) + 1] = 0x55;
        ck_assert_int_eq(link_keep("sm_100", NULL, result, &n_result), CUVET_OK);
        ck_assert(!claim_of_result(FASTPATH) || memcmp(claim_of_result(FASTPATH) + 4, NO_BITS, 8) == 0);
    }
    load("callee_tcgen05", "sm_100a"); /* both are for sm_100a */
    ck_assert_int_eq(link_keep("sm_100a", NULL, result, &n_result), CUVET_OK);
    ck_assert_int_eq(link_keep("sm_100", NULL, result, &n_result), CUVET_OK);
    ck_assert(!claim_of_result(FASTPATH) || memcmp(claim_of_result(FASTPATH) + 4, NO_BITS, 8) == 0);
}
END_TEST

/* CV-LINK-033: of a kernel whose cluster has a fixed size the reference makes other code. */
START_TEST(clusters)
{
    lc_section part;

    load("extern_basic", "sm_100");
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-033"));
    part = section(1, ".nv.info._Z2k2Pi");
    for (size_t at = part.off; at < part.off + part.size; at += 4)
        if (lc_number(object[1].bytes, at, 4) == 0x00004A02)
            lc_put(&object[1], at, 4, 0x3E01);
    ck_assert_int_eq(link_for("sm_100", false), CUVET_OK);
    ck_assert_int_eq(lc_diag("CV-LINK-033")->severity, CUVET_NOTE);
}
END_TEST

Suite *suite_linker_capsule(void)
{
    Suite *suite = suite_create("linker capsule");
    TCase *tcase = tcase_create("sm_100");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, retarget);
    tcase_add_test(tcase, made_again);
    tcase_add_test(tcase, capsules);
    tcase_add_test(tcase, frame_entries);
    tcase_add_test(tcase, frame_references);
    tcase_add_test(tcase, frame_twins);
    tcase_add_test(tcase, line_versions);
    tcase_add_test(tcase, line_crossing);
    tcase_add_test(tcase, claims);
    tcase_add_test(tcase, other_claims);
    tcase_add_test(tcase, absent_claims);
    tcase_add_test(tcase, claims_of_all);
    tcase_add_test(tcase, clusters);
    suite_add_tcase(suite, tcase);
    return suite;
}
