/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the codes mean: the attribute table of .nv.info and the tag table of .nv.compat, and the checks that
 * need only one record. Checks against symbols, code and other records live in src/cubin. */
#ifndef CV_FORMAT_TLV_ATTR_H
#define CV_FORMAT_TLV_ATTR_H

#include "format/tlv/read.h"

/* The newest version of Mercury that is described: major << 8 | minor. */
#define CV_MERCURY_ISA 0x0101u
/* … and what the linker writes where no input says one. */
#define CV_MERCURY_ISA_UNSAID 0x0100u

/* What registers and barriers a record can count, and what it says where somebody does not know a sum, or
 * says nothing of sparse multiplication. */
#define CV_REGISTERS_MOST 255u
#define CV_BARRIERS_MOST  16u
#define CV_SUM_UNKNOWN    UINT32_C(0xFFFF)
#define CV_SPARSE_SILENT  UINT32_C(0x8000)

/* Words of AT_ENTRY_FRAGEMENTS: code that uses tcgen05, as 12.x and as later toolkits have it. */
enum { CV_FRAGMENT_OLD_1CTA = 4, CV_FRAGMENT_OLD_2CTA = 5, CV_FRAGMENT_1CTA = 6, CV_FRAGMENT_2CTA = 7 };

typedef enum cv_attr_code {
#define ATTR(code, name, format, scope, repeat, shape, size, words) CV_ATTR_##name = code,
#include "eiattr.def"
    CV_N_ATTRS
} cv_attr_code;

/* Bits: global section (native or Mercury), section of a function, Mercury clone of such a section. */
enum { CV_IN_GLOBAL = 1, CV_IN_FN = 2, CV_IN_MERC_FN = 4 };
enum {
    CV_SCOPE_X = 0,
    CV_SCOPE_G = CV_IN_GLOBAL,
    CV_SCOPE_N = CV_IN_FN,
    CV_SCOPE_M = CV_IN_MERC_FN,
    CV_SCOPE_F = CV_IN_FN | CV_IN_MERC_FN,
    CV_SCOPE_B = CV_IN_GLOBAL | CV_IN_FN | CV_IN_MERC_FN
};
typedef enum cv_attr_shape {
    CV_SHAPE_NONE,
    CV_SHAPE_VALUE,
    CV_SHAPE_FIXED,
    CV_SHAPE_ARRAY,
    CV_SHAPE_BRANCHES,
    CV_SHAPE_NOTES,
    CV_SHAPE_OPAQUE
} cv_attr_shape;
typedef enum cv_attr_words {
    CV_WORDS_PLAIN,
    CV_WORDS_FUNC,
    CV_WORDS_SYM,
    CV_WORDS_FUNCS,
    CV_WORDS_SECTION,
    CV_WORDS_MERGED,
    CV_WORDS_ZERO,
    CV_WORDS_TEXT
} cv_attr_words;

typedef struct cv_attr {
    const char *name;
    uint8_t format; /* 0: never observed */
    uint8_t scope;  /* CV_IN_ bits */
    bool many;      /* may repeat in one section */
    uint8_t shape;  /* cv_attr_shape */
    uint8_t size;   /* of FIXED, of an element of ARRAY */
    uint8_t words;  /* cv_attr_words */
} cv_attr;

/* The Mercury clone of a function's records has this one as the native side has it. */
static inline bool cv_attr_has_twin(uint8_t code)
{
    switch (code) {
#define ATTR_TWIN(name) case CV_ATTR_##name:
#include "eiattr.def"
        return true;
    default: return false;
    }
}

/* Row of a code; NULL above the table. */
const cv_attr *cv_attr_get(uint32_t code);
/* "KPARAM_INFO"; NULL above the table. */
const char *cv_eiattr_name(uint32_t code);
const char *cv_compat_name(uint32_t tag);

