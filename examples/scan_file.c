/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/cuvet.h>

#include <stdio.h>

int main(int argc, char **argv) /* scan_file FILE: what is wrong with it */
{
    cuvet_finding found = { .size = sizeof(found) };
    cuvet_findings list = { 0 };
    cuvet_ctx *ctx = NULL;
    cuvet_status status = argc == 2 ? cuvet_ctx_create(NULL, &ctx) : CUVET_E_USAGE;

    if (status == CUVET_OK)
        status = cuvet_scan_file(ctx, argv[1], NULL, &list);
    for (uint64_t i = 0; status == CUVET_OK && cuvet_findings_get(ctx, list, i, &found) == CUVET_OK; i++)
        printf("%s: %s: %s [%s]\n", found.place, found.severity, found.text, found.rule);
    if (status != CUVET_OK)
        fprintf(stderr, "%s: %s\n", cuvet_status_text(status), ctx ? cuvet_ctx_last_text(ctx) : "");
    cuvet_ctx_destroy(ctx); /* the findings go with it */
    return status != CUVET_OK;
}
