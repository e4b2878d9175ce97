/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command under the name nvlink. */
#include "nvlink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FATAL = 1, LATE = 255 };

static const char HEADINGS[] =
    "source file name , phase name , phase input files , phase output file , arch , "
    "tool, metric , unit\n";

/* It says which release it stands for in the form in which programs look for it. */
static int put_version(void)
{
    printf("nvlink: cuvet %s in the place of the Cuda linker\n"
           "Cuda compilation tools, release 13.0, V13.0.88\n",
           cuvet_version());
    return CLI_X_CLEAN;
}

static int put_help(void)
{
    fputs("usage: nvlink [OPTION...] FILE...\n\n"
          "cuvet link in the place of nvlink 13.0.88 (man cuvet-nvlink). Options of `cuvet link` that are "
          "not in\n"
          "these lists are taken as well, such as --compiler=PATH, --limits=roomy and --sandbox=required.\n",
          stdout);
    link_options_help(stdout);
    return CLI_X_CLEAN;
}

/* The reference writes the headings into an empty file, and times of compilers below them: there are none
 * where nothing is compiled. */
static bool write_times(const char *path)
{
    struct stat st;
    ssize_t wrote = 0;
    int fd;
    bool ok;

    if (strcmp(path, "-") == 0)
        return fputs(HEADINGS, stdout) >= 0;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    ok = fd >= 0 && fstat(fd, &st) == 0;
    if (ok && st.st_size == 0)
        wrote = write(fd, HEADINGS, sizeof(HEADINGS) - 1);
    ok = ok && (st.st_size != 0 || wrote == (ssize_t)sizeof(HEADINGS) - 1);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok || nvlink_fatal("Could not write '%s' (%s)", path, strerror(errno));
}

/* The words that follow the errors, and the exit code. */
static int conclude(const nvlink_line *line, const link_end *end, int rc)
{
    if (end->merge && line->set[LINK_O_REPORT_ARCH])
        (void)nvlink_fatal("merge_elf failed (target: %s)", line->arch);
    else if (end->merge)
        (void)nvlink_fatal("merge_elf failed");
    if (rc == CLI_X_CLEAN)
        return CLI_X_CLEAN;
    return end->late && !end->merge && !end->other ? LATE : FATAL;
}

static int run(const nvlink_line *line, int argc, char **argv)
{
    link_end end = { 0 };
    const link_role role = {
        .voice = &NVLINK_VOICE, .stand_in = true, .modules_only = line->is_virtual, .end = &end
    };

    if (line->time && !write_times(line->time))
        return FATAL;
    return conclude(line, &end, link_main(argc, argv, &role));
}

int cmd_nvlink(int argc, char **argv)
{
    nvlink_line line;
    int rc = FATAL;

    cli_speak_as("nvlink fatal   : ");
    if (nvlink_line_read(&line, argc, argv))
        rc = line.help      ? put_help()
             : line.version ? put_version()
                            : run(&line, (int)line.argv.count, line.argv.items);
    nvlink_line_release(&line);
    return rc;
}
