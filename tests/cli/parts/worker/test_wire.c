/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Packets and answers: what is accepted, and every neighbour of it that is not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "worker/wire.h"

enum { NUMBER = 42, TEXT = 32, RESULT = 5 };

/* ---- requests ---- */

typedef struct request_bytes {
    wire_request head;
    wire_input input[2];
    char text[8];
} request_bytes;

static request_bytes good_request(void)
{
    request_bytes request = { .head = { .mark = WIRE_REQUEST,
                                        .kind = CUVET_JOB_LINK,
                                        .number = NUMBER,
                                        .most = 4096,
                                        .sm = 90,
                                        .suffix = 'a',
                                        .n_inputs = 2,
                                        .n_words = 1,
                                        .n_text = 8,
                                        .limits = { .size = sizeof(cuvet_limits) } },
                              .input = { { .file = 1, .size = 7 },
                                         { .file = 2, .flags = CUVET_ADD_SYSTEM } } };

    memcpy(request.text, "a.o\0b\0k", 8);
    return request;
}

static bool taken(const request_bytes *request, uint32_t n_files)
{
    wire_request_view view;

    return wire_take_request(request, sizeof(*request), n_files, &view);
}

START_TEST(a_request_is_taken)
{
    request_bytes request = good_request();
    wire_request_view view;
    size_t at = 0;

    ck_assert(wire_take_request(&request, sizeof(request), 3, &view));
    ck_assert_uint_eq(wire_input_at(&view, 0).size, 7);
    ck_assert_uint_eq(wire_input_at(&view, 1).file, 2);
    ck_assert_str_eq(wire_next_text(&view, &at), "a.o");
    ck_assert_str_eq(wire_next_text(&view, &at), "b");
    ck_assert_str_eq(wire_next_text(&view, &at), "k");
    ck_assert_uint_eq(at, sizeof(request.text));
}
END_TEST

START_TEST(each_prefix_is_refused)
{
    request_bytes request = good_request();
    wire_request_view view;

    for (size_t size = 0; size < sizeof(request); size++)
        ck_assert(!wire_take_request(&request, size, 3, &view));
}
END_TEST

