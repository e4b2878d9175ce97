/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to the stage "synthetics": what is in the file, where, with which numbers. In the other order,
 * inputs that have no name in common give sections of the same sizes. Parameters: see linking.h. */
#include <stdlib.h>

#include "linking.h"

#define MANY 400

typedef struct layout_range {
    uint64_t off, end;
} layout_range;

static int by_off(const void *left, const void *right)
{
    const layout_range *range = left, *other_range = right;

    return range->off != other_range->off ? (range->off < other_range->off ? -1 : 1)
                                          : (range->end > other_range->end) - (range->end < other_range->end);
}

/* No byte belongs to two of them, and none lies outside of [from, to). */
static void check_ranges(layout_range *range, uint64_t count, uint64_t from, uint64_t to)
{
    if (count)
        qsort(range, count, sizeof(*range), by_off);
    for (uint64_t i = 0; i < count; i++) {
        FZ_CHECK(range[i].off >= from && range[i].end >= range[i].off, "nothing overlaps");
        from = range[i].end;
    }
    FZ_CHECK(from <= to, "nothing lies behind the end");
}

static void check_string(cv_span table, uint64_t off, cv_span want)
{
    cv_span got;

    FZ_CHECK(cv_span_cstr(table, off, &got) && cv_span_eq(got, want), "a name stands where it is said to be");
}

static void check_sections(const cv_link *link)
{
    cv_span names = cv_builder_span(&cv_l_osec(link, link->out->shstrtab)->bytes);
    layout_range *range = calloc(link->layout->order.count + 1, sizeof(*range));
    uint64_t count = 0, alive = 0;

    FZ_CHECK(range != NULL, "memory");
    for (uint64_t i = 0; i < link->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(link, *cv_u32s_get(&link->layout->order, i));

        FZ_CHECK(!osec->dead && osec->index == i, "sections are numbered in their order");
        FZ_CHECK(osec->align < 2 || (cv_is_pow2(osec->align) && osec->off % osec->align == 0), "aligned");
        check_string(names, cv_name_places_get(&link->layout->name, osec->name)->sh_off,
                     cv_l_text(link, osec->name));
        if (osec->group != CV_G_NOBITS && i)
            range[count++] = (layout_range){ osec->off, cv_sat_add(osec->off, osec->size) };
    }
    check_ranges(range, count, 64, link->synthetics->shoff);
    free(range);
    FZ_CHECK(link->synthetics->shoff % 8 == 0 &&
                 link->synthetics->phoff == link->synthetics->shoff + 64 * link->layout->order.count,
             "tables follow");
    for (cv_id i = 0; i < link->out->osec.count; i++)
        alive += !cv_l_osec(link, i)->dead;
    FZ_CHECK(alive == link->layout->order.count, "every section once");
}

/* Pieces of a section: aligned, one after the other, each whole. */
static void check_parts(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        uint64_t end = 0;

        if (osec->dead || osec->bytes.len)
            continue;
        for (cv_id part = osec->first_part; part != CV_NONE;
             part = cv_lparts_get(&link->out->part, part)->next) {
            const cv_lpart *chunk = cv_lparts_get(&link->out->part, part);
            const cv_isec *isec = cv_l_isec(link, chunk->isec);
            const cv_became *became = cv_l_became(link, isec->id);

            /* A branch table lies in the bank of each kernel that reaches its function. */
            FZ_CHECK(became->table || (became->out == i && !became->lost), "a part of its section");
            FZ_CHECK(chunk->base >= end && isec->size <= osec->size && chunk->base <= osec->size - isec->size,
                     "in its section");
            FZ_CHECK((became->table || chunk->base == became->base) &&
                         (isec->align < 2 || chunk->base % isec->align == 0),
                     "aligned as it asked for");
            FZ_CHECK(osec->align >= isec->align, "as its section is");
            end = chunk->base + isec->size;
        }
    }
}

static void check_symbols(const cv_link *link)
{
    cv_span names = cv_builder_span(&cv_l_osec(link, link->out->strtab)->bytes);

    FZ_CHECK(link->layout->n_locals >= 1 && link->layout->n_locals <= link->layout->sym_order.count + 1,
             "locals first");
    for (uint64_t i = 0; i < link->layout->sym_order.count; i++) {
        const cv_osym *osym = cv_l_osym(link, *cv_u32s_get(&link->layout->sym_order, i));
        const cv_osec *osec = osym->sec == CV_NONE ? NULL : cv_l_osec(link, osym->sec);

        FZ_CHECK(!osym->dead && osym->index == i + 1, "symbols are numbered in their order");
        FZ_CHECK(!osym->is_section || i + 1 < link->layout->n_locals, "sections are local");
        check_string(names, cv_name_places_get(&link->layout->name, osym->name)->str_off,
                     cv_l_text(link, osym->name));
        FZ_CHECK(!osec || (!osec->dead && osec->index < link->layout->order.count),
                 "in a section of the file");
        if (osec && osec->group == CV_G_CODE && !osym->is_section)
            FZ_CHECK(osym->value <= osec->size && osym->size <= osec->size - osym->value,
                     "a function lies in its code");
    }
}

