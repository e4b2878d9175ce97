/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The input object through its public face: states, all or nothing, selection over whole payloads, results.
 */
#include "input_fixture.h"

/* Which member goes to which target: through the whole object, from bytes to an image. */
static const struct {
    const char *target, *members;
    int want; /* member; -1: nothing fits */
    cuvet_status status;
} CHOICES[] = {
    { "sm_90", "sm_75 sm_80 sm_90", 2, CUVET_OK },
    { "sm_90", "sm_90 sm_75 sm_80", 0, CUVET_OK },
    { "sm_90a", "sm_90 sm_90a", 1, CUVET_OK },
    { "sm_90", "sm_90 sm_90a", 1, CUVET_OK }, /* 'a' is preferred, with a warning */
    { "sm_89", "sm_80 sm_86 sm_75", 1, CUVET_OK },
    { "sm_103", "sm_100 compute_90", 0, CUVET_OK },
    { "sm_103", "sm_100 sm_100f sm_100a", 1, CUVET_OK },
    { "sm_121", "sm_120 sm_120f sm_100", 1, CUVET_OK },
    { "sm_90", "sm_90 sm_90", 0, CUVET_OK },
    { "sm_90", "exe:sm_90", 0, CUVET_E_REFUSED },
    { "sm_90", "sm_75 sm_80 sm_100", -1, CUVET_E_NO_MATCH },
    { "sm_90", "compute_90 sm_80", 0, CUVET_E_COMPILER },
    { "sm_103", "sm_100 compute_103", 1, CUVET_E_COMPILER },
    { "sm_90", "lto_90 sm_80", -1, CUVET_E_NO_MATCH },
};

START_TEST(choices)
{
    cuvet_select in = make_for(CHOICES[_i].target);
    uint64_t chosen = UINT64_MAX, count;
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_candidate candidate = { .size = sizeof(candidate) };

    fb_make(&bin, CHOICES[_i].members);
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(state(in), CUVET_SELECT_BOUND);
    ck_assert_str_eq(cuvet_status_name(cuvet_select_run(ctx, in)), cuvet_status_name(CHOICES[_i].status));
    count = candidates(in);
    for (uint64_t i = 0; i < count; i++) {
        ck_assert_int_eq(cuvet_select_get_candidate(ctx, in, i, &candidate), CUVET_OK);
        ck_assert_int_eq(candidate.rank == 0, candidate.reason != CUVET_REASON_NONE);
        if ((candidate.flags & CUVET_CANDIDATE_CHOSEN) != 0)
            chosen = i;
    }
    ck_assert_int_eq((int)chosen, CHOICES[_i].want);
    if (CHOICES[_i].status == CUVET_OK) {
        ck_assert_int_eq(state(in), CUVET_SELECT_SELECTED);
        ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
        ck_assert_uint_eq(result.candidate, chosen);
        ck_assert_int_eq(cuvet_select_get_candidate(ctx, in, chosen, &candidate), CUVET_OK);
        ck_assert(result.sm == candidate.sm && result.suffix == candidate.suffix &&
                  !(result.flags & CUVET_IMAGE_COMPILED));
        ck_assert_int_eq(result.kind, result.sm >= 100 ? CUVET_K_MERCURY : CUVET_K_CUBIN);
        ck_assert(result.n <= candidate.stored_size && candidate.stored_size - result.n < 8);
        ck_assert_mem_eq(result.bytes, bin.bytes + candidate.payload_off, result.n);
    } else {
        ck_assert_int_eq(state(in), CUVET_SELECT_FAILED);
        ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_E_STATE);
        ck_assert(result.bytes == NULL && result.n == 0);
        ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_STATE);
        ck_assert_uint_gt(n_said, 0);
    }
    end(in);
}
END_TEST

