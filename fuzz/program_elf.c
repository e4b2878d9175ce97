/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Objects of a program, as a compiler writes them (device-elf.md, metadata.md): one pass chooses the sections
 * in the order of the file, one the symbols, one writes. Nothing is allocated. */
#include "program_int.h"

#include <stdio.h>
#include <string.h>

#include "format/elf/names.h"

/* --- which sections --- */

static unsigned add_section(fz_object *obj, const char *name, unsigned fn, uint32_t type, uint64_t flags,
                            uint64_t align)
{
    fz_section *sec = &obj->section[obj->n_sections];
    char of[24] = "";

    if (fn != MD_NONE)
        (void)fz_program_name(obj->program, fn, of);
    *sec = (fz_section){ .type = type, .flags = flags, .align = align };
    (void)snprintf(sec->name, sizeof(sec->name), "%s%s", name, of);
    return obj->n_sections++;
}

static void lay_out_shared(fz_object *obj)
{
    for (unsigned i = 0; i < obj->program->n_vars; i++) {
        const md_var *var = &obj->program->var[i];
        fz_section *sec;

        if (var->unit != obj->unit || var->array)
            continue;
        sec = &obj->section[var->of_kernel ? obj->shared[var->owner] : obj->debug_shared];
        sec->size = (sec->size + var->align - 1) / var->align * var->align + var->size;
        sec->align = sec->align > var->align ? sec->align : var->align;
    }
}

/* Which functions have variables in a section of their own, and does the object have others? */
static void add_shared_sections(fz_object *obj)
{
    const md_program *program = obj->program;
    bool common = false;

    for (unsigned i = 0; i < program->n_vars; i++) {
        const md_var *var = &program->var[i];

        if (var->unit != obj->unit || var->array)
            continue;
        common = common || !var->of_kernel;
        if (var->of_kernel && obj->shared[var->owner] == 0) {
            unsigned at = add_section(obj, ".nv.shared.", var->owner, CV_SHT_CUDA_SHARED, 0x43, 1);

            obj->shared[var->owner] = at;
            obj->section[at].info = obj->text[var->owner];
        }
    }
    if (common)
        obj->debug_shared = add_section(obj, ".nv_debug.shared", MD_NONE, CV_SHT_CUDA_SHARED, 3, 1);
    lay_out_shared(obj);
}

static void add_banks(fz_object *obj)
{
    for (unsigned i = 0; i < obj->program->n_fns; i++)
        if (fz_is_here(obj, i) && obj->program->fn[i].kernel)
            obj->bank[i] = add_section(obj, ".nv.constant0.", i, CV_SHT_CUDA_CONSTANT0, 0x42, 4);
}

static bool uses_any(const fz_object *obj, unsigned fn)
{
    const md_fn *function = &obj->program->fn[fn];

    return function->calls || function->takes || function->uses || function->images;
}

static bool has_data(const fz_object *obj)
{
    bool any = false;

    for (unsigned i = 0; i < obj->program->n_fns; i++)
        any = any || (obj->program->fn[i].in_data && obj->program->fn[i].unit == obj->unit);
    return any;
}

static void choose_sections(fz_object *obj, unsigned *rel, unsigned *data_rel)
{
    const md_program *program = obj->program;
    bool newer = program->sm >= 90;
    uint32_t rel_type = newer ? CV_SHT_RELA : CV_SHT_REL;

    (void)add_section(obj, "", MD_NONE, 0, 0, 0);
    (void)add_section(obj, ".shstrtab", MD_NONE, CV_SHT_STRTAB, 0, 1);
    (void)add_section(obj, ".strtab", MD_NONE, CV_SHT_STRTAB, 0, 1);
    (void)add_section(obj, ".symtab", MD_NONE, CV_SHT_SYMTAB, 0, 8);
    obj->tkinfo = add_section(obj, ".note.nv.tkinfo", MD_NONE, CV_SHT_NOTE, 0x2000000, 4);
    (void)add_section(obj, ".note.nv.cuinfo", MD_NONE, CV_SHT_NOTE, newer ? 0x1000040 : 0x1000000, 4);
    (void)add_section(obj, ".nv.info", MD_NONE, CV_SHT_CUDA_INFO, 0, 4);
    if (newer)
        (void)add_section(obj, ".nv.compat", MD_NONE, CV_SHT_CUDA_COMPAT, 0, 4);
    for (unsigned i = 0; i < program->n_fns; i++)
        if (fz_is_here(obj, i))
            obj->info[i] = add_section(obj, ".nv.info.", i, CV_SHT_CUDA_INFO, 0x40, 4);
    obj->callgraph = add_section(obj, ".nv.callgraph", MD_NONE, CV_SHT_CUDA_CALLGRAPH, 0, 4);
    obj->prototype = add_section(obj, ".nv.prototype", MD_NONE, CV_SHT_CUDA_PROTOTYPE, 0, 4);
    for (unsigned i = 0; i < program->n_fns; i++)
        if (fz_is_here(obj, i) && uses_any(obj, i))
            rel[i] = add_section(obj, newer ? ".rela.text." : ".rel.text.", i, rel_type, 0x40, 8);
    if (has_data(obj))
        *data_rel = add_section(obj, newer ? ".rela.nv.global.init" : ".rel.nv.global.init", MD_NONE,
                                rel_type, 0x40, 8);
    if (!newer)
        add_banks(obj);
    for (unsigned i = 0; i < program->n_fns; i++)
        if (fz_is_here(obj, i))
            obj->text[i] = add_section(obj, ".text.", i, CV_SHT_PROGBITS, 6, 128);
    if (has_data(obj))
        obj->init = add_section(obj, ".nv.global.init", MD_NONE, CV_SHT_CUDA_GLOBAL_INIT, 3, 8);
    add_shared_sections(obj);
    if (newer)
        add_banks(obj);
}

