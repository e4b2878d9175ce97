/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The porter and a caged side that was taken over: what it gets through is what was agreed before the cage,
 * once, and a name that is plain. Both kinds of files: without a name until they are finished, and with a
 * temporary one, for file systems that know no others. */
#include "porter.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
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
    ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0;
}

static int count(int where)
{
    DIR *d = fdopendir(openat(where, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Files end with the porter, which nobody waits for. */
static void wait_for_count(int n)
{
    for (int i = 0; i < 500 && count(dir) != n; i++)
        usleep(2000);
    ck_assert_int_eq(count(dir), n);
}

typedef struct scene {
    cli_porter p;
    cli_draft draft[2];
    bool named; /* drafts have temporary names */
} scene;

/* As on a file system without O_TMPFILE. */
static void give_temporary_name(cli_draft *d)
{
    close(d->fd);
    snprintf(d->temporary, sizeof(d->temporary), ".%s.1.0.tmp", d->name);
    d->fd = openat(d->dir, d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ck_assert_int_ge(d->fd, 0);
}

static void begin(scene *s, unsigned drafts, bool folder, bool replace, bool named)
{
    static const char *const NAMES[2] = { "first", "second" };

    *s = (scene){ .p = CLI_NO_PORTER, .named = named };
    for (unsigned i = 0; i < drafts; i++) {
        s->draft[i] = (cli_draft){ .dir = dup(dir), .fd = -1, .name = NAMES[i], .replace = replace };
        cli_draft_open(&s->draft[i]);
        ck_assert_int_eq(s->draft[i].status, CUVET_OK);
        if (named)
            give_temporary_name(&s->draft[i]);
        s->p.draft[s->p.n_drafts++] = &s->draft[i];
    }
    s->p.folder = folder ? dup(dir) : -1;
    s->p.replace = replace;
    s->p.most = UINT64_MAX;
    ck_assert_int_eq(cli_porter_start(&s->p), CUVET_OK);
    ck_assert_int_eq(s->p.folder, -1);
}

static void end(scene *s)
{
    cli_porter_stop(&s->p);
    for (unsigned i = 0; i < s->p.n_drafts; i++) {
        ck_assert_int_eq(s->draft[i].dir, -1);
        if (s->draft[i].fd >= 0)
            close(s->draft[i].fd);
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
        scene s;

        if (exists)
            put(dir, "first", "old");
        begin(&s, 1, false, replace, named);
        umask(mask);
        ck_assert_int_eq(count(dir), (exists ? 1 : 0) + (named ? 1 : 0));
        ck_assert_int_eq(cli_write_whole(s.draft[0].fd, "new", 3), CUVET_OK);
        got = cli_porter_done(&s.p, 0);
        ck_assert_int_eq(got, exists && !replace ? CUVET_E_EXISTS : CUVET_OK);
        end(&s);
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
        scene s;

        put(dir, "first", "old");
        begin(&s, 2, true, true, named);
        ck_assert_int_eq(cli_write_whole(s.draft[0].fd, "half", 4), CUVET_OK);
        if (killed) { /* the caged side is: its end of the socket closes without a word */
            close(s.p.fd);
            s.p.fd = -1;
        } else {
            cli_porter_stop(&s.p);
            ck_assert_int_eq(count(dir), 1); /* at once: nobody sees it afterwards */
        }
        end(&s);
        wait_for_count(1);
        ck_assert(holds(dir, "first", "old"));
    }
}
END_TEST

START_TEST(only_regular_files_are_replaced)
{
    for (int named = 0; named < 2; named++) {
        for (int kind = 0; kind < 4; kind++) {
            scene s;

            put(above, "victim", "precious");
            if (kind == 0)
                ck_assert_int_eq(symlinkat("../victim", dir, "first"), 0);
            else if (kind == 1)
                ck_assert_int_eq(symlinkat("absent", dir, "first"), 0);
            else if (kind == 2)
                ck_assert_int_eq(mkdirat(dir, "first", 0700), 0);
            else
                ck_assert_int_eq(mkfifoat(dir, "first", 0600), 0);
            begin(&s, 1, false, true, named);
            ck_assert_int_eq(cli_porter_done(&s.p, 0), CUVET_E_EXISTS);
            end(&s);
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
    scene s;

    put(above, "victim", "precious");
    ck_assert_int_eq(linkat(above, "victim", dir, "first", 0), 0);
    begin(&s, 1, false, true, false);
    ck_assert_int_eq(cli_write_whole(s.draft[0].fd, "new", 3), CUVET_OK);
    ck_assert_int_eq(cli_porter_done(&s.p, 0), CUVET_OK);
    end(&s);
    ck_assert(holds(above, "victim", "precious"));
    ck_assert(holds(dir, "first", "new"));
}
END_TEST

START_TEST(bad_names_of_drafts)
{
    static const char *const BAD[] = { "", ".", "..", "a/b", "/", "/etc/passwd" };
    char longest[PORTER_NAME_MOST + 2];
    cli_draft d = { .dir = dir, .fd = -1 };

    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        d.name = BAD[i];
        cli_draft_open(&d);
        ck_assert_int_eq(d.status, CUVET_E_USAGE);
        ck_assert_int_eq(d.fd, -1);
        ck_assert_int_eq(cli_draft_publish(&d), CUVET_E_USAGE);
    }
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    d.name = longest;
    cli_draft_open(&d);
    ck_assert_int_eq(d.status, CUVET_E_USAGE);
    d.name = longest + 1;
    cli_draft_open(&d);
    ck_assert_int_eq(d.status, CUVET_OK);
    ck_assert_int_eq(cli_draft_publish(&d), CUVET_OK);
    cli_draft_drop(&d);
    d = (cli_draft){ .dir = -1, .fd = -1, .name = "first" };
    cli_draft_open(&d);
    ck_assert_int_eq(d.status, CUVET_E_IO);
    ck_assert_int_eq(count(dir), 1);
}
END_TEST

START_TEST(files_of_a_folder)
{
    scene s;

    put(dir, "0001-b.sm_90.cubin", "old");
    put(dir, "0002-c.ptx", "old");
    ck_assert_int_eq(symlinkat("../victim", dir, "0003-d.ptx"), 0);
    for (int replace = 0; replace < 2; replace++) {
        begin(&s, 0, true, replace, false);
        ck_assert_int_eq(cli_porter_save(&s.p, "0000-a.sm_90.cubin", "new", 3),
                         replace ? CUVET_OK : CUVET_OK);
        ck_assert_int_eq(cli_porter_save(&s.p, "0001-b.sm_90.cubin", "new", 3),
                         replace ? CUVET_OK : CUVET_E_EXISTS);
        ck_assert_int_eq(cli_porter_save(&s.p, "0003-d.ptx", "new", 3), CUVET_E_EXISTS);
        ck_assert_int_eq(cli_porter_save(&s.p, "../0000-a.ptx", "new", 3), CUVET_E_USAGE);
        end(&s);
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
    scene s;

    *(&s) = (scene){ .p = CLI_NO_PORTER };
    s.p.folder = dup(dir);
    s.p.most = 5 * PORTER_LEAST;
    ck_assert_int_eq(cli_porter_start(&s.p), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&s.p, "0000-a.ptx", bytes, sizeof(bytes)), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&s.p, "0001-a.ptx", bytes, sizeof(bytes)), CUVET_E_LIMIT);
    ck_assert_int_eq(cli_porter_save(&s.p, "0002-a.ptx", "", 0), CUVET_OK); /* counts as well */
    ck_assert_int_eq(cli_porter_save(&s.p, "0003-a.ptx", "", 0), CUVET_OK);
    ck_assert_int_eq(cli_porter_save(&s.p, "0004-a.ptx", "", 0), CUVET_E_LIMIT);
    end(&s);
    ck_assert_int_eq(count(dir), 3);
}
END_TEST

/* ---- forged orders ---- */

/* A word of the script: what is sent, and what comes back: 'o' OK, 'x' EXISTS, 'i' IO, '!' the end. */
typedef struct forged {
    uint8_t verb, file;
    int n_name; /* as it says; -1: the length of the name */
    const char *name;
    char want;
} forged;

#define LONG50 "0123456789012345678901234567890123456789012345678-"
#define LONG196                                                                                              \
    "0000-" LONG50 LONG50 LONG50 "01234567890123456789012345678901234567890" /* and an extension */
#define FOLDER PORTER_IN_FOLDER

static char ask(scene *s, const forged *f)
{
    char packet[600];
    porter_order o = { f->verb, f->file, 0 };
    porter_reply r = { 0 };
    size_t n = strlen(f->name);
    ssize_t got;

    o.n_name = (uint16_t)(f->n_name < 0 ? (int)n : f->n_name);
    memcpy(packet, &o, sizeof(o));
    memcpy(packet + sizeof(o), f->name, n);
    if (send(s->p.fd, packet, sizeof(o) + n, MSG_NOSIGNAL) < 0)
        return '!';
    got = recv(s->p.fd, &r, sizeof(r), 0); /* a descriptor that comes along is closed by the kernel */
    if (got != (ssize_t)sizeof(r))
        return '!';
    return r.status == CUVET_OK ? 'o' : r.status == CUVET_E_EXISTS ? 'x' : r.status == CUVET_E_IO ? 'i' : '?';
}

START_TEST(forged_orders)
{
    /* Each row is a life: up to three orders, and how many files there are in the end besides "old". */
    static const struct life {
        forged order[3];
        int files;
    } T[] = {
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

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]) + sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct life t = { .files = 0 };
        scene s;

        if (i < sizeof(T) / sizeof(T[0])) {
            t = T[i];
        } else {
            t.order[0] = (forged){ 'g', FOLDER, -1, "", 'o' };
            t.order[1] = (forged){ 'd', FOLDER, -1, BAD[i - sizeof(T) / sizeof(T[0])], '!' };
        }
        put(dir, "old", "old");
        begin(&s, 2, true, true, i % 2);
        for (size_t k = 0; k < 3 && t.order[k].name; k++) {
            char got = ask(&s, &t.order[k]);

            ck_assert_msg(got == t.order[k].want, "row %zu, order %zu: %c", i, k, got);
        }
        end(&s);
        wait_for_count(t.files + 1);
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
    scene s;

    begin(&s, 1, false, true, false);
    ck_assert_int_eq(ask(&s, &(forged){ 'g', FOLDER, -1, "", '!' }), '!');
    end(&s);
    begin(&s, 1, false, true, false);
    ck_assert_int_eq(ask(&s, &(forged){ 'd', 1, -1, "", '!' }), '!');
    end(&s);
    begin(&s, 0, true, true, false);
    ck_assert_int_eq(ask(&s, &(forged){ 'd', 0, -1, "", '!' }), '!');
    end(&s);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

/* Descriptors that come with an order go nowhere, and do not pile up. */
START_TEST(descriptors_for_the_porter)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } c = { .bytes = { 0 } };
    porter_order o = { 'g', PORTER_IN_FOLDER, 0 };
    struct iovec v = { &o, sizeof(o) };
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c.bytes)
    };
    porter_reply r;
    scene s;

    begin(&s, 0, true, true, false);
    c.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(&c.head), &dir, sizeof(dir));
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(sendmsg(s.p.fd, &m, MSG_NOSIGNAL), (ssize_t)sizeof(o));
        ck_assert_int_eq(recv(s.p.fd, &r, sizeof(r), 0), (ssize_t)sizeof(r));
        ck_assert_uint_eq(r.status, CUVET_OK);
    }
    end(&s);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

