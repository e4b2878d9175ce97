/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backend strip: finished code out of a file with capsules. The code is in the file already; what goes is the
 * capsules and the Mercury forms of other sections. The bytes of everything else stay as they are. */
#include "finalize/job.h"
#include "finalize/rewrite.h"

static cv_final probe_strip(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    bool level;
    cv_final answer;

    (void)self;
    *cost = 2;
    if (req->in_kind != CV_KIND_CAPMERC || req->out_kind != CV_KIND_SASS || !req->cubin->conv ||
        !req->cubin->abi8)
        return CV_FINAL_NO_BACKEND;
    if (req->src_sm == req->dst_sm)
        return CV_FINAL_OK;
    answer = cv_can_finalize_most(req->compat, req->src_sm, req->dst_sm, req->level_most, &level);
    if (answer != CV_FINAL_OK)
        return answer;
    return cv_can_fastpath(req->compat, req->src_sm, req->dst_sm, req->fastpath) ? CV_FINAL_OK
                                                                                 : CV_FINAL_NO_BACKEND;
}

/* Does anything that stays name the symbol? */
static bool is_used(const cv_cubin *cubin, const cv_u8s *part, uint64_t symbol)
{
    cv_elf_reloc reloc;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        cv_span body = cv_span_tail(cubin->image, sec->header.off);

        if (*cv_u8s_get(part, i) != CV_PART_RELOC || !sec->in_file)
            continue;
        body.len = sec->header.size;
        for (uint64_t k = 0; k < sec->header.size / cv_elf_rel_size(false, true); k++) {
            cv_elf_read_reloc(body, false, true, k, &reloc);
            if (reloc.sym == symbol)
                return true;
        }
    }
    return false;
}

uint64_t cv_final_cap_symbol(const cv_cubin *cubin, const cv_u8s *part)
{
    cv_elf_symbol sym;
    cv_span name;

    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        cv_elf_read_symbol(cubin->symtab, false, i, &sym);
        if (sym.shndx != CV_SHN_UNDEF || cv_elf_sym_bind(&sym) != CV_STB_WEAK)
            continue;
        name = cv_span_tail(cubin->strtab, sym.name);
        if (!cv_span_starts(name, ".nv.reservedSmem.cap") || cv_u8_at(name, 20) != 0)
            continue;
        return is_used(cubin, part, i) ? 0 : i;
    }
    return 0;
}

static cuvet_status put_stripped(cv_ctx *ctx, const cv_backend_req *req, cv_rewrite *rewrite, cv_u8s *part,
                                 cv_final_sink *to)
{
    const cv_cubin *cubin = req->cubin;
    cuvet_status status;

    if (!cv_u8s_fill(&ctx->mem, part, cubin->sec.count))
        return cv_nomem(ctx, cubin->image.off);
    if (!cv_work(ctx, cv_sat_add(cubin->n_syms, cubin->n_relocs), cubin->image.off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 1; i < cubin->sec.count; i++)
        *cv_u8s_at(part, i) = (uint8_t)cv_final_part(cubin, i);
    rewrite->null_symbol = cv_final_cap_symbol(cubin, part);
    status = cv_rewrite_plan(ctx, rewrite);
    return status == CUVET_OK ? cv_rewrite_write(ctx, rewrite, to) : status;
}

static cuvet_status run_strip(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                              cv_backend_out *out)
{
    cv_u8s part = { 0 };
    cv_rewrite rewrite = { .cubin = req->cubin, .part = &part, .kind = CV_KIND_SASS, .sm = req->dst_sm };
    cuvet_status status;

    (void)self;
    status = put_stripped(ctx, req, &rewrite, &part, to);
    if (status != CUVET_OK)
        out->code = status == CUVET_E_NOMEM      ? CV_FINAL_MEMORY
                    : status == CUVET_E_LIMIT    ? CV_FINAL_LIMIT
                    : status == CUVET_E_INTERNAL ? CV_FINAL_PASSES
                                                 : CV_FINAL_TYPE;
    cv_rewrite_free(ctx, &rewrite);
    cv_u8s_free(&ctx->mem, &part);
    return status;
}

const cv_backend cv_backend_strip = {
    .abi = CV_BACKEND_ABI, .name = "strip", .caps = CV_BACKEND_STRIP, .probe = probe_strip, .run = run_strip
};
