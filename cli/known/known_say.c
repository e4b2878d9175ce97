/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is said of pieces that are known, and of those that are not. */
#include "known_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const SHARE_NAME[] = {
    [SHARE_BYTES] = "bytes", [SHARE_CODE] = "code",   [SHARE_KERNELS] = "kernels", [SHARE_SOME] = "some",
    [SHARE_NONE] = "none",   [SHARE_EMPTY] = "empty", [SHARE_CLOSED] = "closed",
};
static const char *const SHARE_TEXT[] = {
    [SHARE_BYTES] = "byte-identical to",
    [SHARE_CODE] = "same code, other metadata:",
    [SHARE_KERNELS] = "all kernels known:",
    [SHARE_SOME] = "some kernels known:",
    [SHARE_NONE] = "unknown",
    [SHARE_EMPTY] = "no code in it",
    [SHARE_CLOSED] = "could not be looked into",
};

static void put_sources(const known_sources *sources)
{
    const char *sep = " ";

    for (size_t at = 0; at < sources->size; at += strlen(sources->text + at) + 1) {
        fputs(sep, stdout);
        cli_put_str(stdout, sources->text + at);
        sep = ", ";
    }
    if (sources->more > 0)
        printf(" and %" PRIu32 " more", sources->more);
}

static void sources_json(cli_record *record, const known_sources *sources)
{
    cli_record_open(record, "sources", '[');
    for (size_t at = 0; at < sources->size; at += strlen(sources->text + at) + 1)
        cli_record_text(record, NULL, sources->text + at);
    cli_record_close(record, ']');
    if (sources->more > 0)
        cli_record_u64(record, "more_sources", sources->more);
}

static void path_of(const cuvet_item *item, char path[CLI_PATH_CAP])
{
    cli_path(&item->where, path, CLI_PATH_CAP);
    if (!*path)
        snprintf(path, CLI_PATH_CAP, "file");
}

void known_say_kernel(cli_known *known, const cli_session *session, const cuvet_item *item, cuvet_bytes name,
                      const known_sources *sources)
{
    char path[CLI_PATH_CAP];

    path_of(item, path);
    if (known->json) {
        cli_record_begin(&known->record, "known_kernel", session->in->name);
        cli_record_string(&known->record, "path", path);
        cli_record_bytes(&known->record, "kernel", name.p, name.n);
        sources_json(&known->record, sources);
        cli_record_put(&known->record, stdout);
        return;
    }
    fputs("  ", stdout);
    cli_put_str(stdout, path);
    fputs("  ", stdout);
    cli_put(stdout, name.p, name.n);
    fputs(sources->count ? ": as in" : ": unknown", stdout);
    put_sources(sources);
    putchar('\n');
}

static void piece_json(cli_known *known, const cli_session *session, const cuvet_item *item,
                       const known_piece *piece)
{
    char path[CLI_PATH_CAP];

    path_of(item, path);
    cli_record_begin(&known->record, "known", session->in->name);
    cli_record_string(&known->record, "path", path);
    cli_record_string(&known->record, "arch", piece->code);
    cli_record_string(&known->record, "match", SHARE_NAME[piece->share]);
    sources_json(&known->record, &piece->sources);
    if (piece->share > SHARE_CODE && piece->kernels > 0) {
        cli_record_u64(&known->record, "kernels", piece->kernels);
        cli_record_u64(&known->record, "known_kernels", piece->kernels_known);
    }
    cli_record_put(&known->record, stdout);
}

static void put_kernels(const known_group *group)
{
    if (group->share > SHARE_CODE && group->kernels > 0)
        printf(" (%" PRIu64 " of %" PRIu64 " kernels known)", group->kernels_known, group->kernels);
}

static void put_group(const known_group *group)
{
    printf("  %-12s %6" PRIu64 " %s  %s", group->code, group->pieces,
           group->pieces == 1 ? "piece " : "pieces", SHARE_TEXT[group->share]);
    put_sources(&group->sources);
    put_kernels(group);
    putchar('\n');
}

static void piece_text(const cuvet_item *item, const known_piece *piece)
{
    char path[CLI_PATH_CAP];
    known_group alone = { .share = piece->share,
                          .kernels = piece->kernels,
                          .kernels_known = piece->kernels_known };

    path_of(item, path);
    fputs("  ", stdout);
    cli_put_str(stdout, path);
    printf("  %s  %s", piece->code, SHARE_TEXT[piece->share]);
    put_sources(&piece->sources);
    put_kernels(&alone);
    putchar('\n');
}

static bool same_group(const known_group *group, const known_piece *piece)
{
    return group->share == piece->share && strcmp(group->code, piece->code) == 0 &&
           group->sources.size == piece->sources.size && group->sources.more == piece->sources.more &&
           memcmp(group->sources.text, piece->sources.text, piece->sources.size) == 0;
}

static void add_to_group(cli_known *known, const known_piece *piece)
{
    size_t at = 0;

    while (at < known->n_groups && !same_group(&known->group[at], piece))
        at++;
    if (at == GROUPS_MOST) {
        known->beyond++;
        return;
    }
    if (at == known->n_groups) {
        known->group[known->n_groups++] = (known_group){ .share = piece->share, .sources = piece->sources };
        memcpy(known->group[at].code, piece->code, sizeof(piece->code));
    }
    known->group[at].pieces++;
    known->group[at].kernels += piece->kernels;
    known->group[at].kernels_known += piece->kernels_known;
}

void known_say_piece(cli_known *known, const cli_session *session, const cuvet_item *item,
                     const known_piece *piece)
{
    known->met |= 1u << piece->share;
    if (known->json)
        piece_json(known, session, item, piece);
    else if (known->all)
        piece_text(item, piece);
    else
        add_to_group(known, piece);
}

static int group_order(const void *left, const void *right)
{
    const known_group *one = left, *other = right;
    int order = strverscmp(one->code, other->code);

    if (order == 0)
        order = (int)one->share - (int)other->share;
    return order != 0 ? order : strcmp(one->sources.text, other->sources.text);
}

void known_say_groups(cli_known *known, const cli_session *session)
{
    if (known->n_groups == 0)
        return;
    if (!known->inner) {
        cli_put_str(stdout, session->in->name);
        fputs(":\n", stdout);
    }
    qsort(known->group, known->n_groups, sizeof(*known->group), group_order);
    for (size_t i = 0; i < known->n_groups; i++)
        put_group(&known->group[i]);
    if (known->beyond > 0)
        printf("  and %" PRIu64 " pieces more (--all shows each)\n", known->beyond);
}
