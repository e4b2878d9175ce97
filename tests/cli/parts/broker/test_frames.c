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
    } row[] = {
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

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        ck_assert_msg(cli_broker_option_ok(&RULES, row[i].option, row[i].ltoir) == row[i].ok, "'%s'",
                      row[i].option);
}
END_TEST

/* What the caged side would have to read is whatever it likes; here it goes nowhere. */
static void serve(const void *bytes, size_t size)
{
    cuvet_compiler real = fake_compiler();
    int end[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end), 0);
    ck_assert(cli_write_all(end[0], bytes, size));
    ck_assert_int_eq(shutdown(end[0], SHUT_WR), 0);
    cli_broker_serve(end[1], &real, &RULES);
    close(end[0]);
    close(end[1]);
}

typedef struct frames_frame {
    broker_request head;
    char rest[64];
} frames_frame;

static frames_frame good_frame(void)
{
    frames_frame frame = {
        .head = { .mark = BROKER_REQUEST, .sm = 90, .suffix = 'a', .threads = 1, .n_options = 2 }
    };

    memcpy(frame.rest, "--fmad=true\0-o9\0e", 17);
    frame.head.option_bytes = 16;
    frame.head.size = 1;
    return frame;
}

START_TEST(heads)
{
    static const struct row {
        size_t at, width;
        uint64_t value;
        int calls;
    } row[] = {
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
        { offsetof(broker_request, size), 8, 0, 0 },
        { offsetof(broker_request, size), 8, 2, 0 }, /* ends before that */
        { offsetof(broker_request, size), 8, FAKE_INPUT + 1, 0 },
        { offsetof(broker_request, size), 8, UINT64_MAX, 0 },
    };
    const size_t whole = sizeof(broker_request) + 17;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        frames_frame frame = good_frame();

        memcpy((char *)&frame.head + row[i].at, &row[i].value, row[i].width);
        seen->calls = 0;
        serve(&frame, whole);
        ck_assert_msg(seen->calls == row[i].calls, "row %zu", i);
        ck_assert_int_eq(seen->broken, 0);
    }
    for (size_t count = 0; count < whole; count++) { /* every place where it may break off */
        frames_frame frame = good_frame();

        seen->calls = 0;
        serve(&frame, count);
        ck_assert_int_eq(seen->calls, 0);
    }
}
END_TEST

/* A device ELF: no options at all, and it is no LTO-IR. */
START_TEST(device_elf)
{
    frames_frame frame = {
        .head = { .mark = BROKER_REQUEST, .sm = 103, .suffix = 'a', .threads = 1, .cubin = 1, .size = 1 }
    };

    frame.rest[0] = 'e';
    seen->calls = 0;
    serve(&frame, sizeof(frame.head) + 1);
    ck_assert_int_eq(seen->calls, 1);
    ck_assert_int_eq(seen->broken, 0);
    ck_assert_int_eq(seen->cubins, 1);
    ck_assert_int_eq(seen->debugs, 0);
    frame.head.debug = 1;
    serve(&frame, sizeof(frame.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
    ck_assert_int_eq(seen->debugs, 1);
    frame.head.debug = 2;
    serve(&frame, sizeof(frame.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
    frame.head.debug = 0;
    frame.head.ltoir = 1;
    serve(&frame, sizeof(frame.head) + 1);
    ck_assert_int_eq(seen->calls, 2);
}
END_TEST

START_TEST(options_in_a_frame)
{
    static const struct row {
        const char *bytes;
        uint64_t len;
        uint32_t options;
        int calls;
    } row[] = {
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

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        frames_frame frame = good_frame();

        frame.head.n_options = row[i].options;
        frame.head.option_bytes = row[i].len;
        memcpy(frame.rest, row[i].bytes, row[i].len);
        frame.rest[row[i].len] = 'e';
        seen->calls = 0;
        serve(&frame, sizeof(frame.head) + row[i].len + 1);
        ck_assert_msg(seen->calls == row[i].calls, "row %zu", i);
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
        char bytes[4 * sizeof(frames_frame)];
        size_t count = 0, frames = 1 + next_random(&state) % 3;

        for (size_t i = 0; i < frames; i++) {
            frames_frame frame = good_frame();

            memcpy(bytes + count, &frame, sizeof(frame.head) + 17);
            count += sizeof(frame.head) + 17;
        }
        for (uint64_t i = next_random(&state) % 4; i > 0; i--)
            bytes[next_random(&state) % count] = (char)(next_random(&state) >> 11);
        if (next_random(&state) % 4 == 0)
            count = next_random(&state) % count;
        /* 'w' would wait for somebody to cancel it: the end of the stream does. */
        serve(bytes, count);
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
    Suite *suite = suite_create("frames");
    TCase *tcase = tcase_create("frames");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
    tcase_add_test(tcase, options);
    tcase_add_test(tcase, heads);
    tcase_add_test(tcase, device_elf);
    tcase_add_test(tcase, options_in_a_frame);
    tcase_add_test(tcase, arbitrary_bytes);
    suite_add_tcase(suite, tcase);
    return suite;
}
