/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker and a caged side that was taken over: what makes it hang up, and that nothing else gets through.
 */
#include "fake.h"

#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

START_TEST(options)
{
    static const struct row {
        const char *option;
        bool ltoir, ok;
    } T[] = {
        { "--fmad=false", false, true },
        { "--fmad=maybe", false, false },
        { "--fmad=", false, false },
        { "--fmad", false, false },
        { "-fmad=false", false, false },
        { "-fmad=1", true, true },
        { "-fmad=2", true, false },
        { "--fmad=1", true, false },
        { "-ftz=0", true, true },
        { "-ftz=0", false, false },
        { "--maxrregcount=255", false, true },
        { "--maxrregcount=256", false, false },
        { "--maxrregcount=0255", false, false },
        { "--maxrregcount=archmax", false, true },
        { "--maxrregcount=archmax archmin", false, false },
        { "--maxrregcount=4294967297", false, false },
        { "--maxrregcount=-1", false, false },
        { "--maxrregcount=3 ", false, false },
        { "--compile-only", false, true },
        { "--compile-only=1", false, false },
        { "--compile-onl", false, false },
        { "--output-file=x", false, false },
        { "--options-file=x", false, false },
        { "--gpu-name=sm_90", false, false },
        { "-o", false, false },
        { "-o9", false, true }, /* the user's own */
        { "-o9", true, true },
        { "--any thing", false, true },
        { "--any  thing", false, false },
        { "/etc/passwd", false, false },
        { "-", false, false },
        { "--", false, false },
        { "", false, false },
        { "", true, false },
    };

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++)
        ck_assert_msg(cli_broker_option_ok(&RULES, T[i].option, T[i].ltoir) == T[i].ok, "'%s'", T[i].option);
}
END_TEST

/* What the caged side would have to read is whatever it likes; here it goes nowhere. */
static void serve(const void *bytes, size_t n)
{
    cuvet_compiler real = fake_compiler();
    int end[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end), 0);
    ck_assert(broker_write(end[0], bytes, n));
    ck_assert_int_eq(shutdown(end[0], SHUT_WR), 0);
    cli_broker_serve(end[1], &real, &RULES);
    close(end[0]);
    close(end[1]);
}

typedef struct frame {
    broker_request head;
    char rest[64];
} frame;

static frame good_frame(void)
{
    frame f = { .head = { .mark = BROKER_REQUEST, .sm = 90, .suffix = 'a', .threads = 1, .n_options = 2 } };

    memcpy(f.rest, "--fmad=true\0-o9\0e", 17);
    f.head.option_bytes = 16;
    f.head.n = 1;
    return f;
}

START_TEST(heads)
{
    static const struct row {
        size_t at, width;
        uint64_t value;
        int calls;
    } T[] = {
        { offsetof(broker_request, mark), 1, 'r', 1 },
        { offsetof(broker_request, mark), 1, 'x', 0 },
        { offsetof(broker_request, ltoir), 1, 2, 0 },
        { offsetof(broker_request, ltoir), 1, 1, 0 }, /* these options are none of LTO-IR */
        { offsetof(broker_request, suffix), 1, 'f', 1 },
        { offsetof(broker_request, suffix), 1, 0, 1 },
        { offsetof(broker_request, suffix), 1, 'b', 0 },
        { offsetof(broker_request, cubin), 1, 2, 0 },
        { offsetof(broker_request, debug), 1, 1, 0 }, /* only of device ELFs */
        { offsetof(broker_request, cubin), 1, 1, 0 }, /* device ELFs have no options */
        { offsetof(broker_request, sm), 4, 9, 0 },
        { offsetof(broker_request, sm), 4, 10, 1 },
        { offsetof(broker_request, sm), 4, 999, 1 },
        { offsetof(broker_request, sm), 4, 1000, 0 },
        { offsetof(broker_request, sm), 4, UINT32_MAX, 0 },
        { offsetof(broker_request, threads), 4, 0, 0 },
        { offsetof(broker_request, threads), 4, 64, 1 },
        { offsetof(broker_request, threads), 4, 65, 0 },
        { offsetof(broker_request, n_options), 4, 1, 0 },
        { offsetof(broker_request, n_options), 4, 3, 0 },
        { offsetof(broker_request, n_options), 4, 5, 0 },
        { offsetof(broker_request, n_options), 4, UINT32_MAX, 0 },
        { offsetof(broker_request, option_bytes), 8, 15, 0 },
        { offsetof(broker_request, option_bytes), 8, 201, 0 },
        { offsetof(broker_request, option_bytes), 8, UINT64_MAX, 0 },
        { offsetof(broker_request, n), 8, 0, 0 },
        { offsetof(broker_request, n), 8, 2, 0 }, /* ends before that */
        { offsetof(broker_request, n), 8, FAKE_INPUT + 1, 0 },
        { offsetof(broker_request, n), 8, UINT64_MAX, 0 },
    };
    const size_t whole = sizeof(broker_request) + 17;

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        frame f = good_frame();

        memcpy((char *)&f.head + T[i].at, &T[i].value, T[i].width);
        seen->calls = 0;
        serve(&f, whole);
        ck_assert_msg(seen->calls == T[i].calls, "row %zu", i);
        ck_assert_int_eq(seen->broken, 0);
    }
    for (size_t n = 0; n < whole; n++) { /* every place where it may break off */
        frame f = good_frame();

        seen->calls = 0;
        serve(&f, n);
        ck_assert_int_eq(seen->calls, 0);
    }
}
END_TEST

