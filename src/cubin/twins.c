/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The Mercury side of an image beside the native one. Whoever makes code for another machine out of the
 * capsules takes symbols, initial values, relocations of data and parameters from the Mercury side: what both
 * sides of every genuine image agree on, they agree on here. Places and sizes of code, addresses in shared
 * memory, the stack and what names instructions differ, and are not compared. */
#include "cubin/internal.h"

#include "format/tlv/attr.h"

/* Data that is on both sides. */
enum { CONSTANTS, ADDRESSES, INITIAL, UNIFIED, N_DATA };

typedef struct twin_data {
    uint64_t native, merc;        /* sections; 0: none */
    uint64_t relocs, merc_relocs; /* … and their relocations */
} twin_data;

typedef struct twin_pass {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    twin_data data[N_DATA];
    uint32_t native, merc; /* sections that were found to be twins by their names, last */
} twin_pass;

/* What one side says where it has nothing. */
#define NONE UINT64_MAX

/* A symbol of one side. */
typedef struct twin_symbol {
    cv_elf_symbol symbol;
    uint64_t index; /* in its table */
    uint32_t shndx;
    uint8_t type;
} twin_symbol;

static twin_data *data_at(twin_pass *pass, unsigned which)
{
    return CV_ARRAY_AT(pass->data, which);
}

static bool read_symbol(const twin_pass *pass, bool merc, uint64_t index, twin_symbol *out)
{
    const cv_cubin *cubin = pass->cubin;

    if (index >= (merc ? cubin->n_merc_syms : cubin->n_syms))
        return false;
    cv_elf_read_symbol(merc ? cubin->merc_symtab : cubin->symtab, false, index, &out->symbol);
    out->index = index;
    out->shndx = cv_cubin_shndx(cubin, merc, index, &out->symbol);
    out->type = cv_elf_sym_type(&out->symbol);
    if (out->type == CV_STT_CUDA_OBJECT) /* of the native side a linker makes plain objects */
        out->type = CV_STT_OBJECT;
    return true;
}

/* The next one from *index on that has a name of its own: most symbols are of sections, so that name and type
 * are read first. */
static bool next_named(const twin_pass *pass, bool merc, uint64_t *index, twin_symbol *out)
{
    cv_span table = merc ? pass->cubin->merc_symtab : pass->cubin->symtab;
    uint64_t count = merc ? pass->cubin->n_merc_syms : pass->cubin->n_syms, at = *index;

    for (; at < count; at++) {
        uint64_t head = cv_u64_at(table, at * cv_elf_sym_size(false));

        if (cv_elf_info_type((uint8_t)(head >> 32)) != CV_STT_SECTION && (uint32_t)head != 0 &&
            cv_u8_at(pass->cubin->strtab, (uint32_t)head) != 0) {
            *index = at + 1;
            return read_symbol(pass, merc, at, out);
        }
    }
    *index = count;
    return false;
}

static bool same_name(const twin_pass *pass, uint32_t native, uint32_t merc)
{
    cv_span left, right;

    if (native == merc)
        return true;
    if (!cv_span_cstr(pass->cubin->strtab, native, &left) || !cv_span_cstr(pass->cubin->strtab, merc, &right))
        return false; /* reported with the symbol */
    return !cv_name_work(pass->ctx, left) || cv_span_eq(left, right);
}

/* Most symbols are in the section that the one before was in: its name is compared once. */
static bool same_names(twin_pass *pass, uint32_t native, uint32_t merc, cv_span left, cv_span right)
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
static bool is_twin(twin_pass *pass, uint32_t native, uint32_t merc)
{
    const cv_sec *left = cv_cubin_sec(pass->cubin, native), *right = cv_cubin_sec(pass->cubin, merc);

    if (native == merc)
        return true;
    switch ((unsigned)right->role) {
    case CV_ROLE_CAPMERC_TEXT:
    case CV_ROLE_CAPMERC_UFT_REL: return left->capsule == merc;
    case CV_ROLE_MERC_CONSTANT_USER: return data_at(pass, CONSTANTS)->native == native;
    case CV_ROLE_MERC_CONSTANT_PIC: return data_at(pass, ADDRESSES)->native == native;
    case CV_ROLE_MERC_CONSTANT_OPT:
        return left->role == CV_ROLE_CONSTANT_FN && left->bank == CV_BANK_TABLES &&
               same_names(pass, native, merc, left->fn, right->fn);
    default: return same_names(pass, native, merc, left->name, cv_cubin_native_name(right));
    }
}

