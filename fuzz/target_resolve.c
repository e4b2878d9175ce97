/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to the stage "resolve": which definition of a name wins. Compared with a search through all
 * symbols, and with the inputs in the other order. Parameters: see linking.h. */
#include "linking.h"

/* More symbols than this are not searched through: it takes the square of their number. */
#define MANY 300

static bool is_ours(cv_rule rule)
{
    return rule == CV_R_LINK_MULTIPLE || rule == CV_R_LINK_SIZE || rule == CV_R_LINK_SPACE ||
           rule == CV_R_LINK_PROTOTYPE || rule == CV_R_LINK_ENTRY || rule == CV_R_LINK_MANAGED;
}

/* What admission asks of an input alone, and what is said of all inputs. */
static bool is_admission(cv_rule rule)
{
    return rule == CV_R_LINK_CODE || rule == CV_R_LINK_TWICE || rule == CV_R_LINK_PLACE ||
           rule == CV_R_LINK_EXTENT || rule == CV_R_LINK_ALIGN || rule == CV_R_LINK_SECTION ||
           rule == CV_R_SYM_RANGE || rule == CV_R_TLV_NO_REGCOUNT || rule == CV_R_LINK_CAPSULE ||
           rule == CV_R_LINK_OTHER_DEBUG || rule == CV_R_LINK_OF_LINKERS || rule == CV_R_LINK_SYSTEM_NAME ||
           rule == CV_R_LINK_SYMBOL_TYPE || rule == CV_R_LINK_NAMELESS || rule == CV_R_LINK_PRIVATE;
}

typedef struct listener {
    fz_state *fuzz;
    const fz_link *linking;
    uint64_t refused; /* diagnostics that name a symbol */
} listener;

static bool names_other(const cv_link *link, const cv_isym *sym, const cuvet_path *path)
{
    const cv_isym *isym;

    if (path->step[3].kind != CUVET_P_MEMBER || path->step[4].kind != CUVET_P_SYMBOL ||
        path->step[3].index >= link->inputs->obj.count ||
        path->step[4].index >= cv_l_obj(link, path->step[3].index)->n_sym)
        return false;
    isym = cv_l_isym(link, cv_l_obj(link, path->step[3].index)->first_sym + path->step[4].index);
    return isym != sym && isym->name == sym->name;
}

/* What is wrong is said with its file and its symbol; of two definitions, with both. */
static void on_diag(void *user, const cuvet_diag *diag)
{
    listener *who = user;
    const cv_link *link = &who->linking->link;
    const cv_isym *sym;

    fz_note(who->fuzz, fz_diag(diag, 0, who->fuzz->in->len));
    if (cuvet_diag_verdict(diag) == CUVET_V_LIMIT)
        return;
    if (is_admission((cv_rule)diag->rule)) {
        FZ_CHECK(diag->severity == CUVET_NOTE || diag->where.step[0].kind == CUVET_P_MEMBER,
                 "an input is named");
        who->refused += diag->severity != CUVET_NOTE;
        return;
    }
    FZ_CHECK(is_ours((cv_rule)diag->rule), "a rule of this stage");
    FZ_CHECK((diag->where.n == 3 || diag->where.n == 5) && diag->where.step[0].kind == CUVET_P_MEMBER &&
                 diag->where.step[2].kind == CUVET_P_SYMBOL,
             "input and symbol are named");
    FZ_CHECK(diag->where.step[0].index < link->inputs->obj.count, "an input");
    FZ_CHECK(diag->where.step[2].index < cv_l_obj(link, diag->where.step[0].index)->n_sym, "a symbol of it");
    sym = cv_l_isym(link, cv_l_obj(link, diag->where.step[0].index)->first_sym + diag->where.step[2].index);
    FZ_CHECK(diag->rule == CV_R_LINK_SPACE ||
                 (cv_l_bind(sym) != CV_STB_LOCAL && cv_l_text(link, sym->name).len),
             "which others can see");
    FZ_CHECK(diag->where.n == 3 || names_other(link, sym, &diag->where), "and another of that name");
    who->refused++;
}