/* A device ELF: no options at all, and it is no LTO-IR. */
START_TEST(device_elf)
{
    frame f = { .head = {
                    .mark = BROKER_REQUEST, .sm = 103, .suffix = 'a', .threads = 1, .cubin = 1, .n = 1 } };

    f.rest[0] = 'e';
    seen->calls = 0;
    serve(&f, sizeof(f.head) + 1);
    ck_assert_int_eq(seen->calls, 1);
    ck_assert_int_eq(seen->broken, 0);
    ck_assert_int_eq(seen->cubins, 1);
    ck_assert_int_eq(seen->debugs, 0);
    f.head.debug = 1;
    serve(&f, sizeof(f.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
    ck_assert_int_eq(seen->debugs, 1);
    f.head.debug = 2;
    serve(&f, sizeof(f.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
    f.head.debug = 0;
    f.head.ltoir = 1;
    serve(&f, sizeof(f.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
}
END_TEST

START_TEST(options_in_a_frame)
{
    static const struct row {
        const char *bytes;
        uint64_t n;
        uint32_t options;
        int calls;
    } T[] = {
        { "", 0, 0, 1 },
        { "-o9\0", 4, 1, 1 },
        { "-o9\0-o9\0", 8, 2, 1 },
        { "-o9\0-o9\0", 8, 1, 0 },     /* more bytes than options */
        { "-o9\0-o9!", 8, 2, 0 },      /* no NUL at the end */
        { "-o9\0\0\0\0", 7, 2, 0 },    /* empty ones */
        { "-o9\0-x\0", 7, 2, 0 },      /* one that nobody gave */
        { "--fmad=true\0", 12, 1, 1 }, /* of the table */
        { "--fmad=\0rue", 11, 1, 0 },
        { "-o9", 3, 1, 0 },
        { "", 0, 1, 0 },
        { "-o9\0", 4, 0, 0 },
    };

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        frame f = good_frame();

        f.head.n_options = T[i].options;
        f.head.option_bytes = T[i].n;
        memcpy(f.rest, T[i].bytes, T[i].n);
        f.rest[T[i].n] = 'e';
        seen->calls = 0;
        serve(&f, sizeof(f.head) + T[i].n + 1);
        ck_assert_msg(seen->calls == T[i].calls, "row %zu", i);
        ck_assert_int_eq(seen->broken, 0);
    }
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Good frames with a few bytes changed, cut, repeated: no request outside of the rules gets through, and it
 * always comes to an end. */
START_TEST(arbitrary_bytes)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    int through = 0;

    for (int round = 0; round < 5000; round++) {
        char bytes[4 * sizeof(frame)];
        size_t n = 0, frames = 1 + next_random(&state) % 3;

        for (size_t i = 0; i < frames; i++) {
            frame f = good_frame();

            memcpy(bytes + n, &f, sizeof(f.head) + 17);
            n += sizeof(f.head) + 17;
        }
        for (uint64_t i = next_random(&state) % 4; i > 0; i--)
            bytes[next_random(&state) % n] = (char)(next_random(&state) >> 11);
        if (next_random(&state) % 4 == 0)
            n = next_random(&state) % n;
        /* 'w' would wait for somebody to cancel it: the end of the stream does. */
        serve(bytes, n);
        through += seen->calls;
        seen->calls = 0;
        ck_assert_int_eq(seen->broken, 0);
    }
    ck_assert_int_gt(through, 1000);
}
END_TEST

Suite *suite_frames(void);
Suite *suite_frames(void)
{
    Suite *s = suite_create("frames");
    TCase *c = tcase_create("frames");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, fake_setup, fake_teardown);
    tcase_add_test(c, options);
    tcase_add_test(c, heads);
    tcase_add_test(c, device_elf);
    tcase_add_test(c, options_in_a_frame);
    tcase_add_test(c, arbitrary_bytes);
    suite_add_tcase(s, c);
    return s;
}
