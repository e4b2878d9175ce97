/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public linker and host objects: what they say of modules and kernels, and which inputs take part. */
#include "api/linker_int.h"
#include "drive/host_files.h"

cuvet_status cuvet_linker_file(cuvet_ctx *ctx, cuvet_linker h, const cuvet_link_file *file)
{
    cuvet_link_file f = { .size = sizeof(f) };
    cuvet_status s;
    linker *k;

    if (!ctx || !file)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, file, &f, sizeof(f));
    if (s == CUVET_OK && !f.bytes)
        s = CUVET_E_NULL;
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use_in(ctx, h, CV_LINKER_COLLECTING, &k);
    if (s != CUVET_OK)
        return s;
    cv_ctx_unit(&k->x, f.n);
    k->of_system = f.of_system;
    s = cv_hosts_read(&k->x, &k->hosts, f.bytes, f.n, f.of_system);
    cv_islands_drop();
    return cv_linker_done(ctx, h, s);
}

cuvet_status cuvet_linker_origin(cuvet_ctx *ctx, cuvet_linker h, uint64_t off, cuvet_link_origin *out)
{
    cuvet_status s;
    linker *k;
    cv_id host;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_linker_use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    host = cv_hosts_at(&k->hosts, off);
    out->host = host != CV_NONE;
    out->finished = out->host && cv_hosts_is_finished(&k->hosts, host);
    return cv_linker_done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_place(cuvet_ctx *ctx, cuvet_linker h, const cuvet_item *item)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !item)
        return CUVET_E_NULL;
    s = cv_linker_use_in(ctx, h, CV_LINKER_COLLECTING, &k);
    return s == CUVET_OK ? cv_linker_done(ctx, h, cv_linker_judge_place(k, item)) : s;
}

cuvet_status cuvet_linker_module(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, const char **name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    if (s != CUVET_OK)
        return s;
    if (index >= k->module.n)
        return cv_linker_done(ctx, h, CUVET_END);
    *name = (const char *)cv_link_modules_at(&k->module, index)->mem;
    return cv_linker_done(ctx, h, CUVET_OK);
}
