/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Both symbol tables. They are never sorted by binding, so one pass over everything finds what sh_info may
 * be. */
#include "cubin/internal.h"

typedef struct pass {
    cv_ctx *x;
    cv_cubin *c;
    bool merc;
    cv_span table, shndx;
    uint64_t n, section; /* symbols; index of the table's own section */
    uint64_t names_end;
    uint64_t first_nonlocal, first_global, after_local, before_globals;
} pass;

static void sym_report(const pass *p, uint64_t i, cv_rule rule, cv_sym_field f, uint64_t got, uint64_t want)
{
    bool is32 = p->c->h.is32;

    cv_report_at(p->x, CUVET_P_SYMBOL, i, rule,
                 p->table.off + i * cv_elf_sym_size(is32) + cv_elf_sym_at(is32, f), 0, got, want);
}

/* The string at off is exactly 'name'; true when the work is used up, which is reported. */
static bool name_is(const pass *p, uint64_t off, cv_span name)
{
    cv_span head, strtab = p->c->strtab;

    if (!cv_name_work(p->x, name))
        return true;
    return cv_span_sub(strtab, off, name.len, &head) && cv_span_has(strtab, off, name.len + 1) &&
           cv_u8_at(strtab, off + name.len) == 0 && cv_span_eq(head, name);
}

static void check_name(const pass *p, uint64_t i, const cv_elf_symbol *s)
{
    cv_span strtab = p->c->strtab;

    if (s->name == 0)
        return;
    if (s->name >= p->names_end)
        sym_report(p, i, CV_R_SYM_NAME, CV_ST_NAME, s->name, strtab.len);
    else if (cv_u8_at(strtab, s->name - 1) != 0)
        sym_report(p, i, CV_R_SYM_NAME_MIDDLE, CV_ST_NAME, s->name, 0);
}

static void check_section_symbol(const pass *p, uint64_t i, const cv_elf_symbol *s, uint64_t index,
                                 cv_sec *sec)
{
    uint32_t *seen = p->merc ? &sec->merc_sym : &sec->sym;

    if ((s->value | s->size) != 0)
        sym_report(p, i, CV_R_SYM_SECTION, CV_ST_VALUE, s->value | s->size, 0);
    if (*seen != 0)
        sym_report(p, i, CV_R_SYM_SECTION_TWICE, CV_ST_SHNDX, *seen, 0);
    else
        *seen = (uint32_t)i;
    if (s->name != 0 && !name_is(p, s->name, p->merc ? cv_cubin_native_name(sec) : sec->name))
        sym_report(p, i, CV_R_SYM_SECTION_NAME, CV_ST_NAME, index, 0);
}

static void check_kernel(const pass *p, uint64_t i, const cv_elf_symbol *s, uint64_t index, cv_sec *sec)
{
    p->c->n_kernels++;
    if (sec->kernel_sym != 0)
        sym_report(p, i, CV_R_SYM_KERNEL_OTHER, CV_ST_SHNDX, sec->kernel_sym, index);
    sec->kernel_sym = (uint32_t)i;
    if (s->value != 0)
        sym_report(p, i, CV_R_SYM_KERNEL, CV_ST_VALUE, s->value, 0);
    else if (s->size != sec->h.size)
        sym_report(p, i, CV_R_SYM_KERNEL, CV_ST_SIZE, s->size, sec->h.size);
    if (!name_is(p, s->name, sec->fn))
        sym_report(p, i, CV_R_SYM_KERNEL_NAME, CV_ST_NAME, index, 0);
}

/* A function of a relocatable file has a section of its own; its other names may say nothing of the size. */
static void check_alone(const pass *p, uint64_t i, const cv_elf_symbol *s, const cv_sec *sec)
{
    if (cv_elf_code_symbol(sec->h.info) != i)
        return;
    if (s->value != 0)
        sym_report(p, i, CV_R_SYM_FUNCTION, CV_ST_VALUE, s->value, sec->h.size);
    else if (s->size != sec->h.size)
        sym_report(p, i, CV_R_SYM_FUNCTION, CV_ST_SIZE, s->size, sec->h.size);
}

static void check_function(const pass *p, uint64_t i, const cv_elf_symbol *s, uint64_t index, cv_sec *sec)
{
    if (!(p->merc ? cv_role_is_capsule(sec->role) : cv_role_is_code(sec->role))) {
        sym_report(p, i, CV_R_SYM_FUNC_PLACE, CV_ST_SHNDX, index, 0);
        return;
    }
    if (s->value % p->c->gen->instruction != 0)
        sym_report(p, i, CV_R_SYM_FUNC_ALIGN, CV_ST_VALUE, s->value, p->c->gen->instruction);
    sec->code_end = cv_max(sec->code_end, cv_sat_add(s->value, s->size));
    if (p->merc)
        return;
    p->c->n_functions++;
    if (s->other & CV_STO_ENTRY)
        check_kernel(p, i, s, index, sec);
    else if (p->c->rel &&
             !p->c->hand) /* in an executable a kernel has those behind itself that it alone calls */
        check_alone(p, i, s, sec);
}

