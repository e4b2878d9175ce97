/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links strangers' files in a process that is caged, as a service would. Usage: service WORKER TARGET OUTPUT
 * FILE..., where WORKER is the path of cuvet-worker, or - for the one that was installed. */
#include <cuvet/worker.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "sm_90": what the library would parse is not here. */
static cuvet_target target_of(const char *text)
{
    cuvet_target target = { .sm = 0 };
    char suffix = 0;

    if (sscanf(text, "sm_%u%c", &target.sm, &suffix) >= 1)
        target.suffix = suffix;
    return target;
}

static int add_file(cuvet_job *job, const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st = { .st_size = 0 };
    cuvet_status status = CUVET_E_IO;

    if (fd >= 0 && fstat(fd, &st) == 0)
        status = cuvet_job_add_fd(job, fd, 0, (uint64_t)st.st_size, path, 0);
    if (status != CUVET_OK)
        fprintf(stderr, "%s: cannot be read\n", path);
    if (fd >= 0)
        close(fd);
    return status == CUVET_OK;
}

/* What was said, and how it ended. */
static int report(const cuvet_job *job, const char *output)
{
    cuvet_answer answer = { .size = sizeof(answer) };
    cuvet_job_finding finding = { .size = sizeof(finding) };
    FILE *file;

    if (cuvet_job_get_answer(job, &answer) != CUVET_OK)
        return EXIT_FAILURE;
    for (uint64_t i = 0; cuvet_job_get_finding(job, i, &finding) == CUVET_OK; i++)
        fprintf(stderr, "%s %s (%s at %llu)\n", finding.rule, finding.text, finding.place,
                (unsigned long long)finding.file_off);
    if (answer.end != CUVET_WORKER_ANSWERED || answer.status != CUVET_OK) {
        fprintf(stderr, "%s, signal %d\n", cuvet_worker_end_name(answer.end), answer.signal);
        return EXIT_FAILURE;
    }
    file = fopen(output, "wb");
    if (!file || fwrite(answer.bytes, 1, answer.n, file) != answer.n || fclose(file) != 0) {
        perror(output);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    cuvet_workers_options options = { .size = sizeof(options), .mode = CUVET_WORKER_FORK, .queue = 16 };
    cuvet_linker_options link = { .size = sizeof(link) };
    cuvet_job_options job_options = { .size = sizeof(job_options), .link = &link, .deadline_ms = 5000 };
    cuvet_workers *workers;
    cuvet_job *job = NULL;
    int rc = EXIT_FAILURE, ok;

    if (argc < 5) {
        fprintf(stderr, "usage: service WORKER TARGET OUTPUT FILE...\n");
        return EXIT_FAILURE;
    }
    options.program = strcmp(argv[1], "-") == 0 ? NULL : argv[1];
    link.target = target_of(argv[2]);
    if (cuvet_workers_open(&options, &workers) != CUVET_OK) {
        fprintf(stderr, "no workers: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    ok = cuvet_job_create(workers, &job_options, &job) == CUVET_OK;
    for (int i = 4; ok && i < argc; i++)
        ok = add_file(job, argv[i]);
    if (ok && cuvet_job_run(job) == CUVET_OK)
        rc = report(job, argv[3]);
    cuvet_job_destroy(job);
    cuvet_workers_close(workers);
    return rc;
}
