/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inspection of one device ELF through the public interface: open, look at everything, close. Elements are
 * decoded from the image on each call, whatever the examination thought of it, so that this target sees more
 * damaged tables than the model's do. */
#include "mutate.h"
#include "scanner.h"

/* Tables of a hostile image may all lie over the same bytes: per table and in all. */
#define TABLE_MAX 512u
#define TOTAL_MAX 20000u

typedef struct look {
    const fz_input *in;
    cuvet_ctx *ctx;
    cuvet_elf elf;
    uint64_t hash, n_diags, left;
} look;

static void on_diag(void *user, const cuvet_diag *d)
{
    look *l = user;

    l->n_diags++;
    l->hash = fz_mix(l->hash, fz_diag(d, 0, l->in->len));
}

static void note(look *l, uint64_t v)
{
    l->hash = fz_mix(l->hash, v);
}

/* What was returned lies in the image; reading all of it lets the sanitizers check. */
static void note_bytes(look *l, cuvet_bytes b)
{
    FZ_CHECK(b.n == 0 ||
                 (b.p >= l->in->bytes && b.n <= l->in->len && b.p <= l->in->bytes + (l->in->len - b.n)),
             "bytes that are returned lie in the image");
    l->hash = fz_mix_bytes(l->hash, b.p, b.n);
}

static bool more(look *l, uint64_t i)
{
    if (l->left == 0 || i >= TABLE_MAX)
        return false;
    l->left--;
    return true;
}

static bool walked(cuvet_status st)
{
    return st == CUVET_OK || st == CUVET_END || st == CUVET_E_USAGE;
}

static void tables(look *l, uint64_t t)
{
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_elf_symbol y = { .size = sizeof(y) };
    cuvet_elf_reloc r = { .size = sizeof(r) };
    cuvet_bytes text;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; st == CUVET_OK && more(l, i); i++) {
        st = cuvet_elf_get_symbol(l->ctx, l->elf, t, i, &y);
        FZ_CHECK(walked(st), "a symbol is there or not");
        if (st != CUVET_OK)
            break;
        note_bytes(l, y.name);
        FZ_CHECK(cuvet_symbol_get_info(&y, &info) == CUVET_OK, "every symbol can be told about");
        note(l, (uint64_t)info.flags << 16 | info.bind << 8 | info.type);
        note(l, y.value ^ y.length << 1 ^ (uint64_t)y.shndx << 2 ^ (uint64_t)y.info << 40 ^
                    (uint64_t)y.other << 48);
    }
    st = CUVET_OK;
    for (uint64_t i = 0; st == CUVET_OK && more(l, i); i++) {
        st = cuvet_elf_get_reloc(l->ctx, l->elf, t, i, &r);
        FZ_CHECK(walked(st), "a relocation is there or not");
        if (st == CUVET_OK)
            note(l, r.off ^ (uint64_t)r.type << 32 ^ r.sym ^ (uint64_t)r.addend);
    }
    st = cuvet_elf_get_string(l->ctx, l->elf, t, t, &text);
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NO_MATCH, "a string is there or not");
    if (st == CUVET_OK)
        note_bytes(l, text);
}

/* Every field of a record lies in it. */
static void fields(look *l, const cuvet_record *r, bool in_head)
{
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos pos = { 0 };
    uint64_t last = 0;

    for (uint64_t i = 0; more(l, i) && cuvet_field_next(r, &pos, &f) == CUVET_OK; i++) {
        FZ_CHECK(f.name && f.kind <= CUVET_FIELD_PADDING, "a field has a name and a kind");
        FZ_CHECK(f.off < (in_head ? 2 : r->bytes.n), "a field lies in its record");
        FZ_CHECK(f.group >= last, "parts of a record follow each other");
        note(l, f.value ^ (uint64_t)f.kind << 56);
        last = f.group;
        if (f.kind == CUVET_FIELD_STRING)
            note_bytes(l, cuvet_record_text(r, f.value));
    }
    note(l, r->number);
    note_bytes(l, r->bytes);
    note_bytes(l, r->tail);
}

