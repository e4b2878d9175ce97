/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What scans of files cost, counted and not measured: bytes that were decompressed, work, and the largest
 * amount of memory that was in use at the same time. budget [-jN] [NAME=VALUE of a limit] FILE...: one line
 * for each file, unpacked most work most peak verdict file */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scan/scan.h"

static void ignore(void *user, const cuvet_diag *diag)
{
    (void)user;
    (void)diag;
}

static int scan_file(const char *name, const cuvet_limits *lim, uint32_t jobs)
{
    static cv_scan scan;
    const cuvet_scan_options opt = { .size = sizeof(opt), .depth = CUVET_DEPTH_FULL, .jobs = jobs };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_item item = { .size = sizeof(item) };
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    const cv_budget *budget = &scan.budget;

    if (fd < 0 || cuvet_source_fd(fd, &src) != CUVET_OK ||
        cv_scan_open(&scan, &cv_alloc_default, lim, &src, &opt, ignore, NULL) != CUVET_OK) {
        fprintf(stderr, "budget: %s cannot be scanned\n", name);
        return 3;
    }
    while (cv_scan_next(&scan, &item) == CUVET_OK)
        continue;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n", budget->unpacked,
           budget->unpacked_most, budget->work, cv_budget_work_most(budget, budget->unpacked),
           cv_scan_peak(&scan), cuvet_verdict_name(scan.sum.verdict), name);
    cv_scan_close(&scan);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    uint32_t jobs = 1;
    int rc = 0;

    if (cuvet_limits_preset("strict", &lim) != CUVET_OK)
        return 5;
    for (int i = 1; i < argc && rc == 0; i++) {
        char *value = strchr(argv[i], '=');

        if (strncmp(argv[i], "-j", 2) == 0) {
            jobs = (uint32_t)strtoul(argv[i] + 2, NULL, 10);
        } else if (value) {
            *value = '\0';
            rc = cuvet_limits_set(&lim, argv[i], strtoull(value + 1, NULL, 10)) == CUVET_OK ? 0 : 2;
        } else {
            rc = scan_file(argv[i], &lim, jobs);
        }
    }
    return rc;
}
