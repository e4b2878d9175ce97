/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The Mercury side of an image beside the native one. Whoever makes code for another machine out of the
 * capsules takes symbols, initial values, relocations and parameters from the Mercury side: what both sides
 * of every genuine image agree on, they agree on here. Instructions, places and sizes of code, addresses in
 * shared memory and the stack differ, and are not compared. */
#include "cubin/twins.h"

static cv_twin_data *data_at(cv_twins *pass, unsigned which)
{
    return CV_ARRAY_AT(pass->data, which);
}

/* Has it a name of its own? 'head' is what its entry begins with. */
static bool is_named(const cv_twins *pass, uint64_t head)
{
    return cv_elf_info_type((uint8_t)(head >> 32)) != CV_STT_SECTION && (uint32_t)head != 0 &&
           cv_u8_at(pass->cubin->strtab, (uint32_t)head) != 0;
}

static bool same_name(const cv_twins *pass, uint32_t native, uint32_t merc)
{
    cv_span left, right;

    if (native == merc)
        return true;
    if (!cv_span_cstr(pass->cubin->strtab, native, &left) || !cv_span_cstr(pass->cubin->strtab, merc, &right))
        return false; /* reported with the symbol */
    return !cv_name_work(pass->ctx, left) || cv_span_eq(left, right);
}

/* Most symbols are in the section that the one before was in: its name is compared once. */
static bool same_names(cv_twins *pass, uint32_t native, uint32_t merc, cv_span left, cv_span right)
{
    if (native == pass->native && merc == pass->merc)
        return true;
    if (!cv_name_work(pass->ctx, left)) /* the limit is said, and nothing of what was not looked at */
        return true;
    if (!cv_span_eq(left, right))
        return false;
    pass->native = native;
    pass->merc = merc;
    return true;
}

/* Is a section that of the same thing on the other side? Shared memory, among others, is on one alone. */
static bool is_twin(cv_twins *pass, uint32_t native, uint32_t merc)
{
    const cv_sec *left = cv_cubin_sec(pass->cubin, native), *right = cv_cubin_sec(pass->cubin, merc);

    if (native == merc)
        return true;
    switch ((unsigned)right->role) {
    case CV_ROLE_CAPMERC_TEXT:
    case CV_ROLE_CAPMERC_UFT_REL: return left->capsule == merc;
    case CV_ROLE_MERC_CONSTANT_USER: return data_at(pass, CV_TWIN_CONSTANTS)->native == native;
    case CV_ROLE_MERC_CONSTANT_PIC: return data_at(pass, CV_TWIN_ADDRESSES)->native == native;
    case CV_ROLE_MERC_CONSTANT_OPT:
        return left->role == CV_ROLE_CONSTANT_FN && left->bank == CV_BANK_TABLES &&
               same_names(pass, native, merc, left->fn, right->fn);
    default: return same_names(pass, native, merc, left->name, cv_cubin_native_name(right));
    }
}

static void symbol_report(const cv_twins *pass, bool merc, uint64_t index, cv_sym_field field, uint64_t got,
                          uint64_t want)
{
    cv_span table = merc ? pass->cubin->merc_symtab : pass->cubin->symtab;

    cv_report_at(pass->ctx, CUVET_P_SYMBOL, index, CV_R_TWIN_SYMBOL,
                 table.off + index * cv_elf_sym_size(false) + cv_elf_sym_at(false, field), 0, got, want);
}

/* Where an executable has a variable; the Mercury side leaves shared memory to be placed. */
static bool has_place(const cv_twins *pass, const cv_twin_symbol *native)
{
    cv_role role = cv_cubin_sec(pass->cubin, native->shndx)->role;

    return native->type == CV_STT_OBJECT && native->shndx != CV_SHN_UNDEF &&
           (pass->cubin->rel || (role != CV_ROLE_SHARED_FN && role != CV_ROLE_SHARED_RESERVED &&
                                 role != CV_ROLE_NV_DEBUG_SHARED));
}

