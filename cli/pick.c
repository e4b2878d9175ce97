/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"

#include "yara/yara.h"

#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* "sm_90a", "compute_90", "lto_90", or "90a" for all kinds. */
static bool is_arch(const char *text)
{
    static const char *const PREFIX[] = { "sm_", "compute_", "lto_" };
    size_t digits;

    for (size_t i = 0; i < sizeof(PREFIX) / sizeof(PREFIX[0]); i++) {
        if (starts_with(text, PREFIX[i])) {
            text += strlen(PREFIX[i]);
            break;
        }
    }
    digits = strspn(text, "0123456789");
    text += digits;
    text += *text == 'a' || *text == 'f';
    return digits > 0 && digits < 6 && *text == '\0';
}

bool cli_pick_init(cli_pick *pick, const cli_args *args)
{
    *pick = (cli_pick){ .kind = args->value[CLI_O_KIND],
                        .arch = args->value[CLI_O_ARCH],
                        .member = args->value[CLI_O_MEMBER] };
    pick->active = pick->kind || pick->arch || pick->member;
    pick->by_number = pick->member && cli_number(pick->member, &pick->number);
    if (pick->arch && !is_arch(pick->arch)) {
        cli_suggestion suggestion = { .given = pick->arch };

        cli_complain(pick->arch, "no architecture; such as sm_90a, compute_90, lto_90, or 90a for all kinds");
        cli_suggest_target(&suggestion);
        cli_suggest_end(&suggestion, "");
        return false;
    }
    return true;
}

static bool kind_fits(const char *want, cuvet_kind kind)
{
    if (strcmp(want, "elf") == 0)
        return kind == CUVET_K_CUBIN || kind == CUVET_K_MERCURY;
    return strcmp(strcmp(want, "ltoir") == 0 ? "lto-ir" : want, cuvet_kind_name(kind)) == 0;
}

static bool arch_fits(const char *want, const cuvet_item *item)
{
    char arch[32];
    const char *number;

    cli_arch_text(item, arch, sizeof(arch));
    number = strchr(arch, '_');
    return strcmp(want, arch) == 0 || (number && strcmp(want, number + 1) == 0);
}

/* The path of the piece, or of something that it lies in. */
static bool path_fits(const char *want, const cuvet_item *item)
{
    char path[CLI_PATH_CAP];
    size_t len = strlen(want);

    cli_path(&item->where, path, sizeof(path));
    return strncmp(path, want, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool fits_all(const cli_pick *pick, const cuvet_item *item, uint64_t at)
{
    bool fits = true;

    if (pick->member)
        fits = pick->by_number ? at == pick->number : path_fits(pick->member, item);
    return fits && (!pick->kind || kind_fits(pick->kind, item->kind)) &&
           (!pick->arch || arch_fits(pick->arch, item));
}

bool cli_picked(cli_pick *pick, const cuvet_item *item, uint64_t at)
{
    bool fits = fits_all(pick, item, at);

    pick->matches += fits;
    return fits;
}

static void on_begin(void *user, const cli_session *session)
{
    cli_pick *pick = user;

    pick->at = pick->pieces = pick->findings = pick->above = pick->hits = 0;
    if (pick->inner->begin)
        pick->inner->begin(pick->user, session);
}

static void pass_diag(const cli_pick *pick, const cli_session *session, const cuvet_diag *diag)
{
    if (pick->inner->finding)
        pick->inner->finding(pick->user, session, diag);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    cli_pick *pick = user;

    if (pick->n_held == pick->cap_held) {
        size_t cap = pick->cap_held ? 2 * pick->cap_held : 64;
        cuvet_diag *more = reallocarray(pick->held, cap, sizeof(*more));

        if (!more) {
            pass_diag(pick, session, diag); /* rather too much than too little */
            return;
        }
        pick->held = more;
        pick->cap_held = cap;
    }
    pick->held[pick->n_held++] = *diag;
}

/* It comes before its piece, which on_member() counts with what was found in it. */
static void on_hit(void *user, const cli_session *session, const cli_hit *hit)
{
    cli_pick *pick = user;

    if (!fits_all(pick, hit->item, pick->at))
        return;
    pick->hits += hit->severity != CUVET_NOTE;
    if (pick->inner->hit)
        pick->inner->hit(pick->user, session, hit);
}

static void pass_held(cli_pick *pick, const cli_session *session)
{
    for (size_t i = 0; i < pick->n_held; i++)
        pass_diag(pick, session, &pick->held[i]);
    pick->n_held = 0;
}

static bool lies_in(const cuvet_path *inner, const cuvet_path *outer)
{
    for (uint32_t i = 0; i < outer->n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *left = &inner->step[i], *right = &outer->step[i];

        if (i >= inner->n || left->kind != right->kind || left->flags != right->flags ||
            left->index != right->index)
            return false;
    }
    return true;
}

/* Everything that was said about a piece comes before it. */
static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    cli_pick *pick = user;
    bool picked = cli_picked(pick, item, pick->at++);
    uint64_t told = pick->hits, all = (uint64_t)item->errors + item->warnings;

    for (size_t i = 0; i < pick->n_held; i++) {
        const cuvet_diag *diag = &pick->held[i];
        bool about = lies_in(&diag->where, &item->where);

        told += about && diag->severity != CUVET_NOTE;
        if (picked || !about)
            pass_diag(pick, session, diag);
    }
    pick->n_held = 0;
    pick->hits = 0;
    if (!picked) {
        pick->pieces++;
        pick->findings += all > told ? all : told;
        return;
    }
    pick->above += all > told ? all - told : 0;
    if (pick->inner->member)
        pick->inner->member(pick->user, session, item);
}

static void on_closing(void *user, const cli_session *session)
{
    pass_held(user, session);
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    cli_pick *pick = user;
    cli_result told = *result;

    pass_held(pick, session);
    told.filtered = true;
    told.left_out = pick->pieces;
    told.left_out_findings = pick->findings;
    told.above = pick->above;
    if (pick->inner->end)
        pick->inner->end(pick->user, session, &told);
}

void cli_pick_sink(cli_pick *pick, cli_session *session)
{
    static const cli_sink FILTER = { .begin = on_begin,
                                     .finding = on_finding,
                                     .hit = on_hit,
                                     .member = on_member,
                                     .closing = on_closing,
                                     .end = on_end };

    if (!pick->active)
        return;
    pick->inner = session->sink;
    pick->user = session->user;
    session->sink = &FILTER;
    session->user = pick;
}

void cli_pick_end(cli_pick *pick, bool ran)
{
    if (pick->active && ran && pick->matches == 0)
        cli_complain(NULL, "no piece of device code was selected");
    free(pick->held);
    pick->held = NULL;
    pick->n_held = pick->cap_held = 0;
}
