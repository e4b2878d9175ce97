/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.info, .nv.info.<fn> and their Mercury clones: the records against symbols, code and each other. */
#include "cubin/meta.h"

#include "format/tlv/attr.h"

#define REGS_MAX    255u
#define MERCURY_ISA 0x0101u

/* One section while its records are read. */
typedef struct info {
    cv_ctx *x;
    const cv_cubin *c;
    cv_span body, syms;
    uint64_t n_syms;
    uint8_t where; /* CV_IN_ bit */
    bool merc;
    uint64_t seen_lo, seen_hi; /* codes 0..63, 64..127 that were given */
    cv_u32s *marks;            /* global section only */
    /* sections of a function */
    uint32_t code; /* section of the code, 0 unknown */
    bool kernel;
    uint64_t code_size;    /* offsets are below; UINT64_MAX unknown */
    uint32_t small, large; /* parameter records of both kinds */
    uint64_t params_end;
    uint32_t last_ordinal;
    bool descending;   /* as tools write them */
    uint64_t cbank_at; /* place of offset and size */
    uint32_t cbank_off, cbank_size, param_size, coop_offsets, coop_masks;
} info;

static void report(const info *f, cv_rule rule, uint64_t at, uint64_t len, uint64_t got, uint64_t want)
{
    cv_report(f->x, rule, f->body.off + at, len, got, want);
}

static bool given(const info *f, uint32_t code)
{
    return ((code < 64 ? f->seen_lo >> code : f->seen_hi >> (code - 64)) & 1) != 0;
}

/* Right section, and not twice. */
static void check_place(info *f, const cv_tlv *t, const cv_attr *row)
{
    if (CV_UNLIKELY(!(row->scope & f->where)))
        report(f, CV_R_TLV_SCOPE, t->off + 1, t->next - t->off, t->code, row->scope);
    if (CV_UNLIKELY(!row->many && given(f, t->code)))
        report(f, CV_R_TLV_REPEATED, t->off + 1, t->next - t->off, t->code, 1);
    if (t->code < 64)
        f->seen_lo |= UINT64_C(1) << t->code;
    else
        f->seen_hi |= UINT64_C(1) << (t->code - 64);
}

static bool check_symbol(const info *f, uint64_t at, uint32_t sym)
{
    if (CV_LIKELY(sym < f->n_syms))
        return true;
    report(f, CV_R_TLV_SYMBOL, at, 4, sym, f->n_syms);
    return false;
}

static bool check_func(const info *f, uint64_t at, uint32_t sym)
{
    uint8_t type;

    if (!check_symbol(f, at, sym))
        return false;
    type = cv_meta_sym_type(f->syms, sym);
    if (type != CV_STT_FUNC)
        report(f, CV_R_TLV_SYMBOL_TYPE, at, 4, type, CV_STT_FUNC);
    return type == CV_STT_FUNC;
}

/* Every record of this attribute and symbol before it has the same value. Each look back is paid for. */
static bool said_so(const info *f, const cv_tlv *again)
{
    uint64_t pos = 0;
    cv_tlv t;

    if (!cv_work(f->x, again->off / 4, f->body.off))
        return false;
    while (pos < again->off && cv_tlv_at(f->body, pos, &t) == CV_TLV_OK) {
        pos = t.next;
        if (t.code == again->code && t.format == again->format && t.value == again->value &&
            cv_u32_at(f->body, t.payload) == cv_u32_at(f->body, again->payload) &&
            cv_u32_at(f->body, t.payload + 4) != cv_u32_at(f->body, again->payload + 4))
            return false;
    }
    return true;
}