static void compare_symbols(cv_twins *pass, const cv_twin_symbol *native, const cv_twin_symbol *merc)
{
    const cv_elf_symbol *left = &native->symbol, *right = &merc->symbol;
    unsigned flags = native->type == CV_STT_FUNC ? ~0U : CV_STO_MANAGED | CV_STO_ENTRY;
    bool function = native->type == CV_STT_FUNC;

    if (native->type != merc->type || cv_elf_sym_bind(left) != cv_elf_sym_bind(right))
        symbol_report(pass, true, merc->index, CV_ST_INFO, right->info, left->info);
    else if (((left->other ^ right->other) & flags) != 0)
        symbol_report(pass, true, merc->index, CV_ST_OTHER, right->other, left->other);
    else if (!is_twin(pass, native->shndx, merc->shndx))
        symbol_report(pass, true, merc->index, CV_ST_SHNDX, merc->shndx, native->shndx);
    else if (has_place(pass, native) && left->value != right->value)
        symbol_report(pass, true, merc->index, CV_ST_VALUE, right->value, left->value);
    else if (!function && left->size != right->size)
        symbol_report(pass, true, merc->index, CV_ST_SIZE, right->size, left->size);
}

/* Both tables name the same things under the same numbers. */
static void check_symbols(cv_twins *pass)
{
    uint64_t n_native = pass->cubin->n_syms, n_merc = pass->cubin->n_merc_syms, size = cv_elf_sym_size(false);
    cv_twin_symbol native, merc;

    for (uint64_t i = 1; i < n_native || i < n_merc; i++) {
        /* behind the end of a table there are zeros, which name nothing */
        uint64_t left = cv_u64_at(pass->cubin->symtab, i * size),
                 right = cv_u64_at(pass->cubin->merc_symtab, i * size);
        bool one = is_named(pass, left), other = is_named(pass, right);

        if (!one && !other)
            continue;
        if (one != other || !same_name(pass, (uint32_t)left, (uint32_t)right)) {
            symbol_report(pass, other, i, CV_ST_NAME, other ? (uint32_t)right : 0, one ? (uint32_t)left : 0);
            return; /* those behind it have lost their partners */
        }
        if (CV_NEVER(!cv_twin_symbol_at(pass, false, i, &native) || !cv_twin_symbol_at(pass, true, i, &merc)))
            return;
        compare_symbols(pass, &native, &merc);
    }
}

/* The data of both sides, and what relocates it. */
static void find_data(cv_twins *pass)
{
    const cv_cubin *cubin = pass->cubin;

    data_at(pass, CV_TWIN_CONSTANTS)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_CONSTANT_USER);
    data_at(pass, CV_TWIN_ADDRESSES)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_CONSTANT_PIC);
    data_at(pass, CV_TWIN_INITIAL)->native = cv_cubin_first(cubin, CV_ROLE_GLOBAL_INIT);
    data_at(pass, CV_TWIN_INITIAL)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_GLOBAL_INIT);
    data_at(pass, CV_TWIN_UNIFIED)->native = cv_cubin_first(cubin, CV_ROLE_UDT);
    data_at(pass, CV_TWIN_UNIFIED)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_UDT);
    for (uint64_t i = cv_cubin_first(cubin, CV_ROLE_CONSTANT); i != 0 && i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (CV_LIKELY(sec->role != CV_ROLE_CONSTANT))
            continue;
        if (sec->bank == CV_BANK_USER)
            data_at(pass, CV_TWIN_CONSTANTS)->native = i;
        else if (sec->bank == CV_BANK_ADDRESSES)
            data_at(pass, CV_TWIN_ADDRESSES)->native = i;
    }
}

uint64_t cv_twin_count(const cv_twins *pass, uint64_t section)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, section);

    return section != 0 && sec->header.entsize == cv_elf_rel_size(false, true)
               ? cv_cubin_body(pass->cubin, section).len / sec->header.entsize
               : 0;
}

bool cv_twin_same_symbol(cv_twins *pass, uint64_t native, uint64_t merc)
{
    cv_twin_symbol left, right;

    if (!cv_twin_symbol_at(pass, false, native, &left) || !cv_twin_symbol_at(pass, true, merc, &right))
        return native == merc; /* reported with the relocations */
    if (left.type == CV_STT_SECTION && right.type == CV_STT_SECTION)
        return is_twin(pass, left.shndx, right.shndx);
    return native == merc && left.type == right.type;
}

