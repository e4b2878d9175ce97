/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* -v: what the kernels of a result use, read from the result itself. */
#include "link_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SYM_ENTRY 0x10u /* in st_other: a kernel */
#define ST_FUNC   2u
#define UNKNOWN   0xFFFFFFFFu

/* By section: what belongs to the kernel in it. */
typedef struct use {
    uint64_t symbol; /* 0: no kernel in it */
    uint64_t shared, constant;
    uint32_t barriers, registers, stack;
} use;

typedef struct report {
    cuvet_ctx *ctx;
    cuvet_elf elf;
    uint64_t symtab, n;
    use *of;
    uint64_t *home; /* section of a symbol, by symbol */
    uint64_t n_symbols;
} report;

static bool starts(cuvet_bytes name, const char *prefix)
{
    size_t n = strlen(prefix);

    return name.n >= n && memcmp(name.p, prefix, n) == 0;
}

static bool is(cuvet_bytes name, const char *text)
{
    return name.n == strlen(text) && starts(name, text);
}

static uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool count_symbols(report *t)
{
    cuvet_elf_section s;

    if (cuvet_elf_get_symtab(t->ctx, t->elf, false, &t->symtab) != CUVET_OK || t->symtab == 0 ||
        cuvet_elf_get_section(t->ctx, t->elf, t->symtab, &s) != CUVET_OK || s.entsize == 0)
        return false;
    t->n_symbols = s.size / s.entsize;
    t->home = calloc((size_t)t->n_symbols + 1, sizeof(*t->home));
    return t->home != NULL;
}

static void read_symbols(report *t)
{
    cuvet_elf_symbol y;

    for (uint64_t i = 1; i < t->n_symbols; i++) {
        if (cuvet_elf_get_symbol(t->ctx, t->elf, t->symtab, i, &y) != CUVET_OK)
            return;
        if ((y.info & 0xFu) == ST_FUNC && (y.other & SYM_ENTRY) && y.shndx < t->n) {
            t->of[y.shndx].symbol = i;
            t->home[i] = y.shndx;
        }
    }
}

/* Records of .nv.info, for any function, and of .nv.info.NAME, for one. */
static void read_info(report *t, cuvet_bytes body, use *own)
{
    uint64_t pos = 0;
    cuvet_tlv r;

    while (cuvet_tlv_next(body, &pos, &r) == CUVET_OK) {
        const char *name = cuvet_eiattr_name(r.code);
        uint64_t symbol = r.payload.p && r.payload.n == 8 ? load_u32(r.payload.p) : 0;
        use *u = symbol < t->n_symbols ? &t->of[t->home[symbol]] : NULL;

        if (name && own && strcmp(name, "NUM_BARRIERS") == 0)
            own->barriers = r.value;
        else if (name && u && symbol && strcmp(name, "REGCOUNT") == 0)
            u->registers = load_u32(r.payload.p + 4);
        else if (name && u && symbol && strcmp(name, "MIN_STACK_SIZE") == 0)
            u->stack = load_u32(r.payload.p + 4) == UNKNOWN ? 0 : load_u32(r.payload.p + 4);
    }
}

/* Sizes by section; what belongs to the whole file is printed at once. */
static void read_sections(report *t)
{
    uint64_t global = 0;
    cuvet_elf_section s;

    for (uint64_t i = 1; cuvet_elf_get_section(t->ctx, t->elf, i, &s) == CUVET_OK; i++) {
        use *u = s.info < t->n ? &t->of[s.info] : NULL;

        if (is(s.name, ".nv.global") || is(s.name, ".nv.global.init"))
            global += s.size;
        else if (is(s.name, ".nv.info"))
            read_info(t, s.body, NULL);
        else if (starts(s.name, ".nv.info."))
            read_info(t, s.body, u);
        else if (u && starts(s.name, ".nv.shared."))
            u->shared = s.size;
        else if (u && starts(s.name, ".nv.constant0."))
            u->constant = s.size;
    }
    fprintf(stderr, "cuvet: info: %" PRIu64 " bytes gmem", global);
    for (uint64_t i = 1; cuvet_elf_get_section(t->ctx, t->elf, i, &s) == CUVET_OK; i++) {
        if (starts(s.name, ".nv.constant") && !memchr(s.name.p + 4, '.', s.name.n - 4))
            fprintf(stderr, ", %" PRIu64 " bytes cmem[%.*s]", s.size, (int)(s.name.n - 12),
                    (const char *)s.name.p + 12);
    }
    fputc('\n', stderr);
}

static void put_kernel(report *t, const use *u)
{
    cuvet_elf_symbol y;

    if (cuvet_elf_get_symbol(t->ctx, t->elf, t->symtab, u->symbol, &y) != CUVET_OK)
        return;
    fputs("cuvet: info: Function properties for '", stderr);
    cli_put(stderr, y.name.p, y.name.n);
    fprintf(stderr,
            "':\ncuvet: info: used %" PRIu32 " registers, used %" PRIu32 " barriers, %" PRIu32
            " stack, %" PRIu64 " bytes smem, %" PRIu64 " bytes cmem[0], 0 bytes lmem\n",
            u->registers, u->barriers, u->stack, u->shared, u->constant);
}

void link_report(link_run *r, const void *image, size_t n)
{
    report t = { .ctx = r->ctx };
    cuvet_elf_header h;

    if (cuvet_elf_create(r->ctx, image, n, &t.elf) != CUVET_OK ||
        cuvet_elf_get_header(r->ctx, t.elf, &h) != CUVET_OK) {
        link_error(r, NULL, CLI_X_INTERNAL, "the result cannot be read");
        return;
    }
    t.n = h.n_sections;
    t.of = calloc((size_t)t.n + 1, sizeof(*t.of));
    if (t.of && count_symbols(&t)) {
        read_symbols(&t);
        read_sections(&t);
        for (uint64_t left = t.n; left > 1; left--) { /* the reference's order */
            if (t.of[left - 1].symbol)
                put_kernel(&t, &t.of[left - 1]);
        }
    } else {
        link_error(r, NULL, CLI_X_LIMIT, "no memory to read the result again");
    }
    free(t.of);
    free(t.home);
    if (cuvet_elf_destroy(r->ctx, &t.elf) != CUVET_OK)
        link_error(r, NULL, CLI_X_INTERNAL, "the result cannot be read");
    link_drop(r); /* the linker examined it before it gave it out */
}
