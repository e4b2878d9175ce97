/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The bytes of the page. Whatever a file has in it gets in as JSON within an element that no browser runs,
 * and nothing in that can end the element. */
#include "page.h"

#include "../whole.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u

static const uint8_t PAGE_HTML[] = {
#include "page_html.inc"
};
static const uint8_t PAGE_CSS[] = {
#include "page_css.inc"
};
static const uint8_t PAGE_JS[] = {
#include "page_js.inc"
};

/* Bytes of the data: a page that a browser still opens. Each part keeps its own. */
static const uint64_t ROOM[PAGE_PARTS] = {
    [PAGE_FILES] = UINT64_C(4) << 20,   [PAGE_FINDINGS] = UINT64_C(8) << 20,
    [PAGE_PIECES] = UINT64_C(16) << 20, [PAGE_KERNELS] = UINT64_C(12) << 20,
    [PAGE_RANGES] = UINT64_C(6) << 20,  [PAGE_INNER] = UINT64_C(6) << 20,
    [PAGE_CELLS] = UINT64_C(2) << 20,
};

/* ---- bytes ---- */

static void flush_block(page_doc *page)
{
    if (page->out.fd < 0)
        (void)fwrite(page->out.block, 1, page->out.used, stdout); /* a failure stays in ferror(stdout) */
    else if (!page->out.failed)
        page->out.failed = !cli_write_all(page->out.fd, page->out.block, page->out.used);
    page->out.used = 0;
}

void page_put(page_doc *page, const void *bytes, size_t size)
{
    const char *from = bytes;

    page->out.put += size;
    while (size > 0) {
        size_t count = BLOCK_BYTES - page->out.used;

        count = count < size ? count : size;
        memcpy(page->out.block + page->out.used, from, count);
        page->out.used += count;
        from += count;
        size -= count;
        if (page->out.used == BLOCK_BYTES)
            flush_block(page);
    }
}

static void put_word(page_doc *page, const char *word)
{
    page_put(page, word, strlen(word));
}

/* JSON has these in strings only. Without the first nothing ends a script or begins a comment; the others are
 * for readers that take the data out. @return bytes written */
static size_t put_hidden(page_doc *page, const char *text, size_t left)
{
    static const char SEPARATOR[] = { '\xe2', '\x80' };

    switch (*text) {
    case '<': put_word(page, "\\u003c"); return 1;
    case '>': put_word(page, "\\u003e"); return 1;
    case '&': put_word(page, "\\u0026"); return 1;
    case '\x7f': put_word(page, "\\u007f"); return 1;
    default: break;
    }
    if (left >= 3 && memcmp(text, SEPARATOR, 2) == 0 && (text[2] == '\xa8' || text[2] == '\xa9')) {
        put_word(page, text[2] == '\xa8' ? "\\u2028" : "\\u2029");
        return 3;
    }
    page_put(page, text, 1);
    return 1;
}

static void put_json(page_doc *page, const char *text, size_t size)
{
    size_t i = 0;

    while (i < size) {
        size_t from = i;

        while (i < size && text[i] != '<' && text[i] != '>' && text[i] != '&' && text[i] != '\x7f' &&
               text[i] != '\xe2')
            i++;
        page_put(page, text + from, i - from);
        if (i < size)
            i += put_hidden(page, text + i, size - i);
    }
}

/* ---- records ---- */

void page_open_in(cli_record *record, const char *kind)
{
    record->len = 0;
    record->more = record->failed = false;
    cli_record_open(record, NULL, '[');
    cli_record_string(record, NULL, kind);
}

void page_open(page_doc *page, const char *kind)
{
    page_open_in(&page->record, kind);
}

void page_close_from(page_doc *page, cli_record *record, page_part part)
{
    uint64_t cost = page->out.put;

    cli_record_close(record, ']');
    if (record->failed) /* out of memory, which cli_json_ok() tells */
        return;
    put_word(page, page->out.more ? ",\n" : "\n");
    page->out.more = true;
    put_json(page, record->text, record->len);
    cost = page->out.put - cost; /* more than the record is long: of escapes */
    page->out.left[part] -= cost < page->out.left[part] ? cost : page->out.left[part];
}

