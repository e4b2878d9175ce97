/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "wire.h"

#include <string.h>

/* ---- hello, done ---- */

static bool is_printable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~')
            return false;
    }
    return true;
}

static bool is_text_in(const char *text, size_t cap)
{
    size_t len = strnlen(text, cap);

    return len < cap && is_printable(text, len);
}

bool wire_hello_ok(const void *packet, size_t size, wire_hello *out)
{
    wire_hello hello;

    if (size != sizeof(hello))
        return false;
    memcpy(&hello, packet, sizeof(hello));
    if (hello.mark != WIRE_HELLO || hello.limited > 1 || !is_text_in(hello.version, sizeof(hello.version)) ||
        !is_text_in(hello.cage, sizeof(hello.cage)) || hello.base > UINT64_MAX / 2)
        return false;
    *out = hello;
    return true;
}

bool wire_done_ok(const void *packet, size_t size, uint64_t number, wire_done *out)
{
    wire_done done;

    if (size != sizeof(done))
        return false;
    memcpy(&done, packet, sizeof(done));
    *out = done;
    return done.mark == WIRE_DONE && done.number == number;
}

/* ---- request ---- */

static bool is_target(uint32_t machine, uint32_t suffix)
{
    return machine <= 999 && (suffix == 0 || suffix == 'a' || suffix == 'f');
}

static bool has_texts(const char *text, size_t size, uint64_t wanted)
{
    uint64_t found = 0;

    for (size_t at = 0; at < size; found++) {
        const char *end = memchr(text + at, '\0', size - at);

        if (!end)
            return false;
        at = (size_t)(end - text) + 1;
    }
    return found == wanted;
}

static bool inputs_ok(const wire_request_view *view, uint32_t n_files)
{
    for (uint32_t i = 0; i < view->head.n_inputs; i++) {
        wire_input input = wire_input_at(view, i);

        if (input.file < 1 || input.file >= n_files ||
            (input.flags & ~(CUVET_ADD_SYSTEM | CUVET_ADD_LIBRARY)) || input.off > INT64_MAX ||
            input.size > INT64_MAX - input.off)
            return false;
    }
    return true;
}

static bool words_ok(const wire_request *head)
{
    if (head->kind == CUVET_JOB_FINALIZE)
        return head->n_words == WIRE_FINAL_WORDS;
    return head->n_words == 0 || head->kind == CUVET_JOB_LINK;
}

bool wire_take_request(const void *packet, size_t size, uint32_t n_files, wire_request_view *out)
{
    wire_request_view view = { .input = NULL };
    size_t table;

    if (size < sizeof(view.head) || size > WIRE_PACKET || n_files < 1 || n_files > WIRE_FILES)
        return false;
    memcpy(&view.head, packet, sizeof(view.head));
    if (view.head.mark != WIRE_REQUEST || view.head.kind > CUVET_JOB_FINALIZE ||
        view.head.n_inputs > WIRE_INPUTS || view.head.n_inputs == 0 ||
        (view.head.kind != CUVET_JOB_LINK && view.head.n_inputs != 1) || !words_ok(&view.head) ||
        !is_target(view.head.sm, view.head.suffix) || view.head.level > UINT8_MAX ||
        view.head.limits.size != sizeof(view.head.limits))
        return false;
    table = view.head.n_inputs * sizeof(wire_input);
    if (table > size - sizeof(view.head) || view.head.n_text != size - sizeof(view.head) - table)
        return false;
    view.input = (const char *)packet + sizeof(view.head);
    view.text = (const char *)packet + sizeof(view.head) + table;
    if (!inputs_ok(&view, n_files) ||
        !has_texts(view.text, view.head.n_text, (uint64_t)view.head.n_inputs + view.head.n_words))
        return false;
    *out = view;
    return true;
}

wire_input wire_input_at(const wire_request_view *view, uint32_t index)
{
    wire_input input;

    memcpy(&input, (const char *)view->input + index * sizeof(input), sizeof(input));
    return input;
}

