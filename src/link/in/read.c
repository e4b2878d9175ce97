/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage read: sections, symbols, register and frame counts, prototypes of every input. */
#include "format/meta/read.h"
#include "format/tlv/read.h"
#include "link/in/link.h"

static bool is_per_function(cv_role role)
{
    return role == CV_ROLE_NV_INFO_FN || role == CV_ROLE_CONSTANT_FN || role == CV_ROLE_SHARED_FN ||
           role == CV_ROLE_REL || role == CV_ROLE_RELA;
}

static cuvet_status read_section(const cv_view_read *view, cv_id obj, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(&cv_l_obj(view, obj)->cubin, index);
    cv_isec isec = { .obj = obj,
                     .index = index,
                     .type = sec->header.type,
                     .link = sec->header.link,
                     .info = sec->header.info,
                     .flags = sec->header.flags,
                     .written_flags = sec->header.flags,
                     .size = sec->header.size,
                     .align = sec->header.align,
                     .entsize = sec->header.entsize,
                     .id = (cv_id)view->inputs->isec.count,
                     .info_sec = CV_NONE };

    /* tools before 12.0 leave it out, and newer linkers for the parameters of their kernels */
    if (sec->role == CV_ROLE_CONSTANT_FN || (cv_l_obj(view, obj)->cubin.legacy && is_per_function(sec->role)))
        isec.flags |= CV_SHF_INFO_LINK;
    isec.name = cv_l_name(view, sec->name);
    if (isec.name == CV_NONE || !cv_isecs_push(&view->ctx->mem, &view->inputs->isec, isec))
        return cv_l_nomem(view);
    return CUVET_OK;
}

static cuvet_status read_symbol(const cv_view_read *view, cv_id object, uint32_t index)
{
    const cv_lobj *obj = cv_l_obj(view, object);
    cv_elf_symbol symbol;
    cv_span name = cv_span_of(NULL, 0, 0);
    uint32_t shndx;
    cv_id likely;
    cv_isym sym = {
        .obj = object, .index = index, .id = (cv_id)view->inputs->isym.count, .proto = CV_NONE, .sec = CV_NONE
    };

    cv_elf_read_symbol(obj->cubin.symtab, false, index, &symbol);
    if (!cv_span_cstr(obj->cubin.strtab, symbol.name, &name))
        name.len = 0;
    shndx = cv_cubin_shndx(&obj->cubin, false, index, &symbol);
    sym.info = symbol.info;
    sym.other = symbol.other;
    sym.value = symbol.value;
    sym.size = symbol.size;
    if (cv_cubin_is_array(&obj->cubin, &symbol, shndx))
        shndx = CV_SHN_UNDEF;
    sym.defined = shndx != CV_SHN_UNDEF;
    sym.common = symbol.shndx == CV_SHN_COMMON;
    if (!sym.common && shndx > 0 && shndx < obj->n_sec)
        sym.sec = obj->first_sec + shndx;
    likely = cv_l_type(&sym) == CV_STT_SECTION && sym.sec != CV_NONE ? cv_l_isec(view, sym.sec)->name
                                                                     : view->names->empty;
    sym.name = cv_in_name_like(view->ctx, view->names, name, likely);
    if (sym.name == CV_NONE || !cv_isyms_push(&view->ctx->mem, &view->inputs->isym, sym))
        return cv_l_nomem(view);
    return CUVET_OK;
}

/* Register and frame counts are records of the object, not of the function. */
static void read_counts(const cv_view_read *view, const cv_lobj *obj)
{
    cv_span span = cv_cubin_body(&obj->cubin, obj->info);
    uint64_t pos = 0;
    cv_tlv tlv;

    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        uint32_t sym = cv_u32_at(span, tlv.payload), value = cv_u32_at(span, tlv.payload + 4);

        if (tlv.format != CV_TLV_SVAL || tlv.value != 8 || sym >= obj->n_sym)
            continue;
        if (tlv.code == CV_ATTR_REGCOUNT) {
            cv_l_isym(view, obj->first_sym + sym)->regs = value;
            cv_l_isym(view, obj->first_sym + sym)->counted = true;
        } else if (tlv.code == CV_ATTR_FRAME_SIZE) {
            cv_l_isym(view, obj->first_sym + sym)->frame = value;
        }
    }
}

