/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes to the picture of a device ELF and back. Every number that the picture of a clean file holds names
 * something that is there: later stages look nothing up twice. Every table written again from what was
 * decoded gives the bytes of the file. */
#include "common.h"

#include "cubin/cubin.h"
#include "format/elf/write.h"
#include "format/meta/read.h"
#include "mutate.h"

static bool reserved(uint32_t shndx)
{
    return shndx >= CV_SHN_LORESERVE;
}

static void check_getters(const cv_cubin *cubin)
{
    FZ_CHECK(cv_cubin_sec(cubin, cubin->sec.count)->header.size == 0 &&
                 cv_cubin_sec(cubin, UINT64_MAX)->role == CV_ROLE_NONE,
             "what is not there is nothing");
    FZ_CHECK(cv_cubin_body(cubin, cubin->sec.count).len == 0, "and has no bytes");
    FZ_CHECK(cv_cubin_first(cubin, CV_N_ROLES) == 0, "no such role");
    for (unsigned result = 1; result < CV_N_ROLES; result++) {
        uint32_t i = cv_cubin_first(cubin, (cv_role)result);

        FZ_CHECK(i < cubin->sec.count && (i == 0 || cv_cubin_sec(cubin, i)->role == (cv_role)result),
                 "the first of its role");
    }
    FZ_CHECK(cubin->symtab_index < cubin->sec.count && cubin->merc_symtab_index < cubin->sec.count,
             "symbol tables");
}

static void check_section(fz_state *fuzz, const cv_cubin *cubin, uint64_t index, bool clean)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);
    cv_span body = cv_cubin_body(cubin, index), fn = sec->fn;

    fz_inside(fuzz, body);
    FZ_CHECK(body.len == 0 || body.len == sec->header.size, "a body is whole or not there");
    FZ_CHECK(sec->in_file || body.len == 0, "in the file");
    FZ_CHECK(sec->info_sec < cubin->sec.count && sec->capsule < cubin->sec.count &&
                 sec->const0 < cubin->sec.count,
             "partners");
    FZ_CHECK(sec->sym <= cubin->n_syms && sec->merc_sym <= cubin->n_merc_syms &&
                 sec->kernel_sym <= cubin->n_syms,
             "symbols");
    FZ_CHECK(sec->role < CV_N_ROLES && fn.len <= sec->name.len + 32, "a role and its function");
    if (clean) {
        FZ_CHECK(sec->header.link < cubin->sec.count, "a clean file links sections that are there");
        FZ_CHECK(sec->header.align < 2 || cv_is_pow2(sec->header.align), "aligned to powers of two");
    }
    fz_note(fuzz, sec->role ^ (uint64_t)sec->bank << 16 ^ sec->header.size << 24);
}

static void check_symbols(const cv_cubin *cubin, bool merc)
{
    cv_span table = merc ? cubin->merc_symtab : cubin->symtab, name;
    uint64_t count = merc ? cubin->n_merc_syms : cubin->n_syms;

    for (uint64_t i = 0; i < count; i++) {
        cv_elf_symbol symbol;
        uint32_t shndx;

        cv_elf_read_symbol(table, cubin->header.is32, i, &symbol);
        shndx = cv_cubin_shndx(cubin, merc, i, &symbol);
        FZ_CHECK(cv_span_cstr(cubin->strtab, symbol.name, &name), "a symbol has a name");
        FZ_CHECK(shndx < cubin->sec.count || reserved(shndx), "and a section");
        FZ_CHECK(!merc || i < count, "in either table");
    }
}

/* Entries name symbols, and places in what they patch. */
static void check_relocations(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *source = cv_cubin_sec(cubin, index), *target = cv_cubin_sec(cubin, source->header.info);
    bool rela = source->role == CV_ROLE_RELA;
    uint64_t each = cv_elf_rel_size(cubin->header.is32, rela);
    cv_span body = cv_cubin_body(cubin, index);
    cv_elf_reloc reloc;

    FZ_CHECK(source->header.info && source->header.info < cubin->sec.count, "a section that is patched");
    FZ_CHECK(body.len % each == 0, "whole entries");
    for (uint64_t k = 0; k < body.len / each; k++) {
        cv_elf_read_reloc(body, cubin->header.is32, rela, k, &reloc);
        FZ_CHECK(reloc.sym < cubin->n_syms, "a symbol");
        FZ_CHECK(reloc.off < target->header.size &&
                     cv_reloc_of(reloc.type)->bytes <= target->header.size - reloc.off,
                 "a place");
    }
}

