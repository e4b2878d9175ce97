/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.info, .nv.info.<fn> and their Mercury clones: the records against symbols, code and each other. */
#include "cubin/meta.h"

#include "format/tlv/attr.h"

/* One section while its records are read. */
typedef struct info_section {
    cv_ctx *ctx;
    const cv_cubin *cubin;
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
} info_section;

static void report_record(const info_section *info, cv_rule rule, uint64_t at, uint64_t len, uint64_t got,
                          uint64_t want)
{
    cv_report(info->ctx, rule, info->body.off + at, len, got, want);
}

static bool was_given(const info_section *info, uint32_t code)
{
    return ((code < 64 ? info->seen_lo >> code : info->seen_hi >> (code - 64)) & 1) != 0;
}

/* Tools 12.0 to 12.2 say it of a whole module where no kernel is that could say it: the one place that it is
 * not for. */
static bool is_of_module(const info_section *info, uint32_t code)
{
    return code == CV_ATTR_RESERVED_SMEM_USED && cv_gen_has(info->cubin->gen, CV_GEN_OLD_BANKS);
}

/* Right section, and not twice. */
static void check_place(info_section *info, const cv_tlv *tlv, const cv_attr *row)
{
    if (CV_UNLIKELY(!(row->scope & info->where)) && is_of_module(info, tlv->code))
        return;
    if (CV_UNLIKELY(!(row->scope & info->where)))
        report_record(info, CV_R_TLV_SCOPE, tlv->off + 1, tlv->next - tlv->off, tlv->code, row->scope);
    if (CV_UNLIKELY(!row->many && was_given(info, tlv->code)))
        report_record(info, CV_R_TLV_REPEATED, tlv->off + 1, tlv->next - tlv->off, tlv->code, 1);
    if (tlv->code < 64)
        info->seen_lo |= UINT64_C(1) << tlv->code;
    else
        info->seen_hi |= UINT64_C(1) << (tlv->code - 64);
}

static bool check_symbol(const info_section *info, uint64_t at, uint32_t sym)
{
    if (CV_LIKELY(sym < info->n_syms))
        return true;
    report_record(info, CV_R_TLV_SYMBOL, at, 4, sym, info->n_syms);
    return false;
}

static bool check_func(const info_section *info, uint64_t at, uint32_t sym)
{
    uint8_t type;

    if (!check_symbol(info, at, sym))
        return false;
    type = cv_meta_sym_type(info->syms, sym);
    if (type != CV_STT_FUNC)
        report_record(info, CV_R_TLV_SYMBOL_TYPE, at, 4, type, CV_STT_FUNC);
    return type == CV_STT_FUNC;
}

static bool is_of(const info_section *info, const cv_tlv *tlv, const cv_tlv *again)
{
    return tlv->format == again->format && tlv->value == again->value &&
           cv_u32_at(info->body, tlv->payload) == cv_u32_at(info->body, again->payload);
}

/* What is wrong with a record that says again what others of this attribute and symbol said: that they say
 * the same, or not; or, of a stack, that this is the frame of the kernel alone, where one before is larger.
 * Each look back is paid for. */
static cv_rule rule_of_again(const info_section *info, const cv_tlv *again)
{
    uint32_t now = cv_u32_at(info->body, again->payload + 4);
    bool same = true, frame = false, more = again->code == CV_ATTR_MIN_STACK_SIZE;
    uint64_t pos = 0;
    cv_tlv tlv;

    if (!cv_work(info->ctx, again->off / 4, info->body.off))
        return CV_R_TLV_SYMBOL_TWICE;
    while (pos < again->off) {
        uint32_t said;

        if (CV_NEVER(cv_tlv_at(info->body, pos, &tlv) != CV_TLV_OK))
            return CV_R_TLV_SYMBOL_TWICE;
        pos = tlv.next;
        if (!is_of(info, &tlv, again))
            continue;
        said = cv_u32_at(info->body, tlv.payload + 4);
        frame = frame || (tlv.code == CV_ATTR_FRAME_SIZE && said == now);
        same = same && (tlv.code != again->code || said == now);
        more = more && (tlv.code != again->code || said >= now);
    }
    if (same)
        return CV_R_TLV_SYMBOL_SAME;
    return frame && more ? CV_R_TLV_STACK_OF_FRAME : CV_R_TLV_SYMBOL_TWICE;
}

