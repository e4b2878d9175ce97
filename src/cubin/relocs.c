/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocation sections, those whose entries are applied already too: target, symbol, type and the bytes each
 * entry touches. */
#include "cubin/calls.h"

typedef struct batch {
    cv_ctx *x;
    const cv_cubin *c;
    uint64_t section;
    cv_span body;
    bool rela, merc, insn; /* insn: the target holds instructions */
    bool debug;            /* the target holds debug data */
    bool loaded;           /* … or what a loader patches, and the entries are not applied yet */
    uint32_t owner;        /* of code: the symbol of its function */
    cv_span target;        /* its bytes */
    const cv_calls *calls;
    uint64_t n, n_syms, limit; /* limit: bytes of the target that may be patched */
    uint64_t within;           /* the bits of an offset that lie within an instruction */
    bool apart; /* each entry begins behind the one before, or each ends before the one before begins */
} batch;

static void entry_report(const batch *b, uint64_t i, cv_rule rule, uint64_t field, uint64_t got,
                         uint64_t want)
{
    cv_path_push(b->x, CUVET_P_SECTION, true, b->section);
    cv_report_at(b->x, CUVET_P_RELOC, i, rule,
                 b->body.off + i * cv_elf_rel_size(b->c->h.is32, b->rela) + field, 0, got, want);
    cv_path_pop(b->x);
}

/* No section has so many bytes. */
#define ADDEND_MOST (INT64_C(1) << 40)

/* What is in the field now; 0 for types that name no functions and no variables, and where nothing can be
 * said. */
static uint64_t field_of(const batch *b, const cv_elf_reloc *r, const cv_reloc_facts *f)
{
    unsigned bit = f->pos, bits = f->bits, low;
    uint64_t v;

    if (b->x->hollow || !cv_reloc_has(f, CV_USE_WHOLE))
        return 0;
    low = bit / 8;
    v = cv_u64_at(b->target, cv_sat_add(r->off, low)) >> bit % 8;
    if (CV_UNLIKELY(bit % 8 + bits > 64))
        v |= (uint64_t)cv_u8_at(b->target, cv_sat_add(r->off, low + 8)) << (64 - bit % 8);
    return bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v;
}

/* A place in a function: one of its instructions for itself, for others the first. Where entries have no
 * addend the field is that. */
static void check_place(const batch *b, uint64_t i, const cv_elf_reloc *r, const cv_reloc_facts *f)
{
    uint64_t at = b->rela ? (uint64_t)r->addend : field_of(b, r, f), size = 0;
    cv_elf_symbol s;

    if (at == 0)
        return;
    if (r->sym == b->owner) {
        cv_elf_read_symbol(b->c->symtab, false, r->sym, &s);
        size = s.size;
    }
    if (at >= size || (at & b->within) != 0)
        entry_report(b, i, CV_R_RELOC_INSIDE, b->rela ? 16 : 0, at, size);
}

/* Compilers leave the field empty and linkers keep it so; a field with something in it is code. Of a function
 * without addend it is the place there; offsets in shared memory and in banks may have been begun by a
 * linker, which knows nothing of where a global variable will be. */
static void check_field(const batch *b, uint64_t i, const cv_elf_reloc *r, const cv_reloc_facts *f,
                        uint8_t info, uint8_t other)
{
    bool global = (info & 15) == CV_STT_CUDA_OBJECT && (other & CV_STO_SPACE) == CV_STO_SPACE_GLOBAL;
    bool begun = b->c->rel && !global && cv_reloc_has(f, CV_USE_BEGUN);
    uint64_t v;

    if ((info & 15) == CV_STT_FUNC ? !b->rela : !b->insn || begun)
        return;
    v = field_of(b, r, f);
    if (CV_UNLIKELY(v != 0))
        entry_report(b, i, CV_R_RELOC_OVER, 0, v, 0);
}

/* A function that is named: the call graph knows. The linker puts addresses of functions of the driver into
 * banks of executables. */