void page_close(page_doc *page, page_part part)
{
    page_close_from(page, &page->record, part);
}

/* ---- lists ---- */

bool page_list_has_room(const page_list *list)
{
    return sizeof(list->text) - list->used > 128; /* what is added at a time */
}

void page_list_sign(page_list *list, const char *sign)
{
    int len = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s", sign);

    if (len > 0 && (size_t)len < sizeof(list->text) - list->used)
        list->used += (size_t)len;
    list->text[list->used] = '\0';
}

void page_list_add(page_list *list, const char *sign, uint64_t value)
{
    char number[24];

    snprintf(number, sizeof(number), "%" PRIu64, value);
    page_list_sign(list, sign);
    page_list_sign(list, number);
}

const char *page_list_comma(const page_list *list)
{
    return list->used > 0 ? "," : "";
}

void page_list_put(page_doc *page)
{
    cli_record_string(&page->record, NULL, page->ledger.list.text);
    page->ledger.list.text[0] = '\0';
    page->ledger.list.used = 0;
}

/* ---- texts ---- */

/* Where the text is, or can be; NULL: neither. Names that somebody made to fall into one set are written each
 * time, which is all that they get. */
static page_known *find_known(page_doc *page, const cli_digest *digest)
{
    size_t set = ((size_t)digest->byte[0] << 8 | digest->byte[1]) % PAGE_SETS;

    for (size_t way = 0; page->known && way < PAGE_WAYS; way++) {
        page_known *known = &page->known[set * PAGE_WAYS + way];

        if (known->number == 0 || memcmp(known->digest.byte, digest->byte, sizeof(digest->byte)) == 0)
            return known;
    }
    return NULL;
}

/* Of what is shown of it, and of its length, which is shown as well: a long name may come again and again. */
static void digest_of_text(cli_digest *digest, const void *bytes, size_t size, size_t most)
{
    const uint64_t length = size;
    struct sha256_ctx sha;

    sha256_init(&sha);
    sha256_update(&sha, sizeof(length), (const uint8_t *)&length);
    if (size > 0)
        sha256_update(&sha, size < most ? size : most, bytes);
    sha256_digest(&sha, sizeof(digest->byte), digest->byte);
}

uint32_t page_text(page_doc *page, page_part part, const void *bytes, size_t size, size_t most)
{
    page_known *known;
    cli_digest digest;

    digest_of_text(&digest, bytes, size, most);
    known = find_known(page, &digest);
    if (known && known->number != 0)
        return known->number - 1;
    page_open_in(&page->text, "s");
    cli_record_cut(&page->text, NULL, bytes, size, most);
    page_close_from(page, &page->text, part);
    page->n_texts++;
    if (known)
        *known = (page_known){ digest, page->n_texts };
    return page->n_texts - 1;
}

uint32_t page_string(page_doc *page, page_part part, const char *text)
{
    return page_text(page, part, text, strlen(text), CLI_JSON_CAP);
}

uint32_t page_path(page_doc *page, page_part part, const cuvet_path *path)
{
    char text[CLI_PATH_CAP];

    cli_path(path, text, sizeof(text));
    return page_string(page, part, text);
}

/* ---- the page around the data ---- */

/* What stands for one of the parts below in page.html. */
#define MARK "@@"

