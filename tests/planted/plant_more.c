/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* More defects, each a row of MORE: what is changed, and a number that says of what. See plant.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tlv/attr.h"
#include "plant.h"

#define EACH(index, list) for (uint64_t index = 0; index < (list)->count; index++)

/* Kinds of symbols of the output. */
enum { KERNEL, FUNCTION, VARIABLE, TEXTURE, WEAK };

static bool is_kind(const cv_osym *osym, uint64_t kind)
{
    uint8_t type = cv_elf_info_type(osym->info);
    bool entry = (osym->other & CV_STO_ENTRY) != 0;

    if (osym->dead || osym->hidden || osym->is_section)
        return false;
    switch (kind) {
    case KERNEL: return type == CV_STT_FUNC && entry && osym->sec != CV_NONE;
    case FUNCTION: return type == CV_STT_FUNC && !entry && osym->sec != CV_NONE;
    case VARIABLE: return type == CV_STT_OBJECT && osym->sec != CV_NONE;
    case WEAK: return cv_elf_info_bind(osym->info) == CV_STB_WEAK && osym->sec != CV_NONE;
    default: return osym->has_slot;
    }
}

/* The last of them: the first one lies where a section begins. */
static cv_osym *last_symbol(cv_link *link, uint64_t kind)
{
    for (uint64_t i = link->out->osym.count; i > 0; i--)
        if (is_kind(cv_l_osym(link, i - 1), kind))
            return cv_osyms_at(&link->out->osym, i - 1);
    return NULL;
}

static bool value_more(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);

    if (osym)
        osym->value += 16;
    return osym != NULL;
}

static bool size_more(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);

    if (osym)
        osym->size += 4;
    return osym != NULL;
}

static bool size_none(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);

    if (!osym || osym->size == 0)
        return false;
    osym->size = 0;
    return true;
}

static bool bind_other(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);
    uint8_t bind;

    if (!osym || osym->local)
        return false;
    bind = cv_elf_info_bind(osym->info) == CV_STB_WEAK ? CV_STB_GLOBAL : CV_STB_WEAK;
    osym->info = cv_elf_info(bind, cv_elf_info_type(osym->info));
    return true;
}

static bool type_none(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);

    if (osym)
        osym->info = cv_elf_info(cv_elf_info_bind(osym->info), CV_STT_NOTYPE);
    return osym != NULL;
}

static bool other_bits(cv_link *link, uint64_t kind)
{
    cv_osym *osym = last_symbol(link, kind);

    if (osym)
        osym->other ^= CV_STO_ENTRY;
    return osym != NULL;
}

static bool names_swapped(cv_link *link, uint64_t kind)
{
    cv_osym *first = last_symbol(link, kind);

    EACH(i, &link->out->osym)
    {
        cv_osym *osym = cv_osyms_at(&link->out->osym, i);
        cv_id name = osym->name;

        if (!first || osym == first || !is_kind(osym, kind) || osym->local != first->local)
            continue;
        osym->name = first->name;
        first->name = name;
        return true;
    }
    return false;
}

static bool section_other(cv_link *link, uint64_t kind)
{
    cv_osym *first = last_symbol(link, kind);

    EACH(i, &link->out->osym)
    {
        const cv_osym *osym = cv_l_osym(link, i);

        if (!first || !is_kind(osym, kind) || osym->sec == first->sec)
            continue;
        first->sec = osym->sec;
        return true;
    }
    return false;
}

static bool slot_moved(cv_link *link, uint64_t by)
{
    cv_osym *osym = last_symbol(link, TEXTURE);

    if (osym)
        osym->slot += by;
    return osym != NULL;
}

static bool slot_lost(cv_link *link, uint64_t unused)
{
    cv_osym *osym = last_symbol(link, TEXTURE);

    (void)unused;
    if (osym)
        osym->has_slot = false;
    return osym != NULL;
}

static cv_osec *last_section(cv_link *link, uint64_t group)
{
    for (uint64_t i = link->out->osec.count; i > 0; i--) {
        cv_osec *osec = cv_osecs_at(&link->out->osec, i - 1);

        if (osec->group == (cv_group)group && !osec->dead && osec->size)
            return osec;
    }
    return NULL;
}

static bool align_less(cv_link *link, uint64_t group)
{
    cv_osec *osec = last_section(link, group);

    if (!osec || osec->align < 2)
        return false;
    osec->align /= 2;
    return true;
}

static bool section_longer(cv_link *link, uint64_t group)
{
    cv_osec *osec = last_section(link, group);

    if (osec)
        osec->size += 16;
    return osec != NULL;
}

