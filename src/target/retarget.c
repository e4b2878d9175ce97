/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/retarget.h"

#include "target/arch.h"

static bool level_allows(uint8_t level, bool accel, uint32_t source, uint32_t wanted)
{
    const cv_arch *from = cv_arch_of(source), *to = cv_arch_of(wanted);
    bool family = cv_arch_final_family(source) == cv_arch_final_family(wanted);
    bool apart = cv_arch_has(from, CV_ARCH_FINAL_APART) || cv_arch_has(to, CV_ARCH_FINAL_APART);

    if (level < 2 && accel)
        return false;
    switch (level) {
    case 0:
    case 1:
    case 2: return family && source < wanted && !apart;
    case 3: return source < wanted && !apart && (family || !cv_arch_has(to, CV_ARCH_FINAL_FAMILY_ONLY));
    default: break;
    }
    if (family)
        return source < wanted && !accel;
    return (source < wanted && cv_arch_has(to, CV_ARCH_FINAL_OPEN)) ||
           (cv_arch_has(from, CV_ARCH_FINAL_APART) && cv_arch_has(to, CV_ARCH_FINAL_AFTER_APART));
}

cv_final cv_can_finalize(const cv_compat *compat, uint32_t src, uint32_t dst)
{
    uint32_t from = cv_arch_machine(src), to = cv_arch_machine(dst);

    if (!compat)
        return CV_FINAL_NO_COMPAT;
    if (compat->isa > CV_MERCURY_ISA)
        return CV_FINAL_ISA;
    if (from == to)
        return CV_FINAL_OK;
    if (compat->level > CV_FINAL_LEVEL_MOST)
        return CV_FINAL_INCOMPATIBLE;
    return level_allows(compat->level, compat->accel != 0, from, to) ? CV_FINAL_OK : CV_FINAL_INCOMPATIBLE;
}

cv_final cv_can_finalize_most(const cv_compat *compat, uint32_t src, uint32_t dst, uint8_t most, bool *level)
{
    cv_final code = cv_can_finalize(compat, src, dst);
    cv_compat less;

    *level = false;
    if (code != CV_FINAL_OK || compat->level <= most || cv_arch_machine(src) == cv_arch_machine(dst))
        return code;
    less = *compat;
    less.level = most;
    code = cv_can_finalize(&less, src, dst);
    *level = code != CV_FINAL_OK;
    return code;
}

uint64_t cv_fastpath_bit(uint32_t dst)
{
    const cv_arch *arch = cv_arch_of(cv_arch_machine(dst));

    return arch && arch->bit >= 0 ? UINT64_C(1) << arch->bit : 0;
}

bool cv_can_fastpath(const cv_compat *compat, uint32_t src, uint32_t dst, bool allowed)
{
    if (!allowed)
        return false;
    if (cv_arch_machine(src) == cv_arch_machine(dst))
        return true;
    if (!compat || !cv_compat_has(compat, CV_COMPAT_CAN_FASTPATH_FINALIZE))
        return false;
    return (compat->fastpath & cv_fastpath_bit(dst)) != 0;
}

bool cv_final_is_target(uint32_t number)
{
    return cv_arch_known((cuvet_target){ cv_arch_machine(number), 0 });
}

bool cv_same_family(uint32_t src, uint32_t dst)
{
    return cv_arch_family(cv_arch_machine(src)) == cv_arch_family(cv_arch_machine(dst));
}

const char *cv_final_text(uint32_t code)
{
    switch (code) {
#define FINAL(number, name, text)                                                                            \
    case (number):                                                                                           \
        return text;
#include "finalize.def"
#undef FINAL
    default: return "";
    }
}
