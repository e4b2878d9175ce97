/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/probe.h"

#include "intake/region.h"

cuvet_status cv_look_end(cv_look *look, cuvet_status status, cv_class_why why)
{
    why.off += look->span.off;
    *look->why = why;
    return status;
}

cuvet_status cv_look_unknown(cv_look *look, cv_rule rule, uint64_t at, uint64_t got, uint64_t want)
{
    *look->out = (cuvet_content_info){ 0 };
    return cv_look_end(look, CUVET_E_UNKNOWN, (cv_class_why){ rule, at, 0, got, want });
}

cuvet_status cv_look_cut(cv_look *look, cuvet_kind type, cv_class_why why)
{
    *look->out = (cuvet_content_info){ .type = type };
    return cv_look_end(look, CUVET_E_TRUNCATED, why);
}

cuvet_status cv_look_broken(cv_look *look, cuvet_kind type, cv_class_why why)
{
    *look->out = (cuvet_content_info){ .type = type };
    return cv_look_end(look, CUVET_E_MALFORMED, why);
}

cuvet_status cv_look_short(cv_look *look, cuvet_kind type, cv_rule rule, uint64_t want)
{
    return cv_look_cut(look, type, (cv_class_why){ rule, 0, look->span.len, look->span.len, want });
}

cuvet_status cv_look_found(cv_look *look, cuvet_kind type)
{
    look->out->type = type;
    look->out->length = look->span.len - look->out->off;
    return CUVET_OK;
}

uint64_t cv_look_peek(cv_span span, uint64_t at)
{
    uint64_t value = 0;

    for (uint64_t i = 8; i > 0; i--)
        value = value << 8 | cv_u8_at(span, at + i - 1);
    return value;
}

/* All there is begins a magic and nothing else: 'least' bytes of it are needed to say so. One byte of text,
 * or zero bytes, begin many things. False: it does not. */
static bool look_short(cv_look *look, const cv_container_ops *row, cuvet_status *status)
{
    uint64_t count = look->span.len, have = cv_look_peek(look->span, 0);

    for (size_t i = 0; i < row->n_magics; i++) {
        const cv_magic *magic = cv_table_row(row->magic, sizeof(*magic), row->n_magics, i);

        if (count >= magic->least && count < magic->count &&
            have == (magic->value & ((UINT64_C(1) << 8 * count) - 1))) {
            *status = cv_look_short(look, magic->type, CV_R_CLASS_MAGIC_SHORT, magic->count);
            return true;
        }
    }
    return false;
}

/* Text comes last: it is the only one that walks. */
static cuvet_status look_at(cv_look *look)
{
    cuvet_status status;

    if (look->span.len == 0)
        return cv_look_unknown(look, CV_R_CLASS_EMPTY, 0, 0, 0);
    for (size_t i = 0; i < cv_n_containers; i++) {
        const cv_container_ops *row = cv_containers_row(i);

        if (!row->describe || row == &cv_kind_ptx)
            continue;
        if (row->probe(look->span) != CV_PROBE_NO)
            return row->describe(look);
        if (look_short(look, row, &status))
            return status;
    }
    return cv_kind_ptx.describe(look);
}

cuvet_status cv_classify_look(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                              cv_class_why *why)
{
    cv_look look = { span, (flags & CUVET_CLASSIFY_LENIENT) != 0, probe, out, why };

    *out = (cuvet_content_info){ 0 };
    return look_at(&look);
}

cuvet_status cv_class_say(cv_ctx *ctx, const cv_class *answer)
{
    const cv_class_why *why = &answer->why;

    if (answer->status != CUVET_OK)
        cv_report(ctx, why->rule, why->off, why->len, why->got, why->want);
    return answer->status;
}

cuvet_status cv_classify(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out)
{
    cv_class answer = { 0 };

    answer.status = cv_classify_look(span, ctx->lim.ptx_probe, flags, out, &answer.why);
    return cv_class_say(ctx, &answer);
}

uint64_t cv_class_number(cuvet_kind kind)
{
    switch (kind) {
    case CUVET_K_NVVM: return 1;
    case CUVET_K_FATBIN: return 2;
    case CUVET_K_CUBIN: return 3;
    case CUVET_K_PTX: return 4;
    case CUVET_K_WRAPPER: return 100;
    case CUVET_K_LTOIR: return 101;
    case CUVET_K_ARCHIVE: return 102;
    case CUVET_K_HOST_ELF: return 103;
    case CUVET_K_MERCURY:
    case CUVET_K_BITCODE:
    case CUVET_K_NONE: break;
    }
    return 0;
}
