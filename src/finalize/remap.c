/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stage: which sections speak of code, what their relocations name, and what becomes of both. */
#include "finalize/remap.h"

#include "format/elf/write.h"

/* ---- what the rewriters share ---- */

cuvet_status cv_remap_no(const cv_remap *remap, cv_rule rule, uint64_t at, uint64_t got, uint64_t want)
{
    return cv_reject(remap->ctx, rule, cv_sat_add(remap->section.off, at), got, want);
}

cuvet_status cv_remap_bad(const cv_remap *remap, const cv_dwarf_bad *bad)
{
    return cv_remap_no(remap, bad->rule, bad->at, bad->got, bad->want);
}

void cv_remap_keep(cv_remap *remap, uint64_t at)
{
    cv_span debug_part = cv_span_tail(remap->section, remap->done);

    debug_part.len = cv_min(debug_part.len, at - remap->done);
    cv_put_span(&remap->out, debug_part);
    remap->done = at;
}

bool cv_remap_resume(cv_remap *remap, uint64_t at)
{
    remap->done = at;
    if (cv_remap_shifted(&remap->shifts, at) == remap->out.len)
        return true;
    return cv_moves_push(&remap->ctx->mem, &remap->shifts, (cv_moved){ at, remap->out.len });
}

const cv_site *cv_remap_site(cv_remap *remap, uint64_t at, cuvet_status *st)
{
    const cv_site *site;

    while (remap->site < remap->sites->count && cv_sites_get(remap->sites, remap->site)->at < at)
        remap->site++;
    site = remap->site < remap->sites->count ? cv_sites_get(remap->sites, remap->site) : NULL;
    if (!site || site->at != at || !site->code)
        *st = cv_remap_no(remap, CV_R_DWARF_FUNCTION, at, 0, 1);
    else if (remap->site + 1 < remap->sites->count && cv_sites_get(remap->sites, remap->site + 1)->at == at)
        *st = cv_remap_no(remap, CV_R_DWARF_FUNCTION, at, 2, 1);
    else
        return site;
    return NULL;
}

/* ---- the stage ---- */

typedef enum debug_form { OTHER = 0, LINES, FRAMES } debug_form;

/* A debug section. */
typedef struct debug_part {
    uint32_t section;
    debug_form form;
    bool made; /* 'out' has what it will be */
    cv_sites sites;
    cv_builder out;
    cv_moves shifts;
} debug_part;

CV_VEC(debug_parts, debug_part);

typedef struct remap_stage {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    const cv_backend_out *said;
    cv_u32s map_of, part_of; /* of each section, from 1; 0: none */
    debug_parts all;
} remap_stage;

/* What one relocation says. */
typedef struct section_reference {
    cv_elf_reloc reloc;
    bool rela, plain;  /* plain: an absolute place */
    uint32_t section;  /* that it names */
    uint64_t value;    /* of the symbol */
    uint64_t addend;   /* in the field, or beside it */
    uint32_t map;      /* CV_STILL: not in code that moved */
    uint64_t from, to; /* place in that code, before and after */
} section_reference;

static cuvet_status report_no_memory(const remap_stage *stage)
{
    return cv_nomem(stage->ctx, stage->cubin->image.off);
}

static bool is_reloc(const cv_sec *sec)
{
    return (sec->header.type == CV_SHT_REL || sec->header.type == CV_SHT_RELA) && sec->in_file;
}

/* The debug section that a relocation section belongs to; NULL: none. */
static debug_part *target_of(remap_stage *stage, const cv_sec *sec)
{
    uint32_t number = is_reloc(sec) && sec->header.info < stage->cubin->sec.count
                          ? *cv_u32s_get(&stage->part_of, sec->header.info)
                          : 0;

    return number ? debug_parts_at(&stage->all, number - 1) : NULL;
}

static uint64_t count_of(const cv_sec *sec, cv_span body)
{
    return body.len / cv_elf_rel_size(false, sec->header.type == CV_SHT_RELA);
}