static void check_graph(fz_state *fuzz, const cv_cubin *cubin)
{
    cv_span graph = cv_cubin_body(cubin, cv_cubin_first(cubin, CV_ROLE_CALLGRAPH));
    cv_span protos = cv_cubin_body(cubin, cv_cubin_first(cubin, CV_ROLE_PROTOTYPE));
    cv_call_cur cur = { 0 };
    uint64_t pos = 0;
    cv_proto proto;
    cv_span text;
    cv_call call;

    while (cv_callgraph_next(&fuzz->ctx, graph, &cur, &call) == CUVET_OK) {
        FZ_CHECK(call.from < cubin->n_syms, "an edge begins at a symbol");
        if (call.part == CV_CALL_DIRECT)
            FZ_CHECK(call.to < cubin->n_syms, "and ends at one");
    }
    while (cv_prototype_next(&fuzz->ctx, protos, &pos, &proto) == CUVET_OK)
        FZ_CHECK(proto.symbol < cubin->n_syms && cv_span_cstr(cubin->strtab, proto.string, &text),
                 "a prototype of a symbol");
}

/* Written again, a table is the bytes it was read from. */
static void same(const cv_builder *builder, cv_span where)
{
    FZ_CHECK(!builder->failed && cv_span_eq(cv_builder_span(builder), where),
             "write after read gives the same bytes");
}

static void write_table(fz_state *fuzz, const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);
    bool rela = sec->role == CV_ROLE_RELA, symbols = sec->header.type == CV_SHT_SYMTAB;
    uint64_t each = symbols ? cv_elf_sym_size(cubin->header.is32) : cv_elf_rel_size(cubin->header.is32, rela);
    cv_span body = cv_cubin_body(cubin, index);
    cv_elf_symbol symbol;
    cv_elf_reloc reloc;
    cv_builder builder;

    if (!symbols && !rela && sec->role != CV_ROLE_REL)
        return;
    cv_builder_init(&builder, &fuzz->ctx.mem);
    for (uint64_t k = 0; k < body.len / each; k++) {
        if (symbols) {
            cv_elf_read_symbol(body, cubin->header.is32, k, &symbol);
            cv_elf_write_symbol(&builder, cubin->header.is32, &symbol);
        } else {
            cv_elf_read_reloc(body, cubin->header.is32, rela, k, &reloc);
            cv_elf_write_reloc(&builder, cubin->header.is32, rela, &reloc);
        }
    }
    if (body.len % each == 0 && fuzz->ctx.lim.live >= CV_MIB)
        same(&builder, body);
    cv_builder_free(&builder);
}

static void write_headers(fz_state *fuzz, const cv_cubin *cubin)
{
    cv_span image = cubin->image, part;
    cv_elf_segment segment;
    cv_builder builder;

    cv_builder_init(&builder, &fuzz->ctx.mem);
    cv_elf_write_header(&builder, &cubin->header);
    if (cubin->header.pad_nonzero == 0 && cv_span_sub(image, 0, cv_elf_ehdr_size(cubin->header.is32), &part))
        same(&builder, part);
    cv_builder_free(&builder);
    cv_builder_init(&builder, &fuzz->ctx.mem);
    for (uint64_t i = 0; i < cubin->sec.count; i++)
        cv_elf_write_section(&builder, cubin->header.is32, &cv_cubin_sec(cubin, i)->header);
    if (cubin->sec.count) {
        FZ_CHECK(cv_span_sub(image, cubin->header.shoff,
                             cubin->sec.count * cv_elf_shdr_size(cubin->header.is32), &part),
                 "a table");
        same(&builder, part);
    }
    cv_builder_free(&builder);
    cv_builder_init(&builder, &fuzz->ctx.mem);
    if (cubin->header.phnum &&
        cv_span_sub(image, cubin->header.phoff, cubin->header.phnum * cv_elf_phdr_size(cubin->header.is32),
                    &part)) {
        for (uint64_t i = 0; i < cubin->header.phnum; i++) {
            cv_elf_read_segment(part, cubin->header.is32, i, &segment);
            cv_elf_write_segment(&builder, cubin->header.is32, &segment);
        }
        same(&builder, part);
    }
    cv_builder_free(&builder);
}

static void check(fz_state *fuzz, const cv_cubin *cubin)
{
    bool clean = fuzz->ctx.verdict == CUVET_V_CLEAN && cubin->conv;

    check_getters(cubin);
    for (uint64_t i = 0; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        check_section(fuzz, cubin, i, clean);
        write_table(fuzz, cubin, i);
        if (clean && (sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA))
            check_relocations(cubin, i);
    }
    if (fuzz->ctx.lim.live >= CV_MIB)
        write_headers(fuzz, cubin);
    if (clean) {
        check_symbols(cubin, false);
        check_symbols(cubin, true);
        check_graph(fuzz, cubin);
    }
}

static void run(fz_state *fuzz)
{
    uint64_t extent = 0;
    cuvet_status status;
    cv_cubin cubin;

    cv_cubin_init(&cubin);
    status = cv_cubin_examine(&fuzz->ctx, &cubin, fz_span(fuzz), NULL, &extent);
    fz_status(fuzz, status, 0);
    if (status == CUVET_OK)
        check(fuzz, &cubin);
    cv_cubin_free(&fuzz->ctx, &cubin);
}

CV_FUZZ_TARGET(model)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
