/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Both symbol tables. They are never sorted by binding, so one pass over everything finds what sh_info may
 * be. */
#include "cubin/internal.h"
#include "target/provided.h"

/* No device has more memory. */
#define SIZE_MOST (UINT64_C(1) << 48)

typedef struct symbol_pass {
    cv_ctx *ctx;
    cv_cubin *cubin;
    bool merc;
    cv_span table, shndx;
    uint64_t count, section; /* symbols; index of the table's own section */
    uint64_t names_end;
    uint64_t first_nonlocal, first_global, after_local, before_globals;
} symbol_pass;

static void sym_report(const symbol_pass *pass, uint64_t index, cv_rule rule, cv_sym_field field,
                       uint64_t got, uint64_t want)
{
    bool is32 = pass->cubin->header.is32;

    cv_report_at(pass->ctx, CUVET_P_SYMBOL, index, rule,
                 pass->table.off + index * cv_elf_sym_size(is32) + cv_elf_sym_at(is32, field), 0, got, want);
}

/* The string at off is exactly 'name'; true when the work is used up, which is reported. */
static bool name_is(const symbol_pass *pass, uint64_t off, cv_span name)
{
    cv_span head, strtab = pass->cubin->strtab;

    if (!cv_name_work(pass->ctx, name))
        return true;
    return cv_span_sub(strtab, off, name.len, &head) && cv_span_has(strtab, off, name.len + 1) &&
           cv_u8_at(strtab, off + name.len) == 0 && cv_span_eq(head, name);
}

static void check_name(const symbol_pass *pass, uint64_t index, const cv_elf_symbol *symbol)
{
    cv_span strtab = pass->cubin->strtab;

    if (symbol->name == 0)
        return;
    if (symbol->name >= pass->names_end)
        sym_report(pass, index, CV_R_SYM_NAME, CV_ST_NAME, symbol->name, strtab.len);
    else if (cv_u8_at(strtab, symbol->name - 1) != 0)
        sym_report(pass, index, CV_R_SYM_NAME_MIDDLE, CV_ST_NAME, symbol->name, 0);
}

static void check_section_symbol(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol,
                                 uint64_t index, cv_sec *sec)
{
    uint32_t *seen = pass->merc ? &sec->merc_sym : &sec->sym;

    if ((symbol->value | symbol->size) != 0)
        sym_report(pass, at, CV_R_SYM_SECTION, CV_ST_VALUE, symbol->value | symbol->size, 0);
    if (*seen != 0)
        sym_report(pass, at, CV_R_SYM_SECTION_TWICE, CV_ST_SHNDX, *seen, 0);
    else
        *seen = (uint32_t)at;
    if (symbol->name != 0 && !name_is(pass, symbol->name, pass->merc ? cv_cubin_native_name(sec) : sec->name))
        sym_report(pass, at, CV_R_SYM_SECTION_NAME, CV_ST_NAME, index, 0);
}

/* Where a kernel can begin at most: behind a word of control, where some who write code by hand let it. */
static uint64_t last_begin(const cv_cubin *cubin)
{
    return cv_gen_has(cubin->gen, CV_GEN_CONTROL_WORDS) ? cubin->gen->instruction : 0;
}

static void check_kernel(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint64_t index,
                         cv_sec *sec)
{
    pass->cubin->n_kernels++;
    if (sec->kernel_sym != 0)
        sym_report(pass, at, CV_R_SYM_KERNEL_OTHER, CV_ST_SHNDX, sec->kernel_sym, index);
    sec->kernel_sym = (uint32_t)at;
    if (symbol->value > last_begin(pass->cubin))
        sym_report(pass, at, CV_R_SYM_KERNEL_BEGIN, CV_ST_VALUE, symbol->value, 0);
    else if (symbol->value != 0)
        sym_report(pass, at, CV_R_SYM_KERNEL, CV_ST_VALUE, symbol->value, 0);
    else if (symbol->size != sec->header.size)
        sym_report(pass, at, CV_R_SYM_KERNEL, CV_ST_SIZE, symbol->size, sec->header.size);
    if (!name_is(pass, symbol->name, sec->fn))
        sym_report(pass, at, CV_R_SYM_KERNEL_NAME, CV_ST_NAME, index, 0);
}

