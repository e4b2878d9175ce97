/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"
#include "pick.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct unpack {
    const cli_args *args;
    cli_porter porter;
    cli_pick pick;
    uint64_t at;      /* number of the next piece in its file */
    uint64_t ordinal; /* pieces met so far in all inputs: makes every name unique */
    uint64_t written;
    int rc;
} unpack;

static const char *extension(cuvet_kind k)
{
    switch (k) {
    case CUVET_K_CUBIN: return "cubin";
    case CUVET_K_PTX: return "ptx";
    case CUVET_K_LTOIR: return "ltoir";
    case CUVET_K_MERCURY: return "merc";
    case CUVET_K_FATBIN: return "fatbin";
    case CUVET_K_BITCODE: return "bc";
    case CUVET_K_NVVM:
    case CUVET_K_WRAPPER:
    case CUVET_K_ARCHIVE:
    case CUVET_K_HOST_ELF:
    case CUVET_K_NONE: break;
    }
    return "bin";
}

/* Base name of an input as a part of a file name: letters, digits and "._-" only, no leading dot or
 * dash, short. What comes of it has to be a name for porter_name_ok(). */
static void safe_base(const char *input, char *out, size_t cap)
{
    const char *base = strrchr(input, '/');
    size_t n = 0;

    base = base ? base + 1 : input;
    for (; *base && n + 1 < cap; base++) {
        bool plain = (*base >= '0' && *base <= '9') || (*base >= 'a' && *base <= 'z') ||
                     (*base >= 'A' && *base <= 'Z') ||
                     (n > 0 && (*base == '.' || *base == '_' || *base == '-'));

        out[n++] = plain ? *base : '_';
    }
    out[n] = '\0';
}

/* "0003-fatbin0-entry2.sm_90a.cubin": brackets of the path go, slashes become dashes. */
static void piece_name(const unpack *u, const cli_session *s, const cuvet_item *it, const char *arch,
                       char *out, size_t cap)
{
    char path[CLI_PATH_CAP], flat[CLI_PATH_CAP] = "", base[50] = "";
    size_t n = 0;

    cli_path(&it->where, path, sizeof(path));
    for (const char *p = path; *p; p++) {
        if (*p != '[' && *p != ']')
            flat[n++] = *p == '/' ? '-' : *p;
    }
    flat[n] = '\0';
    if (s->args->n_operands > 1 || s->args->value[CLI_O_FILES_FROM]) {
        safe_base(s->in->name, base, sizeof(base) - 1);
        base[strlen(base) + 1] = '\0';
        base[strlen(base)] = '-';
    }
    snprintf(out, cap, "%s%04" PRIu64 "-%.100s%s%s.%s", base, u->ordinal, *flat ? flat : "file",
             *arch ? "." : "", arch, extension(it->kind));
}

static void left_out(unpack *u, const cli_session *s, const cuvet_item *it, const char *why, int rc)
{
    char path[CLI_PATH_CAP];

    cli_path(&it->where, path, sizeof(path));
    cli_complain(s->in->name, "%s: not written: %s", *path ? path : "file", why);
    u->rc = cli_worse(u->rc, rc);
}

static const char *save_text(const unpack *u, cuvet_status st)
{
    if (st != CUVET_E_EXISTS)
        return cli_status_text(st);
    return u->args->set[CLI_O_FORCE] ? "exists and is not a regular file"
                                     : "file exists (--force replaces it)";
}

static void save(unpack *u, const cli_session *s, const cuvet_item *it, const char *arch)
{
    const void *bytes;
    size_t n;
    char name[PORTER_NAME_MOST + 1], path[CLI_PATH_CAP];
    cuvet_status st = cuvet_scan_payload(s->ctx, s->scan, &bytes, &n);

    if (st == CUVET_E_NO_MATCH && it->compression == CUVET_Z_OPAQUE) {
        left_out(u, s, it, "its content is scrambled and cannot be unpacked", CLI_X_CLEAN);
        return;
    }
    if (st != CUVET_OK) {
        left_out(u, s, it, st == CUVET_E_NO_MATCH ? "it could not be unpacked" : cli_status_text(st),
                 st == CUVET_E_NO_MATCH ? CLI_X_FINDINGS : cli_exit_of(st));
        return;
    }
    piece_name(u, s, it, arch, name, sizeof(name));
    st = cli_porter_save(&u->porter, name, bytes, n);
    if (st != CUVET_OK) {
        cli_complain(name, "%s", save_text(u, st));
        u->rc = cli_worse(u->rc, cli_exit_of(st));
        return;
    }
    u->written++;
    cli_path(&it->where, path, sizeof(path));
    printf("%s  %zu bytes  %s", name, n, *path ? path : "file");
    if (it->errors + it->warnings > 0)
        printf("  (%" PRIu32 " findings: do not trust it)", it->errors + it->warnings);
    putchar('\n');
}

static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    unpack *u = user;
    char arch[32];

    cli_arch_text(it, arch, sizeof(arch));
    if (cli_picked(&u->pick, it, u->at++))
        save(u, s, it, arch);
    u->ordinal++;
}

static void on_begin(void *user, const cli_session *s)
{
    unpack *u = user;

    (void)s;
    u->at = 0;
}

static void on_end(void *user, const cli_session *s, const cli_result *r)
{
    (void)user;
    cli_point_to_scan(s, &r->sum);
}

/* The directory is opened once, for the porter; every name is a single component below that descriptor,
 * whatever happens to its path. */
static int open_directory(const char *path)
{
    int fd;

    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        cli_complain(path, "%s", strerror(errno));
        return -1;
    }
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        cli_complain(path, "%s", strerror(errno));
    return fd;
}

int cmd_unpack(int argc, char **argv)
{
    static const cli_sink SINK = { .begin = on_begin, .member = on_member, .end = on_end };
    cli_args a;
    unpack u = { .args = &a, .porter = CLI_NO_PORTER };
    cli_needs needs = CLI_NO_NEEDS;
    cli_session s = { .args = &a, .sink = &SINK, .user = &u, .depth = CUVET_DEPTH_FULL, .needs = &needs };
    int rc;

    if (!cli_parse(CLI_C_UNPACK, argc, argv, &a, &rc))
        return rc;
    if (!cli_has_inputs(&a))
        return CLI_X_USAGE;
    if (!a.value[CLI_O_DIR]) {
        cli_complain(NULL, "unpack needs -d DIR");
        return CLI_X_USAGE;
    }
    if (!cli_pick_init(&u.pick, &a))
        return CLI_X_USAGE;
    u.porter.folder = open_directory(a.value[CLI_O_DIR]);
    if (u.porter.folder < 0)
        return CLI_X_IO;
    if (a.set[CLI_O_FORCE] && cli_folder_collides(u.porter.folder, a.value[CLI_O_DIR], &a))
        return CLI_X_USAGE;
    u.porter.replace = a.set[CLI_O_FORCE];
    u.porter.sync = a.set[CLI_O_SYNC];
    u.porter.most = UINT64_MAX;
    rc = cli_porter_begin(&u.porter);
    if (rc != CLI_X_CLEAN)
        return rc;
    cli_porter_needs(&u.porter, &needs);
    rc = cli_session_run(&s); /* before u.rc is looked at */
    rc = cli_worse(rc, u.rc);
    cli_porter_stop(&u.porter);
    if (u.written == 0 && rc == CLI_X_CLEAN)
        cli_complain(NULL, "nothing to write");
    return cli_finish_stdout(rc);
}
