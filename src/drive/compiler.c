/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compiler of a link: with which options it is asked. */
#include "drive/link.h"

/* Bytes of a text, without its NUL. */
CV_BUF_BEGIN
static cuvet_status give_option(cv_input *choice, const char *text)
{
    size_t count = 0;

    while (text[count] != 0)
        count++;
    return cv_input_option(choice, text, count);
}

/* The reference linker hands on -g, as long as symbols for debuggers are wanted, and what the caller gives.
 */
cuvet_status cv_linker_give_compiler(const cv_linker *linker, cv_input *choice)
{
    const cv_link_compiler *ptx = &linker->ptx;
    cuvet_status status = CUVET_OK;

    choice->compiler = ptx->compiler;
    if (!ptx->compiler.compile)
        return CUVET_OK;
    if (linker->opts.debug)
        status = give_option(choice, "--device-debug");
    for (size_t i = 0; i < ptx->n_options && status == CUVET_OK; i++)
        status = give_option(choice, ptx->option[i]);
    return status;
}
CV_BUF_END
