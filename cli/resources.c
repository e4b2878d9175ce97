/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "resources.h"

#include <stdlib.h>
#include <string.h>

typedef struct resource_reading {
    cli_resources *resources;
    cuvet_ctx *ctx;
    cuvet_elf elf;
    uint32_t *home; /* section of a function's symbol, by symbol */
    uint64_t n_symbols;
    uint64_t work;
} resource_reading;

static bool is_name(cuvet_bytes name, const char *text)
{
    return name.n == strlen(text) && cli_begins_with(name, text);
}

static bool is_same_name(cuvet_bytes left, cuvet_bytes right)
{
    return left.p && right.p && left.n == right.n && memcmp(left.p, right.p, left.n) == 0;
}

static bool spend_work(resource_reading *reading, uint64_t count)
{
    if (count > reading->work)
        reading->resources->cut = true;
    else
        reading->work -= count;
    return !reading->resources->cut;
}

/* Code: its name, and the register count of older tools, which is in the section header. */
static void read_text(cli_function *function, const cuvet_elf_section *section)
{
    function->name = (cuvet_bytes){ section->name.p + strlen(".text."), section->name.n - strlen(".text.") };
    function->registers = cuvet_section_get_registers(section);
}

static bool add_constant(cli_resources *resources, uint64_t section, uint32_t bank, uint64_t size)
{
    if (resources->n_constants == resources->cap_constants) {
        size_t cap = resources->cap_constants ? 2 * resources->cap_constants : 32;
        cli_constant *more = reallocarray(resources->constant, cap, sizeof(*more));

        if (!more)
            return false;
        resources->constant = more;
        resources->cap_constants = cap;
    }
    resources->constant[resources->n_constants++] = (cli_constant){ section, bank, size };
    return true;
}

/* ".nv.constant3" of the file, ".nv.constant0.NAME" of a function. */
static bool read_constant(cli_resources *resources, const cuvet_elf_section *section)
{
    size_t at = strlen(".nv.constant");
    uint32_t bank = 0;
    bool digits = false;

    for (; at < section->name.n && section->name.p[at] >= '0' && section->name.p[at] <= '9' && bank < 1000;
         at++) {
        bank = bank * 10 + (uint32_t)(section->name.p[at] - '0');
        digits = true;
    }
    if (!digits)
        return true;
    if (at == section->name.n)
        return add_constant(resources, 0, bank, section->length);
    return section->name.p[at] != '.' || section->info == 0 || section->info >= resources->count ||
           add_constant(resources, section->info, bank, section->length);
}

static bool read_section(resource_reading *reading, uint64_t index, const cuvet_elf_section *section)
{
    cli_resources *resources = reading->resources;
    cli_function *owner =
        section->info > 0 && section->info < resources->count ? &resources->function[section->info] : NULL;

    if (cli_begins_with(section->name, ".text.") &&
        cuvet_section_get_content(section) != CUVET_CONTENT_NOBITS)
        read_text(&resources->function[index], section);
    else if (cli_begins_with(section->name, ".nv.constant"))
        return read_constant(resources, section);
    else if (owner && cli_begins_with(section->name, ".nv.shared."))
        owner->shared = section->length;
    else if (owner && cli_begins_with(section->name, ".nv.local."))
        owner->local = section->length;
    else if (is_name(section->name, ".nv.global") || is_name(section->name, ".nv.global.init"))
        resources->global += section->length;
    return true;
}

static bool add_kernel(cli_resources *resources, const cuvet_elf_symbol *symbol)
{
    if (resources->n_kernels == resources->cap_kernels) {
        size_t cap = resources->cap_kernels ? 2 * resources->cap_kernels : 32;
        cli_kernel *more = reallocarray(resources->kernel, cap, sizeof(*more));

        if (!more)
            return false;
        resources->kernel = more;
        resources->cap_kernels = cap;
    }
    resources->kernel[resources->n_kernels++] =
        (cli_kernel){ symbol->name, symbol->shndx < resources->count ? symbol->shndx : 0 };
    return true;
}

/* A function with code of its own has a section; those inside of another one's code have its resources. */
static bool read_symbol(resource_reading *reading, const cuvet_elf_symbol *symbol, uint32_t *home)
{
    cuvet_symbol_info info = { .size = sizeof(info) };

    if (cuvet_symbol_get_info(symbol, &info) != CUVET_OK || !(info.flags & CUVET_SYMBOL_FUNCTION))
        return true;
    if (info.flags & CUVET_SYMBOL_KERNEL && !add_kernel(reading->resources, symbol))
        return false;
    if (symbol->shndx >= reading->resources->count)
        return true;
    if (is_same_name(symbol->name, reading->resources->function[symbol->shndx].name))
        *home = symbol->shndx;
    if (info.flags & CUVET_SYMBOL_KERNEL)
        reading->resources->function[symbol->shndx].kernel = true;
    return true;
}

