/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text and verdict of diagnostics. */
#include <cuvet/diag.h>

#include "base/rules.h"
#include "base/text.h"

static bool take(const char **p, const char *word)
{
    const char *q = *p;

    while (*word && *q == *word) {
        q++;
        word++;
    }
    if (*word)
        return false;
    *p = q;
    return true;
}

static void put_arch(cv_text *t, const char *prefix, uint64_t packed)
{
    char suffix = (char)(packed >> 32 & 0x7F);

    cv_text_str(t, prefix);
    cv_text_dec(t, packed & UINT32_MAX);
    if (suffix == 'a' || suffix == 'f')
        cv_text_char(t, suffix);
}

size_t cuvet_diag_message(const cuvet_diag *d, char *buf, size_t cap)
{
    cv_text t = { buf, buf ? cap : 0, 0 };
    const cuvet_rule_info *info = d ? cuvet_rule_get(d->rule) : NULL;
    const char *p;

    if (!info) {
        cv_text_char(&t, '?');
        cv_text_end(&t);
        return t.len;
    }
    for (p = info->message; *p;) {
        if (take(&p, "{got}"))
            cv_text_dec(&t, d->got);
        else if (take(&p, "{want}"))
            cv_text_dec(&t, d->want);
        else if (take(&p, "{got:x}"))
            cv_text_hex(&t, d->got);
        else if (take(&p, "{want:x}"))
            cv_text_hex(&t, d->want);
        else if (take(&p, "{got:sm}"))
            put_arch(&t, "sm_", d->got);
        else if (take(&p, "{want:sm}"))
            put_arch(&t, "sm_", d->want);
        else if (take(&p, "{want:producer}"))
            cv_text_str(&t, cv_profile_text((cv_profile)d->want));
        else if (take(&p, "{got:place}"))
            cv_text_str(&t, cv_place_text(d->got));
        else if (take(&p, "{got:compute}"))
            put_arch(&t, "compute_", d->got);
        else
            cv_text_char(&t, *p++);
    }
    cv_text_end(&t);
    return t.len;
}

static const char *const STEPS[] = {
    [CUVET_P_NONE] = "?",          [CUVET_P_MEMBER] = "member",   [CUVET_P_FATBIN] = "fatbin",
    [CUVET_P_ENTRY] = "entry",     [CUVET_P_ELF] = "elf",         [CUVET_P_SECTION] = "section",
    [CUVET_P_SYMBOL] = "symbol",   [CUVET_P_RELOC] = "reloc",     [CUVET_P_RECORD] = "record",
    [CUVET_P_NOTE] = "note",       [CUVET_P_SEGMENT] = "segment", [CUVET_P_WRAPPER] = "wrapper",
    [CUVET_P_PTX] = "ptx",         [CUVET_P_HOST] = "host",       [CUVET_P_LTOIR] = "ltoir",
    [CUVET_P_BITCODE] = "bitcode",
};

size_t cuvet_path_text(const cuvet_path *p, char *buf, size_t cap)
{
    cv_text t = { buf, buf ? cap : 0, 0 };
    uint32_t n = p ? p->n : 0;

    for (uint32_t i = 0; i < n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *s = &p->step[i];

        if (i)
            cv_text_char(&t, '/');
        cv_text_str(&t, CV_AT(STEPS, s->kind));
        if (s->has_index) {
            cv_text_char(&t, '[');
            cv_text_dec(&t, s->index);
            cv_text_char(&t, ']');
        }
    }
    cv_text_end(&t);
    return t.len;
}

cuvet_verdict cuvet_diag_verdict(const cuvet_diag *d)
{
    const cuvet_rule_info *info = d ? cuvet_rule_get(d->rule) : NULL;

    if (!info)
        return CUVET_V_ERROR;
    switch (info->cls) {
    case CUVET_C_TARGET:
        if (d->severity == CUVET_NOTE)
            return CUVET_V_CLEAN;
        return d->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_UNSUPPORTED;
    case CUVET_C_UNSUPPORTED: return CUVET_V_UNSUPPORTED;
    case CUVET_C_LIMIT: return CUVET_V_LIMIT;
    case CUVET_C_IO:
    case CUVET_C_INTERNAL: return CUVET_V_ERROR;
    case CUVET_C_PROFILE:
    case CUVET_C_FORM: break;
    }
    if (d->severity == CUVET_NOTE)
        return CUVET_V_CLEAN;
    return d->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_MALFORMED;
}

const char *cuvet_verdict_name(cuvet_verdict v)
{
    static const char *const NAMES[] = {
        "clean", "unsupported", "suspicious", "malformed", "limit", "error"
    };

    return (size_t)v < CV_COUNT(NAMES) ? NAMES[v] : "?";
}

const char *cuvet_severity_name(cuvet_severity s)
{
    static const char *const NAMES[] = { "note", "warning", "error" };

    return (size_t)s < CV_COUNT(NAMES) ? NAMES[s] : "?";
}
