/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations that the result has: each is that of an input, or one that the loader needs for a slot. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* A section of the result and an offset in it, as one number. */
enum { OFFSET_BITS = 40 };

static uint64_t key_of(uint32_t sec, uint64_t off)
{
    return ((uint64_t)sec & ((UINT64_C(1) << (64 - OFFSET_BITS)) - 1)) << OFFSET_BITS |
           (off & ((UINT64_C(1) << OFFSET_BITS) - 1));
}

static bool is_header(uint32_t type)
{
    return type == CV_R_CUDA_TEX_HEADER_INDEX || type == CV_R_CUDA_SAMP_HEADER_INDEX ||
           type == CV_R_CUDA_SURF_HEADER_INDEX || type == CV_R_CUDA_SAMP_HEADER_INDEX_0;
}

static void read_row(const cv_prove *prove, uint64_t index, cv_elf_reloc *out)
{
    uint64_t table = index >> 32, row = index & UINT32_MAX;
    const cv_cubin *result = prove->facts->result;

    cv_elf_read_reloc(cv_cubin_body(result, table), false, cv_cubin_sec(result, table)->role == CV_ROLE_RELA,
                      row, out);
}

/* A slot is that of one symbol, the same for every kernel. */
static cuvet_status enter_slot(cv_prove *prove, const cv_elf_reloc *reloc, uint64_t table)
{
    uint64_t *slot;

    if (reloc->sym >= prove->slot.count)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, table, 0, reloc->off,
                             reloc->sym);
    slot = cv_u64s_at(&prove->slot, reloc->sym);
    if (*slot != 0 && *slot != reloc->off + 1)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, table, 0, reloc->off, *slot - 1);
    prove->n_slots += *slot == 0;
    *slot = reloc->off + 1;
    return CUVET_OK;
}

static cuvet_status enter_table(cv_prove *prove, uint64_t table)
{
    const cv_sec *sec = cv_cubin_sec(prove->facts->result, table);
    bool rela = sec->role == CV_ROLE_RELA,
         slots = cv_cubin_sec(prove->facts->result, sec->header.info)->role == CV_ROLE_CONSTANT_FN;
    cv_span body = cv_cubin_body(prove->facts->result, table);
    cuvet_status status = CUVET_OK;
    cv_elf_reloc reloc;

    for (uint64_t row = 0; row < body.len / cv_elf_rel_size(false, rela) && status == CUVET_OK; row++) {
        cv_elf_read_reloc(body, false, rela, row, &reloc);
        if (!cv_keys_push(&prove->ctx->mem, &prove->kept,
                          (cv_key){ key_of(sec->header.info, reloc.off), table << 32 | row }))
            return cv_nomem(prove->ctx, 0);
        if (is_header(reloc.type) && slots)
            status = enter_slot(prove, &reloc, table);
    }
    return status;
}

/* No two symbols have one slot. */
static cuvet_status check_distinct(cv_prove *prove, const cv_key *last, const cv_key *key)
{
    cv_elf_reloc before, reloc;

    read_row(prove, last->index, &before);
    read_row(prove, key->index, &reloc);
    if (!is_header(before.type) || !is_header(reloc.type))
        return CUVET_OK;
    return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, key->index >> 32, 0, reloc.off,
                         before.off + 4);
}

/* A kernel that has slots has those of all symbols. */
static cuvet_status check_count(const cv_prove *prove, uint64_t sec, uint64_t count)
{
    return count == 0 || count == prove->n_slots
               ? CUVET_OK
               : cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, sec, 0, count, prove->n_slots);
}