static bool is_weak(const symbol_pass *pass, uint64_t index)
{
    cv_elf_symbol symbol;

    cv_elf_read_symbol(pass->table, pass->cubin->header.is32, index, &symbol);
    return cv_elf_sym_bind(&symbol) == CV_STB_WEAK;
}

/* Another name of a function: global, where it begins, and no kernel. Compilers give weak functions none,
 * which can lose against another definition while the name stays. Linkers take it for the
 * function itself and end by a signal where it is not. */
static void check_alias(const symbol_pass *pass, uint64_t index, const cv_elf_symbol *symbol, uint64_t owner)
{
    /* A whole program has functions that it shows to nobody behind the one that the section is named for. */
    if (cv_cubin_is_whole(pass->cubin) && cv_elf_sym_bind(symbol) == CV_STB_LOCAL)
        return;
    if (cv_elf_sym_bind(symbol) != CV_STB_GLOBAL)
        sym_report(pass, index, CV_R_SYM_ALIAS, CV_ST_INFO, index, owner);
    else if (symbol->value != 0)
        sym_report(pass, index, CV_R_SYM_ALIAS, CV_ST_VALUE, index, owner);
    else if (is_weak(pass, owner))
        sym_report(pass, index, CV_R_SYM_ALIAS, CV_ST_NAME, index, owner);
}

/* A function of a relocatable file has a section of its own; its other names may say nothing of the size. */
static void check_alone(const symbol_pass *pass, uint64_t index, const cv_elf_symbol *symbol,
                        const cv_sec *sec)
{
    uint32_t owner = cv_elf_code_symbol(sec->header.info);

    if (owner != index) {
        if (sec->role == CV_ROLE_TEXT)
            check_alias(pass, index, symbol, owner);
        return;
    }
    if (symbol->value != 0)
        sym_report(pass, index, CV_R_SYM_FUNCTION, CV_ST_VALUE, symbol->value, sec->header.size);
    else if (symbol->size != sec->header.size)
        sym_report(pass, index, CV_R_SYM_FUNCTION, CV_ST_SIZE, symbol->size, sec->header.size);
}

static void check_function(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint64_t index,
                           cv_sec *sec)
{
    if (!(pass->merc ? cv_role_is_capsule(sec->role) : cv_role_is_code(sec->role))) {
        sym_report(pass, at, CV_R_SYM_FUNC_PLACE, CV_ST_SHNDX, index, 0);
        return;
    }
    if (symbol->value % pass->cubin->gen->instruction != 0)
        sym_report(pass, at, CV_R_SYM_FUNC_ALIGN, CV_ST_VALUE, symbol->value, pass->cubin->gen->instruction);
    sec->code_end = cv_max(sec->code_end, cv_sat_add(symbol->value, symbol->size));
    if (pass->merc)
        return;
    pass->cubin->n_functions++;
    if (symbol->other & CV_STO_ENTRY)
        check_kernel(pass, at, symbol, index, sec);
    else if (pass->cubin->rel &&
             !pass->cubin->hand) /* in an executable a kernel has those behind itself that it alone calls */
        check_alone(pass, at, symbol, sec);
}

/* Shared variables of relocatable files carry their alignment in the value, like common symbols. */
static bool value_is_no_place(const cv_cubin *cubin, const cv_elf_symbol *symbol, const cv_sec *sec)
{
    unsigned space = symbol->other & CV_STO_SPACE;

    if (sec->role != CV_ROLE_SHARED_FN && sec->role != CV_ROLE_NV_DEBUG_SHARED &&
        sec->role != CV_ROLE_SHARED_RESERVED)
        return false;
    /* Of an extern array the linker leaves, for a debugger, where it begins in its kernel: nothing is there.
     */
    if (!cubin->rel && sec->role == CV_ROLE_NV_DEBUG_SHARED && symbol->size == 0)
        return true;
    return cubin->rel && cv_elf_sym_type(symbol) == CV_STT_CUDA_OBJECT &&
           (space == CV_STO_SPACE_SHARED || space == CV_STO_SPACE_RESERVED);
}

/* Common variables, and those of shared memory while no linker has placed them. */
static void check_alignment(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint64_t index)
{
    unsigned space = symbol->other & CV_STO_SPACE;
    bool shared = pass->cubin->rel && cv_elf_sym_type(symbol) == CV_STT_CUDA_OBJECT &&
                  (space == CV_STO_SPACE_SHARED || space == CV_STO_SPACE_RESERVED);

    /* a relocatable link of the reference gives up a variable that no input defines */
    if (index == CV_SHN_UNDEF && symbol->size != 0 && symbol->value == UINT64_MAX)
        return;
    if (index == CV_SHN_COMMON || shared)
        sym_report(pass, at, CV_R_LIMIT_ALIGNMENT, CV_ST_VALUE, symbol->value, pass->ctx->lim.alignment);
}

