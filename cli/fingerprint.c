/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fingerprint.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* What looking at a record costs, besides the bytes of its name. */
#define RECORD_WORK 24

typedef struct fingerprint_reading {
    cli_fingerprint *print;
    const cli_inside *inside;
    cli_looking *looking;
    const cli_session *session;
    cli_digest *moved; /* by section: its relocations */
    bool code;         /* there is machine code */
} fingerprint_reading;

static void add_bytes(struct sha256_ctx *sha, const void *bytes, size_t size)
{
    if (size > 0)
        sha256_update(sha, size, bytes);
}

/* Little endian, whatever machine this is. */
static void add_number(struct sha256_ctx *sha, uint64_t value)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(value >> (8 * i) & UINT8_MAX);
    sha256_update(sha, sizeof(bytes), bytes);
}

static void add_text(struct sha256_ctx *sha, cuvet_bytes text)
{
    add_number(sha, text.n);
    add_bytes(sha, text.p, text.n);
}

static void finish(struct sha256_ctx *sha, cli_digest *out)
{
    sha256_digest(sha, sizeof(out->byte), out->byte);
}

/* More behind what there is already. */
static void chain(cli_digest *to, const cli_digest *more)
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    add_bytes(&sha, to->byte, sizeof(to->byte));
    add_bytes(&sha, more->byte, sizeof(more->byte));
    finish(&sha, to);
}

/* A capsule is another form of code that is there: it counts where it is the only one. */
static bool is_loaded(const fingerprint_reading *reading, const cuvet_elf_section *section)
{
    cuvet_section_content content = cuvet_section_get_content(section);

    return (content == CUVET_CONTENT_CAPSULE && !reading->code) ||
           ((section->flags & SHF_ALLOC) != 0 &&
            (content == CUVET_CONTENT_DATA || content == CUVET_CONTENT_NOBITS));
}

/* A symbol is what it is called; one of a section has no name of its own. */
static bool add_symbol(fingerprint_reading *reading, struct sha256_ctx *sha, uint64_t table, uint64_t index)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };
    cuvet_elf_section section = { .size = sizeof(section) };
    cuvet_symbol_info info = { .size = sizeof(info) };

    if (index == 0 || cuvet_elf_get_symbol(inside->ctx, inside->elf, table, index, &symbol) != CUVET_OK) {
        add_number(sha, index);
        return true;
    }
    if (!cli_looking_spend(reading->looking, reading->session, symbol.name.n))
        return false;
    if (symbol.name.n > 0) {
        add_text(sha, symbol.name);
    } else if (cuvet_symbol_get_info(&symbol, &info) == CUVET_OK &&
               cuvet_elf_get_section(inside->ctx, inside->elf, symbol.shndx, &section) == CUVET_OK) {
        add_text(sha, section.name);
    }
    add_number(sha, symbol.value);
    return true;
}

static bool read_relocations(fingerprint_reading *reading, uint64_t table, const cuvet_elf_section *section)
{
    const cli_inside *inside = reading->inside;
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };
    struct sha256_ctx sha;
    cli_digest digest;

    if (section->info == 0 || section->info >= reading->print->count)
        return true;
    sha256_init(&sha);
    for (uint64_t i = 0; cuvet_elf_get_reloc(inside->ctx, inside->elf, table, i, &reloc) == CUVET_OK; i++) {
        if (!cli_looking_spend(reading->looking, reading->session, RECORD_WORK))
            return false;
        add_number(&sha, reloc.off);
        add_number(&sha, reloc.type);
        add_number(&sha, (uint64_t)reloc.addend);
        if (!add_symbol(reading, &sha, section->link, reloc.sym))
            return false;
    }
    finish(&sha, &digest);
    chain(&reading->moved[section->info], &digest);
    return true;
}

