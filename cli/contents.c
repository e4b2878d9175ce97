/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "contents.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u

/* Texts, which stay where they are. */
struct contents_block {
    struct contents_block *next;
    size_t used, cap;
    char text[];
};

void cli_contents_begin(cli_contents *contents, const cli_args *args, const char *name)
{
    *contents = (cli_contents){ .name = name, .room = args->limits.live };
}

/* ---- room ---- */

static bool spend_room(cli_contents *contents, uint64_t size)
{
    if (size > contents->room)
        return false;
    contents->room -= size;
    return true;
}

/* Terminated, so that it can be used as either. NULL: no room. */
static char *keep_text(cli_contents *contents, const void *bytes, size_t size)
{
    struct contents_block *block = contents->text;
    char *out;

    if (!block || size >= block->cap - block->used) {
        size_t cap = size < BLOCK_BYTES ? BLOCK_BYTES : size + 1;

        block = spend_room(contents, cap) ? malloc(sizeof(*block) + cap) : NULL;
        if (!block)
            return NULL;
        *block = (struct contents_block){ .next = contents->text, .cap = cap };
        contents->text = block;
    }
    out = block->text + block->used;
    if (size > 0)
        memcpy(out, bytes, size);
    out[size] = '\0';
    block->used += size + 1;
    return out;
}

static const char *keep_string(cli_contents *contents, const char *text)
{
    return keep_text(contents, text, strlen(text));
}

/* The list with room for one more. NULL: no room, and it is as before. */
static void *grow(cli_contents *contents, void *list, size_t count, size_t *cap, size_t size)
{
    size_t more = *cap ? 2 * *cap : 64;
    void *out;

    if (count < *cap)
        return list;
    out = spend_room(contents, (uint64_t)(more - *cap) * size) ? reallocarray(list, more, size) : NULL;
    if (out)
        *cap = more;
    return out;
}

/* ---- what is met ---- */

/* Its name as it is to be compared. NULL: no room. */
static cli_kernel_seen *add_name(cli_contents *contents, cuvet_bytes name, const char *code)
{
    cli_kernel_seen *list = grow(contents, contents->kernel, contents->n_kernels, &contents->cap_kernels,
                                 sizeof(*contents->kernel));
    char plain[CLI_PLAIN_CAP];
    const char *kept;

    if (!list)
        return NULL;
    contents->kernel = list;
    if (cli_plain_name(name, plain))
        name.p = (const uint8_t *)plain;
    kept = keep_text(contents, name.p, name.n);
    if (!kept)
        return NULL;
    list += contents->n_kernels++;
    *list = (cli_kernel_seen){ .name = { (const uint8_t *)kept, name.n }, .code = code };
    return list;
}

static bool add_kernel(cli_contents *contents, const cli_inside *inside, const cli_fingerprint *print,
                       const cli_kernel *kernel, const char *code)
{
    const cli_function *function = &inside->use.function[kernel->function];
    cli_kernel_seen *seen = add_name(contents, kernel->name, code);

    if (!seen)
        return false;
    seen->registers = function->registers;
    seen->stack = function->stack;
    seen->barriers = function->barriers;
    seen->shared = function->shared;
    seen->local = function->local;
    /* What has no code of its own is what its file is. */
    seen->print = print->whole;
    if (print->count > 0 && kernel->function > 0) {
        cli_fingerprint_function(print, kernel->function, &seen->print);
        seen->machine = print->section[kernel->function];
    }
    return true;
}

typedef struct contents_entry {
    cli_contents *contents;
    const char *code;
    bool kept;
} contents_entry;

static bool add_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    contents_entry *entry = user;
    cli_kernel_seen *seen = add_name(entry->contents, name, entry->code);

    entry->kept = seen != NULL;
    if (seen)
        seen->print = *digest;
    return entry->kept;
}

static bool add_producer(cli_contents *contents, const cuvet_producer *producer)
{
    char text[128];
    cli_named_seen *list;

    cli_producer_text(producer, text, sizeof(text));
    if (!*text)
        return true;
    /* The same in another place is added when all are sorted: there may be as many as pieces. */
    if (contents->n_producers > 0 && strcmp(contents->producer[contents->n_producers - 1].name, text) == 0) {
        contents->producer[contents->n_producers - 1].pieces++;
        return true;
    }
    list = grow(contents, contents->producer, contents->n_producers, &contents->cap_producers, sizeof(*list));
    if (!list)
        return false;
    contents->producer = list;
    list[contents->n_producers] = (cli_named_seen){ .name = keep_string(contents, text), .pieces = 1 };
    return list[contents->n_producers++].name != NULL;
}

/* Inputs are named "package!/path". */
static const char *name_within(const cli_contents *contents, const cli_session *session)
{
    size_t len = strlen(contents->name);
    const char *name = session->in->name;

    return strncmp(name, contents->name, len) == 0 && strncmp(name + len, "!/", 2) == 0 ? name + len + 2 : "";
}