/* A size of one function: remembered, so that a second one and a missing one are seen. */
static void take_size(const info_section *info, const cv_tlv *tlv)
{
    uint32_t sym = cv_u32_at(info->body, tlv->payload), value = cv_u32_at(info->body, tlv->payload + 4),
             bit = CV_META_FRAME, *mark;

    if (!check_func(info, tlv->payload, sym) || !info->marks)
        return;
    mark = cv_u32s_at(info->marks, sym);
    if (tlv->code == CV_ATTR_MIN_STACK_SIZE)
        bit = CV_META_MIN_STACK;
    else if (tlv->code == CV_ATTR_MAX_STACK_SIZE)
        bit = CV_META_MAX_STACK;
    else if (tlv->code == CV_ATTR_REGCOUNT)
        bit = CV_META_REGCOUNT;
    if (*mark & bit)
        report_record(info, rule_of_again(info, tlv), tlv->payload, 4, sym, tlv->code);
    *mark |= bit;
    if (bit != CV_META_REGCOUNT)
        return;
    *mark |= (value & CV_REGISTERS_MOST) << CV_META_REGS;
}

static void check_funcs(const info_section *info, const cv_tlv *tlv)
{
    for (uint64_t at = tlv->payload; at < tlv->next; at += 4)
        if (!check_func(info, at, cv_u32_at(info->body, at)))
            return; /* one finding for a list */
}

/* One place in the code; false after a finding: one for a list. */
static inline bool check_place_in_code(const info_section *info, uint64_t at)
{
    uint32_t value = cv_u32_at(info->body, at);

    if (CV_UNLIKELY(value >= info->code_size))
        report_record(info, CV_R_TLV_TEXT_OFFSET, at, 4, value, info->code_size);
    else if (CV_UNLIKELY(value & (info->cubin->gen->instruction - 1)))
        report_record(info, CV_R_TLV_TEXT_ALIGN, at, 4, value, info->cubin->gen->instruction);
    else
        return true;
    return false;
}

static void check_text(const info_section *info, const cv_tlv *tlv, const cv_attr *row)
{
    for (uint64_t at = tlv->payload; at < tlv->next; at += row->size)
        if (!check_place_in_code(info, at))
            return;
}

static void check_walk(const info_section *info, const cv_tlv *tlv, const cv_attr *row)
{
    cv_attr_walk walk;
    uint64_t at;

    cv_attr_walk_init(&walk, tlv);
    while (cv_attr_walk_next(&walk, info->body, row, &at))
        if (!check_place_in_code(info, at))
            return;
}

/* Hand-assembled files name the bank through an undefined symbol of that name. */
static bool names_bank(const info_section *info, const cv_elf_symbol *symbol)
{
    cv_span want = cv_cubin_sec(info->cubin, info->code)->fn, fn;

    if (!info->cubin->hand || symbol->shndx != CV_SHN_UNDEF ||
        !cv_work(info->ctx, want.len / 8, info->body.off))
        return false;
    if (!cv_span_after(cv_span_tail(info->cubin->strtab, symbol->name), ".nv.constant0.", &fn) ||
        fn.len <= want.len || cv_u8_at(fn, want.len) != 0)
        return false;
    fn.len = want.len; /* never looks for the end of a name that many records may share */
    return cv_span_eq(fn, want);
}