/* A whole address: of a variable, of anything, of a function through its table; or that of its descriptor. A
 * byte of one is the same byte of the same. */
static bool same_kind(uint32_t native, uint32_t merc)
{
    if (cv_reloc_of(native)->bytes == 1)
        return cv_reloc_is_twin(native, merc);
    if (cv_reloc_of(native)->who == CV_RELOC_DESC || merc == CV_R_MERCURY_FUNC_DESC_64)
        return cv_reloc_of(native)->who == CV_RELOC_DESC && merc == CV_R_MERCURY_FUNC_DESC_64;
    return merc == CV_R_MERCURY_G64 || merc == CV_R_MERCURY_ABS64 || merc == CV_R_MERCURY_UNIFIED;
}

void cv_twin_reloc_report(const cv_twins *pass, cv_rule rule, uint64_t section, uint64_t index, uint64_t got,
                          uint64_t want)
{
    cv_path_push(pass->ctx, CUVET_P_SECTION, true, section);
    cv_report_at(pass->ctx, CUVET_P_RELOC, index, rule,
                 cv_cubin_body(pass->cubin, section).off + index * cv_elf_rel_size(false, true), 0, got,
                 want);
    cv_path_pop(pass->ctx);
}

/* What a name is told apart by, in numbers. */
uint64_t cv_twin_number(const cv_twins *pass, bool merc, uint64_t index)
{
    cv_twin_symbol symbol;

    if (!cv_twin_symbol_at(pass, merc, index, &symbol))
        return index;
    return symbol.type == CV_STT_SECTION ? symbol.shndx : (uint64_t)symbol.type << 32 | symbol.symbol.name;
}

/* The first field that makes two relocations different. */
static void report_different(const cv_twins *pass, uint64_t section, uint64_t index, const cv_elf_reloc *merc,
                             const cv_elf_reloc *native)
{
    if (native->off != merc->off)
        cv_twin_reloc_report(pass, CV_R_TWIN_DATA, section, index, merc->off, native->off);
    else if (native->addend != merc->addend)
        cv_twin_reloc_report(pass, CV_R_TWIN_DATA, section, index, (uint64_t)merc->addend,
                             (uint64_t)native->addend);
    else if (!same_kind(native->type, merc->type))
        cv_twin_reloc_report(pass, CV_R_TWIN_DATA, section, index, merc->type, native->type);
    else
        cv_twin_reloc_report(pass, CV_R_TWIN_DATA, section, index, cv_twin_number(pass, true, merc->sym),
                             cv_twin_number(pass, false, native->sym));
}

static uint64_t relocs_of(const cv_twins *pass, uint64_t section)
{
    return cv_cubin_sec(pass->cubin, section)->relocs;
}

/* The same words get the same addresses, in the same order. Of functions the native side may be applied
 * already. */
static void check_relocs(cv_twins *pass, const cv_twin_data *data)
{
    uint64_t relocs = relocs_of(pass, data->native), merc_relocs = relocs_of(pass, data->merc);
    uint64_t count = cv_twin_count(pass, relocs), merc_count = cv_twin_count(pass, merc_relocs), at = 0;
    cv_elf_reloc native = { 0 }, merc;

    if (!cv_work(pass->ctx, (count + merc_count) * CV_WORK_SCATTERED,
                 cv_cubin_sec(pass->cubin, data->merc)->header.off))
        return;
    for (uint64_t i = 0; i < merc_count; i++) {
        cv_twin_symbol symbol = { 0 };

        cv_twin_reloc(pass, merc_relocs, i, &merc);
        if (at < count)
            cv_twin_reloc(pass, relocs, at, &native);
        if (at < count && native.off == merc.off && native.addend == merc.addend &&
            same_kind(native.type, merc.type) && cv_twin_same_symbol(pass, native.sym, merc.sym)) {
            at++;
            continue;
        }
        if (!cv_twin_symbol_at(pass, true, merc.sym, &symbol) || symbol.type != CV_STT_FUNC) {
            if (at < count)
                report_different(pass, merc_relocs, i, &merc, &native);
            else
                cv_twin_reloc_report(pass, CV_R_TWIN_DATA, merc_relocs, i, merc_count, count);
            return;
        }
    }
    if (at < count) {
        cv_twin_reloc(pass, relocs, at, &native);
        cv_twin_reloc_report(pass, CV_R_TWIN_DATA, relocs, at, CV_TWIN_NONE, native.off);
    }
}

