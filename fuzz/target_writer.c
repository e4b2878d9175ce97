/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A whole link to bytes, and the bytes read again: sections, symbols and relocations of the file are those of
 * the picture it was written from, and nothing is found in it. The second run has another key for its hash
 * tables and gives the same bytes. Parameters: see linking.h. */
#include <stdio.h>

#include "linking.h"

static void check_sections(const cv_link *link, const cv_cubin *cubin)
{
    FZ_CHECK(cubin->sec.count == link->layout->order.count, "as many sections");
    for (uint64_t i = 0; i < link->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(link, *cv_u32s_get(&link->layout->order, i));
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        cv_span body;

        FZ_CHECK(cv_span_eq(sec->name, cv_l_text(link, osec->name)), "name of a section");
        FZ_CHECK(sec->header.type == osec->type && sec->header.flags == osec->flags && sec->header.addr == 0,
                 "type and flags");
        FZ_CHECK(sec->header.off == osec->off && sec->header.size == osec->size, "place and size");
        FZ_CHECK(sec->header.link == osec->link && sec->header.info == osec->info, "link and info");
        FZ_CHECK(sec->header.align == osec->align && sec->header.entsize == osec->entsize, "alignment");
        body = cv_cubin_body(cubin, i);
        if (osec->bytes.len)
            FZ_CHECK(cv_span_eq(body, cv_builder_span(&osec->bytes)), "bytes that the link made");
        else if (osec->group == CV_G_NOBITS)
            FZ_CHECK(body.len == 0, "nothing in the file");
    }
}

static void check_symbols(const cv_link *link, const cv_cubin *cubin)
{
    FZ_CHECK(cubin->n_syms == link->layout->sym_order.count + 1, "as many symbols");
    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        const cv_osym *osym = cv_l_osym(link, *cv_u32s_get(&link->layout->sym_order, i - 1));
        uint32_t shndx = osym->common_kept && !osym->common ? CV_SHN_COMMON
                         : osym->sec == CV_NONE             ? CV_SHN_UNDEF
                                                            : cv_l_osec(link, osym->sec)->index;
        cv_elf_symbol symbol;
        cv_span name;

        cv_elf_read_symbol(cubin->symtab, false, i, &symbol);
        FZ_CHECK(cv_span_cstr(cubin->strtab, symbol.name, &name), "a name");
        FZ_CHECK(cv_span_eq(name, cv_l_text(link, osym->name)), "of the symbol");
        FZ_CHECK(symbol.shndx == shndx && symbol.value == osym->value && symbol.size == osym->size,
                 "place and size");
        FZ_CHECK(symbol.info >> 4 == osym->info >> 4, "binding");
    }
}

static uint64_t patched_size(const cv_link *link, const cv_osec *osec)
{
    return cv_l_osec(link, osec->target)->size;
}

/* Every relocation that stays, in its order, against its symbol and inside of what it patches. */
static void check_relocations(const cv_link *link, const cv_cubin *cubin)
{
    uint64_t total = 0;

    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        bool rela = osec->type == CV_SHT_RELA;
        uint64_t count = 0;
        cv_span body;

        if (osec->group != CV_G_REL || osec->is_resolved || osec->dead)
            continue;
        body = cv_cubin_body(cubin, osec->index);
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(link->out, &cur);) {
            cv_id osym = cv_l_fixup(link, cur.id)->osym;
            cv_elf_reloc got;

            if (!cv_l_fixup(link, cur.id)->keep)
                continue;
            FZ_CHECK(osym != CV_NONE, "against something");
            cv_elf_read_reloc(body, false, rela, count++, &got);
            FZ_CHECK(got.off == cur.rel->off && got.off < patched_size(link, osec),
                     "inside of what it patches");
            FZ_CHECK(got.sym == cv_l_osym(link, osym)->index && got.sym < cubin->n_syms && got.sym,
                     "against its symbol");
        }
        FZ_CHECK(count == cv_l_fixed(link, i)->n_kept && body.len == count * cv_elf_rel_size(false, rela),
                 "all that stay");
        total += count;
    }
    FZ_CHECK(total <= cubin->n_relocs, "no relocation is lost");
}

