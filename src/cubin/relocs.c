/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocation sections, those whose entries are applied already too: target, symbol, type and the bytes each
 * entry touches. */
#include "cubin/calls.h"

/* The tables that are judged together, by their targets: see cv_cubin_check_overlap() and _check_frames(). */
typedef struct reloc_lists {
    cv_keys compared, frames;
} reloc_lists;

/* A symbol that no function has, of which nothing had to be said in the entries of a section: more of them
 * name it. */
typedef struct good_symbol {
    uint32_t section; /* 0: there is none yet */
    uint32_t number;
    uint8_t info, other;
} good_symbol;

/* Those that were found last, by the low bits of their numbers. */
typedef struct good_symbols {
    good_symbol at[16];
    uint32_t last; /* of all */
} good_symbols;

typedef struct reloc_batch {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    uint64_t section;
    cv_span body;
    bool rela, merc, insn; /* insn: the target holds instructions */
    bool debug, frames;    /* the target holds debug data; call frames */
    bool loaded;           /* … or what a loader patches, and the entries are not applied yet */
    uint32_t owner;        /* of code: the symbol of its function */
    cv_span target;        /* its bytes */
    const cv_sec **own;    /* of its function alone: the section that was found to be so last */
    good_symbols *good;
    bool *said; /* something was, since this was cleared */
    bool plain; /* the target holds instructions of the size that plain types are for */
    cv_calls *calls;
    uint64_t count, n_syms, limit; /* limit: bytes of the target that may be patched */
    uint64_t within;               /* the bits of an offset that lie within an instruction */
    bool apart; /* each entry begins behind the one before, or each ends before the one before begins */
} reloc_batch;

static void entry_report(const reloc_batch *batch, uint64_t index, cv_rule rule, uint64_t field, uint64_t got,
                         uint64_t want)
{
    *batch->said = true;
    cv_path_push(batch->ctx, CUVET_P_SECTION, true, batch->section);
    cv_report_at(batch->ctx, CUVET_P_RELOC, index, rule,
                 batch->body.off + index * cv_elf_rel_size(batch->cubin->header.is32, batch->rela) + field, 0,
                 got, want);
    cv_path_pop(batch->ctx);
}

/* No section has so many bytes. */
#define ADDEND_MOST (INT64_C(1) << 40)

/* What is in the field now; 0 for types that name no functions and no variables, and where nothing can be
 * said. */