static bool read_bytes(fingerprint_reading *reading, uint64_t index, const cuvet_elf_section *section)
{
    cli_fingerprint *print = reading->print;
    struct sha256_ctx sha;

    if (!cli_looking_spend(reading->looking, reading->session, section->body.n))
        return false;
    sha256_init(&sha);
    add_text(&sha, (cuvet_bytes){ (const uint8_t *)section->role, strlen(section->role) });
    add_number(&sha, section->length);
    add_bytes(&sha, section->body.p, section->body.n);
    add_bytes(&sha, reading->moved[index].byte, sizeof(reading->moved[index].byte));
    finish(&sha, &print->section[index]);
    if (section->info > 0 && section->info < print->count && section->info != index)
        chain(&print->owned[section->info], &print->section[index]);
    return true;
}

static int by_bytes(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(cli_digest));
}

/* In an order that is not the file's. 'moved' has served. */
static void read_whole(const fingerprint_reading *reading, size_t count)
{
    struct sha256_ctx sha;

    if (count > 0)
        qsort(reading->moved, count, sizeof(*reading->moved), by_bytes);
    sha256_init(&sha);
    for (size_t i = 0; i < count; i++)
        add_bytes(&sha, reading->moved[i].byte, sizeof(reading->moved[i].byte));
    finish(&sha, &reading->print->whole);
}

static bool read_sections(fingerprint_reading *reading)
{
    const cli_inside *inside = reading->inside;
    const uint64_t count = reading->print->count;
    cuvet_elf_section section = { .size = sizeof(section) };
    size_t loaded = 0;

    for (uint64_t i = 1; i < count; i++) {
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK ||
            !cli_looking_spend(reading->looking, reading->session, RECORD_WORK))
            return false;
        if (cuvet_section_get_content(&section) == CUVET_CONTENT_RELOCATIONS &&
            !read_relocations(reading, i, &section))
            return false;
    }
    for (uint64_t i = 1; i < count; i++) {
        struct sha256_ctx sha;

        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) != CUVET_OK)
            return false;
        if (!is_loaded(reading, &section))
            continue;
        if (!read_bytes(reading, i, &section) ||
            !cli_looking_spend(reading->looking, reading->session, section.name.n))
            return false;
        sha256_init(&sha);
        add_text(&sha, section.name);
        add_bytes(&sha, reading->print->section[i].byte, sizeof(reading->print->section[i].byte));
        finish(&sha, &reading->moved[loaded++]); /* of a section that was read already */
    }
    read_whole(reading, loaded);
    return true;
}

bool cli_fingerprint_read(cli_fingerprint *print, const cli_inside *inside, cli_looking *looking,
                          const cli_session *session)
{
    fingerprint_reading reading = {
        .print = print, .inside = inside, .looking = looking, .session = session
    };
    bool good = inside->has && inside->use.count > 0;

    *print = (cli_fingerprint){ .count = 0 };
    if (!good)
        return false;
    print->section = calloc(inside->use.count, sizeof(*print->section));
    print->owned = calloc(inside->use.count, sizeof(*print->owned));
    reading.moved = calloc(inside->use.count, sizeof(*reading.moved));
    if (print->section && print->owned && reading.moved) {
        print->count = inside->use.count;
        for (size_t i = 0; i < print->count; i++)
            reading.code = reading.code || inside->use.function[i].name.p;
        good = read_sections(&reading);
    } else {
        cli_complain(session->in->name, "out of memory");
        looking->rc = cli_worse(looking->rc, CLI_X_INTERNAL);
        good = false;
    }
    free(reading.moved);
    if (!good)
        print->count = 0;
    return good;
}

void cli_fingerprint_function(const cli_fingerprint *print, size_t section, cli_digest *out)
{
    *out = section < print->count ? print->section[section] : (cli_digest){ { 0 } };
    if (section < print->count)
        chain(out, &print->owned[section]);
}

void cli_fingerprint_free(cli_fingerprint *print)
{
    free(print->section);
    free(print->owned);
    *print = (cli_fingerprint){ .count = 0 };
}
