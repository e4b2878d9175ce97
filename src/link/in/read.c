/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage read: sections, symbols, register and frame counts, prototypes of every input. */
#include "format/meta/read.h"
#include "format/tlv/read.h"
#include "link/in/stages.h"

static bool is_per_function(cv_role r)
{
    return r == CV_ROLE_NV_INFO_FN || r == CV_ROLE_CONSTANT_FN || r == CV_ROLE_SHARED_FN ||
           r == CV_ROLE_REL || r == CV_ROLE_RELA;
}

static cuvet_status read_section(cv_link *l, cv_id o, uint32_t i)
{
    const cv_sec *s = cv_cubin_sec(&cv_l_obj(l, o)->cubin, i);
    cv_isec e = { .obj = o,
                  .index = i,
                  .type = s->h.type,
                  .link = s->h.link,
                  .info = s->h.info,
                  .flags = s->h.flags,
                  .size = s->h.size,
                  .align = s->h.align,
                  .entsize = s->h.entsize,
                  .out = CV_NONE,
                  .info_sec = CV_NONE };

    if (cv_l_obj(l, o)->cubin.legacy && is_per_function(s->role)) /* tools before 12.0 leave it out */
        e.flags |= CV_SHF_INFO_LINK;
    e.name = cv_l_name(l, s->name);
    if (e.name == CV_NONE || !cv_isecs_push(&l->x->mem, &l->isec, e))
        return cv_l_nomem(l);
    return CUVET_OK;
}

static cuvet_status read_symbol(cv_link *l, cv_id o, uint32_t i)
{
    const cv_lobj *obj = cv_l_obj(l, o);
    cv_elf_symbol s;
    cv_span name = cv_span_of(NULL, 0, 0);
    uint32_t shndx;
    cv_isym e = { .obj = o,
                  .index = i,
                  .out = CV_NONE,
                  .fn = CV_NONE,
                  .next = CV_NONE,
                  .proto = CV_NONE,
                  .sec = CV_NONE,
                  .shared_sec = CV_NONE,
                  .var = CV_NONE };

    cv_elf_read_symbol(obj->cubin.symtab, false, i, &s);
    if (!cv_span_cstr(obj->cubin.strtab, s.name, &name))
        name.len = 0;
    shndx = cv_cubin_shndx(&obj->cubin, false, i, &s);
    e.info = s.info;
    e.other = s.other;
    e.value = s.value;
    e.size = s.size;
    e.defined = shndx != CV_SHN_UNDEF;
    e.common = s.shndx == CV_SHN_COMMON;
    if (!e.common && shndx > 0 && shndx < obj->n_sec)
        e.sec = obj->first_sec + shndx;
    e.name = cv_l_name(l, name);
    if (e.name == CV_NONE || !cv_isyms_push(&l->x->mem, &l->isym, e))
        return cv_l_nomem(l);
    return CUVET_OK;
}

/* Register and frame counts are records of the object, not of the function. */
static void read_counts(cv_link *l, const cv_lobj *o)
{
    cv_span s = cv_cubin_body(&o->cubin, o->info);
    uint64_t pos = 0;
    cv_tlv t;

    for (; cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        uint32_t sym = cv_u32_at(s, t.payload), value = cv_u32_at(s, t.payload + 4);

        if (t.format != CV_TLV_SVAL || t.value != 8 || sym >= o->n_sym)
            continue;
        if (t.code == CV_ATTR_REGCOUNT) {
            cv_l_isym(l, o->first_sym + sym)->regs = value;
            cv_l_isym(l, o->first_sym + sym)->counted = true;
        } else if (t.code == CV_ATTR_FRAME_SIZE) {
            cv_l_isym(l, o->first_sym + sym)->frame = value;
        }
    }
}

static cuvet_status set_proto(cv_link *l, const cv_lobj *o, uint32_t sym, uint32_t string, bool replace)
{
    cv_isym *s;
    cv_span text;
    cv_id name;

    if (sym >= o->n_sym || !cv_span_cstr(o->cubin.strtab, string, &text))
        return CUVET_OK; /* examined: reported there */
    name = cv_l_name(l, text);
    if (name == CV_NONE)
        return cv_l_nomem(l);
    s = cv_l_isym(l, o->first_sym + sym);
    if (replace || s->proto == CV_NONE)
        s->proto = name;
    return CUVET_OK;
}

static cuvet_status read_protos(cv_link *l, const cv_lobj *o)
{
    cv_span graph = cv_cubin_body(&o->cubin, o->callgraph), table = cv_cubin_body(&o->cubin, o->prototype);
    cuvet_status s = CUVET_OK;
    cv_call_cur cur = { .loose = o->cubin.hand || o->cubin.legacy };
    uint64_t pos = 0;
    cv_proto p;
    cv_call c;

    while (s == CUVET_OK && cv_prototype_next(l->x, table, &pos, &p) == CUVET_OK)
        s = set_proto(l, o, p.symbol, p.string, true);
    while (s == CUVET_OK && o->callgraph && cv_callgraph_next(l->x, graph, &cur, &c) == CUVET_OK)
        if (c.part == CV_CALL_ADDRESS)
            s = set_proto(l, o, c.from, c.to, false);
    return s;
}