/* The memory space that st_other names for variables of a section; 0: it is not known. */
static unsigned space_of(cv_role role)
{
    switch ((unsigned)role) {
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_UDT: return CV_STO_SPACE_GLOBAL;
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN: return CV_STO_SPACE_CONSTANT;
    case CV_ROLE_LOCAL_FN: return CV_STO_SPACE_LOCAL;
    case CV_ROLE_SHARED_FN:
    case CV_ROLE_NV_DEBUG_SHARED: return CV_STO_SPACE_SHARED;
    case CV_ROLE_SHARED_RESERVED: return CV_STO_SPACE_RESERVED;
    default: return 0;
    }
}

/* Does memory of that kind have variables: in executables banks other than that of the program's constants
 * hold parameters and addresses, and the only name there is one that is not exported. */
static bool may_hold(const symbol_pass *pass, const cv_elf_symbol *symbol, const cv_sec *sec)
{
    bool exported = (symbol->other & CV_STV) != CV_STV_INTERNAL || cv_elf_sym_bind(symbol) != CV_STB_LOCAL;

    if (pass->cubin->exe && sec->role == CV_ROLE_CONSTANT)
        return sec->bank == CV_BANK_USER;
    if (pass->cubin->exe && sec->role == CV_ROLE_CONSTANT_FN)
        return !exported;
    return cv_role_holds_variables(sec->role);
}

/* Where a variable lies, and does st_other say so: CUDA objects name their memory, plain objects, which are
 * what linkers leave of them, no longer do. What is managed or unified is global memory. */
static void check_variable(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint64_t index,
                           const cv_sec *sec)
{
    unsigned space = space_of(sec->role), want = cv_elf_sym_type(symbol) == CV_STT_OBJECT ? 0 : space;
    unsigned got = symbol->other & (CV_STO_SPACE | CV_STO_MANAGED | CV_STO_ENTRY);

    if (CV_UNLIKELY(!may_hold(pass, symbol, sec))) {
        sym_report(pass, at, CV_R_SYM_VARIABLE_PLACE, CV_ST_SHNDX, index, 0);
        return;
    }
    if (space == CV_STO_SPACE_GLOBAL)
        got &= CV_STO_SPACE;
    if (CV_UNLIKELY(space != 0 && got != want))
        sym_report(pass, at, CV_R_SYM_SPACE, CV_ST_OTHER, symbol->other, want);
}

/* What other objects may name where it is defined: functions and variables. A linker would give the
 * reference of another object a place in code, or in no memory, and ends by a signal. */
static bool is_for_others(const cv_elf_symbol *symbol, uint8_t type)
{
    return cv_elf_sym_bind(symbol) == CV_STB_LOCAL || type == CV_STT_FUNC || type == CV_STT_CUDA_OBJECT;
}