/* A size of one function: remembered, so that a second one and a missing one are seen. */
static void take_size(const info *f, const cv_tlv *t)
{
    uint32_t sym = cv_u32_at(f->body, t->payload), value = cv_u32_at(f->body, t->payload + 4),
             bit = CV_META_FRAME, *mark;

    if (!check_func(f, t->payload, sym) || !f->marks)
        return;
    mark = cv_u32s_at(f->marks, sym);
    if (t->code == CV_ATTR_MIN_STACK_SIZE)
        bit = CV_META_MIN_STACK;
    else if (t->code == CV_ATTR_MAX_STACK_SIZE)
        bit = CV_META_MAX_STACK;
    else if (t->code == CV_ATTR_REGCOUNT)
        bit = CV_META_REGCOUNT;
    if (*mark & bit)
        report(f, said_so(f, t) ? CV_R_TLV_SYMBOL_SAME : CV_R_TLV_SYMBOL_TWICE, t->payload, 4, sym, t->code);
    *mark |= bit;
    if (bit != CV_META_REGCOUNT)
        return;
    *mark |= (value & REGS_MAX) << CV_META_REGS;
}

static void check_funcs(const info *f, const cv_tlv *t)
{
    for (uint64_t at = t->payload; at < t->next; at += 4)
        if (!check_func(f, at, cv_u32_at(f->body, at)))
            return; /* one finding for a list */
}

/* One place in the code; false after a finding: one for a list. */
static inline bool check_place_in_code(const info *f, uint64_t at)
{
    uint32_t v = cv_u32_at(f->body, at);

    if (CV_UNLIKELY(v >= f->code_size))
        report(f, CV_R_TLV_TEXT_OFFSET, at, 4, v, f->code_size);
    else if (CV_UNLIKELY(v & (f->c->gen->instruction - 1)))
        report(f, CV_R_TLV_TEXT_ALIGN, at, 4, v, f->c->gen->instruction);
    else
        return true;
    return false;
}

static void check_text(const info *f, const cv_tlv *t, const cv_attr *row)
{
    for (uint64_t at = t->payload; at < t->next; at += row->size)
        if (!check_place_in_code(f, at))
            return;
}

static void check_walk(const info *f, const cv_tlv *t, const cv_attr *row)
{
    cv_attr_walk w;
    uint64_t at;

    cv_attr_walk_init(&w, t);
    while (cv_attr_walk_next(&w, f->body, row, &at))
        if (!check_place_in_code(f, at))
            return;
}

/* Hand-assembled files name the bank through an undefined symbol of that name. */
static bool names_bank(const info *f, const cv_elf_symbol *s)
{
    cv_span want = cv_cubin_sec(f->c, f->code)->fn, fn;

    if (!f->c->hand || s->shndx != CV_SHN_UNDEF || !cv_work(f->x, want.len / 8, f->body.off))
        return false;
    if (!cv_span_after(cv_span_tail(f->c->strtab, s->name), ".nv.constant0.", &fn) || fn.len <= want.len ||
        cv_u8_at(fn, want.len) != 0)
        return false;
    fn.len = want.len; /* never looks for the end of a name that many records may share */
    return cv_span_eq(fn, want);
}

/* Section symbol of the function's own constant bank 0, and the range in it. */
static void check_bank(const info *f, const cv_tlv *t, uint64_t end)
{
    uint32_t sym = cv_u32_at(f->body, t->payload), section;
    const cv_sec *bank;
    cv_elf_symbol s;

    if (!check_symbol(f, t->payload, sym))
        return;
    cv_elf_read_symbol(f->syms, false, sym, &s);
    if (cv_elf_sym_type(&s) != CV_STT_SECTION)
        report(f, CV_R_TLV_CBANK_SYMBOL, t->payload, 4, cv_elf_sym_type(&s), CV_STT_SECTION);
    section =
        names_bank(f, &s) ? cv_cubin_sec(f->c, f->code)->const0 : cv_cubin_shndx(f->c, f->merc, sym, &s);
    bank = cv_cubin_sec(f->c, section);
    if (bank->role != CV_ROLE_CONSTANT_FN || bank->bank != 0 || bank->h.info != f->code)
        report(f, CV_R_TLV_CBANK_SECTION, t->payload, 4, section, f->code);
    else if (end > bank->h.size)
        report(f, CV_R_TLV_CBANK_SIZE, t->payload + 4, 4, end, bank->h.size);
}

static void take_cbank(info *f, const cv_tlv *t)
{
    f->cbank_at = t->payload + 4;
    f->cbank_off = cv_u16_at(f->body, t->payload + 4);
    f->cbank_size = cv_u16_at(f->body, t->payload + 6);
    check_bank(f, t, (uint64_t)f->cbank_off + f->cbank_size);
}