/* Section symbol of the function's own constant bank 0, and the range in it. */
static void check_bank(const info_section *info, const cv_tlv *tlv, uint64_t end)
{
    uint32_t sym = cv_u32_at(info->body, tlv->payload), section;
    const cv_sec *bank;
    cv_elf_symbol symbol;

    if (!check_symbol(info, tlv->payload, sym))
        return;
    cv_elf_read_symbol(info->syms, false, sym, &symbol);
    if (cv_elf_sym_type(&symbol) != CV_STT_SECTION)
        report_record(info, CV_R_TLV_CBANK_SYMBOL, tlv->payload, 4, cv_elf_sym_type(&symbol), CV_STT_SECTION);
    section = names_bank(info, &symbol) ? cv_cubin_sec(info->cubin, info->code)->const0
                                        : cv_cubin_shndx(info->cubin, info->merc, sym, &symbol);
    bank = cv_cubin_sec(info->cubin, section);
    if (bank->role != CV_ROLE_CONSTANT_FN || bank->bank != CV_BANK_PARAMETERS ||
        bank->header.info != info->code)
        report_record(info, CV_R_TLV_CBANK_SECTION, tlv->payload, 4, section, info->code);
    else if (end > bank->header.size)
        report_record(info, CV_R_TLV_CBANK_SIZE, tlv->payload + 4, 4, end, bank->header.size);
}

static void take_cbank(info_section *info, const cv_tlv *tlv)
{
    info->cbank_at = tlv->payload + 4;
    info->cbank_off = cv_u16_at(info->body, tlv->payload + 4);
    info->cbank_size = cv_u16_at(info->body, tlv->payload + 6);
    check_bank(info, tlv, (uint64_t)info->cbank_off + info->cbank_size);
}

/* Where parameters start is fixed by the architecture, and by the size of the block before sm_90. */
static void check_cbank_off(const info_section *info)
{
    const cv_gen *gen = info->cubin->gen;
    uint32_t want = info->large ? gen->large : gen->parameters;

    if (cv_arch_of(info->cubin->sm) && info->cbank_off != want)
        report_record(info, CV_R_TLV_CBANK_OFFSET, info->cbank_at, 2, info->cbank_off, want);
}

/* Where it lies, and what it points to. Large kernels have descriptions without. */
static void check_param(const info_section *info, const cv_tlv *tlv, const cv_kparam *param)
{
    if (tlv->code != CV_ATTR_KPARAM_INFO)
        return;
    if (CV_UNLIKELY(param->cbank != CV_KPARAM_BANK))
        report_record(info, CV_R_TLV_PARAM_BANK, tlv->payload + 8, 4, param->cbank, CV_KPARAM_BANK);
    else if (CV_UNLIKELY(param->space != 0 && param->space != CV_KPARAM_GLOBAL))
        report_record(info, CV_R_TLV_PARAM_SPACE, tlv->payload + 8, 4, param->space, CV_KPARAM_GLOBAL);
}

static void take_param(info_section *info, const cv_tlv *tlv)
{
    bool first = info->small + info->large == 0;
    cv_kparam param;

    cv_attr_kparam(info->body, tlv, &param);
    check_param(info, tlv, &param);
    if (tlv->code == CV_ATTR_KPARAM_INFO)
        info->small++;
    else
        info->large++;
    info->descending = first || (info->descending && param.ordinal + 1u == info->last_ordinal);
    info->last_ordinal = param.ordinal;
    info->params_end = cv_max(info->params_end, (uint64_t)param.offset + param.size);
}

static void check_api_version(const info_section *info, const cv_tlv *tlv)
{
    uint32_t value = cv_u32_at(info->body, tlv->payload), file = info->cubin->toolkit;
    /* A linker takes in objects of older tools; files of the older ABI do not say whether one wrote them. */
    bool ok = info->cubin->producer.tool == CV_TOOL_PTXAS ? value == file : value <= file;

    if (file != 0 && !ok)
        report_record(info, CV_R_TLV_API_VERSION, tlv->payload, 4, value, file);
}

/* Of the native code alone: a clone tells of code that is yet to be made. */
static void check_limit(const info_section *info, const cv_tlv *tlv)
{
    uint32_t regs = info->merc ? 0 : cv_cubin_sec(info->cubin, info->code)->regs;

    if (regs > tlv->value)
        report_record(info, CV_R_TLV_MAXREG, tlv->off + 2, 2, regs, tlv->value);
}

