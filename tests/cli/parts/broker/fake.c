/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fake.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const OWN[] = { "-o9", "--any thing" };
const cli_broker_rules RULES = { .input = FAKE_INPUT,
                                 .options = 4,
                                 .option_bytes = 200,
                                 .output = 4096,
                                 .log = 64,
                                 .option = OWN,
                                 .n_option = 2 };

fake_seen *seen;

void fake_setup(void)
{
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
    (void)signal(SIGPIPE, SIG_IGN);
}

void fake_teardown(void)
{
    munmap(seen, sizeof(*seen));
}

static void release(cuvet_compile_result *r, void *user)
{
    (void)user;
    free(r->bytes);
    free(r->log);
}

static void give(cuvet_compile_result *out, size_t n, size_t n_log)
{
    out->bytes = calloc(1, n + 1);
    out->log = malloc(n_log + 1);
    ck_assert(out->bytes && out->log);
    memset(out->log, 'l', n_log);
    out->n = n;
    out->n_log = n_log;
    out->release = release;
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 3; /* ".", ".." and the directory */
}

/* Whatever arrives here has passed the broker: it must be within the rules, whoever sent it. */
static bool within(const cuvet_compile_request *q)
{
    uint64_t bytes = 0;
    bool ok = q->n > 0 && q->n <= RULES.input && q->n_options <= RULES.options && q->threads >= 1 &&
              q->threads <= 64 && q->sm >= 10 && q->sm <= 999 &&
              (q->suffix == 0 || q->suffix == 'a' || q->suffix == 'f') && q->cancel;

    for (size_t i = 0; ok && i < q->n_options; i++) {
        bytes += strlen(q->option[i]) + 1;
        ok = cli_broker_option_ok(&RULES, q->option[i], (q->kind == CUVET_K_LTOIR));
    }
    return ok && bytes <= RULES.option_bytes;
}

/* A compiler that does what the first byte says. */
static cuvet_status fake(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    const char *p = q->bytes;

    ck_assert_ptr_eq(user, seen);
    *out = (cuvet_compile_result){ .size = sizeof(*out) };
    seen->calls++;
    seen->cubins += (q->kind == CUVET_K_CUBIN);
    seen->debugs += (q->flags & CUVET_COMPILE_DEBUG);
    if (!within(q))
        seen->broken++;
    if (*p >= '0' && *p <= '8') {
        out->end = (cuvet_compile_end)(*p - '0');
        out->detail = -7 - *p;
        give(out, 3, 5);
        return CUVET_OK;
    }
    switch (*p) {
    case 'e':
        give(out, q->n, 9);
        memcpy(out->bytes, q->bytes, q->n);
        return CUVET_OK;
    case 'b': give(out, RULES.output + 1, RULES.log + 1); return CUVET_OK;
    case 'm': give(out, RULES.output, RULES.log); return CUVET_OK;
    case 'n': return CUVET_E_NOMEM;
    case 'i': return CUVET_E_USAGE;
    case 'z': return CUVET_OK; /* says that it compiled, and gives nothing */
    case 'f':
        out->detail = open_files();
        out->end = CUVET_COMPILE_FAILED;
        return CUVET_OK;
    case 'w':
        while (!__atomic_load_n(q->cancel, __ATOMIC_RELAXED))
            usleep(1000);
        seen->cancelled++;
        out->end = CUVET_COMPILE_CANCELLED;
        return CUVET_OK;
    default: out->end = CUVET_COMPILE_UNSUPPORTED; return CUVET_OK;
    }
}

cuvet_compiler fake_compiler(void)
{
    return (cuvet_compiler){ .size = sizeof(cuvet_compiler), .compile = fake, .user = seen };
}