/* Where parameters start is fixed by the architecture, and by the size of the block before sm_90. */
static void check_cbank_off(const info *f)
{
    const cv_gen *g = f->c->gen;
    uint32_t want = f->large ? g->large : g->parameters;

    if (want != 0 && cv_arch_of(f->c->sm) && f->cbank_off != want)
        report(f, CV_R_TLV_CBANK_OFFSET, f->cbank_at, 2, f->cbank_off, want);
}

static void take_param(info *f, const cv_tlv *t)
{
    bool first = f->small + f->large == 0;
    cv_kparam p;

    cv_attr_kparam(f->body, t, &p);
    if (t->code == CV_ATTR_KPARAM_INFO)
        f->small++;
    else
        f->large++;
    f->descending = first || (f->descending && p.ordinal + 1u == f->last_ordinal);
    f->last_ordinal = p.ordinal;
    f->params_end = cv_max(f->params_end, (uint64_t)p.offset + p.size);
}

static void check_api_version(const info *f, const cv_tlv *t)
{
    uint32_t v = cv_u32_at(f->body, t->payload), file = f->c->toolkit;
    /* A linker takes in objects of older tools; files of the older ABI do not say whether one wrote them. */
    bool ok = f->c->producer.tool == CV_TOOL_PTXAS ? v == file : v <= file;

    if (file != 0 && !ok)
        report(f, CV_R_TLV_API_VERSION, t->payload, 4, v, file);
}

/* Of the native code alone: a clone tells of code that is yet to be made. */
static void check_limit(const info *f, const cv_tlv *t)
{
    uint32_t regs = f->merc ? 0 : cv_cubin_sec(f->c, f->code)->regs;

    if (regs > t->value)
        report(f, CV_R_TLV_MAXREG, t->off + 2, 2, regs, t->value);
}

static void take_value(info *f, const cv_tlv *t)
{
    switch (t->code) {
    case CV_ATTR_MAXREG_COUNT: check_limit(f, t); break;
    case CV_ATTR_KPARAM_INFO:
    case CV_ATTR_KPARAM_INFO_V2: take_param(f, t); break;
    case CV_ATTR_CBANK_PARAM_SIZE: f->param_size = t->value; break;
    case CV_ATTR_COOP_GROUP_MASK_REGIDS: f->coop_masks = t->value; break;
    case CV_ATTR_CUDA_API_VERSION: check_api_version(f, t); break;
    case CV_ATTR_INDIRECT_BRANCH_TARGETS:
    case CV_ATTR_ANNOTATIONS: check_walk(f, t, cv_attr_get(t->code)); break;
    case CV_ATTR_MERCURY_ISA_VERSION:
        if (t->value > MERCURY_ISA)
            report(f, CV_R_TLV_ISA_NEW, t->off + 2, 2, t->value, MERCURY_ISA);
        break;
    default: break;
    }
}

/* The symbols and offsets among the words of a payload. */
static void take_words(info *f, const cv_tlv *t, const cv_attr *row)
{
    switch ((cv_attr_words)row->words) {
    case CV_WORDS_FUNC: take_size(f, t); break;
    case CV_WORDS_SYM:
    case CV_WORDS_MERGED:
        (void)check_symbol(f, t->payload, cv_u32_at(f->body, t->payload));
        break; /* reported */
    case CV_WORDS_FUNCS: check_funcs(f, t); break;
    case CV_WORDS_SECTION: take_cbank(f, t); break;
    case CV_WORDS_TEXT: check_text(f, t, row); break;
    case CV_WORDS_PLAIN:
    case CV_WORDS_ZERO: take_value(f, t); break;
    }
    if (t->code == CV_ATTR_COOP_GROUP_INSTR_OFFSETS)
        f->coop_offsets = t->value;
}

/* Every record. False: the section cannot be read to its end. */
static bool read_records(info *f)
{
    const cv_attr *row;
    uint64_t pos = 0;
    cuvet_status st;
    cv_tlv t;

    while ((st = cv_tlv_next(f->x, f->body, &pos, &t)) == CUVET_OK) {
        bool ok = cv_attr_check(f->x, f->body, &t, &row);

        if (!row || row->format == 0)
            continue;
        check_place(f, &t, row);
        if (ok)
            take_words(f, &t, row);
    }
    return st == CUVET_END;
}