static bool takes_part(const cv_link *link, const cv_isym *sym)
{
    return sym->index && cv_l_bind(sym) != CV_STB_LOCAL && cv_l_type(sym) != CV_STT_SECTION &&
           cv_l_text(link, sym->name).len;
}

static bool same_name(const cv_link *link, const cv_isym *left, const cv_isym *right)
{
    return cv_span_eq(cv_l_text(link, left->name), cv_l_text(link, right->name));
}

/* 3 strong, 2 weak, 1 common, 0 no definition. */
static int strength(const cv_isym *sym)
{
    return !sym->defined ? 0 : sym->common ? 1 : cv_l_bind(sym) == CV_STB_GLOBAL ? 3 : 2;
}

typedef struct resolve_group {
    uint64_t count, strong; /* symbols of the name, strong definitions */
    cv_id best; /* first of the strongest definitions; of weak functions that with the fewest registers */
    bool odd, twice; /* reserved, or not all of one type; more than one in an object */
} resolve_group;

static uint32_t made_for(const cv_link *link, const cv_isym *sym)
{
    return cv_l_obj(link, sym->obj)->cubin.virtual_sm;
}

/* All symbols with the name of symbol 'first'. */
static resolve_group gather(const cv_link *link, cv_id first)
{
    const cv_isym *function = cv_l_isym(link, first);
    cv_span name = cv_l_text(link, function->name);
    cv_id first_weak = CV_NONE;
    resolve_group group = { .best = CV_NONE,
                            .odd = cv_span_starts(name, "__U") || cv_span_starts(name, ".nv.res") };

    for (cv_id i = first; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i),
                      *isym = group.best == CV_NONE ? NULL : cv_l_isym(link, group.best);

        if (!takes_part(link, sym) || !same_name(link, sym, function))
            continue;
        group.twice = group.twice || (i != first && sym->obj == function->obj);
        group.count++;
        group.strong += strength(sym) == 3;
        group.odd = group.odd || cv_l_type(sym) != cv_l_type(function);
        if (!isym || strength(sym) > strength(isym) ||
            (strength(sym) == 2 && strength(isym) == 2 && cv_l_type(isym) == CV_STT_FUNC &&
             (sym->regs < isym->regs || (sym->regs == isym->regs &&
                                         made_for(link, sym) > made_for(link, cv_l_isym(link, first_weak))))))
            group.best = i;
        if (first_weak == CV_NONE && strength(sym) == 2)
            first_weak = i;
    }
    if (group.best != CV_NONE && strength(cv_l_isym(link, group.best)) == 0)
        group.best = CV_NONE;
    return group;
}

static bool is_first(const cv_link *link, cv_id id)
{
    if (!takes_part(link, cv_l_isym(link, id)))
        return false;
    for (cv_id i = 0; i < id; i++)
        if (takes_part(link, cv_l_isym(link, i)) && same_name(link, cv_l_isym(link, i), cv_l_isym(link, id)))
            return false;
    return true;
}

static void check_winners(const cv_link *link, cuvet_status status, bool *plain)
{
    *plain = true;
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        resolve_group group;

        if (!is_first(link, i))
            continue;
        group = gather(link, i);
        *plain = *plain && group.count <= 2 && !group.odd && !group.twice;
        FZ_CHECK(group.strong < 2 || status != CUVET_OK, "two strong definitions are refused");
        if (status != CUVET_OK)
            continue;
        FZ_CHECK(cv_l_entry(link, cv_l_isym(link, i)->name)->first == i, "the first of a name");
        FZ_CHECK(cv_l_entry(link, cv_l_isym(link, i)->name)->win == group.best, "the best definition wins");
    }
}

/* Number of a name in another link; CV_NONE: it has none. */
static cv_id name_in(const cv_link *link, cv_span text)
{
    for (cv_id count = 0; count < link->resolution->entries.count; count++)
        if (cv_span_eq(cv_l_text(link, count), text))
            return count;
    return CV_NONE;
}

