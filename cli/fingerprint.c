/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fingerprint_int.h"

#include <elf.h>
#include <stdlib.h>

/* What looking at a record costs, besides the bytes of its name. */
#define RECORD_WORK 24

/* Something of a function that stands in a section of its own. */
typedef struct print_part {
    size_t owner; /* section of its code */
    cli_digest digest;
} print_part;

typedef struct print_reading {
    cli_fingerprint *print;
    const cli_inside *inside;
    cli_looking *looking;
    const cli_session *session;
    uint64_t symbols; /* section of the symbols; 0: none */
    cli_path_hash hash;
    cli_digest *moved; /* by section: its relocations */
    cli_digest *named; /* by section: its name */
    cli_digest *whole; /* of everything that counts */
    size_t n_whole, cap_whole;
    print_part *part;
    size_t n_parts;
    bool full; /* out of memory */
} print_reading;

static bool spend(const print_reading *reading, uint64_t count)
{
    return cli_looking_spend(reading->looking, reading->session, count);
}

/* ---- what names something ---- */

/* Section by its name; those are hashed once. */
static void add_home(print_reading *reading, struct sha256_ctx *sha, uint64_t section)
{
    if (section > 0 && section < reading->print->count)
        add_bytes(sha, reading->named[section].byte, sizeof(reading->named[section].byte));
    else
        add_number(sha, section);
}

/* A symbol is what it is called, and where it is; one of a section has no name of its own. */
static bool add_symbol(print_reading *reading, struct sha256_ctx *sha, uint64_t table, uint64_t index)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    if (index == 0 || table == 0 ||
        cuvet_elf_get_symbol(inside->ctx, inside->elf, table, index, &symbol) != CUVET_OK) {
        add_number(sha, index);
        return true;
    }
    if (!spend(reading, RECORD_WORK + symbol.name.n))
        return false;
    add_name(sha, &reading->hash, symbol.name);
    add_number(sha, symbol.value);
    add_home(reading, sha, symbol.shndx);
    return true;
}

static bool add_record(print_reading *reading, struct sha256_ctx *sha, const cuvet_record *record,
                       uint64_t table)
{
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };

    if (!spend(reading, RECORD_WORK + record->bytes.n + record->tail.n))
        return false;
    if ((record->flags & CUVET_RECORD_DECODABLE) == 0)
        add_text(sha, record->bytes);
    while (cuvet_field_next(record, &pos, &field) == CUVET_OK) {
        add_number(sha, field.kind);
        if (field.kind == CUVET_FIELD_SECTION)
            add_home(reading, sha, field.value);
        else if (field.kind != CUVET_FIELD_SYMBOL)
            add_number(sha, field.value);
        else if (!add_symbol(reading, sha, table, field.value))
            return false;
    }
    add_text(sha, record->tail);
    return true;
}

/* ---- what a section says ---- */

/* By which interface attributes were written, and the options of a finalizer, which are scrambled and say
 * also that lines are wanted. */
static bool is_about(const char *attribute)
{
    return attribute && (strcmp(attribute, "CUDA_API_VERSION") == 0 ||
                         strcmp(attribute, "MERCURY_FINALIZER_OPTIONS") == 0);
}

static bool add_attributes(print_reading *reading, struct sha256_ctx *sha, const cuvet_elf_section *section)
{
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    uint64_t pos = 0;

    while (cuvet_tlv_next(section->body, &pos, &tlv) == CUVET_OK) {
        cuvet_record record = { .size = sizeof(record) };

        if (!spend(reading, RECORD_WORK))
            return false;
        if (is_about(cuvet_eiattr_name(tlv.code)))
            continue;
        add_number(sha, tlv.format);
        add_number(sha, tlv.code);
        if (cuvet_attr_record(&tlv, &record) != CUVET_OK) {
            add_number(sha, tlv.value);
            add_text(sha, tlv.payload);
        } else if (!add_record(reading, sha, &record, section->link ? section->link : reading->symbols)) {
            return false;
        }
    }
    return true;
}

