/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages classify and read: what each section is to a finalization, and whether what stays can do without
 * what goes. */
#include "finalize/job.h"

#include "format/note/read.h"

enum { TKINFO_VERSION = 2 };

cv_part cv_final_part(const cv_cubin *c, uint64_t i)
{
    const cv_sec *s = cv_cubin_sec(c, i);

    if (s->h.flags & CV_SHF_CUDA_MERC)
        return s->role == CV_ROLE_CAPMERC_TEXT || s->role == CV_ROLE_CAPMERC_UFT_REL ? CV_PART_CAPSULE
                                                                                     : CV_PART_TWIN;
    switch ((unsigned)s->role) {
    case CV_ROLE_TEXT:
    case CV_ROLE_UFT:
    case CV_ROLE_UFT_REL: return CV_PART_CODE;
    case CV_ROLE_DEBUG:
    case CV_ROLE_NV_DEBUG: return CV_PART_DEBUG;
    case CV_ROLE_RELA:
    case CV_ROLE_REL: return CV_PART_RELOC;
    case CV_ROLE_SHSTRTAB:
    case CV_ROLE_STRTAB: return CV_PART_STRINGS;
    case CV_ROLE_SYMTAB:
    case CV_ROLE_SYMTAB_SHNDX: return CV_PART_SYMBOLS;
    default: return CV_PART_OTHER;
    }
}

static bool goes(const cv_final_job *j, uint64_t i)
{
    uint8_t p = *cv_u8s_at(&j->part, i);

    return p == CV_PART_CAPSULE || p == CV_PART_TWIN;
}

static uint64_t field(const cv_cubin *c, uint64_t i, cv_shdr_field f)
{
    return c->image.off + c->h.shoff + i * cv_elf_shdr_size(false) + cv_elf_shdr_at(false, f);
}

cuvet_status cv_final_classify(cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;

    if (!cv_work(j->x, c->sec.n, c->image.off))
        return CUVET_E_LIMIT;
    if (!cv_u8s_fill(&j->x->mem, &j->part, c->sec.n))
        return cv_final_nomem(j);
    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        cv_part p = cv_final_part(c, i);

        *cv_u8s_at(&j->part, i) = (uint8_t)p;
        /* The flag alone decides; a name that does not confirm it is nothing that a tool writes. */
        if (p == CV_PART_TWIN && s->role < CV_ROLE_CAPMERC_TEXT)
            return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_CAPSULE, field(c, i, CV_SH_FLAGS), s->h.flags,
                                   0);
    }
    return CUVET_OK;
}

/* Every section is one thing, and only files that say so have capsules. */
bool cv_final_classify_holds(const cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;

    if (j->part.n != c->sec.n || (j->n_capsules != 0 && j->in_kind != CV_KIND_CAPMERC))
        return false;
    for (uint64_t i = 1; i < c->sec.n; i++)
        if (goes(j, i) != ((cv_cubin_sec(c, i)->h.flags & CV_SHF_CUDA_MERC) != 0))
            return false;
    return true;
}

/* What stays must not name what goes, by link, by info, or as the place of a symbol. */
static cuvet_status check_references(cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;
    cv_elf_symbol y;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        bool is_section =
            (s->h.flags & CV_SHF_INFO_LINK) || s->role == CV_ROLE_RELA || s->role == CV_ROLE_REL;

        if (goes(j, i))
            continue;
        if (goes(j, s->h.link))
            return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_REFERS, field(c, i, CV_SH_LINK), s->h.link,
                                   0);
        if (is_section && s->h.info < c->sec.n && goes(j, s->h.info))
            return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_REFERS, field(c, i, CV_SH_INFO), s->h.info,
                                   0);
        if (s->role == CV_ROLE_NONE && s->h.info != 0 && !is_section && j->in_kind == CV_KIND_CAPMERC)
            return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_UNKNOWN, field(c, i, CV_SH_INFO), s->h.info,
                                   0);
    }
    for (uint64_t i = 1; i < c->n_syms; i++) {
        uint32_t at;

        cv_elf_read_symbol(c->symtab, false, i, &y);
        at = cv_cubin_shndx(c, false, i, &y);
        if ((y.shndx < CV_SHN_LORESERVE || y.shndx == CV_SHN_XINDEX) && at < c->sec.n && goes(j, at))
            return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_REFERS,
                                   cv_sat_add(c->symtab.off, i * cv_elf_sym_size(false)), at, 0);
    }
    return CUVET_OK;
}

/* Was a linker here? Its note is among those of the tools. Those of a file that is not finished code are read
 * for the first time here. */
static cuvet_status read_tools(cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;
    uint32_t i = cv_cubin_first(c, CV_ROLE_TKINFO);
    uint64_t pos = 0, errors = j->x->n_errors;
    cuvet_status st;
    cv_tkinfo t;
    cv_span s;
    cv_note n;

    if (i == 0)
        return CUVET_OK;
    s = cv_cubin_body(c, i);
    /* What is of no known version was not looked into when the file was examined, and is not now. */
    while (!j->linked && cv_note_next(j->x, s, CV_NOTE_TKINFO, &pos, &n) == CUVET_OK)
        if ((c->old_tools || cv_u32_at(s, n.desc) == TKINFO_VERSION) &&
            cv_tkinfo_read(j->x, s, &n, &t) == CUVET_OK)
            j->linked = cv_span_eq_str(t.tool, "nvlink") || cv_span_eq_str(t.tool, "nvJIT API") ||
                        cv_span_eq_str(t.tool, "cuvet");
    if (j->x->n_errors == errors)
        return CUVET_OK;
    j->code = CV_FINAL_TYPE;
    st = cv_verdict_status(j->x->verdict);
    return st == CUVET_OK ? CUVET_E_REFUSED : st;
}

cuvet_status cv_final_read(cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;
    cuvet_status s;

    if (!cv_work(j->x, cv_sat_add(cv_sat_mul(c->sec.n, 2), c->n_syms), c->image.off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 1; i < c->sec.n && c->abi8 && c->sm >= 90; i++)
        if (cv_cubin_sec(c, i)->h.type == CV_SHT_REL)
            return cv_final_refuse(j, CV_FINAL_REL, CV_R_FINAL_REL, field(c, i, CV_SH_TYPE), CV_SHT_REL,
                                   CV_SHT_RELA);
    s = read_tools(j);
    return s == CUVET_OK ? check_references(j) : s;
}

/* What stays names only what stays, as far as the writer gives numbers anew; and only a note can say that a
 * linker was here. */
bool cv_final_read_holds(const cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_elf_section *h = &cv_cubin_sec(c, i)->h;
        bool is_section = (h->flags & CV_SHF_INFO_LINK) != 0;

        if (!goes(j, i) && (goes(j, h->link) || (is_section && h->info < c->sec.n && goes(j, h->info))))
            return false;
    }
    return !j->linked || cv_cubin_first(c, CV_ROLE_TKINFO) != 0;
}
