/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of a relocation, by its type and by what its symbol is to the link: one table, made of the
 * rows of spec/relocs.def. */
#ifndef CV_LINK_PLAN_RELOC_TABLE_H
#define CV_LINK_PLAN_RELOC_TABLE_H

#include "format/elf/names.h"

/* What a symbol is to the relocation that names it. */
typedef enum cv_reloc_class {
    CV_CLASS_FUNCTION,        /* a function: the loader knows its place */
    CV_CLASS_ADDRESS,         /* anything else whose place the loader knows */
    CV_CLASS_LATER_FUNCTION,  /* a function, in a relocatable link */
    CV_CLASS_LATER,           /* what a relocatable link leaves to a later one */
    CV_CLASS_LATER_BANK,      /* a section of a bank that begins elsewhere now, named without addend */
    CV_CLASS_DEAD,            /* a function that goes */
    CV_CLASS_CONSTANT,        /* a place in a constant bank */
    CV_CLASS_SHARED,          /* a place in shared memory */
    CV_CLASS_DEBUG_SECTION,   /* a place in a section that the link puts together, without memory */
    CV_CLASS_UNDEFINED_LOCAL, /* a variable of one object that is nowhere: the link has a number for it */
    CV_CLASS_SLOT,            /* a texture or a surface with a slot in the parameter bank */
    CV_CLASS_GIVEN_UP,        /* one of these where the reference gives it up */
    CV_CLASS_NO_TABLE,        /* the table of unified functions, which is not there */
    CV_CLASS_NO_PLACE,        /* what the link has no place for */
    CV_N_CLASSES
} cv_reloc_class;

typedef enum cv_reloc_action {
    CV_RELOC_REFUSE,
    CV_RELOC_KEEP,
    CV_RELOC_APPLY, /* the value is written into the field, or added to it */
    CV_RELOC_ADD,   /* it stays, and the base of its section is added to the field */
    CV_RELOC_CLEAR, /* nothing stays but zeros */
    CV_RELOC_DROP   /* nothing stays */
} cv_reloc_action;

extern const uint8_t CV_RELOC_ACTIONS[CV_R_CUDA_LAST + 1][CV_N_CLASSES];

CV_BUF_BEGIN
/* Numbers that are no type are like type 0. */
static inline cv_reloc_action cv_reloc_action_of(uint32_t type, cv_reloc_class symbol)
{
    if (CV_NEVER(symbol >= CV_N_CLASSES))
        return CV_RELOC_REFUSE;
    return (cv_reloc_action)CV_RELOC_ACTIONS[type <= CV_R_CUDA_LAST ? type : CV_R_CUDA_NONE][symbol];
}
CV_BUF_END

#endif