/* A capsule, or entries of unified functions and variables; what is behind the last record as well. */
static bool add_table(print_reading *reading, struct sha256_ctx *sha, const cuvet_elf_section *section)
{
    cuvet_section_content content = cuvet_section_get_content(section);
    cuvet_record record = { .size = sizeof(record) };
    uint64_t pos = 0;

    while (cuvet_table_next(content, section->body, &pos, &record) == CUVET_OK)
        if (!add_record(reading, sha, &record, section->link ? section->link : reading->symbols))
            return false;
    if (pos < section->body.n)
        add_text(sha, (cuvet_bytes){ section->body.p + pos, section->body.n - (size_t)pos });
    return spend(reading, section->body.n);
}

/* What is loaded, and attributes and capsules; debug information, notes, tables of names and call graphs are
 * about it. */
static bool counts(const cuvet_elf_section *section)
{
    switch (cuvet_section_get_content(section)) {
    case CUVET_CONTENT_ATTRIBUTES:
    case CUVET_CONTENT_COMPAT:
    case CUVET_CONTENT_UNIFIED:
    case CUVET_CONTENT_CAPSULE: return true;
    case CUVET_CONTENT_DATA:
    case CUVET_CONTENT_NOBITS: return (section->flags & SHF_ALLOC) != 0;
    case CUVET_CONTENT_NOTES:
    case CUVET_CONTENT_CALLGRAPH:
    case CUVET_CONTENT_PROTOTYPES:
    case CUVET_CONTENT_REL_ACTIONS:
    case CUVET_CONTENT_FRAMES:
    case CUVET_CONTENT_SYMBOLS:
    case CUVET_CONTENT_RELOCATIONS:
    case CUVET_CONTENT_STRINGS:
    case CUVET_CONTENT_INDICES: break;
    }
    return false;
}

static bool add_content(print_reading *reading, struct sha256_ctx *sha, const cuvet_elf_section *section)
{
    switch ((int)cuvet_section_get_content(section)) {
    case CUVET_CONTENT_ATTRIBUTES: return add_attributes(reading, sha, section);
    case CUVET_CONTENT_UNIFIED:
    case CUVET_CONTENT_CAPSULE: return add_table(reading, sha, section);
    default: add_text(sha, section->body); return spend(reading, section->body.n);
    }
}

static void keep_whole(print_reading *reading, const cli_digest *digest)
{
    if (reading->n_whole == reading->cap_whole) {
        size_t cap = reading->cap_whole ? 2 * reading->cap_whole : 256;
        cli_digest *more = reallocarray(reading->whole, cap, sizeof(*more));

        reading->full = reading->full || !more;
        if (!more)
            return;
        reading->whole = more;
        reading->cap_whole = cap;
    }
    reading->whole[reading->n_whole++] = *digest;
}

/* The function that a section is of, by the section of its code: what links to it, and its attributes. */
static size_t owner_of(const print_reading *reading, const cuvet_elf_section *section, uint64_t index)
{
    bool linked = (section->flags & SHF_INFO_LINK) != 0 && section->info != index;

    return linked && section->info < reading->print->count ? section->info : 0;
}

static bool read_section(print_reading *reading, uint64_t index, const cuvet_elf_section *section)
{
    cli_fingerprint *print = reading->print;
    size_t owner = owner_of(reading, section, index);
    struct sha256_ctx sha;
    cli_digest digest;

    sha256_init(&sha);
    add_text(&sha, (cuvet_bytes){ (const uint8_t *)section->role, strlen(section->role) });
    add_number(&sha, section->type);
    add_number(&sha, section->flags);
    add_number(&sha, section->align);
    /* Attributes and capsules are as long as the numbers of symbols are. */
    if (cuvet_section_get_content(section) == CUVET_CONTENT_NOBITS)
        add_number(&sha, section->length);
    if (!add_content(reading, &sha, section))
        return false;
    add_bytes(&sha, reading->moved[index].byte, sizeof(reading->moved[index].byte));
    finish(&sha, &print->section[index]);
    if (owner)
        reading->part[reading->n_parts++] = (print_part){ owner, print->section[index] };
    sha256_init(&sha);
    add_bytes(&sha, reading->named[index].byte, sizeof(reading->named[index].byte));
    add_bytes(&sha, print->section[index].byte, sizeof(print->section[index].byte));
    finish(&sha, &digest);
    keep_whole(reading, &digest);
    return true;
}

