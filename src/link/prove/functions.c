/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every kernel is there that nobody asked to leave out, and every function that code below a kernel calls;
 * and a kernel has the registers, the stack, the barriers and the slots of all of them. */
#include "base/arith.h"
#include "format/meta/read.h"
#include "format/tlv/attr.h"
#include "link/prove/parts.h"

/* A function of the result, and what is known of what it needs with all that it calls. */
typedef struct node {
    uint32_t header;                                        /* registers, by the header of its code */
    uint32_t regs, frame, barriers;                         /* of its definition in an input */
    uint32_t has_regs, has_frame, has_barriers, stack_said; /* of the result */
    uint32_t most, has_most;                                /* the stack that a compiler allows it */
    uint32_t all_regs, all_barriers;
    uint64_t stack;
    uint32_t next; /* 1 + the element of the calls that is looked at next; 0: none */
    uint8_t state; /* 0 not met, 1 open, 2 done */
    uint8_t slots; /* kinds of textures, with all that it calls */
    bool counted, framed, said, limited, has_limit;
    bool vague; /* more may be needed than what is known here */
} node;

CV_VEC(nodes, node);

typedef struct program {
    nodes fn; /* by symbol of the result, then by prototype */
    cv_prove_calls calls;
    cv_names proto; /* of functions whose address is taken: a node for each stands behind the functions */
    /* Of calls by address, by part of the call graph, what the inputs say: function << 32 | prototype. */
    cv_keys told[CV_CALL_INDIRECT - CV_CALL_DIRECT];
    cv_u32s open;
} program;

/* Does the definition of this symbol of the object at hand stand in the result? */
static bool stands(const cv_prove *prove, const cv_prove_symbol *symbol, uint64_t index)
{
    const cv_proven *proven;

    if (symbol->out == 0 || symbol->out >= prove->proven.count)
        return false;
    proven = cv_provens_get(&prove->proven, symbol->out);
    return proven->found && !proven->unsure && proven->obj == prove->obj && proven->sym == index;
}

/* Does what the call graph of the object at hand says of this symbol count? What a definition calls that was
 * taken until a better one came goes on being called, so says the reference. */
static bool counts(const cv_prove *prove, const cv_prove_symbol *symbol)
{
    return symbol->won && symbol->out != 0 && symbol->out < prove->proven.count &&
           !cv_provens_get(&prove->proven, symbol->out)->unsure;
}

static bool is_kernel(const cv_elf_symbol *symbol)
{
    return cv_elf_sym_type(symbol) == CV_STT_FUNC && (symbol->other & CV_STO_ENTRY) != 0;
}

static bool is_defined_there(const cv_prove *prove, uint32_t out)
{
    cv_elf_symbol named;

    cv_elf_read_symbol(prove->facts->result->symtab, false, out, &named);
    return out != 0 && out < prove->facts->result->n_syms && named.shndx != CV_SHN_UNDEF;
}

static cuvet_status check_kernels(const cv_prove *prove)
{
    for (uint64_t i = 1; i < prove->in->n_syms; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);

        if (cv_elf_sym_type(&symbol->elf) != CV_STT_FUNC || symbol->sec == 0 ||
            is_defined_there(prove, symbol->out))
            continue;
        if (prove->facts->whole)
            return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_MISSING, i, i, 0);
        if (is_kernel(&symbol->elf) &&
            prove->facts->asks(prove->facts->user, cv_prove_name(prove->in, &symbol->elf)))
            return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_MISSING, i, i, 0);
    }
    return CUVET_OK;
}

static bool add_call(cv_prove *prove, program *all, uint32_t from, cv_prove_call call)
{
    uint32_t *first = cv_u32s_at(&all->calls.first, from);

    call.next = *first;
    if (!cv_prove_call_list_push(&prove->ctx->mem, &all->calls.call, call))
        return false;
    *first = (uint32_t)all->calls.call.count;
    return true;
}

/* The number of a prototype; CV_NONE: no memory. */
static cv_id proto_of(cv_prove *prove, program *all, cv_span strtab, uint32_t at)
{
    cv_span name = cv_span_of(NULL, 0, 0);

    if (!cv_span_cstr(strtab, at, &name))
        name.len = 0;
    return cv_names_put(&prove->ctx->mem, &all->proto, name);
}