static cli_named_seen *find_file(cli_contents *contents, const cli_session *session)
{
    const char *name = name_within(contents, session);
    cli_named_seen *list = contents->file;

    if (contents->n_files > 0 && strcmp(list[contents->n_files - 1].name, name) == 0)
        return &list[contents->n_files - 1];
    list = grow(contents, list, contents->n_files, &contents->cap_files, sizeof(*list));
    if (!list)
        return NULL;
    contents->file = list;
    list[contents->n_files] = (cli_named_seen){ .name = keep_string(contents, name) };
    return list[contents->n_files].name ? &list[contents->n_files++] : NULL;
}

static bool add_piece(cli_contents *contents, const cli_session *session, const cuvet_item *item,
                      cli_piece_seen **piece)
{
    char code[CONTENTS_CODE_CAP];
    cli_named_seen *file = find_file(contents, session);
    cli_piece_seen *list =
        file ? grow(contents, contents->piece, contents->n_pieces, &contents->cap_pieces, sizeof(*list))
             : NULL;

    if (!list)
        return false;
    contents->piece = list;
    *piece = &list[contents->n_pieces];
    cli_arch_text(item, code, sizeof(code));
    **piece = (cli_piece_seen){ .code = keep_string(contents, *code ? code : cuvet_kind_name(item->kind)),
                                .stored = item->stored_size };
    if (!(*piece)->code)
        return false;
    contents->n_pieces++;
    file->pieces++;
    return add_producer(contents, &item->producer);
}

/* What was known before, and what follows. */
static void chain(cli_digest *to, const cli_digest *more)
{
    uint8_t both[2 * sizeof(to->byte)];

    memcpy(both, to->byte, sizeof(to->byte));
    memcpy(both + sizeof(to->byte), more->byte, sizeof(more->byte));
    cli_digest_of(to, both, sizeof(both));
}

/* Of a device ELF its fingerprint and its kernels, of PTX as well. False: no room. */
static bool add_meaning(cli_contents *contents, cli_looking *looking, const cli_session *session,
                        const cuvet_item *item, const cli_inside *inside, cli_piece_seen *piece)
{
    contents_entry entry = { .contents = contents, .code = piece->code, .kept = true };
    cli_fingerprint print = { .count = 0 };

    if (item->kind == CUVET_K_PTX && inside->unpacked) {
        bool whole = cli_fingerprint_text(inside->bytes, looking, session, &piece->print, add_entry, &entry);

        piece->unknown = piece->unknown || (!whole && entry.kept);
    }
    if (item->kind != CUVET_K_CUBIN)
        return entry.kept;
    piece->unknown = !cli_fingerprint_read(&print, inside, looking, session);
    if (print.count > 0)
        piece->print = print.whole;
    for (size_t i = 0; inside->has && entry.kept && i < inside->use.n_kernels; i++)
        entry.kept = add_kernel(contents, inside, &print, &inside->use.kernel[i], piece->code);
    cli_fingerprint_free(&print);
    return entry.kept;
}

static bool add_inside(cli_contents *contents, cli_looking *looking, const cli_session *session,
                       const cuvet_item *item, cli_piece_seen *piece)
{
    cli_inside inside;
    bool kept;

    cli_inside_look(&inside, looking, session, item);
    if (inside.unpacked)
        piece->bytes = inside.digest;
    else
        piece->unknown = !cli_inside_stored(&piece->bytes, looking, session, item);
    kept = add_meaning(contents, looking, session, item, &inside, piece);
    cli_inside_leave(&inside);
    if (cli_digest_known(&contents->options)) {
        chain(&piece->bytes, &contents->options);
        if (cli_digest_known(&piece->print))
            chain(&piece->print, &contents->options);
        contents->options = (cli_digest){ { 0 } };
    }
    return kept;
}

static void say_full(cli_contents *contents, cli_looking *looking, const cli_session *session)
{
    cli_complain(session->in->name, "there is more in it than is kept: see the limit 'live'");
    looking->rc = cli_worse(looking->rc, CLI_X_LIMIT);
    contents->unread = true;
    contents->room = 0;
}

void cli_contents_add(cli_contents *contents, cli_looking *looking, const cli_session *session,
                      const cuvet_item *item)
{
    cli_piece_seen *piece = NULL;

    if (session->in->fate != CLI_FATE_CONTENT || (contents->unread && contents->room == 0))
        return; /* in no image, or said before */
    if (!add_piece(contents, session, item, &piece) || !add_inside(contents, looking, session, item, piece)) {
        say_full(contents, looking, session);
        return;
    }
    chain(&contents->file[contents->n_files - 1].bytes, &piece->bytes);
    contents->unread = contents->unread || piece->unknown;
}