START_TEST(what_is_said)
{
    cuvet_select in = make_for("sm_90");
    cuvet_diag diag = { .size = sizeof(diag) };
    uint64_t count = 0;

    fb_make(&bin, "sm_90 sm_90a");
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert(was_said("CV-ADMIT-007"));
    end(in);
    n_said = 0;
    in = make_for("sm_75");
    bin.size = 0;
    fb_begin(&bin);
    fb_member(&bin, "sm_90");
    fb_member(&bin, "compute_90");
    fb_member(&bin, "lto_90");
    fb_bytes(&bin, 0x10, 90, 0, "other", 5);
    fb_end(&bin);
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_NO_MATCH);
    ck_assert(was_said("CV-INPUT-001") && was_said("CV-INPUT-002") && was_said("CV-INPUT-003") &&
              was_said("CV-INPUT-004") && was_said("CV-INPUT-012"));
    while (cuvet_select_get_diag(ctx, in, count, &diag) == CUVET_OK) {
        ck_assert_str_eq(cuvet_rule_get(diag.rule)->id, said[count].id);
        count++;
    }
    ck_assert_uint_eq(count, n_said);
    end(in);
}
END_TEST

START_TEST(exact_policy)
{
    cuvet_select_options settings = config("sm_90");
    cuvet_candidate got = { .size = sizeof(got) };
    cuvet_select in;

    settings.policy = CUVET_ARCH_EXACT;
    in = make(&settings);
    fb_make(&bin, "sm_90 sm_90a");
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_candidate(ctx, in, 1, &got), CUVET_OK);
    ck_assert_int_eq(got.reason, CUVET_REASON_POLICY);
    ck_assert(!was_said("CV-ADMIT-007"));
    end(in);
}
END_TEST

/* All containers are looked at, and it is said where the reference would have chosen otherwise. */
START_TEST(several_containers)
{
    cuvet_select in = make_for("sm_89");
    cuvet_select_result result = { .size = sizeof(result) };

    bin.size = 0;
    fb_begin(&bin);
    fb_member(&bin, "sm_80");
    fb_end(&bin);
    fb_begin(&bin);
    fb_member(&bin, "sm_86");
    fb_end(&bin);
    fb_begin(&bin);
    fb_member(&bin, "sm_86");
    fb_end(&bin);
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_uint_eq(candidates(in), 3);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
    ck_assert_uint_eq(result.candidate, 1);
    ck_assert(was_said("CV-INPUT-005") && was_said("CV-INPUT-006"));
    end(in);
}
END_TEST

/* Containers in members in containers, up to the limit. */
static void nest(unsigned levels, const char *members)
{
    static fb_state inner;

    fb_make(&bin, members);
    for (unsigned i = 0; i < levels; i++) {
        inner = bin;
        bin.size = 0;
        fb_begin(&bin);
        fb_bytes(&bin, 2, 90, 0, inner.bytes, inner.size);
        fb_end(&bin);
    }
}

START_TEST(nested)
{
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_candidate candidate = { .size = sizeof(candidate) };

    for (unsigned levels = 1; levels <= 6; levels++) {
        cuvet_select in = make_for("sm_90");
        cuvet_status want = levels <= 4 ? CUVET_OK : CUVET_E_LIMIT;

        n_said = 0;
        nest(levels, "sm_80 sm_90");
        ck_assert_int_eq(bind_bin(in), CUVET_OK);
        ck_assert_uint_eq(candidates(in), 1);
        ck_assert_str_eq(cuvet_status_name(cuvet_select_run(ctx, in)), cuvet_status_name(want));
        if (want == CUVET_OK) {
            ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
            ck_assert_uint_eq(result.candidate, levels + 1);
            ck_assert_int_eq(cuvet_select_get_candidate(ctx, in, result.candidate, &candidate), CUVET_OK);
            ck_assert_uint_eq(candidate.depth, levels);
            ck_assert_uint_eq(result.sm, 90);
        } else {
            ck_assert(was_said("CV-LIMIT-008"));
        }
        end(in);
    }
}
END_TEST

