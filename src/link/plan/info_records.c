/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage info_records: the .nv.info records of the output. Records of the inputs come out in reverse order,
 * symbols become those of the output, and what was propagated replaces what a function alone knew. */
#include "link/plan/info_records.h"

#include "cubin/admit.h"
#include "format/tlv/attr.h"

static bool add_word(const cv_view_info_records *view, uint32_t value, bool symbol)
{
    cv_iword word = { value, symbol };

    return view->records->word.count < CV_NONE && cv_iwords_push(&view->ctx->mem, &view->records->word, word);
}

static bool add_record(const cv_view_info_records *view, const cv_irec *record)
{
    cv_irec entry = *record;

    return cv_irecs_push(&view->ctx->mem, &view->records->rec, entry);
}

static bool add_pair(const cv_view_info_records *view, uint8_t code, cv_id osym, uint32_t value)
{
    const cv_irec record = {
        .format = CV_TLV_SVAL, .code = code, .first = (cv_id)view->records->word.count, .count = 2
    };

    return add_word(view, osym, true) && add_word(view, value, false) && add_record(view, &record);
}

static bool add_raw(const cv_view_info_records *view, cv_span span, const cv_tlv *tlv)
{
    cv_irec record = { .format = tlv->format, .code = tlv->code, .value = tlv->value };

    if (tlv->format == CV_TLV_SVAL) {
        record.raw = true;
        if (!cv_span_sub(span, tlv->payload, tlv->value, &record.bytes))
            return false;
    }
    return add_record(view, &record);
}

bool cv_d_add_externs(info_describer *describer)
{
    const cv_view_info_records *view = describer->view;
    const cv_irec record = { .format = CV_TLV_SVAL,
                             .code = CV_ATTR_EXTERNS,
                             .first = (cv_id)view->records->word.count,
                             .count = (uint32_t)describer->list.count };

    for (uint64_t i = 0; i < describer->list.count; i++)
        if (!add_word(view, *cv_u32s_at(&describer->list, i), true))
            return false;
    return add_record(view, &record);
}

/* A record of one value, as its row says. */
bool cv_d_add_value(const cv_view_info_records *view, cv_heir row, uint32_t value)
{
    cv_irec record = { .format = cv_heir_get(row)->format, .code = cv_heir_get(row)->code };

    if (record.format == CV_TLV_SVAL) {
        record.first = (cv_id)view->records->word.count;
        record.count = 1;
        if (!add_word(view, value, false))
            return false;
    } else {
        record.value = record.format == CV_TLV_NVAL ? 0 : (uint16_t)value;
    }
    return add_record(view, &record);
}

/* What was joined of many. */
bool cv_d_add_words(info_describer *describer, cv_heir row)
{
    const cv_view_info_records *view = describer->view;
    const cv_irec record = { .format = cv_heir_get(row)->format,
                             .code = cv_heir_get(row)->code,
                             .first = (cv_id)view->records->word.count,
                             .count = (uint32_t)describer->words.count };

    for (uint64_t i = 0; i < describer->words.count; i++)
        if (!add_word(view, *cv_u32s_at(&describer->words, i), false))
            return false;
    return add_record(view, &record);
}

/* Where the loader finds the slots: bank 0. */
static bool add_bindless(const cv_view_info_records *view, uint8_t code)
{
    const cv_irec record = { .format = CV_TLV_BVAL, .code = code };

    return add_record(view, &record);
}

/* A record whose first word is a symbol. False, said: no symbol of the output. */
static bool add_renumbered(info_describer *describer, const cv_lobj *obj, cv_span span, const cv_tlv *tlv)
{
    const cv_view_info_records *view = describer->view;
    const cv_irec record = { .format = CV_TLV_SVAL,
                             .code = tlv->code,
                             .first = (cv_id)view->records->word.count,
                             .count = tlv->value / 4u };
    uint32_t index = cv_u32_at(span, tlv->payload);
    cv_id osym = cv_l_output_symbol(view, obj, index);
    bool ok;

    if (osym == CV_NONE) {
        cv_link_say(view, index < obj->n_sym ? obj->first_sym + index : CV_NONE, CV_R_LINK_REFERENCE, index,
                    tlv->code);
        return true; /* the link ends with this stage */
    }
    ok = add_word(view, osym, true);
    for (uint32_t i = 1; i < record.count && ok; i++)
        ok = add_word(view, cv_u32_at(span, tlv->payload + 4 * (uint64_t)i), false);
    return ok && add_record(view, &record);
}

