/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The byte ledger: runs of ranges, each range by its distance from the one before it. */
#include "page.h"

#include <string.h>

void page_begin_ranges(page_doc *page)
{
    uint64_t length = page->session->in->why ? 0 : page->session->in->source.length;

    memset(page->ledger.cell, 0, sizeof(page->ledger.cell));
    page->ledger.n_owners = 0;
    page->ledger.cell_bytes = length / PAGE_COLUMNS + 1;
    page->file.n_ranges = page->file.shown_ranges = page->file.n_inner = page->file.shown_inner = 0;
    page->ledger.in_run = false;
}

/* The last one stands for all others. */
static size_t owner_of(page_doc *page, const char *name)
{
    for (size_t i = 0; i < page->ledger.n_owners; i++)
        if (strcmp(page->ledger.owner[i], name) == 0)
            return i;
    if (page->ledger.n_owners == PAGE_OWNERS)
        return PAGE_OWNERS - 1;
    page->ledger.owner[page->ledger.n_owners] = page->ledger.n_owners == PAGE_OWNERS - 1 ? "others" : name;
    return page->ledger.n_owners++;
}

static void add_to_cells(page_doc *page, const cuvet_claim_info *claim)
{
    const uint64_t length = page->session->in->source.length;
    size_t owner = owner_of(page, claim->owner);
    uint64_t at = claim->off < length ? claim->off : length;
    uint64_t end = claim->length < length - at ? at + claim->length : length;

    while (at < end) {
        uint64_t cell = at / page->ledger.cell_bytes, next = (cell + 1) * page->ledger.cell_bytes;

        next = next < end ? next : end;
        page->ledger.cell[cell][owner] += next - at;
        at = next;
    }
}

static bool same_path(const cuvet_path *one, const cuvet_path *other)
{
    if (one->n != other->n || one->n > CUVET_PATH_MAX)
        return false;
    for (uint32_t i = 0; i < one->n; i++)
        if (one->step[i].kind != other->step[i].kind || one->step[i].index != other->step[i].index ||
            one->step[i].flags != other->step[i].flags)
            return false;
    return true;
}

void page_end_run(page_doc *page)
{
    if (!page->ledger.in_run)
        return;
    page->ledger.in_run = false;
    page_begin_file(page); /* more than one: not one of those that have nothing to show */
    if (page->file.hidden) {
        page->ledger.list.used = 0;
        return;
    }
    page_open(page, "l");
    cli_record_u64(&page->record, NULL, page->ledger.path_text);
    cli_record_u64(&page->record, NULL, page->ledger.inner ? 1 : 0);
    page_list_put(page);
    page_close(page, page->ledger.inner ? PAGE_INNER : PAGE_RANGES);
}

static void begin_run(page_doc *page, const cuvet_claim_info *claim, page_part part)
{
    page_end_run(page);
    page->ledger.path_text = page_path(page, part, &claim->where);
    page->ledger.in_run = true;
    page->ledger.inner = part == PAGE_INNER;
    page->ledger.path = claim->where;
    page->ledger.at = page->ledger.index = 0;
}

/* How far it is from the one before, length, owner, section: what is 0, or the next one, is left out. */
static void put_range(page_doc *page, const cuvet_claim_info *claim, uint64_t owner)
{
    page_list *list = &page->ledger.list;
    const char *sign = page_list_comma(list);
    uint64_t from = page->ledger.at, to = claim->off;

    if (from != to) {
        page_list_sign(list, sign);
        page_list_add(list, to > from ? "" : "-", to > from ? to - from : from - to);
        sign = "+";
    }
    page_list_add(list, sign, claim->length);
    page_list_add(list, ".", owner);
    if (strcmp(claim->owner, "section") != 0)
        return;
    page_list_sign(list, ":");
    if (claim->index != page->ledger.index + 1)
        page_list_add(list, "", claim->index);
    page->ledger.index = claim->index;
}

void page_add_range(page_doc *page, const cuvet_claim_info *claim)
{
    bool inner = (claim->flags & CUVET_CLAIM_INNER) != 0, shared = (claim->flags & CUVET_CLAIM_SHARED) != 0;
    page_part part = inner ? PAGE_INNER : PAGE_RANGES;
    uint32_t owner;

    ++*(inner ? &page->file.n_inner : &page->file.n_ranges);
    if (!inner && !shared)
        add_to_cells(page, claim);
    if (!page_has_room(page, part))
        return;
    ++*(inner ? &page->file.shown_inner : &page->file.shown_ranges);
    if (!page->ledger.in_run || page->ledger.inner != inner || !page_list_has_room(&page->ledger.list) ||
        !same_path(&page->ledger.path, &claim->where))
        begin_run(page, claim, part);
    owner = page_string(page, part, claim->owner);
    put_range(page, claim, (uint64_t)owner * 2 + shared);
    page->ledger.at = claim->length > UINT64_MAX - claim->off ? UINT64_MAX : claim->off + claim->length;
}

/* Owners, then for each cell that has any: its number, and the bytes of each owner. */
void page_put_cells(page_doc *page)
{
    cli_record *record = &page->record;

    if (page->file.shown_ranges == page->file.n_ranges || !page_has_room(page, PAGE_CELLS))
        return;
    page_open(page, "c");
    cli_record_u64(record, NULL, page->ledger.cell_bytes);
    cli_record_open(record, NULL, '[');
    for (size_t i = 0; i < page->ledger.n_owners; i++)
        cli_record_string(record, NULL, page->ledger.owner[i]);
    cli_record_close(record, ']');
    for (size_t i = 0; i < PAGE_COLUMNS; i++)
        for (size_t owner = 0; owner < page->ledger.n_owners; owner++)
            cli_record_u64(record, NULL, page->ledger.cell[i][owner]);
    page_close(page, PAGE_CELLS);
}
