/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text and verdict of diagnostics. */
#include <cuvet/diag.h>

#include "base/rules.h"
#include "base/text.h"

static bool take(const char **out, const char *word)
{
    const char *end = *out;

    while (*word && *end == *word) {
        end++;
        word++;
    }
    if (*word)
        return false;
    *out = end;
    return true;
}

static void put_arch(cv_text *text, const char *prefix, uint64_t packed)
{
    char suffix = (char)(packed >> 32 & 0x7F);

    cv_text_str(text, prefix);
    cv_text_dec(text, packed & UINT32_MAX);
    if (suffix == 'a' || suffix == 'f')
        cv_text_char(text, suffix);
}

/* Eight letters of a file; what follows them is not said. */
static void put_letters(cv_text *text, uint64_t letters)
{
    for (; letters; letters >>= 8) {
        char letter = (char)(letters & 0x7F);

        cv_text_char(text, (letters & 0x80) || letter < ' ' || letter == 0x7F ? '?' : letter);
    }
}

size_t cuvet_diag_message(const cuvet_diag *diag, char *buf, size_t cap)
{
    cv_text text = { buf, buf ? cap : 0, 0 };
    const cuvet_rule_info *info = diag ? cuvet_rule_get(diag->rule) : NULL;
    const char *at;

    if (!info) {
        cv_text_char(&text, '?');
        cv_text_end(&text);
        return text.len;
    }
    for (at = info->message; *at;) {
        if (take(&at, "{got}"))
            cv_text_dec(&text, diag->got);
        else if (take(&at, "{want}"))
            cv_text_dec(&text, diag->want);
        else if (take(&at, "{got:x}"))
            cv_text_hex(&text, diag->got);
        else if (take(&at, "{want:x}"))
            cv_text_hex(&text, diag->want);
        else if (take(&at, "{got:sm}"))
            put_arch(&text, "sm_", diag->got);
        else if (take(&at, "{want:sm}"))
            put_arch(&text, "sm_", diag->want);
        else if (take(&at, "{want:producer}"))
            cv_text_str(&text, cv_profile_text((cv_profile)diag->want));
        else if (take(&at, "{got:place}"))
            cv_text_str(&text, cv_place_text(diag->got));
        else if (take(&at, "{got:letters}"))
            put_letters(&text, diag->got);
        else if (take(&at, "{want:letters}"))
            put_letters(&text, diag->want);
        else if (take(&at, "{got:compute}"))
            put_arch(&text, "compute_", diag->got);
        else
            cv_text_char(&text, *at++);
    }
    cv_text_end(&text);
    return text.len;
}

const char *cuvet_step_kind_name(cuvet_step_kind kind)
{
    static const char *const NAMES[] = {
        [CUVET_P_NONE] = "?",          [CUVET_P_MEMBER] = "member",   [CUVET_P_FATBIN] = "fatbin",
        [CUVET_P_ENTRY] = "entry",     [CUVET_P_ELF] = "elf",         [CUVET_P_SECTION] = "section",
        [CUVET_P_SYMBOL] = "symbol",   [CUVET_P_RELOC] = "reloc",     [CUVET_P_RECORD] = "record",
        [CUVET_P_NOTE] = "note",       [CUVET_P_SEGMENT] = "segment", [CUVET_P_WRAPPER] = "wrapper",
        [CUVET_P_PTX] = "ptx",         [CUVET_P_HOST] = "host",       [CUVET_P_LTOIR] = "ltoir",
        [CUVET_P_BITCODE] = "bitcode", [CUVET_P_OFFLOAD] = "offload",
    };

    return (size_t)kind < CV_COUNT(NAMES) ? NAMES[kind] : "?";
}

size_t cuvet_path_text(const cuvet_path *path, char *buf, size_t cap)
{
    cv_text text = { buf, buf ? cap : 0, 0 };
    uint32_t count = path ? path->n : 0;

    for (uint32_t i = 0; i < count && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *step = &path->step[i];

        if (i)
            cv_text_char(&text, '/');
        cv_text_str(&text, cuvet_step_kind_name((cuvet_step_kind)step->kind));
        if ((step->flags & CUVET_STEP_INDEX) != 0) {
            cv_text_char(&text, '[');
            cv_text_dec(&text, step->index);
            cv_text_char(&text, ']');
        }
    }
    cv_text_end(&text);
    return text.len;
}

cuvet_verdict cuvet_diag_verdict(const cuvet_diag *diag)
{
    const cuvet_rule_info *info = diag ? cuvet_rule_get(diag->rule) : NULL;

    if (!info)
        return CUVET_V_ERROR;
    switch (info->cls) {
    case CUVET_C_TARGET:
        if (diag->severity == CUVET_NOTE)
            return CUVET_V_CLEAN;
        return diag->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_UNSUPPORTED;
    case CUVET_C_UNSUPPORTED: return CUVET_V_UNSUPPORTED;
    case CUVET_C_LIMIT: return CUVET_V_LIMIT;
    case CUVET_C_IO:
    case CUVET_C_INTERNAL: return CUVET_V_ERROR;
    case CUVET_C_PROFILE:
    case CUVET_C_FORM: break;
    }
    if (diag->severity == CUVET_NOTE)
        return CUVET_V_CLEAN;
    return diag->severity == CUVET_WARNING ? CUVET_V_SUSPICIOUS : CUVET_V_MALFORMED;
}

const char *cuvet_verdict_name(cuvet_verdict verdict)
{
    static const char *const NAMES[] = {
        "clean", "unsupported", "suspicious", "malformed", "limit", "error"
    };

    return (size_t)verdict < CV_COUNT(NAMES) ? NAMES[verdict] : "?";
}

const char *cuvet_severity_name(cuvet_severity severity)
{
    static const char *const NAMES[] = { "note", "warning", "error" };

    return (size_t)severity < CV_COUNT(NAMES) ? NAMES[severity] : "?";
}

const char *cuvet_class_name(cuvet_class cls)
{
    static const char *const NAMES[] = {
        "form", "unsupported", "limit", "io", "internal", "target", "profile"
    };

    return (size_t)cls < CV_COUNT(NAMES) ? NAMES[cls] : "?";
}
