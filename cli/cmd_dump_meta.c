/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: notes, call graph, prototypes, relocation actions, unified tables, Mercury capsules. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

static void put_note_words(dump_out *out, cuvet_bytes bytes)
{
    FILE *to = out_detail(out, "words");

    for (uint64_t at = 0; at < bytes.n; at += 2)
        fprintf(to, "%s0x%x", at ? " " : "",
                at + 1 < bytes.n ? (unsigned)(bytes.p[at] | bytes.p[at + 1] << 8) : bytes.p[at]);
    out_detail_end(out, "words");
}

/* A field of a record that is shown field by field. */
static void put_field(dump_out *out, const cuvet_record *record, const cuvet_field *field, int width)
{
    char buf[48] = "";

    if (field->kind == CUVET_FIELD_VIRTUAL_ARCH)
        snprintf(buf, sizeof(buf), "compute_%" PRIu64, field->value);
    else if (field->kind == CUVET_FIELD_VERSION)
        snprintf(buf, sizeof(buf), "%" PRIu64 ".%" PRIu64, field->value >> 32, field->value & UINT32_MAX);
    if (*buf)
        out_text(out, field->name, 0, buf);
    else if (field->kind == CUVET_FIELD_STRING)
        out_name(out, field->name, 0, cuvet_record_text(record, field->value));
    else if (field->kind == CUVET_FIELD_BITS)
        out_hex(out, field->name, width, field->value);
    else
        out_dec(out, field->name, width, field->value);
}

static void put_note(dump_out *out, const cuvet_record *record)
{
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };

    if (!(record->flags & CUVET_RECORD_DECODABLE))
        put_note_words(out, record->bytes);
    while (cuvet_field_next(record, &pos, &field) == CUVET_OK)
        put_field(out, record, &field, 0);
}

void dump_notes(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    uint64_t pos = 0;
    cuvet_record record = { .size = sizeof(record) };
    cuvet_note note = { .size = sizeof(note) };
    cuvet_status status;

    out_section_title(out, "Notes", index, section->name);
    while ((status = cuvet_note_next(section->body, &pos, &note)) == CUVET_OK &&
           out_spend(out, 128 + 4 * note.desc.n)) {
        /* The owner's name is stored with its NUL. */
        cuvet_bytes owner = { note.name.p, note.name.n && note.name.p[note.name.n - 1] == 0 ? note.name.n - 1
                                                                                            : note.name.n };

        out_begin(out, "note", true);
        out_number(out, "section", index);
        out_hex(out, "offset", 0, note.off);
        out_name(out, "owner", 0, owner);
        out_dec(out, "note_type", 0, note.type);
        out_dec(out, "size", 0, note.desc.n);
        if (cuvet_note_record(&note, section->name, &record) == CUVET_OK)
            put_note(out, &record);
        out_end(out);
    }
    if (status != CUVET_END && status != CUVET_OK)
        out_damage(out, index, pos);
}

static void put_prototype(dump_state *dump, FILE *to, uint64_t section, uint64_t off)
{
    cuvet_bytes text;

    if (cuvet_elf_get_string(dump->ctx, dump->elf, section, off, &text) == CUVET_OK) {
        dump_put(&dump->out, to, text);
        fprintf(to, " (string 0x%" PRIx64 ")", off);
    } else {
        fprintf(to, "string 0x%" PRIx64, off);
    }
}

/* Records of four kinds, each kind announced by a marker. */
void dump_callgraph(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    static const char *const KINDS[] = { "?", "call", "address-taken", "indirect-call", "possible-target" };
    dump_out *out = &dump->out;
    uint64_t table = dump_symtab_of(dump, section), pos = 0;
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_call call = { .size = sizeof(call) };
    cuvet_status status = CUVET_OK;

    out_section_title(out, "Call graph", index, section->name);
    while (out_spend(out, 64) && (status = cuvet_call_next(section->body, &pos, &kind, &call)) == CUVET_OK) {
        FILE *to;

        out_begin(out, "call", false);
        out_number(out, "section", index);
        out_hex(out, "offset", 6, call.off);
        out_text(out, "kind", -15, (call.flags & CUVET_CALL_MARKER) != 0 ? "part" : KINDS[call.kind]);
        if ((call.flags & CUVET_CALL_MARKER) != 0) {
            out_text(out, "part", 0, KINDS[call.kind]);
            out_end(out);
            continue;
        }
        to = out_detail(out, "value");
        dump_put_symbol(dump, to, table, call.from);
        fputs(" -> ", to);
        if (call.kind == CUVET_CALL_ADDRESS || call.kind == CUVET_CALL_INDIRECT)
            put_prototype(dump, to, index, call.to);
        else
            dump_put_symbol(dump, to, table, call.to);
        out_detail_end(out, "value");
        out_end(out);
    }
    if (status == CUVET_E_MALFORMED)
        out_damage(out, index, pos);
}

