/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frame.h"

#include "tar_record.h"
#include "zip_record.h"

#include <ctype.h>
#include <string.h>

static bool length_ok(const package_frame *frame)
{
    switch ((package_verb)frame->verb) {
    case PACKAGE_ENTRY: return frame->n > 0 && frame->n <= PACKAGE_NAME_MOST;
    case PACKAGE_NOTE:
    case PACKAGE_DATA: return frame->n > 0 && frame->n <= PACKAGE_DATA_MOST;
    case PACKAGE_FAILED:
    case PACKAGE_FINDING: return frame->n > 0 && frame->n <= PACKAGE_TEXT_MOST;
    case PACKAGE_REMARK: return frame->n > 2 && frame->n <= PACKAGE_NAME_MOST + PACKAGE_TEXT_MOST;
    case PACKAGE_DONE:
    case PACKAGE_FOLDER:
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
    case PACKAGE_FOLDER:
    case PACKAGE_REMARK:
    case PACKAGE_FINDING:
    case PACKAGE_END: return !state->open;
    case PACKAGE_NOTE: return !state->open && frame->n <= PACKAGE_NOTE_MOST - state->notes;
    case PACKAGE_FAILED: return true;
    }
    return false;
}

static bool fields_ok(const package_frame *frame)
{
    bool why = frame->verb == PACKAGE_FAILED || frame->verb == PACKAGE_FINDING;

    return frame->mark == PACKAGE_MARK && frame->unused == 0 && frame->cause < PACKAGE_N_CAUSE &&
           frame->fate < CLI_N_FATE && (frame->cause == 0 || why) &&
           ((frame->fate == 0 && frame->layer == 0) || frame->verb == PACKAGE_ENTRY);
}

bool package_frame_ok(package_state *state, const package_frame *frame)
{
    if (state->ended || !fields_ok(frame) || !length_ok(frame) || !order_ok(state, frame) ||
        !place_ok(state, frame))
        return false;
    switch ((package_verb)frame->verb) {
    case PACKAGE_ENTRY: *state = (package_state){ .open = true }; break;
    case PACKAGE_DATA: state->end = frame->offset + frame->n; break;
    case PACKAGE_DONE: state->open = false; break;
    case PACKAGE_FAILED: *state = (package_state){ .ended = !state->open }; break;
    case PACKAGE_END: state->ended = true; break;
    case PACKAGE_NOTE: state->notes += frame->n; break;
    case PACKAGE_FOLDER:
    case PACKAGE_REMARK:
    case PACKAGE_FINDING: break;
    }
    return true;
}

/* What is said is printed as it is: names are escaped, this is not. */
static bool is_plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

bool package_text_ok(const package_frame *frame, const char *text)
{
    const char *nul = memchr(text, 0, frame->n);

    if (frame->verb == PACKAGE_FAILED || frame->verb == PACKAGE_FINDING)
        return !nul && is_plain(text, frame->n);
    if (frame->verb != PACKAGE_REMARK)
        return !nul;
    return nul && nul != text && (size_t)(nul - text) <= PACKAGE_NAME_MOST && nul + 1 < text + frame->n &&
           !memchr(nul + 1, 0, frame->n - (size_t)(nul + 1 - text)) &&
           is_plain(nul + 1, frame->n - (size_t)(nul + 1 - text));
}

/* The oldest tar headers have a checksum, and nothing else that is always the same. */
bool package_has_sum(const uint8_t *head, size_t size)
{
    return size >= TAR_HEADER_BYTES && head[0] != 0 && package_tar_sum_ok(head);
}

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

static const struct {
    size_t n;
    const char *bytes;
} PROGRAM_ROW[] = {
#define PROGRAM(bytes) { sizeof(bytes) - 1, bytes },
#include "../../spec/packages.def"
};

bool package_is_tar(const uint8_t *head, size_t size)
{
    return package_has_sum(head, size) && memcmp(head + TAR_MARK, "ustar", TAR_MARK_BYTES) == 0;
}

/* The magic of cpio is six digits, as a name in a tar file may be: here more of them follow. */
static bool is_cpio(const uint8_t *head, size_t size)
{
    enum { DIGITS = 76 }; /* of the older header; the newer one has more */

    for (size_t i = 0; i < DIGITS && i < size; i++)
        if (!isxdigit(head[i]))
            return false;
    return true;
}

package_form package_form_of(const uint8_t *head, size_t size)
{
    uint64_t first = size >= sizeof(first) ? package_number(head, sizeof(first)) : 0;

    for (size_t i = 0; i < sizeof(COMPRESSED_ROW) / sizeof(COMPRESSED_ROW[0]); i++)
        if (size >= sizeof(first) && (first & COMPRESSED_ROW[i].mask) == COMPRESSED_ROW[i].value)
            return COMPRESSED_ROW[i].form;
    for (size_t i = 0; i < sizeof(ROW) / sizeof(ROW[0]); i++)
        if (size >= ROW[i].offset + ROW[i].n && memcmp(head + ROW[i].offset, ROW[i].bytes, ROW[i].n) == 0 &&
            (ROW[i].form != PACKAGE_CPIO || is_cpio(head, size) || !package_is_tar(head, size)))
            return ROW[i].form;
    return package_has_sum(head, size) ? PACKAGE_TAR : PACKAGE_NONE;
}

bool package_is_program(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < sizeof(PROGRAM_ROW) / sizeof(PROGRAM_ROW[0]); i++)
        if (size >= PROGRAM_ROW[i].n && memcmp(head, PROGRAM_ROW[i].bytes, PROGRAM_ROW[i].n) == 0)
            return true;
    return false;
}
