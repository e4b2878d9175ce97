/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the steps of the proof share. */
#ifndef CV_LINK_PROVE_PARTS_H
#define CV_LINK_PROVE_PARTS_H

#include "link/prove/prove.h"

/* The definition that stands for a symbol of the result, found by the proof. */
typedef struct cv_proven {
    uint32_t obj, sym; /* of an input */
    bool found, common, unsure;
    bool again; /* several inputs define it */
    uint8_t bind;
    uint32_t regs;
    uint32_t virtual_sm; /* of the first definition */
} cv_proven;

CV_VEC(cv_provens, cv_proven);

/* A call. */
typedef struct cv_prove_call {
    uint32_t next;     /* of the same caller: 1 + element of the list; 0: none */
    uint32_t to;       /* symbol of the result, 0: it is not there … */
    uint32_t obj, sym; /* … of an input */
} cv_prove_call;

CV_VEC(cv_prove_call_list, cv_prove_call);

typedef struct cv_prove_calls {
    cv_prove_call_list call;
    cv_u32s first; /* by symbol of the result: 1 + an element of 'call'; 0: it calls nothing */
} cv_prove_calls;

/* A place in shared memory that code of the result uses. */
typedef struct cv_prove_use {
    uint32_t fn, var, obj,
        sym;       /* function, a symbol of the result; definition, among all symbols of the inputs */
    uint32_t next; /* of the same function: 1 + element of the list; 0: none */
    uint64_t base, end, align;
    bool array; /* nobody defines it: it lies behind everything else */
} cv_prove_use;

CV_VEC(cv_prove_uses, cv_prove_use);

/* A symbol of an input. */
typedef struct cv_prove_symbol {
    cv_elf_symbol elf;
    uint32_t sec;  /* of the input, 0: none */
    uint32_t out;  /* hint: of the result, 0: none */
    uint8_t space; /* CV_STO_SPACE bits of a variable, else 0 */
    bool plain;    /* it stands for one of the result, and whatever names it names that one when it stays */
    bool won;      /* a definition that was taken when it was read, also when a better one came later */
} cv_prove_symbol;

CV_VEC(cv_prove_symbol_list, cv_prove_symbol);

/* A table of relocations of the result. */
typedef struct cv_prove_table {
    cv_span body;
    uint64_t count, first; /* rows, and the first of them among those of all tables */
    uint64_t at;           /* the row that was found last, in the order of the places … */
    uint64_t last, row;    /* … in the table, and the one that is probably next */
    uint64_t low, high;    /* rows of one stretch that are met; others are marked one by one */
    uint64_t key;          /* of a mixed one: first element of the keys that have its rows in order */
    uint32_t sec, target;
    uint32_t next; /* of the same target and kind: 1 + element of the list; 0: none */
    bool rela;
    bool falls, mixed; /* places of the rows; else they rise */
} cv_prove_table;

CV_VEC(cv_prove_tables, cv_prove_table);

/* Relocations of the result. */
typedef struct cv_prove_kept {
    cv_prove_tables table;
    cv_u32s rel, rela; /* by section of the result that they are about: 1 + an element of 'table' */
    cv_u32s resolved;  /* the same, of those that say what was applied */
    cv_keys order;     /* rows of mixed tables: table << 40 | place, row */
    cv_keys header;    /* of slots: section << 40 | place, section of the table << 32 | row */
    cv_u8s met;        /* by row: it is some input's */
    uint64_t rows;
    bool ordered; /* the orders of the tables were found */
} cv_prove_kept;

/* A branch table of a device function. */
typedef struct cv_prove_branch {
    uint32_t obj, sec; /* of an input */
    uint32_t next;     /* of the same function: 1 + element of the list; 0: none */
    uint64_t place;    /* hint: in the banks of kernels */
} cv_prove_branch;

CV_VEC(cv_prove_branch_list, cv_prove_branch);

typedef struct cv_prove_branches {
    cv_prove_branch_list list;
    cv_u32s first; /* by symbol of the result: 1 + an element of 'list'; 0: it has none */
    cv_u32s bank;  /* by section of code of the result: its bank of tables, 0: none */
    cv_keys met;   /* of the kernel at hand: place, element of 'list' */
} cv_prove_branches;

/* A section of the object at hand. */
typedef struct cv_prove_section {
    uint32_t index;
    uint32_t fn; /* the function whose code it is, a symbol of the result; 0: none */
    cv_prove_place place;
    cv_span body;
    uint64_t at; /* of its place in the file */
    bool debug;
    bool fits; /* the bytes around the field at hand are those of the input */
    /* the shared variable that was used last: 1 + symbol of the object, and its place */
    uint64_t used, used_at;
} cv_prove_section;

/* Bits that relocations of a type write into. */
typedef struct cv_prove_mask {
    cv_pair bits;
    uint64_t type; /* 1 + the type; 0: none */
} cv_prove_mask;

/* Code has few types at a time. */
enum { CV_PROVE_MASKS = 5 }; /* a prime: types that code has together do not meet */

typedef struct cv_prove {
    cv_ctx *ctx;
    const cv_prove_facts *facts;
    const cuvet_executor *executor; /* NULL: all is done by this thread */
    cv_slices_index *file;          /* the result */
    cv_prove_symbol_list symbol;    /* of the inputs */
    cv_provens proven;              /* by symbol of the result */
    cv_prove_kept kept;
    cv_prove_mask mask[CV_PROVE_MASKS]; /* of the types that were asked for last */
    cv_prove_uses use;                  /* of shared memory */
    cv_u32s used;                       /* by symbol of the inputs: 1 + the last element of 'use' */
    cv_u64s slot;                       /* by symbol of the result: 1 + the slot of a texture or surface */
    cv_u8s slots_used;                  /* by symbol of the result: kinds that the code of a function names */
    cv_u8s slots_written; /* by section of code of the result: kinds that its bank has slots of */
    uint64_t first_slot;
    cv_prove_branches branches;
    cv_u64s end;         /* by section of the result: covered so far */
    bool indirect;       /* functions are called by address: a kernel may reach more than is known */
    bool array_part;     /* code holds a part of the place of an array, which has room and no known place */
    bool commons;        /* some input has common variables */
    bool progress;       /* some input is for a machine whose threads all go on by themselves */
    bool strange_frames; /* nothing is said of call frames … */
    bool strange_lines;  /* … and of lines */
    cv_keys unit; /* of lines that are made anew: section of an input << 40 | place, place in the result */
    /* of the object at hand */
    uint32_t obj;
    const cv_cubin *in;
    uint64_t first_sec, first_sym;
    cv_keys table; /* target section, relocation section; sorted */
    cv_u64s first; /* of the function at hand: records of the result by code */
    cv_prove_section here;
    cv_keys field;    /* of that section: offset, type; in order … */
    bool field_falls; /* … or in the opposite one */
} cv_prove;

/* What a lane of sections does not share with others: where it is, and what it found of shared memory. */
typedef struct cv_prove_lane {
    cv_prove prove;
    cv_slices_index file;
} cv_prove_lane;

CV_VEC(cv_prove_lanes, cv_prove_lane);

/* Textures, samplers and surfaces, as a bit; 0: something else. */
static inline uint8_t cv_prove_slot_kind(uint8_t type)
{
    return type >= CV_STT_CUDA_TEXTURE && type <= CV_STT_CUDA_SURFACE
               ? (uint8_t)(1U << (type - CV_STT_CUDA_TEXTURE))
               : 0;
}

/* A relocation of the object at hand. */
typedef struct cv_prove_reloc {
    cv_elf_reloc elf;
    const cv_prove_symbol *symbol;
    bool rela;
} cv_prove_reloc;

void cv_prove_open(cv_prove *prove, uint32_t obj);
/* A number that is none is that of an empty symbol. */
static inline const cv_prove_symbol *cv_prove_symbol_at(const cv_prove *prove, uint64_t index)
{
    static const cv_prove_symbol NONE;

    return index < prove->in->n_syms
               ? cv_prove_symbol_list_get(&prove->symbol, cv_sat_add(prove->first_sym, index))
               : &NONE;
}
/* The same for places of sections. */
static inline const cv_prove_place *cv_prove_place_of(const cv_prove *prove, uint64_t sec)
{
    static const cv_prove_place NOWHERE;

    return sec != 0 && sec < prove->in->sec.count
               ? cv_prove_places_get(&prove->facts->place, prove->first_sec + sec)
               : &NOWHERE;
}
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
/* sections.c: pieces of this one come in the order of the inputs, and nothing else is there. */
CV_MUST bool cv_prove_is_chain(const cv_prove *prove, const cv_sec *sec);
/* sections.c: these bytes of a section of the result are zero. */
CV_MUST bool cv_prove_is_zero(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to);
/* tables.c: branch tables of all device functions. */
CV_MUST cuvet_status cv_prove_list_tables(cv_prove *prove);
/* Hint: the place of a table of the object at hand in the banks of kernels. False: it has none. */
CV_MUST bool cv_prove_table_place(const cv_prove *prove, uint64_t sec, uint64_t *place);
/* The kernel at hand reaches this function. False: no memory. */
CV_MUST bool cv_prove_meet_tables(cv_prove *prove, uint32_t fn);
/* The bank of the kernel at hand, whose code is this section of the result, has the tables that were met. */
CV_MUST cuvet_status cv_prove_check_tables(cv_prove *prove, uint32_t code);
void cv_prove_free_tables(cv_mem *mem, cv_prove_branches *branches);
/* rebuilt.c: all relocations of a section of the object at hand into 'field', by their places. */
CV_MUST bool cv_prove_list_relocs(cv_prove *prove, uint32_t section);
/* One of them. False: it names no symbol. */
CV_MUST bool cv_prove_read_listed(const cv_prove *prove, uint64_t number, cv_prove_reloc *reloc);
/* It leaves no trace, whatever it names. */
CV_MUST bool cv_prove_is_dropped(const cv_prove *prove, const cv_prove_reloc *reloc);
/* *kept: has the result this one, whose place is one of the result already, for its section 'out'? It is met,
 * then. */
CV_MUST cuvet_status cv_prove_find_listed(cv_prove *prove, uint32_t out, const cv_prove_reloc *reloc,
                                          bool *kept);
/* frames.c: call frame information that is made anew. */
CV_MUST cuvet_status cv_prove_frames(cv_prove *prove);
/* lines.c: line information that is made anew. */
CV_MUST cuvet_status cv_prove_lines(cv_prove *prove);
/* lines.c: where a unit that began at this place of a section of the object at hand begins now. False: none
 * did. */
CV_MUST bool cv_prove_find_unit(const cv_prove *prove, uint32_t sec, uint64_t at, uint64_t *place);
CV_MUST bool cv_prove_is_relined(const cv_prove *prove, const cv_sec *sec);
/* ends.c: sections of the result end where what lies in them ends. */
CV_MUST cuvet_status cv_prove_ends(cv_prove *prove);
CV_MUST cuvet_status cv_prove_functions(cv_prove *prove);
CV_MUST cuvet_status cv_prove_shared(cv_prove *prove, const cv_prove_calls *calls);
/* shared.c: code of the result uses a variable at this place. */
CV_MUST cuvet_status cv_prove_use_shared(cv_prove *prove, const cv_prove_reloc *reloc, uint64_t base);
/* shared.c: hint: the place of a shared variable of the object at hand. False: it depends on the kernel. */
CV_MUST bool cv_prove_shared_place(const cv_prove *prove, uint64_t sym, uint64_t *place);
CV_MUST cuvet_status cv_prove_records(cv_prove *prove);
/* kept.c: relocations of the result. */
CV_MUST cuvet_status cv_prove_list_kept(cv_prove *prove);
/* The orders of all tables, before lanes ask for them. False: no memory. */
CV_MUST bool cv_prove_find_orders(cv_prove *prove);
/* A row of a table of relocations, section 'table' of the object. */
void cv_prove_read_row(const cv_cubin *cubin, uint64_t table, uint64_t row, cv_elf_reloc *out);
/* *found: has this table of the result, or another one of its kind, a relocation of the section at hand, of
 * this type, against what it is against? It is met, then. */
CV_MUST cuvet_status cv_prove_find_kept(cv_prove *prove, cv_prove_table *table, const cv_prove_reloc *reloc,
                                        uint32_t type, bool *found);
/* Mostly the relocations of an input are those of the result, one behind the other or one before the other.
 * How many of a table of the section at hand are so, from a row on? They are met. */
CV_MUST uint64_t cv_prove_meet_run(cv_prove *prove, cv_prove_table *table, cv_span body, uint64_t row);
CV_MUST cuvet_status cv_prove_check_met(const cv_prove *prove);
void cv_prove_free_kept(cv_mem *mem, cv_prove_kept *kept);
/* relocs.c: does one of the result name what that of the input names? */
CV_MUST bool cv_prove_is_same(const cv_prove *prove, const cv_prove_reloc *reloc, const cv_elf_reloc *row);
/* relocs.c: all relocations of the section at hand; 'field' has what they write into. */
CV_MUST cuvet_status cv_prove_relocs(cv_prove *prove);
/* fields.c: bits that relocations of a type write into. */
cv_pair cv_prove_mask_of(cv_prove *prove, uint32_t type);
/* A field whose other bits were compared already. */
#define CV_PROVE_FITS (UINT64_C(1) << 32)
/* fields.c: the section at hand has the bytes of the input outside of 'field'. */
CV_MUST cuvet_status cv_prove_bytes(cv_prove *prove);

#endif
