/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caged process makes files, but has no directory: a porter, forked off before the cage is entered, has
 * it. Each file is opened by the porter's side, without a name where the file system can do that. The caged
 * side gets its descriptor, writes, and says that it is complete; then the porter gives it the name. What was
 * not said to be complete is gone when either process ends, however it ends.
 *
 * To the porter the caged side is a stranger (frames.h): it may finish a file whose name was fixed before the
 * cage, once, and, where there is a folder, files with names as unpacking gives them. */
#ifndef CLI_PORTER_H
#define CLI_PORTER_H

#include "frames.h"

#define CLI_PORTER_TEMPORARY 256

/* A file on its way. */
typedef struct cli_draft {
    int dir;                              /* where it shall be; -1: nowhere */
    int fd;                               /* -1: there is none */
    const char *name;                     /* borrowed */
    bool replace;                         /* a regular file of that name may be replaced */
    cuvet_status status;                  /* OK, or why there is no descriptor */
    char temporary[CLI_PORTER_TEMPORARY]; /* its name until then; "": it has none */
} cli_draft;

typedef struct cli_porter {
    int fd; /* of the caged side; -1: there is no porter */
    cli_draft *draft[PORTER_FILES];
    uint32_t n_drafts;
    int folder;         /* directory for files that are named later; -1: none, or the porter has it already */
    bool in_folder;     /* there is one */
    bool replace, sync; /* of files in the folder */
    bool left;          /* a file of the folder was not finished */
    uint64_t most;      /* bytes of all files in the folder; each counts as PORTER_LEAST at least */
} cli_porter;

#define PORTER_LEAST 4096u

#define CLI_NO_PORTER                                                                                        \
    {                                                                                                        \
        .fd = -1, .folder = -1                                                                               \
    }

/** Open a file in draft->dir that shall be draft->name later; draft->status says whether there is one. */
void cli_draft_open(cli_draft *draft);
/** Let go of it: what has no name by now is gone. */
void cli_draft_drop(cli_draft *draft);
/** Give it its name; in the porter, and for tests. @return CUVET_OK · CUVET_E_EXISTS · CUVET_E_IO */
cuvet_status cli_draft_publish(cli_draft *draft);

/** Fork the porter, to which the drafts' and the folder's descriptors belong from then on; the caged side
 * keeps those of the files alone. @return CUVET_OK, also when there is nothing to do · CUVET_E_IO (errno) */
cuvet_status cli_porter_start(cli_porter *porter);
/** Write to a descriptor, all of it. @return CUVET_OK · CUVET_E_IO */
cuvet_status cli_write_whole(int fd, const void *bytes, size_t size);
/** A draft is complete. @return what became of it: CUVET_OK · CUVET_E_EXISTS · CUVET_E_IO */
cuvet_status cli_porter_done(cli_porter *porter, uint32_t draft);
/** A new file in the folder, complete. @return the same · CUVET_E_USAGE (name) · CUVET_E_LIMIT (porter->most)
 * */
cuvet_status cli_porter_save(cli_porter *porter, const char *name, const void *bytes, size_t size);
/** Nothing more will come. */
void cli_porter_stop(cli_porter *porter);

/** For tests: the porter's side, until the stream ends or somebody breaks the rules. */
void cli_porter_serve(int fd, cli_porter *porter);

#endif
