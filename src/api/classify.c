/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Classification without a context: nothing is allocated, nothing is kept. */
#include "api/opts.h"
#include "intake/probe.h"

cuvet_status cuvet_classify(const void *bytes, size_t size, const cuvet_limits *limits, unsigned flags,
                            cuvet_content_info *out, cuvet_diag *diag)
{
    cv_class_why why = { .rule = CV_N_RULES };
    cuvet_diag said = { .rule = CV_N_RULES };
    cuvet_content_info info = { 0 };
    cuvet_limits lim;
    uint64_t wrong;
    cuvet_status status;

    if ((diag && !cv_sized_give(diag, &said, sizeof(said))) ||
        (out && !cv_sized_give(out, &info, sizeof(info))))
        return CUVET_E_USAGE;
    if (!out || (!bytes && size != 0))
        return CUVET_E_NULL;
    if (!cv_opts_limits(limits, &lim) || (flags & ~CUVET_CLASSIFY_LENIENT))
        return CUVET_E_USAGE;
    wrong = cv_trap_count();
    status = cv_classify_look(cv_span_of(bytes, size, 0), lim.ptx_probe, flags, &info, &why);
    if (CV_NEVER(wrong != cv_trap_count()))
        return CUVET_E_INTERNAL;
    if (status != CUVET_OK)
        said = (cuvet_diag){ .rule = why.rule,
                             .severity = cuvet_rule_get(why.rule)->severity,
                             .file_off = why.off,
                             .length = why.len,
                             .got = why.got,
                             .want = why.want };
    if (diag)
        cv_sized_fill(diag, &said, sizeof(said));
    cv_sized_fill(out, &info, sizeof(info));
    return status;
}
