/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Debug data of the Mercury side of an image beside the native one: what it says of lines and variables is
 * not compared, but of what. Line tables have their functions in another order, and other places. */
#include "cubin/twins.h"

/* Two relocation sections; those of sections among each other are passed over. */
typedef struct twin_named {
    cv_span body;
    uint64_t count, next;
    bool merc;
} twin_named;

/* What one of them says, as two numbers: the symbol and, of what is no code, where its address goes; and what
 * is added to it. */
static bool next_named(const cv_twins *pass, twin_named *list, cv_key *out)
{
    cv_span table = list->merc ? pass->cubin->merc_symtab : pass->cubin->symtab;
    cv_elf_reloc reloc;

    while (list->next < list->count) {
        uint8_t type;

        cv_elf_read_reloc(list->body, false, true, list->next++, &reloc);
        type = cv_elf_info_type(
            cv_u8_at(table, reloc.sym * cv_elf_sym_size(false) + cv_elf_sym_at(false, CV_ST_INFO)));
        if (type == CV_STT_SECTION)
            continue;
        *out = (cv_key){ (uint64_t)reloc.sym << 32, 0 };
        if (CV_UNLIKELY(type != CV_STT_FUNC))
            *out = (cv_key){ out->key | (uint32_t)reloc.off, (uint64_t)reloc.addend };
        return true;
    }
    return false;
}

static bool is_same(const cv_key *left, const cv_key *right)
{
    return left->key == right->key && left->index == right->index;
}

/* Most are in one order. */
static bool is_in_order(const cv_twins *pass, twin_named native, twin_named merc)
{
    cv_key left = { 0 }, right = { 0 };

    for (;;) {
        bool one = next_named(pass, &native, &left), other = next_named(pass, &merc, &right);

        if (!one && !other)
            return true;
        if (one != other || !is_same(&left, &right))
            return false;
    }
}

static cuvet_status list_named(const cv_twins *pass, twin_named list, cv_keys *out)
{
    cv_key key = { 0 };

    while (next_named(pass, &list, &key))
        if (!cv_keys_push(&pass->ctx->mem, out, key))
            return cv_nomem(pass->ctx, pass->cubin->image.off);
    cv_keys_sort(out);
    return CUVET_OK;
}

static uint64_t symbol_of(const cv_keys *keys, uint64_t index)
{
    return index < keys->count ? cv_keys_get(keys, index)->key >> 32 : CV_TWIN_NONE;
}

static void compare(const cv_twins *pass, uint64_t section, const cv_keys *native, const cv_keys *merc)
{
    uint64_t k = 0;

    while (k < native->count && k < merc->count && is_same(cv_keys_get(native, k), cv_keys_get(merc, k)))
        k++;
    if (k < native->count || k < merc->count)
        cv_sec_report(pass->ctx, pass->cubin, section, CV_R_TWIN_DEBUG, CV_SH_NAME, symbol_of(merc, k),
                      symbol_of(native, k));
}

/* The native section of the same name: it is behind that of the last question, or anywhere. */
static uint64_t native_of(cv_twins *pass, const cv_sec *sec)
{
    const cv_cubin *cubin = pass->cubin;
    cv_span name = cv_cubin_native_name(sec);

    for (uint64_t k = 1; k < cubin->sec.count; k++) {
        uint64_t at = pass->next_debug != 0 && pass->next_debug < cubin->sec.count ? pass->next_debug : 1;
        const cv_sec *native = cv_cubin_sec(cubin, at);

        pass->next_debug = at + 1;
        if (!cv_work(pass->ctx, 1, name.off))
            return 0;
        if (native->role != CV_ROLE_DEBUG && native->role != CV_ROLE_NV_DEBUG)
            continue;
        if (!cv_name_work(pass->ctx, name))
            return 0;
        if (cv_span_eq(native->name, name))
            return at;
    }
    return 0;
}

#define NAMED_WORK (UINT64_C(4) * CV_WORK_SCATTERED) /* of a relocation: read, its symbol, sorted */

cuvet_status cv_twin_check_debug(cv_twins *pass, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, index);
    uint64_t native = native_of(pass, sec), relocs = cv_cubin_sec(pass->cubin, native)->relocs;
    twin_named left = { cv_cubin_body(pass->cubin, relocs), cv_twin_count(pass, relocs), 0, false },
               right = { cv_cubin_body(pass->cubin, sec->relocs), cv_twin_count(pass, sec->relocs), 0, true };
    cv_keys by_symbol = { 0 }, merc_by_symbol = { 0 };
    cuvet_status st;

    if (pass->ctx->work_out || (left.count | right.count) == 0 ||
        !cv_work(pass->ctx, cv_sat_mul(cv_sat_add(left.count, right.count), NAMED_WORK),
                 pass->cubin->image.off + sec->header.off) ||
        is_in_order(pass, left, right))
        return CUVET_OK;
    st = list_named(pass, left, &by_symbol);
    if (st == CUVET_OK)
        st = list_named(pass, right, &merc_by_symbol);
    if (st == CUVET_OK)
        compare(pass, sec->relocs != 0 ? sec->relocs : index, &by_symbol, &merc_by_symbol);
    cv_keys_free(&pass->ctx->mem, &by_symbol);
    cv_keys_free(&pass->ctx->mem, &merc_by_symbol);
    return st;
}
