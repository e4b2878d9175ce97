/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Packages in the walk over the inputs: a caged process (cli/package/main.c) unpacks one, and says what it
 * finds through a pipe; this one, the opener, puts the bytes of each entry into a file without a name, and
 * hands that on like any other input. It looks at the first bytes of a file alone, to know a package. */
#include "package/frame.h"
#include "package/zip.h"

#include "environment.h"
#include "input_int.h"
#include "report.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of an entry that are kept in memory: there may be as many entries on their way as inputs are kept. */
enum { SMALL = 1 << 20 };
/* ENTRY_BYTES: what an entry costs beside its bytes, as such: a file and a scan of its own. */
enum { PACKAGES_LEAST = 256, PACKAGES_EACH = 1024, ENTRY_BYTES = 16 << 10 };
enum { ROOM = PACKAGE_NAME_MOST + PACKAGE_TEXT_MOST + 1 };
_Static_assert(PACKAGE_DATA_MOST >= ROOM, "texts and data share a buffer");

/* All of one file on the command line, packages in it included. */
typedef struct package_walk {
    const cli_args *args;
    cli_found_fn *fn;
    void *user;
    uint64_t bytes, most; /* that were unpacked; that may be */
    uint64_t entries;
    uint64_t packages, packages_most;
    uint8_t *buffer; /* PACKAGE_DATA_MOST + 1 bytes */
    const char *program;
    bool stop;   /* the callback said so */
    bool beyond; /* a limit was reached: nothing more is unpacked */
} package_walk;

/* One package. */
typedef struct package {
    package_walk *walk;
    const char *name;
    uint32_t depth;
    uint64_t count;
    bool sure;     /* it is a tar file, whatever comes out of it */
    bool judged;   /* something was said of it that counts … */
    bool said;     /* … or does not */
    cli_fate fate; /* of all that is in it */
    uint32_t layer;
    int notes; /* about it, for whoever unpacks it; -1: none */
    int pipe;
    pid_t child;
    package_state state;
    /* the entry that is being unpacked */
    char *entry; /* "package!/entry" */
    int fd;
    uint64_t size;
    bool small;
    cli_fate entry_fate;
    uint32_t entry_layer;
    int entry_notes; /* -1: none */
} package;

static bool walk_package(package_walk *walk, const cli_found *found, uint32_t depth, int notes);

static size_t read_some(int fd, void *out, size_t size, uint64_t at)
{
    ssize_t got;

    do
        got = pread(fd, out, size, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

package_form cli_package_form(int fd, uint64_t size)
{
    uint8_t head[PACKAGE_HEAD];
    size_t n_head = read_some(fd, head, sizeof(head), 0);
    package_form form = package_form_of(head, n_head);
    uint64_t at;

    if (form != PACKAGE_NONE)
        return form;
    return package_zip_found(fd, size, &at) == ZIP_NOWHERE ? PACKAGE_NONE : PACKAGE_ZIP;
}

/* A package may be something else as well: for whoever reads it by its first bytes. *sure: it is one. */
static bool is_file_too(int fd, package_form form, bool *sure)
{
    uint8_t head[PACKAGE_HEAD];
    size_t n_head = read_some(fd, head, sizeof(head), 0);

    *sure = form == PACKAGE_TAR && package_has_sum(head, n_head);
    return form == PACKAGE_ZIP
               ? package_form_of(head, n_head) != PACKAGE_ZIP
               : (form == PACKAGE_TAR || form == PACKAGE_CPIO) && package_is_program(head, n_head);
}

/* ---- what is handed on ---- */

static void give(package_walk *walk, const cli_found *found)
{
    if (!walk->stop)
        walk->stop = !walk->fn(walk->user, found);
    else if (found->fd >= 0)
        (void)close(found->fd); /* nobody wants it any more */
}

static void fail(package_walk *walk, const char *name, const char *why, int rc)
{
    const cli_found found = { .name = name, .why = why, .rc = rc, .fd = -1, .what = CLI_ENTRY };

    give(walk, &found);
}

/* @param limit NULL: the one that walk->most comes from, or, with packages, these */
static void reach_limit(package_walk *walk, const char *name, const char *limit, uint64_t packages)
{
    char text[128];

    if (!limit)
        limit = walk->most < walk->args->limits.total ? "ratio" : "total";
    snprintf(text, sizeof(text), "unpacking it ends here: more than the limit '%s' allows", limit);
    if (packages)
        snprintf(text, sizeof(text),
                 "unpacking it ends here: more than %" PRIu64 " packages in a file of its size", packages);
    fail(walk, name, text, CLI_X_LIMIT);
    walk->beyond = true;
}

/* ---- the file of an entry ---- */

static int new_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int fd;

    folder = folder && *folder ? folder : "/tmp";
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    /* Not every file system can do without a name. */
    if (fd >= 0 || snprintf(path, sizeof(path), "%s/cuvet-XXXXXX", folder) >= (int)sizeof(path))
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path); /* only now: it has to have one for a moment */
    return fd;
}