static uint64_t field_of(const reloc_batch *batch, const cv_elf_reloc *reloc, const cv_reloc_facts *facts)
{
    unsigned bit = facts->pos, bits = facts->bits, low;
    uint64_t value;

    if (batch->ctx->no_contents || !cv_reloc_has(facts, CV_USE_WHOLE))
        return 0;
    low = bit / 8;
    value = cv_u64_at(batch->target, cv_sat_add(reloc->off, low)) >> bit % 8;
    if (CV_UNLIKELY(bit % 8 + bits > 64))
        value |= (uint64_t)cv_u8_at(batch->target, cv_sat_add(reloc->off, low + 8)) << (64 - bit % 8);
    return bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

/* Where in the function that it names: where entries have no addend the field says it. */
static uint64_t place_of(const reloc_batch *batch, const cv_elf_reloc *reloc, const cv_reloc_facts *facts)
{
    return batch->rela ? (uint64_t)reloc->addend : field_of(batch, reloc, facts);
}

/* A place in a function: one of its instructions for itself, to return to; for others, and for calls, the
 * first. */
static void check_place(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc, uint64_t at,
                        bool call)
{
    uint64_t size = 0;
    cv_elf_symbol symbol;

    if (at == 0)
        return;
    if (reloc->sym == batch->owner && !call) {
        cv_elf_read_symbol(batch->cubin->symtab, false, reloc->sym, &symbol);
        size = symbol.size;
    }
    if (at >= size || (at & batch->within) != 0)
        entry_report(batch, index, CV_R_RELOC_INSIDE, batch->rela ? 16 : 0, at, size);
}

/* Compilers leave the field empty and linkers keep it so; a field with something in it is code. Of a function
 * without addend it is the place there; offsets in shared memory and in banks may have been begun by a
 * linker, which knows nothing of where a global variable will be. */
static bool is_empty_field(const reloc_batch *batch, const cv_reloc_facts *facts, uint8_t info, uint8_t other)
{
    bool global = (info & 15) == CV_STT_CUDA_OBJECT && (other & CV_STO_SPACE) == CV_STO_SPACE_GLOBAL;
    bool begun = batch->cubin->rel && !global && cv_reloc_has(facts, CV_USE_BEGUN);

    return (info & 15) == CV_STT_FUNC ? batch->rela : batch->insn && !begun;
}

static void check_field(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                        const cv_reloc_facts *facts)
{
    uint64_t value = field_of(batch, reloc, facts);

    if (CV_UNLIKELY(value != 0))
        entry_report(batch, index, CV_R_RELOC_OVER, 0, value, 0);
}

/* An address that a function has of itself. What it returns to lies behind its begin; a kernel that launches
 * itself brings what it needs, and PTXAS 12.1 says nothing of it. */
static bool is_own(const reloc_batch *batch, const cv_elf_reloc *reloc, uint64_t at, uint8_t other)
{
    return reloc->sym == batch->owner && (at != 0 || other & CV_STO_ENTRY);
}

/* A kernel brings what it needs to whoever launches it: compilers of CUDA 11, 12.0 and 12.1 say nothing of
 * its address. */
static bool is_kernel_of_old(const reloc_batch *batch, uint8_t other)
{
    uint8_t profile = batch->cubin->producer.profile;

    return (other & CV_STO_ENTRY) != 0 &&
           (profile == CV_PROFILE_TOOLKIT_11 || profile == CV_PROFILE_TOOLKIT_120);
}

/* Compilers of 12.2, asked for debug data, say nothing of calls of the driver's functions in an executable.
 * Nothing is linked any more, and the driver has them in any case. One profile has 12.0 to 12.3. */
static bool is_untold_of_old(const reloc_batch *batch, uint16_t shndx)
{
    return batch->cubin->exe && shndx == CV_SHN_UNDEF &&
           batch->cubin->producer.profile == CV_PROFILE_TOOLKIT_120;
}

/* The call graph knows of a function whose address is taken, of one that takes its own as well.
 * The linker puts addresses of functions of the driver into banks of executables. */
static bool is_known_taken(const reloc_batch *batch, const cv_elf_reloc *reloc, uint64_t at, uint8_t other,
                           uint16_t shndx)
{
    return is_own(batch, reloc, at, other) || is_kernel_of_old(batch, other) ||
           cv_calls_taken(batch->calls, batch->owner, reloc->sym) ||
           cv_calls_taken_alias(batch->ctx, batch->cubin, batch->calls, reloc->sym) ||
           (batch->cubin->exe && !batch->insn && shndx == CV_SHN_UNDEF);
}

/* One unit alone defines what is local. */
static bool may_be_forgotten(const reloc_batch *batch, uint8_t info)
{
    return info != cv_elf_info(CV_STB_LOCAL, CV_STT_FUNC) && cv_cubin_may_forget(batch->cubin, batch->insn);
}

/* The call graph knows who is named. */
static void check_function(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                           const cv_reloc_facts *facts, uint8_t info, uint8_t other, uint16_t shndx)
{
    bool call = batch->insn && cv_reloc_has(facts, CV_USE_CALL);
    uint64_t at = place_of(batch, reloc, facts);

    check_place(batch, index, reloc, at, call);
    if (!batch->calls->judged)
        return;
    if (call) {
        if (!is_untold_of_old(batch, shndx) && !cv_calls_direct(batch->calls, batch->owner, reloc->sym) &&
            !cv_calls_alias(batch->ctx, batch->cubin, batch->calls, batch->owner, reloc->sym))
            entry_report(batch, index, CV_R_RELOC_CALL, 12, batch->owner, reloc->sym);
    } else if (facts->bytes != 0 && !is_known_taken(batch, reloc, at, other, shndx)) {
        entry_report(batch, index,
                     may_be_forgotten(batch, info) ? CV_R_RELOC_ADDRESS_LOST : CV_R_RELOC_ADDRESS, 12,
                     reloc->sym, reloc->type);
    }
}

/* Code has its name from a function, which the call graph knows; nothing else is called, or has a descriptor.
 * Whoever asks where the table of unified functions is calls through it. */
static void check_other(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                        const cv_reloc_facts *facts, uint8_t type, const cv_sec *named)
{
    if (CV_UNLIKELY(batch->insn && cv_reloc_has(facts, CV_USE_TABLE)) && batch->calls->judged &&
        !cv_calls_indirect(batch->calls, batch->owner))
        entry_report(batch, index, CV_R_RELOC_INDIRECT, 12, batch->owner, reloc->type);
    /* Before sm_70 one type is for calls and for numbers that an instruction has: of banks, say. */
    if (!(batch->insn && cv_reloc_has(facts, CV_USE_CALL) && facts->who != CV_RELOC_OLD) &&
        facts->who != CV_RELOC_DESC && (!named || !cv_role_is_code(named->role)))
        return;
    entry_report(batch, index, CV_R_RELOC_NO_FUNCTION, 12, type, CV_STT_FUNC);
}

/* Code has relocations of types that patch its instructions. */
static void check_code(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                       const cv_reloc_facts *facts)
{
    if (CV_UNLIKELY(!cv_reloc_fits_code(facts, batch->cubin->gen->instruction, batch->cubin->exe)) &&
        !(batch->cubin->exe && cv_reloc_is_linked(facts)))
        entry_report(batch, index, CV_R_RELOC_CODE_TYPE, 8, reloc->type, 0);
}

/* In code the low bits of a place are empty, too. */
static bool is_empty_rest(const reloc_batch *batch, const cv_reloc_facts *facts)
{
    return batch->insn && cv_reloc_has(facts, CV_USE_REST);
}

static void check_rest(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                       const cv_reloc_facts *facts)
{
    uint64_t rest = cv_u64_at(batch->target, reloc->off) >> CV_R_REST_POS & ((1U << CV_R_REST_BITS) - 1);

    if (batch->cubin->exe &&
        cv_reloc_has(facts, CV_USE_TABLE)) /* a linker drops these: what is left is empty */
        rest |= cv_u64_at(batch->target, cv_sat_add(reloc->off, CV_R_PLACE_POS / 8)) >> CV_R_PLACE_POS % 8 &
                ((UINT64_C(1) << CV_R_PLACE_BITS) - 1);
    if (CV_UNLIKELY(rest != 0))
        entry_report(batch, index, CV_R_RELOC_OVER, 0, rest, 0);
}

/* A function gets the memory that lies in sections of its own: what is in those of another one is not there
 * when it runs. */
static void check_private(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                          const cv_sec *named)
{
    const cv_cubin *cubin = batch->cubin;

    if (!named || !cv_role_is_private(named->role) || named == *batch->own ||
        !cv_name_work(batch->ctx, named->fn))
        return;
    if (cv_span_eq(named->fn, cv_cubin_sec(cubin, cv_cubin_sec(cubin, batch->section)->header.info)->fn))
        *batch->own = named;
    else
        entry_report(batch, index, CV_R_RELOC_FOREIGN, 12, reloc->sym, batch->owner);
}

/* Memory of variables is named by these; no tool names it by its section, or by a symbol without a type. */
static bool is_variable(uint8_t type)
{
    return type != CV_STT_NOTYPE && type != CV_STT_SECTION;
}

/* What a driver gives an address to: of a constant, in memory of all kinds. */
static bool is_placed(const cv_sec *named, uint8_t type, const cv_reloc_facts *facts)
{
    switch ((unsigned)named->role) {
    case CV_ROLE_CONSTANT: return cv_reloc_is_variable(facts) && is_variable(type);
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT: return is_variable(type);
    case CV_ROLE_UFT_ENTRY:
    case CV_ROLE_UDT:
    case CV_ROLE_UDT_ENTRY: return true;
    default: return cv_role_is_code(named->role);
    }
}

/* A linker places what lies in banks and in shared memory, a driver what it loads, and nothing else. */
static bool is_known(const reloc_batch *batch, const cv_reloc_facts *facts, const cv_sec *named, uint8_t type)
{
    if (facts->who == CV_RELOC_DRIVER || (batch->cubin->exe && !cv_reloc_is_linked(facts)))
        return is_placed(named, type, facts);
    if (named->role == CV_ROLE_DEBUG || named->role == CV_ROLE_NV_DEBUG)
        return false;
    return (named->role != CV_ROLE_GLOBAL && named->role != CV_ROLE_GLOBAL_INIT) || is_variable(type);
}

static void check_known(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                        const cv_reloc_facts *facts, uint8_t type, uint16_t shndx, const cv_sec *named)
{
    if (CV_UNLIKELY(type == CV_STT_FUNC && cv_reloc_is_variable(facts)))
        entry_report(batch, index, CV_R_RELOC_VARIABLE, 8, reloc->type, type);
    /* common variables are placed by a linker, and other numbers are no sections */
    if (named && (shndx < CV_SHN_LORESERVE || shndx == CV_SHN_XINDEX) && !is_known(batch, facts, named, type))
        entry_report(batch, index, CV_R_RELOC_UNPLACED, 12, shndx, type);
}

static void check_filled(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                         const cv_reloc_facts *facts, uint8_t info, uint8_t other)
{
    if (is_empty_rest(batch, facts))
        check_rest(batch, index, reloc, facts);
    if (is_empty_field(batch, facts, info, other))
        check_field(batch, index, reloc, facts);
}

/* Nearly every field is empty with all that belongs to it: nothing could be said of it. */
CV_INLINE void check_empty(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                           const cv_reloc_facts *facts, uint8_t info, uint8_t other)
{
    cv_reloc_bits bits = cv_reloc_empty_of(reloc->type);
    cv_pair there;

    if (batch->ctx->no_contents)
        return;
    there = cv_pair_at(batch->target, reloc->off);
    if (CV_UNLIKELY(((there.low & bits.low) | (there.high & bits.high)) != 0))
        check_filled(batch, index, reloc, facts, info, other);
}

static size_t good_place(uint32_t symbol)
{
    return symbol % CV_COUNT(((good_symbols *)NULL)->at);
}

/* NULL: the symbol is in none. */
static const cv_sec *section_of(const reloc_batch *batch, const cv_elf_reloc *reloc, uint16_t shndx)
{
    cv_elf_symbol symbol = { .shndx = shndx };

    if (shndx == CV_SHN_UNDEF)
        return NULL;
    return cv_cubin_sec(batch->cubin, cv_cubin_shndx(batch->cubin, false, reloc->sym, &symbol));
}

/* What a loader does with the entry, if it does what it says. */
static void check_loaded(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                         const cv_reloc_facts *facts)
{
    /* name, info, other, section index: asked of every entry, so read at once */
    uint64_t head = cv_u64_at(batch->cubin->symtab, cv_sat_mul(reloc->sym, cv_elf_sym_size(false)));
    uint8_t info = (uint8_t)(head >> 32), other = (uint8_t)(head >> 40);
    uint16_t shndx = (uint16_t)(head >> 48);
    const cv_sec *named = section_of(batch, reloc, shndx);
    bool plain = batch->plain && facts->plain;

    *batch->said = false;
    if (CV_UNLIKELY(batch->cubin->exe && cv_reloc_is_linked(facts)))
        entry_report(batch, index, CV_R_RELOC_LINKED, 8, reloc->type, 0);
    if (CV_UNLIKELY(shndx == CV_SHN_ABS || (batch->cubin->exe && reloc->sym == 0)))
        entry_report(batch, index, CV_R_RELOC_ABSOLUTE, 12, reloc->sym, shndx);
    if (batch->insn && !plain)
        check_code(batch, index, reloc, facts);
    check_known(batch, index, reloc, facts, info & 15, shndx, named);
    check_empty(batch, index, reloc, facts, info, other);
    if ((info & 15) == CV_STT_FUNC)
        check_function(batch, index, reloc, facts, info, other, shndx);
    else
        check_other(batch, index, reloc, facts, info & 15, named);
    check_private(batch, index, reloc, named);
    if (plain && !*batch->said && (info & 15) != CV_STT_FUNC) {
        CV_ARRAY_SET(batch->good->at, good_place(reloc->sym),
                     ((good_symbol){ (uint32_t)batch->section, reloc->sym, info, other }));
        batch->good->last = reloc->sym;
    }
}

/* Call frames are of code, which may be gone, and name themselves where one begins. */
static void check_of_frames(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc)
{
    cv_elf_symbol symbol;
    const cv_sec *named;
    unsigned type;

    cv_elf_read_symbol(batch->cubin->symtab, false, reloc->sym, &symbol);
    named = section_of(batch, reloc, symbol.shndx);
    type = cv_elf_sym_type(&symbol);
    if (type != CV_STT_FUNC &&
        (named ? !cv_is_frames(named) && !cv_role_is_code(named->role) : type != CV_STT_NOTYPE))
        entry_report(batch, index, CV_R_RELOC_FRAMES, 12, reloc->sym, type);
}

/* What can be said of a type. Returns the bytes from r_offset to the end of the field. */
static uint64_t check_type(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc,
                           const cv_reloc_facts *facts)
{
    uint64_t at = batch->cubin->header.is32 ? 4 : 8;

    if (batch->merc) {
        if (reloc->type < CV_R_MERC_BASE || reloc->type > CV_R_MERC_LAST)
            entry_report(batch, index, CV_R_RELOC_TYPE, at, reloc->type, CV_R_MERC_LAST);
        return 1;
    }
    if (reloc->type > CV_R_CUDA_LAST) {
        entry_report(batch, index, CV_R_RELOC_TYPE, at, reloc->type, CV_R_CUDA_LAST);
        return 1;
    }
    if (CV_UNLIKELY(reloc->type == CV_R_CUDA_NONE)) {
        entry_report(batch, index, CV_R_RELOC_NONE, at, 0, 0);
        return 1;
    }
    if (CV_UNLIKELY(batch->debug && !cv_reloc_has(facts, CV_USE_DEBUG)))
        entry_report(batch, index, CV_R_RELOC_DEBUG_TYPE, at, reloc->type, 0);
    return cv_max(1, facts->bytes);
}

/* The end of the bytes that the entry touches. */
CV_INLINE uint64_t check_entry(const reloc_batch *batch, uint64_t index, const cv_elf_reloc *reloc, bool is32)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->type); /* of type 0 for those of capsules */
    const good_symbol *good = CV_ARRAY_AT(batch->good->at, good_place(reloc->sym));
    bool known = batch->plain && facts->plain && reloc->sym == good->number &&
                 batch->section == good->section &&
                 (reloc->sym < batch->n_syms || reloc->sym == batch->good->last); /* said once in a row */
    uint64_t word = is32 ? 4 : 8, bytes = facts->bytes;

    if (!known) {
        if (reloc->sym >= batch->n_syms)
            entry_report(batch, index, CV_R_RELOC_SYMBOL, word + (word == 8 ? 4 : 0), reloc->sym,
                         batch->n_syms);
        bytes = check_type(batch, index, reloc, facts);
    }
    if (CV_UNLIKELY(cv_wrap_add((uint64_t)reloc->addend, ADDEND_MOST - 1) > 2 * (ADDEND_MOST - 1)))
        entry_report(batch, index, CV_R_RELOC_ADDEND, 2 * word, (uint64_t)reloc->addend, ADDEND_MOST);
    if (known)
        check_empty(batch, index, reloc, facts, good->info, good->other);
    else if (batch->loaded)
        check_loaded(batch, index, reloc, facts);
    else if (batch->frames && reloc->sym < batch->n_syms)
        check_of_frames(batch, index, reloc);
    if (reloc->off >= batch->limit || bytes > batch->limit - reloc->off)
        entry_report(batch, index, CV_R_RELOC_OFFSET, 0, reloc->off, batch->limit);
    else if (batch->insn && (reloc->off & batch->within) != 0 && facts->insn)
        entry_report(batch, index, CV_R_RELOC_ALIGN, 0, reloc->off, batch->cubin->gen->instruction);
    return cv_sat_add(reloc->off, bytes);
}

