/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/arch.h"

/* Words of spec/arch.def. */
enum { USE_SCAN, USE_LINK };
enum { SUFFIX_NONE, SUFFIX_A, SUFFIX_AF };

static const cv_arch ARCHS[] = {
#define T(trait) (uint32_t) CV_ARCH_##trait
#define ARCH(sm, family, use, suffixes, gen, shared, bit, oldest, traits)                                    \
    { sm,                                                                                                    \
      family,                                                                                                \
      shared,                                                                                                \
      oldest,                                                                                                \
      traits,                                                                                                \
      bit,                                                                                                   \
      USE_##use == USE_LINK,                                                                                 \
      SUFFIX_##suffixes != SUFFIX_NONE,                                                                      \
      SUFFIX_##suffixes == SUFFIX_AF },
#include "arch.def"
#undef ARCH
#undef T
};

const cv_arch *cv_arch_of(uint32_t sm)
{
    for (size_t i = 0; i < CV_COUNT(ARCHS); i++)
        if (CV_AT(ARCHS, i).sm == sm)
            return &CV_AT(ARCHS, i);
    return NULL;
}

uint32_t cv_arch_machine(uint32_t number)
{
    switch (number) {
#define ALIAS(number, machine)                                                                               \
    case (number):                                                                                           \
        return machine;
#include "arch.def"
#undef ALIAS
    default: return number;
    }
}

uint32_t cv_arch_final_family(uint32_t sm)
{
    return FINAL_FAMILY(sm);
}

bool cv_arch_known(cuvet_target target)
{
    const cv_arch *arch = cv_arch_of(target.sm);

    if (!arch || !arch->is_target)
        return false;
    switch (target.suffix) {
    case 0: return true;
    case 'a': return arch->accel;
    case 'f': return arch->family_suffix;
    default: return false;
    }
}

uint32_t cv_arch_family(uint32_t sm)
{
    const cv_arch *arch = cv_arch_of(sm);

    return arch ? arch->family : sm;
}

static cuvet_reason in_family(uint32_t sm, cuvet_target target)
{
    if (cv_arch_family(sm) != cv_arch_family(target.sm))
        return CUVET_REASON_FAMILY;
    return sm > target.sm ? CUVET_REASON_NEWER : CUVET_REASON_NONE;
}

cuvet_reason cv_arch_sass(uint32_t sm, char suffix, cuvet_target target, cuvet_arch_policy policy)
{
    if (sm == 0)
        return CUVET_REASON_ARCH_ZERO;
    if (suffix != 'a')
        return in_family(sm, target);
    if (sm != target.sm)
        return CUVET_REASON_SUFFIX;
    return policy == CUVET_ARCH_EXACT && target.suffix != 'a' ? CUVET_REASON_POLICY : CUVET_REASON_NONE;
}

cuvet_reason cv_arch_ptx(uint32_t sm, char suffix, cuvet_target target)
{
    if (sm == 0)
        return CUVET_REASON_ARCH_ZERO;
    if (suffix == 'a')
        return sm == target.sm && target.suffix == 'a' ? CUVET_REASON_NONE : CUVET_REASON_SUFFIX;
    if (suffix == 'f')
        return in_family(sm, target);
    return sm > target.sm ? CUVET_REASON_NEWER : CUVET_REASON_NONE;
}

static const cuvet_target TARGETS[] = {
#define SCAN_NONE(number)
#define LINK_NONE(number) { number, 0 },
#define LINK_A(number)    { number, 0 }, { number, 'a' },
#define LINK_AF(number)   { number, 0 }, { number, 'a' }, { number, 'f' },
/* One row of spec/arch.def. */
#define ARCH(sm, family, use, suffixes, gen, shared, bit, oldest, traits) use##_##suffixes(sm)
#include "arch.def"
#undef ARCH
};

cuvet_status cuvet_target_get(size_t index, cuvet_target *out)
{
    if (!out)
        return CUVET_E_NULL;
    if (index >= CV_COUNT(TARGETS))
        return CUVET_END;
    *out = CV_AT(TARGETS, index);
    return CUVET_OK;
}

CV_BUF_BEGIN
cuvet_status cuvet_target_parse(const char *text, cuvet_target *out)
{
    static const char PREFIX[] = "sm_";
    cuvet_target target = { 0 };

    if (!text || !out)
        return CUVET_E_NULL;
    for (const char *prefix = PREFIX; *prefix; prefix++, text++)
        if (*text != *prefix)
            return CUVET_E_ARCH;
    for (; *text >= '0' && *text <= '9' && target.sm < 1000; text++)
        target.sm = target.sm * 10 + (uint32_t)(*text - '0');
    if (*text != 0 && text[1] == 0)
        target.suffix = *text++;
    if (*text != 0 || !cv_arch_known(target))
        return CUVET_E_ARCH;
    *out = target;
    return CUVET_OK;
}
CV_BUF_END

const char *cuvet_reason_text(cuvet_reason reason)
{
    static const char *const TEXTS[] = {
        [CUVET_REASON_NONE] = "fits",
        [CUVET_REASON_FAMILY] = "for another family",
        [CUVET_REASON_NEWER] = "for a newer architecture",
        [CUVET_REASON_SUFFIX] = "architecture-specific, for another target",
        [CUVET_REASON_POLICY] = "architecture-specific, and the policy is exact",
        [CUVET_REASON_ADDRESS] = "not marked 64-bit",
        [CUVET_REASON_REQUEST] = "not of the kind that was asked for",
        [CUVET_REASON_KIND] = "of an unknown kind",
        [CUVET_REASON_ARCH_ZERO] = "without an architecture",
    };

    return (size_t)reason < CV_COUNT(TEXTS) ? CV_AT(TEXTS, reason) : "?";
}