static void symbol_report(const twin_pass *pass, bool merc, uint64_t index, cv_sym_field field, uint64_t got,
                          uint64_t want)
{
    cv_span table = merc ? pass->cubin->merc_symtab : pass->cubin->symtab;

    cv_report_at(pass->ctx, CUVET_P_SYMBOL, index, CV_R_TWIN_SYMBOL,
                 table.off + index * cv_elf_sym_size(false) + cv_elf_sym_at(false, field), 0, got, want);
}

/* Where an executable has a variable; the Mercury side leaves shared memory to be placed. */
static bool has_place(const twin_pass *pass, const twin_symbol *native)
{
    cv_role role = cv_cubin_sec(pass->cubin, native->shndx)->role;

    return native->type == CV_STT_OBJECT && native->shndx != CV_SHN_UNDEF &&
           (pass->cubin->rel || (role != CV_ROLE_SHARED_FN && role != CV_ROLE_SHARED_RESERVED &&
                                 role != CV_ROLE_NV_DEBUG_SHARED));
}

static void compare_symbols(twin_pass *pass, const twin_symbol *native, const twin_symbol *merc)
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

/* Both tables name the same things in the same order. */
static void check_symbols(twin_pass *pass)
{
    uint64_t at = 1, merc_at = 1;
    twin_symbol native, merc;

    for (;;) {
        bool left = next_named(pass, false, &at, &native), right = next_named(pass, true, &merc_at, &merc);

        if (!left && !right)
            return;
        if (left != right || !same_name(pass, native.symbol.name, merc.symbol.name)) {
            symbol_report(pass, right, right ? merc.index : native.index, CV_ST_NAME,
                          right ? merc.symbol.name : 0, left ? native.symbol.name : 0);
            return; /* those behind it have lost their partners */
        }
        compare_symbols(pass, &native, &merc);
    }
}

/* The data of both sides, and what relocates it. */
static void find_data(twin_pass *pass)
{
    const cv_cubin *cubin = pass->cubin;

    data_at(pass, CONSTANTS)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_CONSTANT_USER);
    data_at(pass, ADDRESSES)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_CONSTANT_PIC);
    data_at(pass, INITIAL)->native = cv_cubin_first(cubin, CV_ROLE_GLOBAL_INIT);
    data_at(pass, INITIAL)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_GLOBAL_INIT);
    data_at(pass, UNIFIED)->native = cv_cubin_first(cubin, CV_ROLE_UDT);
    data_at(pass, UNIFIED)->merc = cv_cubin_first(cubin, CV_ROLE_MERC_UDT);
    for (uint64_t i = cv_cubin_first(cubin, CV_ROLE_CONSTANT); i != 0 && i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (CV_LIKELY(sec->role != CV_ROLE_CONSTANT))
            continue;
        if (sec->bank == CV_BANK_USER)
            data_at(pass, CONSTANTS)->native = i;
        else if (sec->bank == CV_BANK_ADDRESSES)
            data_at(pass, ADDRESSES)->native = i;
    }
}

/* Nobody writes two tables for one section: which one counts would be up to the reader. */
static void set_relocs(const twin_pass *pass, uint64_t *relocs, uint64_t index)
{
    if (*relocs != 0)
        cv_sec_report(pass->ctx, pass->cubin, index, CV_R_TWIN_DATA, CV_SH_INFO, *relocs, 0);
    *relocs = index;
}

