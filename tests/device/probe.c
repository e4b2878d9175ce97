/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a driver does with an image, asked once per line of standard input:
 *
 *   NAME MODE FILE KERNEL NUMBER [VARIABLE...]
 *
 * MODE is L (load it, look the kernel up, ask for its attributes) or R (launch it as well, one block of 32
 * threads, with a buffer of 64 words and NUMBER) or W (the same; the buffer holds NUMBER, NUMBER + 1, ...).
 * One line is answered:
 *
 *   NAME LOAD FOUND LAUNCH SYNC : ATTRIBUTES : WORDS
 *
 * Numbers are the driver's results, -1 where it was not asked; a word that nobody wrote is '.'. Behind the
 * words of the buffer is one for each variable, made of its bytes after the launch ('.': it has no such
 * variable). After a fault the process ends with 7, because its context is gone. The driver is found when the
 * program runs: nothing of it is needed to build.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs whose stack no linker knows, those with recursion, get STACK bytes of it for each thread. Arrays
 * in shared memory whose size a launch gives have GIVEN bytes. */
enum {
    WORDS = 64,
    UNTOUCHED = 0xEE,
    SLACK = 1 << 16,
    LINE = 1 << 16,
    ATTRIBUTES = 8,
    STACK = 1 << 15,
    GIVEN = 256,
    NAME = 1024
};

/* Names of the driver's interface, with the numbers that it gives them. */
typedef int (*init_call)(unsigned);
typedef int (*device_call)(int *, int);
typedef int (*context_call)(void **, int);
typedef int (*current_call)(void *);
typedef int (*limit_call)(int, size_t);
typedef int (*alloc_call)(uint64_t *, size_t);
typedef int (*to_device_call)(uint64_t, const void *, size_t);
typedef int (*to_host_call)(void *, uint64_t, size_t);
typedef int (*load_call)(void **, const void *);
typedef int (*unload_call)(void *);
typedef int (*find_call)(void **, void *, const char *);
typedef int (*variable_call)(uint64_t *, size_t *, void *, const char *);
typedef int (*attribute_call)(int *, int, void *);
typedef int (*launch_call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           void *, void **, void **);
typedef int (*wait_call)(void);

static struct {
    init_call init;
    device_call device;
    context_call context;
    current_call current;
    limit_call limit;
    alloc_call alloc;
    to_device_call to_device;
    to_host_call to_host;
    load_call load;
    unload_call unload;
    find_call find;
    variable_call variable;
    attribute_call attribute;
    launch_call launch;
    wait_call wait;
} driver;

static void bind_call(void *library, void *slot, const char *name)
{
    void *found = dlsym(library, name);

    if (!found) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(9);
    }
    memcpy(slot, &found, sizeof found);
}

static uint64_t start_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    uint64_t buffer = 0;
    int device = 0;

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(9);
    }
    bind_call(library, &driver.init, "cuInit");
    bind_call(library, &driver.device, "cuDeviceGet");
    bind_call(library, &driver.context, "cuDevicePrimaryCtxRetain");
    bind_call(library, &driver.current, "cuCtxSetCurrent");
    bind_call(library, &driver.limit, "cuCtxSetLimit");
    bind_call(library, &driver.alloc, "cuMemAlloc_v2");
    bind_call(library, &driver.to_device, "cuMemcpyHtoD_v2");
    bind_call(library, &driver.to_host, "cuMemcpyDtoH_v2");
    bind_call(library, &driver.load, "cuModuleLoadData");
    bind_call(library, &driver.unload, "cuModuleUnload");
    bind_call(library, &driver.find, "cuModuleGetFunction");
    bind_call(library, &driver.variable, "cuModuleGetGlobal_v2");
    bind_call(library, &driver.attribute, "cuFuncGetAttribute");
    bind_call(library, &driver.launch, "cuLaunchKernel");
    bind_call(library, &driver.wait, "cuCtxSynchronize");
    if (driver.init(0) || driver.device(&device, 0) || driver.context(&context, device) ||
        driver.current(context) || driver.limit(0, STACK) ||
        driver.alloc(&buffer, WORDS * sizeof(uint32_t))) {
        fprintf(stderr, "the driver cannot be started\n");
        exit(8);
    }
    return buffer;
}

/* The file with zeros behind it: a driver is told no size. NULL: it cannot be read. */
static unsigned char *read_image(const char *name)
{
    FILE *file = fopen(name, "rb");
    unsigned char *image = NULL;
    size_t size;

    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    image = calloc(1, size + SLACK);
    if (image && fread(image, 1, size, file) != size) {
        free(image);
        image = NULL;
    }
    fclose(file);
    return image;
}

/* Threads of a block, shared, constant and local memory, registers, and which machine it is for. */
static void print_attributes(void *function)
{
    for (int attribute = 0; attribute < ATTRIBUTES; attribute++) {
        int value = 0, result = driver.attribute(&value, attribute, function);

        printf(" %d", result ? -1000 - result : value);
    }
}

static void print_words(const uint32_t *words)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i] == UNTOUCHED * UINT32_C(0x01010101))
            printf(" .");
        else
            printf(" %x", (unsigned)words[i]);
    }
}

/* One word for each variable that is named: the FNV-1a sum of its bytes. */
static void print_variables(void *module, const char *names)
{
    char name[NAME];
    int length = 0;

    while (sscanf(names, "%1023s%n", name, &length) == 1) {
        uint64_t place = 0;
        size_t size = 0;
        unsigned char *bytes = NULL;
        uint32_t sum = UINT32_C(2166136261);

        names += length;
        if (!driver.variable(&place, &size, module, name))
            bytes = malloc(size + 1);
        if (!bytes || driver.to_host(bytes, place, size))
            printf(" .");
        else {
            for (size_t i = 0; i < size; i++)
                sum = (sum ^ bytes[i]) * UINT32_C(16777619);
            printf(" %x", (unsigned)sum);
        }
        free(bytes);
    }
}

int main(void)
{
    static char line[LINE], name[128], mode[8], file[512], kernel[NAME];
    uint64_t buffer = start_driver();

    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        int found = -1, launched = -1, waited = -1, loaded;
        void *module = NULL, *function = NULL;
        uint32_t words[WORDS];
        unsigned number = 0;
        unsigned char *image;
        int end = 0;

        if (sscanf(line, "%127s %7s %511s %1023s %u%n", name, mode, file, kernel, &number, &end) != 5)
            return 2;
        image = read_image(file);
        if (!image)
            return 3;
        loaded = driver.load(&module, image);
        if (!loaded)
            found = driver.find(&function, module, kernel);
        memset(words, UNTOUCHED, sizeof words);
        if (found == 0 && mode[0] != 'L') {
            uint64_t wide = number;
            void *arguments[] = { &buffer, &wide };

            for (unsigned i = 0; mode[0] == 'W' && i < WORDS; i++)
                words[i] = number + i;
            driver.to_device(buffer, words, sizeof words);
            launched = driver.launch(function, 1, 1, 1, 32, 1, 1, GIVEN, NULL, arguments, NULL);
            waited = driver.wait();
            if (!waited)
                driver.to_host(words, buffer, sizeof words);
        }
        printf("%s %d %d %d %d :", name, loaded, found, launched, waited);
        if (found == 0)
            print_attributes(function);
        printf(" :");
        if (launched == 0 && waited == 0)
            print_words(words);
        if (launched == 0 && waited == 0)
            print_variables(module, line + end);
        printf("\n");
        if (waited > 0)
            return 7;
        if (module)
            driver.unload(module);
        free(image);
    }
    return 0;
}
