/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin_made.h"

#include <check.h>
#include <string.h>

#include "format/elf/write.h"

enum { SYMBOL = 24, MERC_AT = MADE_SYMBOLS * SYMBOL, TEXT_AT = 2 * MERC_AT, BODIES_AT = TEXT_AT + MADE_TEXT };

/* The tables may have grown. */
static void look(cubin_made *made)
{
    cv_cubin *cubin = &made->cubin;

    cubin->image = cv_span_of(made->bytes, BODIES_AT + made->used, 0);
    cubin->symtab = cv_span_of(made->bytes, cubin->n_syms * SYMBOL, 0);
    cubin->merc_symtab = cv_span_of(made->bytes + MERC_AT, cubin->n_merc_syms * SYMBOL, MERC_AT);
    cubin->strtab = cv_span_of(made->bytes + TEXT_AT, made->text - made->cut, TEXT_AT);
    cubin->extent = cubin->image.len;
}

void cubin_made_begin(cubin_made *made, cv_ctx *ctx, uint32_t sm)
{
    *made = (cubin_made){ .ctx = ctx, .text = 1 };
    made->cubin.header = (cv_elf_header){ .osabi = 0x41, .abiversion = 8, .type = 2 };
    made->cubin.conv = made->cubin.abi8 = made->cubin.exe = true;
    made->cubin.sm = sm;
    made->cubin.gen = cv_gen_of(sm);
    made->cubin.n_syms = made->cubin.n_merc_syms = 1;
    ck_assert(cv_secs_push(&ctx->mem, &made->cubin.sec, (cv_sec){ 0 }));
    look(made);
}

void cubin_made_free(cubin_made *made)
{
    if (made->ctx) /* a test may end before it began one */
        cv_cubin_free(made->ctx, &made->cubin);
}

uint32_t cubin_made_section(cubin_made *made, cv_role role, const char *name, const void *body, uint64_t size)
{
    cv_sec sec = { .role = role, .in_file = true, .name = cv_span_of(name, strlen(name), 0) };
    uint32_t bank;

    (void)cv_cubin_classify(sec.name, &sec.fn, &bank); /* the role is what the test says */
    sec.bank = bank;
    sec.header = (cv_elf_section){ .type = 1, .off = BODIES_AT + made->used, .size = size, .align = 1 };
    ck_assert_uint_le(BODIES_AT + made->used + size, sizeof(made->bytes));
    if (body)
        memcpy(made->bytes + sec.header.off, body, size);
    made->used += (size + 15) / 16 * 16;
    ck_assert(cv_secs_push(&made->ctx->mem, &made->cubin.sec, sec));
    cv_cubin_set_first(&made->cubin, role, made->cubin.sec.count - 1);
    look(made);
    return (uint32_t)made->cubin.sec.count - 1;
}

uint32_t cubin_made_words(cubin_made *made, cv_role role, const char *name, const uint32_t *words,
                          uint64_t size)
{
    uint32_t section = cubin_made_section(made, role, name, NULL, size);
    uint8_t *to = made->bytes + cubin_made_at(made, section)->header.off;

    for (uint64_t i = 0; i < size; i++)
        to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    return section;
}

cv_sec *cubin_made_at(cubin_made *made, uint32_t section)
{
    return cv_secs_at(&made->cubin.sec, section);
}

uint32_t cubin_made_relocs(cubin_made *made, uint32_t target, bool merc, const cv_elf_reloc *relocs,
                           uint64_t count)
{
    cv_builder builder;
    uint32_t index;

    cv_builder_init(&builder, &made->ctx->mem);
    for (uint64_t i = 0; i < count; i++)
        cv_elf_write_reloc(&builder, false, true, &relocs[i]);
    ck_assert(!builder.failed);
    index = cubin_made_section(made, merc ? CV_ROLE_MERC_RELA : CV_ROLE_RELA,
                               merc ? ".nv.merc.rela.x" : ".rela.x", builder.bytes, builder.len);
    cv_builder_free(&builder);
    cubin_made_at(made, index)->header.type = merc ? CV_SHT_MERC_RELA : CV_SHT_RELA;
    cubin_made_at(made, index)->header.entsize = 24;
    cubin_made_at(made, index)->header.info = target;
    cubin_made_at(made, index)->fn = cubin_made_at(made, target)->name;
    cubin_made_at(made, target)->relocs = index;
    return index;
}

uint32_t cubin_made_text(cubin_made *made, const char *text)
{
    uint64_t at = made->text, len = strlen(text) + 1;

    if (len == 1)
        return 0;
    ck_assert_uint_le(at + len, MADE_TEXT);
    memcpy(made->bytes + TEXT_AT + at, text, len);
    made->text += len;
    look(made);
    return (uint32_t)at;
}

uint32_t cubin_made_symbol(cubin_made *made, bool merc, const char *name, uint8_t info, uint8_t other,
                           uint32_t section, uint64_t value, uint64_t size)
{
    uint64_t *count = merc ? &made->cubin.n_merc_syms : &made->cubin.n_syms, index = (*count)++;
    cv_elf_symbol symbol = { cubin_made_text(made, name), info, other, (uint16_t)section, value, size };
    cv_builder builder;

    ck_assert_uint_lt(index, MADE_SYMBOLS);
    cv_builder_init(&builder, &made->ctx->mem);
    cv_elf_write_symbol(&builder, false, &symbol);
    ck_assert(!builder.failed);
    memcpy(made->bytes + (merc ? MERC_AT : 0) + index * SYMBOL, builder.bytes, SYMBOL);
    cv_builder_free(&builder);
    look(made);
    return (uint32_t)index;
}
