/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "verdicts.h"

#include "../loaded.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#define ROOM_DEFAULT (UINT64_C(256) << 20)

enum { BLOCK = 1 << 16 };

/* The program is what it is by its bytes: a number of a release does not tell two builds apart. */
static bool add_program(struct sha256_ctx *sha)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint8_t *block = fd >= 0 ? malloc(BLOCK) : NULL;
    ssize_t got = -1;

    while (block) {
        got = read(fd, block, BLOCK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        sha256_update(sha, (size_t)got, block);
    }
    if (fd >= 0)
        (void)close(fd); /* read only: nothing can be lost */
    free(block);
    return got == 0;
}

static void add_value(struct sha256_ctx *sha, uint64_t value)
{
    sha256_update(sha, sizeof(value), (const uint8_t *)&value);
}

static void add_text(struct sha256_ctx *sha, const char *text)
{
    sha256_update(sha, strlen(text) + 1, (const uint8_t *)text);
}

/* All that a scan tells hangs on, besides the bytes of the file. */
static bool add_means(struct sha256_ctx *sha, const cli_session *session)
{
    const cuvet_limit_info *info;
    uint64_t value;

    add_text(sha, cuvet_version());
    add_text(sha, LZ4_versionString());
    add_text(sha, ZSTD_versionString());
    for (size_t i = 0; cuvet_limits_get(&session->args->limits, i, &info, &value) == CUVET_OK; i++)
        add_value(sha, value);
    add_value(sha, session->depth);
    add_value(sha, session->target.sm);
    add_value(sha, (uint64_t)(unsigned char)session->target.suffix);
    return add_program(sha);
}

int cli_verdicts_start(cli_session *session, cli_needs *needs, cli_keeper *keeper)
{
    const cli_args *args = session->args;
    cli_keeper_options options = { .purpose = KNOWN_FOR_VERDICTS,
                                   .path = args->value[CLI_O_CACHE],
                                   .most = ROOM_DEFAULT };
    struct sha256_ctx sha;
    int rc;

    if (!options.path)
        return CLI_X_CLEAN;
    if (args->value[CLI_O_CACHE_LIMIT] && !cli_number(args->value[CLI_O_CACHE_LIMIT], &options.most)) {
        cli_complain(args->value[CLI_O_CACHE_LIMIT], "--cache-limit takes a number of bytes");
        return CLI_X_USAGE;
    }
    if (!cli_load_hash() || !cli_database_load())
        return CLI_X_IO;
    sha256_init(&sha);
    if (!add_means(&sha, session)) {
        cli_complain(NULL,
                     "--cache needs /proc, where this program can be read: a verdict is that of one build");
        return CLI_X_IO;
    }
    sha256_digest(&sha, sizeof(options.about.byte), options.about.byte);
    rc = cli_keeper_start(keeper, &options);
    if (rc != CLI_X_CLEAN)
        return rc;
    needs->helper = keeper->fd;
    needs->announce = keeper->announce;
    session->needs = needs;
    session->cache.keeper = keeper;
    session->cache.any = true;
    return CLI_X_CLEAN;
}

int cli_verdicts_end(cli_session *session, cli_keeper *keeper)
{
    if (!session->cache.keeper)
        return CLI_X_CLEAN;
    session->cache.keeper = NULL;
    return cli_keeper_end(keeper, NULL);
}