static bool read_relocations(print_reading *reading, uint64_t table, const cuvet_elf_section *section)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };
    cli_digest *moved = section->info < reading->print->count ? &reading->moved[section->info] : NULL;
    struct sha256_ctx sha;

    if (!moved || section->info == 0)
        return true;
    sha256_init(&sha);
    add_bytes(&sha, moved->byte, sizeof(moved->byte)); /* there may be two tables */
    for (uint64_t i = 0; cuvet_elf_get_reloc(inside->ctx, inside->elf, table, i, &reloc) == CUVET_OK; i++) {
        if (!spend(reading, RECORD_WORK))
            return false;
        add_number(&sha, reloc.off);
        add_number(&sha, reloc.type);
        add_number(&sha, (uint64_t)reloc.addend);
        if (!add_symbol(reading, &sha, section->link, reloc.sym))
            return false;
    }
    finish(&sha, moved);
    return true;
}

/* Functions and variables: who else refers to them does so by their names. */
static bool read_symbols(print_reading *reading)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    for (uint64_t i = 1; reading->symbols; i++) {
        cuvet_symbol_info info = { .size = sizeof(info) };
        struct sha256_ctx sha;
        cli_digest digest;

        if (cuvet_elf_get_symbol(inside->ctx, inside->elf, reading->symbols, i, &symbol) != CUVET_OK)
            break;
        if (cuvet_symbol_get_info(&symbol, &info) != CUVET_OK || (info.flags & CUVET_SYMBOL_SECTION) != 0 ||
            symbol.name.n == 0)
            continue;
        sha256_init(&sha);
        if (!add_symbol(reading, &sha, reading->symbols, i))
            return false;
        add_number(&sha, symbol.info);
        add_number(&sha, symbol.other);
        add_number(&sha, symbol.length);
        finish(&sha, &digest);
        keep_whole(reading, &digest);
    }
    return true;
}

/* ---- in an order that is not the file's ---- */

static int by_bytes(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(cli_digest));
}

static int by_owner(const void *left, const void *right)
{
    const print_part *one = left, *other = right;

    if (one->owner != other->owner)
        return one->owner < other->owner ? -1 : 1;
    return by_bytes(&one->digest, &other->digest);
}

static void put_together(print_reading *reading)
{
    struct sha256_ctx sha;

    if (reading->n_parts > 0)
        qsort(reading->part, reading->n_parts, sizeof(*reading->part), by_owner);
    for (size_t i = 0; i < reading->n_parts;) {
        size_t owner = reading->part[i].owner;

        sha256_init(&sha);
        for (; i < reading->n_parts && reading->part[i].owner == owner; i++)
            add_bytes(&sha, reading->part[i].digest.byte, sizeof(reading->part[i].digest.byte));
        finish(&sha, &reading->print->owned[owner]);
    }
    if (reading->n_whole > 0)
        qsort(reading->whole, reading->n_whole, sizeof(*reading->whole), by_bytes);
    sha256_init(&sha);
    for (size_t i = 0; i < reading->n_whole; i++)
        add_bytes(&sha, reading->whole[i].byte, sizeof(reading->whole[i].byte));
    finish(&sha, &reading->print->whole);
}

/* ---- the whole ---- */

/* All names of symbols: those of sections have their names from them. */
static bool note_hashes(print_reading *reading)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    for (uint64_t i = 1; reading->symbols && cuvet_elf_get_symbol(inside->ctx, inside->elf, reading->symbols,
                                                                  i, &symbol) == CUVET_OK;
         i++) {
        if (!spend(reading, RECORD_WORK + symbol.name.n))
            return false;
        cli_note_hashes(&reading->hash, symbol.name);
    }
    return true;
}

