# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects of what comes before a link: archives, host objects, places, selection, admission. As edits_scan.py."""

EDITS = [
    ("archive-member-cut", "src/format/archive/read.c", "used > left", "used > left + 1", "unit_format: format/archive"),
    ("archive-thin-content", "src/format/archive/read.c", "header.stored = [[kind != CV_AR_THIN]] ||", "true", "unit_format: format/archive"),
    ("archive-name-at-end", "src/format/archive/read.c", "name_at >= names.len", "name_at > names.len"),
    ("wrapper-twice", "src/host/wrappers.c", "i > 0 && key->key == last->key", "false"),
    ("wrapper-null", "src/host/wrappers.c", "wrapper->state == CV_HOST_STORED && [[wrapper->data == 0]]", "false"),
    ("wrapper-other-addend", "src/host/wrappers.c", "wrapper->data != 0 && [[wrapper->data != value]]", "false"),
    ("wrapper-other-type", "src/host/wrappers.c", "!packed && [[write->type != relative]]", "false"),
    ("object-symbol-range", "src/host/object.c", "reloc->sym >= resolver->n_syms", "reloc->sym > resolver->n_syms", "unit_host: host/host"),
    ("object-section-end", "src/host/object.c", "[[addend < resolver->room]] ? CV_HOST_FOUND", "addend <= resolver->room", "unit_host: host/host"),
    ("small-part-dropped", "src/intake/walk.c", "piece->off == piece->end", "piece->end - piece->off < 64", "unit_scan: walk"),
    ("container-crosses-section", "src/intake/kind_fatbin.c", "limit != UINT64_MAX && region->end > limit", "false"),
    ("container-referenced", "src/intake/kind_fatbin.c", "state->referenced = in->bare || [[(in->host && cv_host_names(&walk->host, at))]];", "in->host", "FATBIN_UNREFERENCED"),
    ("archive-padding", "src/intake/kind_archive.c", "status == CUVET_OK && [[header->next > header->end]]", "false", "AR_PADDING"),
    ("archive-table-as-member", "src/intake/kind_archive.c", "[[table ? CV_PIECE_TABLE : CV_PIECE_REGION]],", "CV_PIECE_REGION", "HOST_PLACE"),
    ("archive-rest-dropped", "src/intake/kind_archive.c", "if (status == CUVET_E_MALFORMED)\n        [[rest_as_table(walk, region, piece);]]",
     "region->pos = region->covered = region->end;", "AR_TERMINATOR"),
    ("place-table", "src/intake/place.c", "if ([[region->table]])", "false", "HOST_PLACE"),
    ("kernels-of-others", "src/host/refs.c", "host->object && !host->lists", "false", "unit_host: host/refs"),
    ("candidate-suffix", "src/drive/candidates.c", "candidate->pub.suffix = [[flags & CV_FB_ARCH_A ? 'a' : flags & CV_FB_ARCH_F ? 'f' : 0]];", "0", "tests/cli/test_select.py"),
    ("admit-executable", "src/cubin/admit.c", "if ([[type == CV_ELF_EXEC]])", "false", "unit_cubin: admit"),
    ("admit-newer-toolkit", "src/cubin/admit.c", "cubin->toolkit > judge->wanted->toolkit", "cubin->toolkit > judge->wanted->toolkit + 10", "unit_cubin: admit"),
    ("family-newer", "src/target/arch.c", "[[cv_arch_family(sm) != cv_arch_family(target.sm)]])\n        return CUVET_REASON_FAMILY;\n    return sm > target.sm", "cv_arch_family(sm) > cv_arch_family(target.sm)", "unit_intake: select"),
    ("suffix-of-other-machine", "src/target/arch.c", "if ([[sm != target.sm]])\n        return CUVET_REASON_SUFFIX;", "sm > target.sm", "unit_intake: select"),
]