static const struct {
    const char *file, *target;
    cuvet_kind content;
    cuvet_status bind, select;
    cuvet_request request;
    cuvet_kind match;
} FILES[] = {
    { "plain.sm_90.rdc.cubin", "sm_90", CUVET_K_CUBIN, CUVET_OK, CUVET_OK, 0, CUVET_K_CUBIN },
    { "plain.sm_90.rdc.cubin", "sm_80", CUVET_K_CUBIN, CUVET_OK, CUVET_E_REFUSED, 0, 0 },
    { "plain.sm_90.cubin", "sm_90", CUVET_K_CUBIN, CUVET_OK, CUVET_E_REFUSED, 0, 0 },
    { "plain.sm_100.rdc.cubin", "sm_103", CUVET_K_CUBIN, CUVET_OK, CUVET_OK, 0, CUVET_K_MERCURY },
    { "plain.sm_90.rdc.cubin", "sm_90", CUVET_K_CUBIN, CUVET_OK, CUVET_E_NO_MATCH, CUVET_REQUEST_PTX, 0 },
    { "plain.ptx", "sm_90", CUVET_K_PTX, CUVET_OK, CUVET_E_COMPILER, 0, 0 },
    { "plain.ptx", "sm_90", CUVET_K_PTX, CUVET_OK, CUVET_OK, CUVET_REQUEST_PTX, CUVET_K_PTX },
    { "plain.ptx", "sm_90", CUVET_K_PTX, CUVET_OK, CUVET_E_NO_MATCH, CUVET_REQUEST_SASS, 0 },
    { "host-two_a.o", "sm_75", CUVET_K_HOST_ELF, CUVET_OK, CUVET_OK, 0, CUVET_K_CUBIN },
    { "host-merged.o", "sm_75", CUVET_K_HOST_ELF, CUVET_OK, CUVET_OK, 0, CUVET_K_CUBIN },
    { "long-names.a", "sm_75", CUVET_K_ARCHIVE, CUVET_OK, CUVET_OK, 0, CUVET_K_CUBIN },
    { "lto-raw.fatbin", "sm_90", CUVET_K_FATBIN, CUVET_OK, CUVET_OK, CUVET_REQUEST_LTOIR, CUVET_K_LTOIR },
    { "lto.fatbin", "sm_90", CUVET_K_FATBIN, CUVET_OK, CUVET_E_UNSUPPORTED, CUVET_REQUEST_LTOIR, 0 },
    { "ptx-only.fatbin", "sm_90", CUVET_K_FATBIN, CUVET_OK, CUVET_OK, CUVET_REQUEST_PTX, CUVET_K_PTX },
    { "multi-lz4.fatbin", "sm_75", CUVET_K_FATBIN, CUVET_OK, CUVET_E_NO_MATCH, CUVET_REQUEST_LTOIR, 0 },
};

START_TEST(files)
{
    cuvet_select_options settings = config(FILES[_i].target);
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_select in;
    cuvet_select_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes = sample(FILES[_i].file, &count, 0);

    settings.request = FILES[_i].request;
    in = make(&settings);
    ck_assert_str_eq(cuvet_status_name(cuvet_select_bind(ctx, in, bytes, count, CUVET_BIND_COPY, &info)),
                     cuvet_status_name(FILES[_i].bind));
    ck_assert_int_eq(info.type, FILES[_i].content);
    ck_assert_msg(cuvet_select_run(ctx, in) == FILES[_i].select, "%s: %u said, last %s", FILES[_i].file,
                  n_said, n_said ? said[n_said - 1].id : "");
    if (FILES[_i].select == CUVET_OK) {
        ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
        ck_assert_int_eq(result.kind, FILES[_i].match);
        ck_assert_uint_gt(result.n, 0);
    }
    end(in);
}
END_TEST