/* A record that no stage makes anew: as it is, but for its symbol. isec: the section it lies in. */
static bool copy_plain(info_describer *describer, cv_id isec, cv_span span, const cv_tlv *tlv)
{
    const cv_view_info_records *view = describer->view;
    const cv_attr *row = cv_attr_get(tlv->code);
    bool words = tlv->format == CV_TLV_SVAL && tlv->value >= 4 && tlv->value % 4 == 0;

    switch (row ? (cv_attr_words)row->words : CV_WORDS_MERGED) {
    case CV_WORDS_PLAIN:
    case CV_WORDS_TEXT:
    case CV_WORDS_ZERO: return add_raw(view, span, tlv);
    case CV_WORDS_FUNC:
    case CV_WORDS_SYM:
    case CV_WORDS_SECTION:
        if (words)
            return add_renumbered(describer, cv_l_obj(view, cv_l_isec(view, isec)->obj), span, tlv);
        break;
    case CV_WORDS_FUNCS:
    case CV_WORDS_MERGED: break;
    }
    cv_link_say_section(view, isec, CV_R_LINK_ATTR, tlv->code);
    return true;
}

/* One record of a function, as it comes out. kernel: in a final link. */
static bool copy_record(info_describer *describer, cv_id fn, cv_span span, const cv_tlv *tlv,
                        kernel_facts *facts)
{
    const cv_view_info_records *view = describer->view;
    const cv_lfn *function = cv_l_fn(view, fn);
    const cv_lobj *obj = cv_l_obj(view, cv_l_isym(view, function->def)->obj);

    cv_heir row = cv_heir_of(tlv->code);

    if (tlv->code == CV_ATTR_EXPLICIT_CLUSTER && cv_l_has(view, CV_GEN_REMAKES_CODE) &&
        obj->cubin.has_capsule)
        cv_link_say(view, function->def, CV_R_LINK_OTHER_CODE, 0, 0);
    /* Ours would be older than this record. A file without a version of its own was admitted without one. */
    if (tlv->code == CV_ATTR_CUDA_API_VERSION && cv_u32_at(span, tlv->payload) > CV_ADMIT_TOOLKIT)
        cv_link_say(view, function->def, CV_R_ADMIT_TOOLKIT_NEWER, cv_u32_at(span, tlv->payload),
                    CV_ADMIT_TOOLKIT);
    if (tlv->code == CV_ATTR_EXTERNS)
        return (facts && !facts->in_place) || describer->list.count == 0 || cv_d_add_externs(describer);
    if (tlv->code == CV_ATTR_PARAM_CBANK && tlv->format == CV_TLV_SVAL && tlv->value == 8) {
        uint32_t bank = cv_u32_at(span, tlv->payload);
        cv_id osym = cv_l_output_symbol(view, obj, bank);

        if (osym != CV_NONE && cv_l_osym(view, osym)->is_section &&
            cv_l_osec(view, cv_l_osym(view, osym)->sec)->infosec ==
                cv_l_fn_out(view, function->id)->sec) /* its own */
            return add_pair(view, tlv->code, osym, cv_u32_at(span, tlv->payload + 4));
        cv_link_say(view, function->def, CV_R_LINK_REFERENCE, bank, tlv->code);
        return true; /* said: the link ends with this stage */
    }
    if (row < CV_N_HEIR && tlv->format == cv_heir_get(row)->format) {
        if (facts)
            return cv_d_own_record(describer, fn, row, facts);
        if (cv_heir_get(row)->leaves && !view->options->relocatable)
            return true; /* the kernels that reach it have it */
    }
    return copy_plain(describer, cv_l_isec(view, cv_l_isym(view, function->def)->sec)->info_sec, span, tlv);
}