/* Good packets with a few bytes changed: whatever comes of it, all files have names that were agreed. */
START_TEST(arbitrary_bytes)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    DIR *d;
    const struct dirent *e;

    put(dir, "old", "old");
    for (int life = 0; life < 150; life++) {
        scene s;

        begin(&s, 2, true, true, life % 2);
        for (int i = 0; i < 8; i++) {
            char packet[16] = { 'd', (char)0xff, 10, 0, '0', '0', '0', '0', '-', 'a', '.', 'p', 't', 'x' };
            size_t n = i % 2 ? 14 : 4;
            porter_reply r;

            if (i % 2 == 0) {
                packet[0] = 'g';
                packet[2] = 0;
            }
            for (int k = 0; k < life % 3; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                packet[(state >> 33) % n] = (char)(state >> 50);
            }
            if (send(s.p.fd, packet, n, MSG_NOSIGNAL) < 0 || recv(s.p.fd, &r, sizeof(r), 0) <= 0)
                break;
        }
        end(&s);
    }
    ck_assert(holds(dir, "old", "old"));
    d = fdopendir(dup(dir));
    while ((e = readdir(d)) != NULL)
        ck_assert_msg(e->d_name[0] == '.'
                          ? strspn(e->d_name, ".") == strlen(e->d_name)
                          : strcmp(e->d_name, "old") == 0 || strcmp(e->d_name, "first") == 0 ||
                                strcmp(e->d_name, "second") == 0 ||
                                porter_name_ok(e->d_name, strlen(e->d_name)),
                      "%s", e->d_name);
    closedir(d);
    ck_assert_int_eq(count(above), 1);
}
END_TEST