static void take_value(info_section *info, const cv_tlv *tlv)
{
    switch (tlv->code) {
    case CV_ATTR_MAXREG_COUNT: check_limit(info, tlv); break;
    case CV_ATTR_KPARAM_INFO:
    case CV_ATTR_KPARAM_INFO_V2: take_param(info, tlv); break;
    case CV_ATTR_CBANK_PARAM_SIZE: info->param_size = tlv->value; break;
    case CV_ATTR_COOP_GROUP_MASK_REGIDS: info->coop_masks = tlv->value; break;
    case CV_ATTR_CUDA_API_VERSION: check_api_version(info, tlv); break;
    case CV_ATTR_INDIRECT_BRANCH_TARGETS:
    case CV_ATTR_ANNOTATIONS: check_walk(info, tlv, cv_attr_get(tlv->code)); break;
    case CV_ATTR_MERCURY_ISA_VERSION:
        if (tlv->value > CV_MERCURY_ISA)
            report_record(info, CV_R_TLV_ISA_NEW, tlv->off + 2, 2, tlv->value, CV_MERCURY_ISA);
        break;
    default: break;
    }
}

/* A function without a name and a place: linkers 12.0 to 12.9 put it in the place of the null symbol of an
 * executable for a debugger, and renumbered what says 0. */
static bool is_null_function(const info_section *info, uint32_t sym)
{
    cv_elf_symbol symbol;
    cv_span name;

    if (!info->cubin->exe || sym >= info->n_syms)
        return false;
    cv_elf_read_symbol(info->syms, false, sym, &symbol);
    return symbol.info == cv_elf_info(CV_STB_LOCAL, CV_STT_FUNC) && symbol.shndx == CV_SHN_UNDEF &&
           cv_span_cstr(info->cubin->strtab, symbol.name, &name) && name.len == 0;
}

/* A word that is the null symbol. */
static void take_null(const info_section *info, const cv_tlv *tlv)
{
    uint32_t sym = cv_u32_at(info->body, tlv->payload);

    if (CV_UNLIKELY(sym != 0) && !is_null_function(info, sym))
        report_record(info, CV_R_TLV_ZERO, tlv->payload, 4, sym, 0);
}

/* The symbols and offsets among the words of a payload. */
static void take_words(info_section *info, const cv_tlv *tlv, const cv_attr *row)
{
    switch ((cv_attr_words)row->words) {
    case CV_WORDS_FUNC: take_size(info, tlv); break;
    case CV_WORDS_SYM:
    case CV_WORDS_MERGED:
        (void)check_symbol(info, tlv->payload, cv_u32_at(info->body, tlv->payload));
        break; /* reported */
    case CV_WORDS_FUNCS: check_funcs(info, tlv); break;
    case CV_WORDS_SECTION: take_cbank(info, tlv); break;
    case CV_WORDS_TEXT: check_text(info, tlv, row); break;
    case CV_WORDS_ZERO: take_null(info, tlv); break;
    case CV_WORDS_PLAIN: break;
    }
    if (row->words == CV_WORDS_ZERO || row->words == CV_WORDS_PLAIN)
        take_value(info, tlv);
    if (tlv->code == CV_ATTR_COOP_GROUP_INSTR_OFFSETS)
        info->coop_offsets = tlv->value;
}

/* Every record. False: the section cannot be read to its end. */
static bool read_records(info_section *info)
{
    const cv_attr *row;
    uint64_t pos = 0;
    cuvet_status status;
    cv_tlv tlv;

    while ((status = cv_tlv_next(info->ctx, info->body, &pos, &tlv)) == CUVET_OK) {
        bool ok = cv_attr_check(info->ctx, info->body, &tlv, &row);

        if (!row || row->format == 0)
            continue;
        check_place(info, &tlv, row);
        if (ok)
            take_words(info, &tlv, row);
    }
    return status == CUVET_END;
}

/* Open section 'index': body, table, path step. */
static bool open_info(info_section *info, cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, bool merc)
{
    *info = (info_section){
        .ctx = ctx, .cubin = cubin, .merc = merc, .code_size = UINT64_MAX, .body = cv_cubin_body(cubin, index)
    };
    info->syms = merc ? cubin->merc_symtab : cubin->symtab;
    info->n_syms = merc ? cubin->n_merc_syms : cubin->n_syms;
    if (!cv_cubin_sec(cubin, index)->in_file || !cv_work(ctx, info->body.len * 4 + 16, info->body.off))
        return false;
    cv_path_push(ctx, CUVET_P_SECTION, true, index);
    return true;
}