/* A symbol that is defined in a section. */
static void check_defined(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint64_t index)
{
    uint8_t type = cv_elf_sym_type(symbol);
    uint64_t end;
    cv_sec *sec;

    if (CV_UNLIKELY(index >= pass->cubin->sec.count)) {
        sym_report(pass, at, CV_R_SYM_SHNDX, CV_ST_SHNDX, index, pass->cubin->sec.count);
        return;
    }
    sec = cv_sec_mut(pass->cubin, index);
    if (type == CV_STT_SECTION) {
        check_section_symbol(pass, at, symbol, index, sec);
        return;
    }
    if (!pass->cubin->conv)
        return;
    if (type == CV_STT_FUNC)
        check_function(pass, at, symbol, index, sec);
    if (pass->merc)
        return;
    if (cv_is_variable(type))
        check_variable(pass, at, symbol, index, sec);
    /* The name that a whole program has for what is reserved in shared memory, without a type or a size. */
    if (cv_cubin_is_whole(pass->cubin) && type == CV_STT_NOTYPE && sec->role == CV_ROLE_SHARED_RESERVED &&
        symbol->size == 0)
        return;
    if (CV_UNLIKELY(pass->cubin->rel && !is_for_others(symbol, type)))
        sym_report(pass, at, CV_R_SYM_FOR_OTHERS, CV_ST_INFO, type, CV_STT_CUDA_OBJECT);
    if (value_is_no_place(pass->cubin, symbol, sec)) {
        end = symbol->size;
        /* of an array that a relocatable link shows it is nothing, or the place */
        if (pass->cubin->rel && CV_UNLIKELY(!cv_is_pow2(symbol->value)) &&
            !(symbol->value == 0 && cv_cubin_is_whole(pass->cubin)) &&
            !(symbol->size == 0 && (symbol->value == 0 || sec->role == CV_ROLE_NV_DEBUG_SHARED)))
            sym_report(pass, at, CV_R_SYM_ALIGN, CV_ST_VALUE, symbol->value, 0);
        if (pass->cubin->rel && symbol->size == 0 && cv_elf_sym_bind(symbol) == CV_STB_LOCAL)
            sym_report(pass, at, CV_R_SYM_SHARED_EMPTY, CV_ST_SIZE, symbol->value, 0);
    } else {
        end = cv_sat_add(symbol->value, symbol->size);
    }
    if (end > sec->header.size)
        sym_report(pass, at, CV_R_SYM_RANGE, CV_ST_VALUE, end, sec->header.size);
}

/* In an executable, or to be linked? Of what a linker has yet to place, only variables of global memory are
 * common; it gives them the alignment that the value is. */
static void check_common(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol)
{
    uint8_t type = cv_elf_sym_type(symbol);
    bool global = (symbol->other & CV_STO_SPACE) == CV_STO_SPACE_GLOBAL;

    if (pass->cubin->exe || !(type == CV_STT_OBJECT || (type == CV_STT_CUDA_OBJECT && global)))
        sym_report(pass, at, CV_R_SYM_COMMON, CV_ST_SHNDX, CV_SHN_COMMON, pass->cubin->sec.count);
    else if (!cv_is_pow2(symbol->value))
        sym_report(pass, at, CV_R_SYM_ALIGN, CV_ST_VALUE, symbol->value, 0);
    else if (symbol->size > SIZE_MOST)
        sym_report(pass, at, CV_R_SYM_RANGE, CV_ST_SIZE, symbol->size, SIZE_MOST);
}

/* Where a name begins; empty: it has none, or one that was reported. */
static cv_span name_of(const symbol_pass *pass, const cv_elf_symbol *symbol)
{
    cv_span name = pass->cubin->strtab;

    if (!cv_span_cstr(pass->cubin->strtab, symbol->name, &name) || !cv_name_work(pass->ctx, name))
        name.len = 0;
    return name;
}

/* Nobody else can define what is local; a local symbol that was taken back has no type, and no space if it is
 * a variable. What may be missing is of the driver or of the linker, as weak functions of the driver in what
 * clang compiles for OpenMP; for sm_100 and later a relocatable link of the reference leaves the arrays of a
 * function weak, which no link places. */
static bool is_nobodys(const symbol_pass *pass, const cv_elf_symbol *symbol, uint8_t type)
{
    bool object = type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;

    switch (cv_elf_sym_bind(symbol)) {
    case CV_STB_LOCAL: return type != CV_STT_NOTYPE && !(object && (symbol->other & CV_STO_SPACE) == 0);
    case CV_STB_WEAK:
        return !object && !(type == CV_STT_FUNC && (symbol->other & CV_STO_ENTRY) == 0 &&
                            cv_is_provided(name_of(pass, symbol)));
    default: return false;
    }
}

/* What an executable leaves to the driver: functions that it provides, textures, which have no memory, and
 * what the system has of its own. What has no name is found by nobody, nor is what is local and of no type.
 * Linkers leave a function or a variable open where they are told to, or where it is weak. */