/* Is a byte part of a word that is relocated? by_off: where these words begin. */
static bool is_relocated(const cv_keys *by_off, uint64_t word, uint64_t *next, uint64_t at)
{
    while (*next < by_off->count && cv_sat_add(cv_keys_get(by_off, *next)->key, word) <= at)
        (*next)++;
    return *next < by_off->count && cv_keys_get(by_off, *next)->key <= at;
}

static cuvet_status list_words(const cv_twins *pass, uint64_t section, cv_keys *by_off)
{
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < cv_twin_count(pass, section); i++) {
        cv_twin_reloc(pass, section, i, &reloc);
        if (!cv_keys_push(&pass->ctx->mem, by_off, (cv_key){ reloc.off, i }))
            return cv_nomem(pass->ctx, pass->cubin->image.off);
    }
    return CUVET_OK;
}

/* They differ somewhere: outside of what is relocated as well? */
cuvet_status cv_twin_check_bytes(cv_twins *pass, const cv_twin_data *data, cv_rule rule, uint64_t word)
{
    cv_span native = cv_cubin_body(pass->cubin, data->native), merc = cv_cubin_body(pass->cubin, data->merc);
    cv_keys by_off = { 0 };
    uint64_t next = 0;
    cuvet_status st;

    if (native.len != merc.len) /* one of them leads out of the file, which was reported */
        return CUVET_OK;
    st = list_words(pass, relocs_of(pass, data->native), &by_off);
    if (st == CUVET_OK)
        st = list_words(pass, relocs_of(pass, data->merc), &by_off);
    cv_keys_sort(&by_off);
    if (st == CUVET_OK && cv_work(pass->ctx, native.len, merc.off))
        for (uint64_t at = cv_span_agree(native, merc); at < native.len; at++) {
            uint8_t got = cv_u8_at(merc, at), want = cv_u8_at(native, at);

            if (got != want && !is_relocated(&by_off, word, &next, at)) {
                cv_body_report(pass->ctx, pass->cubin, data->merc, rule, at, got, want);
                break;
            }
        }
    cv_keys_free(&pass->ctx->mem, &by_off);
    return st;
}

/* Initial values; most images have them once, for both sides. */
static cuvet_status check_data(cv_twins *pass, const cv_twin_data *data)
{
    const cv_sec *left = cv_cubin_sec(pass->cubin, data->native),
                 *right = cv_cubin_sec(pass->cubin, data->merc);
    cv_span native = cv_cubin_body(pass->cubin, data->native), merc = cv_cubin_body(pass->cubin, data->merc);

    if (data->native == 0 && data->merc == 0)
        return CUVET_OK;
    if (left->header.size != right->header.size) {
        cv_sec_report(pass->ctx, pass->cubin, data->merc ? data->merc : data->native, CV_R_TWIN_DATA,
                      CV_SH_SIZE, right->header.size, left->header.size);
        return CUVET_OK;
    }
    check_relocs(pass, data);
    if (left->header.off == right->header.off || pass->ctx->no_contents || cv_span_eq(native, merc) ||
        native.len != merc.len)
        return CUVET_OK;
    return cv_twin_check_bytes(pass, data, CV_R_TWIN_DATA, 8);
}

