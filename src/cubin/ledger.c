/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who owns which bytes: header, tables, sections sorted by offset; what lies between them must be padding
 * that good tools leave, and bytes may have two owners only where a Mercury section is a clone. */
#include "cubin/internal.h"

/* Two owners beside the sections; they sort behind every section of the same offset. */
#define ITEM_SECTIONS (UINT64_C(1) << 40)
#define ITEM_SEGMENTS (ITEM_SECTIONS + 1)

typedef struct ledger_item {
    uint64_t off, size, align, index;
    cv_claim_kind kind;
    uint32_t claim; /* index in the ledger */
} ledger_item;

typedef struct ledger_walk {
    cv_ctx *ctx;
    cv_cubin *cubin;
    cv_ledger *ledger;
    uint64_t pos;                 /* everything before is owned */
    uint64_t owner;               /* section that ends at pos, 0 = none */
    uint64_t last_off, last_size; /* range of the owner */
} ledger_walk;

/* Room that is reserved in the file although the type has no bytes. From 13.5 on none is: the section is the
 * last one, and the section table starts where it says. */
static bool reserved_room(const cv_cubin *cubin, const cv_sec *sec)
{
    if (cubin->header.shoff >= sec->header.off && cubin->header.shoff - sec->header.off < sec->header.size)
        return false;
    return sec->role == CV_ROLE_MERC_SHARED_RESERVED && sec->header.size != 0 &&
           cv_span_has(cubin->image, sec->header.off, sec->header.size);
}

static ledger_item item_of(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec;

    if (index == ITEM_SECTIONS)
        return (ledger_item){ cubin->header.shoff,
                              cubin->sec.count * cv_elf_shdr_size(cubin->header.is32),
                              8,
                              0,
                              CV_CLAIM_ELF_SECTION_TABLE,
                              0 };
    if (index == ITEM_SEGMENTS)
        return (ledger_item){ cubin->header.phoff,
                              cubin->header.phnum * cv_elf_phdr_size(cubin->header.is32),
                              8,
                              0,
                              CV_CLAIM_ELF_PROGRAM_TABLE,
                              0 };
    sec = cv_cubin_sec(cubin, index);
    if (reserved_room(cubin, sec))
        return (ledger_item){ sec->header.off,
                              sec->header.size,
                              cv_max(sec->header.align, 1),
                              index,
                              CV_CLAIM_ELF_RESERVED_SHARED,
                              (uint32_t)index };
    return (ledger_item){ sec->header.off,
                          sec->in_file ? sec->header.size : 0,
                          cv_max(sec->header.align, 1),
                          index,
                          CV_CLAIM_ELF_SECTION,
                          (uint32_t)index };
}

/* Sections of type NULL and ranges outside the file own nothing and place nothing. */
static cuvet_status collect_items(cv_ctx *ctx, cv_cubin *cubin)
{
    bool ok = cv_keys_reserve(&ctx->mem, &cubin->by_off, cubin->sec.count + 2);

    for (uint64_t i = 1; ok && i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (sec->in_file || (cv_elf_type_exempt(sec->header.type) && sec->header.off <= cubin->image.len))
            ok = cv_keys_push(&ctx->mem, &cubin->by_off, (cv_key){ sec->header.off, i });
    }
    if (ok)
        ok = cv_keys_push(&ctx->mem, &cubin->by_off, (cv_key){ cubin->header.shoff, ITEM_SECTIONS });
    if (ok && cubin->header.phnum != 0)
        ok = cv_keys_push(&ctx->mem, &cubin->by_off, (cv_key){ cubin->header.phoff, ITEM_SEGMENTS });
    if (!ok)
        return cv_nomem(ctx, cubin->image.off);
    cv_keys_sort(&cubin->by_off);
    return CUVET_OK;
}