static cuvet_status set_proto(const cv_view_read *view, const cv_lobj *obj, uint32_t sym, uint32_t string,
                              bool replace)
{
    cv_isym *isym;
    cv_span text;
    cv_id name;

    if (sym >= obj->n_sym || !cv_span_cstr(obj->cubin.strtab, string, &text))
        return CUVET_OK; /* examined: reported there */
    name = cv_l_name(view, text);
    if (name == CV_NONE)
        return cv_l_nomem(view);
    isym = cv_l_isym(view, obj->first_sym + sym);
    if (replace || isym->proto == CV_NONE)
        isym->proto = name;
    return CUVET_OK;
}

static cuvet_status read_protos(const cv_view_read *view, const cv_lobj *obj)
{
    cv_span graph = cv_cubin_body(&obj->cubin, obj->callgraph),
            table = cv_cubin_body(&obj->cubin, obj->prototype);
    cuvet_status status = CUVET_OK;
    cv_call_cur cur = { .loose = obj->cubin.hand || obj->cubin.legacy };
    uint64_t pos = 0;
    cv_proto proto;
    cv_call call;

    while (status == CUVET_OK && cv_prototype_next(view->ctx, table, &pos, &proto) == CUVET_OK)
        status = set_proto(view, obj, proto.symbol, proto.string, true);
    while (status == CUVET_OK && obj->callgraph &&
           cv_callgraph_next(view->ctx, graph, &cur, &call) == CUVET_OK)
        if (call.part == CV_CALL_ADDRESS)
            status = set_proto(view, obj, call.from, call.to, false);
    return status;
}

static void find_tables(cv_lobj *obj)
{
    const cv_cubin *cubin = &obj->cubin;

    obj->info = cv_cubin_first(cubin, CV_ROLE_NV_INFO);
    obj->callgraph = cv_cubin_first(cubin, CV_ROLE_CALLGRAPH);
    obj->prototype = cv_cubin_first(cubin, CV_ROLE_PROTOTYPE);
    obj->compat = cv_cubin_first(cubin, CV_ROLE_COMPAT);
    obj->tkinfo = cv_cubin_first(cubin, CV_ROLE_TKINFO);
    obj->cuinfo = cv_cubin_first(cubin, CV_ROLE_CUINFO);
}

/* The records of code are those of the last section that names it. */
static void find_infos(const cv_view_read *view, const cv_lobj *obj)
{
    for (cv_id i = 1; i < obj->n_sec; i++) {
        uint32_t code = cv_l_isec(view, obj->first_sec + i)->info;

        if (cv_cubin_sec(&obj->cubin, i)->role == CV_ROLE_NV_INFO_FN && code < obj->n_sec)
            cv_l_isec(view, obj->first_sec + code)->info_sec = obj->first_sec + i;
    }
}

static cuvet_status read_object(const cv_view_read *view, cv_id id)
{
    cv_lobj *obj = cv_l_obj(view, id);
    uint64_t n_sec = obj->cubin.sec.count, n_sym = obj->cubin.n_syms;
    cuvet_status status = CUVET_OK;

    if (view->inputs->isec.count + n_sec >= CV_NONE || view->inputs->isym.count + n_sym >= CV_NONE)
        return cv_reject(view->ctx, CV_R_LIMIT_SECTIONS, 0, view->inputs->isec.count + n_sec, CV_NONE);
    find_tables(obj);
    obj->first_sec = (cv_id)view->inputs->isec.count;
    obj->first_sym = (cv_id)view->inputs->isym.count;
    obj->n_sec = (cv_id)n_sec;
    obj->n_sym = (cv_id)n_sym;
    for (uint32_t k = 0; k < n_sec && status == CUVET_OK; k++)
        status = read_section(view, id, k);
    for (uint32_t k = 0; k < n_sym && status == CUVET_OK; k++)
        status = read_symbol(view, id, k);
    if (status == CUVET_OK) {
        find_infos(view, obj);
        read_counts(view, obj);
        status = read_protos(view, obj);
    }
    view->inputs->progress |= cv_cubin_promises_progress(&obj->cubin);
    return status;
}

/* What of the inputs does not get into the output is said. */
static void tell_capsules(const cv_view_read *view)
{
    uint64_t count = 0;

    for (cv_id i = 0; i < view->inputs->obj.count; i++)
        count += cv_l_obj(view, i)->cubin.has_capsule;
    if (count)
        cv_link_say(view, CV_NONE, CV_R_LINK_CAPSULE, count, view->inputs->obj.count);
}

