/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the caged process asks the keeper of a database for, and what it answers. Pure functions, as in
 * frames.h: to the keeper the caged side is a stranger. Both ends are the same program: no byte order. */
#ifndef CLI_KNOWN_FRAME_H
#define CLI_KNOWN_FRAME_H

#include "../report.h"

enum {
    KNOWN_SOURCE_MOST = 255,  /* bytes of what code is called: "nvidia-nccl-cu12 2.27.3" */
    KNOWN_CODE_MOST = 31,     /* of an architecture */
    KNOWN_KERNEL_MOST = 4096, /* of the name of a kernel */
    KNOWN_CHUNK = 32768,      /* of a recording, in one packet */
    KNOWN_TELL = 8,           /* names of sources that are told; the rest is counted */
    KNOWN_TEXT_MOST = KNOWN_CHUNK
};

typedef enum known_verb {
    /* known code */
    KNOWN_ASK_PIECE = 1, /* by bytes, else by print */
    KNOWN_ASK_KERNEL,    /* by print */
    KNOWN_SOURCE,        /* text: what is added from now on comes from there */
    KNOWN_ADD_PIECE,     /* bytes, print, code */
    KNOWN_ADD_KERNEL,    /* print, code, text: its name */
    /* verdicts, of inputs that the keeper was told of, by number */
    KNOWN_GET, /* the recording, if there is one */
    KNOWN_PUT, /* a part of one: `total` bytes in all, text: those from `at` on */
    KNOWN_DROP,
    /* the last one: everything is written down now */
    KNOWN_END
} known_verb;

/* One packet: this, then the text, without a NUL. */
typedef struct known_order {
    uint32_t verb, number;
    uint64_t at, total;
    cli_digest bytes, print; /* zeros: it is not known */
    char code[KNOWN_CODE_MOST + 1];
    uint32_t n_text, unused;
} known_order;

/* How well something is known. */
typedef enum known_match { KNOWN_NOT, KNOWN_CODE, KNOWN_BYTES } known_match;

/* One packet: this, then the text: names of sources, each with its NUL; or a part of a recording. */
typedef struct known_reply {
    uint32_t mark;
    uint32_t failed; /* what was wrong was said: an exit code, else 0 */
    uint32_t match;  /* known_match; of KNOWN_GET KNOWN_BYTES or KNOWN_NOT */
    uint32_t more;   /* sources that are not named */
    uint64_t total;  /* of a recording; of the end: rows that are new */
    uint32_t n_text, unused;
} known_reply;

#define KNOWN_REPLY ((uint32_t)'c' | (uint32_t)'v' << 8 | (uint32_t)'k' << 16 | (uint32_t)'n' << 24)

/* What the keeper was started for. */
typedef enum known_purpose { KNOWN_FOR_LOOKUP, KNOWN_FOR_ADDING, KNOWN_FOR_VERDICTS } known_purpose;

/** Can code be called that? */
bool known_name_ok(const char *name, size_t size);
/** Is this packet an order that the keeper may follow? @param text what came behind the head */
bool known_order_ok(const known_order *order, size_t count, const char *text, known_purpose purpose);
/** May the caged side go on with this reply? */
bool known_reply_ok(const known_reply *reply, size_t count, const char *text);

#endif
