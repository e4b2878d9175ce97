/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage collect: input by input, the functions, sections, symbols, names and relocations of the output, in
 * the order in which the reference linker makes them: functions, other symbols with the sections they lie in,
 * sections that are left, information sections, relocations. */
#include "link/in/stages.h"

static cv_id new_fn(cv_link *l, cv_id name)
{
    const cv_lfn f = { .name = name,
                       .sym = CV_NONE,
                       .sec = CV_NONE,
                       .def = CV_NONE,
                       .calls = CV_NONE,
                       .taken = CV_NONE,
                       .ind = CV_NONE,
                       .adr = CV_NONE,
                       .proto = CV_NONE,
                       .table = CV_NONE,
                       .instance = CV_NONE,
                       .max_regs = 0xFF };

    if (l->fn.n >= CV_NONE || !cv_lfns_push(&l->x->mem, &l->fn, f))
        return CV_NONE;
    return (cv_id)(l->fn.n - 1);
}

/* The function that a symbol is, one for each local symbol and one for each global name. */
static cv_id function_of(cv_link *l, cv_id id)
{
    cv_isym *s = cv_l_isym(l, id);

    if (s->fn == CV_NONE && cv_l_bind(s) != CV_STB_LOCAL)
        s->fn = cv_l_mean(l, s->name)->fn;
    if (s->fn == CV_NONE) {
        s->fn = new_fn(l, s->name);
        if (cv_l_bind(s) != CV_STB_LOCAL)
            cv_l_mean(l, s->name)->fn = s->fn;
    }
    return s->fn;
}

static bool add_local(cv_link *l, cv_id osym)
{
    cv_l_osym(l, osym)->local = true;
    return cv_u32s_push(&l->x->mem, &l->locals, osym) && cv_l_use_str(l, cv_l_osym(l, osym)->name);
}

static cv_osym symbol_from(const cv_isym *s, cv_id id, cv_id win)
{
    return (cv_osym){ .name = s->name,
                      .sec = CV_NONE,
                      .win = win,
                      .src = id,
                      .fn = CV_NONE,
                      .info = s->info,
                      .other = s->other };
}

/* Output symbol of a global name. Weak definitions are kept among the locals. */
static cv_id global_symbol(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);
    cv_id out = cv_l_mean(l, s->name)->osym;
    cv_osym y;

    if (out != CV_NONE)
        return out;
    y = symbol_from(s, id, cv_l_mean(l, s->name)->win);
    out = cv_l_new_osym(l, &y);
    if (out == CV_NONE)
        return CV_NONE;
    cv_l_mean(l, s->name)->osym = out;
    if (cv_l_bind(s) == CV_STB_WEAK && s->defined) {
        if (!cv_l_is_shared(s) || l->o.relocatable || l->o.preserve || l->o.debug)
            return add_local(l, out) ? out : CV_NONE;
        cv_l_osym(l, out)->local = true; /* it will have no symbol, and leaves no name */
        return cv_u32s_push(&l->x->mem, &l->locals, out) ? out : CV_NONE;
    }
    return cv_u32s_push(&l->x->mem, &l->globals, out) ? out : CV_NONE;
}

static cv_id local_symbol(cv_link *l, cv_id id)
{
    cv_osym y = symbol_from(cv_l_isym(l, id), id, id);

    return cv_l_new_osym(l, &y);
}

/* Code and, for a kernel, what is made with it. */
static cuvet_status make_code(cv_link *l, const cv_isym *s, cv_id fn, cv_id *out)
{
    const cv_isec *sec = cv_l_isec(l, s->sec);
    cv_new_section code = cv_l_section(l, CV_ROLE_TEXT, CV_G_CODE),
                   shared = cv_l_section(l, CV_ROLE_SHARED_FN, CV_G_NOBITS);
    cv_id name = s->name, id;
    bool kernel = (s->other & CV_STO_ENTRY) != 0;

    code.name = sec->name;
    code.align = sec->align;
    code.symbol = code.named = shared.symbol = true;
    /* Of a kernel that is not to be used, the name comes with the section of the input. */
    shared.named = l->o.relocatable || l->o.keep_dead || l->o.n_kernels_used == 0 || cv_link_is_root(l, fn);
    *out = cv_l_new_osec(l, &code);
    if (*out == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, *out)->fn = fn;
    if (!kernel)
        return CUVET_OK;
    shared.name = cv_l_name_join(l, ".nv.shared.", name);
    if (shared.name == CV_NONE || !cv_l_use_joined(l, ".nv.info.", name) ||
        !cv_u32s_push(&l->x->mem, &l->info_order, *out))
        return cv_l_nomem(l);
    cv_l_osec(l, *out)->info_listed = true;
    id = cv_l_new_osec(l, &shared);
    if (id == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, id)->infosec = *out;
    cv_l_osec(l, id)->pre = true;
    cv_l_osec(l, *out)->shared = id;
    return CUVET_OK;
}