static void find_relocs(twin_pass *pass)
{
    for (uint64_t i = 1; i < pass->cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(pass->cubin, i);

        if (CV_LIKELY(sec->header.type != CV_SHT_RELA && sec->header.type != CV_SHT_MERC_RELA))
            continue;
        for (unsigned k = 0; k < N_DATA && sec->header.info != 0; k++) {
            twin_data *data = data_at(pass, k);

            if (sec->header.type == CV_SHT_RELA && sec->header.info == data->native)
                set_relocs(pass, &data->relocs, i);
            else if (sec->header.type == CV_SHT_MERC_RELA && sec->header.info == data->merc)
                set_relocs(pass, &data->merc_relocs, i);
        }
    }
}

static uint64_t count_of(const twin_pass *pass, uint64_t section)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, section);

    return section != 0 && sec->header.entsize == cv_elf_rel_size(false, true)
               ? cv_cubin_body(pass->cubin, section).len / sec->header.entsize
               : 0;
}

static void read_reloc(const twin_pass *pass, uint64_t section, uint64_t index, cv_elf_reloc *out)
{
    cv_elf_read_reloc(cv_cubin_body(pass->cubin, section), false, true, index, out);
}

static bool same_symbol(twin_pass *pass, uint64_t native, uint64_t merc)
{
    twin_symbol left, right;

    if (!read_symbol(pass, false, native, &left) || !read_symbol(pass, true, merc, &right))
        return native == merc; /* reported with the relocations */
    if (left.type != right.type)
        return false;
    return left.type == CV_STT_SECTION ? is_twin(pass, left.shndx, right.shndx)
                                       : same_name(pass, left.symbol.name, right.symbol.name);
}

/* A whole address: of a variable, of anything, of a function through its table; or that of its descriptor. */
static bool same_kind(uint32_t native, uint32_t merc)
{
    if (cv_reloc_of(native)->who == CV_RELOC_DESC || merc == CV_R_MERCURY_FUNC_DESC_64)
        return cv_reloc_of(native)->who == CV_RELOC_DESC && merc == CV_R_MERCURY_FUNC_DESC_64;
    return merc == CV_R_MERCURY_G64 || merc == CV_R_MERCURY_ABS64 || merc == CV_R_MERCURY_UNIFIED;
}

static void reloc_report(const twin_pass *pass, uint64_t section, uint64_t index, uint64_t got, uint64_t want)
{
    cv_path_push(pass->ctx, CUVET_P_SECTION, true, section);
    cv_report_at(pass->ctx, CUVET_P_RELOC, index, CV_R_TWIN_DATA,
                 cv_cubin_body(pass->cubin, section).off + index * cv_elf_rel_size(false, true), 0, got,
                 want);
    cv_path_pop(pass->ctx);
}

/* What a name is told apart by, in numbers. */
static uint64_t number_of(const twin_pass *pass, bool merc, uint64_t index)
{
    twin_symbol symbol;

    if (!read_symbol(pass, merc, index, &symbol))
        return index;
    return symbol.type == CV_STT_SECTION ? symbol.shndx : (uint64_t)symbol.type << 32 | symbol.symbol.name;
}

/* The first field that makes two relocations different. */
static void report_different(const twin_pass *pass, uint64_t section, uint64_t index,
                             const cv_elf_reloc *merc, const cv_elf_reloc *native)
{
    if (native->off != merc->off)
        reloc_report(pass, section, index, merc->off, native->off);
    else if (native->addend != merc->addend)
        reloc_report(pass, section, index, (uint64_t)merc->addend, (uint64_t)native->addend);
    else if (!same_kind(native->type, merc->type))
        reloc_report(pass, section, index, merc->type, native->type);
    else
        reloc_report(pass, section, index, number_of(pass, true, merc->sym),
                     number_of(pass, false, native->sym));
}

/* The same words get the same addresses, in the same order. Of functions the native side may be applied
 * already. */
