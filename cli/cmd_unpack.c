/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"
#include "pick.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct unpack_run {
    const cli_args *args;
    cli_porter porter;
    cli_pick pick;
    uint64_t at;      /* number of the next piece in its file */
    uint64_t ordinal; /* pieces met so far in all inputs: makes every name unique */
    uint64_t written;
    int rc;
} unpack_run;

static const char *extension_of(cuvet_kind kind)
{
    switch (kind) {
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
    size_t count = 0;

    base = base ? base + 1 : input;
    for (; *base && count + 1 < cap; base++) {
        bool plain = (*base >= '0' && *base <= '9') || (*base >= 'a' && *base <= 'z') ||
                     (*base >= 'A' && *base <= 'Z') ||
                     (count > 0 && (*base == '.' || *base == '_' || *base == '-'));

        out[count++] = plain ? *base : '_';
    }
    /* Of a package, a file may have a name that ends with a slash. */
    if (count == 0)
        out[count++] = '_';
    out[count] = '\0';
}

/* "0003-fatbin0-entry2.sm_90a.cubin": brackets of the path go, slashes become dashes. */
static void piece_name(const unpack_run *unpack, const cli_session *session, const cuvet_item *item,
                       const char *arch, char *out, size_t cap)
{
    char path[CLI_PATH_CAP], flat[CLI_PATH_CAP] = "", base[50] = "";
    size_t count = 0;

    cli_path(&item->where, path, sizeof(path));
    for (const char *at = path; *at; at++) {
        if (*at != '[' && *at != ']')
            flat[count++] = *at == '/' ? '-' : *at;
    }
    flat[count] = '\0';
    if (session->args->n_operands > 1 || session->args->value[CLI_O_FILES_FROM] ||
        session->in->what == CLI_ENTRY) {
        safe_base(session->in->name, base, sizeof(base) - 1);
        base[strlen(base) + 1] = '\0';
        base[strlen(base)] = '-';
    }
    snprintf(out, cap, "%s%04" PRIu64 "-%.100s%s%s.%s", base, unpack->ordinal, *flat ? flat : "file",
             *arch ? "." : "", arch, extension_of(item->kind));
}

static void left_out(unpack_run *unpack, const cli_session *session, const cuvet_item *item, const char *why,
                     int rc)
{
    char path[CLI_PATH_CAP];

    cli_path(&item->where, path, sizeof(path));
    cli_complain(session->in->name, "%s: not written: %s", *path ? path : "file", why);
    unpack->rc = cli_worse(unpack->rc, rc);
}

static const char *save_text(const unpack_run *unpack, cuvet_status status)
{
    if (status != CUVET_E_EXISTS)
        return cli_status_text(status);
    return unpack->args->set[CLI_O_FORCE] ? "exists and is not a regular file"
                                          : "file exists (--force replaces it)";
}

/* Intermediate code that stands alone: a scan does not keep it. */
static bool is_code_alone(const cuvet_item *item)
{
    return (item->kind == CUVET_K_BITCODE || item->kind == CUVET_K_LTOIR) &&
           item->place != CUVET_PLACE_NESTED && !(item->flags & CUVET_ITEM_IN_CONTAINER);
}

static void save_piece(unpack_run *unpack, const cli_session *session, const cuvet_item *item,
                       const char *arch)
{
    const void *bytes;
    void *own = NULL;
    size_t count;
    const char *why = NULL;
    char name[PORTER_NAME_MOST + 1], path[CLI_PATH_CAP];
    cuvet_status status = cuvet_scan_payload(session->ctx, session->scan, &bytes, &count);

    if (status == CUVET_E_NO_MATCH && item->compression == CUVET_Z_OPAQUE) {
        left_out(unpack, session, item, "its content is scrambled and cannot be unpacked", CLI_X_CLEAN);
        return;
    }
    if (status == CUVET_E_NO_MATCH && is_code_alone(item)) {
        count = (size_t)item->stored_size;
        status = cli_input_load_part(session->in, &session->args->limits, item->payload_off,
                                     item->stored_size, &own, &why);
        bytes = own;
    }
    if (status != CUVET_OK) {
        if (!why)
            why = status == CUVET_E_NO_MATCH ? "it could not be unpacked" : cli_status_text(status);
        left_out(unpack, session, item, why,
                 status == CUVET_E_NO_MATCH ? CLI_X_FINDINGS : cli_exit_of(status));
        free(own);
        return;
    }
    piece_name(unpack, session, item, arch, name, sizeof(name));
    status = cli_porter_save(&unpack->porter, name, bytes, count);
    free(own);
    if (status != CUVET_OK) {
        cli_complain(name, "%s", save_text(unpack, status));
        unpack->rc = cli_worse(unpack->rc, cli_exit_of(status));
        return;
    }
    unpack->written++;
    cli_path(&item->where, path, sizeof(path));
    printf("%s  %zu bytes  %s", name, count, *path ? path : "file");
    if (item->errors + item->warnings > 0)
        printf("  (%" PRIu32 " findings: do not trust it)", item->errors + item->warnings);
    putchar('\n');
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    unpack_run *unpack = user;
    char arch[32];

    cli_arch_text(item, arch, sizeof(arch));
    if (cli_picked(&unpack->pick, item, unpack->at++))
        save_piece(unpack, session, item, arch);
    unpack->ordinal++;
}

static void on_begin(void *user, const cli_session *session)
{
    unpack_run *unpack = user;

    (void)session;
    unpack->at = 0;
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    (void)user;
    if (session->in->what != CLI_PACKAGE)
        cli_point_to_scan(session, &result->sum);
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
    cli_args args;
    unpack_run unpack = { .args = &args, .porter = CLI_NO_PORTER };
    cli_needs needs = CLI_NO_NEEDS;
    cli_session session = {
        .args = &args, .sink = &SINK, .user = &unpack, .depth = CUVET_DEPTH_FULL, .needs = &needs
    };
    int rc;

    if (!cli_parse(CLI_C_UNPACK, argc, argv, &args, &rc))
        return rc;
    if (!cli_has_inputs(&args))
        return CLI_X_USAGE;
    if (!args.value[CLI_O_DIR]) {
        cli_complain(NULL, "unpack needs -d DIR");
        return CLI_X_USAGE;
    }
    if (!cli_pick_init(&unpack.pick, &args))
        return CLI_X_USAGE;
    unpack.porter.folder = open_directory(args.value[CLI_O_DIR]);
    if (unpack.porter.folder < 0)
        return CLI_X_IO;
    if (args.set[CLI_O_FORCE] && cli_folder_collides(unpack.porter.folder, args.value[CLI_O_DIR], &args))
        return CLI_X_USAGE;
    unpack.porter.replace = args.set[CLI_O_FORCE];
    unpack.porter.sync = args.set[CLI_O_SYNC];
    unpack.porter.most = UINT64_MAX;
    rc = cli_porter_begin(&unpack.porter);
    if (rc != CLI_X_CLEAN)
        return rc;
    cli_porter_needs(&unpack.porter, &needs);
    rc = cli_session_run(&session); /* before unpack.rc is looked at */
    rc = cli_worse(rc, unpack.rc);
    cli_porter_stop(&unpack.porter);
    if (unpack.written == 0 && rc == CLI_X_CLEAN)
        cli_complain(NULL, "nothing to write");
    return cli_finish_stdout(rc);
}
