/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter_programs.inc"

_Static_assert(MOST_CODE <= CLI_FILTER_MOST, "CLI_FILTER_MOST is too small");

static unsigned shape_of(const cli_cage *cage)
{
    return (cage->threads > 1 ? FILTER_THREADS : 0u) |
           (cage->broker >= 0 || cage->helper >= 0 ? FILTER_ANSWERS : 0u) |
           (cage->channel >= 0 ? FILTER_CHANNEL : 0u) | (cage->porter >= 0 ? FILTER_PORTER : 0u);
}

size_t cli_filter_program(const cli_cage *cage, struct sock_filter code[CLI_FILTER_MOST])
{
    const filter_program *program = &PROGRAMS[shape_of(cage)];
    const uint32_t number[FILTER_N_COUNT] = {
        [FILTER_N_PORTER] = (uint32_t)cage->porter,
        [FILTER_N_CHANNEL] = (uint32_t)cage->channel,
        [FILTER_N_PID] = (uint32_t)getpid(),
    };

    memcpy(code, program->code, program->count * sizeof(*code));
    for (size_t i = 0; i < program->n_holes; i++)
        code[program->hole[i].at].k = number[program->hole[i].what];
    return program->count;
}

int cli_filter_load(const cli_cage *cage)
{
    struct sock_filter code[CLI_FILTER_MOST];
    struct sock_fprog program = { .filter = code };
    uint32_t action = SECCOMP_RET_KILL_PROCESS;

    /* A kernel that does not know it would end one thread only. */
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0)
        return errno == EOPNOTSUPP || errno == EINVAL ? ENOSYS : errno;
    program.len = (unsigned short)cli_filter_program(cage, code);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 ? errno : 0;
}