#define REFUSED(change)                                                                                      \
    do {                                                                                                     \
        request_bytes request = good_request();                                                              \
        change;                                                                                              \
        ck_assert_msg(!taken(&request, 3), "%s", #change);                                                   \
    } while (0)

START_TEST(wrong_requests)
{
    request_bytes good = good_request();

    ck_assert(!taken(&good, 2)); /* an input without a file */
    ck_assert(!taken(&good, 0));
    ck_assert(!taken(&good, WIRE_FILES + 1));
    REFUSED(request.head.mark++);
    REFUSED(request.head.kind = CUVET_JOB_FINALIZE + 1);
    REFUSED(request.head.kind = CUVET_JOB_SCAN);
    REFUSED(request.head.sm = 1000);
    REFUSED(request.head.suffix = 'b');
    REFUSED(request.head.n_inputs = 0);
    REFUSED(request.head.n_inputs = 3);
    REFUSED(request.head.n_inputs = UINT32_MAX);
    REFUSED(request.head.n_words = 2);
    REFUSED(request.head.n_words = 0);
    REFUSED(request.head.n_text = 7);
    REFUSED(request.head.n_text = 9);
    REFUSED(request.head.limits.size++);
    REFUSED(request.head.level = 256);
    REFUSED(request.input[0].file = 0); /* that of the answer */
    REFUSED(request.input[0].flags = 4);
    REFUSED(request.input[0].off = UINT64_MAX);
    REFUSED(request.input[0].size = UINT64_MAX);
    REFUSED(request.text[7] = 'x');
    REFUSED(request.text[3] = 'x');
}
END_TEST

/* ---- answers ---- */

typedef struct answer_bytes {
    wire_answer head;
    wire_finding finding;
    wire_event event;
    char text[TEXT], result[RESULT];
} answer_bytes;

#define ANSWER_SIZE (offsetof(answer_bytes, result) + RESULT)

static answer_bytes good_answer(void)
{
    answer_bytes answer = { .head = { .mark = WIRE_ANSWER,
                                      .status = CUVET_OK,
                                      .number = NUMBER,
                                      .has_result = 1,
                                      .n_findings = 1,
                                      .n_events = 1,
                                      .n_text = TEXT,
                                      .n_result = RESULT },
                            .finding = { .severity = CUVET_NOTE, .rule = 1, .place = 0, .text = 12 },
                            .event = { .kind = CUVET_EVENT_TAKEN, .file = 18 } };

    memcpy(answer.text, "\0CV-ELF-001\0title\0a.o", 22);
    return answer;
}

#define NO_ANSWER(change)                                                                                    \
    do {                                                                                                     \
        answer_bytes answer = good_answer();                                                                 \
        wire_answer_view view;                                                                               \
        change;                                                                                              \
        ck_assert_msg(!wire_take_answer(&answer, ANSWER_SIZE, NUMBER, &view), "%s", #change);                \
    } while (0)

START_TEST(an_answer_is_taken)
{
    answer_bytes answer = good_answer();
    wire_answer_view view;

    ck_assert_uint_eq(wire_answer_size(&answer.head, NUMBER, 4096), ANSWER_SIZE);
    ck_assert_uint_eq(wire_answer_size(&answer.head, NUMBER, ANSWER_SIZE - 1), 0);
    ck_assert(wire_take_answer(&answer, ANSWER_SIZE, NUMBER, &view));
    ck_assert_str_eq(wire_text(&view, wire_finding_at(&view, 0).rule), "CV-ELF-001");
    ck_assert_str_eq(wire_text(&view, wire_event_at(&view, 0).file), "a.o");
    ck_assert_ptr_eq(view.bytes + view.result, answer.result);
    for (size_t size = 0; size < ANSWER_SIZE; size++)
        ck_assert(!wire_take_answer(&answer, size, NUMBER, &view));
}
END_TEST

START_TEST(wrong_answers)
{
    NO_ANSWER(answer.head.mark--);
    NO_ANSWER(answer.head.number++);
    NO_ANSWER(answer.head.status = CUVET_E_INTERNAL + 1);
    NO_ANSWER(answer.head.status = CUVET_END);
    NO_ANSWER(answer.head.status = CUVET_E_REFUSED); /* and a result */
    NO_ANSWER(answer.head.has_result = 0);
    NO_ANSWER(answer.head.has_result = 2);
    NO_ANSWER(answer.head.kind = CUVET_K_HOST_ELF + 1);
    NO_ANSWER(answer.head.code = CUVET_FINAL_INTERNAL + 1);
    NO_ANSWER(answer.head.verdict = CUVET_V_ERROR + 1);
    NO_ANSWER(answer.head.sm = 1000);
    NO_ANSWER(answer.head.suffix = 1);
    NO_ANSWER(answer.head.n_findings = UINT32_MAX);
    NO_ANSWER(answer.head.n_findings = 2);
    NO_ANSWER(answer.head.n_events = UINT32_MAX);
    NO_ANSWER(answer.head.n_text = UINT64_MAX);
    NO_ANSWER(answer.head.n_text = 0);
    NO_ANSWER(answer.head.n_result = UINT64_MAX);
    NO_ANSWER(answer.head.n_result = UINT64_MAX - 200);
    NO_ANSWER(answer.finding.severity = CUVET_ERROR + 1);
    NO_ANSWER(answer.finding.flags = 2);
    NO_ANSWER(answer.finding.rule = TEXT);
    NO_ANSWER(answer.finding.rule = 12); /* no rule */
    NO_ANSWER(answer.finding.place = UINT32_MAX);
    NO_ANSWER(answer.finding.text = TEXT);
    NO_ANSWER(answer.event.kind = CUVET_EVENT_COMPILED + 1);
    NO_ANSWER(answer.event.status = UINT32_MAX);
    NO_ANSWER(answer.event.file = TEXT);
    NO_ANSWER(answer.event.member = TEXT);
    NO_ANSWER(answer.text[0] = 'x');
    NO_ANSWER(answer.text[TEXT - 1] = 'x');
    NO_ANSWER(answer.text[13] = '\033'); /* a terminal's */
    NO_ANSWER(answer.text[13] = (char)0x9b);
}
END_TEST

START_TEST(hello_and_done)
{
    wire_hello hello = { .mark = WIRE_HELLO, .version = "0.1.0", .cage = "none" }, out;
    wire_done done = { .mark = WIRE_DONE, .number = NUMBER }, other;

    ck_assert(wire_hello_ok(&hello, sizeof(hello), &out));
    ck_assert(!wire_hello_ok(&hello, sizeof(hello) - 1, &out));
    memset(hello.cage, 'x', sizeof(hello.cage));
    ck_assert(!wire_hello_ok(&hello, sizeof(hello), &out));
    hello = (wire_hello){ .mark = WIRE_HELLO, .cage = "\n" };
    ck_assert(!wire_hello_ok(&hello, sizeof(hello), &out));
    hello = (wire_hello){ .mark = WIRE_HELLO, .base = UINT64_MAX };
    ck_assert(!wire_hello_ok(&hello, sizeof(hello), &out));
    ck_assert(wire_done_ok(&done, sizeof(done), NUMBER, &other));
    ck_assert(!wire_done_ok(&done, sizeof(done), NUMBER + 1, &other));
    ck_assert(!wire_done_ok(&done, sizeof(done) + 1, NUMBER, &other));
    done.mark++;
    ck_assert(!wire_done_ok(&done, sizeof(done), NUMBER, &other));
}
END_TEST

Suite *suite_wire(void);
Suite *suite_wire(void)
{
    Suite *suite = suite_create("wire");
    TCase *tcase = tcase_create("wire");

    tcase_add_test(tcase, a_request_is_taken);
    tcase_add_test(tcase, each_prefix_is_refused);
    tcase_add_test(tcase, wrong_requests);
    tcase_add_test(tcase, an_answer_is_taken);
    tcase_add_test(tcase, wrong_answers);
    tcase_add_test(tcase, hello_and_done);
    suite_add_tcase(suite, tcase);
    return suite;
}