/* Shared variables of one kernel. */
static void check_shared(const cv_link *link)
{
    layout_range *range = calloc(link->inputs->isym.count + 1, sizeof(*range));

    FZ_CHECK(range != NULL, "memory");
    for (cv_id osec = 0; osec < link->out->osec.count && !link->options->relocatable; osec++) {
        uint64_t count = 0;

        if (cv_l_osec(link, osec)->group != CV_G_NOBITS || cv_l_osec(link, osec)->dead)
            continue;
        for (cv_id i = 0; i < link->memory->shared.count; i++) {
            const cv_isym *sym = cv_l_isym(link, i);

            if (cv_l_shared(link, sym->id)->placed && cv_l_shared(link, sym->id)->sec == osec && sym->size &&
                cv_l_definition(link, i) == i)
                range[count++] = (layout_range){ cv_l_shared(link, sym->id)->off,
                                                 cv_sat_add(cv_l_shared(link, sym->id)->off, sym->size) };
        }
        check_ranges(range, count, 0, cv_l_osec(link, osec)->size);
    }
    free(range);
}

static void check_relocations(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);

        if (osec->group != CV_G_REL || osec->dead)
            continue;
        FZ_CHECK(osec->size == cv_l_fixed(link, i)->n_kept * osec->entsize && cv_l_fixed(link, i)->n_kept,
                 "room for what stays, and only for that");
        FZ_CHECK(!cv_l_osec(link, osec->target)->dead && osec->info == cv_l_osec(link, osec->target)->index,
                 "of a section");
    }
}

static bool is_name(const cv_isym *sym)
{
    return sym->index && cv_l_bind(sym) != CV_STB_LOCAL && cv_l_type(sym) != CV_STT_SECTION;
}

/* No input says anything about a name of another one, and none shares a section. */
static bool unrelated(const cv_link *link)
{
    if (link->inputs->isym.count > MANY)
        return false;
    for (cv_id i = 0; i < link->inputs->isym.count; i++)
        for (cv_id k = 0; k < i; k++)
            if (is_name(cv_l_isym(link, i)) && is_name(cv_l_isym(link, k)) &&
                cv_l_isym(link, i)->obj != cv_l_isym(link, k)->obj &&
                cv_span_eq(cv_l_text(link, cv_l_isym(link, i)->name),
                           cv_l_text(link, cv_l_isym(link, k)->name)))
                return false;
    return true;
}

/* What has parts of several inputs has gaps between them that depend on their order. */
static bool has_gaps(const cv_link *link, cv_id id)
{
    const cv_osec *osec = cv_l_osec(link, id);

    return osec->group == CV_G_NOBITS || (osec->first_part != osec->last_part);
}

/* Sum over all sections: it does not depend on their order. */
static uint64_t sizes(const cv_link *link)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < link->layout->order.count; i++) {
        cv_id id = *cv_u32s_get(&link->layout->order, i);
        const cv_osec *osec = cv_l_osec(link, id);
        cv_span name = cv_l_text(link, osec->name);
        uint64_t hash = fz_mix_bytes(osec->type, name.base, name.len);

        hash = fz_mix(fz_mix(hash, osec->flags), osec->align);
        sum += fz_mix(hash, has_gaps(link, id) ? 0 : osec->size);
    }
    return sum;
}

static bool by_size(const fz_state *fuzz)
{
    return fuzz->ctx.seen[CV_R_LINK_BANK] || fuzz->ctx.seen[CV_R_LINK_SHARED];
}

static void turn(fz_state *fuzz, const fz_link *linking, cuvet_status status)
{
    bool big = by_size(fuzz);
    cuvet_status result;
    fz_link other_linking;

    fuzz->ctx.emit = NULL;
    fz_link_open(&other_linking, fuzz, true, 0x5EED);
    result = fz_link_run(&other_linking, "synthetics");
    if (status != CUVET_E_LIMIT && result != CUVET_E_LIMIT &&
        other_linking.link.inputs->obj.count == linking->link.inputs->obj.count) {
        FZ_CHECK(status == result || big || by_size(fuzz), "linked in both orders or in none");
        if (status == CUVET_OK && result == CUVET_OK) {
            FZ_CHECK(linking->link.layout->order.count == other_linking.link.layout->order.count,
                     "the same number of sections");
            FZ_CHECK(linking->link.layout->sym_order.count == other_linking.link.layout->sym_order.count,
                     "and of symbols");
            FZ_CHECK(sizes(&linking->link) == sizes(&other_linking.link), "and the same sizes");
        }
    }
    fz_link_close(&other_linking);
}

static void run(fz_state *fuzz)
{
    cuvet_status status;
    fz_link linking;

    fz_link_open(&linking, fuzz, false, fuzz->pass + 1);
    status = fz_link_run(&linking, "synthetics");
    fz_note(fuzz, (uint64_t)status);
    if (status == CUVET_OK) {
        fz_note(fuzz, sizes(&linking.link));
        fz_note(fuzz, linking.link.synthetics->shoff);
        check_sections(&linking.link);
        check_parts(&linking.link);
        check_symbols(&linking.link);
        check_shared(&linking.link);
        check_relocations(&linking.link);
    }
    if (fuzz->pass == 0 && status != CUVET_E_LIMIT && linking.link.inputs->obj.count > 1 &&
        fz_one_in(fuzz->in, 3) && unrelated(&linking.link))
        turn(fuzz, &linking, status);
    fuzz->ctx.verdict = CUVET_V_CLEAN;
    fz_link_close(&linking);
}

CV_FUZZ_TARGET(layout)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR
