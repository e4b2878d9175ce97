/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "answer.h"

#include "../whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FIRST = 64, LINE = 1024, PIECES = 4 };

/* Room for one more of 'size' bytes each. */
static bool room_for(void **items, size_t *cap, size_t count, size_t size)
{
    size_t more = *cap ? 2 * *cap : FIRST;
    void *grown;

    if (count < *cap)
        return true;
    grown = reallocarray(*items, more, size);
    if (!grown)
        return false;
    *items = grown;
    *cap = more;
    return true;
}

/* 0 is the empty text, and where there is no memory for one. */
static uint32_t add_text(cli_answer *answer, const char *text)
{
    size_t len = strlen(text) + 1;
    uint64_t at = answer->head.n_text;

    if (len == 1 || at > UINT32_MAX - len)
        return 0;
    while (at + len > answer->cap_text) {
        void *grown = answer->text;

        if (!room_for(&grown, &answer->cap_text, answer->cap_text, 1))
            return 0;
        answer->text = grown;
    }
    memcpy(answer->text + at, text, len);
    answer->head.n_text += len;
    return (uint32_t)at;
}

bool cli_answer_begin(cli_answer *answer, uint64_t number)
{
    void *text = answer->text;

    answer->head = (wire_answer){ .mark = WIRE_ANSWER, .number = number, .n_text = 1 };
    answer->result = NULL;
    if (!room_for(&text, &answer->cap_text, 1, 1))
        return false;
    answer->text = text;
    answer->text[0] = '\0';
    return true;
}

void cli_answer_diag(cli_answer *answer, const cuvet_diag *diag, const char *subject)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char place[LINE], text[LINE];
    void *items = answer->finding;
    size_t len;

    if (!rule || answer->head.n_findings == WIRE_SAID ||
        !room_for(&items, &answer->cap_findings, answer->head.n_findings, sizeof(*answer->finding))) {
        answer->head.dropped++;
        return;
    }
    answer->finding = items;
    (void)cuvet_path_text(&diag->where, place, sizeof(place));
    len = (size_t)snprintf(text, sizeof(text), "%s%s: ", rule->title, subject);
    if (len < sizeof(text))
        (void)cuvet_diag_message(diag, text + len, sizeof(text) - len);
    answer->finding[answer->head.n_findings] = (wire_finding){ .severity = (uint32_t)diag->severity,
                                                               .flags = diag->flags,
                                                               .file_off = diag->file_off,
                                                               .length = diag->length,
                                                               .inner_off = diag->inner_off,
                                                               .rule = add_text(answer, rule->id),
                                                               .place = add_text(answer, place),
                                                               .text = add_text(answer, text) };
    /* One without its rule says nothing. */
    if (answer->finding[answer->head.n_findings].rule == 0)
        answer->head.dropped++;
    else
        answer->head.n_findings++;
}

void cli_answer_event(cli_answer *answer, const cuvet_event *event)
{
    void *items = answer->event;

    if (answer->head.n_events == WIRE_SAID ||
        !room_for(&items, &answer->cap_events, answer->head.n_events, sizeof(*answer->event))) {
        answer->head.dropped++;
        return;
    }
    answer->event = items;
    answer->event[answer->head.n_events++] =
        (wire_event){ .kind = (uint32_t)event->kind,
                      .status = (uint32_t)event->status,
                      .off = event->off,
                      .file = add_text(answer, event->file ? event->file : ""),
                      .member = add_text(answer, event->member ? event->member : "") };
}

void cli_answer_result(cli_answer *answer, const void *bytes, size_t size)
{
    answer->result = bytes;
    answer->head.has_result = 1;
    answer->head.n_result = size;
}

static bool write_pieces(int fd, struct iovec *piece, int count)
{
    while (count > 0) {
        ssize_t put = writev(fd, piece, count);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        while (count > 0 && (size_t)put >= piece->iov_len) {
            put -= (ssize_t)piece->iov_len;
            piece++;
            count--;
        }
        if (count > 0) {
            piece->iov_base = (char *)piece->iov_base + put;
            piece->iov_len -= (size_t)put;
        }
    }
    return true;
}

bool cli_answer_write(cli_answer *answer, int fd, uint64_t most)
{
    struct iovec piece[PIECES];
    size_t count = 0;

    if (wire_answer_size(&answer->head, answer->head.number, most) == 0) {
        if (!cli_answer_begin(answer, answer->head.number))
            return false;
        answer->head.status = CUVET_E_LIMIT;
    }
    piece[count++] = (struct iovec){ &answer->head, sizeof(answer->head) };
    piece[count++] = (struct iovec){ answer->finding, answer->head.n_findings * sizeof(*answer->finding) };
    piece[count++] = (struct iovec){ answer->event, answer->head.n_events * sizeof(*answer->event) };
    piece[count++] = (struct iovec){ answer->text, (size_t)answer->head.n_text };
    return write_pieces(fd, piece, (int)count) && cli_write_all(fd, answer->result, answer->head.n_result);
}
