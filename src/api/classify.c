/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Classification without a context: nothing is allocated, nothing is kept. */
#include "api/opts.h"
#include "intake/probe.h"

cuvet_status cuvet_classify(const void *bytes, size_t n, const cuvet_limits *limits, unsigned flags,
                            cuvet_content_info *out, cuvet_diag *diag)
{
    cv_class_why why = { .rule = CV_N_RULES };
    cuvet_status s;
    cuvet_limits lim;

    if (diag)
        *diag = (cuvet_diag){ .rule = CV_N_RULES };
    if (out)
        *out = (cuvet_content_info){ 0 };
    if (!out || (!bytes && n != 0))
        return CUVET_E_NULL;
    if (!cv_opts_limits(limits, &lim) || (flags & ~CUVET_CLASSIFY_LENIENT))
        return CUVET_E_USAGE;
    s = cv_classify_look(cv_span_of(bytes, n, 0), lim.ptx_probe, flags, out, &why);
    if (s != CUVET_OK && diag)
        *diag = (cuvet_diag){ .rule = why.rule,
                              .severity = cuvet_rule_get(why.rule)->severity,
                              .file_off = why.off,
                              .length = why.len,
                              .got = why.got,
                              .want = why.want };
    return s;
}

const char *cuvet_content_name(cuvet_content c)
{
    switch (c) {
    case CUVET_CONTENT_NONE: return "none";
    case CUVET_CONTENT_NVVM: return "nvvm";
    case CUVET_CONTENT_FATBIN: return "fatbin";
    case CUVET_CONTENT_CUBIN: return "cubin";
    case CUVET_CONTENT_PTX: return "ptx";
    case CUVET_CONTENT_WRAPPER: return "wrapper";
    case CUVET_CONTENT_LTOIR: return "lto-ir";
    case CUVET_CONTENT_ARCHIVE: return "archive";
    case CUVET_CONTENT_HOST_ELF: return "host-elf";
    }
    return "?";
}