/* Too large for memory. */
static bool move_to_disk(package *pack)
{
    int fd = new_file();
    bool ok = fd >= 0;

    for (uint64_t at = 0; ok && at < pack->size;) {
        uint8_t piece[8192];
        ssize_t got = pread(pack->fd, piece, sizeof(piece), (off_t)at);

        ok = got > 0 && cli_write_at(fd, piece, (size_t)got, at);
        at += ok ? (uint64_t)got : 0;
    }
    if (!ok) {
        if (fd >= 0)
            (void)close(fd); /* it is of no use */
        return false;
    }
    (void)close(pack->fd); /* copied */
    pack->fd = fd;
    pack->small = false;
    return true;
}

static void drop_entry(package *pack)
{
    if (pack->fd >= 0)
        (void)close(pack->fd); /* nobody has it */
    if (pack->entry_notes >= 0)
        (void)close(pack->entry_notes); /* whom it is for has it */
    free(pack->entry);
    pack->entry = NULL;
    pack->fd = pack->entry_notes = -1;
}

/* "package!/entry" */
static char *join(const char *name, const char *entry)
{
    size_t size = strlen(name) + strlen(entry) + 3;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s!/%s", name, entry);
    return path;
}

/* ---- frames ---- */

/* Whoever says nothing for so long is not unpacking. */
enum { SILENCE_MS = 10 * 60 * 1000 };

/* Whatever is said of a package counts. @return false: it is too much */
static bool count_entry(package *pack)
{
    package_walk *walk = pack->walk;
    bool few = ++walk->entries <= walk->args->limits.containers;

    if (few && walk->most - walk->bytes >= ENTRY_BYTES) {
        walk->bytes += ENTRY_BYTES;
        return true;
    }
    pack->judged = true;
    reach_limit(walk, pack->name, few ? NULL : "containers", 0);
    return false;
}

/* @return false: there is nothing more to be done with this package */
static bool begin_entry(package *pack, const package_frame *frame, const char *name)
{
    package_walk *walk = pack->walk;
    bool own = frame->fate != CLI_FATE_CONTENT; /* else that of what it is in */

    pack->entry_fate = own ? (cli_fate)frame->fate : pack->fate;
    pack->entry_layer = own ? frame->layer : pack->layer;
    pack->entry = join(pack->name, name);
    pack->size = 0;
    pack->small = true;
    if (!count_entry(pack))
        return false;
    pack->fd = memfd_create("entry", MFD_CLOEXEC);
    if (pack->entry && pack->fd >= 0)
        return true;
    fail(walk, pack->name, pack->entry ? strerror(errno) : strerror(ENOMEM), CLI_X_IO);
    return false;
}

/* An entry is as large as its end says, whatever of it is holes. */
static bool grow_entry(package *pack, uint64_t end)
{
    package_walk *walk = pack->walk;
    const cuvet_limits *limits = &walk->args->limits;
    uint64_t more = end - pack->size;

    if (end > limits->input) {
        reach_limit(walk, pack->entry, "input", 0);
        return false;
    }
    if (more > walk->most - walk->bytes) {
        reach_limit(walk, pack->entry, NULL, 0);
        return false;
    }
    if (pack->small && end > SMALL && !move_to_disk(pack)) {
        fail(walk, pack->entry, "cannot be copied to a temporary file", CLI_X_IO);
        return false;
    }
    walk->bytes += more;
    pack->size = end;
    return true;
}

static bool add_data(package *pack, const package_frame *frame)
{
    if (!grow_entry(pack, frame->offset + frame->n))
        return false;
    if (cli_write_at(pack->fd, pack->walk->buffer, frame->n, frame->offset))
        return true;
    fail(pack->walk, pack->entry, "cannot be copied to a temporary file", CLI_X_IO);
    return false;
}

