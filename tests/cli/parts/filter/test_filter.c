/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The filter that is in the command is the one that libseccomp makes now, for every shape of the cage and
 * whatever the numbers of the process are. That it bites is tested from inside: tests/cli/test_sandbox.py. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "filter/rules.h"

/* Descriptors of a cage; a shape is which of them it has. */
typedef struct numbers {
    int porter, channel;
} numbers;

static cli_cage cage_of(unsigned shape, const numbers *n)
{
    return (cli_cage){ .porter = shape & FILTER_PORTER ? n->porter : -1,
                       .channel = shape & FILTER_CHANNEL ? n->channel : -1,
                       .broker = shape & FILTER_BROKER ? 77 : -1,
                       .threads = shape & FILTER_THREADS ? 4 : 1 };
}

static struct sock_filter *fresh(unsigned shape, const numbers *d, size_t *n)
{
    const uint32_t number[FILTER_N_COUNT] = { [FILTER_N_PORTER] = (uint32_t)d->porter,
                                              [FILTER_N_CHANNEL] = (uint32_t)d->channel,
                                              [FILTER_N_PID] = (uint32_t)getpid() };
    struct sock_filter *code = filter_program_of(shape, number, n);

    ck_assert_ptr_nonnull(code);
    return code;
}

START_TEST(the_program_is_that_of_libseccomp)
{
    /* No socket is descriptor 0: libseccomp would share its comparison with another rule's. */
    static const numbers SETS[] = { { 3, 5 }, { 1, 2 }, { 6, 1023 }, { 20000, 0x7fffffff } };
    struct sock_filter code[CLI_FILTER_MOST];

    for (unsigned shape = 0; shape < FILTER_SHAPES; shape++) {
        for (size_t i = 0; i < sizeof(SETS) / sizeof(SETS[0]); i++) {
            cli_cage c = cage_of(shape, &SETS[i]);
            size_t n, m = cli_filter_program(&c, code);
            struct sock_filter *want = fresh(shape, &SETS[i], &n);

            ck_assert_uint_eq(m, n);
            ck_assert_mem_eq(code, want, n * sizeof(*want));
            free(want);
        }
    }
}
END_TEST

/* What the kernel would do: the instructions that libseccomp uses, and no others. */
static uint32_t decide(const struct sock_filter *code, size_t n, const struct seccomp_data *d)
{
    uint32_t a = 0;

    for (size_t pc = 0; pc < n; pc++) {
        const struct sock_filter *i = &code[pc];

        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (i->k > sizeof(*d) - sizeof(a))
                ck_abort_msg("load from %u", i->k);
            memcpy(&a, (const uint8_t *)d + i->k, sizeof(a));
            break;
        case BPF_ALU | BPF_AND | BPF_K: a &= i->k; break;
        case BPF_JMP | BPF_JA: pc += i->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: pc += a == i->k ? i->jt : i->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: pc += a > i->k ? i->jt : i->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: pc += a >= i->k ? i->jt : i->jf; break;
        case BPF_RET | BPF_K: return i->k;
        default: ck_abort_msg("instruction %#x", i->code);
        }
    }
    ck_abort_msg("no end");
}

typedef struct pair {
    const struct sock_filter *a, *b;
    size_t n, m;
    unsigned ways; /* how often they let something through */
} pair;

static void same(pair *p, const struct seccomp_data *d)
{
    uint32_t one = decide(p->a, p->n, d), other = decide(p->b, p->m, d);

    if (one != other)
        ck_abort_msg("call %d (%#llx, %#llx, %#llx, %#llx): %#x or %#x", d->nr,
                     (unsigned long long)d->args[0], (unsigned long long)d->args[1],
                     (unsigned long long)d->args[2], (unsigned long long)d->args[3], one, other);
    p->ways += one == SECCOMP_RET_ALLOW;
}

/* Every argument that a rule looks at, with values that it knows, beside them, and with the upper half set.
 */
static void same_for_call(pair *p, struct seccomp_data *d, const uint64_t *value, size_t n)
{
    const uint64_t upper = UINT64_C(1) << 32;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            d->args[0] = value[i] | (j % 5 ? 0 : upper);
            d->args[1] = d->args[2] = value[j] | (i % 5 ? 0 : upper);
            d->args[3] = i % 2 ? MAP_ANONYMOUS : AT_EMPTY_PATH;
            same(p, d);
        }
    }
}

static uint32_t arch_of(const struct sock_filter *code)
{
    ck_assert_uint_eq(code[0].code, BPF_LD | BPF_W | BPF_ABS);
    ck_assert_uint_eq(code[0].k, offsetof(struct seccomp_data, arch));
    ck_assert_uint_eq(code[1].code, BPF_JMP | BPF_JEQ | BPF_K);
    return code[1].k;
}

/* libseccomp sorts by the numbers: another order gives another program, with the same answers. */
START_TEST(numbers_in_any_order)
{
    const numbers d = { 44, 6 };
    const uint64_t value[] = { 0,
                               1,
                               4,
                               5,
                               6,
                               44,
                               45,
                               (uint64_t)getpid(),
                               (uint64_t)getpid() + 1,
                               UINT32_MAX,
                               (uint32_t)AT_FDCWD,
                               PROT_EXEC,
                               O_CREAT,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               F_GETFL,
                               TCGETS,
                               0x003d0f00,
                               0x007d0f00 };
    struct sock_filter code[CLI_FILTER_MOST];

    for (unsigned shape = 0; shape < FILTER_SHAPES; shape++) {
        cli_cage c = cage_of(shape, &d);
        pair p = { .a = code };
        struct sock_filter *want;
        struct seccomp_data at = { 0 };

        want = fresh(shape, &d, &p.m);
        p.b = want;
        p.n = cli_filter_program(&c, code);
        at.arch = arch_of(code);
        for (at.nr = -2; at.nr < 600; at.nr++)
            same_for_call(&p, &at, value, sizeof(value) / sizeof(value[0]));
        ck_assert_uint_gt(p.ways, 20);
        free(want);
    }
}
END_TEST

START_TEST(other_architectures_are_death)
{
    struct sock_filter code[CLI_FILTER_MOST];
    const cli_cage c = { CLI_CAGE_NOTHING };
    size_t n = cli_filter_program(&c, code);
    struct seccomp_data d = { .nr = SYS_getpid, .arch = arch_of(code) };
    const uint32_t own = d.arch;

    ck_assert_uint_eq(decide(code, n, &d), SECCOMP_RET_ALLOW);
    for (unsigned bit = 0; bit < 32; bit++) {
        d.arch = own ^ UINT32_C(1) << bit;
        ck_assert_uint_eq(decide(code, n, &d), SECCOMP_RET_KILL_PROCESS);
    }
    d.arch = own;
    d.nr = SYS_ptrace;
    ck_assert_uint_eq(decide(code, n, &d), SECCOMP_RET_KILL_PROCESS);
    d.nr = SYS_clone3;
    ck_assert_uint_eq(decide(code, n, &d), SECCOMP_RET_ERRNO | ENOSYS);
    d.nr = SYS_getpid | 0x40000000; /* of x32 */
    ck_assert_uint_eq(decide(code, n, &d), SECCOMP_RET_KILL_PROCESS);
}
END_TEST

Suite *suite_filter(void);
Suite *suite_filter(void)
{
    Suite *s = suite_create("filter");
    TCase *t = tcase_create("filter");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_program_is_that_of_libseccomp);
    tcase_add_test(t, numbers_in_any_order);
    tcase_add_test(t, other_architectures_are_death);
    suite_add_tcase(s, t);
    return s;
}
