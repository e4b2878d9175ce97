/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One device ELF on its way into a link: examined, admitted, and finalized where it is for another member of
 * the family; such inputs keep their form. */
#include "cubin/admit.h"
#include "drive/link.h"
#include "intake/probe.h"

enum { PASSES = 4 /* examined, made, examined, compared */ };

void cv_linker_unit(cv_linker *linker, uint64_t bytes)
{
    cv_ctx_unit(&linker->ctx, bytes);
    cv_path_push(&linker->ctx, CUVET_P_MEMBER, true, linker->input.count);
    cv_path_push(&linker->ctx, CUVET_P_ELF, false, 0);
}

/* Is the code of linker->parsed, which was admitted, for another machine than that of the link? */
static bool is_off_target(const cv_linker *linker)
{
    return cv_gen_has(linker->parsed.gen, CV_GEN_SAYS_WHERE) && linker->parsed.sm != linker->opts.target.sm &&
           cv_cubin_first(&linker->parsed, CV_ROLE_TEXT) != 0;
}

/* The input was examined when it came, and what was found has been said. */
static void on_diag(void *user, const cuvet_diag *diag)
{
    const cv_linker *linker = user;

    if (diag->severity == CUVET_ERROR)
        linker->emit(linker->emit_user, diag);
}

/* Finalize it for the target: in->bytes and linker->parsed become those of the result. */
static cuvet_status retarget_input(cv_linker *linker, cv_link_input *in)
{
    const cv_admit_for wanted = { .target = linker->opts.target,
                                  .policy = linker->opts.policy,
                                  .toolkit = linker->opts.toolkit };
    cv_emit_fn *emit = linker->emit;
    void *emit_user = linker->emit_user;
    cv_block made = { 0 };
    cuvet_status status;

    cv_linker_unit(linker, cv_sat_mul(in->bytes.span.len, PASSES));
    linker->emit = linker->ctx.emit;
    linker->emit_user = linker->ctx.emit_user;
    linker->ctx.emit = on_diag;
    linker->ctx.emit_user = linker;
    status = cv_final_run(&linker->job, &linker->ctx, &linker->final, in->bytes.span,
                          (const char *)in->name.mem, &made);
    if (status == CUVET_OK)
        status = cv_admit(&linker->ctx, &linker->job.result, &wanted);
    if (status == CUVET_OK) {
        cv_cubin_free(&linker->ctx, &linker->parsed);
        linker->parsed = linker->job.result;
        cv_cubin_init(&linker->job.result);
    }
    cv_final_end(&linker->job);
    linker->ctx.emit = linker->emit;
    linker->ctx.emit_user = linker->emit_user;
    linker->emit = emit;
    linker->emit_user = emit_user;
    if (status != CUVET_OK) {
        cv_block_free(&linker->ctx, &made);
        return status;
    }
    cv_block_free(&linker->ctx, &in->bytes);
    in->bytes = made;
    linker->retargeted = true;
    return CUVET_OK;
}

static cuvet_status examine_input(cv_linker *linker, cv_span image)
{
    uint64_t extent = 0;
    cuvet_status status = cv_cubin_examine(&linker->ctx, &linker->parsed, image, NULL, &extent);

    if (status == CUVET_OK)
        cv_cubin_check_tail(&linker->ctx, image, extent, 0);
    return status == CUVET_OK ? cv_verdict_status(linker->ctx.verdict) : status;
}

/* Is it a device ELF at all? Nobody asks who knows. */
static cuvet_status check_class(cv_linker *linker, cv_span image, const cv_class *known)
{
    cv_class answer = { 0 };
    cuvet_status status;

    if (known)
        answer = *known;
    else
        answer.status = cv_classify_look(image, linker->ctx.lim.ptx_probe, 0, &answer.content, &answer.why);
    status = cv_class_say(&linker->ctx, &answer);
    return status == CUVET_OK && answer.content.type != CUVET_K_CUBIN
               ? cv_reject(&linker->ctx, CV_R_LINK_CONTENT, image.off, cv_class_number(answer.content.type),
                           cv_class_number(CUVET_K_CUBIN))
               : status;
}

