/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of sections that are made anew: of the input by their places, and where the result has them. */
#include "base/arith.h"
#include "link/prove/parts.h"

bool cv_prove_list_relocs(cv_prove *prove, uint32_t section)
{
    cv_keys_clear(&prove->field);
    for (uint64_t i = 1; i < prove->in->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(prove->in, i);
        bool rela = sec->role == CV_ROLE_RELA;
        cv_elf_reloc row;
        cv_span body;

        if ((!rela && sec->role != CV_ROLE_REL) || sec->header.info != section)
            continue;
        body = cv_cubin_body(prove->in, i);
        for (uint64_t k = 0; k < body.len / cv_elf_rel_size(false, rela); k++) {
            cv_elf_read_reloc(body, false, rela, k, &row);
            if (!cv_keys_push(&prove->ctx->mem, &prove->field, (cv_key){ row.off, i << 32 | k }))
                return false;
        }
    }
    cv_keys_sort(&prove->field);
    return true;
}

bool cv_prove_read_listed(const cv_prove *prove, uint64_t number, cv_prove_reloc *reloc)
{
    const cv_key *key = cv_keys_get(&prove->field, number);
    uint64_t table = key->index >> 32;

    reloc->rela = cv_cubin_sec(prove->in, table)->role == CV_ROLE_RELA;
    cv_prove_read_row(prove->in, table, key->index & UINT32_MAX, &reloc->elf);
    reloc->symbol = cv_prove_symbol_at(prove, reloc->elf.sym);
    return reloc->elf.sym < prove->in->n_syms;
}

bool cv_prove_is_dropped(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    return !prove->facts->relocatable && cv_reloc_has(cv_reloc_of(reloc->elf.type), CV_USE_DROPS);
}

cuvet_status cv_prove_find_listed(cv_prove *prove, uint32_t out, const cv_prove_reloc *reloc, bool *kept)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    uint32_t type = facts->final == 0 || prove->facts->relocatable ? reloc->elf.type : facts->final;
    uint32_t table = *cv_u32s_get(reloc->rela ? &prove->kept.rela : &prove->kept.rel, out);

    *kept = false;
    prove->here.place = (cv_prove_place){ out, 0 };
    return table == 0 ? CUVET_OK
                      : cv_prove_find_kept(prove, cv_prove_tables_at(&prove->kept.table, table - 1), reloc,
                                           type, kept);
}
