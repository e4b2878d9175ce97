/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The file that -o names: opened before the cage and named by the porter when it is complete, or standard
 * output for "-". */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "input.h"
#include "porter.h"

typedef struct cli_outfile {
    const char *path; /* NULL: none is wanted */
    bool standard;
    cli_draft draft;
    cli_porter *porter;
    uint32_t number; /* of the draft, to the porter */
} cli_outfile;

#define CLI_NO_OUTFILE                                                                                       \
    {                                                                                                        \
        .draft = {.dir = -1, .fd = -1 }                                                                      \
    }

/** Open it, for a porter that has not started. That its directory takes no new file is told when it is saved.
 *  @param path NULL: none is wanted @param replace a file of that name may be replaced
 *  @return NULL, or why it cannot be had. */
const char *cli_outfile_open(cli_outfile *outfile, cli_porter *porter, const char *path, bool replace);
/** Is one file named for two results, or for a result and something that is read? By the file itself,
 *  whatever its names are. Complains. Before the porter starts. @return true: a usage error */
bool cli_outfile_collides(const cli_outfile *const *out, size_t count, const cli_args *args);
/** The same for one more file that was read. */
bool cli_outfile_is(const cli_outfile *const *out, size_t count, const char *read);
/** The same for a folder in which files are replaced: no input may lie in it, under whatever name. */
bool cli_folder_collides(int folder, const char *path, const cli_args *args);
/** Start the porter, if there is something for it to do. Complains. @return an exit code */
int cli_porter_begin(cli_porter *porter);
/** What the cage has to know of the porter and its files. */
void cli_porter_needs(const cli_porter *porter, cli_needs *needs);
/** All of it, or nothing where it is a file. A failed write to standard output is told when that is flushed.
 */
cuvet_status cli_outfile_save(cli_outfile *outfile, const void *bytes, size_t size);
/** The same in three steps: may it be written to outfile->draft.fd? Then, with what came of that, it is
 * finished.  */
cuvet_status cli_outfile_ready(const cli_outfile *outfile);
cuvet_status cli_outfile_finish(cli_outfile *outfile, cuvet_status written);
void cli_outfile_close(cli_outfile *outfile);

#endif