static bool target_fits(const cv_cubin *cubin, uint64_t index, const cv_sec *sec, bool merc)
{
    const cv_sec *target = cv_cubin_sec(cubin, sec->header.info);

    if (sec->header.info == 0 || sec->header.info >= cubin->sec.count || sec->header.info == index)
        return false;
    if (!target->in_file && sec->header.size != 0)
        return false;
    if (!cubin->conv)
        return true;
    return merc ? (target->header.flags & CV_SHF_CUDA_MERC) != 0 &&
                      cv_span_eq(cv_cubin_native_name(target), sec->fn)
                : cv_span_eq(target->name, sec->fn);
}

/* The two are known where this is called, so that it becomes a loop for each kind of table. */
CV_INLINE void check_entries(reloc_batch *batch, bool is32, bool rela)
{
    uint64_t begin = UINT64_MAX, end = 0; /* of the entry before */
    bool up = true, down = true;
    cv_span body = batch->body;
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < batch->count; i++) {
        uint64_t stop;

        cv_elf_read_reloc(body, is32, rela, i, &reloc);
        stop = check_entry(batch, i, &reloc, is32);
        up &= reloc.off >= end;
        down &= stop <= begin;
        begin = reloc.off;
        end = stop;
    }
    batch->apart = up || down;
}

