/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of a link whose code is for another member of the family: they are finalized before the link sees
 * them, and keep their form. */
#include "api/linker_int.h"
#include "cubin/admit.h"

enum { LEVEL = 2, PASSES = 4 /* examined, made, examined, compared */ };

cuvet_status cv_linker_choose(cuvet_ctx *ctx, linker *k, const cuvet_linker_options *opt)
{
    cuvet_compiler generator = { 0 };
    cuvet_status s = CUVET_OK;
    size_t n = 0;

    if (opt->generator)
        s = cv_opts_compiler(ctx, opt->generator, &generator);
    if (s != CUVET_OK)
        return s;
    CV_ARRAY_SET(k->backend, n++, ((cv_backend_use){ &cv_backend_copy, NULL }));
    if (opt->generator) {
        k->generator = (cv_final_tool){ generator, opt->generator_log, opt->generator_user };
        CV_ARRAY_SET(k->backend, n++, ((cv_backend_use){ &cv_backend_external, &k->generator }));
    }
    k->final = (cv_final_options){ .target_sm = opt->target.sm,
                                   .target_suffix = opt->target.suffix,
                                   .level_most = LEVEL,
                                   .exact = opt->policy == CUVET_ARCH_EXACT,
                                   .key = { CV_ARRAY_GET(k->o.key, 0), CV_ARRAY_GET(k->o.key, 1) },
                                   .backend = k->backend,
                                   .n_backends = n };
    return CUVET_OK;
}

bool cv_linker_is_off_target(const linker *k)
{
    return cv_gen_has(k->picture.gen, CV_GEN_SAYS_WHERE) && k->picture.sm != k->o.target.sm &&
           cv_cubin_first(&k->picture, CV_ROLE_TEXT) != 0;
}

/* The input was examined when it came, and what was found has been said. */
static void on_diag(void *user, const cuvet_diag *d)
{
    const linker *k = user;

    if (d->severity == CUVET_ERROR)
        k->emit(k->emit_user, d);
}

cuvet_status cv_linker_retarget(linker *k, input *in)
{
    const cv_admit_for f = { .target = k->o.target, .policy = k->o.policy, .toolkit = k->o.toolkit };
    cv_block made = { 0 };
    cuvet_status s;

    cv_linker_unit(k, cv_sat_mul(in->bytes.span.len, PASSES));
    k->emit = k->x.emit;
    k->emit_user = k->x.emit_user;
    k->x.emit = on_diag;
    k->x.emit_user = k;
    s = cv_final_run(&k->job, &k->x, &k->final, in->bytes.span, (const char *)in->name.mem, &made);
    if (s == CUVET_OK)
        s = cv_admit(&k->x, &k->job.result, &f);
    if (s == CUVET_OK) {
        cv_cubin_free(&k->x, &k->picture);
        k->picture = k->job.result;
        cv_cubin_init(&k->job.result);
    }
    cv_final_end(&k->job);
    k->x.emit = k->emit;
    k->x.emit_user = k->emit_user;
    if (s != CUVET_OK) {
        cv_block_free(&k->x, &made);
        return s;
    }
    cv_block_free(&k->x, &in->bytes);
    in->bytes = made;
    return CUVET_OK;
}