static void find_tables(cv_lobj *o)
{
    const cv_cubin *c = &o->cubin;

    o->info = cv_cubin_first(c, CV_ROLE_NV_INFO);
    o->callgraph = cv_cubin_first(c, CV_ROLE_CALLGRAPH);
    o->prototype = cv_cubin_first(c, CV_ROLE_PROTOTYPE);
    o->compat = cv_cubin_first(c, CV_ROLE_COMPAT);
    o->tkinfo = cv_cubin_first(c, CV_ROLE_TKINFO);
    o->cuinfo = cv_cubin_first(c, CV_ROLE_CUINFO);
}

static cuvet_status read_object(cv_link *l, cv_id i)
{
    cv_lobj *o = cv_l_obj(l, i);
    uint64_t n_sec = o->cubin.sec.n, n_sym = o->cubin.n_syms;
    cuvet_status s = CUVET_OK;

    if (l->isec.n + n_sec >= CV_NONE || l->isym.n + n_sym >= CV_NONE)
        return cv_reject(l->x, CV_R_LIMIT_SECTIONS, 0, l->isec.n + n_sec, CV_NONE);
    find_tables(o);
    o->first_sec = (cv_id)l->isec.n;
    o->first_sym = (cv_id)l->isym.n;
    o->n_sec = (cv_id)n_sec;
    o->n_sym = (cv_id)n_sym;
    for (uint32_t k = 0; k < n_sec && s == CUVET_OK; k++)
        s = read_section(l, i, k);
    for (uint32_t k = 0; k < n_sym && s == CUVET_OK; k++)
        s = read_symbol(l, i, k);
    if (s == CUVET_OK) {
        read_counts(l, o);
        s = read_protos(l, o);
    }
    return s;
}

/* What of the inputs does not get into the output is said. */
static void tell_capsules(cv_link *l)
{
    uint64_t n = 0;

    for (cv_id i = 0; i < l->obj.n; i++)
        n += cv_l_obj(l, i)->cubin.has_capsule;
    if (n)
        cv_link_say(l, CV_NONE, CV_R_LINK_CAPSULE, n, l->obj.n);
}

/* Compiled with -G: nothing else makes this section. */
static bool is_for_debugger(const cv_link *l, const cv_lobj *o)
{
    for (cv_id i = 0; i < o->n_sec; i++)
        if (cv_span_eq_str(cv_l_text(l, cv_l_isec(l, o->first_sec + i)->name), ".nv_debug_info_reg_sass"))
            return true;
    return false;
}

/* An input, as a whole. */
static void say_debug(cv_link *l, cv_id obj, bool got, bool want)
{
    l->x->path.n = 0;
    cv_path_push(l->x, CUVET_P_MEMBER, true, obj);
    cv_report(l->x, CV_R_LINK_OTHER_DEBUG, 0, 0, got, want);
    l->x->path.n = 0;
}

/* Where the reference makes code again, it makes it for the debugger or not, whatever it was before. */
static cuvet_status tell_debug(cv_link *l)
{
    cv_u8s made = { 0 };
    bool any = l->o.debug;
    cuvet_status s = CUVET_OK;

    if (!cv_l_has(l, CV_GEN_REMAKES_CODE))
        return CUVET_OK;
    if (!cv_work(l->x, l->isec.n, 0))
        return CUVET_E_LIMIT;
    if (!cv_u8s_fill(&l->x->mem, &made, l->obj.n))
        s = cv_nomem(l->x, 0);
    for (cv_id i = 0; i < l->obj.n && s == CUVET_OK; i++) {
        *cv_u8s_at(&made, i) = is_for_debugger(l, cv_l_obj(l, i));
        any = any || *cv_u8s_at(&made, i);
    }
    for (cv_id i = 0; i < l->obj.n && s == CUVET_OK; i++) {
        const cv_cubin *c = &cv_l_obj(l, i)->cubin;
        bool g = *cv_u8s_at(&made, i);

        if (c->has_capsule && cv_cubin_first(c, CV_ROLE_TEXT) && (g ? !l->o.debug && !l->o.relocatable : any))
            say_debug(l, i, g, !g);
    }
    cv_u8s_free(&l->x->mem, &made);
    return s;
}

cuvet_status cv_link_read(cv_link *l)
{
    cuvet_status s = CUVET_OK;

    tell_capsules(l);

    for (cv_id i = 0; i < l->obj.n && s == CUVET_OK; i++)
        s = read_object(l, i);
    return s == CUVET_OK ? tell_debug(l) : s;
}

/* Symbols and sections of the inputs lie end to end; what they name is in their own object. */
bool cv_link_read_holds(const cv_link *l)
{
    uint64_t secs = 0, syms = 0;

    for (cv_id i = 0; i < l->obj.n; i++) {
        const cv_lobj *o = cv_l_obj(l, i);

        if (o->first_sec != secs || o->first_sym != syms)
            return false;
        secs += o->n_sec;
        syms += o->n_sym;
        if (secs > l->isec.n || syms > l->isym.n)
            return false;
        for (cv_id k = o->first_sec; k < secs; k++)
            if (cv_l_isec(l, k)->obj != i || cv_l_isec(l, k)->name >= l->names.list.n)
                return false;
        for (cv_id k = o->first_sym; k < syms; k++) {
            const cv_isym *s = cv_l_isym(l, k);

            if (s->obj != i || s->name >= l->names.list.n || !cv_l_below(s->proto, l->names.list.n) ||
                (s->sec != CV_NONE && (s->sec < o->first_sec || s->sec >= secs)))
                return false;
        }
    }
    return secs == l->isec.n && syms == l->isym.n && l->mean.n == l->names.list.n;
}
