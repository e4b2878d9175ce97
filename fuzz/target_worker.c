/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a worker and its program send each other, as the other side sees it: hello, done, request, answer. The
 * first byte says which, the second one how many descriptors came. What is accepted keeps what the next step
 * relies on: whatever can be asked of a view lies inside of it, and each text ends. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "worker/wire.h"

enum { HELLO, DONE, REQUEST, ANSWER, KINDS };

static void check_hello(fz_state *fuzz, const uint8_t *bytes, size_t size)
{
    wire_hello hello;
    bool ok = wire_hello_ok(bytes, size, &hello);

    fz_note(fuzz, ok);
    if (!ok)
        return;
    FZ_CHECK(size == sizeof(hello), "a hello has its size");
    FZ_CHECK(strnlen(hello.cage, sizeof(hello.cage)) < sizeof(hello.cage), "the cage is a text");
    FZ_CHECK(strnlen(hello.version, sizeof(hello.version)) < sizeof(hello.version), "the version is a text");
    fz_note(fuzz, hello.base);
}

static void check_done(fz_state *fuzz, const uint8_t *bytes, size_t size)
{
    wire_done done;
    bool ok = wire_done_ok(bytes, size, 1, &done);

    fz_note(fuzz, ok);
    FZ_CHECK(!ok || (size == sizeof(done) && done.number == 1), "a word is about its request");
}

static void check_request(fz_state *fuzz, const uint8_t *bytes, size_t size, uint32_t n_files)
{
    wire_request_view view;
    size_t at = 0;
    bool ok = wire_take_request(bytes, size, n_files, &view);

    fz_note(fuzz, ok);
    if (!ok)
        return;
    FZ_CHECK(view.head.n_inputs > 0 && view.head.n_inputs <= WIRE_INPUTS, "there are inputs");
    FZ_CHECK(view.head.kind == CUVET_JOB_LINK || view.head.n_inputs == 1, "one, unless it is a link");
    for (uint32_t i = 0; i < view.head.n_inputs; i++) {
        wire_input input = wire_input_at(&view, i);

        FZ_CHECK(input.file > 0 && input.file < n_files, "an input has a file, not that of the answer");
        FZ_CHECK(input.size <= INT64_MAX - input.off, "its end is a number");
    }
    for (uint64_t i = 0; i < (uint64_t)view.head.n_inputs + view.head.n_words; i++) {
        const char *text = wire_next_text(&view, &at);

        FZ_CHECK(text >= view.text && at <= view.head.n_text, "a text lies in the request");
    }
    FZ_CHECK(at == view.head.n_text, "and they fill it");
}

static void check_text(fz_state *fuzz, const wire_answer_view *view, uint32_t at, bool printable)
{
    const char *text = wire_text(view, at);

    FZ_CHECK(at < view->head.n_text && strnlen(text, view->head.n_text - at) < view->head.n_text - at,
             "a text lies in the answer");
    for (; printable && *text; text++)
        FZ_CHECK(*text >= 0x20 && *text < 0x7f, "and is printable");
    fz_note(fuzz, at);
}

static void check_answer(fz_state *fuzz, const uint8_t *bytes, size_t size)
{
    wire_answer_view view;
    bool ok = wire_take_answer(bytes, size, 1, &view);

    fz_note(fuzz, ok);
    if (!ok)
        return;
    FZ_CHECK(view.result + view.head.n_result == size, "an answer ends with its result");
    FZ_CHECK(view.head.n_result == 0 || view.head.status == CUVET_OK, "which is there when all went well");
    FZ_CHECK(view.head.status != CUVET_END && view.head.status <= CUVET_E_INTERNAL, "the status is one");
    for (uint64_t i = 0; i < view.head.n_findings; i++) {
        wire_finding finding = wire_finding_at(&view, i);

        check_text(fuzz, &view, finding.rule, true);
        check_text(fuzz, &view, finding.place, true);
        check_text(fuzz, &view, finding.text, true);
    }
    for (uint64_t i = 0; i < view.head.n_events; i++) {
        wire_event event = wire_event_at(&view, i);

        check_text(fuzz, &view, event.file, false);
        check_text(fuzz, &view, event.member, false);
    }
}

static void run(fz_state *fuzz)
{
    const uint8_t *bytes = fuzz->in->bytes;
    size_t size = fuzz->in->len;
    uint8_t *packet;

    if (size < 2)
        return;
    packet = malloc(size - 2 ? size - 2 : 1); /* of its size: nothing behind it is read */
    if (!packet)
        return;
    memcpy(packet, bytes + 2, size - 2);
    switch (bytes[0] % KINDS) {
    case HELLO: check_hello(fuzz, packet, size - 2); break;
    case DONE: check_done(fuzz, packet, size - 2); break;
    case REQUEST: check_request(fuzz, packet, size - 2, bytes[1]); break;
    default: check_answer(fuzz, packet, size - 2);
    }
    free(packet);
}

CV_FUZZ_TARGET(worker)
{
    return fz_twice(data, size, FZ_OFF, run);
}
