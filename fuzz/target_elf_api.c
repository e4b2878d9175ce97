/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inspection of one device ELF through the public interface: open, look at everything, close. Elements are
 * decoded from the image on each call, whatever the examination thought of it, so that this target sees more
 * damaged tables than the model's do. */
#include "mutate.h"
#include "scanner.h"

/* Tables of a hostile image may all lie over the same bytes: per table and in all. */
#define TABLE_MAX 512u
#define TOTAL_MAX 20000u

typedef struct elf_api_look {
    const fz_input *in;
    cuvet_ctx *ctx;
    cuvet_elf elf;
    uint64_t hash, n_diags, left;
} elf_api_look;

static void on_diag(void *user, const cuvet_diag *diag)
{
    elf_api_look *look = user;

    look->n_diags++;
    look->hash = fz_mix(look->hash, fz_diag(diag, 0, look->in->len));
}

static void note(elf_api_look *look, uint64_t value)
{
    look->hash = fz_mix(look->hash, value);
}

/* What was returned lies in the image; reading all of it lets the sanitizers check. */
static void note_bytes(elf_api_look *look, cuvet_bytes bytes)
{
    FZ_CHECK(bytes.n == 0 || (bytes.p >= look->in->bytes && bytes.n <= look->in->len &&
                              bytes.p <= look->in->bytes + (look->in->len - bytes.n)),
             "bytes that are returned lie in the image");
    look->hash = fz_mix_bytes(look->hash, bytes.p, bytes.n);
}

static bool more(elf_api_look *look, uint64_t index)
{
    if (look->left == 0 || index >= TABLE_MAX)
        return false;
    look->left--;
    return true;
}

static bool walked(cuvet_status st)
{
    return st == CUVET_OK || st == CUVET_END || st == CUVET_E_USAGE;
}

static void tables(elf_api_look *look, uint64_t table)
{
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };
    cuvet_bytes text;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; st == CUVET_OK && more(look, i); i++) {
        st = cuvet_elf_get_symbol(look->ctx, look->elf, table, i, &symbol);
        FZ_CHECK(walked(st), "a symbol is there or not");
        if (st != CUVET_OK)
            break;
        note_bytes(look, symbol.name);
        FZ_CHECK(cuvet_symbol_get_info(&symbol, &info) == CUVET_OK, "every symbol can be told about");
        note(look, (uint64_t)info.flags << 16 | info.bind << 8 | info.type);
        note(look, symbol.value ^ symbol.length << 1 ^ (uint64_t)symbol.shndx << 2 ^
                       (uint64_t)symbol.info << 40 ^ (uint64_t)symbol.other << 48);
    }
    st = CUVET_OK;
    for (uint64_t i = 0; st == CUVET_OK && more(look, i); i++) {
        st = cuvet_elf_get_reloc(look->ctx, look->elf, table, i, &reloc);
        FZ_CHECK(walked(st), "a relocation is there or not");
        if (st == CUVET_OK)
            note(look, reloc.off ^ (uint64_t)reloc.type << 32 ^ reloc.sym ^ (uint64_t)reloc.addend);
    }
    st = cuvet_elf_get_string(look->ctx, look->elf, table, table, &text);
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NO_MATCH, "a string is there or not");
    if (st == CUVET_OK)
        note_bytes(look, text);
}

/* Every field of a record lies in it. */
static void fields(elf_api_look *look, const cuvet_record *record, bool in_head)
{
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };
    uint64_t last = 0;

    for (uint64_t i = 0; more(look, i) && cuvet_field_next(record, &pos, &field) == CUVET_OK; i++) {
        FZ_CHECK(field.name && field.kind <= CUVET_FIELD_PADDING, "a field has a name and a kind");
        FZ_CHECK(field.off < (in_head ? 2 : record->bytes.n), "a field lies in its record");
        FZ_CHECK(field.group >= last, "parts of a record follow each other");
        note(look, field.value ^ (uint64_t)field.kind << 56);
        last = field.group;
        if (field.kind == CUVET_FIELD_STRING)
            note_bytes(look, cuvet_record_text(record, field.value));
    }
    note(look, record->number);
    note_bytes(look, record->bytes);
    note_bytes(look, record->tail);
}

