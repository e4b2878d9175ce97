/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences of calls of libnvJitLink's functions with right, stale, made-up and null handles, against a
 * table of what each handle is. The input is a file; its trailer's lowest two bytes say how many bytes before
 * it are the program; 0: the file is linked alone. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#define HANDLES   6u
#define STEPS_MAX 40u
#define FILE_MAX  65536u

/* Numbers of the documentation. */
#define SUCCESS    0
#define BAD_INPUT  3
#define INTERNAL   6
#define NULL_INPUT 10
#define LAST       18
#define ANY        10

typedef void *jit;

int nvJitLinkCreate(jit *link, uint32_t count, const char *const *options);
int nvJitLinkDestroy(jit *link);
int nvJitLinkAddData(jit link, int type, const void *data, size_t size, const char *name);
int nvJitLinkComplete(jit link);
int nvJitLinkGetLinkedCubinSize(jit link, size_t *size);
int nvJitLinkGetLinkedCubin(jit link, void *out);
int nvJitLinkGetLinkedPtxSize(jit link, size_t *size);
int nvJitLinkGetErrorLogSize(jit link, size_t *size);
int nvJitLinkGetErrorLog(jit link, char *out);
int nvJitLinkGetInfoLogSize(jit link, size_t *size);
int nvJitLinkGetInfoLog(jit link, char *out);

typedef struct jit_world {
    jit link[HANDLES];
    bool alive[HANDLES], linked[HANDLES], ptx[HANDLES]; /* ptx: -ptx was among its options */
    const uint8_t *file;
    size_t size;
} jit_world;

static const char *const OPTIONS[] = { "-arch=sm_90",
                                       "-arch=sm_75",
                                       "-arch=sm_100",
                                       "-g",
                                       "-r",
                                       "-verbose",
                                       "-time",
                                       "-lto",
                                       "-ptx",
                                       "-lineinfo",
                                       "-Xptxas=-v,,",
                                       "-kernels-used=k",
                                       "-O1",
                                       "-bogus",
                                       "-variables-used=v",
                                       "",
                                       "-arch=compute_90",
                                       "-arch=sm_" };

static void check_log(jit link, int (*size_of)(jit, size_t *), int (*get)(jit, char *))
{
    size_t size = 1;
    char *text;

    FZ_CHECK(size_of(link, &size) == SUCCESS, "a log has a size");
    text = malloc(size + 1); /* exactly as much as was said, and one to allocate something */
    FZ_CHECK(text != NULL && get(link, text) == SUCCESS, "a log is given out");
    FZ_CHECK(size == 0 || (text[size - 1] == '\0' && strlen(text) == size - 1),
             "a log ends with its only NUL");
    free(text);
}

static void check_result(jit link, bool linked, bool ptx)
{
    size_t size = 0, none = 0;
    int result = nvJitLinkGetLinkedCubinSize(link, &size);
    int text = nvJitLinkGetLinkedPtxSize(link, &none);
    void *out;

    FZ_CHECK((result == SUCCESS) == linked, "a cubin is there when the link is done");
    /* There is no compiler here: PTX is never made. Who did not ask for it asks a wrong question. */
    FZ_CHECK(text == BAD_INPUT || (text == INTERNAL && ptx), "there is no PTX");
    if (!linked)
        return;
    out = malloc(size);
    FZ_CHECK(out != NULL && size > 64 && nvJitLinkGetLinkedCubin(link, out) == SUCCESS,
             "a cubin is given out");
    free(out);
}

static void make(jit_world *world, unsigned which, unsigned how)
{
    const char *options[3];
    uint32_t count = how & 3;

    if (world->alive[which])
        return;
    world->ptx[which] = false;
    for (uint32_t i = 0; i < count; i++) {
        options[i] = OPTIONS[i == 0 ? how >> 6 : (how >> 2 & 15) + i];
        world->ptx[which] = world->ptx[which] || strcmp(options[i], "-ptx") == 0;
    }
    (void)nvJitLinkCreate(&world->link[which], count, options);
    FZ_CHECK(world->link[which] != NULL, "a create that is refused has a handle, too");
    world->alive[which] = true;
    world->linked[which] = false;
}

static void use(jit_world *world, unsigned which, unsigned what)
{
    jit link = world->link[which], copy = link;
    bool alive = world->alive[which];
    int result;
    size_t size;

    if (what % 8 < 3) {
        result = nvJitLinkAddData(link, what & 16 ? (int)(what >> 5) : ANY, world->file, world->size,
                                  what & 8 ? "file" : NULL);
    } else if (what % 8 < 5) {
        result = nvJitLinkComplete(link);
        world->linked[which] = world->linked[which] || (alive && result == SUCCESS);
    } else if (what % 8 == 5) {
        result = nvJitLinkDestroy(&copy);
        FZ_CHECK((result == SUCCESS) == alive, "what is there ends once");
        world->alive[which] = world->linked[which] = false;
    } else {
        result = nvJitLinkGetErrorLogSize(link, &size);
    }
    FZ_CHECK(result >= SUCCESS && result <= LAST, "a code of the documentation");
    FZ_CHECK(alive || result == (link ? BAD_INPUT : NULL_INPUT), "a handle that is none is said to be none");
}

static void finish(jit_world *world)
{
    for (unsigned i = 0; i < HANDLES; i++) {
        jit copy = world->link[i];

        if (!world->alive[i])
            continue;
        check_log(copy, nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog);
        check_log(copy, nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog);
        check_result(copy, world->linked[i], world->ptx[i]);
        FZ_CHECK(nvJitLinkDestroy(&copy) == SUCCESS && !copy, "it ends, and the handle is taken back");
        FZ_CHECK(nvJitLinkDestroy(&world->link[i]) == BAD_INPUT, "once");
    }
}

CV_FUZZ_TARGET(jit)
{
    fz_input in;
    jit_world world = { .alive = { false } };
    size_t program;

    fz_open(&in, data, size);
    program = in.param & 0xFFFF;
    if (program > in.len || in.len > FILE_MAX)
        program = 0;
    world.file = in.bytes;
    world.size = in.len - program;
    if (in.len <= FILE_MAX && program == 0) {
        make(&world, 0, in.param >> 16 & 1 ? 0x41 : 0x01);
        use(&world, 0, 0);
        use(&world, 0, 4);
    }
    for (size_t i = 0; i + 1 < program && i / 2 < STEPS_MAX; i += 2) {
        unsigned which = in.bytes[world.size + i] % HANDLES, what = in.bytes[world.size + i + 1];

        if (in.bytes[world.size + i] & 0x80)
            make(&world, which, what);
        else if (in.bytes[world.size + i] == 0x7F)
            world.link[which] = world.alive[which] ? world.link[which] : (jit)(uintptr_t)(what << 4 | 5);
        else
            use(&world, which, what);
    }
    finish(&world);
    fz_close(&in);
    return 0;
}
