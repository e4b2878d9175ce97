/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One device ELF on its way into a link: examined, admitted, and finalized where it is for another member of
 * the family; such inputs keep their form. */
#include "cubin/admit.h"
#include "drive/link.h"
#include "intake/probe.h"

enum { PASSES = 4 /* examined, made, examined, compared */ };

void cv_linker_unit(cv_linker *k, uint64_t bytes)
{
    cv_ctx_unit(&k->x, bytes);
    cv_path_push(&k->x, CUVET_P_MEMBER, true, k->input.n);
    cv_path_push(&k->x, CUVET_P_ELF, false, 0);
}

/* Is the code of k->picture, which was admitted, for another machine than that of the link? */
static bool is_off_target(const cv_linker *k)
{
    return cv_gen_has(k->picture.gen, CV_GEN_SAYS_WHERE) && k->picture.sm != k->o.target.sm &&
           cv_cubin_first(&k->picture, CV_ROLE_TEXT) != 0;
}

/* The input was examined when it came, and what was found has been said. */
static void on_diag(void *user, const cuvet_diag *d)
{
    const cv_linker *k = user;

    if (d->severity == CUVET_ERROR)
        k->emit(k->emit_user, d);
}

/* Finalize it for the target: in->bytes and k->picture become those of the result. */
static cuvet_status retarget(cv_linker *k, cv_link_input *in)
{
    const cv_admit_for wanted = { .target = k->o.target, .policy = k->o.policy, .toolkit = k->o.toolkit };
    cv_emit_fn *emit = k->emit;
    void *emit_user = k->emit_user;
    cv_block made = { 0 };
    cuvet_status s;

    cv_linker_unit(k, cv_sat_mul(in->bytes.span.len, PASSES));
    k->emit = k->x.emit;
    k->emit_user = k->x.emit_user;
    k->x.emit = on_diag;
    k->x.emit_user = k;
    s = cv_final_run(&k->job, &k->x, &k->final, in->bytes.span, (const char *)in->name.mem, &made);
    if (s == CUVET_OK)
        s = cv_admit(&k->x, &k->job.result, &wanted);
    if (s == CUVET_OK) {
        cv_cubin_free(&k->x, &k->picture);
        k->picture = k->job.result;
        cv_cubin_init(&k->job.result);
    }
    cv_final_end(&k->job);
    k->x.emit = k->emit;
    k->x.emit_user = k->emit_user;
    k->emit = emit;
    k->emit_user = emit_user;
    if (s != CUVET_OK) {
        cv_block_free(&k->x, &made);
        return s;
    }
    cv_block_free(&k->x, &in->bytes);
    in->bytes = made;
    k->retargeted = true;
    return CUVET_OK;
}

static cuvet_status examine(cv_linker *k, cv_span image)
{
    uint64_t extent = 0;
    cuvet_status s = cv_cubin_examine(&k->x, &k->picture, image, NULL, &extent);

    if (s == CUVET_OK)
        cv_cubin_check_tail(&k->x, image, extent, 0);
    return s == CUVET_OK ? cv_verdict_status(k->x.verdict) : s;
}

/* Is it a device ELF at all? */
static cuvet_status check_class(cv_linker *k, cv_span image)
{
    cuvet_content_info content;
    cuvet_status s = cv_classify(&k->x, image, 0, &content);

    return s == CUVET_OK && content.type != CUVET_K_CUBIN
               ? cv_reject(&k->x, CV_R_LINK_CONTENT, image.off, cv_class_number(content.type),
                           cv_class_number(CUVET_K_CUBIN))
               : s;
}

/* Class, rules, admission, in this order; all that is wrong is said. What passes becomes the link's. What
 * was examined before, strictly and without an error, was found to be a device ELF by then. */
static cuvet_status judge(cv_linker *k, cv_link_input *in, bool examined)
{
    const cv_span image = in->bytes.span;
    const cv_admit_for wanted = { .target = k->o.target,
                                  .policy = k->o.policy,
                                  .toolkit = k->o.toolkit,
                                  .finished = !k->generator.compiler.compile };
    cuvet_status s = examined ? CUVET_OK : check_class(k, image);

    if (s == CUVET_OK && !examined)
        s = examine(k, image);
    if (s == CUVET_OK)
        s = cv_admit(&k->x, &k->picture, &wanted);
    if (s == CUVET_OK && is_off_target(k))
        s = retarget(k, in);
    if (s == CUVET_OK)
        s = cv_link_add(&k->link, in->bytes.span, &k->picture, (const char *)in->name.mem);
    if (s != CUVET_OK)
        cv_cubin_free(&k->x, &k->picture);
    return s;
}

/* With its bytes in memory: in->bytes is the link's afterwards, or gone. */
static cuvet_status add(cv_linker *k, cv_link_input *in, cv_span name, bool examined, cuvet_status s)
{
    k->retargeted = false;
    if (s == CUVET_OK)
        s = cv_block_zero(&k->x, &in->name, name.len + 1);
    if (s == CUVET_OK)
        cv_span_copy(name, in->name.mem);
    if (s == CUVET_OK && !cv_link_inputs_reserve(&k->x.mem, &k->input, k->input.n + 1))
        s = cv_nomem(&k->x, 0);
    if (s == CUVET_OK)
        s = judge(k, in, examined);
    else if (examined)
        cv_cubin_free(&k->x, &k->picture);
    if (s == CUVET_OK && cv_link_inputs_push(&k->x.mem, &k->input, *in)) {
        cv_islands_keep(&k->islands);
        return CUVET_OK;
    }
    cv_islands_drop();
    cv_block_free(&k->x, &in->bytes);
    cv_block_free(&k->x, &in->name);
    return s;
}

static cuvet_status load_whole(cv_linker *k, const cuvet_source *src, cv_block *bytes)
{
    const cv_source_state before = cv_source_look(src);
    cuvet_status s = cv_block_load(&k->x, bytes, src, 0, src->length);

    return s == CUVET_OK ? cv_source_unchanged(&k->x, src, &before) : s;
}

cuvet_status cv_linker_add(cv_linker *k, const cuvet_source *src, cv_span image, cv_span name, cv_id host,
                           bool of_system)
{
    cv_link_input in = { .bytes = { 0 }, .name = { 0 }, .host = host, .of_system = of_system };
    uint64_t n = src ? src->length : image.len;
    cuvet_status s;

    if (k->state != CV_LINKER_COLLECTING)
        return CUVET_E_STATE;
    cv_linker_unit(k, n);
    cv_cubin_init(&k->picture);
    if (n > k->x.lim.input)
        s = cv_reject(&k->x, CV_R_LIMIT_INPUT, 0, n, k->x.lim.input);
    else if (src)
        s = load_whole(k, src, &in.bytes);
    else
        s = cv_block_copy(&k->x, &in.bytes, image);
    return add(k, &in, name, false, s);
}

cuvet_status cv_linker_add_chosen(cv_linker *k, cv_input *choice, cv_span name, cv_id host, bool of_system)
{
    cv_link_input in = { .bytes = { 0 }, .name = { 0 }, .host = host, .of_system = of_system };
    cuvet_status s;

    cv_linker_unit(k, choice->out.n);
    if (choice->out.n > k->x.lim.input)
        s = cv_reject(&k->x, CV_R_LIMIT_INPUT, 0, choice->out.n, k->x.lim.input);
    else
        s = cv_input_move_out(choice, &k->x, &in.bytes, &k->picture);
    return add(k, &in, name, s == CUVET_OK, s);
}
