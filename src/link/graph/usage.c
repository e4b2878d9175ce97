/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage usage: registers, stack and other traits of what a kernel reaches. The call graph is condensed to
 * its components once, in linear time; a walk over paths would be exponential. Nodes are the functions, then
 * the prototypes of indirect calls. */
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "link/graph/graph.h"
#include "link/graph/walk.h"

/* What is known of a node when its component is done. */
typedef struct usage_node {
    uint32_t index, low; /* Tarjan's numbers; index 0: not met */
    uint32_t comp;
    cv_id edge;   /* where the walk over its edges stands */
    uint8_t list; /* 0: calls, 1: indirect, 2: done */
    bool on_stack, started;
} usage_node;

typedef struct usage_comp {
    uint32_t regs;
    cv_traits traits;
    uint64_t stack, sync; /* sync: of the stack of branches, as the code of old machines has it */
    bool cyclic;
} usage_comp;

CV_VEC(nodes, usage_node);
CV_VEC(comps, usage_comp);

typedef struct usage_walk {
    const cv_view_usage *view;
    nodes node;
    comps comp;
    cv_u32s path, stack; /* of the walk, of Tarjan */
    cv_walk_below below;
    uint32_t next;
} usage_walk;

static uint64_t n_fns(const usage_walk *walk)
{
    return walk->view->functions->fn.count;
}

/* Next successor of a node; CV_NONE: no more. */
static cv_id next_successor(usage_walk *walk, cv_id id)
{
    usage_node *node = nodes_at(&walk->node, id);
    const cv_view_usage *view = walk->view;
    cv_id to;

    if (!node->started) {
        node->started = true;
        node->list = 0;
        node->edge = id < n_fns(walk) ? cv_l_fn_calls(view, id)->calls
                                      : *cv_u32s_get(&view->calls->takers, id - n_fns(walk));
    }
    if (node->edge == CV_NONE && node->list == 0 && id < n_fns(walk)) {
        node->list = 1;
        node->edge = cv_l_fn_calls(view, id)->ind;
    }
    if (node->edge == CV_NONE)
        return CV_NONE;
    to = cv_edges_get(&view->calls->edge, node->edge)->to;
    node->edge = cv_edges_get(&view->calls->edge, node->edge)->next;
    return node->list == 1 ? (cv_id)(n_fns(walk) + *cv_u32s_get(&view->calls->node, to)) : to;
}

static bool enter_node(usage_walk *walk, cv_id id)
{
    usage_node *node = nodes_at(&walk->node, id);

    node->index = node->low = ++walk->next;
    node->on_stack = true;
    return cv_u32s_push(&walk->view->ctx->mem, &walk->path, id) &&
           cv_u32s_push(&walk->view->ctx->mem, &walk->stack, id);
}

/* Largest values below a component, over the edges that leave it; all of those are done. */
static void sum_up(usage_walk *walk, cv_id id, usage_comp *component)
{
    usage_node *node = nodes_at(&walk->node, id);
    uint64_t below = 0, frame = 0, sync = 0, own_sync = 0;
    cv_id to;

    node->started = false;
    while ((to = next_successor(walk, id)) != CV_NONE) {
        const usage_node *member = nodes_at(&walk->node, to);
        const usage_comp *lower;

        if (member->comp == node->comp)
            continue;
        lower = comps_get(&walk->comp, member->comp);
        component->regs = component->regs > lower->regs ? component->regs : lower->regs;
        cv_traits_merge(&component->traits, &lower->traits);
        component->cyclic = component->cyclic || lower->cyclic;
        below = cv_max(below, lower->stack);
        sync = cv_max(sync, lower->sync);
    }
    if (id < n_fns(walk)) {
        const cv_fn_usage *usage = cv_l_fn_usage(walk->view, id);

        frame = usage->frame;
        component->regs = component->regs > usage->regs ? component->regs : usage->regs;
        cv_traits_merge(&component->traits, &usage->own);
        own_sync = cv_trait(&usage->own, CV_H_CRS_STACK_SIZE);
    }
    component->stack = cv_max(component->stack, cv_sat_add(below, frame));
    component->sync = cv_max(component->sync, cv_sat_add(sync, own_sync));
}