const char *wire_next_text(const wire_request_view *view, size_t *at)
{
    const char *text = view->text + *at;

    *at += strlen(text) + 1;
    return text;
}

/* ---- answer ---- */

static bool add_to(uint64_t *sum, uint64_t more)
{
    return !__builtin_add_overflow(*sum, more, sum);
}

uint64_t wire_answer_size(const wire_answer *head, uint64_t number, uint64_t most)
{
    uint64_t size = sizeof(*head);

    if (head->mark != WIRE_ANSWER || head->number != number || head->n_findings > WIRE_SAID ||
        head->n_events > WIRE_SAID || head->n_text < 1 || head->n_text > UINT32_MAX || head->has_result > 1 ||
        (head->n_result && !head->has_result))
        return 0;
    size += (uint64_t)head->n_findings * sizeof(wire_finding) + (uint64_t)head->n_events * sizeof(wire_event);
    if (!add_to(&size, head->n_text) || !add_to(&size, head->n_result) || size > most)
        return 0;
    return size;
}

/* Numbers that are given to a caller as members of an enumeration. */
static bool is_status(uint32_t status)
{
    return status <= CUVET_E_INTERNAL;
}

static bool head_ok(const wire_answer *head)
{
    return is_status(head->status) && head->status != CUVET_END && head->kind <= CUVET_K_HOST_ELF &&
           head->code <= CUVET_FINAL_INTERNAL && head->verdict <= CUVET_V_ERROR &&
           is_target(head->sm, head->suffix) && (!head->has_result || head->status == CUVET_OK);
}

static bool printable_at(const wire_answer_view *view, uint32_t at)
{
    const char *text;

    if (at >= view->head.n_text)
        return false;
    text = wire_text(view, at);
    return is_printable(text, strlen(text));
}

static bool finding_ok(const wire_answer_view *view, const wire_finding *finding)
{
    return finding->severity <= CUVET_ERROR && (finding->flags & ~CUVET_DIAG_INNER) == 0 &&
           printable_at(view, finding->rule) && printable_at(view, finding->place) &&
           printable_at(view, finding->text) && strncmp(wire_text(view, finding->rule), "CV-", 3) == 0;
}

static bool event_ok(const wire_answer_view *view, const wire_event *event)
{
    return event->kind <= CUVET_EVENT_COMPILED && is_status(event->status) &&
           event->file < view->head.n_text && event->member < view->head.n_text;
}

bool wire_take_answer(const void *bytes, uint64_t size, uint64_t number, wire_answer_view *out)
{
    wire_answer_view view = { .bytes = bytes };

    if (size < sizeof(view.head))
        return false;
    memcpy(&view.head, bytes, sizeof(view.head));
    if (wire_answer_size(&view.head, number, size) != size || !head_ok(&view.head))
        return false;
    view.findings = sizeof(view.head);
    view.events = view.findings + (uint64_t)view.head.n_findings * sizeof(wire_finding);
    view.text = view.events + (uint64_t)view.head.n_events * sizeof(wire_event);
    view.result = view.text + view.head.n_text;
    if (view.bytes[view.text] != '\0' || view.bytes[view.result - 1] != '\0')
        return false;
    for (uint64_t i = 0; i < view.head.n_findings; i++) {
        wire_finding finding = wire_finding_at(&view, i);

        if (!finding_ok(&view, &finding))
            return false;
    }
    for (uint64_t i = 0; i < view.head.n_events; i++) {
        wire_event event = wire_event_at(&view, i);

        if (!event_ok(&view, &event))
            return false;
    }
    *out = view;
    return true;
}

const char *wire_text(const wire_answer_view *view, uint32_t at)
{
    return view->bytes + view->text + at;
}

wire_finding wire_finding_at(const wire_answer_view *view, uint64_t index)
{
    wire_finding finding;

    memcpy(&finding, view->bytes + view->findings + index * sizeof(finding), sizeof(finding));
    return finding;
}

wire_event wire_event_at(const wire_answer_view *view, uint64_t index)
{
    wire_event event;

    memcpy(&event, view->bytes + view->events + index * sizeof(event), sizeof(event));
    return event;
}
