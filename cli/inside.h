/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is in one piece of device code: its unpacked bytes, their SHA-256, and what the functions of a device
 * ELF use. For commands that tell more of a piece than the scan does. */
#ifndef CLI_INSIDE_H
#define CLI_INSIDE_H

#include "report.h"
#include "resources.h"

/* Bytes of the present file that may still be looked at: its pieces may all lie over the same ones. */
typedef struct cli_looking {
    uint64_t left;
    int rc;       /* of all files */
    bool plain;   /* nobody wants the digest of a piece … */
    bool shallow; /* … or what is in a device ELF */
} cli_looking;

typedef struct cli_inside {
    bool unpacked;
    cuvet_bytes bytes; /* gone with the next piece */
    cli_digest digest; /* of the bytes */
    bool has;          /* the resources of a device ELF */
    cuvet_ctx *ctx;
    cuvet_elf elf; /* only where has is set */
    cli_resources use;
} cli_inside;

/** For each file, in the sink's begin(). */
void cli_looking_begin(cli_looking *looking, const cli_session *session);
/** So many more bytes are looked at. @return false: they may not, which was said */
bool cli_looking_spend(cli_looking *looking, const cli_session *session, uint64_t count);
/** In the sink's member(). What is not known in full is said on standard error, and is in looking->rc. The
 * library for hashes must have been loaded, unless looking->plain. */
void cli_inside_look(cli_inside *inside, cli_looking *looking, const cli_session *session,
                     const cuvet_item *item);
/** SHA-256 of what nobody can unpack, as it is stored: scrambled LTO-IR. @return false: it is not known, as
 * in a container that was unpacked itself, where offsets are none of the file's */
bool cli_inside_stored(cli_digest *digest, cli_looking *looking, const cli_session *session,
                       const cuvet_item *item);
void cli_inside_leave(cli_inside *inside);

#endif