static bool calls_itself(usage_walk *walk, cv_id id)
{
    cv_id to;

    nodes_at(&walk->node, id)->started = false;
    while ((to = next_successor(walk, id)) != CV_NONE)
        if (to == id)
            return true;
    return false;
}

/* The nodes on Tarjan's stack down to id are one component. */
static bool close_component(usage_walk *walk, cv_id id)
{
    uint32_t number = (uint32_t)walk->comp.count;
    uint64_t first = walk->stack.count;
    usage_comp component = { 0 };
    cv_id member;

    do {
        member = *cv_u32s_at(&walk->stack, --first);
        nodes_at(&walk->node, member)->on_stack = false;
        nodes_at(&walk->node, member)->comp = number;
    } while (member != id);
    component.cyclic = walk->stack.count - first > 1 || calls_itself(walk, id);
    for (uint64_t i = first; i < walk->stack.count; i++)
        sum_up(walk, *cv_u32s_at(&walk->stack, i), &component);
    walk->stack.count = first;
    return comps_push(&walk->view->ctx->mem, &walk->comp, component);
}

static bool leave_node(usage_walk *walk, cv_id id)
{
    usage_node *node = nodes_at(&walk->node, id), *up;

    if (node->low == node->index && !close_component(walk, id))
        return false;
    walk->path.count--;
    if (walk->path.count) {
        up = nodes_at(&walk->node, *cv_u32s_at(&walk->path, walk->path.count - 1));
        if (node->on_stack && node->low < up->low)
            up->low = node->low;
    }
    return true;
}

static bool step_walk(usage_walk *walk)
{
    cv_id id = *cv_u32s_at(&walk->path, walk->path.count - 1), to = next_successor(walk, id);
    usage_node *node = nodes_at(&walk->node, id), *member;

    if (to == CV_NONE)
        return leave_node(walk, id);
    member = nodes_at(&walk->node, to);
    if (member->index == 0)
        return enter_node(walk, to);
    if (member->on_stack && member->index < node->low)
        node->low = member->index;
    return true;
}

static cuvet_status run_walk(usage_walk *walk)
{
    cv_mem *mem = &walk->view->ctx->mem;
    uint64_t total = n_fns(walk) + walk->view->calls->protos.count;
    usage_node nothing = { .edge = CV_NONE };

    for (uint64_t i = 0; i < total; i++)
        if (!nodes_push(mem, &walk->node, nothing))
            return cv_l_nomem(walk->view);
    for (cv_id i = 0; i < total; i++) {
        if (nodes_at(&walk->node, i)->index != 0)
            continue;
        if (!enter_node(walk, i))
            return cv_l_nomem(walk->view);
        while (walk->path.count) {
            if (!cv_work(walk->view->ctx, 1, 0))
                return CUVET_E_LIMIT;
            if (!step_walk(walk))
                return cv_l_nomem(walk->view);
        }
    }
    return CUVET_OK;
}

/* Code that both kinds of tcgen05 wrote does not run together: 12.x has other fragments than 13.x. */
static void note_fragments(const cv_view_usage *view, const cv_lfn *function, cv_span span, const cv_tlv *tlv)
{
    for (uint64_t i = 0; tlv->format == CV_TLV_SVAL && i + 4 <= tlv->value; i += 4) {
        uint32_t id = cv_u32_at(span, tlv->payload + i);
        bool old = id == CV_FRAGMENT_OLD_1CTA || id == CV_FRAGMENT_OLD_2CTA;

        if (!old && id != CV_FRAGMENT_1CTA && id != CV_FRAGMENT_2CTA)
            continue;
        if (view->usage->fragments && view->usage->fragments != (old ? 1 : 2))
            cv_link_say(view, function->def, CV_R_LINK_FRAGMENTS, id, 0);
        else
            view->usage->fragments = old ? 1 : 2;
    }
}