/* Of a text: SHA-256 as a policy names it. */
static void put_hash(page_doc *page, const uint8_t *text, size_t size)
{
    static const char DIGIT[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[sizeof("'sha256-'") + (size_t)4 * ((SHA256_DIGEST_SIZE + 2) / 3)] = "'sha256-";
    size_t at = strlen(out);
    cli_digest digest;

    cli_digest_of(&digest, text, size);
    for (size_t i = 0; i < SHA256_DIGEST_SIZE; i += 3) {
        size_t left = SHA256_DIGEST_SIZE - i;
        uint32_t bits = (uint32_t)digest.byte[i] << 16 | (left > 1 ? (uint32_t)digest.byte[i + 1] << 8 : 0) |
                        (left > 2 ? digest.byte[i + 2] : 0);

        for (size_t k = 0; k < 4; k++)
            out[at++] = k > left ? '=' : DIGIT[bits >> (18 - 6 * k) & 63];
    }
    out[at++] = '\'';
    page_put(page, out, at);
}

static void put_part(page_doc *page, const uint8_t *name, size_t len)
{
    static const struct {
        const char *name;
        const uint8_t *text;
        size_t size;
        bool hash;
    } PART[] = {
        { "style", PAGE_CSS, sizeof(PAGE_CSS), false },
        { "script", PAGE_JS, sizeof(PAGE_JS), false },
        { "style-hash", PAGE_CSS, sizeof(PAGE_CSS), true },
        { "script-hash", PAGE_JS, sizeof(PAGE_JS), true },
    };

    for (size_t i = 0; i < sizeof(PART) / sizeof(PART[0]); i++) {
        if (strlen(PART[i].name) != len || memcmp(PART[i].name, name, len) != 0)
            continue;
        if (PART[i].hash)
            put_hash(page, PART[i].text, PART[i].size);
        else
            page_put(page, PART[i].text, PART[i].size);
    }
}

/* Up to the data, or from there on. @return where the data stands in page.html */
static size_t put_frame(page_doc *page, size_t from)
{
    while (from < sizeof(PAGE_HTML)) {
        const uint8_t *at = memmem(PAGE_HTML + from, sizeof(PAGE_HTML) - from, MARK, strlen(MARK));
        size_t begin = at ? (size_t)(at - PAGE_HTML) : sizeof(PAGE_HTML), name = begin + strlen(MARK);
        const uint8_t *end =
            at ? memmem(PAGE_HTML + name, sizeof(PAGE_HTML) - name, MARK, strlen(MARK)) : NULL;
        size_t len = end ? (size_t)(end - PAGE_HTML) - name : 0;

        page_put(page, PAGE_HTML + from, begin - from);
        if (!end)
            return sizeof(PAGE_HTML);
        from = name + len + strlen(MARK);
        if (len == strlen("data") && memcmp(PAGE_HTML + name, "data", len) == 0)
            return from;
        put_part(page, PAGE_HTML + name, len);
    }
    return from;
}

bool page_begin(page_doc *page, int fd)
{
    memset(page, 0, sizeof(*page));
    page->out.fd = fd;
    page->sums.findings_left = 4000;
    page->sums.notes_left = 1000;
    memcpy(page->out.left, ROOM, sizeof(ROOM));
    while (cuvet_rule_get((cuvet_rule)page->sums.n_rules))
        page->sums.n_rules++;
    page->out.block = malloc(BLOCK_BYTES);
    page->sums.told = calloc(page->sums.n_rules, 1);
    page->known = calloc((size_t)PAGE_SETS * PAGE_WAYS, sizeof(*page->known)); /* without it: no text twice */
    if (page->out.block && page->sums.told)
        return true;
    cli_complain(NULL, "out of memory");
    return false;
}

/* The page begins with the first input: before, nobody knows whether there is anything to tell. */
void page_put_head(page_doc *page, const cli_session *session)
{
    const cuvet_limit_info *info;
    uint64_t value;

    page->out.data_at = put_frame(page, 0);
    put_word(page, "{\"schema\":\"" PAGE_SCHEMA "\",\"records\":[");
    page_open(page, "v");
    cli_record_string(&page->record, NULL, cuvet_version());
    page_close(page, PAGE_FILES);
    page_open(page, "limits");
    for (size_t i = 0; cuvet_limits_get(&session->args->limits, i, &info, &value) == CUVET_OK; i++) {
        cli_record_string(&page->record, NULL, info->name);
        cli_record_u64(&page->record, NULL, value);
        cli_record_string(&page->record, NULL, info->unit);
        cli_record_string(&page->record, NULL, info->what);
    }
    page_close(page, PAGE_FILES);
}

bool page_end(page_doc *page, const cli_session *session)
{
    page_put_rules(page);
    page_put_end(page, session);
    put_word(page, "\n]}");
    /* What is before the data was put already. */
    (void)put_frame(page, page->out.data_at);
    flush_block(page);
    return !page->out.failed;
}

void page_free(page_doc *page)
{
    free(page->out.block);
    free(page->sums.told);
    free(page->known);
    cli_record_free(&page->record);
    cli_record_free(&page->text);
    cli_record_free(&page->run);
}
