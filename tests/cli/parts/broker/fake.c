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

static void release(cuvet_compile_result *result, void *user)
{
    (void)user;
    free(result->bytes);
    free(result->log);
}

static void give(cuvet_compile_result *out, size_t count, size_t n_log)
{
    out->bytes = calloc(1, count + 1);
    out->log = malloc(n_log + 1);
    ck_assert(out->bytes && out->log);
    memset(out->log, 'l', n_log);
    out->n = count;
    out->n_log = n_log;
    out->release = release;
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    if (!dir)
        return -1;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the directory */
}

/* Whatever arrives here has passed the broker: it must be within the rules, whoever sent it. */
static bool within(const cuvet_compile_request *request)
{
    uint64_t bytes = 0;
    bool ok = request->n > 0 && request->n <= RULES.input && request->n_options <= RULES.options &&
              request->threads >= 1 && request->threads <= 64 && request->sm >= 10 && request->sm <= 999 &&
              (request->suffix == 0 || request->suffix == 'a' || request->suffix == 'f') && request->cancel;

    for (size_t i = 0; ok && i < request->n_options; i++) {
        bytes += strlen(request->option[i]) + 1;
        ok = cli_broker_option_ok(&RULES, request->option[i], (request->kind == CUVET_K_LTOIR));
    }
    return ok && bytes <= RULES.option_bytes;
}

/* A compiler that does what the first byte says. */
static cuvet_status fake(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    const char *at = request->bytes;

    ck_assert_ptr_eq(user, seen);
    *out = (cuvet_compile_result){ .size = sizeof(*out) };
    seen->calls++;
    seen->cubins += (request->kind == CUVET_K_CUBIN);
    seen->debugs += (request->flags & CUVET_COMPILE_DEBUG);
    if (!within(request))
        seen->broken++;
    if (*at >= '0' && *at <= '8') {
        out->end = (cuvet_compile_end)(*at - '0');
        out->detail = -7 - *at;
        give(out, 3, 5);
        return CUVET_OK;
    }
    switch (*at) {
    case 'e':
        give(out, request->n, 9);
        memcpy(out->bytes, request->bytes, request->n);
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
        while (!__atomic_load_n(request->cancel, __ATOMIC_RELAXED))
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