static cuvet_status take_definition(cv_link *l, cv_id id, cv_id fn, cv_id code)
{
    cv_isym *s = cv_l_isym(l, id);
    cv_isec *sec = cv_l_isec(l, s->sec);
    cv_osec *o = cv_l_osec(l, code);

    /* Only global functions have aliases: code belongs to the local one that it names. */
    if (cv_l_bind(s) == CV_STB_LOCAL && cv_elf_code_symbol(sec->info) != s->index)
        return cv_link_refuse_section(l, s->sec, CV_R_LINK_SECTION, sec->type);
    sec->out = code;
    if (cv_l_canon(l, id) != id) {
        sec->lost = true;
        sec->beaten = s->beaten;
        return CUVET_OK;
    }
    cv_l_fn(l, fn)->def = id;
    o->align = sec->align;
    o->size = sec->size;
    o->reg_byte = cv_elf_code_registers(sec->info);
    if (o->first_part != CV_NONE) {
        cv_lparts_at(&l->part, o->first_part)->isec = s->sec;
        return CUVET_OK;
    }
    return cv_l_add_part(l, code, s->sec, 0) ? CUVET_OK : cv_l_nomem(l);
}

/* Code that is there already: that of the owner for an alias, that of an earlier definition for a global
 * name. Never by the name of the section: a local function of another input may have the same. */
static cv_id code_of(const cv_link *l, const cv_isym *s, cv_id fn)
{
    cv_id out = cv_l_isec(l, s->sec)->out, sec = cv_l_fn(l, fn)->sec;

    if (out != CV_NONE)
        return out;
    return sec != CV_NONE && cv_l_osec(l, sec)->fn == fn ? sec : CV_NONE;
}

static cuvet_status collect_function(cv_link *l, cv_id id)
{
    bool local = cv_l_bind(cv_l_isym(l, id)) == CV_STB_LOCAL;
    cv_id fn = function_of(l, id), sym = local ? local_symbol(l, id) : global_symbol(l, id), code;
    cuvet_status st = CUVET_OK;
    cv_isym *s = cv_l_isym(l, id);

    if (fn == CV_NONE || sym == CV_NONE || (local && !add_local(l, sym)))
        return cv_l_nomem(l);
    s->out = sym;
    cv_l_fn(l, fn)->sym = sym;
    cv_l_osym(l, sym)->fn = fn;
    if (s->other & CV_STO_ENTRY)
        cv_l_fn(l, fn)->kernel = true;
    if (s->sec == CV_NONE)
        return CUVET_OK;
    cv_l_fn(l, fn)->has_def = true;
    code = code_of(l, s, fn);
    if (code == CV_NONE)
        st = make_code(l, s, fn, &code);
    if (st != CUVET_OK)
        return st;
    /* An alias wins against a weak function whose code is there: nothing would be left in that section. */
    if (cv_l_fn(l, fn)->sec != CV_NONE && cv_l_fn(l, fn)->sec != code) {
        cv_link_say(l, id, CV_R_LINK_CODE, s->index, 0);
        return CUVET_E_REFUSED;
    }
    cv_l_fn(l, fn)->sec = code;
    cv_l_osym(l, sym)->sec = code;
    return take_definition(l, id, fn, code);
}

/* Shared variables and parts of constant banks have no symbol in a final link, unless it is asked for. */
static bool is_hidden(const cv_isym *s)
{
    return s->other == CV_STO_SPACE_SHARED || cv_l_is_hidden_bank(s);
}

/* A relocatable link keeps the name of what nobody will ever define. */
static cuvet_status collect_nowhere(cv_link *l, cv_id id)
{
    cv_id sym = local_symbol(l, id);

    cv_l_isym(l, id)->out = sym;
    return sym != CV_NONE && add_local(l, sym) ? CUVET_OK : cv_l_nomem(l);
}