/* Open section i: body, table, path step. */
static bool open_info(info *f, cv_ctx *x, const cv_cubin *c, uint64_t i, bool merc)
{
    *f = (info){ .x = x, .c = c, .merc = merc, .code_size = UINT64_MAX, .body = cv_cubin_body(c, i) };
    f->syms = merc ? c->merc_symtab : c->symtab;
    f->n_syms = merc ? c->n_merc_syms : c->n_syms;
    if (!cv_cubin_sec(c, i)->in_file || !cv_work(x, f->body.len * 4 + 16, f->body.off))
        return false;
    cv_path_push(x, CUVET_P_SECTION, true, i);
    return true;
}

bool cv_meta_info_global(cv_ctx *x, const cv_cubin *c, uint64_t section, bool merc, cv_u32s *marks)
{
    bool whole;
    info f;

    if (!open_info(&f, x, c, section, merc))
        return false;
    f.where = CV_IN_GLOBAL;
    f.marks = marks;
    whole = read_records(&f);
    cv_path_pop(x);
    return whole;
}

/* Ordinals in any order: each of 0..n-1 once. */
static cuvet_status check_ordinals(const info *f)
{
    uint64_t n = f->small + f->large, pos = 0;
    cv_u8s have = { 0 };
    cv_kparam p;
    cv_tlv t;

    if (n == 0 || (f->descending && f->last_ordinal == 0))
        return CUVET_OK;
    if (!cv_u8s_fill(&f->x->mem, &have, n))
        return cv_nomem(f->x, f->body.off);
    while (cv_tlv_at(f->body, pos, &t) == CV_TLV_OK) {
        pos = t.next;
        if ((t.code != CV_ATTR_KPARAM_INFO && t.code != CV_ATTR_KPARAM_INFO_V2) || t.format != CV_TLV_SVAL ||
            t.value != 12)
            continue;
        cv_attr_kparam(f->body, &t, &p);
        if (p.ordinal >= n || *cv_u8s_at(&have, p.ordinal)) {
            report(f, CV_R_TLV_PARAM_ORDINAL, t.payload + 4, 2, p.ordinal, n);
            break;
        }
        *cv_u8s_at(&have, p.ordinal) = 1;
    }
    cv_u8s_free(&f->x->mem, &have);
    return CUVET_OK;
}

/* Parameters: all or nothing, and one size. Clones lack the two sizes. */
static void check_params(const info *f)
{
    uint32_t have = (f->small + f->large ? 1u : 0) | (given(f, CV_ATTR_PARAM_CBANK) ? 2u : 0) |
                    (given(f, CV_ATTR_CBANK_PARAM_SIZE) ? 4u : 0);
    uint32_t all = f->merc ? 1 : 7, want = f->kernel && have ? all : 0;

    if (f->small && f->large)
        report(f, CV_R_TLV_PARAM_MIXED, 0, 0, f->large, f->small);
    if (f->code && have != want) {
        report(f, CV_R_TLV_PARAM_KERNEL, 0, 0, have, want);
        return;
    }
    if (have != 7)
        return;
    check_cbank_off(f);
    if (f->cbank_size != f->param_size)
        report(f, CV_R_TLV_PARAM_SIZE, f->cbank_at + 2, 2, f->cbank_size, f->param_size);
    if (f->params_end != f->param_size)
        report(f, CV_R_TLV_PARAM_END, 0, 0, f->params_end, f->param_size);
}

static void check_together(const info *f)
{
    if (given(f, CV_ATTR_COOP_GROUP_INSTR_OFFSETS) && given(f, CV_ATTR_COOP_GROUP_MASK_REGIDS) &&
        f->coop_offsets != f->coop_masks)
        report(f, CV_R_TLV_COOP_COUNT, 0, 0, f->coop_offsets, f->coop_masks);
    if (given(f, CV_ATTR_TCGEN05_1CTA_USED) && given(f, CV_ATTR_TCGEN05_2CTA_USED))
        report(f, CV_R_TLV_TCGEN05, 0, 0, CV_ATTR_TCGEN05_2CTA_USED, CV_ATTR_TCGEN05_1CTA_USED);
}

