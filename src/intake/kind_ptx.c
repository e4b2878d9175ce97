/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX text that stands alone. */
#include "format/ptx/read.h"
#include "intake/examine.h"
#include "intake/probe.h"
#include "intake/region.h"

#define BYTE_ORDER_MARK 0xBFBBEFu

/* It begins with blanks and comments of any length. */
static cv_probe_result probe_text(cv_span head)
{
    switch (cv_ptx_look(head)) {
    case CV_PTX_YES: return CV_PROBE_YES;
    case CV_PTX_MORE: return CV_PROBE_MORE;
    case CV_PTX_NO: break;
    }
    return CV_PROBE_NO;
}

/* The probe ends before the text does, and all of it could still be a beginning of PTX. */
static cuvet_status too_long(cv_look *look, uint64_t at)
{
    *look->out = (cuvet_content_info){ 0 };
    return cv_look_end(look, CUVET_E_LIMIT, (cv_class_why){ CV_R_LIMIT_PTX_PROBE, at, 0, at, look->probe });
}

/* Text from .version on, all of it inside the probe. Zero bytes may end it, and nothing else may follow them.
 */
static cuvet_status check_text(cv_look *look, cv_span word, uint64_t at)
{
    uint64_t nul;

    if (!cv_ptx_is_blank(cv_u8_at(word, at)))
        return cv_look_broken(look, CUVET_K_PTX,
                              (cv_class_why){ CV_R_CLASS_PTX_VERSION, at, 1, cv_u8_at(word, at), ' ' });
    nul = at + cv_span_find_byte(cv_span_tail(word, at), 0);
    if (nul + cv_span_find_nonzero(cv_span_tail(word, nul)) != word.len)
        return cv_look_unknown(look, CV_R_CLASS_PTX_NUL, nul, look->span.off + nul, 0);
    return cv_look_found(look, CUVET_K_PTX);
}

/* Behind blanks and comments: is it .version? */
static cuvet_status look_version(cv_look *look, cv_span word, uint64_t at)
{
    cv_span rest = cv_span_tail(word, at);
    cv_ptx_word first = cv_ptx_first(rest);
    uint64_t need = look->lenient ? CV_PTX_VERSION_LEN : CV_PTX_VERSION_LEN + 1; /* a blank */
    bool open = first == CV_PTX_WORD_CUT || (first == CV_PTX_WORD_VERSION && rest.len < need);

    if (open && word.len != look->span.len)
        return too_long(look, word.len);
    if (rest.len == 0)
        return cv_look_unknown(look, CV_R_CLASS_PTX_BLANK, at, at, 0);
    if (open && rest.len > 1)
        return cv_look_cut(look, CUVET_K_PTX,
                           (cv_class_why){ CV_R_CLASS_MAGIC_SHORT, at, rest.len, rest.len, need });
    if (first != CV_PTX_WORD_VERSION)
        return cv_look_unknown(look, CV_R_CLASS_UNKNOWN, at, cv_look_peek(look->span, at), 0);
    return look->lenient ? cv_look_found(look, CUVET_K_PTX) : check_text(look, word, at + CV_PTX_VERSION_LEN);
}

/* PTX comes last: it is the only one that walks. */
static cuvet_status walk_text(cv_look *look, bool loose)
{
    cv_span word = look->span, skipped;
    uint64_t at = 0, nul;
    bool closed;

    word.len = cv_min(word.len, look->probe);
    closed = cv_ptx_skip(word, loose, &at);
    skipped = word;
    if (closed)
        skipped.len = at;
    nul = cv_span_find_byte(skipped, 0); /* a comment hides it */
    if (nul < skipped.len)
        return cv_look_unknown(look, CV_R_CLASS_PTX_NUL, nul, look->span.off + nul, 0);
    if (closed)
        return look_version(look, word, at);
    if (word.len != look->span.len)
        return too_long(look, word.len);
    return cv_look_unknown(look, CV_R_CLASS_PTX_COMMENT, at, look->span.off + at, 0);
}

static cuvet_status describe_text(cv_look *look)
{
    cuvet_status status;

    if ((cv_look_peek(look->span, 0) & 0xFFFFFF) == BYTE_ORDER_MARK)
        return cv_look_unknown(look, CV_R_CLASS_PTX_MARK, 0, BYTE_ORDER_MARK, 0);
    status = walk_text(look, false);
    if (status != CUVET_OK && look->lenient) {
        /* A comment may be read in two ways: either will do, and the first says what is wrong. */
        cv_class_why why = *look->why;
        cuvet_kind type = look->out->type;

        if (walk_text(look, true) == CUVET_OK)
            return CUVET_OK;
        *look->why = why;
        *look->out = (cuvet_content_info){ .type = type };
    }
    return status;
}

const cv_container_ops cv_kind_ptx = { .name = "PTX",
                                       .kind = CUVET_K_PTX,
                                       .step = CUVET_P_PTX,
                                       .probe = probe_text,
                                       .describe = describe_text,
                                       .next = cv_walk_whole,
                                       .examine = cv_job_whole };