static cv_keys *told_of(program *all, cv_call_part part)
{
    return CV_ARRAY_AT(all->told, part - CV_CALL_ADDRESS);
}

static bool is_told(cv_call_part part)
{
    return part == CV_CALL_ADDRESS || part == CV_CALL_INDIRECT;
}

/* What a record of the object at hand says of the result. False: no memory. */
static bool tell_call(cv_prove *prove, program *all, const cv_call *record)
{
    uint32_t from = cv_prove_symbol_at(prove, record->from)->out, to;

    if (!is_told(record->part) || from == 0)
        return true;
    to = proto_of(prove, all, prove->in->strtab, record->to);
    return to != CV_NONE && cv_keys_push(&prove->ctx->mem, told_of(all, record->part),
                                         (cv_key){ (uint64_t)from << 32 | to, 0 });
}

/* A kernel whose descriptor code has is launched: objects of CUDA 12.0 and 12.1 say nothing of it, their
 * programs do. */
static cuvet_status tell_launches(cv_prove *prove, program *all, uint64_t sec)
{
    const cv_cubin *in = prove->in;
    const cv_sec *table = cv_cubin_sec(in, sec);
    bool rela = table->header.type == CV_SHT_RELA;
    cv_span body = cv_cubin_body(in, sec);
    uint64_t count = body.len / cv_elf_rel_size(false, rela);
    cv_elf_reloc row;

    if ((!rela && table->header.type != CV_SHT_REL) ||
        cv_cubin_sec(in, table->header.info)->role != CV_ROLE_TEXT)
        return CUVET_OK;
    if (!cv_work(prove->ctx, count, 0))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count; i++) {
        cv_elf_read_reloc(body, false, rela, i, &row);
        if (cv_reloc_of(row.type)->who == CV_RELOC_DESC && row.sym < in->n_syms &&
            is_kernel(&cv_prove_symbol_at(prove, row.sym)->elf) &&
            !tell_call(prove, all, &(cv_call){ .part = CV_CALL_ADDRESS, .from = row.sym }))
            return cv_nomem(prove->ctx, 0);
    }
    return CUVET_OK;
}

/* What the result says of calls by address some input says. */
static cuvet_status check_told(cv_prove *prove, program *all)
{
    const cv_cubin *result = prove->facts->result;
    uint32_t sec = cv_cubin_first(result, CV_ROLE_CALLGRAPH);
    cv_span body = cv_cubin_body(result, sec);
    cv_call_cur cur = { .loose = true };
    cv_call record;

    for (size_t i = 0; i < CV_COUNT(all->told); i++)
        cv_keys_sort(CV_ARRAY_AT(all->told, i));
    while (cv_callgraph_peek(body, &cur, &record)) {
        uint64_t key, at;

        if (!is_told(record.part))
            continue;
        key = proto_of(prove, all, result->strtab, record.to);
        if (key == CV_NONE)
            return cv_nomem(prove->ctx, 0);
        key |= (uint64_t)record.from << 32;
        at = cv_keys_lower_bound(told_of(all, record.part), key);
        if (at == told_of(all, record.part)->count || cv_keys_get(told_of(all, record.part), at)->key != key)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_RECORD, CUVET_P_SECTION, sec, record.off, record.part,
                                 record.from);
    }
    return CUVET_OK;
}

/* The node of a prototype; 0: no memory. */
static uint32_t node_of(cv_prove *prove, program *all, uint32_t at)
{
    cv_mem *mem = &prove->ctx->mem;
    uint64_t index;
    cv_id id = proto_of(prove, all, prove->in->strtab, at);

    if (id == CV_NONE)
        return 0;
    index = cv_sat_add(prove->facts->result->n_syms, id);
    while (all->fn.count <= index)
        if (!nodes_push(mem, &all->fn, (node){ 0 }) || !cv_u32s_push(mem, &all->calls.first, 0))
            return 0;
    return (uint32_t)index;
}

