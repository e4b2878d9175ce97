/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocation sections, those whose entries are applied already too: target, symbol, type and the bytes each
 * entry touches. */
#include "model/cubin_int.h"

typedef struct batch {
    cv_ctx *x;
    const cv_cubin *c;
    uint64_t section;
    cv_span body;
    bool rela, merc, insn;     /* insn: the target holds instructions */
    uint64_t n, n_syms, limit; /* limit: bytes of the target that may be patched */
} batch;

static void entry_report(const batch *b, uint64_t i, cv_rule rule, uint64_t field, uint64_t got,
                         uint64_t want)
{
    cv_path_push(b->x, CUVET_P_SECTION, true, b->section);
    cv_report_at(b->x, CUVET_P_RELOC, i, rule,
                 b->body.off + i * cv_elf_rel_size(b->c->h.is32, b->rela) + field, 0, got, want);
    cv_path_pop(b->x);
}

static void check_entry(const batch *b, uint64_t i, const cv_elf_reloc *r)
{
    uint64_t word = b->c->h.is32 ? 4 : 8, bytes = 1;

    if (r->sym >= b->n_syms)
        entry_report(b, i, CV_R_RELOC_SYMBOL, word + (word == 8 ? 4 : 0), r->sym, b->n_syms);
    if (b->merc) {
        if (r->type < CV_R_MERC_BASE || r->type > CV_R_MERC_LAST)
            entry_report(b, i, CV_R_RELOC_TYPE, word, r->type, CV_R_MERC_LAST);
    } else if (r->type > CV_R_CUDA_LAST) {
        entry_report(b, i, CV_R_RELOC_TYPE, word, r->type, CV_R_CUDA_LAST);
    } else {
        bytes = cv_max(1, cv_elf_reloc_bytes(r->type));
    }
    if (r->off >= b->limit || bytes > b->limit - r->off)
        entry_report(b, i, CV_R_RELOC_OFFSET, 0, r->off, b->limit);
    else if (b->insn && r->off % 16 != 0 && cv_elf_reloc_insn(r->type))
        entry_report(b, i, CV_R_RELOC_ALIGN, 0, r->off, 16);
}

static bool target_fits(const cv_cubin *c, uint64_t i, const cv_sec *s, bool merc)
{
    const cv_sec *t = cv_cubin_sec(c, s->h.info);

    if (s->h.info == 0 || s->h.info >= c->sec.n || s->h.info == i)
        return false;
    if (!t->in_file && s->h.size != 0)
        return false;
    if (!c->conv)
        return true;
    return merc ? (t->h.flags & CV_SHF_CUDA_MERC) != 0 && cv_span_eq(cv_cubin_native_name(t), s->fn)
                : cv_span_eq(t->name, s->fn);
}

static void check_batch(batch *b)
{
    cv_elf_reloc r;

    for (uint64_t i = 0; i < b->n; i++) {
        cv_elf_read_reloc(b->body, b->c->h.is32, b->rela, i, &r);
        check_entry(b, i, &r);
    }
}

static bool is_merc(uint32_t type)
{
    return type == CV_SHT_MERC_RELA || type == CV_SHT_MERC_RESOLVED_RELA;
}

/* False: a limit was reached, nothing more is looked at. */
static bool check_section(cv_ctx *x, cv_cubin *c, uint64_t i, const cv_sec *s)
{
    bool merc = is_merc(s->h.type), rela = s->h.type != CV_SHT_REL;
    const cv_sec *t = cv_cubin_sec(c, s->h.info);
    uint64_t esize = cv_elf_rel_size(c->h.is32, rela);
    batch b = { .x = x,
                .c = c,
                .section = i,
                .body = cv_cubin_body(c, i),
                .rela = rela,
                .merc = merc,
                .n_syms = merc ? c->n_merc_syms : c->n_syms };

    if (!target_fits(c, i, s, merc)) {
        cv_sec_report(x, c, i, CV_R_RELOC_TARGET, CV_SH_INFO, s->h.info, 0);
        return true;
    }
    if (s->h.entsize != esize) /* said with the sections; the entries cannot be told apart */
        return true;
    b.n = b.body.len / esize;
    b.limit = cv_role_is_capsule(t->role) ? t->code_end : t->h.size;
    b.insn = c->conv && cv_role_is_code(t->role);
    c->n_relocs += b.n;
    if (c->n_relocs > x->lim.symbols) {
        cv_sec_report(x, c, i, CV_R_LIMIT_RELOCS, CV_SH_SIZE, c->n_relocs, x->lim.symbols);
        return false;
    }
    if (!cv_work(x, b.n, b.body.off))
        return false;
    check_batch(&b);
    return true;
}

void cv_cubin_check_relocs(cv_ctx *x, cv_cubin *c)
{
    if (!cv_work(x, c->sec.n, c->image.off))
        return;
    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        if (cv_elf_type_is_reloc(s->h.type) && !(s->h.flags & CV_SHF_COMPRESSED) &&
            !check_section(x, c, i, s))
            return;
    }
}
