/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"

#include "../demangle.h"
#include "../fingerprint.h"

#include <string.h>

/* Kernels of one record. */
#define RUN_MOST 512u
/* Bytes of a name of a kernel. */
#define NAME_MOST 2048u

/* ---- sums ---- */

/* The last one stands for all others. */
static page_code *find_code(page_doc *page, const char *name, const char *kind)
{
    for (size_t i = 0; i < page->file.n_codes; i++)
        if (strcmp(page->file.code[i].name, name) == 0 && page->file.code[i].kind == kind)
            return &page->file.code[i];
    if (page->file.n_codes == PAGE_CODES)
        return &page->file.code[PAGE_CODES - 1];
    page->file.code[page->file.n_codes] = (page_code){ .kind = kind };
    (void)snprintf(page->file.code[page->file.n_codes].name, PAGE_CODE, "%s",
                   page->file.n_codes == PAGE_CODES - 1 ? "others" : name);
    return &page->file.code[page->file.n_codes++];
}

static void add_to(uint64_t *sum, uint64_t value)
{
    *sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

/* In a container that is a piece itself, whose bytes are counted as that. */
static bool is_nested(const cuvet_item *item)
{
    size_t containers = 0;

    for (uint32_t i = 0; i < item->where.n && i < CUVET_PATH_MAX; i++)
        containers += item->where.step[i].kind == CUVET_P_FATBIN;
    return containers > 1;
}

static void add_up(page_doc *page, const cuvet_item *item, const char *arch, uint64_t kernels)
{
    page_code *code = find_code(page, arch, cuvet_kind_name(item->kind));

    code->pieces++;
    if (!is_nested(item)) {
        add_to(&code->stored, item->stored_size);
        add_to(&code->size, item->unpacked_size);
    }
    add_to(&code->kernels, kernels);
    add_to(&page->file.kernels, kernels);
    add_to(&page->sums.kernels, kernels);
}

void page_put_codes(page_doc *page)
{
    for (size_t i = 0; i < page->file.n_codes; i++) {
        const page_code *code = &page->file.code[i];

        page_open(page, "a");
        cli_record_string(&page->record, NULL, code->name);
        cli_record_string(&page->record, NULL, code->kind);
        cli_record_u64(&page->record, NULL, code->pieces);
        cli_record_u64(&page->record, NULL, code->stored);
        cli_record_u64(&page->record, NULL, code->size);
        cli_record_u64(&page->record, NULL, code->kernels);
        page_close(page, PAGE_FILES);
    }
    page->file.n_codes = 0;
}

/* ---- kernels ---- */

/* Bytes of the section that a kernel's code is in. */
static uint64_t code_size(const cli_inside *inside, size_t index)
{
    cuvet_elf_section section = { .size = sizeof(section) };

    return index > 0 && cuvet_elf_get_section(inside->ctx, inside->elf, index, &section) == CUVET_OK
               ? section.length
               : 0;
}

static void put_kernel(page_doc *page, const cli_inside *inside, const cli_kernel *kernel)
{
    const cli_function *function = &inside->use.function[kernel->function];
    cli_record *record = &page->run;
    cuvet_bytes name = cli_demangle(kernel->name);

    cli_record_u64(record, NULL, page_text(page, PAGE_KERNELS, name.p, name.n, NAME_MOST));
    cli_record_u64(record, NULL, code_size(inside, kernel->function));
    cli_record_u64(record, NULL, function->registers);
    cli_stack_json(record, NULL, function->stack);
    cli_record_u64(record, NULL, function->shared);
    cli_record_u64(record, NULL, function->local);
    cli_record_u64(record, NULL, function->barriers);
}

static void put_kernels(page_doc *page, const cli_inside *inside)
{
    for (size_t i = 0; i < inside->use.n_kernels && page_has_room(page, PAGE_KERNELS);) {
        size_t end = inside->use.n_kernels - i < RUN_MOST ? inside->use.n_kernels : i + RUN_MOST;

        page_open_in(&page->run, "k");
        for (; i < end && page_has_room(page, PAGE_KERNELS); i++)
            put_kernel(page, inside, &inside->use.kernel[i]);
        page_close_from(page, &page->run, PAGE_KERNELS);
    }
}

typedef struct entries {
    page_doc *page;
    bool shown; /* their piece is */
    uint64_t count;
} entries;

static bool put_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    entries *list = user;
    uint32_t text;

    (void)digest;
    list->count++;
    if (!list->shown || !page_has_room(list->page, PAGE_KERNELS))
        return true;
    name = cli_demangle(name);
    text = page_text(list->page, PAGE_KERNELS, name.p, name.n, NAME_MOST);
    page_open(list->page, "t");
    cli_record_u64(&list->page->record, NULL, text);
    page_close(list->page, PAGE_KERNELS);
    return true;
}

/* What a section's name begins with, so that the rest is the name of a kernel, which is there already. */
static const char *front_of(cuvet_bytes name)
{
    static const char *const FRONT[] = {
        ".text.",     ".nv.info.",   ".nv.shared.",       ".nv.constant0.",
        ".rel.text.", ".rela.text.", ".nv.capmerc.text.", ".nv.merc.nv.info."
    };

    for (size_t i = 0; i < sizeof(FRONT) / sizeof(FRONT[0]); i++)
        if (cli_begins_with(name, FRONT[i]))
            return FRONT[i];
    return "";
}

/* @param before the front of the section before, which is not said again @return that of this one */
static uint32_t add_section(page_doc *page, const cli_inside *inside, size_t index, uint32_t before)
{
    cuvet_elf_section section = { .size = sizeof(section) };
    page_list *list = &page->ledger.list;
    const char *front, *sign = page_list_comma(list);
    uint32_t number, rest;

    if (cuvet_elf_get_section(inside->ctx, inside->elf, index, &section) != CUVET_OK)
        section.name = (cuvet_bytes){ (const uint8_t *)"", 0 };
    front = front_of(section.name);
    number = page_string(page, PAGE_INNER, front);
    rest = page_text(page, PAGE_INNER, section.name.p + strlen(front), section.name.n - strlen(front),
                     NAME_MOST);
    if (number != before || !*sign) {
        page_list_add(list, sign, number);
        sign = ".";
    }
    page_list_add(list, sign, rest);
    return number;
}

/* Names of what the ledger has numbers of. */
static void put_sections(page_doc *page, const cli_inside *inside)
{
    for (size_t i = 1; i < inside->use.count && page_has_room(page, PAGE_INNER);) {
        size_t first = i;
        uint32_t front = 0;

        for (; i < inside->use.count && page_has_room(page, PAGE_INNER) &&
               page_list_has_room(&page->ledger.list);
             i++)
            front = add_section(page, inside, i, front);
        page_open(page, "n");
        cli_record_u64(&page->record, NULL, first);
        page_list_put(page);
        page_close(page, PAGE_INNER);
    }
}

/* ---- pieces ---- */

static void put_piece(page_doc *page, const cuvet_item *item, const char *arch)
{
    char producer[128];
    cli_record *record = &page->record;
    const uint32_t path = page_path(page, PAGE_PIECES, &item->where),
                   kind = page_string(page, PAGE_PIECES, cuvet_kind_name(item->kind)),
                   code = page_string(page, PAGE_PIECES, arch);
    uint32_t compression = page_string(page, PAGE_PIECES, cuvet_compression_name(item->compression)), maker;

    cli_producer_text(&item->producer, producer, sizeof(producer));
    maker = page_string(page, PAGE_PIECES, producer);
    page_open(page, "p");
    cli_record_u64(record, NULL, path);
    cli_record_u64(record, NULL, kind);
    cli_record_u64(record, NULL, code);
    cli_record_u64(record, NULL, item->stored_size);
    cli_record_u64(record, NULL, item->unpacked_size);
    cli_record_u64(record, NULL, compression);
    cli_record_u64(record, NULL, item->payload_off);
    cli_record_u64(record, NULL, maker);
    cli_record_u64(record, NULL, item->errors);
    cli_record_u64(record, NULL, item->warnings);
    cli_record_u64(record, NULL, is_nested(item));
    if (item->ar_name)
        cli_record_cut(record, NULL, item->ar_name, item->ar_name_len, CLI_MEMBER_CAP);
    page_close(page, PAGE_PIECES);
    page->file.shown_pieces++;
}

void page_add_piece(page_doc *page, const cuvet_item *item, const cli_inside *inside)
{
    bool shown = page_has_room(page, PAGE_PIECES);
    entries list = { page, shown, 0 };
    cli_digest digest;
    char arch[32];

    page_end_run(page);
    page_put_findings(page, item, inside);
    cli_arch_text(item, arch, sizeof(arch));
    page->sums.pieces++;
    if (shown)
        put_piece(page, item, arch);
    if (item->kind == CUVET_K_PTX && inside->unpacked)
        (void)cli_fingerprint_text(inside->bytes, &page->looking, page->session, &digest, put_entry, &list);
    add_up(page, item, arch, inside->has ? inside->use.n_kernels : list.count);
    if (!shown || !inside->has)
        return;
    put_kernels(page, inside);
    put_sections(page, inside);
}