/* Pairs of roles that may share a range; b is the Mercury section. */
static bool clone_of(const cv_sec *left, const cv_sec *right)
{
    switch ((unsigned)right->role) {
    case CV_ROLE_MERC_CONSTANT_USER: return left->role == CV_ROLE_CONSTANT && left->bank == CV_BANK_USER;
    case CV_ROLE_MERC_CONSTANT_PIC: return left->role == CV_ROLE_CONSTANT && left->bank == CV_BANK_ADDRESSES;
    case CV_ROLE_MERC_GLOBAL_INIT: return left->role == CV_ROLE_GLOBAL_INIT;
    /* Debug data that says nothing of code is the same for both. */
    case CV_ROLE_MERC_DEBUG: return left->role == CV_ROLE_DEBUG && cv_span_eq(left->fn, right->fn);
    case CV_ROLE_MERC_NV_DEBUG: return left->role == CV_ROLE_NV_DEBUG && cv_span_eq(left->fn, right->fn);
    default: return false;
    }
}

/* Sections that may lie where their originals do. */
static bool is_clone(cv_role role)
{
    return role == CV_ROLE_MERC_CONSTANT_USER || role == CV_ROLE_MERC_CONSTANT_PIC ||
           role == CV_ROLE_MERC_GLOBAL_INIT;
}

/* What the place of an item is a multiple of. Compilers up to 12.8 align for the clones before it, too, and
 * only then find that these lie elsewhere. */
static uint64_t place_align(const cv_cubin *cubin, uint64_t index)
{
    ledger_item item = item_of(cubin, index);
    uint64_t align = item.align;

    if (!cubin->old_tools || item.index == 0 || is_clone(cv_cubin_sec(cubin, index)->role))
        return align;
    for (uint64_t i = index - 1; is_clone(cv_cubin_sec(cubin, i)->role); i--)
        align = cv_max(align, cv_cubin_sec(cubin, i)->header.align);
    return align;
}

/* Item 'item' starts before everything before it ends: a clone, or two owners for the same bytes. */
static void check_shared(ledger_walk *walk, const ledger_item *item)
{
    const cv_sec *left = cv_cubin_sec(walk->cubin, walk->owner),
                 *right = cv_cubin_sec(walk->cubin, item->index);
    uint64_t at = walk->cubin->image.off + item->off;

    if (walk->owner != 0 && item->index != 0 && item->off == walk->last_off &&
        item->size == walk->last_size && (clone_of(left, right) || clone_of(right, left))) {
        walk->last_size = UINT64_MAX; /* one clone for each original */
        return;
    }
    if (item->index != 0)
        cv_report_at(walk->ctx, CUVET_P_SECTION, item->index, CV_R_LEDGER_OVERLAP, at, item->size, item->off,
                     walk->owner);
    else
        cv_report(walk->ctx, CV_R_LEDGER_OVERLAP, at, item->size, item->off, walk->owner);
}

/* Most bytes that may lie between the last owner and an item of this alignment; *slack: behind a string
 * table. */
static uint64_t gap_allowed(const ledger_walk *walk, uint64_t align, bool *slack)
{
    const cv_cubin *cubin = walk->cubin;
    const cv_sec *sec = cv_cubin_sec(cubin, walk->owner);
    bool names = sec->role == CV_ROLE_SHSTRTAB, symbols = sec->role == CV_ROLE_STRTAB;
    bool room = cv_gen_has(cubin->gen, CV_GEN_NAMES_SLACK),
         less = cv_gen_has(cubin->gen, CV_GEN_NAMES_SLACK_SHORT);

    *slack = (names && (room || cubin->hand)) || (symbols && cv_gen_has(cubin->gen, CV_GEN_SYMBOLS_SLACK));
    if (!*slack)
        return align - 1;
    if (names && less)
        return cv_sat_add(36, align - 1);
    return !room ? cv_sat_add(7, align - 1) : UINT64_MAX; /* hand-assembled: 1 to 6 */
}

/* Bytes [walk->pos, end) before an item; align: the largest one of all items that start at end. */
static void judge_gap(ledger_walk *walk, uint64_t end, uint64_t align)
{
    uint64_t at = walk->cubin->image.off + walk->pos, len = end - walk->pos, nonzero;
    bool slack;
    uint64_t allowed = gap_allowed(walk, align, &slack);
    cv_span bytes;

    if (CV_NEVER(!cv_span_sub(walk->cubin->image, walk->pos, len, &bytes)))
        return;
    nonzero = cv_span_find_nonzero(bytes);
    if (len > allowed)
        cv_report(walk->ctx, CV_R_LEDGER_GAP, at, len, len, allowed);
    if (nonzero < len)
        cv_report(walk->ctx, CV_R_LEDGER_GAP_DATA, at + nonzero, len - nonzero, walk->pos + nonzero, len);
    cv_ledger_claim(walk->ctx, walk->ledger, walk->cubin->image.off + walk->pos, len,
                    len > allowed ? CV_CLAIM_ELF_UNCLAIMED
                    : slack       ? CV_CLAIM_ELF_STRING_SLACK
                                  : CV_CLAIM_ELF_PADDING,
                    walk->owner, false);
}

