/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "known_int.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- names ---- */

void cli_known_name(const char *path, char *out)
{
    const char *end = strstr(path, "!/"), *base = path, *dash, *next;
    size_t size = end ? (size_t)(end - path) : strlen(path);

    for (const char *at = path; at < path + size; at++)
        if (*at == '/')
            base = at + 1;
    size -= (size_t)(base - path);
    size = size < KNOWN_SOURCE_MOST ? size : KNOWN_SOURCE_MOST;
    (void)cli_escape(base, size, size, out, KNOWN_SOURCE_MOST + 1);
    /* A wheel: project-version-tags. */
    size = strlen(out);
    dash = strchr(out, '-');
    next = dash ? strchr(dash + 1, '-') : NULL;
    if (size > 4 && strcmp(out + size - 4, ".whl") == 0 && next && isdigit((unsigned char)dash[1])) {
        size_t project = (size_t)(dash - out), whole = (size_t)(next - out);

        for (size_t i = 0; i < project; i++)
            out[i] = (char)(out[i] == '_' ? '-' : out[i]);
        out[project] = ' ';
        out[whole] = '\0';
    }
    if (!*out)
        snprintf(out, KNOWN_SOURCE_MOST + 1, "standard input");
}

static bool has_source(const known_sources *sources, const char *name)
{
    for (size_t at = 0; at < sources->size; at += strlen(sources->text + at) + 1)
        if (strcmp(sources->text + at, name) == 0)
            return true;
    return false;
}

static void add_sources(known_sources *sources, const known_reply *reply, const char *text)
{
    for (size_t at = 0; at < reply->n_text; at += strlen(text + at) + 1) {
        size_t size = strlen(text + at) + 1;

        if (has_source(sources, text + at))
            continue;
        if (sources->count == KNOWN_TELL || size > sizeof(sources->text) - sources->size) {
            sources->more++;
            continue;
        }
        memcpy(sources->text + sources->size, text + at, size);
        sources->size += size;
        sources->count++;
    }
    sources->more = sources->more > reply->more ? sources->more : reply->more;
}

/* ---- one piece ---- */

/* @return false: the keeper is gone */
static bool ask_kernel(cli_known *known, const cli_session *session, const cuvet_item *item,
                       known_piece *piece, cuvet_bytes name, const cli_digest *print)
{
    const known_order order = { .verb = KNOWN_ASK_KERNEL, .print = *print };
    static char text[KNOWN_TEXT_MOST];
    known_sources sources = { .size = 0 };
    known_reply reply;

    if (!cli_keeper_ask(&known->keeper, &order, &reply, text))
        return false;
    piece->kernels++;
    piece->kernels_known += reply.match != KNOWN_NOT;
    add_sources(&sources, &reply, text);
    if (piece->share > SHARE_CODE)
        add_sources(&piece->sources, &reply, text);
    if (known->each_kernel)
        known_say_kernel(known, session, item, name, &sources);
    return true;
}

static bool add_kernel(cli_known *known, const known_piece *piece, cuvet_bytes name, const cli_digest *print)
{
    known_order order = { .verb = KNOWN_ADD_KERNEL,
                          .print = *print,
                          .n_text = (uint32_t)(name.n < KNOWN_KERNEL_MOST ? name.n : KNOWN_KERNEL_MOST) };

    memcpy(order.code, piece->code, sizeof(order.code));
    known->kernels++;
    return cli_keeper_tell(&known->keeper, &order, (const char *)name.p);
}

typedef struct known_looking {
    cli_known *known;
    const cli_session *session;
    const cuvet_item *item;
    known_piece *piece;
} known_looking;

static bool on_kernel(void *user, cuvet_bytes name, const cli_digest *print)
{
    const known_looking *at = user;
    bool good = at->known->adding ? add_kernel(at->known, at->piece, name, print)
                                  : ask_kernel(at->known, at->session, at->item, at->piece, name, print);

    at->known->lost = at->known->lost || !good;
    return good;
}

static bool count_kernel(void *user, cuvet_bytes name, const cli_digest *print)
{
    (void)name;
    (void)print;
    ++*(uint64_t *)user;
    return true;
}

static void each_kernel(known_looking *at, const cli_inside *inside, const cli_fingerprint *parts)
{
    cli_digest print;

    if (at->item->kind == CUVET_K_PTX && inside->unpacked) {
        (void)cli_fingerprint_text(inside->bytes, &at->known->looking, at->session, &print, on_kernel, at);
        return;
    }
    for (size_t i = 0; inside->has && parts->count > 0 && i < inside->use.n_kernels; i++) {
        if (inside->use.kernel[i].function == 0)
            continue; /* without code there is nothing to know */
        cli_fingerprint_function(parts, inside->use.kernel[i].function, &print);
        if (!on_kernel(at, inside->use.kernel[i].name, &print))
            return;
    }
}

