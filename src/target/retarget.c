/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/retarget.h"

#include "target/arch.h"

enum { ISA_MOST = 0x0101, LEVEL_MOST = 4 };

/* Machines that came out under another number. */
static uint32_t norm(uint32_t sm)
{
    switch (sm) {
    case 104: return 120;
    case 130: return 107;
    case 101: return 110;
    default: return sm;
    }
}

static bool level_allows(uint8_t level, bool accel, uint32_t s, uint32_t d)
{
    bool family = s / 10 == d / 10;

    if (level < 2 && accel)
        return false;
    switch (level) {
    case 0:
    case 1:
    case 2: return family && s < d && s != 110 && d != 110;
    case 3: return s < d && s != 110 && d != 110 && (d != 121 || s / 10 == 12);
    default: break;
    }
    if (family)
        return s < d && !accel;
    return (s < d && (d == 110 || d == 121)) || (s == 110 && (d == 120 || d == 121));
}

cv_final cv_can_finalize(const cv_compat *k, uint32_t src, uint32_t dst)
{
    uint32_t s = norm(src), d = norm(dst);

    if (!k)
        return CV_FINAL_NO_COMPAT;
    if (k->isa > ISA_MOST)
        return CV_FINAL_ISA;
    if (s == d)
        return CV_FINAL_OK;
    if (k->level > LEVEL_MOST)
        return CV_FINAL_INCOMPATIBLE;
    return level_allows(k->level, k->accel != 0, s, d) ? CV_FINAL_OK : CV_FINAL_INCOMPATIBLE;
}

cv_final cv_can_finalize_most(const cv_compat *k, uint32_t src, uint32_t dst, uint8_t most, bool *level)
{
    cv_final f = cv_can_finalize(k, src, dst);
    cv_compat less;

    *level = false;
    if (f != CV_FINAL_OK || k->level <= most || norm(src) == norm(dst))
        return f;
    less = *k;
    less.level = most;
    f = cv_can_finalize(&less, src, dst);
    *level = f != CV_FINAL_OK;
    return f;
}

uint64_t cv_fastpath_bit(uint32_t dst)
{
    switch (norm(dst)) {
    case 100: return 1u << 0;
    case 110: return 1u << 1;
    case 103: return 1u << 3;
    case 121: return 1u << 6;
    default: return 0;
    }
}

bool cv_can_fastpath(const cv_compat *k, uint32_t src, uint32_t dst, bool allowed)
{
    if (!allowed)
        return false;
    if (norm(src) == norm(dst))
        return true;
    if (!k || !cv_compat_has(k, CV_COMPAT_CAN_FASTPATH_FINALIZE))
        return false;
    return (k->fastpath & cv_fastpath_bit(dst)) != 0;
}

bool cv_same_family(uint32_t src, uint32_t dst)
{
    return cv_arch_family(norm(src)) == cv_arch_family(norm(dst));
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