static bool read_symbols(resource_reading *reading)
{
    uint64_t table, cap = 0;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    if (cuvet_elf_get_symtab(reading->ctx, reading->elf, 0, &table) != CUVET_OK || table == 0)
        return true;
    for (uint64_t i = 0; spend_work(reading, 24); i++) {
        if (cuvet_elf_get_symbol(reading->ctx, reading->elf, table, i, &symbol) != CUVET_OK ||
            !spend_work(reading, symbol.name.n / 8))
            break;
        if (i == cap) {
            uint64_t more = cap ? 2 * cap : 256;
            uint32_t *home = reallocarray(reading->home, (size_t)more, sizeof(*home));

            if (!home)
                return false;
            memset(home + cap, 0, (size_t)(more - cap) * sizeof(*home));
            reading->home = home;
            cap = more;
        }
        reading->n_symbols = i + 1;
        if (i > 0 && !read_symbol(reading, &symbol, &reading->home[i]))
            return false;
    }
    return true;
}

/* The function that a record is about, and how much of something it needs. False: it is not such a record. */
static bool read_need(const cuvet_tlv *tlv, uint64_t *symbol, uint32_t *count)
{
    cuvet_record record = { .size = sizeof(record) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };
    bool found = false;

    *symbol = 0;
    if (cuvet_attr_record(tlv, &record) != CUVET_OK)
        return false;
    while (cuvet_field_next(&record, &pos, &field) == CUVET_OK) {
        if (field.kind == CUVET_FIELD_SYMBOL)
            *symbol = field.value;
        found = field.kind == CUVET_FIELD_COUNT;
        if (found)
            *count = (uint32_t)field.value;
    }
    return found && *symbol != 0;
}

/* The records of .nv.info that name a function and say how much of something it needs; in the part of a
 * function, own, also what it says of it alone. */
static void read_info(resource_reading *reading, cuvet_bytes body, cli_function *own)
{
    uint64_t pos = 0, symbol;
    uint32_t count = 0;
    cuvet_tlv tlv = { .size = sizeof(tlv) };

    while (spend_work(reading, 4) && cuvet_tlv_next(body, &pos, &tlv) == CUVET_OK) {
        const char *name = cuvet_eiattr_name(tlv.code);
        cli_function *function;

        if (name && own && strcmp(name, "NUM_BARRIERS") == 0)
            own->barriers = tlv.value;
        if (!name || (strcmp(name, "REGCOUNT") != 0 && strcmp(name, "MIN_STACK_SIZE") != 0) ||
            !read_need(&tlv, &symbol, &count) || symbol >= reading->n_symbols || reading->home[symbol] == 0)
            continue;
        function = &reading->resources->function[reading->home[symbol]];
        if (*name == 'R')
            function->registers = count;
        else
            function->stack = count;
    }
}

static int by_section(const void *left, const void *right)
{
    const cli_constant *first = left, *second = right;

    if (first->section != second->section)
        return first->section < second->section ? -1 : 1;
    return first->bank < second->bank ? -1 : first->bank > second->bank;
}

static void sort_constants(cli_resources *resources)
{
    if (resources->n_constants > 0)
        qsort(resources->constant, resources->n_constants, sizeof(*resources->constant), by_section);
    for (size_t i = 0; i < resources->n_constants; i++) {
        cli_function *function = &resources->function[resources->constant[i].section];

        if (resources->constant[i].section == 0) {
            resources->n_common++;
            continue;
        }
        if (function->n_constants++ == 0)
            function->constant = i;
    }
}

static cuvet_status read_all(resource_reading *reading)
{
    cuvet_elf_section section = { .size = sizeof(section) };

    for (uint64_t i = 1; i < reading->resources->count && spend_work(reading, 64); i++) {
        if (cuvet_elf_get_section(reading->ctx, reading->elf, i, &section) != CUVET_OK ||
            !spend_work(reading, section.name.n / 16))
            break;
        if (!read_section(reading, i, &section))
            return CUVET_E_NOMEM;
    }
    if (!read_symbols(reading))
        return CUVET_E_NOMEM;
    for (uint64_t i = 1; reading->home && i < reading->resources->count && spend_work(reading, 64); i++) {
        if (cuvet_elf_get_section(reading->ctx, reading->elf, i, &section) != CUVET_OK ||
            !spend_work(reading, section.name.n / 16))
            break;
        if (cli_begins_with(section.name, ".nv.info"))
            read_info(reading, section.body,
                      cli_begins_with(section.name, ".nv.info.") && section.info < reading->resources->count
                          ? &reading->resources->function[section.info]
                          : NULL);
    }
    sort_constants(reading->resources);
    return CUVET_OK;
}

cuvet_status cli_resources_read(cli_resources *resources, cuvet_ctx *ctx, cuvet_elf elf, uint64_t *work)
{
    resource_reading reading = { .resources = resources, .ctx = ctx, .elf = elf, .work = *work };
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_status status = cuvet_elf_get_header(ctx, elf, &header);

    *resources = (cli_resources){ .count = 0 };
    if (status != CUVET_OK)
        return status;
    resources->count = (size_t)header.n_sections;
    resources->function = calloc(resources->count + 1, sizeof(*resources->function));
    status = resources->function ? read_all(&reading) : CUVET_E_NOMEM;
    free(reading.home);
    *work = reading.work;
    return status;
}

void cli_resources_free(cli_resources *resources)
{
    free(resources->function);
    free(resources->kernel);
    free(resources->constant);
    *resources = (cli_resources){ .count = 0 };
}