/* What the reference writes anew with the code comes last. */
static bool is_late(const cv_view_info_records *view, uint8_t code)
{
    return cv_l_has(view, CV_GEN_LATE_RECORDS) &&
           (code == CV_ATTR_CBANK_PARAM_SIZE || code == CV_ATTR_PARAM_CBANK || code == CV_ATTR_SW_WAR);
}

static bool copy_records(info_describer *describer, cv_id fn, kernel_facts *facts, bool late)
{
    cv_span span = cv_d_info_body(describer->view, cv_l_fn(describer->view, fn));
    uint64_t pos = 0;
    bool ok = true;
    cv_tlv tlv;

    for (; ok && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        if (is_late(describer->view, tlv.code) == late)
            ok = copy_record(describer, fn, span, &tlv, facts);
    }
    return ok;
}

static void turn_round(const cv_view_info_records *view, uint64_t first)
{
    for (uint64_t head = first, tail = view->records->rec.count; tail > head + 1; head++, tail--) {
        cv_irec record = *cv_irecs_at(&view->records->rec, head);

        *cv_irecs_at(&view->records->rec, head) = *cv_irecs_at(&view->records->rec, tail - 1);
        *cv_irecs_at(&view->records->rec, tail - 1) = record;
    }
}

/* What its records do not say of a function that is not a kernel. */
static bool say_what_it_does_not(const cv_view_info_records *view, const cv_fn_usage *usage)
{
    return (!usage->marked || cv_d_add_value(view, CV_H_SPARSE_MMA_MASK, CV_SPARSE_SILENT)) &&
           (!usage->flag_bars || cv_link_keeps_barriers(view->options) ||
            cv_d_add_value(view, CV_H_NUM_BARRIERS, cv_trait(&usage->own, CV_H_NUM_BARRIERS)));
}

/* Records of one function: forwards into the list, then turned round. */
static cuvet_status describe_function(info_describer *describer, cv_id fn)
{
    const cv_view_info_records *view = describer->view;
    const cv_lfn *function = cv_l_fn(view, fn);
    cv_oinfo out = { .fn = fn, .sec = CV_NONE, .first = view->records->rec.count };
    bool kernel = function->kernel && !view->options->relocatable, ok;
    kernel_facts facts = { .told = cv_l_fn_usage(view, function->id)->own.has };

    if (cv_l_fn_usage(view, function->id)->flag_bars)
        facts.told &= ~CV_H_BIT(CV_H_NUM_BARRIERS);
    if (cv_l_fn_usage(view, function->id)->marked)
        facts.told &= ~CV_H_BIT(CV_H_SPARSE_MMA_MASK);
    cv_d_new_list(describer);
    ok = kernel ? cv_d_find_facts(describer, fn, &facts) : cv_d_list_kept(describer, function);
    ok = ok && copy_records(describer, fn, kernel ? &facts : NULL, false);
    turn_round(view, out.first);
    if (ok && kernel)
        ok = cv_d_missing(describer, fn, &facts);
    else if (ok)
        ok = say_what_it_does_not(view, cv_l_fn_usage(view, function->id));
    if (ok && kernel)
        out.barriers = cv_d_kept_barriers(describer, fn, &facts);
    ok = ok && copy_records(describer, fn, kernel ? &facts : NULL, true);
    if (ok && cv_l_has(view, CV_GEN_BINDLESS_RECORDS) && cv_l_fn_memory(view, function->id)->slots)
        ok = add_bindless(view, CV_ATTR_BINDLESS_TEXTURE_BANK) &&
             add_bindless(view, CV_ATTR_BINDLESS_SURFACE_BANK);
    cv_keys_free(&view->ctx->mem, &facts.below);
    out.count = view->records->rec.count - out.first;
    return ok && cv_oinfos_push(&view->ctx->mem, &view->records->oinfo, out) ? CUVET_OK : cv_l_nomem(view);
}

/* A kernel may say how much stack it has at most; the record itself stays in an object only. */
static void check_stack(const cv_view_info_records *view, const cv_lfn *function, uint32_t most)
{
    uint64_t stack = cv_l_fn_usage(view, function->id)->stack;

    if (function->kernel && most != 0 && stack > most)
        cv_link_say(view, function->def, CV_R_LINK_STACK_LIMIT, stack, most);
}

