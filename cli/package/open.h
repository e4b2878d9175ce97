/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How cuvet-package has libarchive read a package: from the descriptor PACKAGE_IN, by position. */
#ifndef CLI_PACKAGE_OPEN_H
#define CLI_PACKAGE_OPEN_H

#include "frame.h"
#include "tar.h"

#include <archive.h>
#include <archive_entry.h>

enum { PACKAGE_READ_SIZE = 1 << 18 };

typedef struct package_reader {
    uint8_t buffer[PACKAGE_READ_SIZE];
    int64_t at, size;
    package_tar *tar; /* what others see of a tar file; told what is read. NULL: it is none, or differs */
    struct archive
        *outer; /* of the stream that entries are in; NULL: they are in none, or it was not begun */
    package_form stream;
    bool sure; /* it is a tar file, or what is in the stream is: the first header has the sum of its bytes */
    int64_t end; /* of what is packed, known when the archive is freed; behind entries it is looked for … */
    int64_t zip; /* … while it may be before this place; -1: nothing is of interest there */
    bool marks;  /* it is one of many that were not looked at */
    bool beyond; /* more stands behind the entries than is unpacked to find the end */
} package_reader;

/* A zip file without its directory is read by what stands before each entry. */
typedef enum package_way { AS_IT_SAYS, BY_ENTRIES } package_way;

/** What unpacks a stream that begins like this. */
void package_support_filters(struct archive *archive, package_form form);
/** Not begun yet. What entries in a stream are read from is an archive of its own, so that who wants to sees
 *  the bytes, and what stands behind them. One at a time. @param within of a stream: what is in it
 *  @return NULL: out of memory */
struct archive *package_open(package_reader *in, package_form form, package_form within, package_way how);

#endif