static bool section_shorter(cv_link *link, uint64_t group)
{
    cv_osec *osec = last_section(link, group);

    if (!osec || osec->size < 5)
        return false;
    osec->size -= 4;
    return true;
}

/* SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR are the low three bits. */
static bool flags_other(cv_link *link, uint64_t group)
{
    cv_osec *osec = last_section(link, group);

    if (osec)
        osec->flags ^= group == CV_G_CODE ? 4 : group == CV_G_INIT ? 1 : 2;
    return osec != NULL;
}

static bool registers_in_header(cv_link *link, uint64_t by)
{
    cv_osec *osec = last_section(link, CV_G_CODE);

    if (!osec || osec->reg_byte < 2)
        return false;
    osec->reg_byte -= (uint32_t)by;
    return true;
}

static bool kept_addend(cv_link *link, uint64_t by)
{
    EACH(i, &link->fixups->fixup)
    {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i);

        if (fixup->keep && cv_irels_get(&link->out->irel, i)->addend != 0) {
            fixup->addend += (int64_t)by;
            return true;
        }
    }
    return false;
}

/* The last one of a type becomes one of another. */
static bool kept_type(cv_link *link, uint64_t types)
{
    for (uint64_t i = link->fixups->fixup.count; i > 0; i--) {
        cv_fixup *fixup = cv_fixups_at(&link->fixups->fixup, i - 1);

        if (fixup->keep && fixup->type == types >> 8) {
            fixup->type = types & 0xff;
            return true;
        }
    }
    return false;
}

static cv_field *field_number(cv_link *link, uint64_t number)
{
    EACH(i, &link->fixups->field)
    {
        cv_field *field = cv_fields_at(&link->fixups->field, i);

        if (field->value != 0 && field->bits > 1 && field->pos > 0 && number-- == 0)
            return field;
    }
    return NULL;
}

static bool field_value(cv_link *link, uint64_t by)
{
    cv_field *field = field_number(link, 0);

    if (field)
        field->value += by;
    return field != NULL;
}

static bool field_narrow(cv_link *link, uint64_t number)
{
    cv_field *field = field_number(link, number);

    if (field)
        field->bits = 1;
    return field != NULL;
}

static bool field_lower(cv_link *link, uint64_t number)
{
    cv_field *field = field_number(link, number);

    if (field)
        field->pos--;
    return field != NULL;
}

static bool field_added(cv_link *link, uint64_t number)
{
    cv_field *field = field_number(link, number);

    if (field)
        field->add = !field->add;
    return field != NULL;
}

static bool fields_swapped(cv_link *link, uint64_t unused)
{
    cv_field *first = field_number(link, 0);

    (void)unused;
    EACH(i, &link->fixups->field)
    {
        cv_field *field = cv_fields_at(&link->fixups->field, i);
        uint64_t value = field->value;

        if (!first || field->bits != first->bits || value == first->value)
            continue;
        field->value = first->value;
        first->value = value;
        return true;
    }
    return false;
}

/* A relocation is about another place. */
static bool place_moved(cv_link *link, uint64_t by)
{
    EACH(i, &link->out->irel)
    {
        cv_irel *rel = cv_irels_at(&link->out->irel, i);

        if (!rel->gone && cv_out_run_of(link->out, (cv_id)i)->target != CV_NONE && rel->off >= 32) {
            rel->off -= by;
            return true;
        }
    }
    return false;
}

static bool shared_moved(cv_link *link, uint64_t by)
{
    for (uint64_t i = link->memory->shared.count; i > 0; i--) {
        cv_shared_place *place = cv_shared_places_at(&link->memory->shared, i - 1);

        if (place->placed) {
            place->off += by;
            return true;
        }
    }
    return false;
}

static bool array_moved(cv_link *link, uint64_t by)
{
    EACH(i, &link->memory->fn)
    {
        cv_fn_memory *memory = cv_fn_memories_at(&link->memory->fn, i);

        if (memory->extern_off != UINT64_MAX && memory->extern_off != 0) {
            memory->extern_off -= by;
            return true;
        }
    }
    return false;
}

static bool table_moved(cv_link *link, uint64_t by)
{
    EACH(i, &link->memory->bank_off)
    {
        if (cv_l_became(link, i)->table) {
            *cv_u64s_at(&link->memory->bank_off, i) += by;
            return true;
        }
    }
    return false;
}