/* Bytes that no relocation touches come from the inputs as they are. */
static void check_parts(const cv_link *link, const cv_cubin *cubin)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        cv_span body;

        if (osec->dead || osec->bytes.len || osec->group == CV_G_NOBITS || osec->rel[0] != CV_NONE ||
            osec->rel[1] != CV_NONE)
            continue;
        body = cv_cubin_body(cubin, osec->index);
        for (cv_id part = osec->first_part; part != CV_NONE;
             part = cv_lparts_get(&link->out->part, part)->next) {
            const cv_lpart *chunk = cv_lparts_get(&link->out->part, part);
            cv_span want = cv_l_body(link, cv_l_isec(link, chunk->isec)), got;

            FZ_CHECK(cv_span_sub(body, chunk->base, want.len, &got), "a part lies in its section");
            FZ_CHECK(cv_span_eq(got, want), "as it was in the input");
        }
    }
}

static void read_back(fz_state *fuzz, const cv_link *link, cv_span file)
{
    uint64_t extent = 0;
    cuvet_status status;
    cv_cubin cubin;

    cv_ctx_unit(&fuzz->ctx, file.len);
    cv_cubin_init(&cubin);
    fuzz->ctx.no_contents = true; /* long code is borrowed from the inputs */
    status = cv_cubin_examine(&fuzz->ctx, &cubin, file, NULL, &extent);
    fuzz->ctx.no_contents = false;
    if (status != CUVET_E_LIMIT) {
        FZ_CHECK(status == CUVET_OK && extent == file.len, "what was written can be read");
        FZ_CHECK(fuzz->ctx.n_errors == 0, "without an error");
        check_sections(link, &cubin);
        check_symbols(link, &cubin);
        check_relocations(link, &cubin);
        check_parts(link, &cubin);
    }
    cv_cubin_free(&fuzz->ctx, &cubin);
}

/* What is said about the result; an error ends the run below. */
static void on_result(void *user, const cuvet_diag *diag)
{
    (void)fz_diag(diag, 0, UINT64_MAX);
    if (diag->severity == CUVET_ERROR)
        fprintf(stderr, "in the result: %s\n", cuvet_rule_get(diag->rule)->id);
    (void)user;
}

static void run(fz_state *fuzz)
{
    cv_block whole = { 0 };
    cuvet_status status;
    fz_link linking;

    fz_link_open(&linking, fuzz, false, fuzz->pass * 0x5EED);
    linking.link.file->block = &linking.out; /* stage by stage: what it was made of is compared below */
    linking.link.file->slices = &linking.file;
    status = linking.link.inputs->obj.count ? cv_link_run_to(&linking.link, UINT64_MAX) : CUVET_E_REFUSED;
    fz_link_status(status);
    FZ_CHECK(status == CUVET_OK || linking.link.inputs->obj.count == 0 || fz_reported(fuzz),
             "a refusal is reported");
    fz_note(fuzz, (uint64_t)status);
    if (status == CUVET_OK) {
        status = cv_block_zero(&fuzz->ctx, &whole, linking.file.len);
        FZ_CHECK(status == CUVET_OK || status == CUVET_E_NOMEM || status == CUVET_E_LIMIT,
                 "room for the file");
    }
    if (status == CUVET_OK) {
        FZ_CHECK(cv_slices_read(&linking.file, 0, whole.mem, linking.file.len),
                 "the file is as long as it says");
        fz_note_bytes(fuzz, whole.mem, whole.span.len);
        fuzz->ctx.emit = on_result;
        if (fuzz->pass == 0)
            read_back(fuzz, &linking.link, whole.span);
        else
            cv_ctx_unit(&fuzz->ctx, whole.span.len);
    }
    fuzz->ctx.verdict = CUVET_V_CLEAN;
    cv_block_free(&fuzz->ctx, &whole);
    fz_link_close(&linking);
}

CV_FUZZ_TARGET(writer)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR
