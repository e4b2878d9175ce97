/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of a relocation: what stage scan_relocs finds out of one. */
#ifndef CV_LINK_PLAN_SCAN_RELOCS_H
#define CV_LINK_PLAN_SCAN_RELOCS_H

#include "format/elf/names.h"
#include "link/plan/plan.h"

typedef struct cv_fix {
    cv_field field[2];
    unsigned count;
    uint32_t type;   /* of what stays … */
    uint64_t addend; /* … and what is added to its addend */
    bool keep, dead;
    bool resolved; /* applied, and worth a record of that */
    bool given_up; /* applied with what is no place: a texture in the exact form of a relocatable link */
} cv_fix;

/* What a symbol is to the relocations of one kind that name it: whether it is a function that goes, its class
 * (reloc_table.h), what is written for it, and of a section where it begins now. */
typedef struct cv_symbol_fix {
    cv_id sym;
    uint32_t kind; /* 0: of none */
    cv_reloc_use use;
    uint8_t class;
    bool dead, given_up; /* given_up: it has no place */
    cv_id out;           /* the symbol of the output that one which stays names; CV_NONE: not asked yet */
    uint64_t value, bank, moved;
} cv_symbol_fix;

CV_VEC(cv_symbol_fixes, cv_symbol_fix);

/* Symbols that are remembered: code names the same ones again and again. */
#define CV_KNOWN_SYMBOLS 32

/* The fields of a type for a value: an offset in shared memory, one in a constant bank, a slot of the
 * parameter bank. False: the type has none for it. */
CV_MUST bool cv_link_field(cv_fix *fix, uint32_t type, cv_reloc_use use, uint64_t value, uint64_t bank,
                           bool add);
/* Does all of it fit, with what is in the section? */
CV_MUST bool cv_link_fits(const cv_fix *fix, cv_span body, uint64_t off);
/* Asked once for each relocation. 'known' remembers what symbols are, CV_KNOWN_SYMBOLS of them. False: a type
 * for which it is not known. */
CV_MUST bool cv_link_fix(const cv_check_scan_relocs *view, const cv_rel_cur *cur, const cv_osec *osec,
                         cv_symbol_fixes *known, cv_fix *fix);
/* Types between which a symbol may become something else, or relocations of which leave no record. */
#define CV_KIND_USES ((unsigned)CV_USE_TABLE | CV_USE_BANK | CV_USE_DROPS | CV_USE_CLEARS)

/* All that a symbol's class depends on beside the symbol: what decide_reloc.c asks of a type or of a section
 * to classify has its bit here. Of shared variables, which are not remembered, it is the section as well. */
static inline uint32_t cv_link_kind(const cv_reloc_facts *facts, const cv_osec *target, bool rela)
{
    return UINT32_C(1) << 31 | (facts->uses & CV_KIND_USES) << 8 | (uint32_t)facts->insn << 7 |
           (uint32_t)target->group << 1 | rela;
}

/* What was found out of the symbol of an entry; NULL: nothing yet. */
static inline cv_symbol_fix *cv_link_known(cv_symbol_fixes *known, const cv_irel *rel, const cv_osec *target,
                                           bool rela)
{
    cv_symbol_fix *last = cv_symbol_fixes_at(known, rel->sym % CV_KNOWN_SYMBOLS);

    return last->sym == rel->sym && last->kind == cv_link_kind(cv_reloc_of(rel->type), target, rela) ? last
                                                                                                     : NULL;
}
/* A function that nothing reaches. 'osym' may be NULL. */
CV_MUST bool cv_link_is_dead(const cv_check_scan_relocs *view, const cv_osym *osym);

#endif