/* Whatever a section says it is, everything that decodes sections reads it. */
static void decoders(elf_api_look *look, const cuvet_elf_header *header, cuvet_bytes body)
{
    cuvet_record record = { .size = sizeof(record) };
    cuvet_call call = { .size = sizeof(call) };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_cfi_entry entry = { .size = sizeof(entry) };
    cuvet_cfi_op op = { .size = sizeof(op) };
    uint64_t pos, last, at;

    for (unsigned content = CUVET_CONTENT_PROTOTYPES; content <= CUVET_CONTENT_CAPSULE; content++) {
        pos = last = 0;
        for (uint64_t i = 0; more(look, i) && cuvet_table_next((cuvet_section_content)content, body, &pos,
                                                               &record) == CUVET_OK;
             i++, last = pos) {
            FZ_CHECK(record.off >= last && pos > last && pos <= body.n,
                     "records of a table follow each other");
            fields(look, &record, false);
        }
    }
    pos = 0;
    for (uint64_t i = 0; more(look, i) && cuvet_call_next(body, &pos, &kind, &call) == CUVET_OK; i++) {
        FZ_CHECK(call.kind == kind && kind <= CUVET_CALL_POSSIBLE && pos == call.off + 8,
                 "calls follow each other");
        note(look, (uint64_t)call.from << 32 | call.to);
    }
    pos = last = 0;
    for (uint64_t i = 0; more(look, i) && cuvet_cfi_next(body, header, &pos, &entry) == CUVET_OK;
         i++, last = pos) {
        FZ_CHECK(entry.off == last && pos > last && pos <= body.n, "entries follow each other");
        note_bytes(look, entry.program);
        at = 0;
        for (uint64_t k = 0; more(look, k) && cuvet_cfi_op_next(&entry, &at, &op) == CUVET_OK; k++) {
            FZ_CHECK(op.name && op.off < at && at <= entry.program.n, "operations follow each other");
            note(look, op.first_value ^ op.second_value << 1 ^ (uint64_t)op.code << 56);
        }
    }
}

/* Records of any section: both walks must go forward and end. */
static void records(elf_api_look *look, cuvet_bytes name, cuvet_bytes body)
{
    cuvet_record record = { .size = sizeof(record) };
    uint64_t pos = 0, last = 0;
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    cuvet_note other_note = { .size = sizeof(other_note) };
    cuvet_status st;

    for (uint64_t i = 0; more(look, i) && (st = cuvet_tlv_next(body, &pos, &tlv)) == CUVET_OK;
         i++, last = pos) {
        FZ_CHECK(tlv.off == last && pos > last && pos <= body.n && tlv.format >= 1 && tlv.format <= 4,
                 "records follow each other");
        note_bytes(look, tlv.payload);
        note(look, (uint64_t)tlv.format << 24 | (uint64_t)tlv.code << 16 | tlv.value);
        FZ_CHECK(cuvet_attr_record(&tlv, &record) == CUVET_OK, "an attribute is a record");
        fields(look, &record, tlv.format != CUVET_TLV_PAYLOAD);
        FZ_CHECK(cuvet_compat_record(&tlv, &record) == CUVET_OK, "a record of .nv.compat is one");
        fields(look, &record, tlv.format != CUVET_TLV_PAYLOAD);
    }
    FZ_CHECK(pos == last, "a record that is refused is not passed");
    for (uint64_t i = pos = last = 0;
         more(look, i) && (st = cuvet_note_next(body, &pos, &other_note)) == CUVET_OK; i++, last = pos) {
        FZ_CHECK(other_note.off == last && pos > last && pos <= body.n, "notes follow each other");
        note_bytes(look, other_note.name);
        note_bytes(look, other_note.desc);
        FZ_CHECK(cuvet_note_record(&other_note, name, &record) == CUVET_OK, "a note is a record");
        fields(look, &record, false);
    }
    FZ_CHECK(pos == last, "a note that is refused is not passed");
}

