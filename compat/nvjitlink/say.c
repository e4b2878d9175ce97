/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics as lines of the logs: errors and warnings in the error log, notes in the info log. Names are
 * asked for when the call is over, because the linker answers nothing while it runs. */
#include "face.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_CAP 512u

/* In the words of the reference, for programs that look for them; anything else says its rule. */
static const struct {
    const char *id, *text;
} WORDS[] = {
    { "CV-LINK-001", "Multiple definition of" },         { "CV-LINK-002", "Size doesn't match for" },
    { "CV-LINK-003", "Memory space doesn't match for" }, { "CV-LINK-004", "Prototype doesn't match for" },
    { "CV-LINK-006", "Undefined reference to" },
};

const char *cv_jit_words(const char *rule)
{
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strcmp(WORDS[i].id, rule) == 0)
            return WORDS[i].text;
    }
    return NULL;
}

bool cv_jit_is_stack(const char *rule)
{
    return strcmp(rule, "CV-LINK-008") == 0;
}

void cv_jit_say_stack(cv_jit_link *link, const char *symbol, size_t len)
{
    cv_jit_print(&link->info, "warning : Stack size for entry function '");
    cv_jit_put(&link->info, symbol, len);
    cv_jit_print(&link->info, "' cannot be statically determined\n");
}

void cv_jit_on_diag(void *user, const cuvet_diag *diag)
{
    cv_jit_said *said = &((cv_jit_link *)user)->said;

    if (said->size == said->cap) {
        size_t cap = said->cap ? 2 * said->cap : 16;
        cuvet_diag *more = reallocarray(said->diag, cap, sizeof(*more));

        if (!more) {
            said->lost = true;
            return;
        }
        said->diag = more;
        said->cap = cap;
    }
    said->diag[said->size++] = *diag;
}

void cv_jit_drop(cv_jit_link *link)
{
    link->said.size = 0;
}

/* The which-th input that the path names. */
static const char *input_of(cv_jit_link *link, const cuvet_diag *diag, uint32_t which)
{
    const char *name;

    for (uint32_t i = 0; i < diag->where.n && i < CUVET_PATH_MAX; i++) {
        if (diag->where.step[i].kind != CUVET_P_MEMBER)
            continue;
        if (which == 0)
            return cuvet_linker_get_name(link->ctx, link->linker, diag->where.step[i].index, &name) ==
                           CUVET_OK
                       ? name
                       : NULL;
        which--;
    }
    return NULL;
}

static void put_symbol(cv_jit_link *link, cv_jit_log *log, const cuvet_diag *diag)
{
    const char *symbol;
    size_t len;

    if (cuvet_linker_get_symbol(link->ctx, link->linker, diag, 0, &symbol, &len) != CUVET_OK)
        return;
    cv_jit_print(log, " '");
    cv_jit_put(log, symbol, len);
    cv_jit_print(log, "'");
}

static void put_place(cv_jit_link *link, cv_jit_log *log, const cuvet_diag *diag, const char *file)
{
    const char *first = file ? file : input_of(link, diag, 0);
    const char *second = file ? NULL : input_of(link, diag, 1);

    if (first) {
        cv_jit_print(log, " in '");
        cv_jit_put_name(log, first);
        cv_jit_print(log, "'");
    }
    if (second) {
        cv_jit_print(log, ", first in '");
        cv_jit_put_name(log, second);
        cv_jit_print(log, "'");
    }
}

static void say_one(cv_jit_link *link, const cuvet_diag *diag, const char *file)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    cv_jit_log *log = diag->severity == CUVET_NOTE ? &link->info : &link->error;
    const char *words, *symbol = NULL;
    char text[TEXT_CAP];
    size_t len = 0;

    if (!rule)
        return;
    if (cv_jit_is_stack(rule->id) &&
        cuvet_linker_get_symbol(link->ctx, link->linker, diag, 0, &symbol, &len) == CUVET_OK) {
        cv_jit_say_stack(link, symbol, len);
        return;
    }
    words = cv_jit_words(rule->id);
    cv_jit_print(log, "%-7s : %s", cuvet_severity_name(diag->severity), words ? words : rule->title);
    put_symbol(link, log, diag);
    put_place(link, log, diag, file);
    if (!words) {
        (void)cuvet_diag_message(diag, text, sizeof(text)); /* a cut message is still a message */
        cv_jit_print(log, ": ");
        cv_jit_put_name(log, text);
        if (file)
            cv_jit_print(log, " (at 0x%llx)", (unsigned long long)diag->file_off);
    }
    cv_jit_print(log, " [%s]\n", rule->id);
}

void cv_jit_say(cv_jit_link *link, const char *file)
{
    for (size_t i = 0; i < link->said.size; i++) {
        if (link->said.diag[i].severity != CUVET_NOTE || link->settings.verbose)
            say_one(link, &link->said.diag[i], file);
    }
    if (link->said.lost)
        cv_jit_print(&link->error, "error   : no memory for more of what is wrong\n");
    link->said.size = 0;
    link->said.lost = false;
}