static void check_function(const batch *b, uint64_t i, const cv_elf_reloc *r, const cv_reloc_facts *f,
                           uint16_t shndx)
{
    bool call = b->insn && cv_reloc_has(f, CV_USE_CALL);

    check_place(b, i, r, f);
    if (!b->calls->judged || r->sym == b->owner || cv_calls_direct(b->calls, b->owner, r->sym) ||
        cv_calls_alias(b->x, b->c, b->calls, b->owner, r->sym))
        return;
    if (call)
        entry_report(b, i, CV_R_RELOC_CALL, 12, b->owner, r->sym);
    else if (!cv_calls_taken(b->calls, b->owner, r->sym) && !(b->c->exe && !b->insn && shndx == CV_SHN_UNDEF))
        entry_report(b, i, CV_R_RELOC_ADDRESS, 12, r->sym, r->type);
}

/* Code has its name from a function, which the call graph knows; nothing else is called. */
static void check_other(const batch *b, uint64_t i, const cv_elf_reloc *r, const cv_reloc_facts *f,
                        uint8_t type, uint16_t shndx)
{
    cv_elf_symbol s = { .shndx = shndx };

    if (!(b->insn && cv_reloc_has(f, CV_USE_CALL))) {
        if (shndx == CV_SHN_UNDEF)
            return;
        if (!cv_role_is_code(cv_cubin_sec(b->c, cv_cubin_shndx(b->c, false, r->sym, &s))->role))
            return;
    }
    entry_report(b, i, CV_R_RELOC_NO_FUNCTION, 12, type, CV_STT_FUNC);
}

/* What a loader does with the entry, if it does what it says. */
static void check_loaded(const batch *b, uint64_t i, const cv_elf_reloc *r, const cv_reloc_facts *f)
{
    /* name, info, other, section index: asked of every entry, so read at once */
    uint64_t head = cv_u64_at(b->c->symtab, cv_sat_mul(r->sym, cv_elf_sym_size(false)));
    uint8_t info = (uint8_t)(head >> 32), other = (uint8_t)(head >> 40);
    uint16_t shndx = (uint16_t)(head >> 48);

    if (CV_UNLIKELY(b->c->exe && cv_reloc_is_linked(f)))
        entry_report(b, i, CV_R_RELOC_LINKED, 8, r->type, 0);
    if (CV_UNLIKELY(shndx == CV_SHN_ABS))
        entry_report(b, i, CV_R_RELOC_ABSOLUTE, 12, r->sym, CV_SHN_ABS);
    check_field(b, i, r, f, info, other);
    if ((info & 15) == CV_STT_FUNC)
        check_function(b, i, r, f, shndx);
    else
        check_other(b, i, r, f, info & 15, shndx);
}

/* The end of the bytes that the entry touches. */
static uint64_t check_entry(const batch *b, uint64_t i, const cv_elf_reloc *r)
{
    uint64_t word = b->c->h.is32 ? 4 : 8, bytes = 1;
    const cv_reloc_facts *f = cv_reloc_of(r->type); /* of type 0 for those of capsules */

    if (r->sym >= b->n_syms)
        entry_report(b, i, CV_R_RELOC_SYMBOL, word + (word == 8 ? 4 : 0), r->sym, b->n_syms);
    if (b->merc) {
        if (r->type < CV_R_MERC_BASE || r->type > CV_R_MERC_LAST)
            entry_report(b, i, CV_R_RELOC_TYPE, word, r->type, CV_R_MERC_LAST);
    } else if (r->type > CV_R_CUDA_LAST) {
        entry_report(b, i, CV_R_RELOC_TYPE, word, r->type, CV_R_CUDA_LAST);
    } else if (CV_UNLIKELY(r->type == CV_R_CUDA_NONE)) {
        entry_report(b, i, CV_R_RELOC_NONE, word, 0, 0);
    } else {
        bytes = cv_max(1, f->bytes);
        if (CV_UNLIKELY(b->debug && !cv_reloc_has(f, CV_USE_DEBUG)))
            entry_report(b, i, CV_R_RELOC_DEBUG_TYPE, word, r->type, 0);
    }
    if (CV_UNLIKELY(cv_wrap_add((uint64_t)r->addend, ADDEND_MOST - 1) > 2 * (ADDEND_MOST - 1)))
        entry_report(b, i, CV_R_RELOC_ADDEND, 2 * word, (uint64_t)r->addend, ADDEND_MOST);
    if (b->loaded)
        check_loaded(b, i, r, f);
    if (r->off >= b->limit || bytes > b->limit - r->off)
        entry_report(b, i, CV_R_RELOC_OFFSET, 0, r->off, b->limit);
    else if (b->insn && (r->off & b->within) != 0 && f->insn)
        entry_report(b, i, CV_R_RELOC_ALIGN, 0, r->off, b->c->gen->instruction);
    return cv_sat_add(r->off, bytes);
}

