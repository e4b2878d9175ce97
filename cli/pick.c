/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"

#include <stdlib.h>
#include <string.h>

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* "sm_90a", "compute_90", "lto_90", or "90a" for all kinds. */
static bool is_arch(const char *text)
{
    static const char *const PREFIX[] = { "sm_", "compute_", "lto_" };
    size_t digits;

    for (size_t i = 0; i < sizeof(PREFIX) / sizeof(PREFIX[0]); i++) {
        if (starts(text, PREFIX[i])) {
            text += strlen(PREFIX[i]);
            break;
        }
    }
    digits = strspn(text, "0123456789");
    text += digits;
    text += *text == 'a' || *text == 'f';
    return digits > 0 && digits < 6 && *text == '\0';
}

bool cli_pick_init(cli_pick *p, const cli_args *a)
{
    *p = (cli_pick){ .kind = a->value[CLI_O_KIND],
                     .arch = a->value[CLI_O_ARCH],
                     .member = a->value[CLI_O_MEMBER] };
    p->active = p->kind || p->arch || p->member;
    p->by_number = p->member && cli_number(p->member, &p->number);
    if (p->arch && !is_arch(p->arch)) {
        cli_suggestion s = { .given = p->arch };

        cli_complain(p->arch, "no architecture; such as sm_90a, compute_90, lto_90, or 90a for all kinds");
        cli_suggest_target(&s);
        cli_suggest_end(&s, "");
        return false;
    }
    return true;
}

static bool kind_fits(const char *want, cuvet_kind k)
{
    if (strcmp(want, "elf") == 0)
        return k == CUVET_K_CUBIN || k == CUVET_K_MERCURY;
    return strcmp(strcmp(want, "ltoir") == 0 ? "lto-ir" : want, cuvet_kind_name(k)) == 0;
}

static bool arch_fits(const char *want, const cuvet_item *it)
{
    char arch[32];
    const char *number;

    cli_arch_text(it, arch, sizeof(arch));
    number = strchr(arch, '_');
    return strcmp(want, arch) == 0 || (number && strcmp(want, number + 1) == 0);
}

/* The path of the piece, or of something that it lies in. */
static bool path_fits(const char *want, const cuvet_item *it)
{
    char path[CLI_PATH_CAP];
    size_t n = strlen(want);

    cli_path(&it->where, path, sizeof(path));
    return strncmp(path, want, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool cli_picked(cli_pick *p, const cuvet_item *it, uint64_t at)
{
    bool fits = true;

    if (p->member)
        fits = p->by_number ? at == p->number : path_fits(p->member, it);
    fits = fits && (!p->kind || kind_fits(p->kind, it->kind)) && (!p->arch || arch_fits(p->arch, it));
    p->matches += fits;
    return fits;
}

static void on_begin(void *user, const cli_session *s)
{
    cli_pick *p = user;

    p->at = p->pieces = p->findings = p->above = 0;
    if (p->inner->begin)
        p->inner->begin(p->user, s);
}

static void pass(const cli_pick *p, const cli_session *s, const cuvet_diag *d)
{
    if (p->inner->finding)
        p->inner->finding(p->user, s, d);
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    cli_pick *p = user;

    if (p->n_held == p->cap_held) {
        size_t cap = p->cap_held ? 2 * p->cap_held : 64;
        cuvet_diag *more = reallocarray(p->held, cap, sizeof(*more));

        if (!more) {
            pass(p, s, d); /* rather too much than too little */
            return;
        }
        p->held = more;
        p->cap_held = cap;
    }
    p->held[p->n_held++] = *d;
}

static void pass_held(cli_pick *p, const cli_session *s)
{
    for (size_t i = 0; i < p->n_held; i++)
        pass(p, s, &p->held[i]);
    p->n_held = 0;
}

static bool lies_in(const cuvet_path *inner, const cuvet_path *outer)
{
    for (uint32_t i = 0; i < outer->n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *a = &inner->step[i], *b = &outer->step[i];

        if (i >= inner->n || a->kind != b->kind || a->has_index != b->has_index || a->index != b->index)
            return false;
    }
    return true;
}

/* Everything that was said about a piece comes before it. */
static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    cli_pick *p = user;
    bool picked = cli_picked(p, it, p->at++);
    uint64_t told = 0, all = (uint64_t)it->errors + it->warnings;

    for (size_t i = 0; i < p->n_held; i++) {
        const cuvet_diag *d = &p->held[i];
        bool about = lies_in(&d->where, &it->where);

        told += about && d->severity != CUVET_NOTE;
        if (picked || !about)
            pass(p, s, d);
    }
    p->n_held = 0;
    if (!picked) {
        p->pieces++;
        p->findings += all > told ? all : told;
        return;
    }
    p->above += all > told ? all - told : 0;
    if (p->inner->member)
        p->inner->member(p->user, s, it);
}

static void on_closing(void *user, const cli_session *s)
{
    pass_held(user, s);
}

static void on_end(void *user, const cli_session *s, const cli_result *r)
{
    cli_pick *p = user;
    cli_result told = *r;

    pass_held(p, s);
    told.filtered = true;
    told.left_out = p->pieces;
    told.left_out_findings = p->findings;
    told.above = p->above;
    if (p->inner->end)
        p->inner->end(p->user, s, &told);
}

void cli_pick_sink(cli_pick *p, cli_session *s)
{
    static const cli_sink FILTER = {
        .begin = on_begin, .finding = on_finding, .member = on_member, .closing = on_closing, .end = on_end
    };

    if (!p->active)
        return;
    p->inner = s->sink;
    p->user = s->user;
    s->sink = &FILTER;
    s->user = p;
}

void cli_pick_end(cli_pick *p, bool ran)
{
    if (p->active && ran && p->matches == 0)
        cli_complain(NULL, "no piece of device code was selected");
    free(p->held);
    p->held = NULL;
    p->n_held = p->cap_held = 0;
}
