/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "resources.h"

#include <stdlib.h>
#include <string.h>

typedef struct reading {
    cli_resources *r;
    cuvet_ctx *ctx;
    cuvet_elf elf;
    uint32_t *home; /* section of a function's symbol, by symbol */
    uint64_t n_symbols;
    uint64_t work;
} reading;

static bool starts(cuvet_bytes name, const char *prefix)
{
    size_t n = strlen(prefix);

    return name.n >= n && memcmp(name.p, prefix, n) == 0;
}

static bool is(cuvet_bytes name, const char *text)
{
    return name.n == strlen(text) && starts(name, text);
}

static bool same(cuvet_bytes a, cuvet_bytes b)
{
    return a.p && b.p && a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool spend(reading *w, uint64_t n)
{
    if (n > w->work)
        w->r->cut = true;
    else
        w->work -= n;
    return !w->r->cut;
}

/* Code: its name, and the register count of older tools, which is in the section header. */
static void read_text(cli_function *f, const cuvet_elf_section *s)
{
    f->name = (cuvet_bytes){ s->name.p + strlen(".text."), s->name.n - strlen(".text.") };
    f->registers = cuvet_section_get_registers(s);
}

static bool add_constant(cli_resources *r, uint64_t section, uint32_t bank, uint64_t size)
{
    if (r->n_constants == r->cap_constants) {
        size_t cap = r->cap_constants ? 2 * r->cap_constants : 32;
        cli_constant *more = reallocarray(r->constant, cap, sizeof(*more));

        if (!more)
            return false;
        r->constant = more;
        r->cap_constants = cap;
    }
    r->constant[r->n_constants++] = (cli_constant){ section, bank, size };
    return true;
}

/* ".nv.constant3" of the file, ".nv.constant0.NAME" of a function. */
static bool read_constant(cli_resources *r, const cuvet_elf_section *s)
{
    size_t at = strlen(".nv.constant");
    uint32_t bank = 0;
    bool digits = false;

    for (; at < s->name.n && s->name.p[at] >= '0' && s->name.p[at] <= '9' && bank < 1000; at++) {
        bank = bank * 10 + (uint32_t)(s->name.p[at] - '0');
        digits = true;
    }
    if (!digits)
        return true;
    if (at == s->name.n)
        return add_constant(r, 0, bank, s->length);
    return s->name.p[at] != '.' || s->info == 0 || s->info >= r->n ||
           add_constant(r, s->info, bank, s->length);
}

static bool read_section(reading *w, uint64_t i, const cuvet_elf_section *s)
{
    cli_resources *r = w->r;
    cli_function *owner = s->info > 0 && s->info < r->n ? &r->function[s->info] : NULL;

    if (starts(s->name, ".text.") && cuvet_section_get_content(s) != CUVET_CONTENT_NOBITS)
        read_text(&r->function[i], s);
    else if (starts(s->name, ".nv.constant"))
        return read_constant(r, s);
    else if (owner && starts(s->name, ".nv.shared."))
        owner->shared = s->length;
    else if (owner && starts(s->name, ".nv.local."))
        owner->local = s->length;
    else if (is(s->name, ".nv.global") || is(s->name, ".nv.global.init"))
        r->global += s->length;
    return true;
}

static bool add_kernel(cli_resources *r, const cuvet_elf_symbol *y)
{
    if (r->n_kernels == r->cap_kernels) {
        size_t cap = r->cap_kernels ? 2 * r->cap_kernels : 32;
        cli_kernel *more = reallocarray(r->kernel, cap, sizeof(*more));

        if (!more)
            return false;
        r->kernel = more;
        r->cap_kernels = cap;
    }
    r->kernel[r->n_kernels++] = (cli_kernel){ y->name, y->shndx < r->n ? y->shndx : 0 };
    return true;
}

/* A function with code of its own has a section; those inside of another one's code have its resources. */
static bool read_symbol(reading *w, const cuvet_elf_symbol *y, uint32_t *home)
{
    cuvet_symbol_info info = { .size = sizeof(info) };

    if (cuvet_symbol_get_info(y, &info) != CUVET_OK || !(info.flags & CUVET_SYMBOL_FUNCTION))
        return true;
    if (info.flags & CUVET_SYMBOL_KERNEL && !add_kernel(w->r, y))
        return false;
    if (y->shndx >= w->r->n)
        return true;
    if (same(y->name, w->r->function[y->shndx].name))
        *home = y->shndx;
    if (info.flags & CUVET_SYMBOL_KERNEL)
        w->r->function[y->shndx].kernel = true;
    return true;
}

static bool read_symbols(reading *w)
{
    uint64_t table, cap = 0;
    cuvet_elf_symbol y = { .size = sizeof(y) };

    if (cuvet_elf_get_symtab(w->ctx, w->elf, false, &table) != CUVET_OK || table == 0)
        return true;
    for (uint64_t i = 0; spend(w, 24); i++) {
        if (cuvet_elf_get_symbol(w->ctx, w->elf, table, i, &y) != CUVET_OK || !spend(w, y.name.n / 8))
            break;
        if (i == cap) {
            uint64_t more = cap ? 2 * cap : 256;
            uint32_t *home = reallocarray(w->home, (size_t)more, sizeof(*home));

            if (!home)
                return false;
            memset(home + cap, 0, (size_t)(more - cap) * sizeof(*home));
            w->home = home;
            cap = more;
        }
        w->n_symbols = i + 1;
        if (i > 0 && !read_symbol(w, &y, &w->home[i]))
            return false;
    }
    return true;
}

/* The function that a record is about, and how much of something it needs. False: it is not such a record. */
static bool read_need(const cuvet_tlv *tlv, uint64_t *symbol, uint32_t *count)
{
    cuvet_record r = { .size = sizeof(r) };
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos pos = { 0 };
    bool found = false;

    *symbol = 0;
    if (cuvet_attr_record(tlv, &r) != CUVET_OK)
        return false;
    while (cuvet_field_next(&r, &pos, &f) == CUVET_OK) {
        if (f.kind == CUVET_FIELD_SYMBOL)
            *symbol = f.value;
        found = f.kind == CUVET_FIELD_COUNT;
        if (found)
            *count = (uint32_t)f.value;
    }
    return found && *symbol != 0;
}

/* The records of .nv.info that name a function and say how much of something it needs; in the part of a
 * function, own, also what it says of it alone. */
static void read_info(reading *w, cuvet_bytes body, cli_function *own)
{
    uint64_t pos = 0, symbol;
    uint32_t count = 0;
    cuvet_tlv t = { .size = sizeof(t) };

    while (spend(w, 4) && cuvet_tlv_next(body, &pos, &t) == CUVET_OK) {
        const char *name = cuvet_eiattr_name(t.code);
        cli_function *f;

        if (name && own && strcmp(name, "NUM_BARRIERS") == 0)
            own->barriers = t.value;
        if (!name || (strcmp(name, "REGCOUNT") != 0 && strcmp(name, "MIN_STACK_SIZE") != 0) ||
            !read_need(&t, &symbol, &count) || symbol >= w->n_symbols || w->home[symbol] == 0)
            continue;
        f = &w->r->function[w->home[symbol]];
        if (*name == 'R')
            f->registers = count;
        else
            f->stack = count == UINT32_MAX ? 0 : count;
    }
}

static int by_section(const void *a, const void *b)
{
    const cli_constant *x = a, *y = b;

    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    return x->bank < y->bank ? -1 : x->bank > y->bank;
}

static void sort_constants(cli_resources *r)
{
    if (r->n_constants > 0)
        qsort(r->constant, r->n_constants, sizeof(*r->constant), by_section);
    for (size_t i = 0; i < r->n_constants; i++) {
        cli_function *f = &r->function[r->constant[i].section];

        if (r->constant[i].section == 0) {
            r->n_common++;
            continue;
        }
        if (f->n_constants++ == 0)
            f->constant = i;
    }
}

static cuvet_status read_all(reading *w)
{
    cuvet_elf_section s = { .size = sizeof(s) };

    for (uint64_t i = 1; i < w->r->n && spend(w, 64); i++) {
        if (cuvet_elf_get_section(w->ctx, w->elf, i, &s) != CUVET_OK || !spend(w, s.name.n / 16))
            break;
        if (!read_section(w, i, &s))
            return CUVET_E_NOMEM;
    }
    if (!read_symbols(w))
        return CUVET_E_NOMEM;
    for (uint64_t i = 1; w->home && i < w->r->n && spend(w, 64); i++) {
        if (cuvet_elf_get_section(w->ctx, w->elf, i, &s) != CUVET_OK || !spend(w, s.name.n / 16))
            break;
        if (starts(s.name, ".nv.info"))
            read_info(w, s.body,
                      starts(s.name, ".nv.info.") && s.info < w->r->n ? &w->r->function[s.info] : NULL);
    }
    sort_constants(w->r);
    return CUVET_OK;
}

cuvet_status cli_resources_read(cli_resources *r, cuvet_ctx *ctx, cuvet_elf elf, uint64_t *work)
{
    reading w = { .r = r, .ctx = ctx, .elf = elf, .work = *work };
    cuvet_elf_header h = { .size = sizeof(h) };
    cuvet_status st = cuvet_elf_get_header(ctx, elf, &h);

    *r = (cli_resources){ .n = 0 };
    if (st != CUVET_OK)
        return st;
    r->n = (size_t)h.n_sections;
    r->function = calloc(r->n + 1, sizeof(*r->function));
    st = r->function ? read_all(&w) : CUVET_E_NOMEM;
    free(w.home);
    *work = w.work;
    return st;
}

void cli_resources_free(cli_resources *r)
{
    free(r->function);
    free(r->kernel);
    free(r->constant);
    *r = (cli_resources){ .n = 0 };
}
