/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A libnvJitLink that misbehaves on demand: the option "-Xnvvm=THING" says how. It compiles nothing; without
 * such an option the result is the first device ELF among its inputs, or with -ptx a text. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALL __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 3, NVVM = 5 };

static const char PTX[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

static char thing[64] = "", said[65536];
static uint8_t *result;
static size_t n_result;
static uint32_t n_inputs;

CALL int nvJitLinkCreate(void **link, uint32_t count, const char **options);
CALL int nvJitLinkDestroy(void **link);
CALL int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name);
CALL int nvJitLinkComplete(void *link);
CALL int nvJitLinkGetLinkedCubinSize(void *link, size_t *size);
CALL int nvJitLinkGetLinkedCubin(void *link, void *out);
CALL int nvJitLinkGetLinkedPtxSize(void *link, size_t *size);
CALL int nvJitLinkGetLinkedPtx(void *link, char *out);
CALL int nvJitLinkGetErrorLogSize(void *link, size_t *size);
CALL int nvJitLinkGetErrorLog(void *link, char *out);
CALL int nvJitLinkGetInfoLogSize(void *link, size_t *size);
CALL int nvJitLinkGetInfoLog(void *link, char *out);

static void say(const char *text)
{
    strncat(said, text, sizeof(said) - strlen(said) - 1);
}

static int is(const char *what)
{
    return strcmp(thing, what) == 0;
}

int nvJitLinkCreate(void **link, uint32_t count, const char **options)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(options[i], "-Xnvvm=", 7) == 0)
            (void)snprintf(thing, sizeof(thing), "%s", options[i] + 7);
        say(options[i]);
        say("\n");
    }
    *link = said;
    return is("no-create") ? INVALID : SUCCESS;
}

int nvJitLinkDestroy(void **link)
{
    *link = NULL;
    return SUCCESS;
}

int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name)
{
    char line[512];

    (void)link;
    (void)snprintf(line, sizeof(line), "%d %zu %s%s\n", type, size, name,
                   type == 2 && ((const char *)data)[size] != '\0' ? " WITHOUT NUL" : "");
    say(line);
    n_inputs++;
    if (type == 1 && !result) {
        result = malloc(size);
        if (!result)
            return NVVM;
        memcpy(result, data, n_result = size);
    }
    return is("no-add") && n_inputs == 2 ? INVALID : SUCCESS;
}

/* What somebody would do whose bytes took the library over. */
static void misbehave(void)
{
    if (is("crash"))
        (void)raise(SIGSEGV);
    if (is("hang"))
        (void)pause();
    if (is("exit"))
        exit(0);
    if (is("outside")) {
        int fd = open("/tmp/cuvet-fake-nvjitlink", O_CREAT | O_WRONLY, 0600);

        say(fd >= 0 ? "WROTE OUTSIDE\n" : "nothing outside\n");
    }
    if (is("environment"))
        say(getenv("CUVET_NVJITLINK") || getenv("HOME") ? "HAS THE ENVIRONMENT\n" : "no environment\n");
    for (size_t i = 0; is("loud") && i < 2000; i++)
        say("\x1b[31m loud \xff\n");
}

int nvJitLinkComplete(void *link)
{
    (void)link;
    misbehave();
    if (is("garbage") && result)
        memset(result, 'x', n_result);
    if (is("cut"))
        n_result /= 2;
    if (is("nothing"))
        n_result = 0;
    if (is("huge"))
        n_result = sizeof(size_t) > 4 ? (size_t)(UINT64_C(1) << 40) : SIZE_MAX / 2;
    return is("no-complete") ? NVVM : SUCCESS;
}

int nvJitLinkGetLinkedCubinSize(void *link, size_t *size)
{
    (void)link;
    *size = n_result;
    return result ? SUCCESS : NVVM;
}

int nvJitLinkGetLinkedCubin(void *link, void *out)
{
    (void)link;
    if (n_result > 0)
        memcpy(out, result, n_result);
    return SUCCESS;
}

int nvJitLinkGetLinkedPtxSize(void *link, size_t *size)
{
    (void)link;
    *size = is("no-nul") ? sizeof(PTX) - 1 : sizeof(PTX);
    return SUCCESS;
}

int nvJitLinkGetLinkedPtx(void *link, char *out)
{
    (void)link;
    memcpy(out, PTX, is("no-nul") ? sizeof(PTX) - 1 : sizeof(PTX));
    if (is("garbage"))
        out[0] = '\x01';
    return SUCCESS;
}

int nvJitLinkGetErrorLogSize(void *link, size_t *size)
{
    (void)link;
    *size = is("no-complete") || is("no-add") ? sizeof("it is refused") : 0;
    return SUCCESS;
}

int nvJitLinkGetErrorLog(void *link, char *out)
{
    (void)link;
    memcpy(out, "it is refused", sizeof("it is refused"));
    return SUCCESS;
}

int nvJitLinkGetInfoLogSize(void *link, size_t *size)
{
    (void)link;
    *size = strlen(said) + 1;
    return SUCCESS;
}

int nvJitLinkGetInfoLog(void *link, char *out)
{
    (void)link;
    memcpy(out, said, strlen(said) + 1);
    return SUCCESS;
}