static bool target_fits(const cv_cubin *c, uint64_t i, const cv_sec *s, bool merc)
{
    const cv_sec *t = cv_cubin_sec(c, s->h.info);

    if (s->h.info == 0 || s->h.info >= c->sec.n || s->h.info == i)
        return false;
    if (!t->in_file && s->h.size != 0)
        return false;
    if (!c->conv)
        return true;
    return merc ? (t->h.flags & CV_SHF_CUDA_MERC) != 0 && cv_span_eq(cv_cubin_native_name(t), s->fn)
                : cv_span_eq(t->name, s->fn);
}

static void check_batch(batch *b)
{
    uint64_t begin = UINT64_MAX, end = 0; /* of the entry before */
    bool up = true, down = true;
    cv_elf_reloc r;

    for (uint64_t i = 0; i < b->n; i++) {
        uint64_t stop;

        cv_elf_read_reloc(b->body, b->c->h.is32, b->rela, i, &r);
        stop = check_entry(b, i, &r);
        up &= r.off >= end;
        down &= stop <= begin;
        begin = r.off;
        end = stop;
    }
    b->apart = up || down;
}

/* Call frames are stepped through from address to address: two that overlap never end. */
static cuvet_status check_overlap(const batch *b, cv_keys *by_off)
{
    uint64_t end = 0;
    cv_elf_reloc r;

    cv_keys_clear(by_off);
    for (uint64_t i = 0; i < b->n; i++) {
        cv_elf_read_reloc(b->body, b->c->h.is32, b->rela, i, &r);
        if (!cv_keys_push(&b->x->mem, by_off, (cv_key){ r.off, i }))
            return cv_nomem(b->x, b->body.off);
    }
    cv_keys_sort(by_off);
    for (uint64_t k = 0; k < by_off->n; k++) {
        const cv_key *e = cv_keys_at(by_off, k);

        if (k != 0 && e->key < end)
            entry_report(b, e->index, CV_R_RELOC_OVERLAP, 0, e->key, end);
        cv_elf_read_reloc(b->body, b->c->h.is32, b->rela, e->index, &r);
        end = cv_sat_add(e->key, b->merc ? 1 : cv_max(1, cv_reloc_of(r.type)->bytes));
    }
    cv_keys_clear(by_off);
    return CUVET_OK;
}

static bool is_merc(uint32_t type)
{
    return type == CV_SHT_MERC_RELA || type == CV_SHT_MERC_RESOLVED_RELA;
}

#define FRAME_WORK 4u /* for sorting, on top of reading */

/* Code, banks, variables: what a loader or a linker patches; beside them there is debug data. */
static bool is_patched(cv_role r)
{
    return cv_role_is_code(r) || r == CV_ROLE_GLOBAL_INIT || r == CV_ROLE_CONSTANT ||
           r == CV_ROLE_CONSTANT_FN || r == CV_ROLE_SHARED_FN || r == CV_ROLE_UDT;
}

/* Whether the target is something that relocations are for; what is not known is not judged. */
static void check_target(cv_ctx *x, const batch *b, const cv_sec *t)
{
    if (b->c->conv && !b->merc && b->n != 0 && !is_patched(t->role) && !b->debug && t->role != CV_ROLE_NONE)
        cv_sec_report(x, b->c, b->section, CV_R_RELOC_PLACE, CV_SH_INFO,
                      cv_cubin_sec(b->c, b->section)->h.info, 0);
}