START_TEST(refused_payloads)
{
    static const uint8_t WRAPPER[24] = { 0xB1, 0x43, 0x62, 0x46, 1 };
    cuvet_select in = make_for("sm_90");
    size_t count;
    const uint8_t *bytes = sample("multi.fatbin", &count, 0);
    cuvet_content_info info = { .size = sizeof(info) };

    ck_assert_int_eq(cuvet_select_bind(ctx, in, "nothing known", 13, 0, NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, "", 0, 0, NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, bytes, count - 8, 0, NULL), CUVET_E_TRUNCATED);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, bytes, 12, 0, NULL), CUVET_E_TRUNCATED);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, WRAPPER, sizeof(WRAPPER), 0, NULL), CUVET_E_UNSUPPORTED);
    ck_assert(was_said("CV-INPUT-007"));
    ck_assert_int_eq(cuvet_select_bind(ctx, in, bytes, count, 2, NULL), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, NULL, count, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(state(in), CUVET_SELECT_NEW);
    /* A failing bind keeps what was bound. */
    ck_assert_int_eq(cuvet_select_bind(ctx, in, bytes, count, 0, &info), CUVET_OK);
    ck_assert_uint_eq(candidates(in), 8);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, "nothing known", 13, 0, NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(state(in), CUVET_SELECT_BOUND);
    ck_assert_uint_eq(candidates(in), 8);
    /* Binding again replaces. */
    fb_make(&bin, "sm_90");
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_uint_eq(candidates(in), 1);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert_int_eq(bind_bin(in), CUVET_E_STATE);
    end(in);
}
END_TEST

/* Options that cannot be: nothing is made. */
START_TEST(configuration)
{
    static const cuvet_target BAD[] = { { 999, 0 }, { 0, 0 }, { 90, 'f' }, { 90, 'b' } };
    const cuvet_select_options good = config("sm_90a");
    cuvet_compiler compiler = { .size = sizeof(compiler) };
    cuvet_select_options settings;
    cuvet_select in = { 7 };

    for (size_t i = 0; i < N(BAD); i++) {
        settings = good;
        settings.target = BAD[i];
        in.bits = 7;
        ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_ARCH);
        ck_assert_uint_eq(in.bits, 0);
    }
    settings = good;
    settings.request = 77;
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.threads = 65;
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.policy = 2;
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.flags = 4;
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.compiler = &compiler; /* without a function */
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.size--;
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, &in), CUVET_E_USAGE);
    settings = good;
    settings.threads = 64;
    settings.flags = CUVET_SELECT_ADDRESS32 | CUVET_SELECT_LENIENT;
    in = make(&settings);
    ck_assert_int_eq(state(in), CUVET_SELECT_NEW);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_STATE);
    fb_make(&bin, "sm_90a");
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    end(in);
}
END_TEST

START_TEST(options)
{
    cuvet_select in = make_for("sm_90");
    const char *at;
    char text[40];
    size_t count;

    ck_assert_int_eq(cuvet_select_get_option(ctx, in, 0, &at, &count), CUVET_END);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "-c", 2), CUVET_OK);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "-m64 -o /etc/passwd", 19), CUVET_OK); /* one element */
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "", 0), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "a\0b", 3), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, NULL, 3), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "-v", 2), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_option(ctx, in, 1, &at, &count), CUVET_OK);
    ck_assert_str_eq(at, "-m64 -o /etc/passwd");
    ck_assert_uint_eq(count, 19);
    ck_assert_int_eq(cuvet_select_get_option(ctx, in, 2, &at, &count), CUVET_OK);
    ck_assert_str_eq(at, "-v");
    ck_assert_int_eq(cuvet_select_get_option(ctx, in, 3, &at, &count), CUVET_END);
    for (unsigned i = 3; i < 256; i++)
        ck_assert_int_eq(
            cuvet_select_add_option(ctx, in, text, (size_t)snprintf(text, sizeof(text), "-o%u", i)),
            CUVET_OK);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "-x", 2), CUVET_E_LIMIT);
    ck_assert(was_said("CV-LIMIT-017"));
    ck_assert_int_eq(cuvet_select_get_option(ctx, in, 255, &at, &count), CUVET_OK);
    ck_assert_str_eq(at, "-o255");
    end(in);
}
END_TEST

