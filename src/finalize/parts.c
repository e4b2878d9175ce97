/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages classify and read: what each section is to a finalization, and whether what stays can do without
 * what goes. */
#include "finalize/job.h"

#include "format/note/read.h"

cv_part cv_final_part(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);

    if (sec->header.flags & CV_SHF_CUDA_MERC)
        return sec->role == CV_ROLE_CAPMERC_TEXT || sec->role == CV_ROLE_CAPMERC_UFT_REL ? CV_PART_CAPSULE
                                                                                         : CV_PART_TWIN;
    switch ((unsigned)sec->role) {
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

static bool is_stripped(const cv_final_job *job, uint64_t index)
{
    uint8_t part = *cv_u8s_get(&job->part, index);

    return part == CV_PART_CAPSULE || part == CV_PART_TWIN;
}

static uint64_t field_at(const cv_cubin *cubin, uint64_t index, cv_shdr_field field)
{
    return cubin->image.off + cubin->header.shoff + index * cv_elf_shdr_size(false) +
           cv_elf_shdr_at(false, field);
}

cuvet_status cv_final_classify(cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;

    if (!cv_work(job->ctx, cubin->sec.count, cubin->image.off))
        return CUVET_E_LIMIT;
    if (!cv_u8s_fill(&job->ctx->mem, &job->part, cubin->sec.count))
        return cv_final_nomem(job);
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        cv_part part = cv_final_part(cubin, i);

        *cv_u8s_at(&job->part, i) = (uint8_t)part;
        /* The flag alone decides; a name that does not confirm it is nothing that a tool writes. */
        if (part == CV_PART_TWIN && sec->role < CV_ROLE_CAPMERC_TEXT)
            return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_CAPSULE, field_at(cubin, i, CV_SH_FLAGS),
                                   sec->header.flags, 0);
    }
    return CUVET_OK;
}

/* Every section is one thing, and only files that say so have capsules. */
bool cv_final_classify_holds(const cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;

    if (job->part.count != cubin->sec.count || (job->n_capsules != 0 && job->in_kind != CV_KIND_CAPMERC))
        return false;
    for (uint64_t i = 1; i < cubin->sec.count; i++)
        if (is_stripped(job, i) != ((cv_cubin_sec(cubin, i)->header.flags & CV_SHF_CUDA_MERC) != 0))
            return false;
    return true;
}

/* What stays must not name what goes, by link, by info, or as the place of a symbol. */
static cuvet_status check_references(cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;
    cv_elf_symbol sym;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        bool is_section =
            (sec->header.flags & CV_SHF_INFO_LINK) || sec->role == CV_ROLE_RELA || sec->role == CV_ROLE_REL;

        if (is_stripped(job, i))
            continue;
        if (is_stripped(job, sec->header.link))
            return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_REFERS, field_at(cubin, i, CV_SH_LINK),
                                   sec->header.link, 0);
        if (is_section && sec->header.info < cubin->sec.count && is_stripped(job, sec->header.info))
            return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_REFERS, field_at(cubin, i, CV_SH_INFO),
                                   sec->header.info, 0);
        if (sec->role == CV_ROLE_NONE && sec->header.info != 0 && !is_section &&
            job->in_kind == CV_KIND_CAPMERC)
            return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_UNKNOWN, field_at(cubin, i, CV_SH_INFO),
                                   sec->header.info, 0);
    }
    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        uint32_t at;

        cv_elf_read_symbol(cubin->symtab, false, i, &sym);
        at = cv_cubin_shndx(cubin, false, i, &sym);
        if ((sym.shndx < CV_SHN_LORESERVE || sym.shndx == CV_SHN_XINDEX) && at < cubin->sec.count &&
            is_stripped(job, at))
            return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_REFERS,
                                   cv_sat_add(cubin->symtab.off, i * cv_elf_sym_size(false)), at, 0);
    }
    return CUVET_OK;
}

/* Was a linker here? Its note is among those of the tools. Those of a file that is not finished code are read
 * for the first time here. */
static cuvet_status read_tools(cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_TKINFO);
    uint64_t pos = 0, errors = job->ctx->n_errors;
    cuvet_status status;
    cv_tkinfo tkinfo;
    cv_span span;
    cv_note note;

    if (i == 0)
        return CUVET_OK;
    span = cv_cubin_body(cubin, i);
    /* What is of no known version was not looked into when the file was examined, and is not now. */
    while (!job->linked && cv_note_next(job->ctx, span, CV_NOTE_TKINFO, &pos, &note) == CUVET_OK)
        if ((cubin->old_tools || cv_u32_at(span, note.desc) == CV_TKINFO_VERSION) &&
            cv_tkinfo_read(job->ctx, span, &note, &tkinfo) == CUVET_OK)
            job->linked = cv_span_eq_str(tkinfo.tool, "nvlink") || cv_span_eq_str(tkinfo.tool, "nvJIT API") ||
                          cv_span_eq_str(tkinfo.tool, "cuvet");
    if (job->ctx->n_errors == errors)
        return CUVET_OK;
    job->code = CV_FINAL_TYPE;
    status = cv_verdict_status(job->ctx->verdict);
    return status == CUVET_OK ? CUVET_E_REFUSED : status;
}

cuvet_status cv_final_read(cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;
    cuvet_status status;

    if (!cv_work(job->ctx, cv_sat_add(cv_sat_mul(cubin->sec.count, 2), cubin->n_syms), cubin->image.off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 1; i < cubin->sec.count && cubin->abi8 && cv_gen_has(cubin->gen, CV_GEN_RELA_ONLY); i++)
        if (cv_cubin_sec(cubin, i)->header.type == CV_SHT_REL)
            return cv_final_refuse(job, CV_FINAL_REL, CV_R_FINAL_REL, field_at(cubin, i, CV_SH_TYPE),
                                   CV_SHT_REL, CV_SHT_RELA);
    status = read_tools(job);
    return status == CUVET_OK ? check_references(job) : status;
}

/* What stays names only what stays, as far as the writer gives numbers anew; and only a note can say that a
 * linker was here. */
bool cv_final_read_holds(const cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_elf_section *header = &cv_cubin_sec(cubin, i)->header;
        bool is_section = (header->flags & CV_SHF_INFO_LINK) != 0;

        if (!is_stripped(job, i) &&
            (is_stripped(job, header->link) ||
             (is_section && header->info < cubin->sec.count && is_stripped(job, header->info))))
            return false;
    }
    return !job->linked || cv_cubin_first(cubin, CV_ROLE_TKINFO) != 0;
}