static void check_batch(reloc_batch *batch)
{
    if (CV_UNLIKELY(batch->cubin->header.is32))
        check_entries(batch, true, batch->rela);
    else if (batch->rela)
        check_entries(batch, false, true);
    else
        check_entries(batch, false, false);
}

#define FRAME_WORK 4u /* for sorting, on top of reading */

/* Code, banks, variables: what a loader or a linker patches; beside them there is debug data. */
static bool is_patched(cv_role role)
{
    return cv_role_is_code(role) || role == CV_ROLE_GLOBAL_INIT || role == CV_ROLE_CONSTANT ||
           role == CV_ROLE_CONSTANT_FN || role == CV_ROLE_SHARED_FN || role == CV_ROLE_UDT;
}

/* Whether the target is something that relocations are for; what is not known is not judged. */
static void check_target(cv_ctx *ctx, const reloc_batch *batch, const cv_sec *target)
{
    if (batch->cubin->conv && !batch->merc && batch->count != 0 && !is_patched(target->role) &&
        !batch->debug && target->role != CV_ROLE_NONE)
        cv_sec_report(ctx, batch->cubin, batch->section, CV_R_RELOC_PLACE, CV_SH_INFO,
                      cv_cubin_sec(batch->cubin, batch->section)->header.info, 0);
}