/* Of what has no function, the same bytes come out of anything: they say nothing about where it is from. */
static bool has_code(const cuvet_item *item, const cli_inside *inside, uint64_t entries)
{
    if (item->kind == CUVET_K_PTX && inside->unpacked)
        return entries > 0 || memmem(inside->bytes.p, inside->bytes.n, ".func", strlen(".func"));
    for (size_t i = 1; inside->has && i < inside->use.count; i++)
        if (inside->use.function[i].name.p)
            return true;
    return !inside->has; /* nobody knows */
}

/* @return false: the keeper is gone */
static bool meet(known_looking *at, const cli_inside *inside, const cli_digest *print)
{
    cli_known *known = at->known;
    known_order order = { .verb = known->adding ? KNOWN_ADD_PIECE : KNOWN_ASK_PIECE,
                          .bytes = inside->digest,
                          .print = *print };
    static char text[KNOWN_TEXT_MOST];
    known_reply reply;

    memcpy(order.code, at->piece->code, sizeof(order.code));
    if (known->adding) {
        known->pieces++;
        return cli_keeper_tell(&known->keeper, &order, "");
    }
    if (!cli_keeper_ask(&known->keeper, &order, &reply, text))
        return false;
    at->piece->share = reply.match == KNOWN_BYTES  ? SHARE_BYTES
                       : reply.match == KNOWN_CODE ? SHARE_CODE
                                                   : SHARE_NONE;
    add_sources(&at->piece->sources, &reply, text);
    return true;
}

/* @param parts to be freed @return false: there is none */
static bool read_print(const known_looking *at, const cli_inside *inside, cli_fingerprint *parts,
                       cli_digest *print, uint64_t *entries)
{
    cli_looking *looking = &at->known->looking;
    bool text = at->item->kind == CUVET_K_PTX && inside->unpacked;
    bool whole = text
                     ? cli_fingerprint_text(inside->bytes, looking, at->session, print, count_kernel, entries)
                     : inside->has && cli_fingerprint_read(parts, inside, looking, at->session);

    if (whole && !text)
        *print = parts->whole;
    if (!whole)
        *print = (cli_digest){ { 0 } };
    return whole;
}

static void look_at_piece(known_looking *at, const cli_inside *inside)
{
    cli_known *known = at->known;
    known_piece *piece = at->piece;
    cli_fingerprint parts = { .count = 0 };
    cli_digest print = { { 0 } };
    uint64_t entries = 0;
    bool whole = read_print(at, inside, &parts, &print, &entries);

    if (has_code(at->item, inside, entries)) {
        known->lost = !meet(at, inside, &print);
        if (whole && !known->lost && (known->adding || known->each_kernel || piece->share > SHARE_CODE))
            each_kernel(at, inside, &parts);
    } else {
        piece->share = SHARE_EMPTY;
        known->empty++;
    }
    if (piece->share == SHARE_NONE && piece->kernels_known > 0)
        piece->share = piece->kernels_known == piece->kernels ? SHARE_KERNELS : SHARE_SOME;
    cli_fingerprint_free(&parts);
}

/* ---- the sink ---- */

static void tell_source(cli_known *known, const cli_session *session)
{
    char name[KNOWN_SOURCE_MOST + 1];
    known_order order = { .verb = KNOWN_SOURCE };

    if (known->as)
        snprintf(name, sizeof(name), "%s", known->as);
    else
        cli_known_name(session->in->name, name);
    if (strcmp(name, known->source) == 0)
        return;
    memcpy(known->source, name, sizeof(name));
    order.n_text = (uint32_t)strlen(name);
    known->lost = !cli_keeper_tell(&known->keeper, &order, name);
}

static void on_begin(void *user, const cli_session *session)
{
    cli_known *known = user;

    cli_looking_begin(&known->looking, session);
    known->n_groups = 0;
    known->beyond = 0;
    if (known->inner && known->inner->begin)
        known->inner->begin(known->user, session);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    const cli_known *known = user;

    if (known->inner && known->inner->finding)
        known->inner->finding(known->user, session, diag);
}