static cuvet_status collect_local(cv_link *l, cv_id id)
{
    cv_isym *s = cv_l_isym(l, id);
    uint8_t type = cv_l_type(s);
    cuvet_status st;
    cv_id sym;

    if (s->sec == CV_NONE)
        return l->o.relocatable && cv_l_is_nowhere(s) ? collect_nowhere(l, id) : CUVET_OK;
    st = cv_link_place(l, s->sec);
    if (st != CUVET_OK || (type != CV_STT_OBJECT && type != CV_STT_CUDA_OBJECT) ||
        cv_l_isec(l, s->sec)->out == CV_NONE)
        return st;
    sym = local_symbol(l, id);
    if (sym == CV_NONE)
        return cv_l_nomem(l);
    s->out = sym;
    cv_l_osym(l, sym)->sec = cv_l_isec(l, s->sec)->out;
    cv_l_osym(l, sym)->hidden = is_hidden(s);
    if (is_hidden(s) && !l->o.relocatable && !l->o.preserve &&
        !(l->o.debug && s->other == CV_STO_SPACE_SHARED)) {
        cv_l_osym(l, sym)->local = true;
        return CUVET_OK;
    }
    return add_local(l, sym) ? CUVET_OK : cv_l_nomem(l);
}

static cv_role role_of(const cv_lobj *o, cv_id i)
{
    return cv_cubin_sec(&o->cubin, i)->role;
}

/* Zero memory of an input: without it nothing is missing when none of its variables is wanted. */
static bool is_zero_memory(const cv_link *l, const cv_isec *s)
{
    return role_of(cv_l_obj(l, s->obj), s->index) == CV_ROLE_GLOBAL;
}

/* A weak variable without initial value that an input before this one has: its memory is not wanted. A later
 * input may have a better one; what is there by then stays. */
static bool comes_late(const cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);
    const cv_meaning *m = cv_l_mean(l, s->name);

    return s->sec != CV_NONE && cv_l_bind(s) == CV_STB_WEAK && is_zero_memory(l, cv_l_isec(l, s->sec)) &&
           ((m->weak != CV_NONE && m->weak < id) || (m->strong != CV_NONE && m->strong < id));
}

static cuvet_status collect_global(cv_link *l, cv_id id)
{
    cv_isym *s = cv_l_isym(l, id);
    cuvet_status st = CUVET_OK;

    if (comes_late(l, id))
        cv_l_isec(l, s->sec)->late = true;
    else if (s->sec != CV_NONE)
        st = cv_link_place(l, s->sec);
    if (st != CUVET_OK)
        return st;
    if ((s->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED && s->sec == CV_NONE &&
        cv_l_mean(l, s->name)->win == CV_NONE) {
        cv_id d = cv_l_debug_shared(l);

        if (d == CV_NONE)
            return cv_l_nomem(l);
        cv_l_osec(l, d)->extern_array = true;
        cv_l_osec(l, d)->align = cv_max(cv_l_osec(l, d)->align, 16);
    }
    l->has_common =
        l->has_common || (s->common && cv_l_isym(l, cv_l_mean(l, s->name)->win)->common); /* not beaten */
    s->out = global_symbol(l, id);
    return s->out == CV_NONE ? cv_l_nomem(l) : CUVET_OK;
}

static cuvet_status collect_other(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);
    uint8_t type = cv_l_type(s);

    if (s->index == 0 || type == CV_STT_FUNC || type == CV_STT_SECTION)
        return CUVET_OK;
    return cv_l_bind(s) == CV_STB_LOCAL ? collect_local(l, id) : collect_global(l, id);
}

/* Sections that describe, or that other stages make again. */
static bool is_described(cv_role r)
{
    switch ((unsigned)r) {
    case CV_ROLE_NULL_SECTION:
    case CV_ROLE_SHSTRTAB:
    case CV_ROLE_STRTAB:
    case CV_ROLE_SYMTAB:
    case CV_ROLE_SYMTAB_SHNDX:
    case CV_ROLE_TKINFO:
    case CV_ROLE_CUINFO:
    case CV_ROLE_CUVER:
    case CV_ROLE_NV_INFO:
    case CV_ROLE_NV_INFO_FN:
    case CV_ROLE_COMPAT:
    case CV_ROLE_CALLGRAPH:
    case CV_ROLE_PROTOTYPE:
    case CV_ROLE_REL_ACTION:
    case CV_ROLE_REL:
    case CV_ROLE_RELA:
    case CV_ROLE_RESOLVED_RELA: return true;
    default: return r >= CV_ROLE_CAPMERC_TEXT && r < CV_N_ROLES;
    }
}