static void check_relocs(twin_pass *pass, const twin_data *data)
{
    uint64_t count = count_of(pass, data->relocs), merc_count = count_of(pass, data->merc_relocs), at = 0;
    cv_elf_reloc native = { 0 }, merc;

    if (!cv_work(pass->ctx, (count + merc_count) * CV_WORK_SCATTERED,
                 cv_cubin_sec(pass->cubin, data->merc)->header.off))
        return;
    for (uint64_t i = 0; i < merc_count; i++) {
        twin_symbol symbol = { 0 };

        read_reloc(pass, data->merc_relocs, i, &merc);
        if (at < count)
            read_reloc(pass, data->relocs, at, &native);
        if (at < count && native.off == merc.off && native.addend == merc.addend &&
            same_kind(native.type, merc.type) && same_symbol(pass, native.sym, merc.sym)) {
            at++;
            continue;
        }
        if (!read_symbol(pass, true, merc.sym, &symbol) || symbol.type != CV_STT_FUNC) {
            if (at < count)
                report_different(pass, data->merc_relocs, i, &merc, &native);
            else
                reloc_report(pass, data->merc_relocs, i, merc_count, count);
            return;
        }
    }
    if (at < count) {
        read_reloc(pass, data->relocs, at, &native);
        reloc_report(pass, data->relocs, at, NONE, native.off);
    }
}

/* Is a byte part of a word that is relocated? by_off: where these words begin. */
static bool is_relocated(const cv_keys *by_off, uint64_t *next, uint64_t at)
{
    while (*next < by_off->count && cv_sat_add(cv_keys_get(by_off, *next)->key, 8) <= at)
        (*next)++;
    return *next < by_off->count && cv_keys_get(by_off, *next)->key <= at;
}

static cuvet_status list_words(const twin_pass *pass, uint64_t section, cv_keys *by_off)
{
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < count_of(pass, section); i++) {
        read_reloc(pass, section, i, &reloc);
        if (!cv_keys_push(&pass->ctx->mem, by_off, (cv_key){ reloc.off, i }))
            return cv_nomem(pass->ctx, pass->cubin->image.off);
    }
    return CUVET_OK;
}

/* They differ somewhere, which is seldom: outside of what is relocated as well? */
static cuvet_status check_bytes(twin_pass *pass, const twin_data *data, cv_span native, cv_span merc)
{
    cv_keys by_off = { 0 };
    uint64_t next = 0;
    cuvet_status st = list_words(pass, data->relocs, &by_off);

    if (st == CUVET_OK)
        st = list_words(pass, data->merc_relocs, &by_off);
    cv_keys_sort(&by_off);
    if (st == CUVET_OK && cv_work(pass->ctx, native.len, merc.off))
        for (uint64_t at = 0; at < native.len; at++) {
            uint8_t got = cv_u8_at(merc, at), want = cv_u8_at(native, at);

            if (got != want && !is_relocated(&by_off, &next, at)) {
                cv_body_report(pass->ctx, pass->cubin, data->merc, CV_R_TWIN_DATA, at, got, want);
                break;
            }
        }
    cv_keys_free(&pass->ctx->mem, &by_off);
    return st;
}

/* Initial values; most images have them once, for both sides. */
static cuvet_status check_data(twin_pass *pass, const twin_data *data)
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
    if (left->header.off == right->header.off || pass->ctx->hollow || cv_span_eq(native, merc) ||
        native.len != merc.len)
        return CUVET_OK;
    return check_bytes(pass, data, native, merc);
}

/* Parameters that have no number are made up for the code of the capsule: programs give none (libcuvs). */
static bool is_made_up(cv_span span, const cv_tlv *tlv)
{
    cv_kparam param;

    if (tlv->code != CV_ATTR_KPARAM_INFO_V2 || tlv->format != CV_TLV_SVAL)
        return false;
    cv_attr_kparam(span, tlv, &param);
    return param.ordinal == UINT16_MAX;
}

/* The next record of a code that both sides have alike. */
static bool next_record(cv_span span, uint64_t *at, bool global, cv_tlv *out)
{
    while (cv_tlv_at(span, *at, out) == CV_TLV_OK) {
        *at = out->next;
        if (global ? out->code == CV_ATTR_REGCOUNT : cv_attr_has_twin(out->code) && !is_made_up(span, out))
            return true;
    }
    return false;
}