static void read_record(const cv_view_usage *view, const cv_lfn *function, cv_span span, const cv_tlv *tlv)
{
    cv_heir row = cv_heir_of(tlv->code);

    if (row < CV_N_HEIR)
        cv_traits_record(&cv_l_fn_usage(view, function->id)->own, row, span, tlv);
    else if (row == CV_H_UNKNOWN && !cv_l_fn_usage(view, function->id)->strange)
        cv_l_fn_usage(view, function->id)->strange = tlv->code + 1u;
    if (row == CV_H_AT_ENTRY_FRAGEMENTS)
        note_fragments(view, function, span, tlv);
    if (tlv->code == CV_ATTR_MAXREG_COUNT && !cv_l_fn_usage(view, function->id)->limited) {
        cv_l_fn_usage(view, function->id)->max_regs = tlv->value;
        cv_l_fn_usage(view, function->id)->limited = true;
    }
}

/* Values of the function's own records. */
static void read_function(const cv_view_usage *view, const cv_lfn *function)
{
    const cv_isym *definition = cv_l_isym(view, function->def);
    cv_id info = cv_l_isec(view, definition->sec)->info_sec;
    cv_span span;
    uint64_t pos = 0;
    cv_tlv tlv;

    cv_l_fn_usage(view, function->id)->regs = definition->regs;
    cv_l_fn_usage(view, function->id)->frame = definition->frame;
    cv_l_fn_usage(view, function->id)->has_info = info != CV_NONE;
    if (!cv_l_fn_usage(view, function->id)->has_info)
        return;
    span = cv_l_body(view, cv_l_isec(view, info));
    if (!cv_work(view->ctx, span.len / 4, 0)) /* of one code section for all of its names */
        return;
    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next)
        read_record(view, function, span, &tlv);
    if (!(cv_l_fn_usage(view, function->id)->own.has & CV_H_BIT(CV_H_NUM_BARRIERS))) {
        uint32_t bars = cv_elf_code_barriers(cv_l_isec(view, definition->sec)->flags);

        cv_l_fn_usage(view, function->id)->flag_bars = bars != 0;
        cv_trait_set(&cv_l_fn_usage(view, function->id)->own, CV_H_NUM_BARRIERS, bars);
        if (bars)
            cv_l_fn_usage(view, function->id)->own.has |= CV_H_BIT(CV_H_NUM_BARRIERS);
    }
}

/* Functions that need more registers than a kernel below which they are was promised. */
static cuvet_status check_registers(usage_walk *walk, cv_id kernel)
{
    const cv_view_usage *view = walk->view;
    uint32_t limit = cv_l_fn_usage(view, kernel)->max_regs;
    cv_walk_below *below = &walk->below;
    cuvet_status status;

    if (limit == CV_REGISTERS_MOST || cv_l_fn_usage(view, kernel)->all_regs <= limit)
        return CUVET_OK;
    status = cv_calls_below(view->ctx, view->calls, below, kernel, NULL);
    for (uint64_t i = 0; i < below->found.count && status == CUVET_OK; i++) {
        const cv_lfn *callee = cv_l_fn(view, *cv_u32s_get(&below->found, i));

        if (callee->def != CV_NONE && cv_l_fn_usage(view, callee->id)->regs > limit)
            cv_link_say_two(view, callee->def, cv_l_fn(view, kernel)->def, CV_R_LINK_REGISTERS,
                            cv_l_fn_usage(view, callee->id)->regs, limit);
    }
    return status;
}

/* Sums count a function once however many paths lead to it, so that they are added up kernel by kernel, and
 * only over functions that have one or lead to one. */