/* Those of capsules have other fields; those of call frames must not even touch the same bytes, which is
 * asked here. */
static bool is_compared(const reloc_batch *batch, const cv_sec *target)
{
    return batch->cubin->conv && !batch->merc && batch->count != 0 && !cv_is_frames(target);
}

/* Nobody writes two tables for one section of two sides: which one counts would be up to the reader. */
static void set_relocs(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    cv_sec *target = cv_sec_mut(cubin, sec->header.info);

    if (sec->header.type == CV_SHT_CUDA_RESOLVED_RELA || sec->header.type == CV_SHT_MERC_RESOLVED_RELA)
        return;
    if (CV_UNLIKELY(target->relocs != 0) && cubin->n_merc_syms != 0)
        cv_sec_report(ctx, cubin, index, CV_R_TWIN_DATA, CV_SH_INFO, target->relocs, 0);
    target->relocs = (uint32_t)index;
}

/* LIMIT: a limit was reached and said, nothing more is looked at. */
static cuvet_status check_section(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec,
                                  cv_calls *calls, good_symbols *good, reloc_lists *lists)
{
    bool merc = cv_is_merc_rela(sec->header.type), rela = sec->header.type != CV_SHT_REL;
    const cv_sec *target = cv_cubin_sec(cubin, sec->header.info);
    const cv_sec *own = NULL;
    bool said = false;
    uint64_t esize = cv_elf_rel_size(cubin->header.is32, rela);
    reloc_batch batch = { .ctx = ctx,
                          .cubin = cubin,
                          .section = index,
                          .body = cv_cubin_body(cubin, index),
                          .rela = rela,
                          .merc = merc,
                          .calls = calls,
                          .own = &own,
                          .good = good,
                          .said = &said,
                          .n_syms = merc ? cubin->n_merc_syms : cubin->n_syms };

    if (!target_fits(cubin, index, sec, merc)) {
        cv_sec_report(ctx, cubin, index, CV_R_RELOC_TARGET, CV_SH_INFO, sec->header.info, 0);
        return CUVET_OK;
    }
    set_relocs(ctx, cubin, index, sec);
    if (sec->header.entsize != esize) /* said with the sections; the entries cannot be told apart */
        return CUVET_OK;
    batch.count = batch.body.len / esize;
    batch.limit = cv_role_is_capsule(target->role) ? target->code_end : target->header.size;
    batch.insn = cubin->conv && cv_role_is_code(target->role);
    batch.debug = cubin->conv && (target->role == CV_ROLE_DEBUG || target->role == CV_ROLE_NV_DEBUG);
    batch.frames = batch.debug && !merc && cv_is_frames(target);
    batch.loaded =
        cubin->conv && !merc && sec->header.type != CV_SHT_CUDA_RESOLVED_RELA && is_patched(target->role);
    batch.within = cubin->conv ? cubin->gen->instruction - 1 : 0; /* a power of two */
    batch.plain = batch.insn && batch.loaded && cubin->gen->instruction != CV_OLD_INSTRUCTION;
    batch.owner = batch.insn ? cv_elf_code_symbol(target->header.info) : 0;
    batch.target = cv_cubin_body(cubin, sec->header.info);
    check_target(ctx, &batch, target);
    cubin->n_relocs += batch.count;
    if (cubin->n_relocs > ctx->lim.symbols) {
        cv_sec_report(ctx, cubin, index, CV_R_LIMIT_RELOCS, CV_SH_SIZE, cubin->n_relocs, ctx->lim.symbols);
        return CUVET_E_LIMIT;
    }
    if (!cv_work(ctx, batch.count * (batch.loaded ? 2 * CV_WORK_SCATTERED : 1), batch.body.off) ||
        (cv_is_frames(target) && !cv_work(ctx, batch.count * FRAME_WORK, batch.body.off)))
        return CUVET_E_LIMIT;
    check_batch(&batch);
    if (batch.insn && batch.loaded && cubin->exe && batch.count != 0)
        cv_sec_report(ctx, cubin, index, CV_R_RELOC_AT_LOAD, CV_SH_SIZE, batch.count, batch.owner);
    if (is_compared(&batch, target) && sec->header.type != CV_SHT_CUDA_RESOLVED_RELA &&
        !cv_keys_push(&ctx->mem, &lists->compared, (cv_key){ sec->header.info, index << 1 | batch.apart }))
        return cv_nomem(ctx, batch.body.off);
    if (cv_is_frames(target) && !cv_keys_push(&ctx->mem, &lists->frames, (cv_key){ sec->header.info, index }))
        return cv_nomem(ctx, batch.body.off);
    return CUVET_OK;
}

