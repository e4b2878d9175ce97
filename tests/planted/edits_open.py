# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects of which it is not known that a test notices them: no test that was asked made them, or all passed. They are built with the
others, and asked by name (planted_tests.py NAME ...); `make check-planted` counts none of them. One that is noticed moves to edits_scan.py or
edits_input.py; one that is not is a missing test. As there, with the part in front."""

EDITS = [
    ("input", "choice-uncharged", "src/drive/choose.c", "cv_budget_charge(&in->budget, cost, in->result.work);", "", "unit_api: input"),
    ("input", "choice-nesting", "src/drive/choose.c", "level->depth + 1 > in->ctx.lim.nesting", "level->depth > in->ctx.lim.nesting", "unit_api: input"),
    ("input", "choice-not-unpacked", "src/drive/choose.c", "(!(in->result.item.flags & CUVET_ITEM_EXAMINED) || in->result.payload.len == 0)", "false", "unit_api: input"),
    ("input", "choice-not-admitted", "src/drive/choose.c", "status = cv_admit(&in->ctx, cubin, &wanted);", "status = CUVET_OK;", "unit_api: input"),
    ("input", "choice-malformed", "src/drive/choose.c", "cv_verdict_status(in->result.verdict)", "CUVET_OK", "unit_api: input"),
    ("input", "choice-equal-unsaid", "src/drive/choose.c", "cv_select_compare(&rival->pub, &choice->pub) == 0", "false", "unit_api: input"),
    ("input", "choice-other-unsaid", "src/drive/choose.c", "if ([[reference != best]])", "false", "unit_api: input"),
    ("input", "candidates-off-by-one", "src/drive/candidates.c", "to->count >= in->ctx.lim.candidates", "to->count > in->ctx.lim.candidates", "unit_api: input"),
    ("input", "candidate-of-any-place", "src/drive/candidates.c", "!cv_place_chosen(in->unit.place)", "false", "unit_api: input"),
    ("input", "candidate-input-limit", "src/drive/candidates.c", "size > in->ctx.lim.input", "false", "unit_api: input"),
    ("input", "candidate-of-data-first", "src/intake/choose.c", "(uint64_t)(in->unit.place == CUVET_PLACE_DATA) << 35", "0", "unit_intake: select"),
    ("input", "admit-old-toolkit", "src/cubin/admit.c", "cubin->toolkit < oldest", "cubin->toolkit + 1 < oldest", "unit_cubin: admit"),
]