static void everything(elf_api_look *look)
{
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_elf_section section = { .size = sizeof(section) };
    cuvet_elf_segment segment = { .size = sizeof(segment) };
    cuvet_field flag = { .size = sizeof(flag) };
    cuvet_field_pos pos = { 0 };
    cuvet_bytes name;
    uint64_t table = 0, i;

    FZ_CHECK(cuvet_elf_get_header(look->ctx, look->elf, &header) == CUVET_OK, "an open image has a header");
    FZ_CHECK(header.extent <= look->in->len, "the extent lies in the image");
    while (cuvet_eflags_next(&header, &pos, &flag) == CUVET_OK)
        note(look, flag.value);
    note(look, header.extent ^ header.n_sections << 20 ^ header.n_segments << 40 ^ header.sm);
    note(look, (uint64_t)header.toolkit << 32 ^ header.virtual_sm ^
                   (uint64_t)(unsigned char)header.suffix << 56 ^ ((header.marks & CUVET_ELF_EXAMINED) != 0));
    for (i = 0; more(look, i) && cuvet_elf_get_section(look->ctx, look->elf, i, &section) == CUVET_OK; i++) {
        FZ_CHECK(i < header.n_sections && section.role != NULL,
                 "as many sections as the header says, each with a role");
        FZ_CHECK(section.body.n == 0 || section.body.n == section.length, "a body is whole or absent");
        note_bytes(look, section.name);
        note_bytes(look, section.body);
        tables(look, i);
        records(look, section.name, section.body);
        decoders(look, &header, section.body);
        note(look,
             (uint64_t)cuvet_section_get_content(&section) << 8 ^ cuvet_section_get_registers(&section));
    }
    for (i = 0; more(look, i) && cuvet_elf_get_segment(look->ctx, look->elf, i, &segment) == CUVET_OK; i++)
        note(look, segment.off ^ segment.filesz << 8 ^ segment.memsz << 16 ^ (uint64_t)segment.type << 32 ^
                       segment.flags);
    for (unsigned merc = 0; merc < 2; merc++) {
        FZ_CHECK(cuvet_elf_get_symtab(look->ctx, look->elf, merc == 1 ? CUVET_SYMTAB_MERCURY : 0, &table) ==
                     CUVET_OK,
                 "the question for a table has an answer");
        note(look, table);
    }
    for (i = 0; more(look, i) && cuvet_elf_get_kernel(look->ctx, look->elf, i, &name) == CUVET_OK; i++)
        note_bytes(look, name);
    if (i > 0) /* back to the first: the walk starts over */
        FZ_CHECK(cuvet_elf_get_kernel(look->ctx, look->elf, 0, &name) == CUVET_OK,
                 "the first kernel is found again");
}

static uint64_t one_pass(const fz_input *in, const cuvet_limits *lim)
{
    fz_alloc count = { 0 };
    cuvet_alloc alloc = fz_alloc_of(&count);
    elf_api_look look = { .in = in, .left = TOTAL_MAX };
    const cuvet_ctx_options co = {
        .size = sizeof(co), .alloc = &alloc, .limits = lim, .diag = on_diag, .diag_user = &look
    };
    cuvet_elf old;
    cuvet_status st;

    if (cuvet_ctx_create(&co, &look.ctx) != CUVET_OK)
        return 0; /* the smallest memory limit */
    st = cuvet_elf_create(look.ctx, in->bytes, in->len, &look.elf);
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_LIMIT || look.n_diags > 0, "what cannot be opened is reported");
    note(&look, st);
    if (st == CUVET_OK) {
        everything(&look);
        old = look.elf;
        FZ_CHECK(cuvet_elf_destroy(look.ctx, &look.elf) == CUVET_OK && look.elf.bits == 0,
                 "an open image can be closed");
        FZ_CHECK(cuvet_elf_destroy(look.ctx, &old) == CUVET_E_STALE_HANDLE, "but once");
    }
    cuvet_ctx_destroy(look.ctx);
    cv_islands_drop();
    FZ_CHECK(count.live == 0, "nothing stays allocated");
    return look.hash;
}

CV_FUZZ_TARGET(elf_api)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    FZ_CHECK(one_pass(&in, &lim) == one_pass(&in, &lim), "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
