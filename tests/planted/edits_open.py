# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects of which it is not known that a test notices them: no test that was asked made them, or all passed. They are built with the
others, and asked by name (planted_tests.py NAME ...); `make check-planted` counts none of them. One that is noticed moves to edits_scan.py or
edits_input.py; one that is not is a missing test. As there, with the part in front."""

EDITS = [
    ("input", "system-library-needed", "src/drive/take_part.c", "[[*cv_u8s_at(&why, i) == NOT_NEEDED]])\n            *cv_u8s_at(&why, i) = 0;", "false", "unit_api: linker_files"),
    ("input", "already-linked-again", "src/drive/take_part.c", "[[already]] ? ALREADY", "false", "unit_api: linker_files"),
    ("input", "hosts-of-some", "src/drive/take_part.c", "told = told && cv_link_inputs_at(&linker->input, i)->host != CV_NONE;", "", "unit_api: linker_files"),
    ("input", "module-of-linked", "src/drive/take_part.c", "if ([[!host->linkable]] ||", "false", "unit_api: linker_files"),
    ("input", "left-out-unsaid", "src/drive/take_part.c", "tell_left_out(linker, at++, *cv_u8s_get(why, i));", "at++;", "unit_api: linker_files"),
    ("input", "needs-defined", "src/link/in/needs.c", "[[*cv_u8s_at(&what, name) == REFERRED]] &&", "*cv_u8s_at(&what, name) & REFERRED", "unit_api: linker_files"),
    ("input", "needs-provided", "src/link/in/needs.c", "!cv_is_provided(cv_names_text(&names, name))", "true", "unit_api: linker_files"),
    ("input", "archive-long-names-lost", "src/drive/host_files.c", "archive->names = body;", "", "unit_api: linker_files"),
    ("input", "archive-other-code", "src/drive/host_files.c", "content.type == CUVET_K_NVVM || content.type == CUVET_K_LTOIR", "false", "unit_api: linker_files"),
    ("input", "archive-member-unsaid", "src/drive/host_files.c", "cv_report(ctx, CV_R_LINK_NO_OBJECT, archive->at, 0, body.len, 0);", "", "unit_api: linker_files"),
    ("input", "archive-of-system", "src/drive/host_files.c", "cv_lhosts_at(&hosts->host, i)->of_system = of_system;", "", "unit_api: linker_files"),
    ("input", "archive-members-limit", "src/drive/host_files.c", "members++ == ctx->lim.containers", "false", "unit_api: linker_files"),
    ("input", "object-finished", "src/host/refs.c", "host->finished = true;", "", "unit_host: host/refs"),
    ("input", "object-without-modules", "src/host/refs.c", "return [[object->n_modules > 0]];", "true", "unit_host: host/refs"),
    ("input", "pattern-longer", "src/host/refs.c", "*out = [[in_pattern == pattern.len]];", "true", "unit_host: host/refs"),
    ("input", "module-name", "src/host/refs.c", "!is_identifier(name)", "name.len == 0", "unit_host: host/refs"),
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
    ("input", "container-chosen-twice", "src/drive/link.c", "item.container_off == file->container", "false", "unit_api: linker_files"),
    ("input", "finished-linked-again", "src/drive/link.c", "host == CV_NONE || [[!cv_hosts_is_finished(&file->linker->hosts, host)]]", "true", "unit_api: linker_files"),
    ("input", "nothing-fits-unsaid", "src/drive/link.c", "tell_event(file, CUVET_EVENT_NOTHING_FITS, CUVET_E_NO_MATCH);", "", "unit_api: linker_files"),
    ("input", "admit-old-toolkit", "src/cubin/admit.c", "cubin->toolkit < oldest", "cubin->toolkit + 1 < oldest", "unit_cubin: admit"),
]
