/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frame.h"

#include <string.h>

static bool length_ok(const package_frame *frame)
{
    switch ((package_verb)frame->verb) {
    case PACKAGE_ENTRY: return frame->n > 0 && frame->n <= PACKAGE_NAME_MOST;
    case PACKAGE_DATA: return frame->n > 0 && frame->n <= PACKAGE_DATA_MOST;
    case PACKAGE_FAILED:
    case PACKAGE_FINDING: return frame->n > 0 && frame->n <= PACKAGE_TEXT_MOST;
    case PACKAGE_REMARK: return frame->n > 2 && frame->n <= PACKAGE_NAME_MOST + PACKAGE_TEXT_MOST;
    case PACKAGE_DONE:
    case PACKAGE_END: return frame->n == 0;
    }
    return false;
}

/* Pieces of an entry ascend, and its size is not below their end. */
static bool place_ok(const package_state *state, const package_frame *frame)
{
    if (frame->verb == PACKAGE_DONE)
        return frame->offset >= state->end && frame->offset <= (uint64_t)INT64_MAX;
    if (frame->verb == PACKAGE_DATA)
        return frame->offset >= state->end && frame->offset <= (uint64_t)INT64_MAX - frame->n;
    return frame->offset == 0;
}

static bool order_ok(const package_state *state, const package_frame *frame)
{
    switch ((package_verb)frame->verb) {
    case PACKAGE_DATA:
    case PACKAGE_DONE: return state->open;
    case PACKAGE_ENTRY:
    case PACKAGE_REMARK:
    case PACKAGE_FINDING:
    case PACKAGE_END: return !state->open;
    case PACKAGE_FAILED: return true;
    }
    return false;
}

bool package_frame_ok(package_state *state, const package_frame *frame)
{
    if (state->ended || frame->mark != PACKAGE_MARK || frame->unused != 0 || frame->unused2 != 0 ||
        frame->cause >= PACKAGE_N_CAUSE || (frame->cause != 0 && frame->verb != PACKAGE_FAILED) ||
        !length_ok(frame) || !order_ok(state, frame) || !place_ok(state, frame))
        return false;
    switch ((package_verb)frame->verb) {
    case PACKAGE_ENTRY: *state = (package_state){ .open = true }; break;
    case PACKAGE_DATA: state->end = frame->offset + frame->n; break;
    case PACKAGE_DONE: state->open = false; break;
    case PACKAGE_FAILED: *state = (package_state){ .ended = !state->open }; break;
    case PACKAGE_END: state->ended = true; break;
    case PACKAGE_REMARK:
    case PACKAGE_FINDING: break;
    }
    return true;
}

bool package_text_ok(const package_frame *frame, const char *text)
{
    const char *nul = memchr(text, 0, frame->n);

    if (frame->verb != PACKAGE_REMARK)
        return !nul;
    return nul && nul != text && (size_t)(nul - text) <= PACKAGE_NAME_MOST && nul + 1 < text + frame->n &&
           !memchr(nul + 1, 0, frame->n - (size_t)(nul + 1 - text));
}

/* Little-endian, as spec/compressed.def has it. */
static uint64_t first_bytes(const uint8_t *head, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < sizeof(value) && i < size; i++)
        value |= (uint64_t)head[i] << (8 * i);
    return value;
}

package_form package_form_of(const uint8_t *head, size_t size)
{
    static const struct {
        uint64_t value, mask;
        package_form form;
    } COMPRESSED_ROW[] = {
#define COMPRESSED(name, value, mask, form) { value, mask, PACKAGE_##form },
#include "../../spec/compressed.def"
    };
    static const struct {
        size_t offset, n;
        const char *bytes;
        package_form form;
    } ROW[] = {
#define PACKAGE(offset, bytes, form, what) { offset, sizeof(bytes) - 1, bytes, PACKAGE_##form },
#include "../../spec/packages.def"
    };
    uint64_t first = first_bytes(head, size);

    for (size_t i = 0; i < sizeof(COMPRESSED_ROW) / sizeof(COMPRESSED_ROW[0]); i++)
        if (size >= sizeof(first) && (first & COMPRESSED_ROW[i].mask) == COMPRESSED_ROW[i].value)
            return COMPRESSED_ROW[i].form;
    for (size_t i = 0; i < sizeof(ROW) / sizeof(ROW[0]); i++)
        if (size >= ROW[i].offset + ROW[i].n && memcmp(head + ROW[i].offset, ROW[i].bytes, ROW[i].n) == 0)
            return ROW[i].form;
    return PACKAGE_NONE;
}