/* The record of the program: what it keeps of each object, the last one first. */
static bool copy_global(info_describer *describer, const cv_lobj *obj, cv_span span, const cv_tlv *tlv)
{
    const cv_view_info_records *view = describer->view;
    uint32_t index = cv_u32_at(span, tlv->payload), value = cv_u32_at(span, tlv->payload + 4);
    const cv_isym *sym;
    const cv_lfn *function;

    if (tlv->code != CV_ATTR_FRAME_SIZE && tlv->code != CV_ATTR_REGCOUNT &&
        tlv->code != CV_ATTR_MAX_STACK_SIZE && tlv->code != CV_ATTR_MIN_STACK_SIZE)
        return copy_plain(describer, obj->first_sec + (cv_id)obj->info, span, tlv);
    if (index >= obj->n_sym)
        return true;
    sym = cv_l_isym(view, obj->first_sym + index);
    if (cv_l_fn_of(view, sym->id) == CV_NONE)
        return true;
    function = cv_l_fn(view, cv_l_fn_of(view, sym->id));
    if (function->def != obj->first_sym + index || !cv_l_fn_calls(view, function->id)->live)
        return true;
    if (tlv->code == CV_ATTR_MAX_STACK_SIZE && !view->options->relocatable) {
        check_stack(view, function, value);
        return true;
    }
    if (tlv->code == CV_ATTR_REGCOUNT && function->kernel && !view->options->relocatable)
        value = cv_l_fn_usage(view, function->id)->all_regs;
    return add_pair(view, tlv->code, cv_l_out_of(view, sym->id), value);
}

static cuvet_status describe_program(info_describer *describer)
{
    const cv_view_info_records *view = describer->view;
    uint64_t first = view->records->rec.count;
    bool ok = true;

    for (cv_id i = 0; i < view->inputs->obj.count && ok; i++) {
        const cv_lobj *obj = cv_l_obj(view, i);
        cv_span span = cv_cubin_body(&obj->cubin, obj->info);
        uint64_t pos = 0;
        cv_tlv tlv;

        for (; ok && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next)
            ok = copy_global(describer, obj, span, &tlv);
    }
    turn_round(view, first);
    for (int global = 0; global < 2 && ok && !view->options->relocatable; global++) {
        const cv_u32s *list = global ? &view->out->globals : &view->out->locals;

        for (uint64_t i = 0; i < list->count && ok; i++) {
            cv_id id = *cv_u32s_get(list, i), fn = cv_l_osym(view, id)->fn;
            const cv_lfn *function = fn == CV_NONE ? NULL : cv_l_fn(view, fn);

            if (function && function->kernel && function->def != CV_NONE &&
                cv_l_fn_calls(view, function->id)->live && cv_l_fn_out(view, function->id)->sym == id)
                ok = add_pair(view, CV_ATTR_MIN_STACK_SIZE, id,
                              (uint32_t)cv_l_fn_usage(view, function->id)->stack);
        }
    }
    view->records->program_first = first;
    view->records->program_n = view->records->rec.count - first;
    return ok ? CUVET_OK : cv_l_nomem(view);
}

static bool may_tell(const cv_view_info_records *view, const cv_lfn *function)
{
    return function->def != CV_NONE && !function->kernel && cv_l_fn_usage(view, function->id)->has_info;
}

/* A function is heard of when it has something that a kernel has no record of, words to join, or symbols that
 * somebody else has to provide; where there are such, also when it has a list of which nothing stays, because
 * the list of a kernel may stand in its place. With a single kernel nobody asks who reaches what. */