/* @return false: there are no bytes that can be compared */
static bool open_piece(const known_looking *at, cli_inside *inside)
{
    cli_looking *looking = &at->known->looking;

    cli_inside_look(inside, looking, at->session, at->item);
    return inside->unpacked || cli_inside_stored(&inside->digest, looking, at->session, at->item);
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    cli_known *known = user;
    static known_piece piece;
    known_looking at = { known, session, item, &piece };
    bool damaged = known->adding && item->errors + item->warnings > 0; /* nothing to compare with */
    cli_inside inside;

    if (known->inner && known->inner->member)
        known->inner->member(known->user, session, item);
    if (known->lost)
        return;
    piece = (known_piece){ .share = SHARE_CLOSED };
    cli_arch_text(item, piece.code, sizeof(piece.code));
    if (!*piece.code)
        snprintf(piece.code, sizeof(piece.code), "%s", cuvet_kind_name(item->kind));
    if (!open_piece(&at, &inside) || damaged) {
        known->passed_over++;
    } else {
        if (known->adding)
            tell_source(known, session);
        if (!known->lost)
            look_at_piece(&at, &inside);
    }
    cli_inside_leave(&inside);
    if (!known->adding && !known->lost)
        known_say_piece(known, session, item, &piece);
}

static void on_closing(void *user, const cli_session *session)
{
    const cli_known *known = user;

    if (known->inner && known->inner->closing)
        known->inner->closing(known->user, session);
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    cli_known *known = user;

    if (known->inner && known->inner->end)
        known->inner->end(known->user, session, result);
    if (session->in->what != CLI_PACKAGE)
        known_say_groups(known, session);
}

/* ---- begin and end ---- */

static int start(cli_known **out, cli_session *session, cli_needs *needs, const cli_keeper_options *options)
{
    static const cli_sink SINK = {
        .begin = on_begin, .finding = on_finding, .member = on_member, .closing = on_closing, .end = on_end
    };
    cli_known *known;
    int rc;

    if (!cli_load_hash() || !cli_database_load())
        return CLI_X_IO;
    known = calloc(1, sizeof(*known));
    if (known)
        known->group = calloc(GROUPS_MOST, sizeof(*known->group));
    if (!known || !known->group) {
        free(known);
        cli_complain(NULL, "out of memory");
        return CLI_X_INTERNAL;
    }
    rc = cli_keeper_start(&known->keeper, options);
    if (rc != CLI_X_CLEAN) {
        free(known->group);
        free(known);
        return rc;
    }
    known->inner = session->sink;
    known->user = session->user;
    session->sink = &SINK;
    session->user = known;
    needs->helper = known->keeper.fd;
    session->needs = needs;
    *out = known;
    return CLI_X_CLEAN;
}

int cli_known_start(cli_known **out, cli_session *session, cli_needs *needs, const char *database, bool json)
{
    const cli_keeper_options options = { .purpose = KNOWN_FOR_LOOKUP, .path = database };
    int rc = start(out, session, needs, &options);

    if (rc != CLI_X_CLEAN)
        return rc;
    (*out)->json = json;
    (*out)->all = session->args->set[CLI_O_ALL];
    (*out)->each_kernel = session->args->set[CLI_O_KERNELS];
    return rc;
}

int cli_known_start_adding(cli_known **out, cli_session *session, cli_needs *needs, const char *database,
                           const char *as)
{
    const cli_keeper_options options = { .purpose = KNOWN_FOR_ADDING, .path = database };
    int rc = start(out, session, needs, &options);

    if (rc != CLI_X_CLEAN)
        return rc;
    (*out)->adding = true;
    (*out)->as = as;
    return rc;
}

static int failed_by(const cli_known *known, const char *fail_on)
{
    const unsigned unknown = 1u << SHARE_KERNELS | 1u << SHARE_SOME | 1u << SHARE_NONE | 1u << SHARE_CLOSED;
    const unsigned counts = !fail_on                          ? 0
                            : strcmp(fail_on, "unknown") == 0 ? unknown
                                                              : ~(1u << SHARE_BYTES | 1u << SHARE_EMPTY);

    return known->met & counts ? CLI_X_FINDINGS : CLI_X_CLEAN;
}

int cli_known_end(cli_known *known, const char *fail_on)
{
    uint64_t fresh = 0;
    int rc = cli_worse(cli_keeper_end(&known->keeper, &fresh), known->looking.rc);

    if (known->adding && rc == CLI_X_CLEAN)
        printf("%" PRIu64 " pieces, %" PRIu64 " kernels, %" PRIu64 " of both new; not added: %" PRIu64
               " pieces with findings or not unpacked, %" PRIu64 " without code\n",
               known->pieces, known->kernels, fresh, known->passed_over, known->empty);
    rc = cli_worse(rc, failed_by(known, fail_on));
    cli_record_free(&known->record);
    free(known->group);
    free(known);
    return rc;
}