/* --- symbols --- */

static unsigned add_symbol(fz_object *obj, const char *name, uint8_t info, uint8_t other, unsigned shndx,
                           uint64_t value, uint64_t size)
{
    fz_symbol *sym = &obj->symbol[obj->n_symbols];

    *sym =
        (fz_symbol){ .info = info, .other = other, .shndx = (uint16_t)shndx, .value = value, .size = size };
    (void)snprintf(sym->name, sizeof(sym->name), "%s", name);
    return obj->n_symbols++;
}

static unsigned add_section_symbol(fz_object *obj, unsigned sec)
{
    char name[sizeof(obj->section[sec].name)]; /* for compilers that cannot tell symbols from sections */

    memcpy(name, obj->section[sec].name, sizeof(name));
    return add_symbol(obj, name, CV_STT_SECTION, 0, sec, 0, 0);
}

static bool uses_here(const fz_object *obj, unsigned var)
{
    for (unsigned i = 0; i < obj->program->n_fns; i++)
        if (fz_is_here(obj, i) && (obj->program->fn[i].uses & MD_BIT(var)))
            return true;
    return false;
}

static void add_variables(fz_object *obj, bool global)
{
    for (unsigned i = 0; i < obj->program->n_vars; i++) {
        const md_var *var = &obj->program->var[i];
        bool here = var->unit == obj->unit && !var->array;
        unsigned sec = !here ? 0 : var->of_kernel ? obj->shared[var->owner] : obj->debug_shared;
        char name[24];

        if (var->global != global || (!here && !uses_here(obj, i)))
            continue;
        (void)snprintf(name, sizeof(name), "s%u", i);
        obj->var_sym[i] = add_symbol(obj, name, (uint8_t)((global ? 0x10 : 0) | CV_STT_CUDA_OBJECT), 0x40,
                                     sec, var->align, var->size);
    }
}

static void add_locals(fz_object *obj)
{
    (void)add_symbol(obj, "", 0, 0, 0, 0, 0);
    (void)add_section_symbol(obj, obj->tkinfo);
    (void)add_section_symbol(obj, obj->tkinfo + 1);
    for (unsigned i = 0; i < obj->program->n_fns; i++) {
        if (!fz_is_here(obj, i))
            continue;
        (void)add_section_symbol(obj, obj->text[i]);
        if (obj->bank[i])
            obj->bank_sym[i] = add_section_symbol(obj, obj->bank[i]);
        if (obj->shared[i])
            (void)add_section_symbol(obj, obj->shared[i]);
    }
    if (obj->init)
        (void)add_section_symbol(obj, obj->init);
    if (obj->debug_shared)
        (void)add_section_symbol(obj, obj->debug_shared);
    (void)add_section_symbol(obj, obj->callgraph);
    (void)add_section_symbol(obj, obj->prototype);
    add_variables(obj, false);
    if (obj->program->reserves)
        (void)add_symbol(obj, ".nv.reservedSmem.offset0", 0x21, 0, 0, 0, 4);
}