static cuvet_status collect_sections(cv_link *l, const cv_lobj *o)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 1; i < o->n_sec && st == CUVET_OK; i++) {
        cv_isec *s = cv_l_isec(l, o->first_sec + i);

        if (is_described(role_of(o, i)) || s->out != CV_NONE || s->table)
            continue;
        if (s->late) /* none of its variables is wanted */
            s->lost = true;
        else
            st = cv_link_place(l, o->first_sec + i);
    }
    return st;
}

static cuvet_status collect_infos(cv_link *l, const cv_lobj *o)
{
    for (cv_id i = 1; i < o->n_sec; i++) {
        const cv_isec *s = cv_l_isec(l, o->first_sec + i);
        cv_id code;

        if (role_of(o, i) != CV_ROLE_NV_INFO_FN)
            continue;
        if (!cv_l_use_both(l, s->name))
            return cv_l_nomem(l);
        if (s->info >= o->n_sec)
            continue;
        cv_l_isec(l, o->first_sec + s->info)->info_sec = o->first_sec + i;
        code = cv_l_isec(l, o->first_sec + s->info)->out;
        if (code == CV_NONE || cv_l_osec(l, code)->info_listed)
            continue;
        cv_l_osec(l, code)->info_listed = true;
        if (!cv_u32s_push(&l->x->mem, &l->info_order, code))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

static cuvet_status collect_object(cv_link *l, const cv_lobj *o)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < o->n_sym && st == CUVET_OK; i++)
        if (cv_l_type(cv_l_isym(l, o->first_sym + i)) == CV_STT_FUNC)
            st = collect_function(l, o->first_sym + i);
    for (cv_id i = 0; i < o->n_sym && st == CUVET_OK; i++)
        st = collect_other(l, o->first_sym + i);
    if (st == CUVET_OK)
        st = collect_sections(l, o);
    if (st == CUVET_OK)
        st = collect_infos(l, o);
    for (cv_id i = 1; i < o->n_sec && st == CUVET_OK; i++)
        if (role_of(o, i) == CV_ROLE_REL || role_of(o, i) == CV_ROLE_RELA)
            st = cv_link_relocations(l, o->first_sec + i);
    return st;
}

static cv_id fixed(cv_link *l, const char *name, cv_role role, cv_group group, bool symbol)
{
    cv_new_section n = cv_l_section(l, role, group);

    n.symbol = symbol;
    n.named = true;
    n.name = cv_l_name_join(l, name, l->empty);
    return n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
}

static cuvet_status begin(cv_link *l)
{
    static const char *const NAMES[] = { ".shstrtab",       ".strtab",         ".symtab", ".symtab_shndx",
                                         ".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.info" };
    bool compat = cv_l_has(l, CV_GEN_COMPAT); /* objects of the old kind have none, their program has */

    for (size_t i = 0; i < CV_COUNT(NAMES); i++)
        if (!cv_l_use_joined(l, CV_AT(NAMES, i), l->empty))
            return cv_l_nomem(l);
    l->tkinfo = fixed(l, ".note.nv.tkinfo", CV_ROLE_TKINFO, CV_G_NOTE, true);
    l->cuinfo = fixed(l, ".note.nv.cuinfo", CV_ROLE_CUINFO, CV_G_NOTE, true);
    l->info = fixed(l, ".nv.info", CV_ROLE_NV_INFO, CV_G_META, false);
    for (cv_id i = 0; i < l->obj.n; i++)
        compat = compat || cv_l_obj(l, i)->compat != 0;
    if (compat)
        l->compat = fixed(l, ".nv.compat", CV_ROLE_COMPAT, CV_G_META, false);
    return l->tkinfo == CV_NONE || l->cuinfo == CV_NONE || l->info == CV_NONE ||
                   (compat && l->compat == CV_NONE)
               ? cv_l_nomem(l)
               : CUVET_OK;
}