/* Who calls by a prototype may get to each function whose address is taken with it. */
static bool read_indirect(cv_prove *prove, program *all, const cv_call *record)
{
    const cv_prove_symbol *fn = cv_prove_symbol_at(prove, record->from);
    bool taken = record->part == CV_CALL_ADDRESS;
    uint32_t proto;

    /* An address is taken where the function is declared as well. */
    if (taken ? record->to == 0 || record->from >= prove->in->n_syms || fn->out == 0 : !counts(prove, fn))
        return true;
    proto = node_of(prove, all, record->to);
    return proto != 0 &&
           add_call(prove, all, taken ? proto : fn->out,
                    (cv_prove_call){ .to = taken ? fn->out : proto, .obj = prove->obj, .sym = record->from });
}

static cuvet_status read_calls(cv_prove *prove, program *all)
{
    cv_span body = cv_cubin_body(prove->in, cv_cubin_first(prove->in, CV_ROLE_CALLGRAPH));
    cv_call_cur cur = { .loose = true };
    cv_call record;
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 1; i < prove->in->sec.count && prove->in->legacy && status == CUVET_OK; i++)
        status = tell_launches(prove, all, i);
    if (status != CUVET_OK)
        return status;
    while (cv_callgraph_peek(body, &cur, &record)) {
        const cv_prove_symbol *from;

        prove->indirect = prove->indirect || record.part != CV_CALL_DIRECT;
        if (!tell_call(prove, all, &record))
            return cv_nomem(prove->ctx, 0);
        if ((record.part == CV_CALL_ADDRESS || record.part == CV_CALL_INDIRECT) &&
            !read_indirect(prove, all, &record))
            return cv_nomem(prove->ctx, 0);
        if (record.part != CV_CALL_DIRECT || record.from >= prove->in->n_syms ||
            record.to >= prove->in->n_syms)
            continue;
        from = cv_prove_symbol_at(prove, record.from);
        if (!counts(prove, from))
            continue;
        if (!add_call(prove, all, from->out,
                      (cv_prove_call){ .to = cv_prove_symbol_at(prove, record.to)->out,
                                       .obj = prove->obj,
                                       .sym = record.to }))
            return cv_nomem(prove->ctx, 0);
    }
    return CUVET_OK;
}