/* Shared variables of relocatable files carry their alignment in the value, like common symbols. */
static bool value_is_no_place(const cv_cubin *c, const cv_elf_symbol *s, const cv_sec *sec)
{
    unsigned space = s->other & CV_STO_SPACE;

    if (sec->role != CV_ROLE_SHARED_FN && sec->role != CV_ROLE_NV_DEBUG_SHARED &&
        sec->role != CV_ROLE_SHARED_RESERVED)
        return false;
    /* Of an extern array the linker leaves, for a debugger, where it begins in its kernel: nothing is there.
     */
    if (!c->rel && sec->role == CV_ROLE_NV_DEBUG_SHARED && s->size == 0)
        return true;
    return c->rel && cv_elf_sym_type(s) == CV_STT_CUDA_OBJECT &&
           (space == CV_STO_SPACE_SHARED || space == CV_STO_SPACE_RESERVED);
}

/* Common variables, and those of shared memory while no linker has placed them. */
static void check_alignment(const pass *p, uint64_t i, const cv_elf_symbol *s, uint64_t index)
{
    unsigned space = s->other & CV_STO_SPACE;
    bool shared = p->c->rel && cv_elf_sym_type(s) == CV_STT_CUDA_OBJECT &&
                  (space == CV_STO_SPACE_SHARED || space == CV_STO_SPACE_RESERVED);

    if (index == CV_SHN_COMMON || shared)
        sym_report(p, i, CV_R_LIMIT_ALIGNMENT, CV_ST_VALUE, s->value, p->x->lim.alignment);
}

/* Memory that programs have variables in; what is not known is not judged. */
static bool holds_variables(cv_role r)
{
    switch ((unsigned)r) {
    case CV_ROLE_NONE:
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_UDT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN:
    case CV_ROLE_LOCAL_FN:
    case CV_ROLE_SHARED_FN:
    case CV_ROLE_SHARED_RESERVED:
    case CV_ROLE_NV_DEBUG_SHARED: return true;
    default: return false;
    }
}

/* Names that stand for nothing that has an address: without a type. */
static bool is_variable(uint8_t type)
{
    return type == CV_STT_OBJECT || (type >= CV_STT_CUDA_TEXTURE && type <= CV_STT_CUDA_OBJECT);
}

/* A symbol that is defined in a section. */
static void check_defined(const pass *p, uint64_t i, const cv_elf_symbol *s, uint64_t index)
{
    uint8_t type = cv_elf_sym_type(s);
    uint64_t end;
    cv_sec *sec;

    if (CV_UNLIKELY(index >= p->c->sec.n)) {
        sym_report(p, i, CV_R_SYM_SHNDX, CV_ST_SHNDX, index, p->c->sec.n);
        return;
    }
    sec = cv_sec_mut(p->c, index);
    if (type == CV_STT_SECTION) {
        check_section_symbol(p, i, s, index, sec);
        return;
    }
    if (!p->c->conv)
        return;
    if (type == CV_STT_FUNC)
        check_function(p, i, s, index, sec);
    if (p->merc)
        return;
    if (CV_UNLIKELY(is_variable(type) && !holds_variables(sec->role)))
        sym_report(p, i, CV_R_SYM_VARIABLE_PLACE, CV_ST_SHNDX, index, 0);
    end = value_is_no_place(p->c, s, sec) ? s->size : cv_sat_add(s->value, s->size);
    if (end > sec->h.size)
        sym_report(p, i, CV_R_SYM_RANGE, CV_ST_VALUE, end, sec->h.size);
}

/* Kernels and unified functions, managed and unified variables, memory spaces. Visibility is set on variables
 * and names without a type, never on functions and sections; bit 3 on nothing. */
static bool other_fits(const pass *p, const cv_elf_symbol *s, uint8_t type)
{
    unsigned space = s->other & CV_STO_SPACE, rest = s->other & ~(unsigned)(CV_STO_SPACE | 3);

    if (s->other == 0)
        return true;
    switch (type) {
    case CV_STT_FUNC: return (s->other & ~(unsigned)(CV_STO_ENTRY | CV_STO_MANAGED)) == 0;
    case CV_STT_SECTION: return false;
    default: break;
    }
    if (space == CV_STO_SPACE_RESERVED && cv_u8_at(p->c->strtab, s->name) != '.' &&
        cv_u8_at(p->c->strtab, s->name) != '_')
        return false;
    return (rest & ~(unsigned)(CV_STO_MANAGED | CV_STO_ENTRY)) == 0;
}

