/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin_edit.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void cubin_file_read(cubin_file *file, const char *folder, const char *name)
{
    char path[512];
    FILE *stream;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    stream = fopen(path, "rb");
    ck_assert_msg(stream != NULL, "%s: run from the root of the repository", path);
    file->size = fread(file->bytes, 1, sizeof(file->bytes), stream);
    fclose(stream);
    ck_assert(file->size < sizeof(file->bytes));
}

void cubin_file_load(cubin_file *file, const char *name)
{
    const char *slash = strchr(name, '/');
    char whole[256];

    snprintf(whole, sizeof(whole), "%s.cubin", name);
    cubin_file_read(file, slash ? "corpus" : "corpus/samples", whole);
    ck_assert_uint_gt(file->size, 64);
}

uint64_t cubin_file_section(const cubin_file *file, const char *name)
{
    for (uint64_t i = 1; i < file->cubin.sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(&file->cubin, i)->name, name))
            return i;
    ck_assert_msg(strcmp(name, "0") == 0, "no section %s", name);
    return 0;
}

uint64_t cubin_file_symbol(const cubin_file *file, const char *name, bool merc)
{
    cv_span table = merc ? file->cubin.merc_symtab : file->cubin.symtab, text;
    cv_elf_symbol symbol;

    for (uint64_t i = 1; i < (merc ? file->cubin.n_merc_syms : file->cubin.n_syms); i++) {
        cv_elf_read_symbol(table, false, i, &symbol);
        if (cv_span_cstr(file->cubin.strtab, symbol.name, &text) &&
            cv_span_eq_str(text, name + (*name == '@')) &&
            (*name == '@') == (cv_elf_sym_type(&symbol) == CV_STT_SECTION))
            return i;
    }
    ck_assert_msg(strcmp(name, "0") == 0, "no symbol %s", name);
    return 0;
}

static unsigned width_of(const cubin_edit *edit)
{
    static const unsigned SH[] = { 4, 4, 8, 8, 8, 8, 4, 4, 8, 8 }, ST[] = { 4, 1, 1, 2, 8, 8 },
                          PH[] = { 4, 4, 8, 8, 8, 8, 8, 8 };

    switch (edit->kind) {
    case SECTION: return SH[edit->at];
    case SYMBOL:
    case MERC_SYMBOL: return ST[edit->at];
    case SEGMENT: return PH[edit->at];
    default: return edit->width;
    }
}

uint64_t cubin_file_place(const cubin_file *file, const cubin_edit *edit)
{
    const cv_sec *sec;

    switch (edit->kind) {
    case SECTION:
        return file->cubin.header.shoff + 64 * cubin_file_section(file, edit->name) +
               cv_elf_shdr_at(false, (cv_shdr_field)edit->at);
    case SYMBOL:
        return file->cubin.symtab.off + 24 * cubin_file_symbol(file, edit->name, false) +
               cv_elf_sym_at(false, (cv_sym_field)edit->at);
    case MERC_SYMBOL:
        return file->cubin.merc_symtab.off + 24 * cubin_file_symbol(file, edit->name, true) +
               cv_elf_sym_at(false, (cv_sym_field)edit->at);
    case SEGMENT:
        return file->cubin.header.phoff + 56 * edit->width + cv_elf_phdr_at(false, (cv_phdr_field)edit->at);
    case BODY:
        sec = cv_cubin_sec(&file->cubin, cubin_file_section(file, edit->name));
        return sec->header.off + (edit->at < 0 ? sec->header.size - (uint64_t)-edit->at : (uint64_t)edit->at);
    case LABEL:
        return file->cubin.shstrtab.off +
               cv_cubin_sec(&file->cubin, cubin_file_section(file, edit->name))->header.name +
               (uint64_t)edit->at;
    default: return (uint64_t)edit->at;
    }
}

void cubin_file_apply(cubin_file *file, const cubin_edit *edit, uint64_t at)
{
    for (unsigned i = 0; edit->kind != NOTHING && i < width_of(edit); i++)
        file->bytes[at + i] = (uint8_t)(edit->value >> (8 * i));
}