static void check_left(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint8_t type)
{
    bool texture = type >= CV_STT_CUDA_TEXTURE && type <= CV_STT_CUDA_SURFACE;
    bool object = type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
    bool global = cv_elf_sym_bind(symbol) == CV_STB_GLOBAL;
    bool wanted = global || cv_elf_sym_bind(symbol) == CV_STB_WEAK;
    cv_span name = name_of(pass, symbol);

    if (type == CV_STT_FUNC && !(symbol->other & CV_STO_ENTRY)) {
        if ((name.len != 0 || symbol->info != cv_elf_info(CV_STB_LOCAL, CV_STT_FUNC)) &&
            (!wanted || !cv_is_provided(name)))
            sym_report(pass, at, CV_R_SYM_NOT_PROVIDED, CV_ST_NAME, symbol->name, 0);
    } else if (object) {
        if (name.len != 0 && !cv_span_starts(name, ".nv."))
            sym_report(pass, at, CV_R_SYM_LEFT_OPEN, CV_ST_NAME, symbol->name, 0);
    } else if (name.len != 0 && symbol->info != cv_elf_info(CV_STB_LOCAL, CV_STT_NOTYPE) &&
               !(texture && global)) {
        sym_report(pass, at, CV_R_SYM_UNDEFINED, CV_ST_SHNDX, 0, pass->cubin->sec.count);
    }
}

/* What only variables of global memory are: a linker that places what is open keeps the bits. */
static bool is_of_no_memory(const cv_elf_symbol *symbol, uint8_t type)
{
    unsigned space = symbol->other & CV_STO_SPACE;

    return (type == CV_STT_CUDA_OBJECT || type == CV_STT_OBJECT) && space > CV_STO_SPACE_GLOBAL &&
           (symbol->other & (CV_STO_MANAGED | CV_STO_ENTRY)) != 0;
}

static void check_undefined(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol, uint8_t type)
{
    if (!pass->cubin->conv)
        return;
    if (pass->cubin->exe)
        check_left(pass, at, symbol, type);
    else if (CV_UNLIKELY(is_nobodys(pass, symbol, type)))
        sym_report(pass, at, CV_R_SYM_NOBODYS, CV_ST_INFO, symbol->info, 0);
    else if (CV_UNLIKELY(is_of_no_memory(symbol, type)))
        sym_report(pass, at, CV_R_SYM_SPACE, CV_ST_OTHER, symbol->other, symbol->other & CV_STO_SPACE);
}

/* A symbol with a section index that stands for none. */
static void check_reserved(const symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol)
{
    if (!pass->cubin->conv)
        return;
    if (symbol->shndx == CV_SHN_ABS)
        sym_report(pass, at, CV_R_SYM_ABSOLUTE, CV_ST_SHNDX, CV_SHN_ABS, pass->cubin->sec.count);
    else if (symbol->shndx == CV_SHN_COMMON)
        check_common(pass, at, symbol);
    else
        sym_report(pass, at, CV_R_SYM_RESERVED_SECTION, CV_ST_SHNDX, symbol->shndx, CV_SHN_XINDEX);
}

/* Kernels and unified functions, managed and unified variables, memory spaces. Visibility is set on variables
 * and names without a type, never on functions and sections; bit 3 on nothing. */
static bool other_fits(const symbol_pass *pass, const cv_elf_symbol *symbol, uint8_t type)
{
    unsigned space = symbol->other & CV_STO_SPACE, rest = symbol->other & ~(unsigned)(CV_STO_SPACE | 3);

    if (symbol->other == 0)
        return true;
    switch (type) {
    case CV_STT_FUNC: return (symbol->other & ~(unsigned)(CV_STO_ENTRY | CV_STO_MANAGED)) == 0;
    case CV_STT_SECTION: return false;
    default: break;
    }
    if (space == CV_STO_SPACE_RESERVED && cv_u8_at(pass->cubin->strtab, symbol->name) != '.' &&
        cv_u8_at(pass->cubin->strtab, symbol->name) != '_')
        return false;
    return (rest & ~(unsigned)(CV_STO_MANAGED | CV_STO_ENTRY)) == 0;
}

