/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/lto.h"

#include "base/arith.h"
#include "base/text.h"
#include "base/vec.h"
#include "bytes/span.h"
#include "proc/child.h"
#include "proc/external.h"

#define IN_NAME  "input"
#define OUT_NAME "output"
/* Of a name that is handed on: the messages are for people. */
#define NAME_MOST  200u
#define INPUT_TEXT (NAME_MOST + 32u)

CV_VEC(words, const char *);

/* What the program is called with, and the one file that it reads. */
typedef struct lto_call {
    words argv;
    char *texts; /* of the inputs, INPUT_TEXT for each */
    uint64_t n_texts;
    uint8_t *in;
    uint64_t n_in;
} lto_call;

/* The numbers of libnvJitLink's documentation; 0: it takes no such thing. */
static unsigned type_of(cuvet_kind kind)
{
    switch ((int)kind) {
    case CUVET_K_CUBIN: return 1;
    case CUVET_K_PTX: return 2;
    case CUVET_K_LTOIR: return 3;
    case CUVET_K_FATBIN: return 4;
    case CUVET_K_HOST_ELF: return 5;
    case CUVET_K_ARCHIVE: return 6;
    default: return 0;
    }
}

static bool is_possible(const cuvet_lto_input *input, size_t len)
{
    if (len == 0 || len > CV_LTO_INPUTS_MOST)
        return false;
    for (; len > 0; len--, input++) {
        if (type_of(input->kind) == 0 || !input->bytes || input->n == 0)
            return false;
    }
    return true;
}

static void describe_input(const cuvet_lto_input *input, char *buf)
{
    cv_text text = { buf, INPUT_TEXT, 0 };
    const char *name = input->name && input->name[0] != '\0' ? input->name : "input";

    cv_text_dec(&text, type_of(input->kind));
    cv_text_char(&text, ':');
    cv_text_dec(&text, input->n);
    cv_text_char(&text, ':');
    for (const char *letter = name; letter < name + NAME_MOST && *letter != '\0'; letter++)
        cv_text_char(&text, *letter);
    cv_text_end(&text);
}

static bool gather_inputs(cv_mem *mem, const cuvet_lto_input *first, size_t len, lto_call *call)
{
    const cuvet_lto_input *input;
    uint64_t at = 0;
    char *text;

    for (input = first; input < first + len; input++)
        call->n_in = cv_sat_add(call->n_in, input->n);
    call->n_texts = cv_sat_mul(len, INPUT_TEXT);
    call->in = cv_mem_get(mem, call->n_in);
    call->texts = cv_mem_get(mem, call->n_texts);
    if (!call->in || !call->texts)
        return false;
    text = call->texts;
    for (input = first; input < first + len; input++, text += INPUT_TEXT) {
        cv_span_copy(cv_span_of(input->bytes, input->n, 0), call->in + at);
        at += input->n;
        describe_input(input, text);
        if (!words_push(mem, &call->argv, text))
            return false;
    }
    return words_push(mem, &call->argv, NULL);
}

static bool push_all(cv_mem *mem, const char *const *word, size_t len, words *out)
{
    for (; len > 0; len--, word++) {
        if (!words_push(mem, out, *word))
            return false;
    }
    return true;
}

static bool gather_options(cv_mem *mem, const char *library, const cuvet_lto_request *req, lto_call *call)
{
    const char *const FIRST[] = { "cuvet-lto", library, (req->flags & CUVET_LTO_PTX) ? "ptx" : "cubin",
                                  IN_NAME, OUT_NAME };

    return push_all(mem, FIRST, CV_COUNT(FIRST), &call->argv) &&
           push_all(mem, req->option, req->n_options, &call->argv) && words_push(mem, &call->argv, "--");
}

static void release(cv_mem *mem, lto_call *call)
{
    words_free(mem, &call->argv);
    cv_mem_put(mem, call->texts, call->n_texts);
    cv_mem_put(mem, call->in, call->n_in);
}

cuvet_status cv_lto_run(cv_mem *mem, const cuvet_external *program, const char *library,
                        const cuvet_lto_request *req, const cuvet_lto_input *input, cuvet_compile_result *out)
{
    static const int NEVER = 0;
    cv_child_options options = { .in_name = IN_NAME, .out_name = OUT_NAME };
    cuvet_status status = CUVET_E_NOMEM;
    cv_child_result result = { 0 };
    lto_call call = { 0 };

    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    if (!is_possible(input, req->n_inputs))
        return CUVET_OK;
    cv_external_limits(program, &options);
    if (gather_options(mem, library, req, &call) && gather_inputs(mem, input, req->n_inputs, &call)) {
        options.argv = call.argv.items;
        options.in = call.in;
        options.n_in = (size_t)call.n_in;
        options.cancel = req->cancel ? req->cancel : &NEVER;
        status = cv_child_run(mem, &options, &result);
    }
    release(mem, &call);
    if (status != CUVET_OK)
        return CUVET_E_NOMEM;
    cv_external_end(mem, program, &result, out);
    return CUVET_OK;
}
