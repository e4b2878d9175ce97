/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

const char *cli_diff_state_name(cli_diff_state state)
{
    static const char *const NAME[] = { "same", "changed", "lost", "new" };

    return NAME[state];
}

/* ---- pieces ---- */

static int by_print(const void *left, const void *right)
{
    const cli_piece_seen *one = left, *other = right;

    return one->matched != other->matched ? one->matched - other->matched
                                          : cli_digest_order(&one->print, &other->print);
}

static size_t end_of(const cli_diff_run *run)
{
    return run->first + run->count;
}

typedef const cli_digest *digest_of_fn(const cli_piece_seen *piece);

static const cli_digest *bytes_of(const cli_piece_seen *piece)
{
    return &piece->bytes;
}

static const cli_digest *print_of(const cli_piece_seen *piece)
{
    return &piece->print;
}

/* Both runs are sorted by it. Each piece has one partner at most. @return pairs */
static uint64_t match_pieces(cli_contents *before, cli_contents *after, const cli_diff_code *at,
                             digest_of_fn *digest)
{
    size_t one = at->old_pieces.first, other = at->new_pieces.first;
    uint64_t pairs = 0;

    while (one < end_of(&at->old_pieces) && other < end_of(&at->new_pieces)) {
        cli_piece_seen *left = &before->piece[one], *right = &after->piece[other];
        int order = cli_digest_order(digest(left), digest(right));

        if (left->matched || right->matched)
            break; /* these are the last ones */
        if (order == 0 && cli_digest_known(digest(left))) {
            left->matched = right->matched = true;
            pairs++;
        }
        one += order <= 0;
        other += order >= 0;
    }
    return pairs;
}

static void sort_run(cli_piece_seen *list, const cli_diff_run *run)
{
    if (run->count > 0)
        qsort(list + run->first, run->count, sizeof(*list), by_print);
}

static void compare_pieces(cli_contents *before, cli_contents *after, cli_diff_code *at)
{
    at->same_bytes = match_pieces(before, after, at, bytes_of);
    sort_run(before->piece, &at->old_pieces);
    sort_run(after->piece, &at->new_pieces);
    at->same_code = match_pieces(before, after, at, print_of);
    for (size_t i = at->old_pieces.first; i < end_of(&at->old_pieces); i++)
        at->old_stored += before->piece[i].stored;
    for (size_t i = at->new_pieces.first; i < end_of(&at->new_pieces); i++)
        at->new_stored += after->piece[i].stored;
}

/* ---- kernels ---- */

/* Kernels of one name: an internal one may be in many pieces. */
static cli_diff_run same_names(const cli_kernel_seen *list, size_t first, size_t end)
{
    cli_diff_run run = { first, 0 };

    while (first + run.count < end && cli_name_order(list[first].name, list[first + run.count].name) == 0)
        run.count++;
    return run;
}

/* The next name of both lists: one of the runs may be empty. False: no more. */
static bool next_name(const cli_contents *before, const cli_contents *after, const cli_diff_code *at,
                      cli_diff_run *left, cli_diff_run *right)
{
    size_t one = end_of(left), other = end_of(right);
    size_t one_end = end_of(&at->old_kernels), other_end = end_of(&at->new_kernels);
    int order = one == one_end       ? 1
                : other == other_end ? -1
                                     : cli_name_order(before->kernel[one].name, after->kernel[other].name);

    *left = order <= 0 ? same_names(before->kernel, one, one_end) : (cli_diff_run){ one, 0 };
    *right = order >= 0 && other < other_end ? same_names(after->kernel, other, other_end)
                                             : (cli_diff_run){ other, 0 };
    return left->count + right->count > 0;
}

size_t cli_diff_variant(const cli_contents *contents, const cli_diff_run *run, size_t at)
{
    const cli_kernel_seen *kernel = &contents->kernel[at];

    while (++at < end_of(run) && cli_kernel_order(kernel, &contents->kernel[at]) == 0)
        ;
    return at;
}

/* Do both sides have the same of a name, however often? Nothing is the same as what is not known. */
static bool has_same_variants(const cli_contents *before, const cli_contents *after, const cli_diff_run *left,
                              const cli_diff_run *right)
{
    size_t one = left->first, other = right->first;

    while (one < end_of(left) && other < end_of(right) &&
           cli_kernel_order(&before->kernel[one], &after->kernel[other]) == 0 &&
           cli_digest_known(&before->kernel[one].print)) {
        one = cli_diff_variant(before, left, one);
        other = cli_diff_variant(after, right, other);
    }
    return one == end_of(left) && other == end_of(right);
}

void cli_diff_each_kernel(const cli_contents *before, const cli_contents *after, const cli_diff_code *at,
                          cli_diff_kernel_fn *each, void *user)
{
    cli_diff_run left = { at->old_kernels.first, 0 }, right = { at->new_kernels.first, 0 };

    while (next_name(before, after, at, &left, &right))
        each(user, at,
             right.count == 0                                  ? CLI_LOST
             : left.count == 0                                 ? CLI_ADDED
             : has_same_variants(before, after, &left, &right) ? CLI_SAME
                                                               : CLI_CHANGED,
             &left, &right);
}

static void count_name(void *user, const cli_diff_code *at, cli_diff_state state, const cli_diff_run *before,
                       const cli_diff_run *after)
{
    uint64_t *kernels = user;

    (void)at;
    (void)before;
    (void)after;
    kernels[state]++;
}

/* ---- architectures ---- */

static cli_diff_run pieces_of(const cli_contents *contents, size_t first, const char *code)
{
    cli_diff_run run = { first, 0 };

    while (first + run.count < contents->n_pieces &&
           strcmp(contents->piece[first + run.count].code, code) == 0)
        run.count++;
    return run;
}

static cli_diff_run kernels_of(const cli_contents *contents, size_t first, const char *code)
{
    cli_diff_run run = { first, 0 };

    while (first + run.count < contents->n_kernels &&
           strcmp(contents->kernel[first + run.count].code, code) == 0)
        run.count++;
    return run;
}

bool cli_diff_next(cli_contents *before, cli_contents *after, cli_diff_code *at)
{
    size_t one = end_of(&at->old_pieces), other = end_of(&at->new_pieces);
    bool left = one < before->n_pieces, right = other < after->n_pieces;
    cli_diff_code next = { .code = NULL };
    const char *code;

    if (!left && !right)
        return false;
    code = !left || (right && strverscmp(after->piece[other].code, before->piece[one].code) < 0)
               ? after->piece[other].code
               : before->piece[one].code;
    next.code = code;
    next.old_pieces = pieces_of(before, one, code);
    next.new_pieces = pieces_of(after, other, code);
    next.old_kernels = kernels_of(before, end_of(&at->old_kernels), code);
    next.new_kernels = kernels_of(after, end_of(&at->new_kernels), code);
    compare_pieces(before, after, &next);
    cli_diff_each_kernel(before, after, &next, count_name, next.kernels);
    *at = next;
    return true;
}

cli_diff_state cli_diff_state_of(const cli_diff_code *at)
{
    if (at->old_pieces.count == 0)
        return CLI_ADDED;
    if (at->new_pieces.count == 0)
        return CLI_LOST;
    return at->same_bytes == at->old_pieces.count && at->same_bytes == at->new_pieces.count ? CLI_SAME
                                                                                            : CLI_CHANGED;
}