START_TEST(long_options)
{
    cuvet_select_options settings = config("sm_90");
    char *big = malloc(65536);
    cuvet_select in;

    settings.flags = CUVET_SELECT_LENIENT;
    in = make(&settings);
    memset(big, 'x', 65536);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "", 0), CUVET_OK); /* ignored */
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, big, 65536), CUVET_E_LIMIT);
    ck_assert(was_said("CV-LIMIT-018"));
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, big, 65535), CUVET_OK);
    ck_assert_int_eq(cuvet_select_add_option(ctx, in, "x", 1), CUVET_E_LIMIT);
    free(big);
    end(in);
}
END_TEST

START_TEST(taking)
{
    cuvet_select in = make_for("sm_90");
    cuvet_image left = { 1 }, right = { 1 };
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_image_info info = { .size = sizeof(info) };
    size_t count;

    fb_make(&bin, "sm_90");
    ck_assert_int_eq(cuvet_select_take_image(ctx, in, &left), CUVET_E_STATE);
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_take_image(ctx, in, &left), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
    count = result.n;
    ck_assert_int_eq(cuvet_select_take_image(ctx, in, &left), CUVET_OK);
    ck_assert_int_eq(cuvet_select_take_image(ctx, in, &right), CUVET_E_STATE);
    ck_assert_uint_eq(right.bits, 0);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_E_STATE);
    end(in);
    ck_assert_int_eq(cuvet_image_get_info(ctx, left, &info), CUVET_OK); /* lives on */
    ck_assert_uint_eq(info.n, count);
    ck_assert_mem_eq(info.bytes, bin.bytes + 80, info.n);
    ck_assert(info.kind == CUVET_K_CUBIN && info.target.sm == 90 && !info.target.suffix && !info.flags);
    right = left;
    ck_assert_int_eq(cuvet_image_destroy(ctx, &left), CUVET_OK);
    ck_assert_uint_eq(left.bits, 0);
    ck_assert_int_eq(cuvet_image_get_info(ctx, right, &info), CUVET_E_STALE_HANDLE);
}
END_TEST