/* Where the call graph and the unified entries have numbers, these are of symbols: the same on both sides. */
static void check_same(const cv_twins *pass, cv_role role, uint64_t merc)
{
    uint64_t native = cv_cubin_first(pass->cubin, role), at;
    cv_span left = cv_cubin_body(pass->cubin, native), right = cv_cubin_body(pass->cubin, merc);

    if (left.len != right.len) {
        cv_sec_report(pass->ctx, pass->cubin, merc, CV_R_TWIN_CALLS, CV_SH_SIZE, right.len, left.len);
        return;
    }
    if (!cv_work(pass->ctx, left.len, right.off))
        return;
    at = cv_span_agree(left, right) & ~UINT64_C(3);
    if (at < left.len)
        cv_body_report(pass->ctx, pass->cubin, merc, CV_R_TWIN_CALLS, at, cv_u32_at(right, at),
                       cv_u32_at(left, at));
}

/* Whose bank of tables is where: names are no numbers. */
static cuvet_status list_tables(cv_twins *pass)
{
    const cv_cubin *cubin = pass->cubin;

    if (cv_cubin_first(cubin, CV_ROLE_MERC_CONSTANT_OPT) == 0)
        return CUVET_OK;
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank == CV_BANK_TABLES &&
            !cv_keys_push(&pass->ctx->mem, &pass->tables, (cv_key){ sec->header.info, i }))
            return cv_nomem(pass->ctx, cubin->image.off);
    }
    cv_keys_sort(&pass->tables);
    return CUVET_OK;
}

static cuvet_status check_section(cv_twins *pass, uint64_t index, const cv_sec *sec)
{
    switch ((unsigned)sec->role) {
    case CV_ROLE_TEXT:
    case CV_ROLE_UFT_REL:
        if (sec->capsule != 0) {
            uint64_t merc = cv_cubin_sec(pass->cubin, sec->capsule)->info_sec;

            if (sec->info_sec != 0 && merc != 0)
                cv_twin_check_records(pass, sec->info_sec, merc);
            cv_twin_check_code(pass, index);
        }
        break;
    case CV_ROLE_MERC_CONSTANT_EIHI: cv_twin_check_textures(pass, index); break;
    case CV_ROLE_MERC_CONSTANT_OPT: return cv_twin_check_table(pass, index);
    case CV_ROLE_MERC_DEBUG:
    case CV_ROLE_MERC_NV_DEBUG: return cv_twin_check_debug(pass, index);
    case CV_ROLE_MERC_CALLGRAPH: check_same(pass, CV_ROLE_CALLGRAPH, index); break;
    case CV_ROLE_MERC_UFT_ENTRY: check_same(pass, CV_ROLE_UFT_ENTRY, index); break;
    case CV_ROLE_MERC_UDT_ENTRY: check_same(pass, CV_ROLE_UDT_ENTRY, index); break;
    default: break;
    }
    return CUVET_OK;
}

static cuvet_status check_all(cv_twins *pass)
{
    const cv_cubin *cubin = pass->cubin;
    uint64_t native = cv_cubin_first(cubin, CV_ROLE_NV_INFO),
             merc = cv_cubin_first(cubin, CV_ROLE_MERC_NV_INFO);
    cuvet_status st = CUVET_OK;

    find_data(pass);
    check_symbols(pass);
    for (unsigned k = 0; k < CV_N_TWIN_DATA && st == CUVET_OK; k++)
        st = check_data(pass, data_at(pass, k));
    if (st == CUVET_OK && native != 0 && merc != 0)
        cv_twin_check_records(pass, native, merc);
    if (st == CUVET_OK)
        st = list_tables(pass);
    for (uint64_t i = 1; i < cubin->sec.count && st == CUVET_OK; i++)
        st = check_section(pass, i, cv_cubin_sec(cubin, i));
    return st;
}

cuvet_status cv_cubin_check_twins(cv_ctx *ctx, const cv_cubin *cubin)
{
    cv_twins pass = { .ctx = ctx, .cubin = cubin };
    cuvet_status st;

    if (cubin->n_merc_syms == 0 ||
        !cv_work(ctx, cubin->n_syms + cubin->n_merc_syms + cubin->sec.count, cubin->image.off))
        return CUVET_OK;
    st = check_all(&pass);
    cv_keys_free(&ctx->mem, &pass.tables);
    return st;
}