static cuvet_status find_tellers(info_describer *describer)
{
    const cv_view_info_records *view = describer->view;
    uint32_t words = cv_heir_bits(CV_RULE_WORDS), names = cv_heir_bits(CV_RULE_NAMES);
    uint8_t any = 0, lists;
    bool ok = cv_u32s_fill(&view->ctx->mem, &describer->only, view->functions->fn.count) &&
              cv_u8s_fill(&view->ctx->mem, &describer->tells, cv_max(view->functions->fn.count, 1));

    for (cv_id i = 0; i < view->functions->fn.count; i++)
        if (cv_l_is_kernel(view, i)) {
            describer->n_kernels++;
            describer->lacked |= ~cv_l_fn_usage(view, i)->own.has;
            if (cv_l_fn_usage(view, i)->flag_bars) /* no record tells them */
                describer->lacked |= CV_H_BIT(CV_H_NUM_BARRIERS);
        }
    for (cv_id i = 0; i < view->functions->fn.count && ok; i++) {
        if (!may_tell(view, cv_l_fn(view, i)))
            continue;
        ok = cv_d_look_at_lists(describer, cv_l_fn(view, i), cv_u8s_at(&describer->tells, i));
        any |= *cv_u8s_at(&describer->tells, i);
    }
    lists = any & CV_D_KEEPS ? CV_D_KEEPS | CV_D_NAMES : 0;
    for (cv_id i = 0; i < view->functions->fn.count && ok; i++)
        *cv_u32s_at(&describer->only, i) =
            may_tell(view, cv_l_fn(view, i)) &&
            (*cv_u8s_at(&describer->tells, i) & lists ||
             cv_l_fn_usage(view, i)->own.has & (words | (describer->lacked & ~names)));
    return ok ? cv_calls_above(view->ctx, view->calls, &describer->only) : cv_l_nomem(view);
}

static cuvet_status describe_functions(info_describer *describer)
{
    const cv_view_info_records *view = describer->view;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < view->functions->fn.count && st == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->def == CV_NONE || !cv_l_fn_calls(view, function->id)->live ||
            !cv_l_fn_usage(view, function->id)->has_info ||
            cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->fn != i)
            continue;
        st = describe_function(describer, i);
    }
    return st;
}

cuvet_status cv_stage_info_records(const cv_view_info_records *view)
{
    cv_mem *mem = &view->ctx->mem;
    info_describer describer = { .view = view };
    cuvet_status st;

    if (!cv_u32s_fill(mem, &describer.mark, cv_max(view->out->osym.count, 1)))
        st = cv_l_nomem(view);
    else
        st = view->options->relocatable ? CUVET_OK : find_tellers(&describer);
    if (st == CUVET_OK)
        st = describe_functions(&describer);
    if (st == CUVET_OK)
        st = describe_program(&describer);
    cv_u32s_free(mem, &describer.list);
    cv_u32s_free(mem, &describer.words);
    cv_walk_below_end(mem, &describer.below);
    cv_u32s_free(mem, &describer.only);
    cv_u8s_free(mem, &describer.tells);
    cv_u32s_free(mem, &describer.mark);
    return st;
}

/* Is word 'index' of a payload a symbol, as the table of attributes has it? */
static bool is_symbol_word(const cv_irec *record, uint64_t index)
{
    const cv_attr *row = cv_attr_get(record->code);

    switch (row ? (cv_attr_words)row->words : CV_WORDS_MERGED) {
    case CV_WORDS_PLAIN:
    case CV_WORDS_TEXT:
    case CV_WORDS_ZERO: return false;
    case CV_WORDS_FUNCS: return true;
    case CV_WORDS_FUNC:
    case CV_WORDS_SYM:
    case CV_WORDS_SECTION:
    case CV_WORDS_MERGED:
    default: return index == 0;
    }
}

static bool record_holds(const cv_check_info_records *view, const cv_irec *record)
{
    if (record->raw) /* bytes of an input: nothing in them was renumbered */
        return record->bytes.len <= UINT16_MAX && !is_symbol_word(record, 0);
    if (record->count == 0)
        return true;
    if (cv_sat_add(record->first, record->count) > view->records->word.count ||
        record->count > UINT16_MAX / 4)
        return false;
    for (uint64_t i = 0; i < record->count; i++) {
        const cv_iword *word = cv_iwords_get(&view->records->word, record->first + i);

        if (word->symbol != is_symbol_word(record, i) ||
            (word->symbol && word->value >= view->out->osym.count))
            return false;
    }
    return true;
}

