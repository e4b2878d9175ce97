/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who owns which bytes: header, tables, sections sorted by offset; what lies between them must be padding
 * that good tools leave, and bytes may have two owners only where a Mercury section is a clone. */
#include "cubin/internal.h"

/* Two owners beside the sections; they sort behind every section of the same offset. */
#define ITEM_SECTIONS (UINT64_C(1) << 40)
#define ITEM_SEGMENTS (ITEM_SECTIONS + 1)

typedef struct item {
    uint64_t off, size, align, index;
    cv_claim_kind kind;
    uint32_t claim; /* index in the ledger */
} item;

typedef struct walk {
    cv_ctx *x;
    cv_cubin *c;
    cv_ledger *l;
    uint64_t pos;                 /* everything before is owned */
    uint64_t owner;               /* section that ends at pos, 0 = none */
    uint64_t last_off, last_size; /* range of the owner */
} walk;

/* Room that is reserved in the file although the type has no bytes. From 13.5 on none is: the section is the
 * last one, and the section table starts where it says. */
static bool reserved_room(const cv_cubin *c, const cv_sec *s)
{
    if (c->h.shoff >= s->h.off && c->h.shoff - s->h.off < s->h.size)
        return false;
    return s->role == CV_ROLE_MERC_SHARED_RESERVED && s->h.size != 0 &&
           cv_span_has(c->image, s->h.off, s->h.size);
}

static item item_of(const cv_cubin *c, uint64_t index)
{
    const cv_sec *s;

    if (index == ITEM_SECTIONS)
        return (
            item){ c->h.shoff, c->sec.n * cv_elf_shdr_size(c->h.is32), 8, 0, CV_CLAIM_ELF_SECTION_TABLE, 0 };
    if (index == ITEM_SEGMENTS)
        return (item){ c->h.phoff, c->h.phnum * cv_elf_phdr_size(c->h.is32), 8, 0, CV_CLAIM_ELF_PROGRAM_TABLE,
                       0 };
    s = cv_cubin_sec(c, index);
    if (reserved_room(c, s))
        return (item){ s->h.off,       s->h.size, cv_max(s->h.align, 1), index, CV_CLAIM_ELF_RESERVED_SHARED,
                       (uint32_t)index };
    return (item){ s->h.off, s->in_file ? s->h.size : 0, cv_max(s->h.align, 1),
                   index,    CV_CLAIM_ELF_SECTION,       (uint32_t)index };
}

/* Sections of type NULL and ranges outside the file own nothing and place nothing. */
static cuvet_status collect(cv_ctx *x, cv_cubin *c)
{
    bool ok = cv_keys_reserve(&x->mem, &c->by_off, c->sec.n + 2);

    for (uint64_t i = 1; ok && i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        if (s->in_file || (cv_elf_type_exempt(s->h.type) && s->h.off <= c->image.len))
            ok = cv_keys_push(&x->mem, &c->by_off, (cv_key){ s->h.off, i });
    }
    ok = ok && cv_keys_push(&x->mem, &c->by_off, (cv_key){ c->h.shoff, ITEM_SECTIONS });
    if (ok && c->h.phnum != 0)
        ok = cv_keys_push(&x->mem, &c->by_off, (cv_key){ c->h.phoff, ITEM_SEGMENTS });
    if (!ok)
        return cv_nomem(x, c->image.off);
    cv_keys_sort(&c->by_off);
    return CUVET_OK;
}

/* Pairs of roles that may share a range; b is the Mercury section. */
static bool clone_of(const cv_sec *a, const cv_sec *b)
{
    switch ((unsigned)b->role) {
    case CV_ROLE_MERC_CONSTANT_USER: return a->role == CV_ROLE_CONSTANT && a->bank == 3;
    case CV_ROLE_MERC_CONSTANT_PIC: return a->role == CV_ROLE_CONSTANT && a->bank == 4;
    case CV_ROLE_MERC_GLOBAL_INIT: return a->role == CV_ROLE_GLOBAL_INIT;
    /* Debug data that says nothing of code is the same for both. */
    case CV_ROLE_MERC_DEBUG: return a->role == CV_ROLE_DEBUG && cv_span_eq(a->fn, b->fn);
    case CV_ROLE_MERC_NV_DEBUG: return a->role == CV_ROLE_NV_DEBUG && cv_span_eq(a->fn, b->fn);
    default: return false;
    }
}

/* Item t starts before everything before it ends: a clone, or two owners for the same bytes. */
static void check_shared(walk *w, const item *t)
{
    const cv_sec *a = cv_cubin_sec(w->c, w->owner), *b = cv_cubin_sec(w->c, t->index);
    uint64_t at = w->c->image.off + t->off;

    if (w->owner != 0 && t->index != 0 && t->off == w->last_off && t->size == w->last_size &&
        (clone_of(a, b) || clone_of(b, a))) {
        w->last_size = UINT64_MAX; /* one clone for each original */
        return;
    }
    if (t->index != 0)
        cv_report_at(w->x, CUVET_P_SECTION, t->index, CV_R_LEDGER_OVERLAP, at, t->size, t->off, w->owner);
    else
        cv_report(w->x, CV_R_LEDGER_OVERLAP, at, t->size, t->off, w->owner);
}

/* Most bytes that may lie between the last owner and an item of this alignment; *slack: behind a string
 * table. */
