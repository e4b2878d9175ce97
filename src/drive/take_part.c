/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which pieces of code and which inputs take part in a link, by where they lie and by what host objects say
 * of modules and kernels. */
#include "drive/link.h"
#include "intake/place.h"

cuvet_status cv_linker_judge_place(cv_linker *k, const cuvet_item *item)
{
    cv_rule rule;
    cv_taking part = cv_place_part(item->place, &rule);
    uint64_t at = item->in_container ? item->container_off : item->payload_off;

    cv_ctx_unit(&k->x, 0);
    k->x.path = item->where;
    if (k->x.path.n > CUVET_PATH_MAX)
        k->x.path.n = CUVET_PATH_MAX;
    if (item->in_container && k->x.path.n > 0)
        k->x.path.n--; /* its container */
    if (part == CV_REFUSED)
        return cv_reject(&k->x, rule, at, item->place, CUVET_PLACE_OBJECT);
    if (rule != CV_N_RULES)
        cv_report(&k->x, rule, at, 0, item->place, CUVET_PLACE_OBJECT);
    return part == CV_LEFT ? CUVET_END : CUVET_OK;
}

enum { ALREADY = 1, NOT_NEEDED = 2 };

static void tell_left_out(cv_linker *k, uint64_t input, uint8_t why)
{
    cv_link_event event = { .told = { .kind = why == NOT_NEEDED ? CUVET_EVENT_NOT_NEEDED
                                                                : CUVET_EVENT_ALREADY_LINKED },
                            .member_at = UINT64_MAX };
    const cv_block *name = &cv_link_inputs_at(&k->input, input)->name;

    if (cv_linker_event_name(k, cv_span_of(name->mem, name->span.len - 1, 0), &event.file_at) == CUVET_OK)
        cv_linker_tell(k, &event);
}

/* What does not take part goes behind the rest, and is said. */
static cuvet_status leave_out(cv_linker *k, const cv_u8s *why)
{
    static const cv_rule RULES[] = { CV_R_LINK_ALREADY, CV_R_LINK_ALREADY, CV_R_LINK_NOT_NEEDED };
    cv_link_inputs sorted = { 0 };
    cuvet_status s = cv_linker_event_room(k, why->n);
    bool ok = s == CUVET_OK && cv_link_inputs_reserve(&k->x.mem, &sorted, k->input.n);
    uint64_t stay = 0;

    for (uint64_t i = 0; i < k->input.n && ok; i++)
        if (!*cv_u8s_get(why, i))
            ok = cv_link_inputs_push(&k->x.mem, &sorted, *cv_link_inputs_at(&k->input, i));
    stay = sorted.n;
    for (uint64_t i = 0; i < k->input.n && ok; i++)
        if (*cv_u8s_get(why, i))
            ok = cv_link_inputs_push(&k->x.mem, &sorted, *cv_link_inputs_at(&k->input, i));
    cv_link_inputs_free(&k->x.mem, ok ? &k->input : &sorted);
    if (!ok)
        return cv_nomem(&k->x, 0);
    k->input = sorted;
    for (uint64_t i = 0, at = stay; i < why->n; i++) {
        if (!*cv_u8s_get(why, i))
            continue;
        k->x.path.n = 0;
        cv_report_at(&k->x, CUVET_P_MEMBER, at, CV_AT(RULES, *cv_u8s_get(why, i)), 0, 0, 0, 0);
        tell_left_out(k, at++, *cv_u8s_get(why, i));
    }
    cv_link_leave_out(&k->link, why);
    return CUVET_OK;
}

/* Which inputs take part: not those that are linked already, and system libraries only when they are needed.
 */
static cuvet_status choose(cv_linker *k, bool *needed)
{
    cv_u8s why = { 0 };
    bool libraries = false, any = false;
    cuvet_status s = cv_u8s_fill(&k->x.mem, &why, k->input.n) ? CUVET_OK : cv_nomem(&k->x, 0);

    for (uint64_t i = 0; i < k->input.n && s == CUVET_OK; i++) {
        const cv_link_input *in = cv_link_inputs_at(&k->input, i);
        bool already = in->host != CV_NONE && cv_hosts_is_linked(&k->hosts, in->host);

        *cv_u8s_at(&why, i) = already ? ALREADY : in->of_system ? NOT_NEEDED : 0;
        libraries = libraries || in->of_system;
        any = any || already;
    }
    if (s == CUVET_OK && libraries)
        s = cv_link_lacks_functions(&k->link, &why, needed);
    for (uint64_t i = 0; i < k->input.n && s == CUVET_OK && *needed; i++)
        if (*cv_u8s_at(&why, i) == NOT_NEEDED)
            *cv_u8s_at(&why, i) = 0;
    if (s == CUVET_OK && (any || (libraries && !*needed)))
        s = leave_out(k, &why);
    cv_u8s_free(&k->x.mem, &why);
    return s;
}

static cuvet_status add_module(cv_linker *k, cv_span name)
{
    cv_block b = { 0 };
    cuvet_status s = cv_block_zero(&k->x, &b, name.len + 1);

    if (s != CUVET_OK)
        return s;
    cv_span_copy(name, b.mem);
    if (cv_link_modules_push(&k->x.mem, &k->module, b))
        return CUVET_OK;
    cv_block_free(&k->x, &b);
    return cv_nomem(&k->x, 0);
}

/* Modules that the host program registers, and whether it is known what all host code refers to. */
static cuvet_status take_hosts(cv_linker *k, bool libraries)
{
    bool told = k->host_info && cv_hosts_tell_kernels(&k->hosts);
    cuvet_status s = CUVET_OK;

    for (uint64_t i = 0; i < k->link.obj.n; i++)
        told = told && cv_link_inputs_at(&k->input, i)->host != CV_NONE;
    k->link.o.hosts = told ? &k->hosts : NULL;
    for (uint64_t i = 0; i < k->hosts.host.n && s == CUVET_OK; i++) {
        const cv_lhost *o = cv_lhosts_at(&k->hosts.host, i);

        if (!o->linkable || cv_hosts_is_linked(&k->hosts, (cv_id)i) || (o->of_system && !libraries))
            continue;
        for (uint64_t m = 0; m < o->n_modules && s == CUVET_OK; m++)
            s = add_module(k, cv_hosts_module(&k->hosts, o->first_module + m));
    }
    return s;
}

cuvet_status cv_linker_gather(cv_linker *k)
{
    bool needed = false;
    cuvet_status s = choose(k, &needed);

    if (s == CUVET_OK)
        s = cv_hosts_settle(&k->x, &k->hosts, needed);
    return s == CUVET_OK ? take_hosts(k, needed) : s;
}