static void check_symbol(pass *p, uint64_t i, const cv_elf_symbol *s)
{
    uint8_t bind = cv_elf_sym_bind(s), type = cv_elf_sym_type(s);
    uint64_t index = s->shndx;

    check_name(p, i, s);
    if (CV_UNLIKELY(bind > CV_STB_WEAK ||
                    (type > CV_STT_SECTION && (type < CV_STT_CUDA_TEXTURE || type > CV_STT_CUDA_OBJECT))) &&
        p->c->conv)
        sym_report(p, i, CV_R_SYM_TYPE, CV_ST_INFO, s->info, 0);
    if (p->c->conv && CV_UNLIKELY(!other_fits(p, s, type)))
        sym_report(p, i, CV_R_SYM_OTHER, CV_ST_OTHER, s->other, type);
    if (bind != CV_STB_GLOBAL)
        p->before_globals = i + 1;
    if (bind == CV_STB_LOCAL)
        p->after_local = i + 1;
    else if (p->first_nonlocal == p->n)
        p->first_nonlocal = i;
    if (bind == CV_STB_GLOBAL && p->first_global == p->n)
        p->first_global = i;
    if (s->value > p->x->lim.alignment)
        check_alignment(p, i, s, index);
    if (index == CV_SHN_UNDEF)
        return;
    if (CV_UNLIKELY(index == CV_SHN_XINDEX)) {
        if (!cv_span_has(p->shndx, cv_sat_mul(i, 4), 4)) {
            sym_report(p, i, CV_R_SYM_XINDEX, CV_ST_SHNDX, p->shndx.len / 4, p->n);
            return;
        }
        index = cv_u32_at(p->shndx, i * 4);
    } else if (index >= CV_SHN_LORESERVE) {
        if (index != CV_SHN_ABS && index != CV_SHN_COMMON && p->c->conv)
            sym_report(p, i, CV_R_SYM_RESERVED_SECTION, CV_ST_SHNDX, index, CV_SHN_XINDEX);
        return;
    }
    check_defined(p, i, s, index);
}

static void check_zero(const pass *p)
{
    cv_elf_symbol s;
    uint64_t any;

    cv_elf_read_symbol(p->table, p->c->h.is32, 0, &s);
    any = s.name | s.info | s.other | s.shndx | s.size;
    if (any != 0)
        sym_report(p, 0, CV_R_SYM_ZERO, CV_ST_NAME, any, 0);
    else if (s.value != 0)
        sym_report(p, 0, CV_R_SYM_ZERO_VALUE, CV_ST_VALUE, s.value, 0);
}

/* Tools differ in what sh_info means; one of these values always holds. */
static void check_binding(const pass *p)
{
    uint64_t info = cv_cubin_sec(p->c, p->section)->h.info;
    bool ok;

    if (info > p->n) {
        cv_sec_report(p->x, p->c, p->section, CV_R_SYM_INFO_RANGE, CV_SH_INFO, info, p->n);
        return;
    }
    ok = !p->c->conv || info == p->first_nonlocal || info == p->first_global || info == p->after_local ||
         info == p->before_globals;
    if (!ok)
        cv_sec_report(p->x, p->c, p->section, CV_R_SYM_INFO, CV_SH_INFO, info, p->n);
}

static void check_table(pass *p)
{
    cv_elf_symbol s;

    if (p->section == 0 || p->n == 0 || !cv_work(p->x, p->n, p->table.off))
        return;
    p->names_end = cv_strings_end(p->c->strtab);
    p->first_nonlocal = p->first_global = p->n;
    p->after_local = p->before_globals = 1;
    check_zero(p);
    for (uint64_t i = 1; i < p->n; i++) {
        cv_elf_read_symbol(p->table, p->c->h.is32, i, &s);
        check_symbol(p, i, &s);
    }
    check_binding(p);
}

void cv_cubin_check_symbols(cv_ctx *x, cv_cubin *c)
{
    pass native = { .x = x,
                    .c = c,
                    .table = c->symtab,
                    .shndx = c->symtab_shndx,
                    .n = c->n_syms,
                    .section = c->symtab_index };
    pass merc = { .x = x,
                  .c = c,
                  .merc = true,
                  .table = c->merc_symtab,
                  .shndx = c->merc_shndx,
                  .n = c->n_merc_syms,
                  .section = c->merc_symtab_index };

    check_table(&native);
    check_table(&merc);
}