/* Check one record of .nv.info by its row: known, format, size, zero words, inner structure. *row is set
 * (NULL: unknown code) and true returned when the payload has the shape of the row, so that its words may be
 * interpreted. */
CV_MUST bool cv_attr_check(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, const cv_attr **row);

/* Text offsets inside an INDIRECT_BRANCH_TARGETS or ANNOTATIONS payload: the next one at or behind *pos
 * (start with t->payload), *pos is moved behind it. False: no more. Only for records that cv_attr_check
 * accepted. */
typedef struct cv_attr_walk {
    uint64_t pos, end;
    uint64_t run; /* targets left of the current branch */
} cv_attr_walk;
static inline void cv_attr_walk_init(cv_attr_walk *walk, const cv_tlv *tlv)
{
    *walk = (cv_attr_walk){ tlv->payload, tlv->next, 0 };
}

CV_MUST static inline bool cv_attr_walk_next(cv_attr_walk *walk, cv_span span, const cv_attr *row,
                                             uint64_t *at)
{
    if (walk->pos >= walk->end)
        return false;
    if (row->shape == CV_SHAPE_NOTES) {
        *at = walk->pos + 4;
        walk->pos += 8;
    } else if (walk->run) {
        *at = walk->pos;
        walk->pos += 4;
        walk->run--;
    } else {
        *at = walk->pos;
        walk->run = cv_u32_at(span, walk->pos + 8);
        walk->pos += 12;
    }
    return true;
}

/* What the word of a parameter says: the constant bank that parameters have, and the space of global
 * memory. */
enum { CV_KPARAM_BANK = 0x1F, CV_KPARAM_GLOBAL = 5 };

/* Decoded forms for dumps and for the model. */
typedef struct cv_kparam {
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t size;
    uint8_t log_align, space, cbank; /* 0x17 only */
} cv_kparam;
/* KPARAM_INFO or KPARAM_INFO_V2. */
void cv_attr_kparam(cv_span span, const cv_tlv *tlv, cv_kparam *out);

typedef enum cv_compat_tag {
#define COMPAT(tag, name, format, size, merge, absent) CV_COMPAT_##name = tag,
#include "compat.def"
    CV_N_COMPAT
} cv_compat_tag;

/* What a link makes of the records of its inputs. */
typedef enum cv_compat_merge {
    CV_MERGE_DROP,
    CV_MERGE_MOST,
    CV_MERGE_WIDE,
    CV_MERGE_BITS,
    CV_MERGE_ZERO,
    CV_MERGE_ONE,
    CV_MERGE_DIFFERENT,
    CV_MERGE_AND,
    CV_MERGE_TARGET
} cv_compat_merge;

enum { CV_COMPAT_NEVER = -1 };

typedef struct cv_compat_row {
    const char *name;
    uint8_t format; /* 0: never observed */
    uint8_t size;   /* of a payload */
    uint8_t merge;  /* cv_compat_merge */
    int32_t absent; /* what an input without such a record says, or CV_COMPAT_NEVER */
} cv_compat_row;
/* Row of a tag; NULL above the table. */
const cv_compat_row *cv_compat_get(uint32_t tag);

/* What .nv.compat says; has: bit t is set when tag t is present in its known form. */
typedef struct cv_compat {
    uint32_t has;
    uint16_t isa; /* Mercury ISA, major << 8 | minor */
    uint8_t isa_class, accel;
    uint8_t level;                  /* of finalization that the object allows */
    uint64_t fastpath, fastpath_at; /* the mask, and where it is in the section */
} cv_compat;
static inline bool cv_compat_has(const cv_compat *compat, cv_compat_tag tag)
{
    return (compat->has >> tag & 1) != 0;
}

/* A tag whose form is known. */
bool cv_compat_known(uint8_t tag);
/* Read the whole section with all rules on single tags. OK, or MALFORMED when the records cannot be walked to
 * the end. */
CV_MUST cuvet_status cv_compat_read(cv_ctx *ctx, cv_span span, cv_compat *out);

#endif