void dump_prototype(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    uint64_t table = dump_symtab_of(dump, section), pos = 0;
    cuvet_record record = { .size = sizeof(record) };
    cuvet_status status = CUVET_OK;

    out_section_title(out, "Prototypes", index, section->name);
    while (out_spend(out, 64) &&
           (status = cuvet_table_next(CUVET_CONTENT_PROTOTYPES, section->body, &pos, &record)) == CUVET_OK) {
        cuvet_field field = { .size = sizeof(field) };
        cuvet_field_pos at = { 0 };
        FILE *to;

        out_begin(out, "prototype", false);
        out_number(out, "section", index);
        out_hex(out, "offset", 6, record.off);
        to = out_detail(out, "value");
        while (cuvet_field_next(&record, &at, &field) == CUVET_OK) {
            if (field.kind == CUVET_FIELD_STRING)
                put_prototype(dump, to, index, field.value);
            else
                dump_put_symbol(dump, to, table, field.value);
            if (field.kind == CUVET_FIELD_SYMBOL)
                fputs(": ", to);
        }
        out_detail_end(out, "value");
        out_end(out);
    }
    if (status == CUVET_E_MALFORMED)
        out_damage(out, index, pos);
}

/* What the loader does for the relocation types behind those that the writer knew. */
void dump_rel_action(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    cuvet_record record = { .size = sizeof(record) };
    cuvet_status status = CUVET_OK;
    uint64_t pos = 0;

    out_section_title(out, "Relocation actions", index, section->name);
    out_head(out, "  Offset  Type                           Kind Shift  From  Bits    To  From  Bits    To");
    while (out_spend(out, 64) &&
           (status = cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, section->body, &pos, &record)) == CUVET_OK) {
        const char *name = record.number <= UINT32_MAX ? cuvet_reloc_name((uint32_t)record.number) : NULL;
        cuvet_field field = { .size = sizeof(field) };
        cuvet_field_pos at = { 0 };
        char buf[32];

        snprintf(buf, sizeof(buf), "0x%" PRIx64, record.number);
        out_begin(out, "relocation_action", false);
        out_number(out, "section", index);
        out_hex(out, "offset", 6, record.off);
        out_text(out, "r_type", -28, name ? name : buf);
        while (cuvet_field_next(&record, &at, &field) == CUVET_OK)
            put_field(out, &record, &field, 4);
        out_end(out);
    }
    if (status == CUVET_E_MALFORMED)
        out_damage(out, index, pos);
}

/* One entry. Its identifier is two numbers. */
static void put_unified(dump_state *dump, uint64_t table, const cuvet_record *record)
{
    dump_out *out = &dump->out;
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos at = { 0 };
    char id[40] = "";
    size_t len = 0;

    while (cuvet_field_next(record, &at, &field) == CUVET_OK) {
        if (field.kind == CUVET_FIELD_ID && len == 0) {
            len = (size_t)snprintf(id, sizeof(id), "%016" PRIx64 ":", field.value);
        } else if (field.kind == CUVET_FIELD_ID) {
            snprintf(id + len, sizeof(id) - len, "%016" PRIx64, field.value);
            out_text(out, field.name, 0, id);
        } else if (field.kind == CUVET_FIELD_SYMBOL) {
            dump_put_symbol(dump, out_detail(out, field.name), table, field.value);
            out_detail_end(out, field.name);
        } else {
            put_field(out, record, &field, strcmp(field.name, "slot") == 0 ? 8 : 6);
        }
    }
}

/* .nv.uft.entry, .nv.udt.entry and their Mercury clones. */
void dump_unified(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    uint64_t table = dump_symtab_of(dump, section), pos = 0;
    cuvet_record record = { .size = sizeof(record) };
    cuvet_status status = CUVET_OK;

    out_section_title(out, "Unified entries", index, section->name);
    out_head(out, "  Offset   Flags      Slot  Id                                 Symbol");
    while (out_spend(out, 96) &&
           (status = cuvet_table_next(CUVET_CONTENT_UNIFIED, section->body, &pos, &record)) == CUVET_OK) {
        out_begin(out, "unified_entry", false);
        out_number(out, "section", index);
        out_hex(out, "offset", 6, record.off);
        put_unified(dump, table, &record);
        out_end(out);
    }
    if (status == CUVET_E_MALFORMED)
        out_damage(out, index, pos);
}

/* The words in front of a capsule; its stream is opaque. */
void dump_capsule(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    cuvet_record record = { .size = sizeof(record) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos at = { 0 };
    cuvet_elf_section code = { .size = sizeof(code) };
    uint64_t pos = 0;

    out_section_title(out, "Capsule", index, section->name);
    if (cuvet_table_next(CUVET_CONTENT_CAPSULE, section->body, &pos, &record) != CUVET_OK) {
        out_damage(out, index, pos);
        return;
    }
    out_begin(out, "capsule", true);
    out_number(out, "section", index);
    while (cuvet_field_next(&record, &at, &field) == CUVET_OK) {
        put_field(out, &record, &field, 0);
        if (field.kind != CUVET_FIELD_SECTION)
            continue;
        (void)dump_section(dump, field.value, &code); /* a wrong index has no name */
        out_name(out, "code_name", 0, code.name);
    }
    out_dec(out, "stream_bytes", 0, record.tail.n);
    out_end(out);
}