static uint64_t gap_allowed(const walk *w, uint64_t align, bool *slack)
{
    const cv_cubin *c = w->c;
    const cv_sec *s = cv_cubin_sec(c, w->owner);
    bool names = s->role == CV_ROLE_SHSTRTAB, symbols = s->role == CV_ROLE_STRTAB;
    bool room = cv_gen_has(c->gen, CV_GEN_NAMES_SLACK), less = cv_gen_has(c->gen, CV_GEN_NAMES_SLACK_SHORT);

    *slack = (names && (room || c->hand)) || (symbols && cv_gen_has(c->gen, CV_GEN_SYMBOLS_SLACK));
    if (!*slack)
        return align - 1;
    if (names && less)
        return cv_sat_add(36, align - 1);
    return !room ? cv_sat_add(7, align - 1) : UINT64_MAX; /* hand-assembled: 1 to 6 */
}

/* Bytes [w->pos, end) before an item; align: the largest one of all items that start at end. */
static void gap(walk *w, uint64_t end, uint64_t align)
{
    uint64_t at = w->c->image.off + w->pos, len = end - w->pos, nonzero;
    bool slack;
    uint64_t allowed = gap_allowed(w, align, &slack);
    cv_span bytes;

    if (CV_NEVER(!cv_span_sub(w->c->image, w->pos, len, &bytes)))
        return;
    nonzero = cv_span_find_nonzero(bytes);
    if (len > allowed)
        cv_report(w->x, CV_R_LEDGER_GAP, at, len, len, allowed);
    if (nonzero < len)
        cv_report(w->x, CV_R_LEDGER_GAP_DATA, at + nonzero, len - nonzero, w->pos + nonzero, len);
    cv_ledger_claim(w->x, w->l, w->c->image.off + w->pos, len,
                    len > allowed ? CV_CLAIM_ELF_UNCLAIMED
                    : slack       ? CV_CLAIM_ELF_STRING_SLACK
                                  : CV_CLAIM_ELF_PADDING,
                    w->owner, false);
}

/* Left-over bytes in the room of the reserved shared memory image. */
static void check_reserved(walk *w, const item *t)
{
    cv_span room;

    if (!cv_work(w->x, t->size / 8, t->off) || !cv_span_sub(w->c->image, t->off, t->size, &room) ||
        cv_span_find_nonzero(room) == room.len)
        return;
    cv_report_at(w->x, CUVET_P_SECTION, t->index,
                 cv_arch_has(cv_arch_of(w->c->sm), CV_ARCH_RESERVED_DATA) ? CV_R_LEDGER_RESERVED_DATA
                                                                          : CV_R_LEDGER_RESERVED_NONZERO,
                 w->c->image.off + t->off, t->size, t->size, 0);
}

static void own(walk *w, const item *t)
{
    bool twice = t->size != 0 && t->off < w->pos;
    uint64_t had = twice ? cv_min(t->size, w->pos - t->off) : 0;

    if (twice && t->off < cv_elf_ehdr_size(w->c->h.is32) && t->index != 0)
        cv_sec_report(w->x, w->c, t->index, CV_R_SEC_IN_HEADER, CV_SH_OFFSET, t->off,
                      cv_elf_ehdr_size(w->c->h.is32));
    else if (twice)
        check_shared(w, t); /* the rest of the walk goes on behind both */
    if (t->kind == CV_CLAIM_ELF_RESERVED_SHARED)
        check_reserved(w, t);
    /* Bytes in front of pos have an owner already; what lies behind is this item's own. */
    cv_ledger_claim(w->x, w->l, w->c->image.off + t->off, had, t->kind, t->claim, true);
    cv_ledger_claim(w->x, w->l, w->c->image.off + t->off + had, t->size - had, t->kind, t->claim, false);
    if (cv_sat_add(t->off, t->size) < w->pos)
        return;
    w->pos = t->off + t->size;
    if (t->size != 0 && !(twice && w->last_size == UINT64_MAX)) {
        w->owner = t->index;
        w->last_off = t->off;
        w->last_size = t->size;
    }
}

cuvet_status cv_cubin_check_ledger(cv_ctx *x, cv_cubin *c, cv_ledger *ledger)
{
    walk w = { .x = x, .c = c, .l = ledger, .pos = cv_elf_ehdr_size(c->h.is32) };
    cuvet_status s;

    if (!cv_work(x, 2 * c->sec.n, c->image.off))
        return CUVET_E_LIMIT;
    s = collect(x, c);
    if (s != CUVET_OK)
        return s;
    cv_ledger_claim(x, ledger, c->image.off, w.pos, CV_CLAIM_ELF_HEADER, 0, false);
    for (uint64_t k = 0; k < c->by_off.n; k++) {
        uint64_t off = cv_keys_at(&c->by_off, k)->key;

        if (off > w.pos) { /* padding: to the alignment of whatever starts here */
            uint64_t align = 1;

            for (uint64_t m = k; m < c->by_off.n && cv_keys_at(&c->by_off, m)->key == off; m++)
                align = cv_max(align, item_of(c, cv_keys_at(&c->by_off, m)->index).align);
            gap(&w, off, align);
            w.pos = off;
        }
        item t = item_of(c, cv_keys_at(&c->by_off, k)->index);

        own(&w, &t);
    }
    return ledger && ledger->failed ? cv_nomem(x, c->image.off) : CUVET_OK;
}