/* Whatever a section says it is, everything that decodes sections reads it. */
static void decoders(look *l, const cuvet_elf_header *h, cuvet_bytes body)
{
    cuvet_record r = { .size = sizeof(r) };
    cuvet_call c = { .size = sizeof(c) };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_cfi_entry e = { .size = sizeof(e) };
    cuvet_cfi_op op = { .size = sizeof(op) };
    uint64_t pos, last, at;

    for (unsigned content = CUVET_CONTENT_PROTOTYPES; content <= CUVET_CONTENT_CAPSULE; content++) {
        pos = last = 0;
        for (uint64_t i = 0;
             more(l, i) && cuvet_table_next((cuvet_section_content)content, body, &pos, &r) == CUVET_OK;
             i++, last = pos) {
            FZ_CHECK(r.off >= last && pos > last && pos <= body.n, "records of a table follow each other");
            fields(l, &r, false);
        }
    }
    pos = 0;
    for (uint64_t i = 0; more(l, i) && cuvet_call_next(body, &pos, &kind, &c) == CUVET_OK; i++) {
        FZ_CHECK(c.kind == kind && kind <= CUVET_CALL_POSSIBLE && pos == c.off + 8,
                 "calls follow each other");
        note(l, (uint64_t)c.from << 32 | c.to);
    }
    pos = last = 0;
    for (uint64_t i = 0; more(l, i) && cuvet_cfi_next(body, h, &pos, &e) == CUVET_OK; i++, last = pos) {
        FZ_CHECK(e.off == last && pos > last && pos <= body.n, "entries follow each other");
        note_bytes(l, e.program);
        at = 0;
        for (uint64_t k = 0; more(l, k) && cuvet_cfi_op_next(&e, &at, &op) == CUVET_OK; k++) {
            FZ_CHECK(op.name && op.off < at && at <= e.program.n, "operations follow each other");
            note(l, op.first_value ^ op.second_value << 1 ^ (uint64_t)op.code << 56);
        }
    }
}

/* Records of any section: both walks must go forward and end. */
static void records(look *l, cuvet_bytes name, cuvet_bytes body)
{
    cuvet_record r = { .size = sizeof(r) };
    uint64_t pos = 0, last = 0;
    cuvet_tlv t = { .size = sizeof(t) };
    cuvet_note n = { .size = sizeof(n) };
    cuvet_status st;

    for (uint64_t i = 0; more(l, i) && (st = cuvet_tlv_next(body, &pos, &t)) == CUVET_OK; i++, last = pos) {
        FZ_CHECK(t.off == last && pos > last && pos <= body.n && t.format >= 1 && t.format <= 4,
                 "records follow each other");
        note_bytes(l, t.payload);
        note(l, (uint64_t)t.format << 24 | (uint64_t)t.code << 16 | t.value);
        FZ_CHECK(cuvet_attr_record(&t, &r) == CUVET_OK, "an attribute is a record");
        fields(l, &r, t.format != CUVET_TLV_PAYLOAD);
        FZ_CHECK(cuvet_compat_record(&t, &r) == CUVET_OK, "a record of .nv.compat is one");
        fields(l, &r, t.format != CUVET_TLV_PAYLOAD);
    }
    FZ_CHECK(pos == last, "a record that is refused is not passed");
    for (uint64_t i = pos = last = 0; more(l, i) && (st = cuvet_note_next(body, &pos, &n)) == CUVET_OK;
         i++, last = pos) {
        FZ_CHECK(n.off == last && pos > last && pos <= body.n, "notes follow each other");
        note_bytes(l, n.name);
        note_bytes(l, n.desc);
        FZ_CHECK(cuvet_note_record(&n, name, &r) == CUVET_OK, "a note is a record");
        fields(l, &r, false);
    }
    FZ_CHECK(pos == last, "a note that is refused is not passed");
}