static void add_globals(fz_object *obj)
{
    const md_program *program = obj->program;
    char name[24];

    obj->first_global = obj->n_symbols;
    for (unsigned i = 0; i < program->n_fns; i++)
        if (obj->mentioned & MD_BIT(i)) {
            (void)fz_program_name(program, i, name);
            obj->fn_sym[i] = add_symbol(obj, name, 0x12, program->fn[i].kernel ? 0x10 : 0, obj->text[i], 0,
                                        obj->text[i] ? obj->section[obj->text[i]].size : 0);
        }
    add_variables(obj, true);
    for (unsigned i = 0; i < program->n_images; i++) {
        bool used = false;

        for (unsigned k = 0; k < program->n_fns; k++)
            used = used || (fz_is_here(obj, k) && (program->fn[k].images & MD_BIT(i)));
        (void)snprintf(name, sizeof(name), "t%u", i);
        if (used)
            obj->image_sym[i] = add_symbol(obj, name, 0x10 | program->image[i].kind, 0, 0, 0, 0);
    }
}

static void find_mentioned(fz_object *obj)
{
    const md_program *program = obj->program;

    for (unsigned i = 0; i < program->n_fns; i++) {
        if (fz_is_here(obj, i))
            obj->mentioned |= MD_BIT(i) | program->fn[i].calls | program->fn[i].takes;
        if (program->fn[i].in_data && program->fn[i].unit == obj->unit)
            obj->mentioned |= MD_BIT(i);
    }
}

/* --- code, and what it refers to: an instruction each --- */

static void add_reloc(fz_object *obj, unsigned target, unsigned type, const unsigned *sym)
{
    fz_section *sec = &obj->section[target];

    obj->reloc[obj->n_relocs++] = (fz_reloc){
        .target = target, .type = type, .sym = sym, .off = sec->size, .rela = obj->program->sm >= 90
    };
    sec->size += 16;
}

static void lay_out_code(fz_object *obj)
{
    const md_program *program = obj->program;
    bool newer = program->sm >= 90;

    for (unsigned fn = 0; fn < program->n_fns; fn++) {
        const md_fn *function = &program->fn[fn];

        if (!fz_is_here(obj, fn))
            continue;
        for (unsigned i = 0; i < program->n_fns; i++)
            if (function->calls & MD_BIT(i))
                add_reloc(obj, obj->text[fn], newer ? CV_R_CUDA_ABS55_16_34 : CV_R_CUDA_ABS47_34,
                          &obj->fn_sym[i]);
        for (unsigned i = 0; i < program->n_fns; i++)
            if (function->takes & MD_BIT(i))
                add_reloc(obj, obj->text[fn], CV_R_CUDA_ABS32_LO_32, &obj->fn_sym[i]);
        for (unsigned i = 0; i < program->n_vars; i++)
            if (function->uses & MD_BIT(i))
                add_reloc(obj, obj->text[fn], newer ? CV_R_CUDA_ABS32_32 : CV_R_CUDA_ABS24_40,
                          &obj->var_sym[i]);
        for (unsigned i = 0; i < program->n_images; i++)
            if (function->images & MD_BIT(i))
                add_reloc(obj, obj->text[fn], CV_R_CUDA_BINDLESSOFF14_40, &obj->image_sym[i]);
        if (obj->section[obj->text[fn]].size == 0)
            obj->section[obj->text[fn]].size = 16;
    }
    for (unsigned i = 0; i < program->n_fns && obj->init; i++)
        if (program->fn[i].in_data && program->fn[i].unit == obj->unit) {
            add_reloc(obj, obj->init, CV_R_CUDA_64, &obj->fn_sym[i]);
            obj->section[obj->init].size -= 8;
        }
}

static void write_symbols(fz_object *obj, fz_out *to)
{
    for (unsigned i = 0; i < obj->n_symbols; i++) {
        const fz_symbol *sym = &obj->symbol[i];
        size_t len = strlen(sym->name);

        fz_put(to, len ? obj->strings_len : 0, 4);
        fz_put(to, sym->info | (uint64_t)sym->other << 8 | (uint64_t)sym->shndx << 16, 4);
        fz_put(to, sym->value, 8);
        fz_put(to, sym->size, 8);
        if (len) {
            memcpy(obj->strings + obj->strings_len, sym->name, len + 1);
            obj->strings_len += (unsigned)len + 1;
        }
    }
}

static void write_header(const fz_object *obj, fz_out *to, uint64_t table)
{
    bool newer = obj->program->sm >= 90;
    fz_out head = { to->bytes, 0 };

    fz_put(&head, UINT64_C(0x41010102464C457F), 8);
    fz_put(&head, 8, 8);
    fz_put(&head, 1 | 190u << 16 | UINT64_C(1) << 32, 8);
    fz_put(&head, 0, 8);
    fz_put(&head, 0, 8);
    fz_put(&head, table, 8);
    fz_put(&head, (obj->tkinfo + 1) << 24 | obj->program->sm << 8 | 4, 4);
    fz_put(&head, 64 | (uint64_t)(newer ? 0 : 56) << 16, 4);
    fz_put(&head, 0 | 64u << 16, 4);
    fz_put(&head, obj->n_sections | 1u << 16, 4);
}

