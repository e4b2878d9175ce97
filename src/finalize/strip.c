/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backend strip: finished code out of a file with capsules. The code is in the file already; what goes is the
 * capsules and the Mercury forms of other sections. The bytes of everything else stay as they are. */
#include "finalize/job.h"
#include "finalize/rewrite.h"

static cv_final probe(const void *self, const cv_backend_req *q, uint32_t *cost)
{
    bool level;
    cv_final f;

    (void)self;
    *cost = 2;
    if (q->in_kind != CV_KIND_CAPMERC || q->out_kind != CV_KIND_SASS || !q->cubin->conv || !q->cubin->abi8)
        return CV_FINAL_NO_BACKEND;
    if (q->src_sm == q->dst_sm)
        return CV_FINAL_OK;
    f = cv_can_finalize_most(q->compat, q->src_sm, q->dst_sm, q->level_most, &level);
    if (f != CV_FINAL_OK)
        return f;
    return cv_can_fastpath(q->compat, q->src_sm, q->dst_sm, q->fastpath) ? CV_FINAL_OK : CV_FINAL_NO_BACKEND;
}

/* Does anything that stays name the symbol? */
static bool is_used(const cv_cubin *c, const cv_u8s *part, uint64_t symbol)
{
    cv_elf_reloc r;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        cv_span body = cv_span_tail(c->image, s->h.off);

        if (*cv_u8s_at(part, i) != CV_PART_RELOC || !s->in_file)
            continue;
        body.len = s->h.size;
        for (uint64_t k = 0; k < s->h.size / cv_elf_rel_size(false, true); k++) {
            cv_elf_read_reloc(body, false, true, k, &r);
            if (r.sym == symbol)
                return true;
        }
    }
    return false;
}

uint64_t cv_final_cap_symbol(const cv_cubin *c, const cv_u8s *part)
{
    cv_elf_symbol y;
    cv_span name;

    for (uint64_t i = 1; i < c->n_syms; i++) {
        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (y.shndx != CV_SHN_UNDEF || cv_elf_sym_bind(&y) != CV_STB_WEAK)
            continue;
        name = cv_span_tail(c->strtab, y.name);
        if (!cv_span_starts(name, ".nv.reservedSmem.cap") || cv_u8_at(name, 20) != 0)
            continue;
        return is_used(c, part, i) ? 0 : i;
    }
    return 0;
}

static cuvet_status strip(cv_ctx *x, const cv_backend_req *q, cv_rewrite *r, cv_u8s *part, cv_final_sink *to)
{
    const cv_cubin *c = q->cubin;
    cuvet_status s;

    if (!cv_u8s_fill(&x->mem, part, c->sec.n))
        return cv_nomem(x, c->image.off);
    if (!cv_work(x, cv_sat_add(c->n_syms, c->n_relocs), c->image.off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 1; i < c->sec.n; i++)
        *cv_u8s_at(part, i) = (uint8_t)cv_final_part(c, i);
    r->null_symbol = cv_final_cap_symbol(c, part);
    s = cv_rewrite_plan(x, r);
    return s == CUVET_OK ? cv_rewrite_write(x, r, to) : s;
}

static cuvet_status run(void *self, cv_ctx *x, const cv_backend_req *q, cv_final_sink *to,
                        cv_backend_out *out)
{
    cv_u8s part = { 0 };
    cv_rewrite r = { .c = q->cubin, .part = &part, .kind = CV_KIND_SASS, .sm = q->dst_sm };
    cuvet_status s;

    (void)self;
    s = strip(x, q, &r, &part, to);
    if (s != CUVET_OK)
        out->code = s == CUVET_E_NOMEM      ? CV_FINAL_MEMORY
                    : s == CUVET_E_LIMIT    ? CV_FINAL_LIMIT
                    : s == CUVET_E_INTERNAL ? CV_FINAL_PASSES
                                            : CV_FINAL_TYPE;
    cv_rewrite_free(x, &r);
    cv_u8s_free(&x->mem, &part);
    return s;
}

const cv_backend cv_backend_strip = {
    .abi = CV_BACKEND_ABI, .name = "strip", .caps = CV_BACKEND_STRIP, .probe = probe, .run = run
};
