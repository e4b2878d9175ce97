/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory: the places of variables are those that the code of the result uses. All uses of a
 * variable agree, it is aligned, it ends inside of what its kernel has, and two that one kernel reaches do
 * not lie over each other. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Kernels are walked one by one, so that their number times what they reach is what it costs: no more than
 * this for each call of the program. */
enum { STEPS_MOST = 64 };

cuvet_status cv_prove_use_shared(cv_prove *prove, const cv_prove_reloc *reloc, uint64_t base)
{
    uint32_t definition = *cv_u32s_get(&prove->facts->definition, prove->first_sym + reloc->elf.sym);
    cv_prove_use use = {
        .fn = prove->here.fn, .var = definition, .base = base, .obj = prove->obj, .sym = reloc->elf.sym
    };
    uint32_t *last;

    if (use.fn == 0 || definition >= prove->facts->sym.count)
        return CUVET_OK;
    if (!prove->used.items && !cv_u32s_fill(&prove->ctx->mem, &prove->used, prove->facts->sym.count))
        return cv_nomem(prove->ctx, 0);
    last = cv_u32s_at(&prove->used, definition);
    /* Code uses a variable many times, one after the other. */
    if (*last != 0 && cv_prove_uses_get(&prove->use, *last - 1)->fn == use.fn &&
        cv_prove_uses_get(&prove->use, *last - 1)->base == base)
        return CUVET_OK;
    if (!cv_prove_uses_push(&prove->ctx->mem, &prove->use, use))
        return cv_nomem(prove->ctx, 0);
    *last = (uint32_t)prove->use.count;
    return CUVET_OK;
}

bool cv_prove_shared_place(const cv_prove *prove, uint64_t sym, uint64_t *place)
{
    uint64_t index = cv_sat_add(prove->first_sym, sym), said;

    if (index >= prove->facts->shared.count)
        return false;
    said = *cv_u64s_get(&prove->facts->shared, index);
    *place = said - (said != 0);
    return said != 0;
}

static cuvet_status fail(cv_prove *prove, const cv_prove_use *use, uint64_t got, uint64_t want)
{
    cv_prove_open(prove, use->obj);
    return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_MEMORY, use->sym, got, want);
}

/* What a debugger is told of an array is what code uses, or that behind what the system has. Others are told
 * nothing. */
static bool is_shown_at(const cv_prove *prove, const cv_elf_symbol *named, uint64_t place)
{
    if (!prove->facts->debug)
        return cv_wrap_add(named->value, 1) == prove->facts->reserved ||
               named->value == cv_sat_add(place, prove->facts->reserved);
    return named->value == place || named->value == cv_sat_add(place, prove->facts->reserved);
}

/* By symbol of the result: 1 + the first symbol of an input that names the array; 0: it is none. */
static bool list_arrays(cv_prove *prove, cv_u32s *first)
{
    if (!cv_u32s_fill(&prove->ctx->mem, first, cv_max(prove->facts->result->n_syms, 1)))
        return false;
    for (uint64_t i = 0; i < prove->symbol.count; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_list_get(&prove->symbol, i);

        if (symbol->space == CV_STO_SPACE_SHARED && symbol->elf.shndx == CV_SHN_UNDEF &&
            symbol->out < first->count && *cv_u32s_get(first, symbol->out) == 0)
            *cv_u32s_at(first, symbol->out) = (uint32_t)i + 1;
    }
    return true;
}

/* Whoever names an array first says how large it is: another file may give it a size, or another one. */
static cuvet_status check_shown(cv_prove *prove, const cv_prove_use *use, const cv_u32s *arrays)
{
    uint32_t out = cv_prove_symbol_list_get(&prove->symbol, use->var)->out,
             first = out < arrays->count ? *cv_u32s_get(arrays, out) : 0;
    const cv_prove_symbol *symbol = cv_prove_symbol_list_get(&prove->symbol, first ? first - 1 : use->var);
    cv_elf_symbol named;
    uint8_t type;

    cv_elf_read_symbol(prove->facts->result->symtab, false, out, &named);
    type = cv_elf_sym_type(&named);
    if (out == 0 || named.shndx == CV_SHN_UNDEF ||
        (is_shown_at(prove, &named, use->base) && named.size == symbol->elf.size &&
         (type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT) &&
         cv_elf_sym_bind(&named) == cv_elf_sym_bind(&symbol->elf)))
        return CUVET_OK;
    return fail(prove, use, named.value, cv_sat_add(use->base, prove->facts->reserved));
}

