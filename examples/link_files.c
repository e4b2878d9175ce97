/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/cuvet.h>

#include <stdio.h>

int main(int argc, char **argv) /* link_files sm_90 OUT FILE...: what nvcc -rdc=true -c made, linked */
{
    const char *const *files = (const char *const *)argv + 3;
    cuvet_image linked = { 0 };
    cuvet_ctx *ctx = NULL;
    cuvet_status status = argc > 3 ? cuvet_ctx_create(NULL, &ctx) : CUVET_E_USAGE;

    if (status == CUVET_OK)
        status = cuvet_link_files(ctx, NULL, argv[1], files, (size_t)argc - 3, &linked);
    if (status == CUVET_OK)
        status = cuvet_image_save(ctx, linked, argv[2], CUVET_SAVE_REPLACE);
    if (status != CUVET_OK)
        fprintf(stderr, "%s: %s\n", cuvet_status_text(status), ctx ? cuvet_ctx_last_text(ctx) : "");
    cuvet_ctx_destroy(ctx); /* the image goes with it */
    return status != CUVET_OK;
}