/* Compiled with -G: nothing else makes this section. */
static bool is_for_debugger(const cv_view_read *view, const cv_lobj *obj)
{
    for (cv_id i = 0; i < obj->n_sec; i++)
        if (cv_span_eq_str(cv_l_text(view, cv_l_isec(view, obj->first_sec + i)->name),
                           ".nv_debug_info_reg_sass"))
            return true;
    return false;
}

/* An input, as a whole. */
static void say_debug(const cv_view_read *view, cv_id obj, bool got, bool want)
{
    view->ctx->path.n = 0;
    cv_path_push(view->ctx, CUVET_P_MEMBER, true, obj);
    cv_report(view->ctx, CV_R_LINK_OTHER_DEBUG, 0, 0, got, want);
    view->ctx->path.n = 0;
}

/* Where the reference makes code again, it makes it for the debugger or not, whatever it was before. */
static cuvet_status tell_debug(const cv_view_read *view)
{
    cv_u8s made = { 0 };
    bool any = view->options->debug;
    cuvet_status status = CUVET_OK;

    if (!cv_l_has(view, CV_GEN_REMAKES_CODE))
        return CUVET_OK;
    if (!cv_work(view->ctx, view->inputs->isec.count, 0))
        return CUVET_E_LIMIT;
    if (!cv_u8s_fill(&view->ctx->mem, &made, view->inputs->obj.count))
        status = cv_nomem(view->ctx, 0);
    for (cv_id i = 0; i < view->inputs->obj.count && status == CUVET_OK; i++) {
        *cv_u8s_at(&made, i) = is_for_debugger(view, cv_l_obj(view, i));
        any = any || *cv_u8s_at(&made, i);
    }
    for (cv_id i = 0; i < view->inputs->obj.count && status == CUVET_OK; i++) {
        const cv_cubin *cubin = &cv_l_obj(view, i)->cubin;
        bool kept_debug = *cv_u8s_at(&made, i);

        if (cubin->has_capsule && cv_cubin_first(cubin, CV_ROLE_TEXT) &&
            (kept_debug ? !view->options->debug && !view->options->relocatable : any))
            say_debug(view, i, kept_debug, !kept_debug);
    }
    cv_u8s_free(&view->ctx->mem, &made);
    return status;
}

/* How much there is, is known from the examination. Of names, half of it is new as a rule. */
static cuvet_status make_room(const cv_view_read *view)
{
    uint64_t n_sec = 0, n_sym = 0;
    cv_mem *mem = &view->ctx->mem;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        n_sec += cv_l_obj(view, i)->cubin.sec.count;
        n_sym += cv_l_obj(view, i)->cubin.n_syms;
    }
    if (n_sec >= CV_NONE || n_sym >= CV_NONE) /* read_object() says it */
        return CUVET_OK;
    return cv_isecs_room(mem, &view->inputs->isec, n_sec) && cv_isyms_room(mem, &view->inputs->isym, n_sym) &&
                   cv_names_room(mem, &view->names->set, (n_sec + n_sym) / 2)
               ? CUVET_OK
               : cv_l_nomem(view);
}

cuvet_status cv_stage_read(const cv_view_read *view)
{
    cuvet_status status = make_room(view);

    tell_capsules(view);

    for (cv_id i = 0; i < view->inputs->obj.count && status == CUVET_OK; i++)
        status = read_object(view, i);
    return status == CUVET_OK ? tell_debug(view) : status;
}

/* Symbols and sections of the inputs lie end to end; what they name is in their own object. */
bool cv_stage_read_holds(const cv_check_read *view)
{
    uint64_t secs = 0, syms = 0;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        const cv_lobj *obj = cv_l_obj(view, i);

        if (obj->first_sec != secs || obj->first_sym != syms)
            return false;
        secs += obj->n_sec;
        syms += obj->n_sym;
        if (secs > view->inputs->isec.count || syms > view->inputs->isym.count)
            return false;
        for (cv_id k = obj->first_sec; k < secs; k++)
            if (cv_l_isec(view, k)->obj != i || cv_l_isec(view, k)->id != k ||
                cv_l_isec(view, k)->name >= view->names->set.list.count)
                return false;
        for (cv_id k = obj->first_sym; k < syms; k++) {
            const cv_isym *sym = cv_l_isym(view, k);

            if (sym->obj != i || sym->id != k || sym->name >= view->names->set.list.count ||
                !cv_l_below(sym->proto, view->names->set.list.count) ||
                (sym->sec != CV_NONE && (sym->sec < obj->first_sec || sym->sec >= secs)))
                return false;
        }
    }
    return secs == view->inputs->isec.count && syms == view->inputs->isym.count;
}