START_TEST(the_porter_dies)
{
    scene s;

    begin(&s, 1, true, true, false);
    shutdown(s.p.fd, SHUT_RDWR);
    ck_assert_int_eq(cli_porter_done(&s.p, 0), CUVET_E_IO);
    ck_assert_int_eq(cli_porter_save(&s.p, "0000-a.ptx", "x", 1), CUVET_E_IO);
    end(&s);
    ck_assert_int_eq(count(dir), 0);
}
END_TEST

START_TEST(replies)
{
    porter_reply r = { PORTER_REPLY, CUVET_OK };

    ck_assert(porter_reply_ok(&r, sizeof(r), true, true));
    ck_assert(porter_reply_ok(&r, sizeof(r), false, false));
    ck_assert(!porter_reply_ok(&r, sizeof(r), true, false));
    ck_assert(!porter_reply_ok(&r, sizeof(r), false, true));
    ck_assert(!porter_reply_ok(&r, sizeof(r) - 1, false, false));
    r.status = CUVET_E_EXISTS;
    ck_assert(porter_reply_ok(&r, sizeof(r), false, true));
    ck_assert(!porter_reply_ok(&r, sizeof(r), true, true));
    r.status = CUVET_E_INTERNAL;
    ck_assert(!porter_reply_ok(&r, sizeof(r), false, false));
    r = (porter_reply){ PORTER_REPLY + 1, CUVET_OK };
    ck_assert(!porter_reply_ok(&r, sizeof(r), false, false));
}
END_TEST

Suite *suite_porter(void);
Suite *suite_porter(void)
{
    Suite *s = suite_create("porter");
    TCase *c = tcase_create("porter");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_file_with_a_fixed_name);
    tcase_add_test(c, what_was_not_finished_is_gone);
    tcase_add_test(c, only_regular_files_are_replaced);
    tcase_add_test(c, hard_links);
    tcase_add_test(c, bad_names_of_drafts);
    tcase_add_test(c, files_of_a_folder);
    tcase_add_test(c, a_folder_has_an_end);
    tcase_add_test(c, forged_orders);
    tcase_add_test(c, what_was_not_agreed);
    tcase_add_test(c, descriptors_for_the_porter);
    tcase_add_test(c, arbitrary_bytes);
    tcase_add_test(c, the_porter_dies);
    tcase_add_test(c, replies);
    suite_add_tcase(s, c);
    return s;
}
