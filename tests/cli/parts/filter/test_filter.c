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
typedef struct filter_numbers {
    int porter, channel;
} filter_numbers;

static cli_cage cage_of(unsigned shape, const filter_numbers *numbers)
{
    return (cli_cage){ .porter = shape & FILTER_PORTER ? numbers->porter : -1,
                       .channel = shape & FILTER_CHANNEL ? numbers->channel : -1,
                       .broker = shape & FILTER_ANSWERS ? 77 : -1,
                       .helper = -1,
                       .threads = shape & FILTER_THREADS ? 4 : 1 };
}

static struct sock_filter *fresh(unsigned shape, const filter_numbers *numbers, size_t *count)
{
    const uint32_t number[FILTER_N_COUNT] = { [FILTER_N_PORTER] = (uint32_t)numbers->porter,
                                              [FILTER_N_CHANNEL] = (uint32_t)numbers->channel,
                                              [FILTER_N_PID] = (uint32_t)getpid() };
    struct sock_filter *code = filter_program_of(shape, number, count);

    ck_assert_ptr_nonnull(code);
    return code;
}

START_TEST(the_program_is_that_of_libseccomp)
{
    /* No socket is descriptor 0: libseccomp would share its comparison with another rule's. */
    static const filter_numbers SETS[] = { { 3, 5 }, { 1, 2 }, { 6, 1023 }, { 20000, 0x7fffffff } };
    struct sock_filter code[CLI_FILTER_MOST];

    for (unsigned shape = 0; shape < FILTER_SHAPES; shape++) {
        for (size_t i = 0; i < sizeof(SETS) / sizeof(SETS[0]); i++) {
            cli_cage cage = cage_of(shape, &SETS[i]);
            size_t count, most = cli_filter_program(&cage, code);
            struct sock_filter *want = fresh(shape, &SETS[i], &count);

            ck_assert_uint_eq(most, count);
            ck_assert_mem_eq(code, want, count * sizeof(*want));
            free(want);
        }
    }
}
END_TEST

/* What the kernel would do: the instructions that libseccomp uses, and no others. */
static uint32_t decide(const struct sock_filter *code, size_t count, const struct seccomp_data *data)
{
    uint32_t left = 0;

    for (size_t pc = 0; pc < count; pc++) {
        const struct sock_filter *other_code = &code[pc];

        switch (other_code->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (other_code->k > sizeof(*data) - sizeof(left))
                ck_abort_msg("load from %u", other_code->k);
            memcpy(&left, (const uint8_t *)data + other_code->k, sizeof(left));
            break;
        case BPF_ALU | BPF_AND | BPF_K: left &= other_code->k; break;
        case BPF_JMP | BPF_JA: pc += other_code->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: pc += left == other_code->k ? other_code->jt : other_code->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: pc += left > other_code->k ? other_code->jt : other_code->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: pc += left >= other_code->k ? other_code->jt : other_code->jf; break;
        case BPF_RET | BPF_K: return other_code->k;
        default: ck_abort_msg("instruction %#x", other_code->code);
        }
    }
    ck_abort_msg("no end");
}

typedef struct filter_pair {
    const struct sock_filter *code, *own_code;
    size_t count, most;
    unsigned ways; /* how often they let something through */
} filter_pair;

static void same(filter_pair *pair, const struct seccomp_data *data)
{
    uint32_t one = decide(pair->code, pair->count, data), other = decide(pair->own_code, pair->most, data);

    if (one != other)
        ck_abort_msg("call %d (%#llx, %#llx, %#llx, %#llx): %#x or %#x", data->nr,
                     (unsigned long long)data->args[0], (unsigned long long)data->args[1],
                     (unsigned long long)data->args[2], (unsigned long long)data->args[3], one, other);
    pair->ways += one == SECCOMP_RET_ALLOW;
}

/* Every argument that a rule looks at, with values that it knows, beside them, and with the upper half set.
 */
static void same_for_call(filter_pair *pair, struct seccomp_data *data, const uint64_t *value, size_t count)
{
    const uint64_t upper = UINT64_C(1) << 32;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            data->args[0] = value[i] | (j % 5 ? 0 : upper);
            data->args[1] = data->args[2] = value[j] | (i % 5 ? 0 : upper);
            data->args[3] = i % 2 ? MAP_ANONYMOUS : AT_EMPTY_PATH;
            same(pair, data);
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
    const filter_numbers numbers = { 44, 6 };
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
        cli_cage cage = cage_of(shape, &numbers);
        filter_pair pair = { .code = code };
        struct sock_filter *want;
        struct seccomp_data at = { 0 };

        want = fresh(shape, &numbers, &pair.most);
        pair.own_code = want;
        pair.count = cli_filter_program(&cage, code);
        at.arch = arch_of(code);
        for (at.nr = -2; at.nr < 600; at.nr++)
            same_for_call(&pair, &at, value, sizeof(value) / sizeof(value[0]));
        ck_assert_uint_gt(pair.ways, 20);
        free(want);
    }
}
END_TEST

/* Whoever is asked may take longer than anybody waits. */
START_TEST(answers_are_waited_for)
{
    struct sock_filter code[CLI_FILTER_MOST];
    const cli_cage cages[] = { { CLI_CAGE_NOTHING },
                               { .porter = -1, .channel = -1, .broker = -1, .helper = 4 },
                               { .porter = -1, .channel = -1, .broker = 4, .helper = -1 } };

    for (size_t i = 0; i < sizeof(cages) / sizeof(cages[0]); i++) {
        size_t count = cli_filter_program(&cages[i], code);
        struct seccomp_data data = { .nr = SYS_ppoll, .arch = arch_of(code) };

        ck_assert_int_eq(decide(code, count, &data) == SECCOMP_RET_ALLOW, i > 0);
    }
}
END_TEST

START_TEST(other_architectures_are_death)
{
    struct sock_filter code[CLI_FILTER_MOST];
    const cli_cage cage = { CLI_CAGE_NOTHING };
    size_t count = cli_filter_program(&cage, code);
    struct seccomp_data data = { .nr = SYS_getpid, .arch = arch_of(code) };
    const uint32_t own = data.arch;

    ck_assert_uint_eq(decide(code, count, &data), SECCOMP_RET_ALLOW);
    for (unsigned bit = 0; bit < 32; bit++) {
        data.arch = own ^ UINT32_C(1) << bit;
        ck_assert_uint_eq(decide(code, count, &data), SECCOMP_RET_KILL_PROCESS);
    }
    data.arch = own;
    data.nr = SYS_ptrace;
    ck_assert_uint_eq(decide(code, count, &data), SECCOMP_RET_KILL_PROCESS);
    data.nr = SYS_clone3;
    ck_assert_uint_eq(decide(code, count, &data), SECCOMP_RET_ERRNO | ENOSYS);
    data.nr = SYS_getpid | 0x40000000; /* of x32 */
    ck_assert_uint_eq(decide(code, count, &data), SECCOMP_RET_KILL_PROCESS);
}
END_TEST

Suite *suite_filter(void);
Suite *suite_filter(void)
{
    Suite *suite = suite_create("filter");
    TCase *tcase = tcase_create("filter");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, the_program_is_that_of_libseccomp);
    tcase_add_test(tcase, numbers_in_any_order);
    tcase_add_test(tcase, answers_are_waited_for);
    tcase_add_test(tcase, other_architectures_are_death);
    suite_add_tcase(suite, tcase);
    return suite;
}
