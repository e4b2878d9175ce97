/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compile step: what is not a device ELF yet goes through the plug-in, and comes back a stranger. */
#include "proc/compile.h"
#include "cubin/admit.h"
#include "drive/select.h"
#include "intake/region.h"

CV_VEC(texts, const char *);

/* The options of a call: first the member's that are allowed, then the caller's. */
typedef struct option_texts {
    cv_u8s pool; /* the member's, each with its NUL */
    texts list;
} option_texts;

static void options_free(cv_input *in, option_texts *options)
{
    cv_u8s_free(&in->ctx.mem, &options->pool);
    texts_free(&in->ctx.mem, &options->list);
}

/* Option text in the header of a member; empty for anything else. Its findings were reported already. */
static cuvet_status member_text(cv_input *in, const cuvet_source *src, const cv_unit *unit, cv_block *header,
                                cv_span *text)
{
    cv_emit_fn *emit = in->ctx.emit;
    cv_fatbin_member member;
    cuvet_status status;

    *text = cv_span_of(NULL, 0, 0);
    if (!cv_unit_is_member(unit))
        return CUVET_OK;
    status = cv_block_load(&in->ctx, header, src, unit->off, unit->header_size);
    if (status != CUVET_OK)
        return status;
    in->ctx.emit = NULL;
    status = cv_fatbin_read_member(&in->ctx, header->span, &member);
    in->ctx.emit = emit;
    if (status == CUVET_OK && member.has_options)
        *text = member.options;
    return status == CUVET_OK ? status : CUVET_E_INTERNAL; /* the examination would have stopped */
}

static cuvet_status gather_options(cv_input *in, cv_span text, bool ltoir, option_texts *options)
{
    cuvet_status status = cv_member_options(&in->ctx, text, ltoir, &in->option_text, &options->pool);
    cv_span pool = cv_span_of(options->pool.items, options->pool.count, 0);
    const char *place;

    for (uint64_t at = 0; status == CUVET_OK && at < pool.len;) {
        place = (const char *)cv_u8s_at(&options->pool, at);
        at += cv_span_find_byte(cv_span_tail(pool, at), 0) + 1;
        if (!texts_push(&in->ctx.mem, &options->list, place))
            status = cv_nomem(&in->ctx, 0);
    }
    for (uint64_t i = 0; status == CUVET_OK && i < in->option_at.count; i++) {
        place = (const char *)cv_u8s_at(&in->option_text, *cv_u64s_at(&in->option_at, i));
        if (!texts_push(&in->ctx.mem, &options->list, place))
            status = cv_nomem(&in->ctx, 0);
    }
    return status;
}

/* Whatever it said: cleaned, cut, ours. */
static cuvet_status keep_log(cv_input *in, const cuvet_compile_result *result)
{
    cv_u8s_clear(&in->log);
    if (!result->log || result->n_log == 0)
        return CUVET_OK;
    return cv_clean_log(&in->ctx.mem, cv_span_of(result->log, result->n_log, 0), &in->log)
               ? CUVET_OK
               : cv_nomem(&in->ctx, 0);
}

static cuvet_status call_compiler(cv_input *in, const cv_candidate *candidate, const option_texts *options,
                                  cuvet_compile_result *result)
{
    const cuvet_compile_request request = { .size = sizeof(request),
                                            .kind = candidate->pub.kind,
                                            .bytes = in->image.mem,
                                            .n = (size_t)in->image.span.len,
                                            .sm = in->cfg.target.sm,
                                            .suffix = in->cfg.target.suffix,
                                            .option = options->list.items,
                                            .n_options = (size_t)options->list.count,
                                            .threads = in->cfg.threads,
                                            .cancel = &in->cancel };
    cuvet_status status = in->compiler.compile(in->compiler.user, &request, result);

    if (status != CUVET_OK) /* the plug-in has no other statuses: another one is a defect, not a verdict */
        return status == CUVET_E_NOMEM ? status : CUVET_E_INTERNAL;
    status = keep_log(in, result);
    if (status != CUVET_OK)
        return status;
    if (result->end == CUVET_COMPILE_CANCELLED || cv_input_cancelled(in))
        return CUVET_E_CANCELLED;
    if (result->end == CUVET_COMPILED && (!result->bytes || result->n == 0))
        result->end = CUVET_COMPILE_EMPTY;
    if (result->end == CUVET_COMPILED)
        return cv_block_copy(&in->ctx, &in->image, cv_span_of(result->bytes, result->n, 0));
    cv_report(&in->ctx, cv_compile_rule(result->end), candidate->pub.payload_off, 0, (uint64_t)result->detail,
              cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix));
    return CUVET_E_COMPILER;
}

/* Output of the compiler: examined and admitted as if it had come in a file. */
static cuvet_status judge_output(cv_input *in, uint64_t at)
{
    cv_unit unit = { .row = cv_containers_of(CUVET_K_CUBIN),
                     .path = in->ctx.path,
                     .payload_size = in->image.span.len,
                     .referenced = true };
    cuvet_target target = in->cfg.target;
    const cuvet_source src = cv_source_memory(in->image.mem, in->image.span.len);
    cuvet_status status;

    if (cv_u32_at(in->image.span, 0) != CV_ELF_MAGIC)
        return cv_reject(&in->ctx, CV_R_INPUT_COMPILED_KIND, 0, cv_u32_at(in->image.span, 0), CV_ELF_MAGIC);
    cv_ctx_enter_inner(&in->ctx, at); /* offsets in what the member became */
    status = cv_input_examine(in, &src, &unit);
    if (status == CUVET_OK)
        status = cv_input_admit(in);
    if (status == CUVET_OK &&
        (in->out.sm != target.sm || (in->out.suffix != target.suffix && in->out.suffix != 0)))
        status = cv_reject(&in->ctx, CV_R_INPUT_COMPILED_ARCH, 0, cv_arch_pack(in->out.sm, in->out.suffix),
                           cv_arch_pack(target.sm, target.suffix));
    if (status == CUVET_OK)
        status = cv_block_copy(&in->ctx, &in->image, in->result.payload);
    in->out.flags |= CUVET_IMAGE_COMPILED;
    return status;
}

cuvet_status cv_input_compile(cv_input *in, const cuvet_source *src, const cv_candidate *candidate)
{
    cuvet_compile_result result = { .size = sizeof(result) };
    cv_block header = { 0 };
    option_texts options = { 0 };
    cv_span text;
    cuvet_status status;

    if (!in->compiler.compile) {
        cv_report(&in->ctx,
                  candidate->pub.kind == CUVET_K_PTX ? CV_R_COMPILE_NEEDED_PTX : CV_R_COMPILE_NEEDED_IR,
                  candidate->pub.payload_off, 0, cv_arch_pack(candidate->pub.sm, candidate->pub.suffix),
                  cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix));
        return CUVET_E_COMPILER;
    }
    status = member_text(in, src, &candidate->unit, &header, &text);
    if (status == CUVET_OK)
        status = gather_options(in, text, candidate->pub.kind == CUVET_K_LTOIR, &options);
    if (status == CUVET_OK) {
        status = call_compiler(in, candidate, &options, &result);
        if (result.release)
            result.release(&result, in->compiler.user);
    }
    options_free(in, &options);
    cv_block_free(&in->ctx, &header);
    return status == CUVET_OK ? judge_output(in, candidate->pub.payload_off) : status;
}
