/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects that stages of a link could have, one for each row of PLANTS: `make check-planted` builds the
 * library with them (MODE=planted) and shows that each is noticed, by the checker of a stage, by the rules
 * that read the result again, or by the proof. No other build has any of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tlv/attr.h"
#include "plant.h"

#define EACH(index, list) for (uint64_t index = 0; index < (list)->count; index++)

static cv_role role_of(const cv_link *link, uint64_t isec)
{
    const cv_isec *sec = cv_l_isec(link, isec);

    return cv_cubin_sec(&cv_l_obj(link, sec->obj)->cubin, sec->index)->role;
}

/* The last input's piece of a section of this role lies 'by' further on, or nearer. */
static bool shift_piece(cv_link *link, cv_role role, uint64_t by)
{
    for (uint64_t i = link->inputs->isec.count; i > 0; i--)
        if (role_of(link, i - 1) == role && cv_l_became(link, i - 1)->out != CV_NONE) {
            cv_becames_at(&link->out->became, i - 1)->base += by;
            return true;
        }
    return false;
}

static bool data_base(cv_link *link)
{
    return shift_piece(link, CV_ROLE_GLOBAL_INIT, 4);
}

static bool constant_base(cv_link *link)
{
    return shift_piece(link, CV_ROLE_CONSTANT, 8);
}

static bool part_base(cv_link *link)
{
    EACH(i, &link->out->part)
    {
        cv_lpart *part = cv_lparts_at(&link->out->part, i);

        if (role_of(link, part->isec) == CV_ROLE_GLOBAL_INIT && part->base >= 4) {
            part->base -= 4;
            return true;
        }
    }
    return false;
}

static bool addend_lost(cv_link *link)
{
    EACH(i, &link->fixups->fixup)
    {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i);

        if (fixup->keep && fixup->addend != 0) {
            fixup->addend = 0;
            return true;
        }
    }
    return false;
}

static bool field_moved(cv_link *link)
{
    EACH(i, &link->fixups->field)
    {
        cv_field *field = cv_fields_at(&link->fixups->field, i);

        if (field->value != 0 && field->pos + field->bits < 64 && field->pos > 0) {
            field->pos++;
            return true;
        }
    }
    return false;
}

/* The first field of a relocation: its section says from where on they are counted. */
static cv_field *field_of(cv_link *link, uint64_t id, const cv_fixup *fixup)
{
    uint64_t first = 0;

    EACH(i, &link->out->osec)
    {
        const cv_osec *osec = cv_osecs_get(&link->out->osec, i);

        for (cv_id at = osec->group == CV_G_REL ? osec->rels : CV_NONE; at != CV_NONE;
             at = cv_rel_runs_get(&link->out->run, at)->before) {
            const cv_rel_run *run = cv_rel_runs_get(&link->out->run, at);

            if (id >= run->first && id < (uint64_t)run->first + run->count)
                first = cv_fixeds_get(&link->fixups->fixed, i)->first_field;
        }
    }
    return cv_fields_at(&link->fixups->field, first + fixup->field);
}

static bool value_shifted(cv_link *link)
{
    EACH(i, &link->out->irel)
    {
        const cv_fixup *fixup = cv_fixups_get(&link->fixups->fixup, i);
        const cv_irel *rel = cv_irels_get(&link->out->irel, i);

        if (fixup->n_fields && cv_l_is_constant(cv_l_isym(link, rel->sym)) &&
            cv_l_isym(link, rel->sym)->sec != CV_NONE &&
            role_of(link, cv_l_isym(link, rel->sym)->sec) == CV_ROLE_CONSTANT) {
            field_of(link, i, fixup)->value += 4;
            return true;
        }
    }
    return false;
}

static bool other_symbol(cv_link *link)
{
    EACH(i, &link->fixups->fixup)
    {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i);

        for (uint64_t k = 0; fixup->keep && k < link->out->osym.count; k++) {
            const cv_osym *osym = cv_l_osym(link, k), *old = cv_l_osym(link, fixup->osym);

            if (k != fixup->osym && !osym->dead && !osym->hidden && osym->sec != CV_NONE &&
                !osym->is_section && !old->is_section && osym->info == old->info) {
                fixup->osym = (cv_id)k;
                return true;
            }
        }
    }
    return false;
}

static bool other_type(cv_link *link)
{
    EACH(i, &link->fixups->fixup)
    {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i);

        if (fixup->keep && fixup->type == CV_R_CUDA_ABS32_LO_32) {
            fixup->type = CV_R_CUDA_ABS32_HI_32;
            return true;
        }
    }
    return false;
}

static bool relocation_lost(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        cv_fixed *fixed = cv_fixeds_at(&link->fixups->fixed, i);

        for (cv_rel_cur cur = cv_out_rels(cv_l_osec(link, i));
             fixed->n_kept && cv_rel_next(link->out, &cur);) {
            cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, cur.id);

            if (fixup->keep) {
                fixup->keep = false;
                fixed->n_kept--;
                return true;
            }
        }
    }
    return false;
}

static bool not_applied(cv_link *link)
{
    EACH(i, &link->fixups->fixup)
    {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i);

        if (fixup->n_fields && field_of(link, i, fixup)->value != 0) {
            fixup->n_fields = 0;
            return true;
        }
    }
    return false;
}

static bool symbol_value(cv_link *link)
{
    EACH(i, &link->out->osym)
    {
        cv_osym *osym = cv_osyms_at(&link->out->osym, i);

        if (!osym->is_section && cv_elf_info_type(osym->info) == CV_STT_OBJECT && osym->sec != CV_NONE &&
            osym->value > 0) {
            osym->value--;
            return true;
        }
    }
    return false;
}

static bool symbol_size(cv_link *link)
{
    EACH(i, &link->out->osym)
    {
        cv_osym *osym = cv_osyms_at(&link->out->osym, i);

        if (!osym->is_section && cv_elf_info_type(osym->info) == CV_STT_OBJECT && osym->sec != CV_NONE &&
            osym->size > 4) {
            osym->size -= 4;
            return true;
        }
    }
    return false;
}

static bool slot_twice(cv_link *link)
{
    const cv_osym *first = NULL;

    EACH(i, &link->out->osym)
    {
        cv_osym *osym = cv_osyms_at(&link->out->osym, i);

        if (osym->has_slot && first) {
            osym->slot = first->slot;
            return true;
        }
        first = osym->has_slot ? osym : first;
    }
    return false;
}

/* Two variables of the shared memory of one kernel. */
static bool shared_overlap(cv_link *link)
{
    EACH(i, &link->memory->shared)
    {
        cv_shared_place *place = cv_shared_places_at(&link->memory->shared, i);

        for (uint64_t k = 0; place->placed && place->off > 0 && k < link->memory->shared.count; k++) {
            const cv_shared_place *other = cv_shared_places_get(&link->memory->shared, k);

            if (other->placed && k != i && other->off == 0 && other->sec == place->sec) {
                place->off = 0;
                return true;
            }
        }
    }
    return false;
}

static bool kernel_dropped(cv_link *link)
{
    EACH(i, &link->functions->fn)
    if (cv_l_is_kernel(link, (cv_id)i)) {
        cv_fn_calls_list_at(&link->calls->fn, i)->live = false;
        return true;
    }
    return false;
}

static bool function_dropped(cv_link *link)
{
    EACH(i, &link->functions->fn)
    if (cv_l_fn_calls(link, i)->live && !cv_l_is_kernel(link, (cv_id)i) && cv_l_fn(link, i)->has_def) {
        cv_fn_calls_list_at(&link->calls->fn, i)->live = false;
        return true;
    }
    return false;
}

static bool few_registers(cv_link *link)
{
    EACH(i, &link->functions->fn)
    {
        cv_fn_usage *usage = cv_fn_usages_at(&link->usage->fn, i);

        if (cv_l_is_kernel(link, (cv_id)i) && usage->all_regs > 1) {
            usage->all_regs--;
            return true;
        }
    }
    return false;
}

/* The records were made already. */
static bool few_in_record(cv_link *link, uint8_t code)
{
    EACH(i, &link->records->rec)
    {
        const cv_irec *rec = cv_irecs_get(&link->records->rec, i);
        cv_iword *word;

        if (rec->code != code || rec->raw || rec->count != 2)
            continue;
        word = cv_iwords_at(&link->records->word, rec->first + 1);
        if (word->value > 0 && word->value != UINT32_MAX) {
            word->value--;
            return true;
        }
    }
    return false;
}

static bool few_registers_said(cv_link *link)
{
    return few_in_record(link, CV_ATTR_REGCOUNT);
}

static bool little_stack_said(cv_link *link)
{
    return few_in_record(link, CV_ATTR_MIN_STACK_SIZE);
}

static bool little_stack(cv_link *link)
{
    EACH(i, &link->functions->fn)
    {
        cv_fn_usage *usage = cv_fn_usages_at(&link->usage->fn, i);

        if (cv_l_is_kernel(link, (cv_id)i) && usage->stack > 0 && usage->stack < UINT32_MAX) {
            usage->stack = 0;
            return true;
        }
    }
    return false;
}

static bool other_attribute(cv_link *link)
{
    EACH(i, &link->records->rec)
    {
        const cv_irec *rec = cv_irecs_get(&link->records->rec, i);
        cv_iword *word;

        if (rec->code != CV_ATTR_PARAM_CBANK || rec->raw)
            continue;
        word = cv_iwords_at(&link->records->word, rec->first);
        EACH(k, &link->out->osym)
        if (word->symbol && k != word->value && cv_l_osym(link, k)->is_section && cv_l_osym(link, k)->index) {
            word->value = (uint32_t)k;
            return true;
        }
    }
    return false;
}