/* @return OK · MALFORMED (a place behind its code) */
static cuvet_status follow_reloc(const remap_stage *stage, const cv_sec *sec, cv_span table, uint64_t index,
                                 section_reference *ref)
{
    cv_span body = cv_cubin_body(stage->cubin, sec->header.info);
    cv_elf_symbol sym = { 0 };

    *ref = (section_reference){ .rela = sec->header.type == CV_SHT_RELA, .map = CV_STILL };
    cv_elf_read_reloc(table, false, ref->rela, index, &ref->reloc);
    /* all that debug sections use for places */
    ref->plain = ref->reloc.type == CV_R_CUDA_32 || ref->reloc.type == CV_R_CUDA_64;
    if (ref->reloc.sym >= stage->cubin->n_syms)
        return CUVET_OK;
    cv_elf_read_symbol(stage->cubin->symtab, false, ref->reloc.sym, &sym);
    ref->section = cv_cubin_shndx(stage->cubin, false, ref->reloc.sym, &sym);
    ref->value = sym.value;
    ref->addend = ref->rela                         ? (uint64_t)ref->reloc.addend
                  : ref->reloc.type == CV_R_CUDA_32 ? cv_u32_at(body, ref->reloc.off)
                                                    : cv_u64_at(body, ref->reloc.off);
    if (ref->section >= stage->cubin->sec.count || !ref->plain)
        return CUVET_OK;
    ref->from = ref->to = cv_wrap_add(sym.value, ref->addend);
    if (*cv_u32s_get(&stage->map_of, ref->section) == 0)
        return CUVET_OK;
    ref->map = *cv_u32s_get(&stage->map_of, ref->section) - 1;
    ref->from = cv_wrap_add(cv_remap_origin(stage->said, ref->map, sym.value), ref->addend);
    if (cv_remap_place(stage->said, ref->map, ref->from, &ref->to))
        return CUVET_OK;
    return cv_reject(stage->ctx, CV_R_DWARF_ADDRESS, body.off + ref->reloc.off, ref->from,
                     cv_offset_maps_get(&stage->said->maps, ref->map)->size_from);
}

/* A place becomes the addend that names it. */
CV_WRAPS static uint64_t addend_of(const section_reference *ref, uint64_t place)
{
    return place - ref->value;
}

/* Contents that may be written into. */
static bool begin_output(const remap_stage *stage, debug_part *part)
{
    if (!part->made) {
        cv_builder_init(&part->out, &stage->ctx->mem);
        cv_put_span(&part->out, cv_cubin_body(stage->cubin, part->section));
        part->made = true;
    }
    return !part->out.failed;
}

static cuvet_status write_field(const remap_stage *stage, debug_part *part, const section_reference *ref,
                                uint64_t at, uint64_t value)
{
    if (!begin_output(stage, part))
        return report_no_memory(stage);
    if (ref->reloc.type == CV_R_CUDA_64)
        cv_patch_u64(&part->out, at, value);
    else if (value <= UINT32_MAX)
        cv_patch_u32(&part->out, at, (uint32_t)value);
    else
        return cv_reject(stage->ctx, CV_R_DWARF_STEP,
                         cv_cubin_body(stage->cubin, part->section).off + ref->reloc.off, value, 4);
    return part->out.failed ? report_no_memory(stage) : CUVET_OK;
}

/* ---- reading ---- */

static debug_form form_of(const cv_sec *sec)
{
    if (cv_span_eq_str(sec->name, ".debug_line") || cv_span_eq_str(sec->name, ".nv_debug_line_sass"))
        return LINES;
    return cv_span_eq_str(sec->name, ".debug_frame") ? FRAMES : OTHER;
}