/* Registers and stack are records of a whole object. */
static void read_counts(const cv_prove *prove, program *all, const cv_cubin *cubin, bool result)
{
    cv_span body = cv_cubin_body(cubin, cv_cubin_first(cubin, CV_ROLE_NV_INFO));
    cv_tlv tlv;

    for (uint64_t pos = 0; cv_tlv_at(body, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        uint32_t sym = cv_u32_at(body, tlv.payload), value = cv_u32_at(body, tlv.payload + 4);
        uint32_t out = sym;
        node *fn;

        if (tlv.format != CV_TLV_SVAL || tlv.value != 8 || sym >= cubin->n_syms)
            continue;
        if (!result && !stands(prove, cv_prove_symbol_at(prove, sym), sym))
            continue;
        if (!result)
            out = cv_prove_symbol_at(prove, sym)->out;
        fn = nodes_at(&all->fn, out);
        if (tlv.code == CV_ATTR_REGCOUNT) {
            *(result ? &fn->has_regs : &fn->regs) = value;
            fn->counted |= !result;
        } else if (tlv.code == CV_ATTR_FRAME_SIZE) {
            *(result ? &fn->has_frame : &fn->frame) = value;
            fn->framed |= !result;
        } else if (tlv.code == CV_ATTR_MAX_STACK_SIZE) {
            *(result ? &fn->has_most : &fn->most) = value;
            *(result ? &fn->has_limit : &fn->limited) = true;
        } else if (tlv.code == CV_ATTR_MIN_STACK_SIZE && result) {
            fn->stack_said = value;
            fn->said = true;
        }
    }
}

/* Barriers are records of a function; code of old compilers that has none tells them in flags. A result may
 * keep those beside a record. */
static uint32_t read_barriers(const cv_cubin *cubin, uint32_t code)
{
    const cv_sec *sec = cv_cubin_sec(cubin, code);
    cv_span body = cv_cubin_body(cubin, sec->info_sec);
    bool said = sec->info_sec == 0;
    uint32_t most = 0;
    cv_tlv tlv;

    for (uint64_t pos = 0; cv_tlv_at(body, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        if (tlv.code != CV_ATTR_NUM_BARRIERS || tlv.format != CV_TLV_BVAL)
            continue;
        most = (uint32_t)cv_max(most, tlv.value);
        said = true;
    }
    return said ? most : cv_elf_code_barriers(sec->header.flags);
}

static cuvet_status read_object(cv_prove *prove, program *all)
{
    cuvet_status status = check_kernels(prove);

    if (status == CUVET_OK)
        status = read_calls(prove, all);
    read_counts(prove, all, prove->in, false);
    /* the function of the section: other names of it would read its records again */
    for (uint32_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++) {
        const cv_sec *sec = cv_cubin_sec(prove->in, i);
        uint32_t index = cv_elf_code_symbol(sec->header.info);
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, index);

        if (sec->role == CV_ROLE_TEXT && symbol->sec == i && cv_elf_sym_type(&symbol->elf) == CV_STT_FUNC &&
            stands(prove, symbol, index)) {
            nodes_at(&all->fn, symbol->out)->barriers = read_barriers(prove->in, i);
            nodes_at(&all->fn, symbol->out)->header = cv_elf_code_registers(sec->header.info);
        }
    }
    return status;
}

/* All that a call leads to is known. */
static void add_callee(node *caller, const node *callee)
{
    caller->all_regs = (uint32_t)cv_max(caller->all_regs, callee->all_regs);
    caller->all_barriers = (uint32_t)cv_max(caller->all_barriers, callee->all_barriers);
    caller->stack = cv_max(caller->stack, callee->stack);
    caller->slots |= callee->slots;
    caller->vague = caller->vague || callee->vague;
}

static cuvet_status step(cv_prove *prove, program *all, uint32_t at)
{
    node *fn = nodes_at(&all->fn, at);
    const cv_prove_call *next;

    if (fn->next == 0) {
        fn->state = 2;
        fn->stack = cv_sat_add(fn->stack, fn->frame);
        all->open.count--;
        if (all->open.count > 0)
            add_callee(nodes_at(&all->fn, *cv_u32s_get(&all->open, all->open.count - 1)), fn);
        return CUVET_OK;
    }
    next = cv_prove_call_list_get(&all->calls.call, fn->next - 1);
    fn->next = next->next;
    if (next->to == 0 || next->to >= all->fn.count) {
        cv_prove_open(prove, next->obj);
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_MISSING, next->sym, next->sym, 0);
    }
    if (nodes_at(&all->fn, next->to)->state == 2)
        add_callee(fn, nodes_at(&all->fn, next->to));
    if (nodes_at(&all->fn, next->to)->state != 0) {
        fn->vague = fn->vague || nodes_at(&all->fn, next->to)->state == 1;
        return CUVET_OK; /* a circle: what it needs is at least this */
    }
    nodes_at(&all->fn, next->to)->state = 1;
    return cv_u32s_push(&prove->ctx->mem, &all->open, next->to) ? CUVET_OK : cv_nomem(prove->ctx, 0);
}

/* Everything below a kernel, once for all kernels. */
static cuvet_status walk(cv_prove *prove, program *all, uint32_t kernel)
{
    cuvet_status status = CUVET_OK;

    if (nodes_at(&all->fn, kernel)->state != 0)
        return CUVET_OK;
    nodes_at(&all->fn, kernel)->state = 1;
    if (!cv_u32s_push(&prove->ctx->mem, &all->open, kernel))
        return cv_nomem(prove->ctx, 0);
    while (all->open.count > 0 && status == CUVET_OK)
        status = step(prove, all, *cv_u32s_get(&all->open, all->open.count - 1));
    return status;
}

static cuvet_status short_of(const cv_prove *prove, uint64_t out, uint64_t got, uint64_t want)
{
    return cv_prove_fail(prove, CV_R_LINK_PROVE_USAGE, CUVET_P_SYMBOL, out, 0, got, want);
}

static cuvet_status check_function(const cv_prove *prove, program *all, uint32_t out,
                                   const cv_elf_symbol *symbol)
{
    const node *fn = nodes_get(&all->fn, out);
    bool kernel = is_kernel(symbol) && !prove->facts->relocatable;
    uint32_t code = cv_cubin_shndx(prove->facts->result, false, out, symbol), barriers, said;
    unsigned written;

    if (fn->counted && (kernel ? fn->has_regs < fn->all_regs || (!fn->vague && fn->has_regs != fn->all_regs)
                               : fn->has_regs != fn->regs))
        return short_of(prove, out, fn->has_regs, fn->all_regs);
    if (fn->framed && fn->has_frame != fn->frame)
        return short_of(prove, out, fn->has_frame, fn->frame);
    if (fn->has_limit && fn->limited && fn->has_most != fn->most)
        return short_of(prove, out, fn->has_most, fn->most);
    said = cv_elf_code_registers(cv_cubin_sec(prove->facts->result, code)->header.info);
    if (said < fn->header)
        return short_of(prove, out, said, fn->header);
    barriers = read_barriers(prove->facts->result, code);
    if (barriers < (kernel ? fn->all_barriers : fn->barriers))
        return short_of(prove, out, barriers, kernel ? fn->all_barriers : fn->barriers);
    if (!kernel)
        return CUVET_OK;
    written = *cv_u8s_get(&prove->slots_written, code);
    if ((fn->slots & ~written) != 0)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SYMBOL, out, 0, written, fn->slots);
    return fn->framed && (!fn->said || fn->stack_said < cv_min(fn->stack, UINT32_MAX))
               ? short_of(prove, out, fn->stack_said, fn->stack)
               : CUVET_OK;
}

static cuvet_status check_all(cv_prove *prove, program *all)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;
    cv_elf_symbol symbol;

    for (uint32_t i = 0; i < all->fn.count; i++) {
        node *fn = nodes_at(&all->fn, i);

        fn->all_regs = fn->regs;
        fn->all_barriers = fn->barriers;
        fn->vague = prove->indirect || !fn->counted;
        fn->next = *cv_u32s_get(&all->calls.first, i);
        if (i < prove->slots_used.count)
            fn->slots = *cv_u8s_get(&prove->slots_used, i);
    }
    for (uint32_t i = 1; i < result->n_syms && status == CUVET_OK; i++) {
        cv_elf_read_symbol(result->symtab, false, i, &symbol);
        if (is_kernel(&symbol) && symbol.shndx != CV_SHN_UNDEF)
            status = walk(prove, all, i);
    }
    for (uint32_t i = 1; i < result->n_syms && status == CUVET_OK; i++) {
        cv_elf_read_symbol(result->symtab, false, i, &symbol);
        if (cv_elf_sym_type(&symbol) == CV_STT_FUNC && symbol.shndx != CV_SHN_UNDEF)
            status = check_function(prove, all, i, &symbol);
    }
    return status;
}

cuvet_status cv_prove_functions(cv_prove *prove)
{
    cv_mem *mem = &prove->ctx->mem;
    cuvet_status status = CUVET_OK;
    program all = { 0 };

    cv_names_init(&all.proto, prove->facts->key0, prove->facts->key1);
    if (nodes_reserve(mem, &all.fn, prove->facts->result->n_syms))
        all.fn.count = prove->facts->result->n_syms;
    if (all.fn.count == 0 || !cv_u32s_fill(mem, &all.calls.first, all.fn.count))
        status = cv_nomem(prove->ctx, 0);
    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        status = read_object(prove, &all);
    }
    if (status == CUVET_OK) {
        read_counts(prove, &all, prove->facts->result, true);
        status = check_all(prove, &all);
    }
    if (status == CUVET_OK)
        status = check_told(prove, &all);
    if (status == CUVET_OK)
        status = cv_prove_shared(prove, &all.calls);
    nodes_free(mem, &all.fn);
    cv_names_free(mem, &all.proto);
    cv_prove_call_list_free(mem, &all.calls.call);
    cv_u32s_free(mem, &all.calls.first);
    cv_u32s_free(mem, &all.open);
    for (size_t i = 0; i < CV_COUNT(all.told); i++)
        cv_keys_free(mem, CV_ARRAY_AT(all.told, i));
    return status;
}
