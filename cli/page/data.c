/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"

#include <string.h>

void page_begin_file(page_doc *page)
{
    const cli_input *in = page->session->in;
    uint32_t name;

    if (page->file.begun)
        return;
    page->file.begun = true;
    page->sums.files++;
    page->file.hidden = page->out.left[PAGE_FILES] == 0;
    if (page->file.hidden) {
        page->sums.hidden++;
        return;
    }
    name = page_string(page, PAGE_FILES, in->name);
    page_open(page, "f");
    cli_record_u64(&page->record, NULL, name);
    cli_record_u64(&page->record, NULL, in->what == CLI_ENTRY ? 1 : 0);
    page_close(page, PAGE_FILES);
}

/* What was counted, and what of it is on the page. */
static void put_counts(page_doc *page, const cuvet_summary *sum)
{
    const uint64_t count[] = { sum->members + sum->images,
                               page->file.kernels,
                               sum->containers,
                               sum->stored,
                               sum->unpacked,
                               sum->errors,
                               sum->warnings,
                               sum->notes,
                               page->file.shown_pieces,
                               page->file.shown_findings,
                               page->file.n_ranges,
                               page->file.shown_ranges,
                               page->file.n_inner,
                               page->file.shown_inner };

    for (size_t i = 0; i < sizeof(count) / sizeof(count[0]); i++)
        cli_record_u64(&page->record, NULL, count[i]);
}

/* Of its bytes; "": it could not be read. */
static void hash_file(const page_doc *page, char out[CLI_SHA256_CAP])
{
    const cli_input *in = page->session->in;
    cli_digest digest;

    out[0] = '\0';
    if (!in->why && in->source.length <= page->session->args->limits.input &&
        cli_digest_source(&digest, &in->source, 0, in->source.length))
        cli_digest_text(&digest, out);
}

void page_drop_file(page_doc *page)
{
    page->ledger.list.used = 0; /* of a run that is not told of; nor are notes */
    page->sums.notes_left += (uint32_t)page->n_waiting;
    page->n_waiting = 0;
    page->ledger.in_run = page->file.begun = page->file.hidden = false;
    page->file.shown_pieces = page->file.kernels = page->file.shown_findings = 0;
    page->file.n_codes = 0;
}

void page_end_file(page_doc *page, const cli_result *result)
{
    const cli_input *in = page->session->in;
    char hash[CLI_SHA256_CAP];

    page_begin_file(page);
    page_end_run(page);
    page_put_findings(page, NULL, NULL);
    if (!page->file.hidden) {
        page_put_codes(page);
        page_put_cells(page);
        hash_file(page, hash);
        page_open(page, "e");
        cli_record_string(&page->record, NULL, cuvet_verdict_name(result->verdict));
        cli_record_text(&page->record, NULL, result->why ? result->why : "");
        cli_record_u64(&page->record, NULL, in->why ? 0 : in->source.length);
        cli_record_string(&page->record, NULL, hash);
        put_counts(page, &result->sum);
        page_close(page, PAGE_FILES);
    }
    page_drop_file(page);
}

void page_end_package(page_doc *page, const cli_result *result)
{
    const cli_input *in = page->session->in;
    uint32_t name;

    page->sums.packages++;
    if (page->out.left[PAGE_FILES] == 0)
        return;
    name = page_string(page, PAGE_FILES, in->name);
    page_open(page, "z");
    cli_record_u64(&page->record, NULL, name);
    cli_record_u64(&page->record, NULL, in->entries);
    cli_record_string(&page->record, NULL, cuvet_verdict_name(result->verdict));
    page_close(page, PAGE_FILES);
}

/* Of the run: the exact sums, also of what the page has no room for. */
void page_put_end(page_doc *page, const cli_session *session)
{
    cli_record *record = &page->record;

    page_open(page, "end");
    cli_record_u64(record, NULL, session->n_inputs);
    cli_record_u64(record, NULL, page->sums.files);
    cli_record_u64(record, NULL, page->sums.hidden);
    cli_record_u64(record, NULL, page->sums.packages);
    cli_record_u64(record, NULL, page->sums.pieces);
    cli_record_u64(record, NULL, page->sums.kernels);
    cli_record_open(record, NULL, '[');
    for (size_t verdict = 0; verdict <= CUVET_V_ERROR; verdict++) {
        cli_record_string(record, NULL, cuvet_verdict_name((cuvet_verdict)verdict));
        cli_record_u64(record, NULL, session->tally.files[verdict]);
        cli_record_u64(record, NULL, session->tally.errors[verdict]);
        cli_record_u64(record, NULL, session->tally.warnings[verdict]);
    }
    cli_record_close(record, ']');
    page_close(page, PAGE_FILES);
}
