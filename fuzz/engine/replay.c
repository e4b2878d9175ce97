/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The plain driver: run the target once on each file, and on each file of each directory, in sorted order; on
 * each input of a packed corpus (NAME.pack, tools/packed.py). A property that does not hold aborts; then the
 * name of the input is the last line, with its number where it is one of a pack. Exit status 2: something
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
static char number[16]; /* of the input in a pack: "#17" */

static void tell(void)
{
    /* Only what is safe in a signal handler. */
    if (write(2, current, strlen(current)) < 0 || write(2, number, strlen(number)) < 0 ||
        write(2, "\n", 1) < 0)
        _exit(2);
}

static void on_signal(int sig)
{
    tell();
    signal(sig, SIG_DFL);
    raise(sig);
}

static _Noreturn void unreadable(const char *path)
{
    fprintf(stderr, "replay: cannot read %s\n", path);
    exit(2);
}

/* A copy of its own for each input: not one byte behind it may be read. */
static void run_bytes(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count ? count : 1);

    if (!copy)
        exit(2);
    memcpy(copy, bytes, count);
    CV_FUZZ_ENTRY(copy, count);
    free(copy);
}

#define PACK_MAGIC "CVPACK1\n"

static size_t run_pack(const char *path, const uint8_t *bytes, size_t count)
{
    size_t at = sizeof(PACK_MAGIC) - 1, total = 0;

    if (count < at || memcmp(bytes, PACK_MAGIC, at) != 0)
        unreadable(path);
    for (; at < count; total++) {
        size_t size;

        if (count - at < 4)
            unreadable(path);
        size = (size_t)bytes[at] | (size_t)bytes[at + 1] << 8 | (size_t)bytes[at + 2] << 16 |
               (size_t)bytes[at + 3] << 24;
        at += 4;
        if (count - at < size)
            unreadable(path);
        snprintf(number, sizeof(number), "#%zu", total);
        run_bytes(bytes + at, size);
        at += size;
    }
    number[0] = '\0';
    return total;
}

static size_t run_file(const char *path, const struct stat *st)
{
    size_t length = strlen(path), total = 1;
    FILE *file = fopen(path, "rb");
    size_t count = (size_t)st->st_size;
    uint8_t *bytes = malloc(count ? count : 1);

    if (!file || !bytes || fread(bytes, 1, count, file) != count)
        unreadable(path);
    fclose(file);
    current = path;
    if (length > 5 && strcmp(path + length - 5, ".pack") == 0)
        total = run_pack(path, bytes, count);
    else
        CV_FUZZ_ENTRY(bytes, count);
    current = "";
    free(bytes);
    return total;
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
