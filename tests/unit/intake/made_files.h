/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that no tool writes, made on the spot. */
#ifndef CV_TESTS_MADE_FILES_H
#define CV_TESTS_MADE_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef enum made_file {
    MADE_NONE = 0,
    MADE_LONG_HEADER,   /* bytes, then a container whose header says that it is longer */
    MADE_HIDDEN_HEADER, /* a member with a container in its header, whose payload is one */
    MADE_HIDDEN_MEMBER, /* … whose payload has one further behind */
    MADE_EMPTY,         /* a member without a payload, one of zeros */
    MADE_NEST,          /* archives one in the other, so that there is room for one region less than needed */
    MADE_NEST_DEEP,     /* … more than any limit allows */
    MADE_WIDE_HOST,     /* an object whose containers lie where one window ends and the next begins */
    MADE_DECOYS,        /* an object with what looks like containers and is none */
    MADE_GAP_FAR,       /* … with room for containers, a window before its offload binary */
    MADE_NO_OFFLOAD,    /* … with a container where offload binaries are */
    MADE_BITCODE,       /* for another machine, with what looks like a container in it */
    MADE_BITCODE_HOLDS, /* … with a container in it */
    MADE_BITCODE_FAR    /* … whose triple lies behind what is read at first */
} made_file;

/* Static memory, until the next call. */
const uint8_t *made_bytes(made_file which, size_t *size);
typedef struct made_module {
    uint64_t block;  /* bytes of a block before the triple */
    uint64_t values; /* of a record behind it, of six bits each; 0: none */
    unsigned behind; /* blocks behind the module */
} made_module;

void made_bitcode(uint8_t *bytes, uint64_t room, made_module how, size_t *size);

#endif