/* All uses of a variable mean one place. */
static cuvet_status check_uses(cv_prove *prove)
{
    cv_mem *mem = &prove->ctx->mem;
    cuvet_status status = CUVET_OK;
    cv_u32s arrays = { 0 };
    cv_u64s at = { 0 };

    if (!cv_u64s_fill(mem, &at, prove->facts->sym.count))
        return cv_nomem(prove->ctx, 0);
    for (uint64_t i = 0; i < prove->use.count && status == CUVET_OK; i++) {
        cv_prove_use *use = cv_prove_uses_at(&prove->use, i);
        const cv_elf_symbol symbol = cv_prove_symbol_list_get(&prove->symbol, use->var)->elf;
        uint64_t *place = cv_u64s_at(&at, use->var);

        use->array = symbol.shndx == CV_SHN_UNDEF;
        use->end = cv_sat_add(use->base, symbol.size);
        use->align = symbol.value;
        if (use->array && use->base % cv_max(symbol.value, 1) != 0)
            status = fail(prove, use, use->base, symbol.value);
        if (use->array && status == CUVET_OK && arrays.count == 0 && !list_arrays(prove, &arrays))
            status = cv_nomem(prove->ctx, 0);
        if (use->array && status == CUVET_OK)
            status = check_shown(prove, use, &arrays);
        if (use->array)
            continue;
        if ((*place != 0 && *place != use->base + 1) || use->base % cv_max(symbol.value, 1) != 0)
            status = fail(prove, use, use->base, *place == 0 ? 0 : *place - 1);
        *place = use->base + 1;
    }
    cv_u64s_free(mem, &at);
    cv_u32s_free(mem, &arrays);
    return status;
}

/* What a kernel reaches. */
typedef struct reach {
    cv_u32s seen; /* by symbol of the result: the kernel that met it last */
    cv_u32s open;
    cv_u32s first; /* by symbol of the result: 1 + an element of the uses; 0: none */
    cv_keys place; /* of the kernel at hand: base, use */
    cv_u64s room;  /* by section of the result: the section with the shared memory of the code in it */
    /* Where it is asked: where variables end, by section of the result; 0: those of functions. */
    cv_u64s laid;
    cv_u8s named; /* by symbol of an input: code names it that is gone */
    bool any;     /* some kernel has shared memory */
    uint64_t steps;
} reach;

static bool meet(cv_prove *prove, reach *all, uint32_t kernel, uint32_t fn)
{
    if (fn == 0 || fn >= all->seen.count || *cv_u32s_get(&all->seen, fn) == kernel)
        return true;
    *cv_u32s_at(&all->seen, fn) = kernel;
    return cv_u32s_push(&prove->ctx->mem, &all->open, fn);
}

static bool collect(cv_prove *prove, reach *all, const cv_prove_calls *calls, uint32_t kernel)
{
    bool ok = meet(prove, all, kernel, kernel);

    cv_keys_clear(&all->place);
    cv_keys_clear(&prove->branches.met);
    while (all->open.count > 0 && ok) {
        uint32_t fn = *cv_u32s_get(&all->open, all->open.count - 1);

        all->open.count--;
        ok = cv_prove_meet_tables(prove, fn);
        for (uint32_t next = *cv_u32s_get(&calls->first, fn); ok && next != 0; all->steps++) {
            const cv_prove_call *call = cv_prove_call_list_get(&calls->call, next - 1);

            ok = meet(prove, all, kernel, call->to);
            next = call->next;
        }
        for (uint32_t next = *cv_u32s_get(&all->first, fn); ok && next != 0; all->steps++) {
            const cv_prove_use *use = cv_prove_uses_get(&prove->use, next - 1);

            ok = cv_keys_push(&prove->ctx->mem, &all->place, (cv_key){ use->base, next - 1 });
            next = use->next;
        }
    }
    return ok;
}