/* A source is read once and kept: the same choice, and what cannot be read is said. */
START_TEST(from_a_source)
{
    cuvet_limits tiny = { .size = sizeof(tiny) };
    const cuvet_ctx_options narrow = { .size = sizeof(narrow), .limits = &tiny };
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_select in = make_for("sm_90");
    const cuvet_select_options settings = config("sm_90");
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_ctx *small;

    fb_make(&bin, "sm_80 sm_90");
    ck_assert_int_eq(cuvet_source_memory(bin.bytes, bin.size, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_select_bind_source(ctx, in, &src, &info), CUVET_OK);
    ck_assert_int_eq(info.type, CUVET_K_FATBIN);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
    ck_assert_uint_eq(result.candidate, 1);
    ck_assert_int_eq(cuvet_select_bind_source(ctx, in, &src, NULL), CUVET_E_STATE);
    end(in);
    in = make_for("sm_90");
    ck_assert_int_eq(cuvet_select_bind_source(ctx, in, NULL, NULL), CUVET_E_NULL);
    src.read_at = NULL;
    ck_assert_int_eq(cuvet_select_bind_source(ctx, in, &src, NULL), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_memory(bin.bytes, 0, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_select_bind_source(ctx, in, &src, NULL), CUVET_E_UNKNOWN);
    ck_assert_int_eq(state(in), CUVET_SELECT_NEW);
    end(in);
    ck_assert_int_eq(cuvet_limits_preset("strict", &tiny), CUVET_OK);
    tiny.input = 10;
    ck_assert_int_eq(cuvet_ctx_create(&narrow, &small), CUVET_OK);
    ck_assert_int_eq(cuvet_select_create(small, &settings, &in), CUVET_OK);
    ck_assert_int_eq(cuvet_source_memory(bin.bytes, bin.size, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_select_bind_source(small, in, &src, NULL), CUVET_E_LIMIT);
    cuvet_ctx_destroy(small);
}
END_TEST

START_TEST(cancelling)
{
    cuvet_select in = make_for("sm_90");

    fb_make(&bin, "sm_90");
    ck_assert_int_eq(bind_bin(in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_cancel(ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_CANCELLED);
    ck_assert_int_eq(state(in), CUVET_SELECT_FAILED);
    end(in);
    ck_assert_int_eq(cuvet_select_cancel(ctx, in), CUVET_E_STALE_HANDLE);
}
END_TEST

START_TEST(misuse)
{
    cuvet_select none = { 0 }, in = make_for("sm_90"), other;
    cuvet_scan scan = { in.bits };
    const cuvet_select_options settings = config("sm_90");
    cuvet_summary sum = { .size = sizeof(sum) };
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_ctx *second;

    ck_assert_int_eq(cuvet_select_run(ctx, none), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_select_destroy(ctx, &none), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_scan_summary(ctx, scan, &sum), CUVET_E_HANDLE_KIND);
    ck_assert_int_eq(cuvet_select_create(ctx, NULL, &other), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_select_create(NULL, &settings, &other), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_select_create(ctx, &settings, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_select_destroy(NULL, &in), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &second), CUVET_OK);
    if ((in.bits >> 16 & 0xFFFF) != 0) {
        cuvet_status status;

        ck_assert_int_eq(cuvet_select_create(second, &settings, &other), CUVET_OK);
        status = cuvet_select_run(ctx, other);
        /* One in 65,536 contexts has the same salt. */
        ck_assert(status == CUVET_E_HANDLE || (other.bits >> 16 & 0xFFFF) == (in.bits >> 16 & 0xFFFF));
    }
    cuvet_ctx_destroy(second);
    other = in;
    end(in);
    ck_assert_int_eq(cuvet_select_get_result(ctx, other, &result), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_select_destroy(ctx, &other), CUVET_E_STALE_HANDLE);
}
END_TEST

/* One list of kinds, and what the reference tools call them. */
START_TEST(kind_numbers)
{
    static const struct {
        cuvet_kind kind;
        uint32_t content, result;
    } ROWS[] = {
        { CUVET_K_NONE, 0, 0 },    { CUVET_K_CUBIN, 3, 2 },    { CUVET_K_PTX, 4, 1 },
        { CUVET_K_LTOIR, 0, 8 },   { CUVET_K_MERCURY, 0, 16 }, { CUVET_K_FATBIN, 2, 0 },
        { CUVET_K_BITCODE, 0, 0 }, { CUVET_K_NVVM, 1, 8 },     { CUVET_K_WRAPPER, 0, 0 },
        { CUVET_K_ARCHIVE, 0, 0 }, { CUVET_K_HOST_ELF, 0, 0 },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        ck_assert_uint_eq(ROWS[i].kind, i);
        ck_assert_uint_eq(cuvet_kind_reference(ROWS[i].kind, CUVET_REFERENCE_CONTENT), ROWS[i].content);
        ck_assert_uint_eq(cuvet_kind_reference(ROWS[i].kind, CUVET_REFERENCE_RESULT), ROWS[i].result);
    }
    ck_assert_uint_eq(cuvet_kind_reference(CUVET_K_PTX, (cuvet_reference)2), 0);
    ck_assert_uint_eq(cuvet_kind_reference((cuvet_kind)99, CUVET_REFERENCE_CONTENT), 0);
}
END_TEST

Suite *suite_test_input(void)
{
    Suite *suite = suite_create("input");
    TCase *tcase = tcase_create("input");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, choices, 0, (int)N(CHOICES));
    tcase_add_test(tcase, what_is_said);
    tcase_add_test(tcase, exact_policy);
    tcase_add_test(tcase, several_containers);
    tcase_add_test(tcase, nested);
    tcase_add_loop_test(tcase, files, 0, (int)N(FILES));
    tcase_add_test(tcase, refused_payloads);
    tcase_add_test(tcase, configuration);
    tcase_add_test(tcase, options);
    tcase_add_test(tcase, long_options);
    tcase_add_test(tcase, taking);
    tcase_add_test(tcase, from_a_source);
    tcase_add_test(tcase, cancelling);
    tcase_add_test(tcase, misuse);
    tcase_add_test(tcase, kind_numbers);
    suite_add_tcase(suite, tcase);
    return suite;
}