cuvet_status cv_cubin_check_relocs(cv_ctx *ctx, cv_cubin *cubin)
{
    reloc_lists lists = { 0 };
    good_symbols good = { 0 };
    cuvet_status st;
    cv_calls calls;

    if (!cv_work(ctx, cubin->sec.count, cubin->image.off))
        return CUVET_OK;
    st = cv_calls_read(ctx, cubin, &calls);
    for (uint64_t i = 1; i < cubin->sec.count && st == CUVET_OK; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (cv_elf_type_is_reloc(sec->header.type) && !(sec->header.flags & CV_SHF_COMPRESSED))
            st = check_section(ctx, cubin, i, sec, &calls, &good, &lists);
    }
    cv_calls_free(ctx, &calls);
    cv_keys_sort(&lists.compared);
    cv_keys_sort(&lists.frames);
    if (st == CUVET_OK)
        st = cv_cubin_check_frames(ctx, cubin, &lists.frames);
    if (st == CUVET_OK)
        st = cv_cubin_check_overlap(ctx, cubin, &lists.compared);
    cv_keys_free(&ctx->mem, &lists.compared);
    cv_keys_free(&ctx->mem, &lists.frames);
    return st == CUVET_E_NOMEM ? st : CUVET_OK; /* a limit was said, and the rest is still looked at */
}
