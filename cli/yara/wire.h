/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the command and its process with libyara say to each other. Rules may come from strangers, and libyara
 * was not made for compiled ones that nobody vouches for: whoever takes that process over may say anything
 * here, so that all that it says is judged by wire.c before it is used, and is text and numbers only.
 * Both ends are the same program: no byte order. */
#ifndef CLI_YARA_WIRE_H
#define CLI_YARA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    YARA_NAME_CAP = 132, /* libyara has identifiers of up to 128 characters */
    YARA_TEXT_CAP = 512,
    YARA_PLACES = 16,     /* of one hit that are told … */
    YARA_PLACES_EACH = 4, /* … and of one string of it */
    YARA_METAS = 8,       /* of a rule that are told */
    YARA_HITS_PIECE = 64, /* of one piece that are told */
    YARA_REMARKS = 8,     /* of a compiler */
};

#define YARA_RULES_MOST (UINT64_C(64) << 20) /* bytes of a file of rules */

/* ---- what the rules came to: the first that the process says ---- */

typedef enum yara_state {
    YARA_READY,
    YARA_REFUSED,    /* the rules are wrong: the remarks say how */
    YARA_NO_LIBRARY, /* a remark says why */
    YARA_NO_CAGE,    /* the same */
    YARA_STATES
} yara_state;

typedef struct yara_remark {
    uint32_t line; /* 0: none */
    uint32_t warning;
    char text[YARA_TEXT_CAP];
} yara_remark;

typedef struct yara_hello {
    uint32_t state, rules, n_remarks, unused;
    yara_remark remark[YARA_REMARKS];
} yara_hello;

/* ---- a piece that rules are to look at ---- */

/* External variables, in this order in a question: each a text with its NUL. */
#define YARA_VARIABLES(USE)                                                                                  \
    USE(ARCH, "arch")                                                                                        \
    USE(KIND, "kind")                                                                                        \
    USE(PRODUCER, "producer")                                                                                \
    USE(KERNELS, "kernels")                                                                                  \
    USE(COMPRESSION, "compression")                                                                          \
    USE(PATH, "path")                                                                                        \
    USE(FILENAME, "filename")

typedef enum yara_variable {
#define VARIABLE(id, name) YARA_V_##id,
    YARA_VARIABLES(VARIABLE)
#undef VARIABLE
        YARA_N_VARIABLES
} yara_variable;

#define YARA_SECTION "section"

/* Then the variables, the sections, their names (each with its NUL), the bytes. */
typedef struct yara_ask {
    uint32_t milliseconds, texts, n_sections, names;
    uint64_t size;
} yara_ask;

typedef struct yara_section {
    uint64_t off, size;
    uint32_t name, index; /* where it begins in the names; its number in the ELF */
} yara_section;

/* The same in memory. */
typedef struct yara_question {
    yara_ask ask;
    const char *variable[YARA_N_VARIABLES];
    const yara_section *section;
    const char *names;
    const uint8_t *bytes;
} yara_question;

/* ---- what rules say of it: any number of hits, and the end ---- */

#define YARA_IS_HIT 1u
#define YARA_IS_END 2u

typedef struct yara_place {
    uint64_t off; /* in the bytes of the piece */
    uint64_t length;
    char string[YARA_NAME_CAP];
    uint32_t unused;
} yara_place;

typedef struct yara_meta {
    char name[YARA_NAME_CAP];
    char value[YARA_TEXT_CAP];
} yara_meta;

typedef struct yara_hit {
    uint32_t section;  /* 0: the whole piece; otherwise the section of this number, from 1 */
    uint32_t severity; /* cuvet_severity */
    uint32_t n_places, n_metas;
    uint64_t places; /* with those that are not told */
    char rule[YARA_NAME_CAP], space[YARA_NAME_CAP];
    char tags[YARA_TEXT_CAP];        /* with blanks between them */
    char description[YARA_TEXT_CAP]; /* the meta of this name; "" */
    yara_meta meta[YARA_METAS];      /* the others */
    yara_place place[YARA_PLACES];
} yara_hit;

typedef enum yara_outcome {
    YARA_DONE,
    YARA_TIME,   /* it took too long */
    YARA_MEMORY, /* there was no room for what was found */
    YARA_FAILED, /* what libyara gave up with is in `code` */
    YARA_OUTCOMES
} yara_outcome;

typedef struct yara_end {
    uint32_t outcome, code;
    uint32_t cut, unused; /* strings that were found so often that libyara looked no further */
    uint64_t hits[3];     /* by severity, with those that are not told */
} yara_end;

/* ---- both ends ---- */

/** Bytes of what follows a question. @return false: there is no such number */
bool yara_ask_size(const yara_ask *ask, uint64_t *size);
/** The parts of a question, whose `ask` was read, in what followed it: aligned as malloc does.
 * @return false: it is none */
bool yara_question_ok(yara_question *question, const void *block);
/** Is what was read something that the other side may say? Texts are ended then, and names have letters,
 * digits and underlines only. @param ask what was asked
 * @param said by severity, hits that came before the end */
bool yara_hello_ok(yara_hello *hello);
bool yara_hit_ok(yara_hit *hit, const yara_ask *ask);
bool yara_end_ok(const yara_end *end, const uint64_t said[3]);

#endif
