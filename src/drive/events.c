/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What became of a file that was added to a link: diagnostics are kept back until it is known whether they
 * count, and each event follows those that it sums up. */
#include "base/rules.h"
#include "drive/link.h"

void cv_linker_listen(cv_linker *linker)
{
    linker->emit = linker->ctx.emit;
    linker->emit_user = linker->ctx.emit_user;
    linker->ctx.emit = cv_linker_hold;
    linker->ctx.emit_user = linker;
}

cuvet_status cv_linker_lose(cv_linker *linker, const cv_mem *mem)
{
    if (linker->lost == CUVET_OK) {
        linker->lost = cv_mem_status(mem);
        linker->lost_live = mem->live;
        linker->lost_limit = mem->limit;
    }
    return linker->lost;
}

void cv_linker_leave(cv_linker *linker)
{
    cv_linker_drop(linker);
    linker->ctx.emit = linker->emit;
    linker->ctx.emit_user = linker->emit_user;
}

void cv_linker_hold(void *user, const cuvet_diag *diag)
{
    cv_linker *linker = user;

    if (!cv_diags_push(&linker->tool_mem, &linker->pending, *diag))
        (void)cv_linker_lose(linker, &linker->tool_mem);
}

void cv_linker_drop(cv_linker *linker)
{
    cv_diags_clear(&linker->pending);
}

bool cv_linker_holds(const cv_linker *linker, cv_rule rule)
{
    for (uint64_t i = 0; i < linker->pending.count; i++)
        if (cv_diags_get(&linker->pending, i)->rule == (cuvet_rule)rule)
            return true;
    return false;
}

/* Notes of a selection say what a container has instead of what was wanted; the others are of its inside. */
static bool is_told(const cuvet_diag *diag, cv_telling telling)
{
    bool holds_other = diag->rule == CV_R_INPUT_HAS_SASS || diag->rule == CV_R_INPUT_HAS_PTX ||
                       diag->rule == CV_R_INPUT_HAS_OTHER || diag->rule == CV_R_INPUT_HAS_LTO;

    switch (telling) {
    case CV_TELL_ALL: return true;
    case CV_TELL_MEMBERS: return diag->rule == CV_R_LINK_NO_OBJECT || diag->rule == CV_R_LINK_NO_OBJECTS;
    case CV_TELL_FINDINGS: break;
    }
    return diag->severity != CUVET_NOTE || holds_other;
}

bool cv_linker_hand_on_next(cv_linker *linker, cv_telling telling, uint64_t *index, cuvet_diag *diag)
{
    while (*index < linker->pending.count) {
        *diag = *cv_diags_at(&linker->pending, (*index)++);
        if (!is_told(diag, telling))
            continue;
        if (linker->emit)
            linker->emit(linker->emit_user, diag);
        return true;
    }
    return false;
}

uint64_t cv_linker_hand_on(cv_linker *linker, cv_telling telling)
{
    uint64_t told = 0;
    cuvet_diag diag;

    for (uint64_t i = 0; cv_linker_hand_on_next(linker, telling, &i, &diag);)
        told++;
    cv_linker_drop(linker);
    return told;
}

cuvet_status cv_linker_event_name(cv_linker *linker, cv_span name, uint64_t *at)
{
    cv_u8s *text = &linker->event_text;

    if (!cv_u8s_reserve(&linker->ctx.mem, text, cv_sat_add(text->count, cv_sat_add(name.len, 1))))
        return cv_linker_lose(linker, &linker->ctx.mem);
    *at = text->count;
    for (uint64_t i = 0; i <= name.len; i++)
        if (!cv_u8s_push(&linker->ctx.mem, text, cv_u8_at(name, i))) /* the one behind the end reads as 0 */
            return cv_linker_lose(linker, &linker->ctx.mem);
    return CUVET_OK;
}

cuvet_status cv_linker_event_room(cv_linker *linker, uint64_t count)
{
    return cv_link_events_reserve(&linker->ctx.mem, &linker->event, cv_sat_add(linker->event.count, count))
               ? CUVET_OK
               : cv_linker_lose(linker, &linker->ctx.mem);
}

static const char *name_at(const cv_linker *linker, uint64_t at)
{
    return at < linker->event_text.count ? (const char *)cv_u8s_get(&linker->event_text, at) : NULL;
}

static cuvet_event with_names(const cv_linker *linker, const cv_link_event *event)
{
    cuvet_event told = event->told;

    told.size = sizeof(told);
    told.file = name_at(linker, event->file_at);
    told.member = name_at(linker, event->member_at);
    return told;
}

void cv_linker_tell(cv_linker *linker, const cv_link_event *event)
{
    cuvet_event told = with_names(linker, event);

    if (!cv_link_events_push(&linker->ctx.mem, &linker->event, *event))
        (void)cv_linker_lose(linker, &linker->ctx.mem);
    if (linker->on_event)
        linker->on_event(linker->event_user, &told);
}

void cv_linker_tell_log(const cv_linker *linker, uint64_t file_at, uint64_t member_at, const char *text)
{
    if (linker->ptx.log)
        linker->ptx.log(linker->ptx.user, name_at(linker, file_at), name_at(linker, member_at), text);
}

cuvet_status cv_linker_get_event(const cv_linker *linker, uint64_t index, cuvet_event *out)
{
    if (index >= linker->event.count)
        return CUVET_END;
    *out = with_names(linker, cv_link_events_get(&linker->event, index));
    return CUVET_OK;
}