static cuvet_status add_sums(usage_walk *walk)
{
    const cv_view_usage *view = walk->view;
    uint32_t sums = cv_heir_bits(CV_RULE_SUM);
    cv_walk_below *below = &walk->below;
    cv_u32s only = { 0 };
    cuvet_status status = CUVET_OK;
    bool any = false, ok = cv_u32s_fill(&view->ctx->mem, &only, view->functions->fn.count);

    for (cv_id i = 0; i < view->functions->fn.count && ok; i++) {
        *cv_u32s_at(&only, i) = (cv_l_fn_usage(view, i)->own.has & sums) != 0;
        any = any || *cv_u32s_at(&only, i);
    }
    if (any && ok)
        status = cv_calls_above(view->ctx, view->calls, &only);
    for (cv_id i = 0; i < view->functions->fn.count && any && ok && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (!cv_l_is_kernel(view, function->id) || !(cv_l_fn_usage(view, function->id)->all.has & sums))
            continue;
        status = cv_calls_below(view->ctx, view->calls, below, i, &only);
        for (uint64_t k = 0; k < below->found.count && status == CUVET_OK; k++)
            cv_traits_add(&cv_l_fn_usage(view, function->id)->all,
                          &cv_l_fn_usage(view, *cv_u32s_get(&below->found, k))->own);
    }
    cv_u32s_free(&view->ctx->mem, &only);
    return ok ? status : cv_l_nomem(view);
}

/* Barriers that only flags tell count where calls lead to them, so says the reference. */
static void add_to_one(cv_traits *sum, const cv_fn_usage *usage)
{
    cv_traits own = usage->own;

    if (usage->flag_bars)
        own.has &= ~CV_H_BIT(CV_H_NUM_BARRIERS);
    cv_traits_merge(sum, &own);
    cv_traits_add(sum, &own);
}

/* What no kernel is known to reach but stays may run in the only one there is: so says the reference. */
static cuvet_status give_all_to_one(usage_walk *walk)
{
    const cv_view_usage *view = walk->view;
    cv_traits sum = { 0 }, bars;
    uint32_t path = cv_heir_bits(CV_RULE_PATH);
    const cv_lfn *one = NULL;

    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->def == CV_NONE || !cv_l_fn_calls(view, function->id)->live)
            continue;
        if (function->kernel && one) /* several: what each of them reaches */
            return add_sums(walk);
        if (function->kernel)
            one = function;
        add_to_one(&sum, cv_l_fn_usage(view, function->id));
    }
    if (!one)
        return CUVET_OK;
    bars = cv_l_fn_usage(view, one->id)->all;
    bars.has &= CV_H_BIT(CV_H_NUM_BARRIERS);
    cv_traits_merge(&sum, &bars);
    sum.has &= ~path | cv_l_fn_usage(view, one->id)->all.has;
    cv_trait_set(&sum, CV_H_CRS_STACK_SIZE,
                 cv_trait(&cv_l_fn_usage(view, one->id)->all, CV_H_CRS_STACK_SIZE));
    cv_l_fn_usage(view, one->id)->all = sum;
    return CUVET_OK;
}

/* What a function reaches, and what of it a record cannot say. */
static void conclude_function(const cv_view_usage *view, const cv_lfn *function, const usage_comp *component)
{
    cv_l_fn_usage(view, function->id)->all = component->traits;
    cv_trait_set(&cv_l_fn_usage(view, function->id)->all, CV_H_CRS_STACK_SIZE,
                 component->cyclic ? UINT32_MAX : (uint32_t)cv_min(component->sync, UINT32_MAX));
    if (!function->kernel)
        return;
    cv_l_fn_usage(view, function->id)->all_regs = component->regs;
    cv_l_fn_usage(view, function->id)->stack =
        component->cyclic ? UINT32_MAX : cv_min(component->stack, UINT32_MAX);
    cv_l_fn_usage(view, function->id)->recursive = component->cyclic;
    if (!component->cyclic &&
        cv_max(component->stack, component->sync) >= UINT32_MAX) /* which would say that it is not known */
        cv_link_say(view, function->def, CV_R_LINK_EXTENT, cv_max(component->stack, component->sync), 0);
    if (component->cyclic && !view->options->no_stack_warning)
        cv_link_say(view, function->def, CV_R_LINK_STACK, 0, 0);
}