static bool word_of(cv_link *link, uint64_t code, uint64_t word)
{
    EACH(i, &link->records->rec)
    {
        const cv_irec *rec = cv_irecs_get(&link->records->rec, i);

        if (rec->code != code || rec->raw || rec->count <= word ||
            cv_iwords_get(&link->records->word, rec->first + word)->symbol)
            continue;
        cv_iwords_at(&link->records->word, rec->first + word)->value ^= 1;
        return true;
    }
    return false;
}

static bool first_word(cv_link *link, uint64_t code)
{
    return word_of(link, code, 0);
}

static bool second_word(cv_link *link, uint64_t code)
{
    return word_of(link, code, 1);
}

static bool small_value(cv_link *link, uint64_t code)
{
    EACH(i, &link->records->rec)
    {
        cv_irec *rec = cv_irecs_at(&link->records->rec, i);

        if (rec->code == code && rec->count == 0) {
            rec->value ^= 1;
            return true;
        }
    }
    return false;
}

/* A record that is taken over is one of another function, of the same length. */
static bool record_of_another(cv_link *link, uint64_t code)
{
    cv_irec *first = NULL;

    EACH(i, &link->records->rec)
    {
        cv_irec *rec = cv_irecs_at(&link->records->rec, i);

        if (rec->code != code || !rec->raw)
            continue;
        if (first && first->bytes.len == rec->bytes.len && !cv_span_eq(first->bytes, rec->bytes)) {
            first->bytes = rec->bytes;
            return true;
        }
        first = first ? first : rec;
    }
    return false;
}

static bool record_short(cv_link *link, uint64_t code)
{
    EACH(i, &link->records->rec)
    {
        cv_irec *rec = cv_irecs_at(&link->records->rec, i);

        if (rec->code == code && rec->raw && rec->bytes.len > 4) {
            rec->bytes = cv_span_tail(rec->bytes, 4);
            rec->count -= 4;
            return true;
        }
    }
    return false;
}

typedef struct more {
    const char *name, *stage;
    bool (*make)(cv_link *link, uint64_t number);
    uint64_t number;
} more;

#define TYPES(from, to) ((uint64_t)(from) << 8 | (to))