bool cv_meta_info_global(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, bool merc, cv_u32s *marks)
{
    bool whole;
    info_section info;

    if (!open_info(&info, ctx, cubin, section, merc))
        return false;
    info.where = CV_IN_GLOBAL;
    info.marks = marks;
    whole = read_records(&info);
    cv_path_pop(ctx);
    return whole;
}

/* Ordinals in any order: each of 0..'count'-1 once. */
static cuvet_status check_ordinals(const info_section *info)
{
    uint64_t count = info->small + info->large, pos = 0;
    cv_u8s have = { 0 };
    cv_kparam param;
    cv_tlv tlv;

    if (count == 0 || (info->descending && info->last_ordinal == 0))
        return CUVET_OK;
    if (!cv_u8s_fill(&info->ctx->mem, &have, count))
        return cv_nomem(info->ctx, info->body.off);
    while (cv_tlv_at(info->body, pos, &tlv) == CV_TLV_OK) {
        pos = tlv.next;
        if ((tlv.code != CV_ATTR_KPARAM_INFO && tlv.code != CV_ATTR_KPARAM_INFO_V2) ||
            tlv.format != CV_TLV_SVAL || tlv.value != 12)
            continue;
        cv_attr_kparam(info->body, &tlv, &param);
        if (param.ordinal >= count || *cv_u8s_at(&have, param.ordinal)) {
            report_record(info, CV_R_TLV_PARAM_ORDINAL, tlv.payload + 4, 2, param.ordinal, count);
            break;
        }
        *cv_u8s_at(&have, param.ordinal) = 1;
    }
    cv_u8s_free(&info->ctx->mem, &have);
    return CUVET_OK;
}

/* Parameters: all or nothing, and one size. Clones lack the two sizes. */
static void check_params(const info_section *info)
{
    uint32_t have = (info->small + info->large ? 1u : 0) | (was_given(info, CV_ATTR_PARAM_CBANK) ? 2u : 0) |
                    (was_given(info, CV_ATTR_CBANK_PARAM_SIZE) ? 4u : 0);
    uint32_t all = info->merc ? 1 : 7, want = info->kernel && have ? all : 0;

    if (info->small && info->large)
        report_record(info, CV_R_TLV_PARAM_MIXED, 0, 0, info->large, info->small);
    if (info->code && have != want) {
        report_record(info, CV_R_TLV_PARAM_KERNEL, 0, 0, have, want);
        return;
    }
    if (have != 7)
        return;
    check_cbank_off(info);
    if (info->cbank_size != info->param_size)
        report_record(info, CV_R_TLV_PARAM_SIZE, info->cbank_at + 2, 2, info->cbank_size, info->param_size);
    if (info->params_end != info->param_size)
        report_record(info, CV_R_TLV_PARAM_END, 0, 0, info->params_end, info->param_size);
}

static void check_together(const info_section *info)
{
    if (was_given(info, CV_ATTR_COOP_GROUP_INSTR_OFFSETS) &&
        was_given(info, CV_ATTR_COOP_GROUP_MASK_REGIDS) && info->coop_offsets != info->coop_masks)
        report_record(info, CV_R_TLV_COOP_COUNT, 0, 0, info->coop_offsets, info->coop_masks);
    if (was_given(info, CV_ATTR_TCGEN05_1CTA_USED) && was_given(info, CV_ATTR_TCGEN05_2CTA_USED))
        report_record(info, CV_R_TLV_TCGEN05, 0, 0, CV_ATTR_TCGEN05_2CTA_USED, CV_ATTR_TCGEN05_1CTA_USED);
}

