/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What cuvet-package says of the entries of a package: frames through a pipe, each followed by n bytes. The
 * reader believes nothing of them: pure functions, which tests and the fuzz target package reach without a
 * process. Both ends are of one build: no byte order. */
#ifndef CLI_PACKAGE_FRAME_H
#define CLI_PACKAGE_FRAME_H

#include "../what.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKAGE_MARK      ((uint32_t)'c' | (uint32_t)'v' << 8 | (uint32_t)'p' << 16 | (uint32_t)'k' << 24)
#define PACKAGE_NAME_MOST 65536u    /* bytes of the name of an entry */
#define PACKAGE_TEXT_MOST 512u      /* of what is said of one */
#define PACKAGE_DATA_MOST 1048576u  /* of a piece of one */
#define PACKAGE_NOTE_MOST 33554432u /* of all notes about one */

/* Descriptors of cuvet-package: where frames go, the package, and notes about it, if there are any. */
enum { PACKAGE_OUT = 3, PACKAGE_IN = 4, PACKAGE_NOTES = 5 };
/* Its first argument: this letter, and as many further as the number of the form; a second one, whatever it
 * is: there are notes. */
enum { PACKAGE_WORD = 'A' };

typedef enum package_verb {
    PACKAGE_ENTRY = 'e', /* an entry begins: its name */
    PACKAGE_DATA = 'd',  /* bytes of it, at an offset; between two pieces there are zeros */
    PACKAGE_DONE = 'z',  /* it is complete; offset: its size */
    PACKAGE_FAILED =
        'f', /* it is not: why. Without an entry before it, the package as a whole: there is no more of it */
    PACKAGE_FOLDER = 'o',  /* one: it counts, and nothing is said of it */
    PACKAGE_REMARK = 'r',  /* something else that is no file: its name, a NUL, what it is */
    PACKAGE_FINDING = 'w', /* of the package as a whole: what is wrong with it, which goes on */
    PACKAGE_NOTE = 'n', /* bytes for the process that unpacks the next entry, if that is a package: it alone
                              knows what they mean */
    PACKAGE_END = 'q'   /* that was all */
} package_verb;

/* Why something failed. */
typedef enum package_cause {
    PACKAGE_DAMAGED,
    PACKAGE_UNSUPPORTED,
    PACKAGE_MEMORY,
    PACKAGE_OTHER, /* a stream that ends in the middle: a file of other data, which begins like one */
    PACKAGE_N_CAUSE
} package_cause;

typedef struct package_frame {
    uint32_t mark;
    uint8_t verb, cause;  /* of what failed; of a finding: damage, or that there is too much */
    uint8_t fate, unused; /* cli_fate of an entry … */
    uint32_t n, layer;    /* … and the layer that did it, from 1; 0: none */
    uint64_t offset;
} package_frame;

/* What has happened so far; all zero at first. */
typedef struct package_state {
    bool open, ended; /* an entry is being sent; nothing more will come */
    uint64_t end;     /* of the entry's bytes so far */
    uint32_t notes;   /* bytes of them, about the next one */
} package_state;

/** May this frame come now? Then the state moves on. */
bool package_frame_ok(package_state *state, const package_frame *frame);
/** Is this a text that can be behind a frame: no NUL in it, but for the one of a remark, which cuts it in
 *  two? */
bool package_text_ok(const package_frame *frame, const char *text);

typedef enum package_form {
    PACKAGE_NONE,
    PACKAGE_ZIP,
    PACKAGE_SEVENZIP,
    PACKAGE_TAR,
    PACKAGE_CPIO,
    PACKAGE_DEB,
    PACKAGE_GZIP, /* from here on: streams, of tar or cpio or of a single file */
    PACKAGE_BZIP2,
    PACKAGE_XZ,
    PACKAGE_LZMA,
    PACKAGE_ZSTD,
    PACKAGE_LZ4,
    PACKAGE_SKIPPED, /* zstd or LZ4, behind a frame that is skipped */
    PACKAGE_RPM,     /* of any of them */
    PACKAGE_N_FORM
} package_form;

static inline bool package_is_stream(package_form form)
{
    return form >= PACKAGE_GZIP;
}

/* As many bytes as tell what a file is. */
enum { PACKAGE_HEAD = 512 };
/** Is this the beginning of a package? @param size of head, PACKAGE_HEAD at most */
package_form package_form_of(const uint8_t *head, size_t size);
/** Is it a tar file for sure? Its first header has the sum of its bytes. */
bool package_has_sum(const uint8_t *head, size_t size);
/** Whatever else it is, does it begin like a tar file that says so? */
bool package_is_tar(const uint8_t *head, size_t size);
/** Is it that of something that loaders, linkers or compilers take, whatever else it is? */
bool package_is_program(const uint8_t *head, size_t size);

#endif