/* What a kernel inherits has to go together. */
static void check_traits(const cv_view_usage *view, const cv_lfn *function)
{
    uint32_t both = CV_H_BIT(CV_H_TCGEN05_1CTA_USED) | CV_H_BIT(CV_H_TCGEN05_2CTA_USED);

    if ((cv_l_fn_usage(view, function->id)->all.has & both) == both)
        cv_link_say(view, function->def, CV_R_LINK_TCGEN05, 0, 0);
    for (unsigned i = 0; i < CV_N_HEIR; i++)
        if (cv_heir_get((cv_heir)i)->rule == CV_RULE_SUM &&
            cv_trait(&cv_l_fn_usage(view, function->id)->all, i) == CV_H_SUM_EXCEEDS)
            cv_link_say(view, function->def, CV_R_LINK_SUM, cv_heir_get((cv_heir)i)->code,
                        CV_SUM_UNKNOWN - 1);
}

static cuvet_status conclude_sums(usage_walk *walk)
{
    const cv_view_usage *view = walk->view;
    cuvet_status status = CUVET_OK;

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->def == CV_NONE || !cv_l_fn_calls(view, function->id)->live)
            continue;
        conclude_function(view, function, comps_at(&walk->comp, nodes_at(&walk->node, i)->comp));
        if (function->kernel)
            status = check_registers(walk, i);
        else if (cv_l_fn_usage(view, function->id)->strange)
            cv_link_say(view, function->def, CV_R_LINK_INHERIT,
                        cv_l_fn_usage(view, function->id)->strange - 1, 0);
    }
    if (status == CUVET_OK)
        status = give_all_to_one(walk);
    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++)
        if (cv_l_is_kernel(view, i))
            check_traits(view, cv_l_fn(view, i));
    return status;
}

/* When one function says which kinds of sparse multiplication it does, the reference marks those that say
 * nothing: whoever wrote them did not know of it. A second name of code is such a function, and so is a dead
 * one, whose record has left. */
static void mark_silent(const cv_view_usage *view)
{
    const uint32_t bit = CV_H_BIT(CV_H_SPARSE_MMA_MASK);
    bool any = false;

    for (cv_id i = 0; i < view->functions->fn.count && !any; i++)
        any = cv_l_fn(view, i)->def != CV_NONE && cv_l_fn_calls(view, i)->live &&
              (cv_l_fn_usage(view, i)->own.has & bit);
    for (cv_id i = 0; i < view->functions->fn.count && any; i++) {
        const cv_lfn *function = cv_l_fn(view, i);
        cv_id owner = function->owner;

        if (function->def == CV_NONE && cv_l_fn_calls(view, i)->live)
            view->usage->silent = true; /* of the driver */
        if (function->def == CV_NONE || !cv_l_fn_usage(view, function->id)->has_info ||
            (cv_l_fn_calls(view, function->id)->live && owner == i &&
             cv_l_fn_usage(view, function->id)->own.has & bit))
            continue;
        view->usage->silent = true;
        if (!cv_l_fn_calls(view, function->id)->live)
            continue;
        function = cv_l_fn(view, owner);
        cv_l_fn_usage(view, function->id)->marked = true;
        cv_l_fn_usage(view, function->id)->own.has |= bit;
        cv_trait_set(&cv_l_fn_usage(view, function->id)->own, CV_H_SPARSE_MMA_MASK,
                     cv_trait(&cv_l_fn_usage(view, function->id)->own, CV_H_SPARSE_MMA_MASK) |
                         CV_SPARSE_SILENT);
    }
}