static bool record_lost(cv_link *link)
{
    EACH(i, &link->records->oinfo)
    {
        cv_oinfo *info = cv_oinfos_at(&link->records->oinfo, i);

        if (info->fn != CV_NONE && info->count > 1) {
            info->count--;
            return true;
        }
    }
    return false;
}

static bool barriers_lost(cv_link *link)
{
    EACH(i, &link->records->rec)
    {
        cv_irec *rec = cv_irecs_at(&link->records->rec, i);

        if (rec->code == CV_ATTR_NUM_BARRIERS && rec->value > 0) {
            rec->value--;
            return true;
        }
    }
    return false;
}

static bool code_byte(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        const cv_osec *osec = cv_l_osec(link, i);
        uint8_t *at = osec->group == CV_G_CODE && !osec->dead && !osec->borrowed && osec->size
                          ? cv_block_at(link->file->block, osec->off, 1)
                          : NULL;

        if (at) {
            *at ^= 1;
            return true;
        }
    }
    return false;
}

static bool data_byte(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        const cv_osec *osec = cv_l_osec(link, i);
        uint8_t *at = (osec->group == CV_G_INIT || osec->group == CV_G_CONST) && !osec->dead && osec->size > 4
                          ? cv_block_at(link->file->block, osec->off + osec->size - 1, 1)
                          : NULL;

        if (at) {
            *at ^= 0x80;
            return true;
        }
    }
    return false;
}

static bool other_definition(cv_link *link)
{
    EACH(i, &link->inputs->isym)
    {
        const cv_isym *sym = cv_l_isym(link, i);
        cv_resolution_entry *entry;

        if (cv_l_bind(sym) == CV_STB_LOCAL || !sym->defined || sym->sec == CV_NONE)
            continue;
        entry = cv_resolution_entries_at(&link->resolution->entries, sym->name);
        if (entry->win != i && entry->win != CV_NONE && cv_l_bind(sym) == CV_STB_WEAK) {
            entry->win = (cv_id)i;
            return true;
        }
    }
    return false;
}

static bool small_zeros(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        cv_osec *osec = cv_osecs_at(&link->out->osec, i);

        if (osec->group == CV_G_NOBITS && osec->size > 8 &&
            cv_span_eq_str(cv_l_text(link, osec->name), ".nv.global")) {
            osec->size -= 8;
            return true;
        }
    }
    return false;
}

static bool small_shared(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        cv_osec *osec = cv_osecs_at(&link->out->osec, i);

        if (osec->group == CV_G_NOBITS && osec->fn == CV_NONE && osec->size > 4 &&
            cv_span_starts(cv_l_text(link, osec->name), ".nv.shared.")) {
            osec->size -= 4;
            return true;
        }
    }
    return false;
}

typedef struct plant {
    const char *name, *stage;
    bool (*make)(cv_link *link); /* false: this link has nothing of the kind */
} plant;

static const plant PLANTS[] = {
    { "data-base", "collect", data_base },
    { "constant-base", "collect", constant_base },
    { "part-base", "commons", part_base },
    { "addend-lost", "scan_relocs", addend_lost },
    { "field-moved", "scan_relocs", field_moved },
    { "constant-shifted", "scan_relocs", value_shifted },
    { "kept-other-symbol", "scan_relocs", other_symbol },
    { "kept-other-type", "scan_relocs", other_type },
    { "relocation-lost", "scan_relocs", relocation_lost },
    { "not-applied", "scan_relocs", not_applied },
    { "symbol-value", "commons", symbol_value },
    { "symbol-size", "commons", symbol_size },
    { "slot-twice", "texture_slots", slot_twice },
    { "shared-overlap", "shared_memory", shared_overlap },
    { "kernel-dropped", "mark_live", kernel_dropped },
    { "function-dropped", "mark_live", function_dropped },
    { "few-registers", "usage", few_registers },
    { "few-registers-said", "info_records", few_registers_said },
    { "little-stack", "usage", little_stack },
    { "little-stack-said", "info_records", little_stack_said },
    { "other-attribute", "layout", other_attribute },
    { "record-lost", "info_records", record_lost },
    { "barriers-lost", "info_records", barriers_lost },
    { "code-byte", "write", code_byte },
    { "data-byte", "write", data_byte },
    { "other-definition", "resolve", other_definition },
    { "small-zeros", "commons", small_zeros },
    { "small-shared", "shared_memory", small_shared },
};

void cv_link_plant(cv_link *link, const char *stage)
{
    const char *wanted = getenv("CV_PLANT");

    for (size_t i = 0; wanted && i < CV_COUNT(PLANTS); i++)
        if (strcmp(CV_AT(PLANTS, i).name, wanted) == 0 && strcmp(CV_AT(PLANTS, i).stage, stage) == 0 &&
            CV_AT(PLANTS, i).make(link))
            (void)fprintf(stderr, "planted: %s\n", wanted);
    if (wanted && (cv_link_plant_more(link, wanted, stage) || cv_link_plant_of_models(link, wanted, stage)))
        (void)fprintf(stderr, "planted: %s\n", wanted);
}