static cuvet_status list_parts(remap_stage *stage)
{
    const cv_cubin *cubin = stage->cubin;

    if (!cv_u32s_fill(&stage->ctx->mem, &stage->map_of, cubin->sec.count) ||
        !cv_u32s_fill(&stage->ctx->mem, &stage->part_of, cubin->sec.count))
        return report_no_memory(stage);
    for (uint32_t i = 0; i < stage->said->maps.count; i++)
        *cv_u32s_at(&stage->map_of, cv_offset_maps_get(&stage->said->maps, i)->section) = i + 1;
    for (uint32_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (!sec->in_file || (sec->role != CV_ROLE_DEBUG && sec->role != CV_ROLE_NV_DEBUG))
            continue;
        if (!debug_parts_push(&stage->ctx->mem, &stage->all,
                              (debug_part){ .section = i, .form = form_of(sec) }))
            return report_no_memory(stage);
        *cv_u32s_at(&stage->part_of, i) = (uint32_t)stage->all.count;
        /* Ranges of registers by place, in a form of the vendor's, without relocations. */
        if (cv_span_eq_str(sec->name, ".nv_debug_info_reg_sass"))
            cv_report(stage->ctx, CV_R_DWARF_STALE, cv_cubin_body(cubin, i).off, 0, i, 0);
    }
    return CUVET_OK;
}

/* Relocations of one section: what they name, and fields that hold a place of code. */
static cuvet_status read_relocs(remap_stage *stage, uint32_t section, debug_part *part)
{
    const cv_sec *sec = cv_cubin_sec(stage->cubin, section);
    cv_span table = cv_cubin_body(stage->cubin, section);
    cuvet_status status = CUVET_OK;
    section_reference ref;

    for (uint64_t i = 0; i < count_of(sec, table) && status == CUVET_OK; i++) {
        if (!cv_work(stage->ctx, 1, table.off))
            return cv_cancelled(stage->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        status = follow_reloc(stage, sec, table, i, &ref);
        if (status != CUVET_OK || !ref.plain)
            continue;
        if (!cv_sites_push(&stage->ctx->mem, &part->sites,
                           (cv_site){ ref.reloc.off, ref.from, ref.map,
                                      ref.section < stage->cubin->sec.count &&
                                          cv_cubin_sec(stage->cubin, ref.section)->role == CV_ROLE_TEXT }))
            return report_no_memory(stage);
        if (!ref.rela && ref.map != CV_STILL && addend_of(&ref, ref.to) != ref.addend)
            status = write_field(stage, part, &ref, ref.reloc.off, addend_of(&ref, ref.to));
    }
    return status;
}

static cuvet_status sort_sites(const remap_stage *stage, debug_part *part)
{
    cv_sites sorted = { 0 };
    cv_keys keys = { 0 };
    bool ok = cv_sites_reserve(&stage->ctx->mem, &sorted, part->sites.count);

    for (uint64_t i = 0; i < part->sites.count && ok; i++)
        ok = cv_keys_push(&stage->ctx->mem, &keys, (cv_key){ cv_sites_at(&part->sites, i)->at, i });
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.count && ok; i++)
        ok =
            cv_sites_push(&stage->ctx->mem, &sorted, *cv_sites_at(&part->sites, cv_keys_at(&keys, i)->index));
    cv_keys_free(&stage->ctx->mem, &keys);
    cv_sites_free(&stage->ctx->mem, &part->sites);
    part->sites = sorted;
    return ok ? CUVET_OK : report_no_memory(stage);
}

/* ---- rewriting ---- */

static cuvet_status rewrite_part(const remap_stage *stage, debug_part *part)
{
    cv_span body = cv_cubin_body(stage->cubin, part->section), span = body;
    cv_remap remap = { .ctx = stage->ctx, .sites = &part->sites, .said = stage->said };
    cuvet_status status;

    if (part->made)
        span = cv_builder_span(&part->out);
    span.off = body.off;
    remap.section = span;
    cv_builder_init(&remap.out, &stage->ctx->mem);
    cv_builder_reserve(&remap.out, span.len);
    status = part->form == LINES ? cv_remap_lines(&remap) : cv_remap_frames(&remap);
    if (part->made)
        cv_builder_free(&part->out);
    part->made = true;
    part->out = remap.out;
    part->shifts = remap.shifts;
    return status;
}

