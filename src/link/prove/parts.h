/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the steps of the proof share. */
#ifndef CV_LINK_PROVE_PARTS_H
#define CV_LINK_PROVE_PARTS_H

#include "link/prove/prove.h"

/* The definition that stands for a symbol of the result, found by the proof. */
typedef struct cv_proven {
    uint32_t obj, sym; /* of an input */
    bool found, common, unsure;
    uint8_t bind;
    uint32_t regs;
} cv_proven;

CV_VEC(cv_provens, cv_proven);

/* A call. */
typedef struct cv_prove_call {
    uint32_t to;       /* symbol of the result, 0: it is not there … */
    uint32_t obj, sym; /* … of an input */
} cv_prove_call;

CV_VEC(cv_prove_call_list, cv_prove_call);

typedef struct cv_prove_calls {
    cv_prove_call_list call;
    cv_keys from; /* caller, element of 'call'; sorted */
} cv_prove_calls;

/* A place in shared memory that code of the result uses. */
typedef struct cv_prove_use {
    uint32_t fn, var, obj,
        sym; /* function, a symbol of the result; definition, among all symbols of the inputs */
    uint64_t base, end;
    bool array; /* nobody defines it: it lies behind everything else */
} cv_prove_use;

CV_VEC(cv_prove_uses, cv_prove_use);

typedef struct cv_prove {
    cv_ctx *ctx;
    const cv_prove_facts *facts;
    cv_slices_index *file; /* the result */
    cv_provens proven;     /* by symbol of the result */
    cv_keys kept;      /* relocations of the result: key section << 40 | offset, index table << 32 | row */
    cv_u8s met;        /* by element of 'kept': it is some input's */
    uint64_t at;       /* element of 'kept' that was found last */
    cv_prove_uses use; /* of shared memory */
    cv_u64s slot;      /* by symbol of the result: 1 + the slot of a texture or surface */
    uint64_t n_slots;
    cv_u64s end; /* by section of the result: covered so far */
    /* of the object at hand */
    uint32_t obj;
    const cv_cubin *in;
    uint64_t first_sec, first_sym;
    cv_keys table; /* target section, relocation section; sorted */
    cv_u64s first; /* of the function at hand: records of the result by code */
    cv_keys field; /* of the section at hand: offset, table << 32 | row; sorted */
} cv_prove;

/* A symbol of the object at hand. */
typedef struct cv_prove_symbol {
    cv_elf_symbol elf;
    uint32_t sec;  /* of the input, 0: none */
    uint32_t out;  /* hint: of the result, 0: none */
    uint8_t space; /* CV_STO_SPACE bits of a variable, else 0 */
} cv_prove_symbol;

/* A relocation of the object at hand. */
typedef struct cv_prove_reloc {
    cv_elf_reloc elf;
    cv_prove_symbol symbol;
    cv_prove_place place; /* in the result */
    uint32_t target;      /* section of the input */
    bool rela;
} cv_prove_reloc;

void cv_prove_open(cv_prove *prove, uint32_t obj);
cv_prove_symbol cv_prove_symbol_at(const cv_prove *prove, uint64_t index);
const cv_prove_place *cv_prove_place_of(const cv_prove *prove, uint64_t sec);
cv_span cv_prove_name(const cv_cubin *cubin, const cv_elf_symbol *symbol);
/* What does not hold: the rule with a place of the object at hand. @return INTERNAL */
CV_MUST cuvet_status cv_prove_fail(const cv_prove *prove, cv_rule rule, cuvet_step_kind kind, uint64_t index,
                                   uint64_t off, uint64_t got, uint64_t want);
#define cv_prove_fail_section(prove, rule, sec, at, got, want)                                               \
    cv_prove_fail((prove), (rule), CUVET_P_SECTION, (sec),                                                   \
                  cv_cubin_sec((prove)->in, (sec))->header.off + (at), (got), (want))
#define cv_prove_fail_symbol(prove, rule, sym, got, want)                                                    \
    cv_prove_fail((prove), (rule), CUVET_P_SYMBOL, (sym),                                                    \
                  cv_cubin_sec((prove)->in, (prove)->in->symtab_index)->header.off +                         \
                      (sym)*cv_elf_sym_size(false),                                                          \
                  (got), (want))
/* Is it a section that holds code, data, constants or debug data? */
CV_MUST bool cv_prove_holds_content(const cv_sec *sec);
/* Made anew in the result, of the inputs' pieces. */
CV_MUST bool cv_prove_is_rebuilt(const cv_prove *prove, const cv_sec *sec);

/* Steps, for the object at hand or for all. */
CV_MUST cuvet_status cv_prove_symbols(cv_prove *prove);
CV_MUST cuvet_status cv_prove_sections(cv_prove *prove);
CV_MUST cuvet_status cv_prove_functions(cv_prove *prove);
CV_MUST cuvet_status cv_prove_shared(cv_prove *prove, const cv_prove_calls *calls);
/* shared.c: code of the result uses a variable at this place. */
CV_MUST cuvet_status cv_prove_use_shared(cv_prove *prove, const cv_prove_reloc *reloc, uint64_t base);
CV_MUST cuvet_status cv_prove_records(cv_prove *prove);
/* kept.c: relocations of the result. */
CV_MUST cuvet_status cv_prove_list_kept(cv_prove *prove);
/* Has the result this one, of its type, against what it is against? It is met, then. */
CV_MUST bool cv_prove_find_kept(cv_prove *prove, const cv_prove_reloc *reloc);
CV_MUST cuvet_status cv_prove_check_met(const cv_prove *prove);
/* relocs.c: does one of the result name what that of the input names? */
CV_MUST bool cv_prove_is_same(const cv_prove *prove, const cv_prove_reloc *reloc, const cv_elf_reloc *row);
/* relocs.c: all relocations of a section of the object at hand; 'field' has what they write into, in
 * order. */
CV_MUST cuvet_status cv_prove_relocs(cv_prove *prove, uint32_t sec);
/* fields.c: the section has the bytes of the input outside of 'field'. at: its place in the file. */
CV_MUST cuvet_status cv_prove_bytes(const cv_prove *prove, uint32_t sec, uint64_t at);

#endif
