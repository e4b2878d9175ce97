/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What cuvet-package says of a package, as the process that opens inputs sees it: the input is what comes
 * through the pipe. Frames are taken one after the other until one may not come; what was accepted keeps what
 * the opener relies on: pieces of an entry ascend and end below 2^63, names and texts are texts, entries do
 * not lie in each other. The same bytes as the beginning of a file have one form. */
#include "common.h"

#include <string.h>

#include "package/frame.h"

static void check_text(const package_frame *frame, const char *text)
{
    size_t n_text = strnlen(text, frame->n);

    if (frame->verb == PACKAGE_REMARK)
        FZ_CHECK(n_text > 0 && n_text + 1 < frame->n &&
                     strnlen(text + n_text + 1, frame->n - n_text - 1) == frame->n - n_text - 1,
                 "a remark has a name and a text");
    else
        FZ_CHECK(n_text == frame->n && n_text > 0, "a text has no end but its own");
}

static void check_frame(fz_state *fuzz, const package_state *before, const package_state *after,
                        const package_frame *frame)
{
    FZ_CHECK(!before->ended, "nothing comes behind the end");
    FZ_CHECK(frame->n <= PACKAGE_DATA_MOST, "what is behind a frame fits into the opener's buffer");
    if (frame->verb == PACKAGE_DATA)
        FZ_CHECK(before->open && after->end > before->end && after->end <= (uint64_t)INT64_MAX,
                 "pieces ascend");
    if (frame->verb == PACKAGE_DONE)
        FZ_CHECK(before->open && !after->open && frame->offset >= before->end &&
                     frame->offset <= (uint64_t)INT64_MAX,
                 "an entry ends behind its pieces");
    FZ_CHECK(after->notes <= PACKAGE_NOTE_MOST, "notes about an entry have an end");
    FZ_CHECK(frame->fate < CLI_N_FATE && (frame->fate == 0 || frame->verb == PACKAGE_ENTRY),
             "what becomes of it is said of an entry");
    if (frame->verb == PACKAGE_ENTRY)
        FZ_CHECK(!before->open && after->open && after->end == 0, "an entry begins empty");
    fz_note(fuzz, frame->verb);
    fz_note(fuzz, after->end);
}

static void read_stream(fz_state *fuzz)
{
    const uint8_t *bytes = fuzz->in->bytes;
    size_t size = fuzz->in->len, at = 0;
    package_state state = { 0 };
    package_frame frame;

    fz_note(fuzz, package_form_of(bytes, size < PACKAGE_HEAD ? size : PACKAGE_HEAD));
    while (size - at >= sizeof(frame)) {
        const package_state before = state;

        memcpy(&frame, bytes + at, sizeof(frame));
        at += sizeof(frame);
        if (!package_frame_ok(&state, &frame))
            break;
        check_frame(fuzz, &before, &state, &frame);
        if (frame.n > size - at)
            break;
        if (frame.n > 0 && frame.verb != PACKAGE_DATA && frame.verb != PACKAGE_NOTE) {
            bool ok = package_text_ok(&frame, (const char *)bytes + at);

            fz_note(fuzz, ok);
            if (!ok)
                break;
            check_text(&frame, (const char *)bytes + at);
        }
        at += frame.n;
    }
    fz_note(fuzz, at);
    fz_note(fuzz, state.ended);
}

CV_FUZZ_TARGET(package)
{
    return fz_twice(data, size, 0, read_stream);
}