/* What names a place in a section that was rewritten: beside it in a table, or in its field. */
static cuvet_status move_entry(const remap_stage *stage, debug_part *part, const section_reference *ref,
                               cv_builder *table)
{
    uint32_t to = ref->section < stage->cubin->sec.count && ref->plain
                      ? *cv_u32s_get(&stage->part_of, ref->section)
                      : 0;
    cv_elf_reloc reloc = ref->reloc;
    uint64_t place = ref->to;

    reloc.off = cv_remap_shifted(&part->shifts, reloc.off);
    if (to)
        place = cv_remap_shifted(&debug_parts_get(&stage->all, to - 1)->shifts, place);
    /* Also for a place that stays where it is: the symbol may have moved. */
    if ((place != ref->from || ref->map != CV_STILL) && ref->rela)
        reloc.addend = (int64_t)addend_of(ref, place);
    cv_elf_write_reloc(table, false, ref->rela, &reloc);
    if (place != ref->to && !ref->rela)
        return write_field(stage, part, ref, reloc.off, addend_of(ref, place));
    return CUVET_OK;
}

static cuvet_status move_table(remap_stage *stage, uint32_t section, cv_builder *table)
{
    const cv_sec *sec = cv_cubin_sec(stage->cubin, section);
    cv_span body = cv_cubin_body(stage->cubin, section);
    cuvet_status status = CUVET_OK;
    section_reference ref;

    cv_builder_reserve(table, body.len);
    for (uint64_t i = 0; i < count_of(sec, body) && status == CUVET_OK; i++) {
        if (!cv_work(stage->ctx, 1, body.off))
            return cv_cancelled(stage->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        status = follow_reloc(stage, sec, body, i, &ref);
        if (status == CUVET_OK)
            status = move_entry(stage, target_of(stage, sec), &ref, table);
    }
    cv_put_span(table, cv_span_tail(body, count_of(sec, body) *
                                              cv_elf_rel_size(false, sec->header.type == CV_SHT_RELA)));
    return status == CUVET_OK && table->failed ? report_no_memory(stage) : status;
}

/* New contents are handed over, unless they are the old ones. */
static cuvet_status add_body(const remap_stage *stage, uint32_t section, cv_builder *out,
                             cv_final_bodies *bodies)
{
    cv_builder mine = *out;

    cv_builder_init(out, &stage->ctx->mem);
    if (cv_span_eq(cv_builder_span(&mine), cv_cubin_body(stage->cubin, section)) && !mine.failed) {
        cv_builder_free(&mine);
        return CUVET_OK;
    }
    if (!mine.failed && cv_final_bodies_push(&stage->ctx->mem, bodies, (cv_final_body){ section, mine }))
        return CUVET_OK;
    cv_builder_free(&mine);
    return report_no_memory(stage);
}

/* Tables first: they may still write into fields. */
static cuvet_status move_tables(remap_stage *stage, cv_final_bodies *tables)
{
    cuvet_status status = CUVET_OK;

    for (uint32_t i = 1; i < stage->cubin->sec.count && status == CUVET_OK; i++) {
        cv_builder table;

        if (!target_of(stage, cv_cubin_sec(stage->cubin, i)))
            continue;
        cv_builder_init(&table, &stage->ctx->mem);
        status = move_table(stage, i, &table);
        if (status == CUVET_OK)
            status = add_body(stage, i, &table, tables);
        cv_builder_free(&table);
    }
    return status;
}

/* Both kinds of new contents, in the order of their sections. */
static cuvet_status merge_bodies(remap_stage *stage, cv_final_bodies *tables, cv_final_bodies *bodies)
{
    cuvet_status status = CUVET_OK;
    uint64_t next = 0;

    for (uint64_t i = 0; i <= stage->all.count && status == CUVET_OK; i++) {
        debug_part *part = i < stage->all.count ? debug_parts_at(&stage->all, i) : NULL;
        uint32_t until = part ? part->section : UINT32_MAX;

        for (;
             next < tables->count && cv_final_bodies_at(tables, next)->section < until && status == CUVET_OK;
             next++)
            status = add_body(stage, cv_final_bodies_at(tables, next)->section,
                              &cv_final_bodies_at(tables, next)->bytes, bodies);
        if (part && part->made && status == CUVET_OK)
            status = add_body(stage, part->section, &part->out, bodies);
    }
    return status;
}

static cuvet_status run_stage(remap_stage *stage, cv_final_bodies *bodies)
{
    cv_final_bodies tables = { 0 };
    cuvet_status status = list_parts(stage);

    for (uint32_t i = 1; i < stage->cubin->sec.count && status == CUVET_OK; i++) {
        debug_part *part = target_of(stage, cv_cubin_sec(stage->cubin, i));

        if (part)
            status = read_relocs(stage, i, part);
    }
    for (uint64_t i = 0; i < stage->all.count && status == CUVET_OK; i++) {
        debug_part *part = debug_parts_at(&stage->all, i);

        if (part->form != OTHER)
            status = sort_sites(stage, part);
        if (part->form != OTHER && status == CUVET_OK)
            status = rewrite_part(stage, part);
    }
    if (status == CUVET_OK)
        status = move_tables(stage, &tables);
    if (status == CUVET_OK)
        status = merge_bodies(stage, &tables, bodies);
    for (uint64_t i = 0; i < tables.count; i++)
        cv_builder_free(&cv_final_bodies_at(&tables, i)->bytes);
    cv_final_bodies_free(&stage->ctx->mem, &tables);
    return status;
}

static void free_stage(remap_stage *stage)
{
    for (uint64_t i = 0; i < stage->all.count; i++) {
        debug_part *part = debug_parts_at(&stage->all, i);

        cv_sites_free(&stage->ctx->mem, &part->sites);
        cv_moves_free(&stage->ctx->mem, &part->shifts);
        if (part->made)
            cv_builder_free(&part->out);
    }
    debug_parts_free(&stage->ctx->mem, &stage->all);
    cv_u32s_free(&stage->ctx->mem, &stage->map_of);
    cv_u32s_free(&stage->ctx->mem, &stage->part_of);
}

static cv_final code_of_status(cuvet_status status)
{
    if (status == CUVET_OK)
        return CV_FINAL_OK;
    if (status == CUVET_E_LIMIT)
        return CV_FINAL_LIMIT;
    if (status == CUVET_E_NOMEM)
        return CV_FINAL_MEMORY;
    return status == CUVET_E_CANCELLED ? CV_FINAL_CANCELLED : CV_FINAL_PASSES;
}

cuvet_status cv_final_remap(cv_ctx *ctx, const cv_cubin *cubin, const cv_backend_out *said,
                            cv_final_bodies *bodies, cv_final *code)
{
    remap_stage stage = { .ctx = ctx, .cubin = cubin, .said = said };
    uint64_t before = bodies->count;
    cuvet_status status;

    *code = CV_FINAL_OK;
    if (said->maps.count == 0)
        return CUVET_OK;
    status = cubin->header.is32 ? cv_reject(ctx, CV_R_DWARF_VERSION, cubin->image.off, 32, 64)
                                : cv_remap_check(ctx, said, cubin);
    if (status != CUVET_OK) {
        *code = status == CUVET_E_MALFORMED ? CV_FINAL_BACKEND_BAD_OUTPUT : code_of_status(status);
        return status;
    }
    status = run_stage(&stage, bodies);
    free_stage(&stage);
    for (; status != CUVET_OK && bodies->count > before; bodies->count--)
        cv_builder_free(&cv_final_bodies_at(bodies, bodies->count - 1)->bytes);
    *code = code_of_status(status);
    return status;
}