/* For the process that unpacks the next entry: nobody here looks at them. */
static bool add_note(package *pack, const package_frame *frame)
{
    uint64_t at = pack->state.notes - frame->n;

    if (pack->entry_notes < 0)
        pack->entry_notes = memfd_create("notes", MFD_CLOEXEC);
    if (pack->entry_notes >= 0 && cli_write_at(pack->entry_notes, pack->walk->buffer, frame->n, at))
        return true;
    fail(pack->walk, pack->name, strerror(errno), CLI_X_IO);
    return false;
}

/* What was unpacked is a package, or an input. */
static bool end_entry(package *pack, const package_frame *frame)
{
    package_walk *walk = pack->walk;
    cli_found found = { .name = pack->entry,
                        .owned = true,
                        .what = CLI_ENTRY,
                        .fate = pack->entry_fate,
                        .layer = pack->entry_layer };

    if (!grow_entry(pack, frame->offset))
        return false;
    if (ftruncate(pack->fd, (off_t)pack->size) != 0) { /* a hole at its end */
        fail(walk, pack->entry, strerror(errno), CLI_X_IO);
        return false;
    }
    found.fd = pack->fd; /* only now: what was small may have been moved */
    found.size = pack->size;
    found.form = cli_package_form(pack->fd, pack->size);
    found.asked = true;
    if (found.form == PACKAGE_NONE) {
        pack->fd = -1; /* it is handed on */
        give(walk, &found);
    } else if (++walk->packages > walk->packages_most) {
        reach_limit(walk, pack->entry, NULL, walk->packages_most);
    } else if (pack->depth + 1 >= walk->args->limits.nesting) {
        fail(walk, pack->entry, "a package inside more packages than the limit 'nesting' allows",
             CLI_X_LIMIT);
    } else if (!walk_package(walk, &found, pack->depth + 1, pack->entry_notes)) {
        pack->fd = -1; /* it is handed on */
    }
    pack->count++;
    drop_entry(pack);
    return !walk->stop && !walk->beyond;
}

static int rc_of(uint8_t cause)
{
    static const int RC[] = { [PACKAGE_DAMAGED] = CLI_X_FINDINGS,
                              [PACKAGE_UNSUPPORTED] = CLI_X_CLEAN,
                              [PACKAGE_MEMORY] = CLI_X_LIMIT,
                              [PACKAGE_OTHER] = CLI_X_CLEAN };

    return RC[cause];
}

static bool say_failed(package *pack, const package_frame *frame, const char *text)
{
    bool entry = pack->entry != NULL;
    const cli_found remark = { .name = pack->name, .why = text, .remark = true, .fd = -1 };

    if (frame->cause == PACKAGE_OTHER || (!entry && pack->count == 0 && frame->cause != PACKAGE_MEMORY)) {
        if (!pack->judged) /* no package after all: its verdict is that of a file */
            give(pack->walk, &remark);
        pack->said = true;
    } else {
        fail(pack->walk, entry ? pack->entry : pack->name, text, rc_of(frame->cause));
        pack->judged = true;
        pack->count += entry;
    }
    drop_entry(pack);
    return entry;
}

static bool say_remark(package *pack, const char *text)
{
    const char *what = text + strlen(text) + 1;
    char *name;
    cli_found found = { .why = what, .remark = true, .fd = -1 };

    if (!count_entry(pack))
        return false;
    name = join(pack->name, text);
    found.name = name ? name : pack->name;
    give(pack->walk, &found);
    free(name);
    return true;
}

/* @return false: this was the last one */
static bool take_frame(package *pack, const package_frame *frame)
{
    const char *text = (const char *)pack->walk->buffer;

    switch ((package_verb)frame->verb) {
    case PACKAGE_ENTRY: return begin_entry(pack, frame, text);
    case PACKAGE_NOTE: return add_note(pack, frame);
    case PACKAGE_DATA: return add_data(pack, frame);
    case PACKAGE_DONE: return end_entry(pack, frame);
    case PACKAGE_FAILED: return say_failed(pack, frame, text);
    case PACKAGE_FOLDER: return count_entry(pack);
    case PACKAGE_REMARK: return say_remark(pack, text) && !pack->walk->stop;
    case PACKAGE_FINDING:
        if (!count_entry(pack))
            return false;
        pack->judged = true;
        fail(pack->walk, pack->name, text, rc_of(frame->cause));
        break;
    case PACKAGE_END: return false;
    }
    return !pack->walk->stop;
}