/* Left-over bytes in the room of the reserved shared memory image. */
static void check_reserved(ledger_walk *walk, const ledger_item *item)
{
    cv_span room;

    if (CV_NEVER(!cv_span_sub(walk->cubin->image, item->off, item->size, &room)))
        return;
    if (!cv_work(walk->ctx, item->size / 8, item->off) || cv_span_find_nonzero(room) == room.len)
        return;
    cv_report_at(walk->ctx, CUVET_P_SECTION, item->index,
                 cv_arch_has(cv_arch_of(walk->cubin->sm), CV_ARCH_RESERVED_DATA)
                     ? CV_R_LEDGER_RESERVED_DATA
                     : CV_R_LEDGER_RESERVED_NONZERO,
                 walk->cubin->image.off + item->off, item->size, item->size, 0);
}

static void claim_item(ledger_walk *walk, const ledger_item *item)
{
    bool twice = item->size != 0 && item->off < walk->pos;
    uint64_t had = twice ? cv_min(item->size, walk->pos - item->off) : 0;

    /* Tables in it were rejected with the header. */
    if (twice && item->off < cv_elf_ehdr_size(walk->cubin->header.is32))
        cv_sec_report(walk->ctx, walk->cubin, item->index, CV_R_SEC_IN_HEADER, CV_SH_OFFSET, item->off,
                      cv_elf_ehdr_size(walk->cubin->header.is32));
    else if (twice)
        check_shared(walk, item); /* the rest of the walk goes on behind both */
    if (item->kind == CV_CLAIM_ELF_RESERVED_SHARED)
        check_reserved(walk, item);
    /* Bytes in front of pos have an owner already; what lies behind is this item's own. */
    cv_ledger_claim(walk->ctx, walk->ledger, walk->cubin->image.off + item->off, had, item->kind, item->claim,
                    true);
    cv_ledger_claim(walk->ctx, walk->ledger, walk->cubin->image.off + item->off + had, item->size - had,
                    item->kind, item->claim, false);
    if (cv_sat_add(item->off, item->size) < walk->pos)
        return;
    walk->pos = item->off + item->size;
    if (item->size != 0 && !(twice && walk->last_size == UINT64_MAX)) {
        walk->owner = item->index;
        walk->last_off = item->off;
        walk->last_size = item->size;
    }
}

cuvet_status cv_cubin_check_ledger(cv_ctx *ctx, cv_cubin *cubin, cv_ledger *ledger)
{
    ledger_walk walk = {
        .ctx = ctx, .cubin = cubin, .ledger = ledger, .pos = cv_elf_ehdr_size(cubin->header.is32)
    };
    cuvet_status status;

    if (!cv_work(ctx, 2 * cubin->sec.count, cubin->image.off))
        return CUVET_E_LIMIT;
    status = collect_items(ctx, cubin);
    if (status != CUVET_OK)
        return status;
    cv_ledger_claim(ctx, ledger, cubin->image.off, walk.pos, CV_CLAIM_ELF_HEADER, 0, false);
    for (uint64_t k = 0; k < cubin->by_off.count; k++) {
        uint64_t off = cv_keys_at(&cubin->by_off, k)->key;

        if (off > walk.pos) { /* padding: to the alignment of whatever starts here */
            uint64_t align = 1;

            for (uint64_t j = k; j < cubin->by_off.count && cv_keys_at(&cubin->by_off, j)->key == off; j++)
                align = cv_max(align, place_align(cubin, cv_keys_at(&cubin->by_off, j)->index));
            judge_gap(&walk, off, align);
            walk.pos = off;
        }
        ledger_item item = item_of(cubin, cv_keys_at(&cubin->by_off, k)->index);

        claim_item(&walk, &item);
    }
    return ledger && ledger->failed ? cv_nomem(ctx, cubin->image.off) : CUVET_OK;
}