static void check_symbol(symbol_pass *pass, uint64_t at, const cv_elf_symbol *symbol)
{
    uint8_t bind = cv_elf_sym_bind(symbol), type = cv_elf_sym_type(symbol);
    uint64_t index = symbol->shndx;

    check_name(pass, at, symbol);
    if (CV_UNLIKELY(bind > CV_STB_WEAK ||
                    (type > CV_STT_SECTION && (type < CV_STT_CUDA_TEXTURE || type > CV_STT_CUDA_OBJECT))) &&
        pass->cubin->conv)
        sym_report(pass, at, CV_R_SYM_TYPE, CV_ST_INFO, symbol->info, 0);
    if (pass->cubin->conv && CV_UNLIKELY(!other_fits(pass, symbol, type)))
        sym_report(pass, at, CV_R_SYM_OTHER, CV_ST_OTHER, symbol->other, type);
    if (bind != CV_STB_GLOBAL)
        pass->before_globals = at + 1;
    if (bind == CV_STB_LOCAL)
        pass->after_local = at + 1;
    else if (pass->first_nonlocal == pass->count)
        pass->first_nonlocal = at;
    if (bind == CV_STB_GLOBAL && pass->first_global == pass->count)
        pass->first_global = at;
    if (symbol->value > pass->ctx->lim.alignment)
        check_alignment(pass, at, symbol, index);
    if (index == CV_SHN_UNDEF) {
        check_undefined(pass, at, symbol, type);
        return;
    }
    if (CV_UNLIKELY(index == CV_SHN_XINDEX)) {
        if (!cv_span_has(pass->shndx, cv_sat_mul(at, 4), 4)) {
            sym_report(pass, at, CV_R_SYM_XINDEX, CV_ST_SHNDX, pass->shndx.len / 4, pass->count);
            return;
        }
        index = cv_u32_at(pass->shndx, at * 4);
        if (index == CV_SHN_UNDEF && pass->cubin->conv) { /* undefined in one word, defined in the other */
            sym_report(pass, at, CV_R_SYM_SHNDX, CV_ST_SHNDX, 0, pass->cubin->sec.count);
            return;
        }
    } else if (index >= CV_SHN_LORESERVE) {
        check_reserved(pass, at, symbol);
        return;
    }
    check_defined(pass, at, symbol, index);
}

static void check_zero(const symbol_pass *pass)
{
    cv_elf_symbol symbol;
    uint64_t any;

    cv_elf_read_symbol(pass->table, pass->cubin->header.is32, 0, &symbol);
    any = symbol.name | symbol.info | symbol.other | symbol.shndx | symbol.size;
    if (any != 0)
        sym_report(pass, 0, CV_R_SYM_ZERO, CV_ST_NAME, any, 0);
    else if (symbol.value != 0)
        sym_report(pass, 0, CV_R_SYM_ZERO_VALUE, CV_ST_VALUE, symbol.value, 0);
}

/* Tools differ in what sh_info means; one of these values always holds. Weak symbols that stand between the
 * local and the global ones may be on either side. */
static void check_binding(const symbol_pass *pass)
{
    uint64_t info = cv_cubin_sec(pass->cubin, pass->section)->header.info;
    bool ok;

    if (info > pass->count) {
        cv_sec_report(pass->ctx, pass->cubin, pass->section, CV_R_SYM_INFO_RANGE, CV_SH_INFO, info,
                      pass->count);
        return;
    }
    ok = !pass->cubin->conv || info == pass->first_nonlocal || info == pass->first_global ||
         info == pass->after_local || info == pass->before_globals ||
         (info > pass->after_local && info <= pass->first_global);
    if (!ok)
        cv_sec_report(pass->ctx, pass->cubin, pass->section, CV_R_SYM_INFO, CV_SH_INFO, info, pass->count);
}

static void check_table(symbol_pass *pass)
{
    cv_elf_symbol symbol;

    if (pass->section == 0 || pass->count == 0 || !cv_work(pass->ctx, pass->count, pass->table.off))
        return;
    pass->names_end = cv_strings_end(pass->cubin->strtab);
    pass->first_nonlocal = pass->first_global = pass->count;
    pass->after_local = pass->before_globals = 1;
    check_zero(pass);
    for (uint64_t i = 1; i < pass->count; i++) {
        cv_elf_read_symbol(pass->table, pass->cubin->header.is32, i, &symbol);
        check_symbol(pass, i, &symbol);
    }
    check_binding(pass);
}

void cv_cubin_check_symbols(cv_ctx *ctx, cv_cubin *cubin)
{
    symbol_pass native = { .ctx = ctx,
                           .cubin = cubin,
                           .table = cubin->symtab,
                           .shndx = cubin->symtab_shndx,
                           .count = cubin->n_syms,
                           .section = cubin->symtab_index };
    symbol_pass merc = { .ctx = ctx,
                         .cubin = cubin,
                         .merc = true,
                         .table = cubin->merc_symtab,
                         .shndx = cubin->merc_shndx,
                         .count = cubin->n_merc_syms,
                         .section = cubin->merc_symtab_index };

    check_table(&native);
    check_table(&merc);
}
