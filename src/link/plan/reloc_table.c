/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/plan/reloc_table.h"

enum {
    NONE = CV_USE_NONE,
#define RELOC_USE(name) name = CV_USE_##name,
#include "relocs.def"
};

/* Who knows the value, as sets. */
enum {
    BY_LINKER = 1 << CV_RELOC_LINKER,
    BY_DRIVER = 1 << CV_RELOC_DRIVER,
    BY_EITHER = 1 << CV_RELOC_EITHER,
    BY_DESC = 1 << CV_RELOC_DESC
};

/* Types of which nothing is left do not ask what they name. */
#define CELL(uses, action)          ((uses) & (DROPS | CLEARS) ? CV_RELOC_DROP : (action))
#define KEPT_BY(who, set)           ((1 << CV_RELOC_##who) & (set) ? CV_RELOC_KEEP : CV_RELOC_REFUSE)
#define APPLIED(uses, use, without) ((uses) & (use) ? CV_RELOC_APPLY : (without))

const uint8_t CV_RELOC_ACTIONS[CV_R_CUDA_LAST + 1][CV_N_CLASSES] = {
#define RELOC_CUDA(number, name, bytes, insn, pos, bits, shift, who, uses)                                   \
    [number] = {                                                                                             \
        [CV_CLASS_FUNCTION] = CELL(uses, KEPT_BY(who, BY_DRIVER | BY_EITHER | BY_DESC)),                     \
        [CV_CLASS_ADDRESS] = CELL(uses, KEPT_BY(who, BY_DRIVER | BY_EITHER)),                                \
        [CV_CLASS_LATER_FUNCTION] = CELL(uses, KEPT_BY(who, BY_LINKER | BY_DRIVER | BY_EITHER | BY_DESC)),   \
        [CV_CLASS_LATER] = CELL(uses, KEPT_BY(who, BY_LINKER | BY_DRIVER | BY_EITHER)),                      \
        [CV_CLASS_LATER_BANK] =                                                                              \
            CELL(uses, (uses) & (OFFSET | BANK) ? CV_RELOC_ADD : KEPT_BY(who, BY_DRIVER)),                   \
        [CV_CLASS_DEAD] = (uses)&CLEARS ? CV_RELOC_CLEAR : CV_RELOC_DROP,                                    \
        [CV_CLASS_CONSTANT] = CELL(                                                                          \
            uses, CV_RELOC_##who == CV_RELOC_DRIVER ? CV_RELOC_KEEP : APPLIED(uses, BANK, CV_RELOC_REFUSE)), \
        [CV_CLASS_SHARED] = CELL(uses, APPLIED(uses, OFFSET, CV_RELOC_REFUSE)),                              \
        [CV_CLASS_DEBUG_SECTION] = CELL(uses, APPLIED(uses, OFFSET, CV_RELOC_REFUSE)),                       \
        [CV_CLASS_UNDEFINED_LOCAL] = CELL(uses, APPLIED(uses, OFFSET, CV_RELOC_REFUSE)),                     \
        [CV_CLASS_SLOT] = CELL(uses, APPLIED(uses, SLOT, KEPT_BY(who, BY_DRIVER | BY_EITHER))),              \
        [CV_CLASS_GIVEN_UP] =                                                                                \
            CELL(uses, CV_RELOC_##who == CV_RELOC_LINKER ? APPLIED(uses, BANK | SLOT, CV_RELOC_KEEP)         \
                                                         : KEPT_BY(who, BY_DRIVER | BY_EITHER)),             \
        [CV_CLASS_NO_TABLE] = CELL(uses, (uses)&TABLE ? CV_RELOC_DROP : CV_RELOC_REFUSE),                    \
        [CV_CLASS_NO_PLACE] = CELL(uses, CV_RELOC_REFUSE),                                                   \
    },
#include "relocs.def"
};