static const more MORE[] = {
    { "kernel-value", "commons", value_more, KERNEL },
    { "function-value", "commons", value_more, FUNCTION },
    { "variable-value", "commons", value_more, VARIABLE },
    { "header-type", "write", plant_header_byte, 16 },
    { "function-size", "layout", size_more, FUNCTION },
    { "variable-size", "commons", size_more, VARIABLE },
    { "header-machine", "write", plant_header_byte, 18 },
    { "header-names", "write", plant_header_byte, 62 },
    { "variable-no-size", "commons", size_none, VARIABLE },
    { "kernel-bind", "layout", bind_other, KERNEL },
    { "function-bind", "layout", bind_other, FUNCTION },
    { "variable-bind", "layout", bind_other, VARIABLE },
    { "weak-bind", "layout", bind_other, WEAK },
    { "kernel-type", "layout", type_none, KERNEL },
    { "function-type", "layout", type_none, FUNCTION },
    { "variable-type", "layout", type_none, VARIABLE },
    { "texture-type", "layout", type_none, TEXTURE },
    { "kernel-no-entry", "layout", other_bits, KERNEL },
    { "function-entry", "layout", other_bits, FUNCTION },
    { "variable-entry", "layout", other_bits, VARIABLE },
    { "kernel-names", "commons", names_swapped, KERNEL },
    { "function-names", "commons", names_swapped, FUNCTION },
    { "variable-names", "commons", names_swapped, VARIABLE },
    { "texture-names", "texture_slots", names_swapped, TEXTURE },
    { "kernel-section", "commons", section_other, KERNEL },
    { "function-section", "commons", section_other, FUNCTION },
    { "variable-section", "commons", section_other, VARIABLE },
    { "slot-near", "texture_slots", slot_moved, 4 },
    { "slot-far", "texture_slots", slot_moved, 64 },
    { "slot-lost", "texture_slots", slot_lost, 0 },
    { "slots-below", "texture_slots", plant_slots_below, 0 },
    { "slots-unmarked", "texture_slots", plant_slots_unmarked, 0 },
    { "slot-unwritten", "texture_slots", plant_slot_unwritten, 0 },
    { "code-align", "commons", align_less, CV_G_CODE },
    { "data-align", "commons", align_less, CV_G_INIT },
    { "constant-align", "commons", align_less, CV_G_CONST },
    { "zeros-align", "commons", align_less, CV_G_NOBITS },
    { "code-longer", "commons", section_longer, CV_G_CODE },
    { "data-longer", "commons", section_longer, CV_G_INIT },
    { "constant-longer", "commons", section_longer, CV_G_CONST },
    { "zeros-longer", "commons", section_longer, CV_G_NOBITS },
    { "code-shorter", "commons", section_shorter, CV_G_CODE },
    { "data-shorter", "commons", section_shorter, CV_G_INIT },
    { "constant-shorter", "commons", section_shorter, CV_G_CONST },
    { "zeros-shorter", "commons", section_shorter, CV_G_NOBITS },
    { "code-flags", "layout", flags_other, CV_G_CODE },
    { "data-flags", "layout", flags_other, CV_G_INIT },
    { "constant-flags", "layout", flags_other, CV_G_CONST },
    { "zeros-flags", "layout", flags_other, CV_G_NOBITS },
    { "few-registers-header", "layout", registers_in_header, 1 },
    { "addend-more", "scan_relocs", kept_addend, 1 },
    { "addend-far", "scan_relocs", kept_addend, 4096 },
    { "high-as-low", "scan_relocs", kept_type, TYPES(CV_R_CUDA_ABS32_HI_32, CV_R_CUDA_ABS32_LO_32) },
    { "address-as-half", "scan_relocs", kept_type, TYPES(CV_R_CUDA_64, CV_R_CUDA_32) },
    { "value-more", "scan_relocs", field_value, 4 },
    { "value-far", "scan_relocs", field_value, 1024 },
    { "field-narrow", "scan_relocs", field_narrow, 0 },
    { "second-field-narrow", "scan_relocs", field_narrow, 1 },
    { "field-lower", "scan_relocs", field_lower, 0 },
    { "second-field-lower", "scan_relocs", field_lower, 1 },
    { "field-added", "scan_relocs", field_added, 0 },
    { "fields-swapped", "scan_relocs", fields_swapped, 0 },
    { "place-moved", "collect", place_moved, 16 },
    { "place-near", "collect", place_moved, 4 },
    { "shared-near", "shared_memory", shared_moved, 4 },
    { "shared-far", "shared_memory", shared_moved, 65536 },
    { "array-nearer", "shared_memory", array_moved, 4 },
    { "array-first", "shared_memory", array_moved, 16 },
    { "table-moved", "branch_tables", table_moved, 4 },
    { "parameter-size", "info_records", small_value, CV_ATTR_CBANK_PARAM_SIZE },
    { "most-registers", "info_records", small_value, CV_ATTR_MAXREG_COUNT },
    { "frame-said", "info_records", second_word, CV_ATTR_FRAME_SIZE },
    { "parameter-bank", "info_records", second_word, CV_ATTR_PARAM_CBANK },
    { "branch-stack", "info_records", first_word, CV_ATTR_CRS_STACK_SIZE },
    { "parameter-other", "info_records", record_of_another, CV_ATTR_KPARAM_INFO },
    { "exits-other", "info_records", record_of_another, CV_ATTR_EXIT_INSTR_OFFSETS },
    { "exits-short", "info_records", record_short, CV_ATTR_EXIT_INSTR_OFFSETS },
    { "first-constant", "write", plant_first_byte, CV_G_CONST },
    { "first-data", "write", plant_first_byte, CV_G_INIT },
    { "row-place", "write", plant_row_place, CV_G_REL },
    { "row-type", "write", plant_row_type, CV_G_REL },
    { "row-symbol", "write", plant_row_symbol, CV_G_REL },
    { "debug-frame-byte", "write", plant_named_byte, 0 },
    { "debug-line-byte", "write", plant_named_byte, 1 },
    { "debug-info-byte", "write", plant_named_byte, 2 },
    { "calls-byte", "write", plant_named_byte, 5 },
    { "names-byte", "write", plant_named_byte, 9 },
    { "section-names-byte", "write", plant_named_byte, 10 },
    { "symbols-byte", "write", plant_named_byte, 11 },
    { "records-byte", "write", plant_named_byte, 15 },
    { "header-flags", "write", plant_header_byte, 48 },
};

bool cv_link_plant_more(cv_link *link, const char *wanted, const char *stage)
{
    for (size_t i = 0; i < CV_COUNT(MORE); i++)
        if (strcmp(CV_AT(MORE, i).name, wanted) == 0 && strcmp(CV_AT(MORE, i).stage, stage) == 0)
            return CV_AT(MORE, i).make(link, CV_AT(MORE, i).number);
    return false;
}