/* The order decides between equals only. */
static void check_turned(const fz_link *left, const fz_link *right)
{
    for (cv_id count = 0; count < left->link.resolution->entries.count; count++) {
        const cv_resolution_entry *entry = cv_l_entry(&left->link, count), *other_entry;
        const cv_isym *sym, *target;
        cv_id member;

        if (entry->first == CV_NONE)
            continue;
        member = name_in(&right->link, cv_l_text(&left->link, count));
        FZ_CHECK(member != CV_NONE, "the same names");
        other_entry = cv_l_entry(&right->link, member);
        FZ_CHECK((entry->win == CV_NONE) == (other_entry->win == CV_NONE),
                 "defined in both orders or in none");
        if (entry->win == CV_NONE)
            continue;
        sym = cv_l_isym(&left->link, entry->win);
        target = cv_l_isym(&right->link, other_entry->win);
        FZ_CHECK(strength(sym) == strength(target), "as strong");
        if (strength(sym) == 3)
            FZ_CHECK(left->from[sym->obj] == right->from[target->obj] && sym->index == target->index,
                     "the only strong one");
        if (strength(sym) == 2 && cv_l_type(sym) == CV_STT_FUNC && cv_l_type(target) == CV_STT_FUNC)
            FZ_CHECK(sym->regs == target->regs, "with as few registers");
    }
}

/* With at most two symbols of a name, one in each of two inputs, it is said of the other one what is wrong.
 */
static void check_said(const uint32_t *left, const uint32_t *right)
{
    for (size_t i = 0; i < CV_N_RULES; i++)
        FZ_CHECK(!is_ours((cv_rule)i) || left[i] == right[i], "the same is wrong in both orders");
}

static void turn(fz_state *fuzz, const fz_link *linking, cuvet_status status, bool plain)
{
    uint32_t seen[CV_N_RULES];
    uint64_t hash = fuzz->hash;
    cuvet_status result;
    fz_link other_linking;

    for (size_t i = 0; i < CV_N_RULES; i++)
        seen[i] = fuzz->ctx.seen[i];
    fuzz->ctx.emit = NULL;
    fz_link_open(&other_linking, fuzz, true, 0x5EED);
    result = fz_link_run(&other_linking, "resolve");
    if (status != CUVET_E_LIMIT && result != CUVET_E_LIMIT &&
        other_linking.link.inputs->obj.count == linking->link.inputs->obj.count) {
        check_winners(&other_linking.link, result, &plain);
        FZ_CHECK(!plain || status == result, "linked in both orders or in none");
        if (plain && other_linking.link.inputs->obj.count <= 2)
            check_said(seen, fuzz->ctx.seen);
        if (status == CUVET_OK && result == CUVET_OK)
            check_turned(linking, &other_linking);
    }
    fz_link_close(&other_linking);
    fuzz->hash = hash;
}

static void run(fz_state *fuzz)
{
    listener who = { .fuzz = fuzz };
    bool plain = false;
    cuvet_status status;
    fz_link linking;

    fz_link_open(&linking, fuzz, false, fuzz->pass + 1);
    who.linking = &linking;
    fuzz->ctx.emit = on_diag;
    fuzz->ctx.emit_user = &who;
    status = fz_link_run(&linking, "resolve");
    fz_note(fuzz, (uint64_t)status);
    FZ_CHECK(status != CUVET_E_REFUSED || who.refused || fuzz->ctx.lim.diagnostics < 4,
             "a refusal names a symbol");
    if (linking.link.inputs->isym.count <= MANY && status != CUVET_E_LIMIT) {
        check_winners(&linking.link, status, &plain);
        if (fuzz->pass == 0 && linking.link.inputs->obj.count > 1)
            turn(fuzz, &linking, status, plain);
    }
    for (cv_id count = 0; count < linking.link.resolution->entries.count; count++)
        fz_note(fuzz, cv_l_entry(&linking.link, count)->win);
    fuzz->ctx.verdict = CUVET_V_CLEAN;
    fz_link_close(&linking);
}

CV_FUZZ_TARGET(resolve)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR
