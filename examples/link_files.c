/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/cuvet.h>

#include <stdio.h>

static void tell(void *user, const cuvet_event *event)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", event->file, cuvet_event_kind_name(event->kind));
}

/* link_files sm_90 FILE...: what nvcc -rdc=true -c made, linked to standard output */
int main(int argc, char **argv)
{
    cuvet_linker_options options = { .size = sizeof(options), .event = tell };
    cuvet_ctx *ctx = NULL;
    cuvet_linker linker;
    cuvet_source file = { .size = sizeof(file) };
    cuvet_status s = argc > 2 ? cuvet_target_parse(argv[1], &options.target) : CUVET_E_USAGE;

    if (s == CUVET_OK)
        s = cuvet_ctx_create(NULL, &ctx);
    if (s == CUVET_OK)
        s = cuvet_linker_create(ctx, &options, &linker);
    for (int i = 2; i < argc && s == CUVET_OK; i++) {
        s = cuvet_source_path(argv[i], &file);
        if (s == CUVET_OK) {
            s = cuvet_linker_add_file(ctx, linker, &file, argv[i], NULL);
            cuvet_source_destroy(&file);
        }
    }
    if (s == CUVET_OK)
        s = cuvet_linker_complete(ctx, linker);
    if (s == CUVET_OK)
        s = cuvet_linker_write(ctx, linker, 1);
    if (s != CUVET_OK)
        fprintf(stderr, "%s\n", ctx ? cuvet_ctx_last_text(ctx) : cuvet_status_name(s));
    cuvet_ctx_destroy(ctx); /* the linker goes with it */
    return s != CUVET_OK;
}
