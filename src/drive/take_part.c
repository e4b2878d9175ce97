/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which pieces of code and which inputs take part in a link, by where they lie and by what host objects say
 * of modules and kernels. */
#include "drive/link.h"
#include "intake/place.h"

cuvet_status cv_linker_judge_place(cv_linker *linker, const cuvet_item *item)
{
    cv_rule rule;
    cv_taking part = cv_place_part(item->place, &rule);
    uint64_t at = (item->flags & CUVET_ITEM_IN_CONTAINER) != 0 ? item->container_off : item->payload_off;

    cv_ctx_unit(&linker->ctx, 0);
    linker->ctx.path = item->where;
    if (linker->ctx.path.n > CUVET_PATH_MAX)
        linker->ctx.path.n = CUVET_PATH_MAX;
    if ((item->flags & CUVET_ITEM_IN_CONTAINER) != 0 && linker->ctx.path.n > 0)
        linker->ctx.path.n--; /* its container */
    if (part == CV_REFUSED)
        return cv_reject(&linker->ctx, rule, at, item->place, CUVET_PLACE_OBJECT);
    if (rule != CV_N_RULES)
        cv_report(&linker->ctx, rule, at, 0, item->place, CUVET_PLACE_OBJECT);
    return part == CV_LEFT ? CUVET_END : CUVET_OK;
}

enum { ALREADY = 1, NOT_NEEDED = 2 };

static void tell_left_out(cv_linker *linker, uint64_t input, uint8_t why)
{
    cv_link_event event = { .told = { .kind = why == NOT_NEEDED ? CUVET_EVENT_NOT_NEEDED
                                                                : CUVET_EVENT_ALREADY_LINKED },
                            .member_at = UINT64_MAX };
    const cv_block *name = &cv_link_inputs_at(&linker->input, input)->name;

    if (cv_linker_event_name(linker, cv_span_of(name->mem, name->span.len - 1, 0), &event.file_at) ==
        CUVET_OK)
        cv_linker_tell(linker, &event);
}

/* What does not take part goes behind the rest, and is said. */
static cuvet_status leave_out(cv_linker *linker, const cv_u8s *why)
{
    static const cv_rule RULES[] = { CV_R_LINK_ALREADY, CV_R_LINK_ALREADY, CV_R_LINK_NOT_NEEDED };
    cv_link_inputs sorted = { 0 };
    cuvet_status status = cv_linker_event_room(linker, why->count);
    bool ok = status == CUVET_OK && cv_link_inputs_reserve(&linker->ctx.mem, &sorted, linker->input.count);
    uint64_t stay = 0;

    for (uint64_t i = 0; i < linker->input.count && ok; i++)
        if (!*cv_u8s_get(why, i))
            ok = cv_link_inputs_push(&linker->ctx.mem, &sorted, *cv_link_inputs_at(&linker->input, i));
    stay = sorted.count;
    for (uint64_t i = 0; i < linker->input.count && ok; i++)
        if (*cv_u8s_get(why, i))
            ok = cv_link_inputs_push(&linker->ctx.mem, &sorted, *cv_link_inputs_at(&linker->input, i));
    cv_link_inputs_free(&linker->ctx.mem, ok ? &linker->input : &sorted);
    if (!ok)
        return cv_nomem(&linker->ctx, 0);
    linker->input = sorted;
    for (uint64_t i = 0, at = stay; i < why->count; i++) {
        if (!*cv_u8s_get(why, i))
            continue;
        linker->ctx.path.n = 0;
        cv_report_at(&linker->ctx, CUVET_P_MEMBER, at, CV_AT(RULES, *cv_u8s_get(why, i)), 0, 0, 0, 0);
        tell_left_out(linker, at++, *cv_u8s_get(why, i));
    }
    cv_link_leave_out(&linker->link, why);
    return CUVET_OK;
}

/* Which inputs take part: not those that are linked already, and system libraries only when they are needed.
 */
static cuvet_status choose_inputs(cv_linker *linker, bool *needed)
{
    cv_u8s why = { 0 };
    bool libraries = false, any = false;
    cuvet_status status =
        cv_u8s_fill(&linker->ctx.mem, &why, linker->input.count) ? CUVET_OK : cv_nomem(&linker->ctx, 0);

    for (uint64_t i = 0; i < linker->input.count && status == CUVET_OK; i++) {
        const cv_link_input *in = cv_link_inputs_at(&linker->input, i);
        bool already = in->host != CV_NONE && cv_hosts_is_linked(&linker->hosts, in->host);

        *cv_u8s_at(&why, i) = already ? ALREADY : in->of_system ? NOT_NEEDED : 0;
        libraries = libraries || in->of_system;
        any = any || already;
    }
    if (status == CUVET_OK && libraries)
        status = cv_link_lacks_functions(&linker->link, &why, needed);
    for (uint64_t i = 0; i < linker->input.count && status == CUVET_OK && *needed; i++)
        if (*cv_u8s_at(&why, i) == NOT_NEEDED)
            *cv_u8s_at(&why, i) = 0;
    if (status == CUVET_OK && (any || (libraries && !*needed)))
        status = leave_out(linker, &why);
    cv_u8s_free(&linker->ctx.mem, &why);
    return status;
}

static cuvet_status add_module(cv_linker *linker, cv_span name)
{
    cv_block block = { 0 };
    cuvet_status status = cv_block_zero(&linker->ctx, &block, name.len + 1);

    if (status != CUVET_OK)
        return status;
    cv_span_copy(name, block.mem);
    if (cv_link_modules_push(&linker->ctx.mem, &linker->module, block))
        return CUVET_OK;
    cv_block_free(&linker->ctx, &block);
    return cv_nomem(&linker->ctx, 0);
}

/* Modules that the host program registers, and whether it is known what all host code refers to. */
static cuvet_status take_hosts(cv_linker *linker, bool libraries)
{
    bool told = linker->host_info && cv_hosts_tell_kernels(&linker->hosts);
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < linker->link.inputs->obj.count; i++)
        told = told && cv_link_inputs_at(&linker->input, i)->host != CV_NONE;
    linker->link.options->hosts = told ? &linker->hosts : NULL;
    for (uint64_t i = 0; i < linker->hosts.host.count && status == CUVET_OK; i++) {
        const cv_lhost *host = cv_lhosts_at(&linker->hosts.host, i);

        if (!host->linkable || cv_hosts_is_linked(&linker->hosts, (cv_id)i) ||
            (host->of_system && !libraries))
            continue;
        for (uint64_t j = 0; j < host->n_modules && status == CUVET_OK; j++)
            status = add_module(linker, cv_hosts_module(&linker->hosts, host->first_module + j));
    }
    return status;
}

/* Where no code is looked at, libraries of the system count as needed by any other code. */
static bool needs_unseen(const cv_linker *linker)
{
    bool needed = false;

    for (uint64_t i = 0; i < linker->hosts.host.count && linker->modules_only; i++) {
        const cv_lhost *host = cv_lhosts_get(&linker->hosts.host, i);

        needed = needed || (host->linkable && !host->of_system);
    }
    return needed;
}

cuvet_status cv_linker_gather(cv_linker *linker)
{
    bool needed = needs_unseen(linker);
    cuvet_status status = choose_inputs(linker, &needed);

    if (status == CUVET_OK)
        status = cv_hosts_settle(&linker->ctx, &linker->hosts, needed);
    return status == CUVET_OK ? take_hosts(linker, needed) : status;
}
