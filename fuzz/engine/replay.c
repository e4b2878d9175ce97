/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The plain driver: run the target once on each file, and on each file of each directory, in sorted order. A
 * property that does not hold aborts; the name of the input is the last line then. Exit status 2: something
 * could not be read. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int CV_FUZZ_ENTRY(const uint8_t *data, size_t size);
extern bool fz_thorough; /* common.h */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static const char *current = "";

static void tell(void)
{
    /* Only what is safe in a signal handler. */
    if (write(2, current, strlen(current)) < 0 || write(2, "\n", 1) < 0)
        _exit(2);
}

static void on_signal(int sig)
{
    tell();
    signal(sig, SIG_DFL);
    raise(sig);
}

static size_t run_file(const char *path, const struct stat *st)
{
    FILE *file = fopen(path, "rb");
    size_t count = (size_t)st->st_size;
    uint8_t *bytes = malloc(count ? count : 1);

    if (!file || !bytes || fread(bytes, 1, count, file) != count) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    current = path;
    CV_FUZZ_ENTRY(bytes, count);
    current = "";
    free(bytes);
    return 1;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strncmp(entry->d_name, "README", 6) != 0;
}

static size_t run_path(const char *path)
{
    struct dirent **names;
    struct stat st;
    size_t total = 0;
    int count;

    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: no such input: %s\n", path);
        exit(2);
    }
    if (!S_ISDIR(st.st_mode))
        return run_file(path, &st);
    count = scandir(path, &names, visible, alphasort);
    for (int i = 0; i < count; i++) {
        size_t len = strlen(path) + strlen(names[i]->d_name) + 2;
        char *sub = malloc(len);

        if (!sub)
            exit(2);
        snprintf(sub, len, "%s/%s", path, names[i]->d_name);
        total += run_path(sub);
        free(sub);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return total;
}

int main(int argc, char **argv)
{
    size_t total = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE|DIRECTORY...\n", argv[0]);
        return 2;
    }
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(tell);
    fz_thorough = true;
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    for (int i = 1; i < argc; i++)
        total += run_path(argv[i]);
    printf("%s: %zu inputs\n", CV_FUZZ_NAME, total);
    return total ? 0 : 2;
}