static bool begin_walk(const cv_view_usage *view)
{
    static const cv_fn_usage NOTHING = { .max_regs = CV_REGISTERS_MOST };
    cv_fn_usages *list = &view->usage->fn;

    if (!cv_fn_usages_room(&view->ctx->mem, list, view->functions->fn.count))
        return false;
    while (list->count < view->functions->fn.count)
        if (!cv_fn_usages_push(&view->ctx->mem, list, NOTHING))
            return false;
    return true;
}

cuvet_status cv_stage_usage(const cv_view_usage *view)
{
    cv_mem *mem = &view->ctx->mem;
    cuvet_status status = CUVET_OK;
    usage_walk walk = { .view = view };

    if (!begin_walk(view))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        if (cv_l_fn(view, i)->def != CV_NONE)
            read_function(view, cv_l_fn(view, i));
    if (!view->options->relocatable) {
        mark_silent(view);
        status = run_walk(&walk);
    }
    if (status == CUVET_OK && !view->options->relocatable)
        status = conclude_sums(&walk);
    view->usage->propagated = status == CUVET_OK && !view->options->relocatable;
    nodes_free(mem, &walk.node);
    comps_free(mem, &walk.comp);
    cv_walk_below_end(mem, &walk.below);
    cv_u32s_free(mem, &walk.path);
    cv_u32s_free(mem, &walk.stack);
    return status;
}

/* Sums of a kernel: at least its own and those of one function that it calls. */
static bool sums_hold(const cv_fn_usage *usage, const cv_fn_usage *callee)
{
    for (unsigned i = 0; i < CV_N_HEIR; i++) {
        uint32_t all = cv_trait(&usage->all, i);
        uint64_t least =
            (uint64_t)cv_trait(&usage->own, i) + (callee == usage ? 0 : cv_trait(&callee->own, i));

        if (cv_heir_get((cv_heir)i)->rule == CV_RULE_SUM && all != CV_SUM_UNKNOWN && all < least)
            return false;
    }
    return true;
}

/* What a function reaches is what each function that it calls reaches, and its own: along all direct calls,
 * so that nothing is lost on a path of any length. */
static bool call_holds(const cv_check_usage *view, cv_id from, cv_id to)
{
    const cv_fn_usage *usage = cv_l_fn_usage(view, from), *callee = cv_l_fn_usage(view, to);

    if (cv_l_fn(view, to)->def == CV_NONE || !cv_l_fn_calls(view, to)->live)
        return true;
    if (!cv_traits_cover(&usage->all, &callee->all))
        return false;
    if (!cv_l_is_kernel(view, from))
        return true;
    return callee->regs <= usage->all_regs &&
           cv_min(cv_sat_add(usage->frame, callee->frame), UINT32_MAX) <= usage->stack &&
           sums_hold(usage, callee);
}

/* A kernel has registers, stack and traits for itself and for whatever it calls. */
bool cv_stage_usage_holds(const cv_check_usage *view)
{
    for (cv_id i = 0; i < view->functions->fn.count && !view->options->relocatable; i++) {
        const cv_fn_usage *usage = cv_l_fn_usage(view, i);

        if (cv_l_fn(view, i)->def == CV_NONE || !cv_l_fn_calls(view, i)->live)
            continue;
        if (!cv_traits_cover(&usage->all, &usage->own))
            return false;
        if (cv_l_is_kernel(view, i) &&
            (usage->all_regs < usage->regs || usage->recursive != (usage->stack == UINT32_MAX) ||
             usage->stack < usage->frame || !sums_hold(usage, usage)))
            return false;
        for (cv_id edge = cv_l_fn_calls(view, i)->calls; edge != CV_NONE;
             edge = cv_edges_get(&view->calls->edge, edge)->next)
            if (!call_holds(view, i, cv_edges_get(&view->calls->edge, edge)->to))
                return false;
    }
    return true;
}