/* Which sections of the result have the shared memory of the code in each of its sections. */
static bool list_rooms(cv_prove *prove, reach *all)
{
    const cv_cubin *result = prove->facts->result;

    if (!cv_u64s_fill(&prove->ctx->mem, &all->room, result->sec.count))
        return false;
    for (uint64_t i = 1; i < result->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(result, i);

        if (sec->role != CV_ROLE_SHARED_FN || sec->header.info >= all->room.count)
            continue;
        *cv_u64s_at(&all->room, sec->header.info) = i;
        all->any = all->any || sec->header.size > prove->facts->reserved;
    }
    return true;
}

/* The section with what the kernel has; that of no kernel is empty. */
static const cv_elf_section *room_of(const cv_prove *prove, const reach *all, uint32_t kernel, uint64_t *at)
{
    const cv_cubin *result = prove->facts->result;
    cv_elf_symbol symbol;
    uint32_t code;

    cv_elf_read_symbol(result->symtab, false, kernel, &symbol);
    code = cv_cubin_shndx(result, false, kernel, &symbol);
    *at = code < all->room.count ? *cv_u64s_get(&all->room, code) : 0;
    return &cv_cubin_sec(result, *at)->header;
}

/* Symbols of the object at hand that code names which is gone. */
static bool list_named(cv_prove *prove, cv_u8s *named)
{
    cv_u8s_clear(named);
    if (!cv_u8s_fill(&prove->ctx->mem, named, prove->in->n_syms))
        return false;
    for (uint64_t i = 1; i < prove->in->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(prove->in, i);
        bool rela = sec->role == CV_ROLE_RELA;
        cv_elf_reloc row;
        cv_span body;

        if ((!rela && sec->role != CV_ROLE_REL) || cv_prove_place_of(prove, sec->header.info)->sec != 0 ||
            cv_cubin_sec(prove->in, sec->header.info)->role != CV_ROLE_TEXT)
            continue;
        body = cv_cubin_body(prove->in, i);
        for (uint64_t k = 0; k < body.len / cv_elf_rel_size(false, rela); k++) {
            cv_elf_read_reloc(body, false, rela, k, &row);
            if (row.sym < named->count)
                *cv_u8s_at(named, row.sym) = 1;
        }
    }
    return true;
}

/* Does code name it that is there, or only code that is gone? The first is a use of some kernel's. */
static bool is_named(const cv_prove *prove, const cv_u8s *named, uint64_t sym)
{
    uint32_t definition = *cv_u32s_get(&prove->facts->definition, prove->first_sym + sym);

    return *cv_u8s_get(named, sym) != 0 ||
           (definition < prove->used.count && *cv_u32s_get(&prove->used, definition) != 0);
}

/* Variables that no relocation of code names have room in the section of their kernel as well, those of
 * device functions in that of any kernel; where functions are called by address all of these have. */
static bool list_laid(cv_prove *prove, cv_u64s *laid, cv_u8s *named)
{
    if (!cv_u64s_fill(&prove->ctx->mem, laid, prove->facts->result->sec.count))
        return false;
    for (uint32_t obj = 0; obj < prove->facts->in.count; obj++) {
        cv_prove_open(prove, obj);
        if (!list_named(prove, named))
            return false;
        for (uint64_t i = 1; i < prove->in->n_syms; i++) {
            const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);
            uint32_t sec = cv_prove_place_of(prove, symbol->sec)->sec;
            uint64_t place, *end;

            if (symbol->space != CV_STO_SPACE_SHARED || sec >= laid->count ||
                !cv_prove_shared_place(prove, i, &place))
                continue;
            if (cv_cubin_sec(prove->facts->result, sec)->role != CV_ROLE_SHARED_FN)
                sec = 0;
            if (sec == 0 && !prove->indirect && is_named(prove, named, i))
                continue;
            end = cv_u64s_at(laid, sec);
            *end = cv_max(*end, cv_sat_add(place, symbol->elf.size));
        }
    }
    return true;
}

static cuvet_status check_size(cv_prove *prove, reach *all, const cv_elf_section *has, uint64_t at,
                               uint64_t end)
{
    uint64_t want = cv_sat_add(end, prove->facts->reserved), own, most;

    if (at == 0 || has->size == want || (has->size == 0 && end == 0) ||
        (prove->array_part && has->size > want))
        return CUVET_OK;
    if (all->laid.count == 0 && !list_laid(prove, &all->laid, &all->named))
        return cv_nomem(prove->ctx, 0);
    own = *cv_u64s_get(&all->laid, at);
    most = cv_sat_add(cv_max(own, *cv_u64s_get(&all->laid, 0)), prove->facts->reserved);
    if (has->size >= cv_max(want, cv_sat_add(own, prove->facts->reserved)) && has->size <= most)
        return CUVET_OK;
    return cv_prove_fail(prove, CV_R_LINK_PROVE_END, CUVET_P_SECTION, at, 0, has->size, want);
}

static cuvet_status check_places(cv_prove *prove, reach *all, uint32_t kernel)
{
    uint64_t end = 0, room, at;
    bool arrays = false; /* they begin where the kernel's shared memory ends */
    const cv_elf_section *has = room_of(prove, all, kernel, &at);
    uint32_t var = CV_NONE;

    room = has->size - cv_min(has->size, prove->facts->reserved);
    cv_keys_sort(&all->place);
    for (uint64_t i = 0; i < all->place.count; i++) {
        const cv_prove_use *use = cv_prove_uses_get(&prove->use, cv_keys_get(&all->place, i)->index);

        if (at != 0 && use->align > has->align)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_ALIGN, CUVET_P_SECTION, at, 0, has->align,
                                 use->align);
        if (use->array || use->end == use->base || use->var == var)
            continue;
        if (use->base < end || use->end > room)
            return fail(prove, use, use->base, use->base < end ? end : room);
        end = use->end;
        var = use->var;
    }
    for (uint64_t i = 0; i < all->place.count; i++) {
        const cv_prove_use *use = cv_prove_uses_get(&prove->use, cv_keys_get(&all->place, i)->index);

        if (use->array && (use->base < end || (use->base != room && !prove->indirect) || use->base > room))
            return fail(prove, use, use->base, use->base < end ? end : room);
        arrays = arrays || use->array;
    }
    return check_size(prove, all, has, at, arrays ? room : end);
}

static cuvet_status check_kernels(cv_prove *prove, reach *all, const cv_prove_calls *calls)
{
    const cv_cubin *result = prove->facts->result;
    uint64_t most = cv_sat_mul(STEPS_MOST, cv_sat_add(calls->call.count, prove->use.count) + 1);
    cuvet_status status = CUVET_OK;

    if (!cv_u32s_fill(&prove->ctx->mem, &all->seen, calls->first.count) ||
        !cv_u32s_fill(&prove->ctx->mem, &all->first, calls->first.count) || !list_rooms(prove, all))
        return cv_nomem(prove->ctx, 0);
    if (prove->use.count == 0 && !all->any && prove->branches.list.count == 0)
        return CUVET_OK;
    for (uint64_t i = 0; i < prove->use.count; i++) {
        cv_prove_use *use = cv_prove_uses_at(&prove->use, i);

        if (use->fn >= all->first.count)
            continue;
        use->next = *cv_u32s_get(&all->first, use->fn);
        *cv_u32s_at(&all->first, use->fn) = (uint32_t)i + 1;
    }
    for (uint32_t i = 1; i < result->n_syms && status == CUVET_OK && all->steps < most; i++) {
        cv_elf_symbol symbol;

        cv_elf_read_symbol(result->symtab, false, i, &symbol);
        if (cv_elf_sym_type(&symbol) != CV_STT_FUNC || (symbol.other & CV_STO_ENTRY) == 0 ||
            symbol.shndx == 0)
            continue;
        status = collect(prove, all, calls, i) ? check_places(prove, all, i) : cv_nomem(prove->ctx, 0);
        if (status == CUVET_OK && prove->branches.list.count != 0)
            status = cv_prove_check_tables(prove, cv_cubin_shndx(result, false, i, &symbol));
    }
    return status;
}

cuvet_status cv_prove_shared(cv_prove *prove, const cv_prove_calls *calls)
{
    cv_mem *mem = &prove->ctx->mem;
    reach all = { .steps = 0 };
    cuvet_status status;

    if (prove->facts->relocatable)
        return CUVET_OK;
    status = check_uses(prove);
    if (status == CUVET_OK)
        status = check_kernels(prove, &all, calls);
    cv_u32s_free(mem, &all.seen);
    cv_u32s_free(mem, &all.open);
    cv_u32s_free(mem, &all.first);
    cv_keys_free(mem, &all.place);
    cv_u64s_free(mem, &all.room);
    cv_u64s_free(mem, &all.laid);
    cv_u8s_free(mem, &all.named);
    return status;
}