/* @return false: it ended before it said so, or said what it may not say */
static bool read_frames(package *pack)
{
    package_walk *walk = pack->walk;
    package_frame frame;

    while (cli_read_within(pack->pipe, &frame, sizeof(frame), SILENCE_MS)) {
        if (!package_frame_ok(&pack->state, &frame) ||
            !cli_read_within(pack->pipe, walk->buffer, frame.n, SILENCE_MS))
            return false;
        walk->buffer[frame.n] = '\0';
        if (frame.n && frame.verb != PACKAGE_DATA && frame.verb != PACKAGE_NOTE &&
            !package_text_ok(&frame, (const char *)walk->buffer))
            return false;
        if (!take_frame(pack, &frame))
            return true;
    }
    return false;
}

/* ---- the process ---- */

/* Beside the command, or where it was installed. */
static const char *find_program(void)
{
    static char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/cuvet-package"));
    char *slash;

    if (size > 0) {
        path[size] = '\0';
        slash = strrchr(path, '/');
        if (slash) {
            memcpy(slash, "/cuvet-package", sizeof("/cuvet-package"));
            if (access(path, X_OK) == 0)
                return path;
        }
    }
    return access(CLI_PACKAGE_PROGRAM, X_OK) == 0 ? CLI_PACKAGE_PROGRAM : NULL;
}

/* What the process that unpacks has open. @param notes -1: none */
static int give_descriptors(posix_spawn_file_actions_t *actions, int in, int out, int notes)
{
    /* Nothing that it writes is seen but frames. */
    int rc = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);

    rc = rc ? rc : posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
#ifndef CLI_INSTRUMENTED /* what a sanitizer has to say */
    rc = rc ? rc : posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDERR_FILENO);
#endif
    rc = rc ? rc : posix_spawn_file_actions_adddup2(actions, out, PACKAGE_OUT);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(actions, in, PACKAGE_IN);
    if (notes >= 0)
        rc = rc ? rc : posix_spawn_file_actions_adddup2(actions, notes, PACKAGE_NOTES);
    return rc ? rc
              : posix_spawn_file_actions_addclosefrom_np(actions,
                                                         (notes >= 0 ? PACKAGE_NOTES : PACKAGE_IN) + 1);
}

static int spawn(const package *pack, int fd, int out, package_form form, pid_t *child)
{
    char word[] = { (char)(PACKAGE_WORD + form), '\0' };
    bool noted = pack->notes >= 0;
    char *argv[] = { (char[]){ "cuvet-package" }, word, noted ? (char[]){ "noted" } : NULL, NULL };
    posix_spawn_file_actions_t actions;
    int in = fcntl(fd, F_DUPFD_CLOEXEC, PACKAGE_NOTES + 1), rc;
    int notes = noted ? fcntl(pack->notes, F_DUPFD_CLOEXEC, PACKAGE_NOTES + 1) : -1;

    /* The pipe may be number 3, 4 or 5 itself. */
    out = fcntl(out, F_DUPFD_CLOEXEC, PACKAGE_NOTES + 1);
    rc = in < 0 || out < 0 || (noted && notes < 0) ? errno : ENOMEM;
    if (in >= 0 && out >= 0 && (!noted || notes >= 0) && posix_spawn_file_actions_init(&actions) == 0) {
        rc = give_descriptors(&actions, in, out, notes);
        rc = rc ? rc : posix_spawn(child, pack->walk->program, &actions, NULL, argv, cli_environment());
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (in >= 0)
        (void)close(in); /* the other process has it */
    if (out >= 0)
        (void)close(out); /* the same */
    if (notes >= 0)
        (void)close(notes); /* the same */
    return rc;
}

static void say_lost(package *pack, int status)
{
    char text[96];

    pack->judged = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
        fail(pack->walk, pack->name, "unpacking it takes too much processor time", CLI_X_LIMIT);
        return;
    }
    if (WIFSIGNALED(status))
        snprintf(text, sizeof(text), "what unpacks it was lost over it: signal %d", WTERMSIG(status));
    else
        snprintf(text, sizeof(text), "what unpacks it was lost over it: exit code %d", WEXITSTATUS(status));
    fail(pack->walk, pack->name, text, CLI_X_FINDINGS);
}

