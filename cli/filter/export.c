/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Run by the build: writes the programs of all shapes of the cage, as libseccomp makes them from rules.c, to
 * standard output as initialisers. What is known only later (the process, its descriptors) is found by making
 * each program twice, with different numbers in its place: where the two differ is a hole. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules.h"

/* In the same order in both: libseccomp sorts comparisons by them. */
static const uint32_t ONE[FILTER_N_COUNT] = { 0x10a00001, 0x10a00002, 0x10a00003 };
static const uint32_t TWO[FILTER_N_COUNT] = { 0x20b00005, 0x20b00006, 0x20b00007 };

#define IS_EQUAL (BPF_JMP | BPF_JEQ | BPF_K)

/* @return the number that stands there, FILTER_N_COUNT: nothing that changes, -1: something else does. */
static int hole_at(const struct sock_filter *left, const struct sock_filter *right)
{
    if (left->code != right->code || left->jt != right->jt || left->jf != right->jf)
        return -1;
    if (left->k == right->k)
        return FILTER_N_COUNT;
    for (int i = 0; i < FILTER_N_COUNT; i++) {
        if (left->k == ONE[i] && right->k == TWO[i] && left->code == IS_EQUAL)
            return i;
    }
    return -1;
}

/* Which numbers a shape has: as bits. */
static unsigned numbers_of(unsigned shape)
{
    return 1u << FILTER_N_PID | (shape & FILTER_PORTER ? 1u << FILTER_N_PORTER : 0) |
           (shape & FILTER_CHANNEL ? 1u << FILTER_N_CHANNEL : 0);
}

static bool print_holes(unsigned shape, const struct sock_filter *left, const struct sock_filter *right,
                        size_t number)
{
    unsigned seen = 0, count = 0;

    printf("static const filter_hole HOLES_%u[] = {", shape);
    for (size_t i = 0; i < number; i++) {
        int what = hole_at(&left[i], &right[i]);

        if (what < 0)
            return false;
        if (what == FILTER_N_COUNT)
            continue;
        printf(" { %zu, %d },", i, what);
        seen |= 1u << what;
        count++;
    }
    printf(" };\n#define N_HOLES_%u %u\n", shape, count);
    return seen == numbers_of(shape);
}

static void print_code(unsigned shape, const struct sock_filter *code, size_t count)
{
    printf("static const struct sock_filter CODE_%u[] = {\n", shape);
    for (size_t i = 0; i < count; i++)
        printf("    { 0x%02x, %u, %u, 0x%08" PRIx32 " },\n", code[i].code, code[i].jt, code[i].jf, code[i].k);
    printf("};\n#define N_CODE_%u %zu\n", shape, count);
}

static bool print_shape(unsigned shape, size_t *most)
{
    size_t count = 0, other_count = 0;
    struct sock_filter *left = filter_program_of(shape, ONE, &count),
                       *right = filter_program_of(shape, TWO, &other_count);
    bool ok = left && right && count == other_count && count <= BPF_MAXINSNS &&
              print_holes(shape, left, right, count);

    if (ok)
        print_code(shape, left, count);
    else
        fprintf(stderr, "filter: no program for shape %u\n", shape);
    *most = count > *most ? count : *most;
    free(left);
    free(right);
    return ok;
}

int main(void)
{
    size_t most = 0;

    printf("/* Made by the build from cli/filter/rules.c, through libseccomp. */\n");
    for (unsigned shape = 0; shape < FILTER_SHAPES; shape++) {
        if (!print_shape(shape, &most))
            return 1;
    }
    printf("static const filter_program PROGRAMS[FILTER_SHAPES] = {\n");
    for (unsigned shape = 0; shape < FILTER_SHAPES; shape++)
        printf("    [%u] = { CODE_%u, HOLES_%u, N_CODE_%u, N_HOLES_%u },\n", shape, shape, shape, shape,
               shape);
    printf("};\n#define MOST_CODE %zu\n", most);
    return fflush(stdout) != 0 || ferror(stdout);
}