/* Class, rules, admission, in this order; all that is wrong is said. What passes becomes the link's. What
 * was examined before, strictly and without an error, was found to be a device ELF by then. */
static cuvet_status judge_input(cv_linker *linker, cv_link_input *in, bool examined, const cv_class *known)
{
    const cv_span image = in->bytes.span;
    const cv_admit_for wanted = { .target = linker->opts.target,
                                  .policy = linker->opts.policy,
                                  .toolkit = linker->opts.toolkit,
                                  .finished = !linker->generator.compiler.compile };
    cuvet_status status = examined ? CUVET_OK : check_class(linker, image, known);

    if (status == CUVET_OK && !examined)
        status = examine_input(linker, image);
    if (status == CUVET_OK)
        status = cv_admit(&linker->ctx, &linker->parsed, &wanted);
    if (status == CUVET_OK && is_off_target(linker))
        status = retarget_input(linker, in);
    if (status == CUVET_OK)
        status = cv_link_add(&linker->link, in->bytes.span, &linker->parsed, (const char *)in->name.mem);
    if (status != CUVET_OK)
        cv_cubin_free(&linker->ctx, &linker->parsed);
    return status;
}

/* With its bytes in memory: in->bytes is the link's afterwards, or gone. */
static cuvet_status add_input(cv_linker *linker, cv_link_input *in, cv_span name, bool examined,
                              const cv_class *known, cuvet_status status)
{
    linker->retargeted = false;
    if (status == CUVET_OK)
        status = cv_block_zero(&linker->ctx, &in->name, name.len + 1);
    if (status == CUVET_OK)
        cv_span_copy(name, in->name.mem);
    if (status == CUVET_OK &&
        !cv_link_inputs_reserve(&linker->ctx.mem, &linker->input, linker->input.count + 1))
        status = cv_nomem(&linker->ctx, 0);
    if (status == CUVET_OK)
        status = judge_input(linker, in, examined, known);
    else if (examined)
        cv_cubin_free(&linker->ctx, &linker->parsed);
    if (status == CUVET_OK && cv_link_inputs_push(&linker->ctx.mem, &linker->input, *in)) {
        cv_islands_keep(&linker->islands);
        return CUVET_OK;
    }
    cv_islands_drop();
    cv_block_free(&linker->ctx, &in->bytes);
    cv_block_free(&linker->ctx, &in->name);
    return status;
}

static cuvet_status load_whole(cv_linker *linker, const cuvet_source *src, cv_block *bytes)
{
    const cv_source_state before = cv_source_look(src);
    cuvet_status status = cv_block_load(&linker->ctx, bytes, src, 0, src->length);

    return status == CUVET_OK ? cv_source_unchanged(&linker->ctx, src, &before) : status;
}

static uint64_t size_of(const cv_link_piece *piece)
{
    return piece->choice ? piece->choice->out.n : piece->src ? piece->src->length : piece->image.len;
}

cuvet_status cv_linker_add(cv_linker *linker, const cv_link_piece *piece)
{
    cv_link_input in = { .bytes = { 0 }, .name = { 0 }, .host = piece->host, .of_system = piece->of_system };
    uint64_t count = size_of(piece);
    bool examined = piece->choice || piece->scan;
    cuvet_status status = CUVET_OK;

    if (linker->state != CV_LINKER_COLLECTING)
        return CUVET_E_STATE;
    cv_linker_unit(linker, count);
    cv_cubin_init(&linker->parsed);
    if (count > linker->ctx.lim.input)
        status = cv_reject(&linker->ctx, CV_R_LIMIT_INPUT, 0, count, linker->ctx.lim.input);
    else if (piece->choice)
        status = cv_input_move_out(piece->choice, &linker->ctx, &in.bytes, &linker->parsed);
    else if (piece->scan)
        status = cv_scan_move_out(piece->scan, &linker->ctx, &in.bytes, &linker->parsed);
    else if (piece->src)
        status = load_whole(linker, piece->src, &in.bytes);
    else if (piece->borrow)
        cv_block_borrow(&in.bytes, piece->image);
    else
        status = cv_block_copy(&linker->ctx, &in.bytes, piece->image);
    return add_input(linker, &in, piece->name, examined && status == CUVET_OK, piece->known, status);
}