static bool same_record(twin_pass *pass, bool global, cv_span native, const cv_tlv *left, cv_span merc,
                        const cv_tlv *right)
{
    cv_span own, other;

    if (left->code != right->code || left->format != right->format || left->stored != right->stored)
        return false;
    if (left->format != CV_TLV_SVAL)
        return true;
    if (global)
        return left->value == 8 &&
               same_symbol(pass, cv_u32_at(native, left->payload), cv_u32_at(merc, right->payload)) &&
               cv_u32_at(native, left->payload + 4) == cv_u32_at(merc, right->payload + 4);
    return cv_span_sub(native, left->payload, left->value, &own) &&
           cv_span_sub(merc, right->payload, right->value, &other) && cv_span_eq(own, other);
}

/* The code of a record that the other side lacks, or the first word that makes two different. */
static void report_record(const twin_pass *pass, uint64_t section, bool global, cv_span native,
                          const cv_tlv *left, cv_span merc, const cv_tlv *right)
{
    uint64_t off = right ? right->off : left->off, got = right ? right->code : NONE,
             want = left ? left->code : NONE;

    if (got == want) {
        got = right->stored;
        want = left->stored;
    }
    for (uint64_t i = 0; got == want && left->format == CV_TLV_SVAL && i + 4 <= left->value; i += 4) {
        got = cv_u32_at(merc, right->payload + i);
        want = cv_u32_at(native, left->payload + i);
        if (global && i == 0) {
            got = number_of(pass, true, got);
            want = number_of(pass, false, want);
        }
    }
    cv_body_report(pass->ctx, pass->cubin, section, CV_R_TWIN_DATA, off, got, want);
}

/* Parameters, threads, barriers of a function; registers of all of them. */
static void check_records(twin_pass *pass, uint64_t native_sec, uint64_t merc_sec)
{
    cv_span native = cv_cubin_body(pass->cubin, native_sec), merc = cv_cubin_body(pass->cubin, merc_sec);
    bool global = cv_cubin_sec(pass->cubin, native_sec)->role == CV_ROLE_NV_INFO;
    uint64_t at = 0, merc_at = 0;
    cv_tlv left = { 0 }, right = { 0 };

    for (;;) {
        bool one = next_record(native, &at, global, &left),
             other = next_record(merc, &merc_at, global, &right);

        if (!one && !other)
            return;
        if (one == other && same_record(pass, global, native, &left, merc, &right))
            continue;
        report_record(pass, other ? merc_sec : native_sec, global, native, one ? &left : NULL, merc,
                      other ? &right : NULL);
        return;
    }
}

static void check_infos(twin_pass *pass)
{
    const cv_cubin *cubin = pass->cubin;
    uint64_t native = cv_cubin_first(cubin, CV_ROLE_NV_INFO),
             merc = cv_cubin_first(cubin, CV_ROLE_MERC_NV_INFO);

    if (native != 0 && merc != 0)
        check_records(pass, native, merc);
    for (uint64_t i = cv_cubin_first(cubin, CV_ROLE_TEXT); i != 0 && i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (sec->role != CV_ROLE_TEXT || sec->capsule == 0)
            continue;
        merc = cv_cubin_sec(cubin, sec->capsule)->info_sec;
        if (sec->info_sec != 0 && merc != 0)
            check_records(pass, sec->info_sec, merc);
    }
}

cuvet_status cv_cubin_check_twins(cv_ctx *ctx, const cv_cubin *cubin)
{
    twin_pass pass = { .ctx = ctx, .cubin = cubin };
    cuvet_status st = CUVET_OK;

    if (cubin->n_merc_syms == 0 ||
        !cv_work(ctx, cubin->n_syms + cubin->n_merc_syms + cubin->sec.count, cubin->image.off))
        return CUVET_OK;
    find_data(&pass);
    find_relocs(&pass);
    check_symbols(&pass);
    for (unsigned k = 0; k < N_DATA && st == CUVET_OK; k++)
        st = check_data(&pass, data_at(&pass, k));
    if (st == CUVET_OK)
        check_infos(&pass);
    return st;
}
