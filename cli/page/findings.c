/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"

#include <string.h>

/* What is shown of the bytes around a place: whole lines of 16. */
#define LINE   16u
#define BEFORE 16u
#define SHOWN  80u

/* Two numbers and the bytes: where they begin, and how many are marked from the place on. */
static void put_bytes(cli_record *record, uint64_t start, const uint8_t *bytes, size_t size)
{
    char hex[2 * SHOWN + 1];

    cli_hex(bytes, size, hex);
    cli_record_u64(record, NULL, start);
    cli_record_string(record, NULL, hex);
}

static uint64_t start_of(uint64_t place)
{
    uint64_t line = place - place % LINE;

    return line > BEFORE ? line - BEFORE : 0;
}

static void put_file_bytes(page_doc *page, uint64_t place)
{
    const cuvet_source *source = &page->session->in->source;
    uint64_t start = start_of(place);
    uint8_t bytes[SHOWN];
    size_t count = 0;

    if (!page->session->in->why && start < source->length) {
        count = source->length - start < SHOWN ? (size_t)(source->length - start) : SHOWN;
        if (source->read_at(source->user, start, bytes, count) != CUVET_OK)
            count = 0;
    }
    put_bytes(&page->record, start, bytes, count);
}

static void put_inner_bytes(page_doc *page, uint64_t place, const cli_inside *inside)
{
    uint64_t start = start_of(place);
    size_t count = 0;

    if (start < inside->bytes.n)
        count = inside->bytes.n - start < SHOWN ? inside->bytes.n - (size_t)start : SHOWN;
    put_bytes(&page->record, start, count > 0 ? inside->bytes.p + start : NULL, count);
}

/* Does it lie in the unpacked bytes of this piece? In those of a piece within a piece another one may be
 * meant, so that nothing is shown. */
static bool is_about(const cuvet_diag *diag, const cuvet_item *item)
{
    size_t containers = 0;

    if (item->compression == CUVET_Z_NONE || item->where.n > diag->where.n || diag->where.n > CUVET_PATH_MAX)
        return false;
    for (uint32_t i = 0; i < diag->where.n; i++)
        containers += diag->where.step[i].kind == CUVET_P_FATBIN;
    for (uint32_t i = 0; i < item->where.n; i++)
        if (diag->where.step[i].kind != item->where.step[i].kind ||
            diag->where.step[i].index != item->where.step[i].index)
            return false;
    return containers <= 1;
}

static void put_finding(page_doc *page, const cuvet_diag *diag, const cuvet_item *item,
                        const cli_inside *inside)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    bool inner = (diag->flags & CUVET_DIAG_INNER) != 0;
    bool shown = inner && inside && inside->unpacked && is_about(diag, item);
    uint32_t path = page_path(page, PAGE_FINDINGS, &diag->where);
    char message[CLI_MESSAGE_CAP];
    cli_record *record = &page->record;

    if (diag->rule < page->sums.n_rules)
        page->sums.told[diag->rule] = 1;
    cli_message(diag, message, sizeof(message));
    page_open(page, "d");
    cli_record_string(record, NULL, rule ? rule->id : "?");
    cli_record_u64(record, NULL, (uint64_t)diag->severity);
    cli_record_u64(record, NULL, path);
    cli_record_text(record, NULL, message);
    cli_record_u64(record, NULL, diag->file_off);
    cli_record_u64(record, NULL, diag->length);
    if (inner)
        cli_record_u64(record, NULL, diag->inner_off);
    else
        cli_record_null(record, NULL);
    cli_record_u64(record, NULL, shown ? 1 : 0); /* whose bytes follow */
    if (shown)
        put_inner_bytes(page, diag->inner_off, inside);
    else
        put_file_bytes(page, diag->file_off);
    page_close(page, PAGE_FINDINGS);
    page->file.shown_findings++;
}

void page_put_findings(page_doc *page, const cuvet_item *item, const cli_inside *inside)
{
    if (page->n_waiting > 0)
        page_begin_file(page);
    for (size_t i = 0; i < page->n_waiting && !page->file.hidden; i++)
        put_finding(page, &page->waiting[i], item, inside);
    page->n_waiting = 0;
}

void page_add_finding(page_doc *page, const cuvet_diag *diag)
{
    uint32_t *left = diag->severity == CUVET_NOTE ? &page->sums.notes_left : &page->sums.findings_left;

    if (*left == 0 || !page_has_room(page, PAGE_FINDINGS))
        return;
    --*left;
    if (page->n_waiting == PAGE_WAITING)
        page_put_findings(page, NULL, NULL);
    page->waiting[page->n_waiting++] = *diag;
}

static const char *exempt_of(cuvet_rule rule, char *out, size_t cap)
{
    return cuvet_rule_exempt(rule, out, cap) != 0 ? out : "";
}

void page_put_rules(page_doc *page)
{
    char exempt[512];

    for (cuvet_rule rule = 0; rule < page->sums.n_rules; rule++) {
        const cuvet_rule_info *info = cuvet_rule_get(rule);
        const cuvet_diag diag = { .size = sizeof(diag), .rule = rule, .severity = info->severity };

        if (!page->sums.told[rule])
            continue;
        page_open(page, "rule");
        cli_record_string(&page->record, NULL, info->id);
        cli_record_string(&page->record, NULL, cuvet_severity_name(info->severity));
        cli_record_string(&page->record, NULL, cuvet_class_name(info->cls));
        cli_record_string(&page->record, NULL, cuvet_verdict_name(cuvet_diag_verdict(&diag)));
        cli_record_string(&page->record, NULL, info->title);
        cli_record_string(&page->record, NULL, info->why);
        cli_record_string(&page->record, NULL, exempt_of(rule, exempt, sizeof(exempt)));
        page_close(page, PAGE_FILES);
    }
}
