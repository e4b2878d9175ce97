/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The porter and a caged side that was taken over: what it gets through is what was agreed before the cage,
 * once, and a name that is plain. Both kinds of files: without a name until they are finished, and with a
 * temporary one, for file systems that know no others. */
#include "porter.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/scratch.h"

static char place[SCRATCH_MAX];
static int above = -1, dir = -1;

static void setup(void)
{
    scratch_make(place);
    above = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(mkdirat(above, "out", 0755), 0);
    dir = openat(above, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(dir, 0);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void teardown(void)
{
    close(dir);
    close(above);
    scratch_remove(place);
}

static void put(int where, const char *name, const char *text)
{
    int fd = openat(where, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Is this the whole content of that file? */
static bool holds(int where, const char *name, const char *text)
{
    char got[64] = "";
    int fd = openat(where, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t other_got = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

    if (fd >= 0)
        close(fd);
    return other_got == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0;
}

static int count(int where)
{
    DIR *stream = fdopendir(openat(where, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int count = 0;

    ck_assert_ptr_nonnull(stream);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count - 2;
}

/* Files end with the porter, which nobody waits for. */
static void wait_for_count(int number)
{
    for (int i = 0; i < 500 && count(dir) != number; i++)
        usleep(2000);
    ck_assert_int_eq(count(dir), number);
}

typedef struct porter_scene {
    cli_porter porter;
    cli_draft draft[2];
    bool named; /* drafts have temporary names */
} porter_scene;

/* As on a file system without O_TMPFILE. */
static void give_temporary_name(cli_draft *draft)
{
    close(draft->fd);
    snprintf(draft->temporary, sizeof(draft->temporary), ".%s.1.0.tmp", draft->name);
    draft->fd = openat(draft->dir, draft->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ck_assert_int_ge(draft->fd, 0);
}

static void begin(porter_scene *scene, unsigned drafts, bool folder, bool replace, bool named)
{
    static const char *const NAMES[2] = { "first", "second" };

    *scene = (porter_scene){ .porter = CLI_NO_PORTER, .named = named };
    for (unsigned i = 0; i < drafts; i++) {
        scene->draft[i] = (cli_draft){ .dir = dup(dir), .fd = -1, .name = NAMES[i], .replace = replace };
        cli_draft_open(&scene->draft[i]);
        ck_assert_int_eq(scene->draft[i].status, CUVET_OK);
        if (named)
            give_temporary_name(&scene->draft[i]);
        scene->porter.draft[scene->porter.n_drafts++] = &scene->draft[i];
    }
    scene->porter.folder = folder ? dup(dir) : -1;
    scene->porter.replace = replace;
    scene->porter.most = UINT64_MAX;
    ck_assert_int_eq(cli_porter_start(&scene->porter), CUVET_OK);
    ck_assert_int_eq(scene->porter.folder, -1);
}

static void end(porter_scene *scene)
{
    cli_porter_stop(&scene->porter);
    for (unsigned i = 0; i < scene->porter.n_drafts; i++) {
        ck_assert_int_eq(scene->draft[i].dir, -1);
        if (scene->draft[i].fd >= 0)
            close(scene->draft[i].fd);
    }
    ck_assert_int_gt(wait(NULL), 0); /* the porter ends by itself */
}

START_TEST(a_file_with_a_fixed_name)
{
    for (int mode = 0; mode < 8; mode++) {
        bool named = mode & 1, replace = mode & 2, exists = mode & 4;
        mode_t mask = umask(027);
        struct stat st;
        cuvet_status got;
        porter_scene scene;

        if (exists)
            put(dir, "first", "old");
        begin(&scene, 1, false, replace, named);
        umask(mask);
        ck_assert_int_eq(count(dir), (exists ? 1 : 0) + (named ? 1 : 0));
        ck_assert_int_eq(cli_write_whole(scene.draft[0].fd, "new", 3), CUVET_OK);
        got = cli_porter_done(&scene.porter, 0);
        ck_assert_int_eq(got, exists && !replace ? CUVET_E_EXISTS : CUVET_OK);
        end(&scene);
        ck_assert_int_eq(count(dir), 1);
        ck_assert(holds(dir, "first", exists && !replace ? "old" : "new"));
        ck_assert_int_eq(fstatat(dir, "first", &st, AT_SYMLINK_NOFOLLOW), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0640);
        ck_assert_int_eq(st.st_nlink, 1);
        ck_assert_int_eq(unlinkat(dir, "first", 0), 0);
    }
}
END_TEST

START_TEST(what_was_not_finished_is_gone)
{
    for (int mode = 0; mode < 4; mode++) {
        bool named = mode & 1, killed = mode & 2;
        porter_scene scene;

        put(dir, "first", "old");
        begin(&scene, 2, true, true, named);
        ck_assert_int_eq(cli_write_whole(scene.draft[0].fd, "half", 4), CUVET_OK);
        if (killed) { /* the caged side is: its end of the socket closes without a word */
            close(scene.porter.fd);
            scene.porter.fd = -1;
        } else {
            cli_porter_stop(&scene.porter);
            ck_assert_int_eq(count(dir), 1); /* at once: nobody sees it afterwards */
        }
        end(&scene);
        wait_for_count(1);
        ck_assert(holds(dir, "first", "old"));
    }
}
END_TEST

START_TEST(only_regular_files_are_replaced)
{
    for (int named = 0; named < 2; named++) {
        for (int kind = 0; kind < 4; kind++) {
            porter_scene scene;

            put(above, "victim", "precious");
            if (kind == 0)
                ck_assert_int_eq(symlinkat("../victim", dir, "first"), 0);
            else if (kind == 1)
                ck_assert_int_eq(symlinkat("absent", dir, "first"), 0);
            else if (kind == 2)
                ck_assert_int_eq(mkdirat(dir, "first", 0700), 0);
            else
                ck_assert_int_eq(mkfifoat(dir, "first", 0600), 0);
            begin(&scene, 1, false, true, named);
            ck_assert_int_eq(cli_porter_done(&scene.porter, 0), CUVET_E_EXISTS);
            end(&scene);
            ck_assert_int_eq(count(dir), 1);
            ck_assert(holds(above, "victim", "precious"));
            ck_assert_int_eq(faccessat(dir, "absent", F_OK, 0), -1);
            ck_assert_int_eq(unlinkat(dir, "first", kind == 2 ? AT_REMOVEDIR : 0), 0);
        }
    }
}
END_TEST

/* Another name of the old file keeps its content. */
START_TEST(hard_links)
{
    porter_scene scene;

    put(above, "victim", "precious");
    ck_assert_int_eq(linkat(above, "victim", dir, "first", 0), 0);
    begin(&scene, 1, false, true, false);
    ck_assert_int_eq(cli_write_whole(scene.draft[0].fd, "new", 3), CUVET_OK);
    ck_assert_int_eq(cli_porter_done(&scene.porter, 0), CUVET_OK);
    end(&scene);
    ck_assert(holds(above, "victim", "precious"));
    ck_assert(holds(dir, "first", "new"));
}
END_TEST

START_TEST(bad_names_of_drafts)
{
    static const char *const BAD[] = { "", ".", "..", "a/b", "/", "/etc/passwd" };
    char longest[NAME_MAX + 2];
    cli_draft draft = { .dir = dir, .fd = -1 };

    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        draft.name = BAD[i];
        cli_draft_open(&draft);
        ck_assert_int_eq(draft.status, CUVET_E_USAGE);
        ck_assert_int_eq(draft.fd, -1);
        ck_assert_int_eq(cli_draft_publish(&draft), CUVET_E_USAGE);
    }
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    draft.name = longest;
    cli_draft_open(&draft);
    ck_assert_int_eq(draft.status, CUVET_E_USAGE);
    draft.name = longest + 1;
    cli_draft_open(&draft);
    ck_assert_int_eq(draft.status, CUVET_OK);
    ck_assert_int_eq(cli_draft_publish(&draft), CUVET_OK);
    cli_draft_drop(&draft);
    draft = (cli_draft){ .dir = -1, .fd = -1, .name = "first" };
    cli_draft_open(&draft);
    ck_assert_int_eq(draft.status, CUVET_E_IO);
    ck_assert_int_eq(count(dir), 1);
}
END_TEST

START_TEST(files_of_a_folder)
{
    porter_scene scene;

    put(dir, "0001-b.sm_90.cubin", "old");
    put(dir, "0002-c.ptx", "old");
    ck_assert_int_eq(symlinkat("../victim", dir, "0003-d.ptx"), 0);
    for (int replace = 0; replace < 2; replace++) {
        begin(&scene, 0, true, replace, false);
        ck_assert_int_eq(cli_porter_save(&scene.porter, "0000-a.sm_90.cubin", "new", 3),
                         replace ? CUVET_OK : CUVET_OK);
        ck_assert_int_eq(cli_porter_save(&scene.porter, "0001-b.sm_90.cubin", "new", 3),
                         replace ? CUVET_OK : CUVET_E_EXISTS);
        ck_assert_int_eq(cli_porter_save(&scene.porter, "0003-d.ptx", "new", 3), CUVET_E_EXISTS);
        ck_assert_int_eq(cli_porter_save(&scene.porter, "../0000-a.ptx", "new", 3), CUVET_E_USAGE);
        end(&scene);
        ck_assert_int_eq(count(dir), 4);
        ck_assert(holds(dir, "0000-a.sm_90.cubin", "new"));
        ck_assert(holds(dir, "0001-b.sm_90.cubin", replace ? "new" : "old"));
        ck_assert(holds(dir, "0002-c.ptx", "old"));
        ck_assert_int_eq(faccessat(above, "victim", F_OK, 0), -1);
    }
}
END_TEST

START_TEST(a_folder_has_an_end)
{
    static char bytes[3 * PORTER_LEAST];
    porter_scene scene;

    *(&scene) = (porter_scene){ .porter = CLI_NO_PORTER };
    scene.porter.folder = dup(dir);
    scene.porter.most = 5 * PORTER_LEAST;
    ck_assert_int_eq(cli_porter_start(&scene.porter), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0000-a.ptx", bytes, sizeof(bytes)), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0001-a.ptx", bytes, sizeof(bytes)), CUVET_E_LIMIT);
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0002-a.ptx", "", 0), CUVET_OK); /* counts as well */
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0003-a.ptx", "", 0), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0004-a.ptx", "", 0), CUVET_E_LIMIT);
    end(&scene);
    ck_assert_int_eq(count(dir), 3);
}
END_TEST

/* ---- forged orders ---- */

/* A word of the script: what is sent, and what comes back: 'o' OK, 'x' EXISTS, 'i' IO, '!' the end. */
typedef struct porter_forged {
    uint8_t verb, file;
    int n_name; /* as it says; -1: the length of the name */
    const char *name;
    char want;
} porter_forged;

#define LONG50 "0123456789012345678901234567890123456789012345678-"
#define LONG196                                                                                              \
    "0000-" LONG50 LONG50 LONG50 "01234567890123456789012345678901234567890" /* and an extension */
#define FOLDER PORTER_IN_FOLDER

static char ask(porter_scene *scene, const porter_forged *forged)
{
    char packet[600];
    porter_order order = { forged->verb, forged->file, 0 };
    porter_reply reply = { 0 };
    size_t len = strlen(forged->name);
    ssize_t got;

    order.n_name = (uint16_t)(forged->n_name < 0 ? (int)len : forged->n_name);
    memcpy(packet, &order, sizeof(order));
    memcpy(packet + sizeof(order), forged->name, len);
    if (send(scene->porter.fd, packet, sizeof(order) + len, MSG_NOSIGNAL) < 0)
        return '!';
    got = recv(scene->porter.fd, &reply, sizeof(reply),
               0); /* a descriptor that comes along is closed by the kernel */
    if (got != (ssize_t)sizeof(reply))
        return '!';
    return reply.status == CUVET_OK         ? 'o'
           : reply.status == CUVET_E_EXISTS ? 'x'
           : reply.status == CUVET_E_IO     ? 'i'
                                            : '?';
}

START_TEST(forged_orders)
{
    /* Each row is a life: up to three orders, and how many files there are in the end besides "old". */
    static const struct life {
        porter_forged order[3];
        int files;
    } other_life[] = {
        /* what is allowed, so that the rest fails for its own reason */
        { { { 'd', 0, -1, "", 'o' } }, 1 },
        { { { 'd', 1, -1, "", 'o' }, { 'd', 0, -1, "", 'o' } }, 2 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, -1, "0000-a.ptx", 'o' } }, 1 },
        { { { 'g', FOLDER, -1, "", 'o' },
            { 'g', FOLDER, -1, "", 'o' },
            { 'd', FOLDER, -1, "0000-a.ptx", 'o' } },
          1 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, -1, "x-0000-a.bin", 'o' } }, 1 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, -1, LONG196 ".ptx", 'o' } }, 1 },
        { { { 'e', FOLDER, -1, "", 'o' } }, 0 },
        /* twice, before anything was given, after the end, of another file */
        { { { 'd', 0, -1, "", 'o' }, { 'd', 0, -1, "", '!' } }, 1 },
        { { { 'd', 2, -1, "", '!' } }, 0 },
        { { { 'd', 254, -1, "", '!' } }, 0 },
        { { { 'd', FOLDER, -1, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "", 'o' },
            { 'd', FOLDER, -1, "0000-a.ptx", 'o' },
            { 'd', FOLDER, -1, "0001-a.ptx", '!' } },
          1 },
        { { { 'e', FOLDER, -1, "", 'o' }, { 'd', 0, -1, "", '!' } }, 0 },
        { { { 'e', FOLDER, -1, "", 'o' }, { 'g', FOLDER, -1, "", '!' } }, 0 },
        { { { 'e', 0, -1, "", '!' } }, 0 },
        { { { 'e', FOLDER, -1, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', 0, -1, "", '!' } }, 0 },
        /* a name where none belongs */
        { { { 'd', 0, -1, "old", '!' } }, 0 },
        { { { 'd', 0, -1, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "0000-a.ptx", '!' } }, 0 },
        /* other words */
        { { { 0, 0, -1, "", '!' } }, 0 },
        { { { 'D', 0, -1, "", '!' } }, 0 },
        { { { 'r', 0, -1, "", '!' } }, 0 },
        { { { 255, FOLDER, -1, "", '!' } }, 0 },
        /* lengths that lie */
        { { { 'd', 0, 1, "", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, 11, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, 9, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, 0, "0000-a.ptx", '!' } }, 0 },
        { { { 'g', FOLDER, -1, "", 'o' }, { 'd', FOLDER, 65535, "0000-a.ptx", '!' } }, 0 },
    };
    /* Names that no unpacking gives. */
    static const char *const BAD[] = { "",
                                       ".",
                                       "..",
                                       "/",
                                       "../0000-a.ptx",
                                       "/0000-a.ptx",
                                       "a/0000-a.ptx",
                                       "0000-a.ptx/",
                                       "0000-a/b.ptx",
                                       ".0000-a.ptx",
                                       "-0000-a.ptx",
                                       " 0000-a.ptx",
                                       "0000-a b.ptx",
                                       "0000-a\n.ptx",
                                       "0000-a\\.ptx",
                                       "0000-\xc3\xa4.ptx",
                                       "0000-a.PTX",
                                       "0000-a.sh",
                                       "0000-a.so",
                                       "0000-a",
                                       "0000-a.ptx.",
                                       "0000.ptx",
                                       "000-a.ptx",
                                       "a0000-a.ptx",
                                       "a.ptx",
                                       ".ptx",
                                       "ptx",
                                       ".bashrc",
                                       "Makefile",
                                       "old",
                                       "first",
                                       LONG196 ".merc" };

    for (size_t i = 0; i < sizeof(other_life) / sizeof(other_life[0]) + sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct life life = { .files = 0 };
        porter_scene scene;

        if (i < sizeof(other_life) / sizeof(other_life[0])) {
            life = other_life[i];
        } else {
            life.order[0] = (porter_forged){ 'g', FOLDER, -1, "", 'o' };
            life.order[1] =
                (porter_forged){ 'd', FOLDER, -1, BAD[i - sizeof(other_life) / sizeof(other_life[0])], '!' };
        }
        put(dir, "old", "old");
        begin(&scene, 2, true, true, i % 2);
        for (size_t k = 0; k < 3 && life.order[k].name; k++) {
            char got = ask(&scene, &life.order[k]);

            ck_assert_msg(got == life.order[k].want, "row %zu, order %zu: %c", i, k, got);
        }
        end(&scene);
        wait_for_count(life.files + 1);
        ck_assert(holds(dir, "old", "old"));
        ck_assert_int_eq(count(above), 1);
        teardown();
        setup();
    }
}
END_TEST

/* Without a folder, or without a file, nothing is given. */
START_TEST(what_was_not_agreed)
{
    porter_scene scene;

    begin(&scene, 1, false, true, false);
    ck_assert_int_eq(ask(&scene, &(porter_forged){ 'g', FOLDER, -1, "", '!' }), '!');
    end(&scene);
    begin(&scene, 1, false, true, false);
    ck_assert_int_eq(ask(&scene, &(porter_forged){ 'd', 1, -1, "", '!' }), '!');
    end(&scene);
    begin(&scene, 0, true, true, false);
    ck_assert_int_eq(ask(&scene, &(porter_forged){ 'd', 0, -1, "", '!' }), '!');
    end(&scene);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

/* Descriptors that come with an order go nowhere, and do not pile up. */
START_TEST(descriptors_for_the_porter)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } callback = { .bytes = { 0 } };
    porter_order order = { 'g', PORTER_IN_FOLDER, 0 };
    struct iovec vec = { &order, sizeof(order) };
    struct msghdr msg = {
        .msg_iov = &vec, .msg_iovlen = 1, .msg_control = &callback, .msg_controllen = sizeof(callback.bytes)
    };
    porter_reply reply;
    porter_scene scene;

    begin(&scene, 0, true, true, false);
    callback.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(&callback.head), &dir, sizeof(dir));
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(sendmsg(scene.porter.fd, &msg, MSG_NOSIGNAL), (ssize_t)sizeof(order));
        ck_assert_int_eq(recv(scene.porter.fd, &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
        ck_assert_uint_eq(reply.status, CUVET_OK);
    }
    end(&scene);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

/* Good packets with a few bytes changed: whatever comes of it, all files have names that were agreed. */
START_TEST(arbitrary_bytes)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    DIR *stream;
    const struct dirent *entry;

    put(dir, "old", "old");
    for (int life = 0; life < 150; life++) {
        porter_scene scene;

        begin(&scene, 2, true, true, life % 2);
        for (int i = 0; i < 8; i++) {
            char packet[16] = { 'd', (char)0xff, 10, 0, '0', '0', '0', '0', '-', 'a', '.', 'p', 't', 'x' };
            size_t count = i % 2 ? 14 : 4;
            porter_reply reply;

            if (i % 2 == 0) {
                packet[0] = 'g';
                packet[2] = 0;
            }
            for (int k = 0; k < life % 3; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                packet[(state >> 33) % count] = (char)(state >> 50);
            }
            if (send(scene.porter.fd, packet, count, MSG_NOSIGNAL) < 0 ||
                recv(scene.porter.fd, &reply, sizeof(reply), 0) <= 0)
                break;
        }
        end(&scene);
    }
    ck_assert(holds(dir, "old", "old"));
    stream = fdopendir(dup(dir));
    while ((entry = readdir(stream)) != NULL)
        ck_assert_msg(entry->d_name[0] == '.'
                          ? strspn(entry->d_name, ".") == strlen(entry->d_name)
                          : strcmp(entry->d_name, "old") == 0 || strcmp(entry->d_name, "first") == 0 ||
                                strcmp(entry->d_name, "second") == 0 ||
                                porter_name_ok(entry->d_name, strlen(entry->d_name)),
                      "%s", entry->d_name);
    closedir(stream);
    ck_assert_int_eq(count(above), 1);
}
END_TEST