static void number_sections(fz_object *obj, const unsigned *rel, unsigned data_rel)
{
    for (unsigned i = 0; i < obj->program->n_fns; i++) {
        if (!fz_is_here(obj, i))
            continue;
        obj->section[obj->info[i]].info = obj->section[obj->bank[i]].info = obj->text[i];
        if (rel[i])
            obj->section[rel[i]].info = obj->text[i];
        obj->section[obj->text[i]].info =
            obj->fn_sym[i] | (obj->program->sm >= 90 ? 0 : obj->program->fn[i].registers << 24);
    }
    obj->section[0].info = 0;
    if (data_rel)
        obj->section[data_rel].info = obj->init;
    for (unsigned i = 4; i < obj->n_sections; i++) {
        fz_section *sec = &obj->section[i];
        uint32_t type = sec->type;
        bool symbols = type == CV_SHT_CUDA_INFO || type == CV_SHT_CUDA_CALLGRAPH ||
                       type == CV_SHT_CUDA_PROTOTYPE || type == CV_SHT_REL || type == CV_SHT_RELA ||
                       type == CV_SHT_PROGBITS;

        sec->link = symbols ? 3 : 0;
        sec->entsize = type == CV_SHT_REL                                               ? 16
                       : type == CV_SHT_RELA                                            ? 24
                       : type == CV_SHT_CUDA_CALLGRAPH || type == CV_SHT_CUDA_PROTOTYPE ? 8
                                                                                        : 0;
    }
    obj->section[3].link = 2;
    obj->section[3].info = obj->first_global;
    obj->section[3].entsize = 24;
    obj->section[obj->tkinfo + 1].link = obj->tkinfo;
    if (obj->program->sm >= 90)
        obj->section[obj->tkinfo + 1].info = obj->tkinfo + 3;
}

static void write_tables(fz_object *obj, fz_out *to)
{
    static uint8_t symbols[FZ_SYMBOLS * 24];
    uint32_t name[FZ_SECTIONS];
    uint64_t table;
    fz_out syms = { symbols, 0 };

    write_symbols(obj, &syms);
    for (unsigned i = 1; i < obj->n_sections; i++) {
        fz_section *sec = &obj->section[i];
        bool bytes;

        fz_pad(to, sec->align);
        sec->off = to->len;
        if (i == 1) {
            fz_put(to, 0, 1);
            for (unsigned k = 1; k < obj->n_sections; k++) {
                name[k] = (uint32_t)(to->len - sec->off);
                fz_put_text(to, obj->section[k].name);
            }
        }
        if (i == 2 || i == 3) {
            memcpy(to->bytes + to->len, i == 2 ? (uint8_t *)obj->strings : symbols,
                   i == 2 ? obj->strings_len : syms.len);
            to->len += i == 2 ? obj->strings_len : syms.len;
        }
        bytes = fz_write_body(obj, to, i);
        if (bytes)
            sec->size = to->len - sec->off;
    }
    fz_pad(to, 8);
    table = to->len;
    name[0] = 0;
    for (unsigned i = 0; i < obj->n_sections; i++) {
        const fz_section *sec = &obj->section[i];

        fz_put(to, name[i] | (uint64_t)sec->type << 32, 8);
        fz_put(to, sec->flags, 8);
        fz_put(to, 0, 8);
        fz_put(to, sec->off, 8);
        fz_put(to, sec->size, 8);
        fz_put(to, sec->link | (uint64_t)sec->info << 32, 8);
        fz_put(to, sec->align, 8);
        fz_put(to, sec->entsize, 8);
    }
    write_header(obj, to, table);
}

size_t fz_program_write(const md_program *program, unsigned unit, uint8_t *bytes)
{
    static const char TYPES[] = "\0#vi\0#vl\0#ii";
    static fz_object obj;
    unsigned rel[MD_FNS] = { 0 }, data_rel = 0;
    fz_out to = { bytes, 64 };

    memset(&obj, 0, sizeof(obj));
    obj.program = program;
    obj.unit = unit;
    memcpy(obj.strings, TYPES, sizeof(TYPES));
    obj.strings_len = sizeof(TYPES);
    find_mentioned(&obj);
    choose_sections(&obj, rel, &data_rel);
    lay_out_code(&obj);
    add_locals(&obj);
    add_globals(&obj);
    number_sections(&obj, rel, data_rel);
    write_tables(&obj, &to);
    FZ_CHECK(to.len <= FZ_IMAGE, "an object is small");
    return to.len;
}