static bool has_records(const cv_check_info_records *view, cv_id fn)
{
    const cv_lfn *function;

    if (fn >= view->functions->fn.count)
        return false;
    function = cv_l_fn(view, fn);
    return function->def != CV_NONE && cv_l_fn_calls(view, function->id)->live &&
           cv_l_fn_usage(view, function->id)->has_info &&
           cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->fn == fn;
}

/* The value of a record, wherever it stands. */
static uint32_t value_of(const cv_check_info_records *view, const cv_irec *record)
{
    if (record->raw)
        return record->bytes.len >= 4 ? cv_u32_at(record->bytes, 0) : 0;
    if (record->count)
        return cv_iwords_get(&view->records->word, record->first)->value;
    return record->value;
}

/* Where there is one kernel alone, the reference leaves what that says of these itself; and nobody hears of
 * numbers that are 0. */
static bool tells_enough(cv_heir row, uint32_t told, uint32_t want, bool only)
{
    switch ((cv_heir_rule)cv_heir_get(row)->rule) {
    case CV_RULE_MOST:
    case CV_RULE_BITS: return told == want || (only && told < want);
    case CV_RULE_SUM:
    case CV_RULE_PATH: return told == want;
    case CV_RULE_ANY:
    case CV_RULE_WORDS:
    case CV_RULE_NAMES: break;
    }
    return true;
}

/* A kernel tells all that it inherits; what leaves a function is not told by it. */
static bool heirs_hold(const cv_check_info_records *view, const cv_oinfo *info, bool only)
{
    const cv_lfn *function = cv_l_fn(view, info->fn);
    uint32_t told = cv_heir_bits(CV_RULE_NAMES);

    for (uint64_t i = info->first; i < info->first + info->count; i++) {
        const cv_irec *record = cv_irecs_get(&view->records->rec, i);
        cv_heir row = cv_heir_of(record->code);

        if (row >= CV_N_HEIR || record->format != cv_heir_get(row)->format)
            continue;
        if (!function->kernel && cv_heir_get(row)->leaves && cv_heir_get(row)->rule != CV_RULE_NAMES)
            return false;
        if (function->kernel && !tells_enough(row, value_of(view, record),
                                              cv_trait(&cv_l_fn_usage(view, function->id)->all, row), only))
            return false;
        told |= CV_H_BIT(row);
    }
    for (unsigned i = 0; i < CV_N_HEIR && function->kernel; i++)
        if (cv_l_fn_usage(view, function->id)->all.has & ~told & CV_H_BIT(i) &&
            (cv_trait(&cv_l_fn_usage(view, function->id)->all, i) ||
             cv_heir_get((cv_heir)i)->rule == CV_RULE_ANY))
            return false;
    return true;
}

static uint64_t count_kernels(const cv_check_info_records *view)
{
    uint64_t count = 0;

    for (cv_id i = 0; i < view->functions->fn.count; i++)
        count += cv_l_is_kernel(view, i);
    return count;
}

/* Records of the functions one after the other, those of the program behind them; words and symbols exist;
 * every function that had records has some. */
bool cv_stage_info_records_holds(const cv_check_info_records *view)
{
    uint64_t at = 0, functions = 0, kernels = count_kernels(view);

    for (uint64_t i = 0; i < view->records->oinfo.count; i++) {
        const cv_oinfo *info = cv_oinfos_get(&view->records->oinfo, i);

        if (info->first != at || !has_records(view, info->fn))
            return false;
        at = cv_sat_add(at, info->count);
        if (at > view->records->rec.count ||
            (!view->options->relocatable && !heirs_hold(view, info, kernels == 1)))
            return false;
    }
    if (view->records->program_first != at ||
        cv_sat_add(at, view->records->program_n) != view->records->rec.count)
        return false;
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        functions += has_records(view, i);
    if (functions != view->records->oinfo.count)
        return false;
    for (uint64_t i = 0; i < view->records->rec.count; i++)
        if (!record_holds(view, cv_irecs_get(&view->records->rec, i)))
            return false;
    return true;
}