static cuvet_status check_slots(cv_prove *prove)
{
    cuvet_status status = CUVET_OK;
    uint64_t count = 0, sec = 0;
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < prove->kept.count && status == CUVET_OK; i++) {
        const cv_key *key = cv_keys_get(&prove->kept, i);

        if (cv_cubin_sec(prove->facts->result, key->key >> OFFSET_BITS)->role != CV_ROLE_CONSTANT_FN)
            continue;
        if (key->key >> OFFSET_BITS != sec) {
            status = check_count(prove, sec, count);
            sec = key->key >> OFFSET_BITS;
            count = 0;
        }
        read_row(prove, key->index, &reloc);
        count += is_header(reloc.type);
        if (status == CUVET_OK && i > 0 && key->key - cv_keys_get(&prove->kept, i - 1)->key < 4)
            status = check_distinct(prove, cv_keys_get(&prove->kept, i - 1), key);
    }
    return status == CUVET_OK ? check_count(prove, sec, count) : status;
}

cuvet_status cv_prove_list_kept(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;

    if (!cv_u64s_fill(&prove->ctx->mem, &prove->slot, result->n_syms))
        return cv_nomem(prove->ctx, 0);
    for (uint64_t i = 1; i < result->sec.count && status == CUVET_OK; i++) {
        const cv_sec *sec = cv_cubin_sec(result, i);

        if (sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA)
            status = enter_table(prove, i);
    }
    cv_keys_sort(&prove->kept);
    if (status == CUVET_OK && !cv_u8s_fill(&prove->ctx->mem, &prove->met, prove->kept.count))
        status = cv_nomem(prove->ctx, 0);
    return status == CUVET_OK ? check_slots(prove) : status;
}

/* The first of the relocations of the result that is not before a place. Those of the inputs and of the
 * result are in the same order, or one in the opposite order of the other: it is near the last one that
 * was found. */
static uint64_t find(const cv_prove *prove, uint64_t key)
{
    enum { NEAR = 6 };
    const cv_keys *kept = &prove->kept;
    uint64_t at = cv_min(prove->at, kept->count);
    unsigned steps = 0;

    while (steps < NEAR && at < kept->count && cv_keys_get(kept, at)->key < key) {
        at++;
        steps++;
    }
    while (steps < NEAR && at > 0 && cv_keys_get(kept, at - 1)->key >= key) {
        at--;
        steps++;
    }
    return steps < NEAR ? at : cv_keys_lower_bound(kept, key);
}

bool cv_prove_find_kept(cv_prove *prove, const cv_prove_reloc *reloc)
{
    uint64_t key = key_of(reloc->place.sec, reloc->place.base);
    uint32_t final = cv_reloc_of(reloc->elf.type)->final;

    if (final == 0 || prove->facts->relocatable)
        final = reloc->elf.type;
    prove->at = find(prove, key);
    for (uint64_t i = prove->at; i < prove->kept.count; i++) {
        const cv_key *found = cv_keys_get(&prove->kept, i);
        cv_elf_reloc row;

        if (found->key != key)
            break;
        read_row(prove, found->index, &row);
        if (row.type != final ||
            (cv_cubin_sec(prove->facts->result, found->index >> 32)->role == CV_ROLE_RELA) != reloc->rela ||
            !cv_prove_is_same(prove, reloc, &row))
            continue;
        *cv_u8s_at(&prove->met, i) = 1;
        return true;
    }
    return false;
}

cuvet_status cv_prove_check_met(const cv_prove *prove)
{
    for (uint64_t i = 0; i < prove->kept.count && !prove->facts->relocatable; i++) {
        const cv_key *key = cv_keys_get(&prove->kept, i);
        uint32_t target = (uint32_t)(key->key >> OFFSET_BITS);
        cv_elf_reloc row;

        if (*cv_u8s_get(&prove->met, i) ||
            cv_prove_is_rebuilt(prove, cv_cubin_sec(prove->facts->result, target)))
            continue;
        read_row(prove, key->index, &row);
        if (!is_header(row.type) || cv_cubin_sec(prove->facts->result, target)->role != CV_ROLE_CONSTANT_FN)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_KEPT, CUVET_P_SECTION, key->index >> 32, row.off,
                                 row.type, row.sym);
    }
    return CUVET_OK;
}