/* The code that the section belongs to: its size, and whether it is a kernel. */
static void find_code(info_section *info, uint64_t index)
{
    uint64_t at = cv_cubin_sec(info->cubin, index)->header.info;
    const cv_sec *code = cv_cubin_sec(info->cubin, at);
    cv_elf_symbol symbol;

    if (at == 0 || at >= info->cubin->sec.count)
        return; /* a finding of the section table */
    if (!info->merc && cv_role_is_code(code->role)) {
        info->code = (uint32_t)at;
        info->code_size = code->header.size;
        info->kernel = code->kernel_sym != 0;
    } else if (info->merc && cv_role_is_capsule(code->role) && code->header.info < info->n_syms) {
        cv_elf_read_symbol(info->syms, false, code->header.info, &symbol);
        info->code = (uint32_t)at;
        info->code_size = symbol.size;
        info->kernel = (symbol.other & CV_STO_ENTRY) != 0;
    }
}

cuvet_status cv_meta_info_function(cv_ctx *ctx, cv_cubin *cubin, uint64_t section, bool merc)
{
    cuvet_status status = CUVET_OK;
    info_section info;

    if (!open_info(&info, ctx, cubin, section, merc))
        return CUVET_OK;
    info.where = merc ? CV_IN_MERC_FN : CV_IN_FN;
    find_code(&info, section);
    if (read_records(&info)) {
        if (!merc && info.code && was_given(&info, CV_ATTR_REG_RECONFIG))
            cv_sec_mut(cubin, info.code)->sets_regs = true;
        check_params(&info);
        check_together(&info);
        status = check_ordinals(&info);
    }
    cv_path_pop(ctx);
    return status;
}

static void report_missing(cv_ctx *ctx, uint64_t section, const cv_cubin *cubin, cv_rule rule, uint32_t sym,
                           uint32_t code)
{
    cv_sec_report(ctx, cubin, section, rule, CV_SH_INFO, sym, code);
}

static void check_mark(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec, uint32_t mark)
{
    uint32_t sym =
        sec->role == CV_ROLE_CAPMERC_TEXT ? sec->header.info : cv_elf_code_symbol(sec->header.info);
    uint32_t regs = mark >> CV_META_REGS & CV_REGISTERS_MOST;

    if (!(mark & CV_META_FRAME))
        report_missing(ctx, index, cubin, CV_R_TLV_NO_FRAME, sym, CV_ATTR_FRAME_SIZE);
    if (!(mark & CV_META_REGCOUNT))
        report_missing(ctx, index, cubin, CV_R_TLV_NO_REGCOUNT, sym, CV_ATTR_REGCOUNT);
    if (!(mark & CV_META_MIN_STACK) && cubin->exe && sec->kernel_sym != 0)
        report_missing(ctx, index, cubin, CV_R_TLV_NO_STACK, sym, CV_ATTR_MIN_STACK_SIZE);
    if (sec->role == CV_ROLE_TEXT && (mark & CV_META_REGCOUNT) &&
        cv_gen_has(cubin->gen, CV_GEN_REGS_IN_INFO) && cv_elf_code_registers(sec->header.info) > regs)
        cv_sec_report(ctx, cubin, index, CV_R_TLV_REGCOUNT_INFO, CV_SH_INFO,
                      cv_elf_code_registers(sec->header.info), regs);
}

void cv_meta_check_marks(cv_ctx *ctx, cv_cubin *cubin, bool merc, const cv_u32s *marks)
{
    cv_role role = merc ? CV_ROLE_CAPMERC_TEXT : CV_ROLE_TEXT;

    if (!cv_work(ctx, cubin->sec.count, cubin->image.off))
        return;
    for (uint64_t i = cv_max(1, cv_cubin_first(cubin, role)); i < cubin->sec.count; i++) {
        cv_sec *sec = cv_sec_mut(cubin, i);
        uint32_t sym = merc ? sec->header.info : cv_elf_code_symbol(sec->header.info);

        /* A function that is none is a finding of the pairs. */
        if (sec->role == role && sym < marks->count &&
            cv_meta_sym_type(merc ? cubin->merc_symtab : cubin->symtab, sym) == CV_STT_FUNC) {
            sec->regs = *cv_u32s_get(marks, sym) >> CV_META_REGS & CV_REGISTERS_MOST;
            check_mark(ctx, cubin, i, sec, *cv_u32s_get(marks, sym));
        }
    }
}
