/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The frames that cross the border of the cage, and what makes each one acceptable. Everything here is a pure
 * function of bytes and rules, so that tests and fuzz targets reach it without a process: the readers and
 * writers of descriptors are in broker*.c, porter*.c, input_opener.c and demangle.c. Both ends of a frame are
 * the same program: no byte order.
 *
 * The helper processes outside believe nothing that comes from the caged side. What comes from them is
 * checked as well: a defect on one side must not become one on the other. */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H

#include "broker.h"
#include "what.h"

/* ---- broker: a compiler for the caged side ---- */

#define BROKER_REQUEST 'r'
/* A byte alone: nobody waits for the request that runs. It means nothing when it comes too late. */
#define BROKER_CANCEL 'c'
#define BROKER_REPLY  0x79727663u

/* Then the options, each with its NUL, then the bytes. */
typedef struct broker_request {
    uint8_t mark;
    uint8_t ltoir;
    char suffix;
    uint8_t cubin, debug, unused[3];
    uint32_t sm, threads, n_options;
    uint64_t option_bytes, size;
} broker_request;

/* Then the result, then the log. */
typedef struct broker_reply {
    uint32_t mark, status, end, unused;
    int64_t detail;
    uint64_t size, n_log;
} broker_reply;

/** May the broker go on with this request? What follows its head is within the rules then. */
bool broker_request_ok(const broker_request *head, const cli_broker_rules *rules);
/** Cut the bytes behind a head into its options, all of which must be allowed. @param text
 * head->option_bytes of them @param option room for head->n_options, filled. */
bool broker_cut_options(const broker_request *head, const char *text, const char **option,
                        const cli_broker_rules *rules);
/** May the caged side go on with this reply? */
bool broker_reply_ok(const broker_reply *reply, const cli_broker_rules *rules);

/* ---- porter: finished files leave the cage ---- */

/* Files whose names are fixed before the cage is entered; each has a number below this. */
enum { PORTER_FILES = 2 };
/* Number of a file of the folder, whose name comes with the order. */
#define PORTER_IN_FOLDER 0xFFu
/* Longest name of a file in the folder: cuvet_save() takes no longer one either. */
#define PORTER_NAME_MOST 200u

#define PORTER_GIVE      'g' /* a new file in the folder, for the reply; one before is dropped */
#define PORTER_DONE      'd' /* the file is complete: it shall have its name */
#define PORTER_END       'e' /* the last order: the reply comes when all that has no name is gone */

/* One packet. For PORTER_DONE of a file in the folder the name follows, without a NUL. */
typedef struct porter_order {
    uint8_t verb;
    uint8_t file; /* number of the file; PORTER_IN_FOLDER for PORTER_GIVE and PORTER_END */
    uint16_t n_name;
} porter_order;

/* The whole answer; a descriptor comes along with the answer OK to PORTER_GIVE. */
typedef struct porter_reply {
    uint32_t mark, status;
} porter_reply;

#define PORTER_REPLY 0x74727663u

/* What was agreed before the cage, and what has happened since. */
typedef struct porter_state {
    uint32_t n_files; /* their numbers are 0 … */
    bool folder;      /* there is a folder */
    uint32_t done;    /* bit per file: it has its name */
    bool given;       /* a file of the folder is being written */
    bool ended;
} porter_state;

/** Is this packet an order that may come now? Then the state moves on. @param name of PORTER_NAME_MOST + 1
 * bytes, terminated; "" where no name belongs. */
bool porter_take_order(porter_state *state, const void *packet, size_t size, porter_order *order, char *name);
/** Is this a name that unpacking gives: plain characters, a number, the extension of a kind of member? */
bool porter_name_ok(const char *name, size_t len);
/** May the caged side go on with this reply? @param fd whether a descriptor came along @param give whether
 * one was asked for */
bool porter_reply_ok(const porter_reply *reply, size_t count, bool fd, bool give);

/* ---- opener: inputs come into the cage ---- */

#define OPENER_TEXT      ((size_t)160 * 1024) /* longest name, with room for a reason */
#define OPENER_NAME_MOST (OPENER_TEXT - 1024u)
#define OPENER_WHY_MOST  1024u

/* One packet: this, then the name and the reason, each with its NUL; a descriptor with it if it was opened.
 */
typedef struct opener_packet {
    uint64_t size;          /* bytes of the opened file */
    uint32_t n_name, n_why; /* bytes with the NUL; 0: none */
    int32_t rc;
    uint32_t number;                   /* under which the keeper of verdicts knows it; 0: it does not */
    uint8_t end, remark, opened, what; /* cli_what; size of a package: number of its entries */
    uint32_t layer;
    uint8_t fate, unused[2]; /* cli_fate */
    cli_package_hash hash;
} opener_packet;

/** May the caged side go on with this packet? @param n bytes that came, head included @param text what came
 * behind the head, OPENER_TEXT bytes of room @param whole nothing was cut off */
bool opener_packet_ok(const opener_packet *packet, size_t count, const char *text, bool fd, bool whole);

/* ---- demangler: names go out, texts come back ---- */

enum {
    DEMANGLE_NAME_MOST = 4096, /* bytes of a name that is asked for */
    DEMANGLE_TEXT_MOST = 32768 /* bytes of an answer */
};

/* A name that is asked for, or an answer: a number, then the text; no text: the name stays. The number of an
 * answer is that of its question, or 0 where the process died of a question. */
typedef struct demangle_packet {
    uint32_t number;
    char text[DEMANGLE_TEXT_MOST + 1];
} demangle_packet;

#define DEMANGLE_HEAD offsetof(demangle_packet, text)

/** May this name be asked for? */
bool demangle_name_ok(const uint8_t *name, size_t size);
typedef enum demangle_answer { DEMANGLE_LOST, DEMANGLE_OTHER, DEMANGLE_NONE, DEMANGLE_TEXT } demangle_answer;
/** What a packet of 'count' bytes is to somebody who asked question `number`: DEMANGLE_OTHER answers an older
 * question and is passed over. */
demangle_answer demangle_judge(const demangle_packet *packet, size_t count, uint32_t number);

#endif