static bool read_names(print_reading *reading)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_section section = { .size = sizeof(section) };

    for (uint64_t i = 1; i < reading->print->count; i++)
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) == CUVET_OK) {
            if (!spend(reading, section.name.n))
                return false;
            cli_note_hashes(&reading->hash, section.name);
        }
    for (uint64_t i = 1; i < reading->print->count; i++) {
        struct sha256_ctx sha;

        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK ||
            !spend(reading, RECORD_WORK + section.name.n))
            return false;
        sha256_init(&sha);
        add_name(&sha, &reading->hash, section.name);
        finish(&sha, &reading->named[i]);
    }
    return true;
}

/* Form and machine. Of the flags all but which section the notes are in. */
static bool read_header(print_reading *reading)
{
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };
    struct sha256_ctx sha;
    cli_digest digest;

    if (cuvet_elf_get_header(reading->inside->ctx, reading->inside->elf, &header) != CUVET_OK)
        return false;
    sha256_init(&sha);
    add_number(&sha, header.marks & CUVET_ELF_32BIT);
    add_number(&sha, header.osabi);
    add_number(&sha, header.abiversion);
    add_number(&sha, header.type);
    add_number(&sha, header.machine);
    add_number(&sha, header.sm);
    while (cuvet_eflags_next(&header, &pos, &field) == CUVET_OK)
        if (strcmp(field.name, "note section") != 0) {
            add_text(&sha, (cuvet_bytes){ (const uint8_t *)field.name, strlen(field.name) });
            add_number(&sha, field.value);
        }
    finish(&sha, &digest);
    keep_whole(reading, &digest);
    return true;
}

static bool read_all(print_reading *reading)
{
    const cli_inside *inside = reading->inside;
    const uint64_t count = reading->print->count;
    cuvet_elf_section section = { .size = sizeof(section) };

    if (cuvet_elf_get_symtab(inside->ctx, inside->elf, 0, &reading->symbols) != CUVET_OK ||
        !note_hashes(reading) || !read_names(reading) || !read_header(reading))
        return false;
    for (uint64_t i = 1; i < count; i++) {
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK)
            return false;
        if (cuvet_section_get_content(&section) == CUVET_CONTENT_RELOCATIONS &&
            !read_relocations(reading, i, &section))
            return false;
    }
    for (uint64_t i = 1; i < count; i++) {
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK)
            return false;
        if (counts(&section) && !read_section(reading, i, &section))
            return false;
    }
    if (!read_symbols(reading) || reading->full)
        return false;
    put_together(reading);
    return true;
}

bool cli_fingerprint_read(cli_fingerprint *print, const cli_inside *inside, cli_looking *looking,
                          const cli_session *session)
{
    const size_t count = inside->has ? inside->use.count : 0;
    print_reading reading = { .print = print, .inside = inside, .looking = looking, .session = session };
    bool good = count > 0;

    *print = (cli_fingerprint){ .count = 0 };
    if (!good)
        return false;
    print->section = calloc(count, sizeof(*print->section));
    print->owned = calloc(count, sizeof(*print->owned));
    reading.moved = calloc(count, sizeof(*reading.moved));
    reading.named = calloc(count, sizeof(*reading.named));
    reading.part = calloc(count, sizeof(*reading.part));
    print->count = count;
    reading.full = !print->section || !print->owned || !reading.moved || !reading.named || !reading.part;
    good = !reading.full && read_all(&reading);
    if (reading.full) {
        cli_complain(session->in->name, "out of memory");
        looking->rc = cli_worse(looking->rc, CLI_X_INTERNAL);
    }
    free(reading.moved);
    free(reading.named);
    free(reading.part);
    free(reading.whole);
    if (!good)
        print->count = 0;
    return good;
}

void cli_fingerprint_function(const cli_fingerprint *print, size_t section, cli_digest *out)
{
    struct sha256_ctx sha;

    *out = (cli_digest){ { 0 } };
    if (section >= print->count)
        return;
    sha256_init(&sha);
    add_bytes(&sha, print->section[section].byte, sizeof(print->section[section].byte));
    add_bytes(&sha, print->owned[section].byte, sizeof(print->owned[section].byte));
    finish(&sha, out);
}

void cli_fingerprint_free(cli_fingerprint *print)
{
    free(print->section);
    free(print->owned);
    *print = (cli_fingerprint){ .count = 0 };
}