/* Options that are stored with a member are a part of it, wherever they stand. */
void cli_contents_claim(cli_contents *contents, cli_looking *looking, const cli_session *session,
                        const cuvet_claim_info *claim)
{
    cli_digest digest;

    if (session->in->fate != CLI_FATE_CONTENT || strcmp(claim->owner, "option block") != 0)
        return;
    if ((claim->flags & CUVET_CLAIM_INNER) != 0 || !cli_looking_spend(looking, session, claim->length) ||
        !cli_digest_source(&digest, &session->in->source, claim->off, claim->length))
        contents->unread = true;
    else
        chain(&contents->options, &digest);
}

/* A file that is one of packed data which nobody could open: a piece of its own, whose bytes are all that is
 * known. */
static void add_closed(cli_contents *contents, const cli_session *session)
{
    const cuvet_source *source = &session->in->source;
    cli_named_seen *file = find_file(contents, session);
    cli_piece_seen *list =
        file ? grow(contents, contents->piece, contents->n_pieces, &contents->cap_pieces, sizeof(*list))
             : NULL;

    contents->unread = contents->unread || !list;
    if (!list)
        return;
    contents->piece = list;
    list += contents->n_pieces;
    *list = (cli_piece_seen){ .code = "packed", .stored = source->length };
    if (!cli_digest_source(&list->bytes, source, 0, source->length))
        contents->unread = true;
    contents->n_pieces++;
    file->pieces++;
    chain(&file->bytes, &list->bytes);
}

void cli_contents_finding(cli_contents *contents, const cuvet_diag *diag)
{
    contents->closed = contents->closed || cli_is_closed(diag);
}

bool cli_contents_end(cli_contents *contents, const cli_session *session, const cli_result *result)
{
    const cli_input *in = session->in;

    if (in->what == CLI_PACKAGE)
        return in->rc == 0;
    contents->unread = contents->unread || in->why || result->why;
    if (contents->closed && !in->why && in->fate == CLI_FATE_CONTENT)
        add_closed(contents, session);
    contents->unread = contents->unread || (contents->closed && in->what == CLI_INPUT);
    contents->closed = false;
    if (result->verdict > contents->worst)
        contents->worst = result->verdict;
    return in->what == CLI_INPUT;
}

/* ---- order ---- */

int cli_name_order(cuvet_bytes left, cuvet_bytes right)
{
    size_t common = left.n < right.n ? left.n : right.n;
    int order = common > 0 ? memcmp(left.p, right.p, common) : 0;

    return order != 0 ? order : left.n < right.n ? -1 : left.n > right.n;
}

int cli_kernel_order(const cli_kernel_seen *left, const cli_kernel_seen *right)
{
    const uint64_t one[] = { left->registers, left->stack, left->barriers, left->shared, left->local };
    const uint64_t other[] = { right->registers, right->stack, right->barriers, right->shared, right->local };
    int order = strverscmp(left->code, right->code);

    if (order == 0)
        order = cli_name_order(left->name, right->name);
    if (order == 0)
        order = cli_digest_order(&left->print, &right->print);
    for (size_t i = 0; order == 0 && i < sizeof(one) / sizeof(one[0]); i++)
        order = one[i] < other[i] ? -1 : one[i] > other[i];
    return order;
}

static int kernel_order(const void *left, const void *right)
{
    return cli_kernel_order(left, right);
}

static int piece_order(const void *left, const void *right)
{
    const cli_piece_seen *one = left, *other = right;
    int order = strverscmp(one->code, other->code);

    return order != 0 ? order : cli_digest_order(&one->bytes, &other->bytes);
}

static int named_order(const void *left, const void *right)
{
    const cli_named_seen *one = left, *other = right;
    int order = strcmp(one->name, other->name);

    return order != 0 ? order : cli_digest_order(&one->bytes, &other->bytes);
}

static void sort(void *list, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 0)
        qsort(list, count, size, order);
}

/* Two entries of one name are one file. @return how many are left */
static size_t merge(cli_named_seen *list, size_t count)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++)
        if (left > 0 && strcmp(list[left - 1].name, list[i].name) == 0) {
            list[left - 1].pieces += list[i].pieces;
            if (cli_digest_known(&list[i].bytes))
                chain(&list[left - 1].bytes, &list[i].bytes);
        } else {
            list[left++] = list[i];
        }
    return left;
}

void cli_contents_sort(cli_contents *contents)
{
    sort(contents->kernel, contents->n_kernels, sizeof(*contents->kernel), kernel_order);
    sort(contents->piece, contents->n_pieces, sizeof(*contents->piece), piece_order);
    sort(contents->file, contents->n_files, sizeof(*contents->file), named_order);
    sort(contents->producer, contents->n_producers, sizeof(*contents->producer), named_order);
    contents->n_files = merge(contents->file, contents->n_files);
    contents->n_producers = merge(contents->producer, contents->n_producers);
}

void cli_contents_free(cli_contents *contents)
{
    for (struct contents_block *block = contents->text, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(contents->kernel);
    free(contents->piece);
    free(contents->file);
    free(contents->producer);
    *contents = (cli_contents){ .name = NULL };
}