static void everything(look *l)
{
    cuvet_elf_header h = { .size = sizeof(h) };
    cuvet_elf_section s = { .size = sizeof(s) };
    cuvet_elf_segment g = { .size = sizeof(g) };
    cuvet_field flag = { .size = sizeof(flag) };
    cuvet_field_pos pos = { 0 };
    cuvet_bytes name;
    uint64_t table = 0, i;

    FZ_CHECK(cuvet_elf_get_header(l->ctx, l->elf, &h) == CUVET_OK, "an open image has a header");
    FZ_CHECK(h.extent <= l->in->len, "the extent lies in the image");
    while (cuvet_eflags_next(&h, &pos, &flag) == CUVET_OK)
        note(l, flag.value);
    note(l, h.extent ^ h.n_sections << 20 ^ h.n_segments << 40 ^ h.sm);
    note(l, (uint64_t)h.toolkit << 32 ^ h.virtual_sm ^ (uint64_t)(unsigned char)h.suffix << 56 ^ h.examined);
    for (i = 0; more(l, i) && cuvet_elf_get_section(l->ctx, l->elf, i, &s) == CUVET_OK; i++) {
        FZ_CHECK(i < h.n_sections && s.role != NULL, "as many sections as the header says, each with a role");
        FZ_CHECK(s.body.n == 0 || s.body.n == s.length, "a body is whole or absent");
        note_bytes(l, s.name);
        note_bytes(l, s.body);
        tables(l, i);
        records(l, s.name, s.body);
        decoders(l, &h, s.body);
        note(l, (uint64_t)cuvet_section_get_content(&s) << 8 ^ cuvet_section_get_registers(&s));
    }
    for (i = 0; more(l, i) && cuvet_elf_get_segment(l->ctx, l->elf, i, &g) == CUVET_OK; i++)
        note(l, g.off ^ g.filesz << 8 ^ g.memsz << 16 ^ (uint64_t)g.type << 32 ^ g.flags);
    for (unsigned merc = 0; merc < 2; merc++) {
        FZ_CHECK(cuvet_elf_get_symtab(l->ctx, l->elf, merc == 1, &table) == CUVET_OK,
                 "the question for a table has an answer");
        note(l, table);
    }
    for (i = 0; more(l, i) && cuvet_elf_get_kernel(l->ctx, l->elf, i, &name) == CUVET_OK; i++)
        note_bytes(l, name);
    if (i > 0) /* back to the first: the walk starts over */
        FZ_CHECK(cuvet_elf_get_kernel(l->ctx, l->elf, 0, &name) == CUVET_OK,
                 "the first kernel is found again");
}

static uint64_t one_pass(const fz_input *in, const cuvet_limits *lim)
{
    fz_alloc count = { 0 };
    cuvet_alloc alloc = fz_alloc_of(&count);
    look l = { .in = in, .left = TOTAL_MAX };
    const cuvet_ctx_options co = {
        .size = sizeof(co), .alloc = &alloc, .limits = lim, .diag = on_diag, .diag_user = &l
    };
    cuvet_elf old;
    cuvet_status st;

    if (cuvet_ctx_create(&co, &l.ctx) != CUVET_OK)
        return 0; /* the smallest memory limit */
    st = cuvet_elf_create(l.ctx, in->bytes, in->len, &l.elf);
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_LIMIT || l.n_diags > 0, "what cannot be opened is reported");
    note(&l, st);
    if (st == CUVET_OK) {
        everything(&l);
        old = l.elf;
        FZ_CHECK(cuvet_elf_destroy(l.ctx, &l.elf) == CUVET_OK && l.elf.bits == 0,
                 "an open image can be closed");
        FZ_CHECK(cuvet_elf_destroy(l.ctx, &old) == CUVET_E_STALE_HANDLE, "but once");
    }
    cuvet_ctx_destroy(l.ctx);
    cv_islands_drop();
    FZ_CHECK(count.live == 0, "nothing stays allocated");
    return l.hash;
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