START_TEST(the_porter_dies)
{
    porter_scene scene;

    begin(&scene, 1, true, true, false);
    shutdown(scene.porter.fd, SHUT_RDWR);
    ck_assert_int_eq(cli_porter_done(&scene.porter, 0), CUVET_E_IO);
    ck_assert_int_eq(cli_porter_save(&scene.porter, "0000-a.ptx", "x", 1), CUVET_E_IO);
    end(&scene);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

START_TEST(replies)
{
    porter_reply reply = { PORTER_REPLY, CUVET_OK };

    ck_assert(porter_reply_ok(&reply, sizeof(reply), true, true));
    ck_assert(porter_reply_ok(&reply, sizeof(reply), false, false));
    ck_assert(!porter_reply_ok(&reply, sizeof(reply), true, false));
    ck_assert(!porter_reply_ok(&reply, sizeof(reply), false, true));
    ck_assert(!porter_reply_ok(&reply, sizeof(reply) - 1, false, false));
    reply.status = CUVET_E_EXISTS;
    ck_assert(porter_reply_ok(&reply, sizeof(reply), false, true));
    ck_assert(!porter_reply_ok(&reply, sizeof(reply), true, true));
    reply.status = CUVET_E_INTERNAL;
    ck_assert(!porter_reply_ok(&reply, sizeof(reply), false, false));
    reply = (porter_reply){ PORTER_REPLY + 1, CUVET_OK };
    ck_assert(!porter_reply_ok(&reply, sizeof(reply), false, false));
}
END_TEST

Suite *suite_porter(void);
Suite *suite_porter(void)
{
    Suite *suite = suite_create("porter");
    TCase *tcase = tcase_create("porter");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_file_with_a_fixed_name);
    tcase_add_test(tcase, what_was_not_finished_is_gone);
    tcase_add_test(tcase, only_regular_files_are_replaced);
    tcase_add_test(tcase, hard_links);
    tcase_add_test(tcase, bad_names_of_drafts);
    tcase_add_test(tcase, files_of_a_folder);
    tcase_add_test(tcase, a_folder_has_an_end);
    tcase_add_test(tcase, forged_orders);
    tcase_add_test(tcase, what_was_not_agreed);
    tcase_add_test(tcase, descriptors_for_the_porter);
    tcase_add_test(tcase, arbitrary_bytes);
    tcase_add_test(tcase, the_porter_dies);
    tcase_add_test(tcase, replies);
    suite_add_tcase(suite, tcase);
    return suite;
}
