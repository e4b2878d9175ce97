/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* May code for one machine be used for another? The compiler's statements are in .nv.compat. Pure. */
#ifndef CV_TARGET_RETARGET_H
#define CV_TARGET_RETARGET_H

#include "base/base.h"
#include "format/tlv/attr.h"

/* Codes of a finalization (spec/finalize.def). */
typedef enum cv_final {
#define FINAL(code, name, text) CV_FINAL_##name = (code),
#include "finalize.def"
#undef FINAL
} cv_final;

/* Levels of a finalization: 0 to this. */
#define CV_FINAL_LEVEL_MOST 4u

/* May code for SM 'src' be finalized for SM 'dst' at all, by something that can make code?
 * k: the object's records, NULL without a section. */
CV_MUST cv_final cv_can_finalize(const cv_compat *compat, uint32_t src, uint32_t dst);
/* The same, but a level above 'most' is not believed: what such an object claims must be allowed at that
 * level as well. *level is set when only that stands in the way. */
CV_MUST cv_final cv_can_finalize_most(const cv_compat *compat, uint32_t src, uint32_t dst, uint8_t most,
                                      bool *level);
/* Do the bytes that are there run on 'dst' as they are? allowed: the fast path is not switched off. The
 * source is not looked at beyond equality: ask cv_can_finalize too. */
CV_MUST bool cv_can_fastpath(const cv_compat *compat, uint32_t src, uint32_t dst, bool allowed);
/* The bit of the mask that says so of a target; 0: none does. */
CV_MUST uint64_t cv_fastpath_bit(uint32_t dst);

/* Does a number stand for a machine that code is finalized for? For no other one a question has an answer
 * (FINAL_SM). */
CV_MUST bool cv_final_is_target(uint32_t number);

/* Text of a code, "" for one that has none. */
const char *cv_final_text(uint32_t code);

/* Are both of one family of machines? Code of one runs on no machine of another, whatever a file says. */
CV_MUST bool cv_same_family(uint32_t src, uint32_t dst);

#endif