/* The code that the section belongs to: its size, and whether it is a kernel. */
static void find_code(info *f, uint64_t i)
{
    uint64_t at = cv_cubin_sec(f->c, i)->h.info;
    const cv_sec *code = cv_cubin_sec(f->c, at);
    cv_elf_symbol s;

    if (at == 0 || at >= f->c->sec.n)
        return; /* a finding of the section table */
    if (!f->merc && cv_role_is_code(code->role)) {
        f->code = (uint32_t)at;
        f->code_size = code->h.size;
        f->kernel = code->kernel_sym != 0;
    } else if (f->merc && cv_role_is_capsule(code->role) && code->h.info < f->n_syms) {
        cv_elf_read_symbol(f->syms, false, code->h.info, &s);
        f->code = (uint32_t)at;
        f->code_size = s.size;
        f->kernel = (s.other & CV_STO_ENTRY) != 0;
    }
}

cuvet_status cv_meta_info_function(cv_ctx *x, const cv_cubin *c, uint64_t section, bool merc)
{
    cuvet_status st = CUVET_OK;
    info f;

    if (!open_info(&f, x, c, section, merc))
        return CUVET_OK;
    f.where = merc ? CV_IN_MERC_FN : CV_IN_FN;
    find_code(&f, section);
    if (read_records(&f)) {
        check_params(&f);
        check_together(&f);
        st = check_ordinals(&f);
    }
    cv_path_pop(x);
    return st;
}

static void missing(cv_ctx *x, uint64_t section, const cv_cubin *c, cv_rule rule, uint32_t sym, uint32_t code)
{
    cv_sec_report(x, c, section, rule, CV_SH_INFO, sym, code);
}

static void check_mark(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s, uint32_t mark)
{
    uint32_t sym = s->role == CV_ROLE_CAPMERC_TEXT ? s->h.info : cv_elf_code_symbol(s->h.info);
    uint32_t regs = mark >> CV_META_REGS & REGS_MAX;

    if (!(mark & CV_META_FRAME))
        missing(x, i, c, CV_R_TLV_NO_FRAME, sym, CV_ATTR_FRAME_SIZE);
    if (!(mark & CV_META_REGCOUNT))
        missing(x, i, c, CV_R_TLV_NO_REGCOUNT, sym, CV_ATTR_REGCOUNT);
    if (!(mark & CV_META_MIN_STACK) && c->exe && s->kernel_sym != 0)
        missing(x, i, c, CV_R_TLV_NO_STACK, sym, CV_ATTR_MIN_STACK_SIZE);
    if (s->role == CV_ROLE_TEXT && (mark & CV_META_REGCOUNT) && cv_gen_has(c->gen, CV_GEN_REGS_IN_INFO) &&
        cv_elf_code_registers(s->h.info) > regs)
        cv_sec_report(x, c, i, CV_R_TLV_REGCOUNT_INFO, CV_SH_INFO, cv_elf_code_registers(s->h.info), regs);
}

void cv_meta_check_marks(cv_ctx *x, cv_cubin *c, bool merc, const cv_u32s *marks)
{
    cv_role role = merc ? CV_ROLE_CAPMERC_TEXT : CV_ROLE_TEXT;

    if (!cv_work(x, c->sec.n, c->image.off))
        return;
    for (uint64_t i = cv_max(1, cv_cubin_first(c, role)); i < c->sec.n; i++) {
        cv_sec *s = cv_sec_mut(c, i);
        uint32_t sym = merc ? s->h.info : cv_elf_code_symbol(s->h.info);

        /* A function that is none is a finding of the pairs. */
        if (s->role == role && sym < marks->n &&
            cv_meta_sym_type(merc ? c->merc_symtab : c->symtab, sym) == CV_STT_FUNC) {
            s->regs = *cv_u32s_get(marks, sym) >> CV_META_REGS & REGS_MAX;
            check_mark(x, c, i, s, *cv_u32s_get(marks, sym));
        }
    }
}
