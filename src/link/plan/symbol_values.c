/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each symbol of the output is: section, value, size, binding; and which of them stay. */
#include "base/arith.h"
#include "link/in/stages.h"

static bool is_shared_space(uint8_t other)
{
    return (other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}

/* Where shared memory of functions begins behind what is reserved, the reference counts that for arrays, too.
 */
static bool counts_reserved(const cv_link *link)
{
    return cv_link_reserves(link) && link->memory->coloured;
}

/* A debugger finds extern shared arrays by name. What has no place has the value of all ones; when the
 * reserved part is added, the reference does not see that and keeps the name. */
static bool keeps_extern(const cv_link *link, const cv_isym *sym)
{
    return (link->options->debug ||
            (link->options->preserve && cv_l_has(link, CV_GEN_KEEPS_EXTERN) && counts_reserved(link))) &&
           !link->options->relocatable && cv_l_type(sym) == CV_STT_CUDA_OBJECT && is_shared_space(sym->other);
}

/* Nobody defines it. */
static void undefined(const cv_link *link, cv_osym *osym)
{
    const cv_isym *sym = cv_l_isym(link, osym->src);
    uint8_t type = cv_l_type(sym);

    osym->sec = CV_NONE;
    osym->size = sym->size;
    osym->value = 0;
    if (link->options->relocatable && link->options->compat && is_shared_space(sym->other) &&
        type == CV_STT_CUDA_OBJECT) {
        osym->sec = link->out->debug_shared;
        osym->size = 0;
    } else if (keeps_extern(link, sym)) {
        osym->sec = link->out->debug_shared;
        osym->size = 0;
        osym->info = CV_STB_GLOBAL << 4 | CV_STT_OBJECT;
        osym->other = link->options->debug ? 0 : 1;
        osym->value =
            link->options->debug ? cv_l_shared(link, cv_l_mean(link, osym->name)->first)->off : UINT64_MAX;
        osym->value = cv_wrap_add(osym->value, counts_reserved(link) ? link->options->gen->reserved : 0);
    } else if (cv_l_bind(sym) == CV_STB_WEAK && type == CV_STT_OBJECT) {
        osym->info = CV_STB_GLOBAL << 4 |
                     (cv_l_has(link, CV_GEN_WEAK_CUDA_OBJECT) ? CV_STT_CUDA_OBJECT : CV_STT_OBJECT);
    } else if (link->options->relocatable && link->options->compat && type != CV_STT_FUNC &&
               !cv_l_is_texture(sym)) {
        osym->value = UINT64_MAX;
    }
    /* a place in the memory that the driver reserves */
    if (cv_l_has(link, CV_GEN_RESERVED_SYMBOLS) &&
        cv_span_starts(cv_l_text(link, osym->name), ".nv.reservedSmem."))
        osym->value = sym->value;
}

bool cv_link_is_bank_size(const cv_link *link, const cv_isym *sym)
{
    return cv_l_is_nowhere(sym) && cv_span_eq_str(cv_l_text(link, sym->name), ".nv.ptx.const0.size");
}

uint64_t cv_link_nowhere(const cv_link *link, const cv_isym *sym)
{
    return link->out->bank3 != CV_NONE && cv_link_is_bank_size(link, sym)
               ? cv_l_osec(link, link->out->bank3)->size
               : UINT64_MAX;
}

static void shared_value(const cv_link *link, cv_osym *osym, const cv_isym *winner)
{
    osym->value = cv_l_shared(link, winner->id)->placed ? cv_l_shared(link, winner->id)->off : 0;
    if (cv_l_shared(link, winner->id)->sec != CV_NONE)
        osym->sec = cv_l_shared(link, winner->id)->sec;
    if (cv_l_shared(link, winner->id)->placed &&
        cv_link_reserves(link)) /* the symbol counts what comes first, code does not */
        osym->value = cv_sat_add(osym->value, link->options->gen->reserved);
}

static void defined(const cv_link *link, cv_osym *osym)
{
    const cv_isym *winner = cv_l_isym(link, osym->win);
    bool object = cv_l_type(winner) == CV_STT_CUDA_OBJECT;

    osym->size = winner->size;
    osym->other = winner->other;
    if (winner->common) {
        cv_link_largest_common(link, cv_l_mean(link, osym->name), &osym->size, &osym->value);
        osym->common_kept = true;
        return;
    }
    if (cv_l_is_nowhere(winner)) {
        osym->value = cv_link_nowhere(link, winner);
        osym->info = CV_STB_LOCAL << 4 | CV_STT_CUDA_OBJECT;
        return;
    }
    if (winner->sec == CV_NONE || cv_l_became(link, winner->sec)->table) {
        osym->sec = CV_NONE;
        return;
    }
    osym->sec = cv_l_became(link, winner->sec)->out;
    osym->value = winner->value;
    if (cv_l_is_reserved(winner)) /* of a relocatable link it stays an alignment */
        osym->value = link->options->relocatable ? winner->value : cv_l_shared(link, winner->id)->off;
    else if (cv_l_type(winner) != CV_STT_FUNC && !is_shared_space(winner->other))
        osym->value = cv_sat_add(osym->value, cv_l_became(link, winner->sec)->base);
    osym->info = winner->info;
    if (link->options->relocatable || !object)
        return;
    osym->info = (uint8_t)(cv_l_bind(winner) << 4 | CV_STT_OBJECT);
    osym->other = winner->other & CV_STO_MANAGED;
    if (is_shared_space(winner->other))
        shared_value(link, osym, winner);
    if (link->options->preserve &&
        ((is_shared_space(winner->other) && !link->options->debug) || cv_l_is_hidden_bank(winner)))
        osym->other = CV_STV_INTERNAL;
}

void cv_link_values(cv_link *link)
{
    link->out->debug_shared = cv_l_find_osec(link, ".nv_debug.shared", link->names->empty);
    link->out->bank3 = cv_l_find_osec(link, ".nv.constant3", link->names->empty);
    for (cv_id i = 0; i < link->out->osym.count; i++) {
        cv_osym *osym = cv_l_osym(link, i);

        if (osym->is_section || osym->common || osym->instance)
            continue;
        if (osym->win == CV_NONE)
            undefined(link, osym);
        else
            defined(link, osym);
    }
}

static bool keeps_shared(const cv_link *link, uint8_t other)
{
    return link->options->preserve || (link->options->debug && is_shared_space(other));
}

static bool drop_section(const cv_link *link, const cv_osym *osym)
{
    const cv_osec *osec = cv_l_osec(link, osym->sec);

    bool lone = cv_l_has(link, CV_GEN_RESERVED_SHOWN) && cv_link_reserves(link) &&
                !link->options->relocatable && osec->group == CV_G_NOBITS &&
                osec->size == link->options->gen->reserved;

    if (lone && (osym->sec == link->out->debug_shared ||
                 osec->infosec != CV_NONE)) /* nothing but the reserved part */
        return true;
    return osec->dead ||
           ((osec->group == CV_G_NOBITS || osec->group == CV_G_INIT || osec->group == CV_G_CONST ||
             osec->group == CV_G_PARAM || osec->group == CV_G_DEBUG) &&
            (osec->size == 0 || osec->hollow));
}

static bool drop_undefined(const cv_link *link, const cv_osym *osym)
{
    const cv_isym *sym = cv_l_isym(link, osym->src);

    if (cv_l_type(sym) == CV_STT_FUNC)
        return osym->fn == CV_NONE || !cv_l_fn_calls(link, osym->fn)->live;
    return cv_span_starts(cv_l_text(link, osym->name), "__U") ||
           (is_shared_space(sym->other) && !keeps_extern(link, sym));
}

bool cv_link_drops(const cv_link *link, cv_id id)
{
    const cv_osym *osym = cv_l_osym(link, id);
    const cv_isym *winner = osym->win == CV_NONE ? NULL : cv_l_isym(link, osym->win);

    if (osym->is_section)
        return drop_section(link, osym);
    if (osym->sec != CV_NONE && cv_l_osec(link, osym->sec)->dead)
        return true;
    if (link->options->relocatable || osym->instance)
        return false;
    if (osym->fn != CV_NONE && !cv_l_fn_calls(link, osym->fn)->live)
        return true;
    if (!winner)
        return drop_undefined(link, osym);
    if (cv_l_is_shared(winner) && winner->sec != CV_NONE &&
        (cv_l_became(link, winner->sec)->lost || !cv_l_shared(link, winner->id)->placed))
        return true; /* it has no room: of a kernel that lost, or nobody names it */
    if (osym->hidden)
        return !keeps_shared(link, winner->other);
    return cv_l_is_shared(winner) && !keeps_shared(link, winner->other);
}

static bool is_variable(const cv_link *link, const cv_osym *osym)
{
    const cv_isym *winner = osym->win == CV_NONE ? NULL : cv_l_isym(link, osym->win);

    return winner && osym->sec != CV_NONE && cv_l_type(winner) != CV_STT_FUNC && !cv_l_is_shared(winner) &&
           !(cv_l_is_reserved(winner) && link->options->relocatable);
}

/* A symbol is in a section that exists, its own when it is a section symbol, and ends there. */
bool cv_link_values_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osym.count; i++) {
        const cv_osym *osym = cv_l_osym(link, i);

        if (!cv_l_below(osym->sec, link->out->osec.count) ||
            (osym->is_section && cv_l_osec(link, osym->sec)->sym != i))
            return false;
        if (is_variable(link, osym) && cv_sat_add(osym->value, osym->size) > cv_l_osec(link, osym->sec)->size)
            return false;
    }
    return true;
}