/* Those of capsules have other fields; those of call frames must not even touch the same bytes, which is
 * asked here. */
static bool is_compared(const batch *b, const cv_sec *t)
{
    return b->c->conv && !b->merc && b->n != 0 && !cv_is_frames(t);
}

/* LIMIT: a limit was reached and said, nothing more is looked at. */
static cuvet_status check_section(cv_ctx *x, cv_cubin *c, uint64_t i, const cv_sec *s, const cv_calls *calls,
                                  cv_keys *compared)
{
    bool merc = is_merc(s->h.type), rela = s->h.type != CV_SHT_REL;
    const cv_sec *t = cv_cubin_sec(c, s->h.info);
    uint64_t esize = cv_elf_rel_size(c->h.is32, rela);
    batch b = { .x = x,
                .c = c,
                .section = i,
                .body = cv_cubin_body(c, i),
                .rela = rela,
                .merc = merc,
                .calls = calls,
                .n_syms = merc ? c->n_merc_syms : c->n_syms };

    if (!target_fits(c, i, s, merc)) {
        cv_sec_report(x, c, i, CV_R_RELOC_TARGET, CV_SH_INFO, s->h.info, 0);
        return CUVET_OK;
    }
    if (s->h.entsize != esize) /* said with the sections; the entries cannot be told apart */
        return CUVET_OK;
    b.n = b.body.len / esize;
    b.limit = cv_role_is_capsule(t->role) ? t->code_end : t->h.size;
    b.insn = c->conv && cv_role_is_code(t->role);
    b.debug = c->conv && (t->role == CV_ROLE_DEBUG || t->role == CV_ROLE_NV_DEBUG);
    b.loaded = c->conv && !merc && s->h.type != CV_SHT_CUDA_RESOLVED_RELA && is_patched(t->role);
    b.within = c->conv ? c->gen->instruction - 1 : 0; /* a power of two */
    b.owner = b.insn ? cv_elf_code_symbol(t->h.info) : 0;
    b.target = cv_cubin_body(c, s->h.info);
    check_target(x, &b, t);
    c->n_relocs += b.n;
    if (c->n_relocs > x->lim.symbols) {
        cv_sec_report(x, c, i, CV_R_LIMIT_RELOCS, CV_SH_SIZE, c->n_relocs, x->lim.symbols);
        return CUVET_E_LIMIT;
    }
    if (!cv_work(x, b.n, b.body.off) || (cv_is_frames(t) && !cv_work(x, b.n * FRAME_WORK, b.body.off)))
        return CUVET_E_LIMIT;
    check_batch(&b);
    if (is_compared(&b, t) && s->h.type != CV_SHT_CUDA_RESOLVED_RELA &&
        !cv_keys_push(&x->mem, compared, (cv_key){ s->h.info, i << 1 | b.apart }))
        return cv_nomem(x, b.body.off);
    return cv_is_frames(t) ? check_overlap(&b, &c->by_off) : CUVET_OK;
}

cuvet_status cv_cubin_check_relocs(cv_ctx *x, cv_cubin *c)
{
    cv_keys compared = { 0 };
    cuvet_status st;
    cv_calls calls;

    if (!cv_work(x, c->sec.n, c->image.off))
        return CUVET_OK;
    st = cv_calls_read(x, c, &calls);
    for (uint64_t i = 1; i < c->sec.n && st == CUVET_OK; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        if (cv_elf_type_is_reloc(s->h.type) && !(s->h.flags & CV_SHF_COMPRESSED))
            st = check_section(x, c, i, s, &calls, &compared);
    }
    cv_calls_free(x, &calls);
    cv_keys_sort(&compared);
    if (st == CUVET_OK)
        st = cv_cubin_check_overlap(x, c, &compared);
    cv_keys_free(&x->mem, &compared);
    return st == CUVET_E_NOMEM ? st : CUVET_OK; /* a limit was said, and the rest is still looked at */
}
