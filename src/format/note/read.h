/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF notes of device ELFs: the iteration, and the three descriptors that tools write. Pure functions over a
 * section. */
#ifndef CV_FORMAT_NOTE_READ_H
#define CV_FORMAT_NOTE_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_NOTE_HEAD        12u /* n_namesz, n_descsz, n_type */
#define CV_NOTE_CUINFO      1000u
#define CV_NOTE_CUINFO_DESC 24u /* place of its descriptor: the first and only one */
#define CV_NOTE_TKINFO      2000u
#define CV_NOTE_CUVER_SIZE  12u /* of its descriptor */
#define CV_NOTE_OWNER       "NVIDIA Corp"
#define CV_NOTE_ALIGN       4u /* of names and descriptors */
#define CV_TKINFO_VERSION   2u
/* Tools of 12.0 to 12.9 stored their own version in its place. */
#define CV_TKINFO_OLD_FIRST 120u
#define CV_TKINFO_OLD_LAST  129u

typedef struct cv_note {
    uint64_t off;  /* in the section */
    uint64_t next; /* of what follows, 4-aligned */
    uint32_t namesz, descsz, type;
    uint64_t name, desc; /* offsets in the section */
} cv_note;

/* What stands at pos, without a report: for dumps. *out only on OK. */
typedef enum cv_note_state { CV_NOTE_OK = 0, CV_NOTE_END, CV_NOTE_BROKEN } cv_note_state;
CV_MUST cv_note_state cv_note_at(cv_span span, uint64_t pos, cv_note *out);

/* Next note at *pos, which is advanced; owner, type and padding are checked. OK, END, or MALFORMED
 * (reported). */
CV_MUST cuvet_status cv_note_next(cv_ctx *ctx, cv_span span, uint64_t type, uint64_t *pos, cv_note *out);

/* .note.nv.tkinfo: which tool wrote the file. */
typedef struct cv_tkinfo {
    uint32_t version;
    cv_span object, tool, tool_version, build, command;
} cv_tkinfo;
/* Strings are set on OK only. Reports what breaks the layout; the version is the caller's to judge. */
CV_MUST cuvet_status cv_tkinfo_read(cv_ctx *ctx, cv_span span, const cv_note *note, cv_tkinfo *out);
/* Name and version of the tool of the first note of a tool note section, without a report. False: it cannot
 * be read. */
CV_MUST bool cv_tkinfo_peek(cv_span span, cv_span *tool, cv_span *version);
/* SM number and suffix of "-arch sm_90a" in a command line. False: none. */
CV_MUST bool cv_tkinfo_arch(const cv_tkinfo *tkinfo, uint32_t *sm, char *suffix);

/* .note.nv.cuinfo: one note, 8 bytes. */
typedef struct cv_cuinfo {
    uint16_t version, virtual_sm, toolkit, reserved;
} cv_cuinfo;
/* Sizes, version and reserved bytes are checked. *stored: how many of the 8 bytes the note declares
 * (hand-assembled: 6). */
CV_MUST cuvet_status cv_cuinfo_read(cv_ctx *ctx, cv_span span, cv_cuinfo *out, uint32_t *stored);

/* .note.nv.cuver, which 12.7 and 12.8 tools wrote instead: one note, 12 bytes, three of its four fields
 * always 1. */
typedef struct cv_cuver {
    uint16_t version, sm;
} cv_cuver;
/* The section holds a device note under the older name: the vendor's finalizer keeps the name of what it
 * read. */
CV_MUST bool cv_cuver_is_cuinfo(cv_span span);
CV_MUST cuvet_status cv_cuver_read(cv_ctx *ctx, cv_span span, cv_cuver *out);

#endif