static cuvet_status finish(cv_link *l)
{
    bool global = cv_l_find_osec(l, ".nv.global", l->empty) != CV_NONE;

    if (l->has_common && !l->o.relocatable && !global &&
        fixed(l, ".nv.global", CV_ROLE_GLOBAL, CV_G_NOBITS, true) == CV_NONE)
        return cv_l_nomem(l);
    l->callgraph = fixed(l, ".nv.callgraph", CV_ROLE_CALLGRAPH, CV_G_META, true);
    l->prototype = fixed(l, ".nv.prototype", CV_ROLE_PROTOTYPE, CV_G_META, true);
    return l->callgraph == CV_NONE || l->prototype == CV_NONE ? cv_l_nomem(l) : CUVET_OK;
}

/* Bytes of the parameter bank of a code section; 0: it has none. */
static uint64_t parameters(const cv_link *l, const cv_isec *code)
{
    const cv_cubin *c = &cv_l_obj(l, code->obj)->cubin;
    uint32_t bank = cv_cubin_sec(c, code->index)->const0;

    return bank == 0 ? 0 : cv_cubin_sec(c, bank)->h.size;
}

/* A kernel that lost has the parameters of the one that won: both are launched by one name. */
static void check_parameters(cv_link *l)
{
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i), *w;

        if (cv_l_type(s) != CV_STT_FUNC || !(s->other & CV_STO_ENTRY) || s->sec == CV_NONE)
            continue;
        w = cv_l_isym(l, cv_l_canon(l, i));
        if (w != s && w->sec != CV_NONE &&
            parameters(l, cv_l_isec(l, s->sec)) != parameters(l, cv_l_isec(l, w->sec)))
            cv_link_say(l, i, CV_R_LINK_PARAMETERS, parameters(l, cv_l_isec(l, s->sec)),
                        parameters(l, cv_l_isec(l, w->sec)));
    }
}

cuvet_status cv_link_collect(cv_link *l)
{
    cuvet_status st = begin(l);

    check_parameters(l);

    for (cv_id i = 0; i < l->obj.n && st == CUVET_OK; i++)
        st = collect_object(l, cv_l_obj(l, i));
    return st == CUVET_OK ? finish(l) : st;
}

/* Code and data: what no input has for nothing. Debug data and notes are made anew or dropped on purpose. */
static bool must_stay(const cv_link *l, const cv_isec *s)
{
    switch ((unsigned)cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->role) {
    case CV_ROLE_GLOBAL: return !s->lost;
    case CV_ROLE_TEXT:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN:
    case CV_ROLE_SHARED_FN: return !s->table;
    default: return false;
    }
}

bool cv_link_parts_hold(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t end = 0;

        for (cv_id p = q->first_part; p != CV_NONE; p = cv_lparts_get(&l->part, p)->next) {
            const cv_lpart *e = cv_lparts_get(&l->part, p);

            if (e->isec >= l->isec.n || e->base < end)
                return false;
            end = cv_sat_add(e->base, cv_l_isec(l, e->isec)->size);
        }
        if (end > q->size)
            return false;
    }
    return true;
}

static bool relocations_hold(const cv_link *l, const cv_osec *q)
{
    if (q->group != CV_G_REL)
        return true;
    if (q->target >= l->osec.n)
        return false;
    for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        const cv_irel *e = cv_l_irel(l, r);

        if (e->sym >= l->isym.n || e->target >= l->isec.n || cv_l_isec(l, e->target)->out != q->target)
            return false;
    }
    return true;
}

/* A variable of memory that was left out. */
static bool has_no_memory(const cv_link *l, const cv_isym *s)
{
    return s->sec != CV_NONE && cv_l_type(s) != CV_STT_SECTION && cv_l_isec(l, s->sec)->late &&
           cv_l_isec(l, s->sec)->out == CV_NONE;
}

/* Everything that an input's symbol, section or relocation became exists, and nothing was dropped. */
bool cv_link_collect_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->isec.n; i++) {
        const cv_isec *s = cv_l_isec(l, i);

        if (!cv_l_below(s->out, l->osec.n) || (s->out == CV_NONE && must_stay(l, s)))
            return false;
    }
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!cv_l_below(s->out, l->osym.n) || !cv_l_below(s->fn, l->fn.n))
            return false;
        if (has_no_memory(l, s) && (cv_l_bind(s) == CV_STB_LOCAL || cv_l_mean(l, s->name)->win == i))
            return false; /* a variable that is wanted */
    }
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->sym == CV_NONE || (f->def != CV_NONE && f->sec == CV_NONE))
            return false;
    }
    for (cv_id i = 0; i < l->osec.n; i++)
        if (!relocations_hold(l, cv_l_osec(l, i)))
            return false;
    return cv_link_parts_hold(l);
}
