/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: the attribute records of .nv.info, .nv.info.<fn> and .nv.compat. */
#include "cmd_dump.h"

#include <inttypes.h>

#define WORDS_PER_LINE 8u

static void put_bytes(const dump_state *dump, FILE *to, cuvet_bytes bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (i > 0 && i % 32 == 0)
            out_wrap(&dump->out, to);
        fprintf(to, "%s%02x", i % 32 && i % 4 == 0 ? " " : "", bytes.p[i]);
    }
}

/* What was printed of a record so far. */
typedef struct dump_info_progress {
    bool any, total;  /* something; the last field said how many words follow */
    uint64_t group;   /* of the last field */
    uint64_t words;   /* of the list that is being printed … */
    const char *list; /* … and its name; NULL: none */
} dump_info_progress;

/* Between two fields: a blank, or a new line where something new begins. */
static void separate_fields(const dump_state *dump, FILE *to, const dump_info_progress *progress,
                            const cuvet_field *field)
{
    bool word = field->kind == CUVET_FIELD_WORD;

    if (!progress->any || progress->total)
        return;
    if (word ? progress->words > 0 && progress->words % WORDS_PER_LINE == 0 : field->group != progress->group)
        out_wrap(&dump->out, to);
    else
        fputs(field->kind == CUVET_FIELD_EXTENT    ? " x "
              : field->kind == CUVET_FIELD_PADDING ? ", "
                                                   : " ",
              to);
}

static void put_number(dump_state *dump, FILE *to, uint64_t table, const cuvet_field *field)
{
    switch (field->kind) {
    case CUVET_FIELD_FLAG: break;
    case CUVET_FIELD_SYMBOL: dump_put_symbol(dump, to, table, field->value); break;
    case CUVET_FIELD_PLACE:
        dump_put_hex(to, field->value);
        fputc(':', to);
        break;
    case CUVET_FIELD_RAW: fprintf(to, "0x%08" PRIx64, field->value); break;
    case CUVET_FIELD_TOTAL: fprintf(to, "%" PRIu64 " %s ", field->value, field->name); break;
    case CUVET_FIELD_VERSION:
        fprintf(to, "%" PRIu64 ".%" PRIu64, field->value >> 32, field->value & UINT32_MAX);
        break;
    case CUVET_FIELD_BITS:
    case CUVET_FIELD_WORD:
    case CUVET_FIELD_PADDING: dump_put_hex(to, field->value); break;
    case CUVET_FIELD_COUNT:
        if (field->value == UINT32_MAX)
            fputs("unknown", to); /* as in a stack that recursion makes unbounded */
        else
            dump_put_dec(to, field->value);
        break;
    case CUVET_FIELD_NUMBER:
    case CUVET_FIELD_EXTENT:
    case CUVET_FIELD_SECTION:
    case CUVET_FIELD_STRING:
    case CUVET_FIELD_VIRTUAL_ARCH:
    case CUVET_FIELD_ID: dump_put_dec(to, field->value); break;
    }
}

/* The name in front of a number. That of a list is said once. */
static void put_label(FILE *to, const dump_info_progress *progress, const cuvet_field *field)
{
    if (*field->name == '\0' || field->kind == CUVET_FIELD_TOTAL || field->kind == CUVET_FIELD_EXTENT ||
        progress->words > 0)
        return;
    fputs(field->name, to);
    if (field->kind != CUVET_FIELD_FLAG)
        fputc(' ', to);
}

static void put_field(dump_state *dump, FILE *to, uint64_t table, dump_info_progress *progress,
                      const cuvet_field *field)
{
    bool word = field->kind == CUVET_FIELD_WORD;

    if ((field->flags & CUVET_FIELD_OPTIONAL) != 0 && field->value == 0)
        return;
    if (!word || !progress->list || progress->list != field->name)
        progress->words = 0;
    separate_fields(dump, to, progress, field);
    put_label(to, progress, field);
    put_number(dump, to, table, field);
    progress->words += word;
    progress->list = word ? field->name : NULL;
    progress->group = field->group;
    progress->total = field->kind == CUVET_FIELD_TOTAL;
    progress->any = true;
}

static void put_value(dump_state *dump, FILE *to, uint64_t table, const cuvet_record *record)
{
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };
    dump_info_progress progress = { .any = false };

    if (!(record->flags & CUVET_RECORD_DECODABLE))
        put_bytes(dump, to, record->bytes);
    while (cuvet_field_next(record, &pos, &field) == CUVET_OK &&
           (field.kind != CUVET_FIELD_SYMBOL || out_spend(&dump->out, 16)))
        put_field(dump, to, table, &progress, &field);
}

typedef struct section_view {
    uint64_t index, table;
    bool compat;
} section_view;

static void one_record(dump_state *dump, const section_view *view, const cuvet_tlv *tlv)
{
    const char *name = view->compat ? cuvet_compat_name(tlv->code) : cuvet_eiattr_name(tlv->code);
    cuvet_record record = { .size = sizeof(record) };
    dump_out *out = &dump->out;
    char buf[32];
    FILE *to;

    if ((view->compat ? cuvet_compat_record(tlv, &record) : cuvet_attr_record(tlv, &record)) != CUVET_OK)
        return; /* cannot be: nothing is missing and the size is ours */
    snprintf(buf, sizeof(buf), "0x%02x", tlv->code);
    out_begin(out, view->compat ? "compat" : "attribute", false);
    out_number(out, "section", view->index);
    out_hex(out, "offset", 6, tlv->off);
    out_text(out, "format", 4, cuvet_tlv_format_name(tlv->format));
    out_number(out, "code", tlv->code);
    out_text(out, "name", -34, name ? name : buf);
    put_value(dump, out_detail(out, "value"), view->table, &record);
    out_detail_end(out, "value");
    if (out->json && tlv->format == CUVET_TLV_PAYLOAD) {
        to = out_detail(out, "payload");
        for (size_t i = 0; i < tlv->payload.n; i++)
            fprintf(to, "%02x", tlv->payload.p[i]);
        out_detail_end(out, "payload");
    }
    out_end(out);
}

static void dump_records(dump_state *dump, uint64_t index, const cuvet_elf_section *section, bool compat)
{
    section_view view = { index, compat ? 0 : dump_symtab_of(dump, section), compat };
    uint64_t pos = 0;
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    cuvet_status status;

    out_section_title(&dump->out, "Attributes", index, section->name);
    while ((status = cuvet_tlv_next(section->body, &pos, &tlv)) == CUVET_OK &&
           out_spend(&dump->out, 64 + 4 * tlv.payload.n))
        one_record(dump, &view, &tlv);
    if (status != CUVET_END && status != CUVET_OK)
        out_damage(&dump->out, index, pos);
}

void dump_info(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_records(dump, index, section, false);
}

void dump_compat(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_records(dump, index, section, true);
}