static void run(package *pack, int fd, package_form form)
{
    int end[2], status = 0, error = pipe2(end, O_CLOEXEC) == 0 ? 0 : errno;
    bool whole;

    if (error == 0) {
        error = spawn(pack, fd, end[1], form, &pack->child);
        (void)close(end[1]); /* the other process has it */
        if (error)
            (void)close(end[0]); /* nothing comes */
    }
    if (error) {
        pack->judged = true;
        fail(pack->walk, pack->name, strerror(error), CLI_X_IO);
        return;
    }
    (void)fcntl(end[0], F_SETPIPE_SZ, PACKAGE_DATA_MOST); /* without it there are more turns */
    pack->pipe = end[0];
    whole = read_frames(pack);
    (void)close(pack->pipe); /* read only: nothing can be lost */
    if (whole)
        (void)kill(pack->child, SIGKILL); /* it has said all, or nobody listens any more */
    while (waitpid(pack->child, &status, 0) < 0 && errno == EINTR)
        continue;
    drop_entry(pack);
    if (!whole)
        say_lost(pack, status);
}

/* A package that nothing came out of, and nothing was said of, is a file like others; one that begins like a
 * program is as well. @return false: then it was handed on, and taken */
static bool walk_package(package_walk *walk, const cli_found *found, uint32_t depth, int notes)
{
    package pack = { .walk = walk,
                     .name = found->name,
                     .depth = depth,
                     .fate = found->fate,
                     .layer = found->layer,
                     .notes = notes,
                     .fd = -1,
                     .pipe = -1,
                     .entry_notes = -1 };
    const cli_found end = { .name = found->name, .fd = -1, .what = CLI_PACKAGE, .rc = (int)depth };
    const cli_found remark = { .name = found->name, .why = "has no entry", .remark = true, .fd = -1 };
    cli_found whole = end, plain = *found;
    bool nothing, too = is_file_too(found->fd, found->form, &pack.sure);

    plain.form = PACKAGE_NONE;
    run(&pack, found->fd, found->form);
    nothing = pack.count == 0 && !pack.judged && !walk->beyond;
    whole.size = pack.count;
    if (depth == 0 && walk->args->command == CLI_C_INVENTORY)
        cli_hash_package(&whole.hash, found->fd, found->size);
    if (nothing) {
        if (!pack.said)
            give(walk, &remark);
        give(walk, &plain);
        return false;
    }
    too = (too || (pack.sure && pack.count == 0)) && !walk->beyond; /* it ends before its first entry */
    if (too) {
        plain.what = CLI_ENTRY; /* a part of what there is to be judged */
        give(walk, &plain);
    }
    if (!walk->stop)
        give(walk, &whole);
    return !too;
}

bool cli_package_walk(const cli_args *args, cli_found_fn *fn, void *user, const cli_found *found)
{
    const cuvet_limits *limits = &args->limits;
    uint64_t by_ratio = found->size > UINT64_MAX / limits->ratio ? UINT64_MAX : found->size * limits->ratio;
    package_walk walk = { .args = args, .fn = fn, .user = user, .program = find_program() };
    bool opened = false;

    /* Small packages may hold as much as any file may be unpacked to. */
    walk.most = by_ratio > limits->budget ? by_ratio : limits->budget;
    walk.most = walk.most < limits->total ? walk.most : limits->total;
    /* A process for each package inside: as many as some of a kilobyte each would be. */
    walk.packages_most = PACKAGES_LEAST + found->size / PACKAGES_EACH;
    walk.buffer = walk.program ? malloc(PACKAGE_DATA_MOST + 1) : NULL;
    if (walk.buffer) {
        opened = walk_package(&walk, found, 0, -1);
    } else {
        const cli_found remark = { .name = found->name,
                                   .why = walk.program
                                              ? strerror(ENOMEM)
                                              : "is a package, and not opened: there is no cuvet-package",
                                   .remark = true,
                                   .fd = -1 };
        cli_found plain = *found;

        plain.form = PACKAGE_NONE; /* like any file */
        give(&walk, &remark);
        give(&walk, &plain);
    }
    free(walk.buffer);
    if (opened && found->owned)
        (void)close(found->fd); /* read only: nothing can be lost */
    return !walk.stop;
}
