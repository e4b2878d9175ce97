/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes between a program and its workers, and what makes it acceptable: pure functions of bytes,
 * so that tests and a fuzz target reach them without a process. Both ends are of one version, on one
 * machine: no byte order. A request is a packet with descriptors (the file for the answer, then
 * inputs); the answer is in that file, and a short packet says that it is there.
 *
 * * The worker may have been taken over by an input: of what it says nothing is believed before it is
 * checked here. What comes to the worker is checked as well: a defect on one side must not become one
 * on the other. */
#ifndef CLI_WORKER_WIRE_H
#define CLI_WORKER_WIRE_H

#include <cuvet/worker.h>

/* First words of the packets and of the answer. */
#define WIRE_MARK(letter)                                                                                    \
    ((uint32_t)'C' | (uint32_t)'W' << 8 | (uint32_t)(letter) << 16 | (uint32_t)'1' << 24)
#define WIRE_HELLO   WIRE_MARK('H')
#define WIRE_REQUEST WIRE_MARK('Q')
#define WIRE_DONE    WIRE_MARK('D')
#define WIRE_ANSWER  WIRE_MARK('A')

enum {
    WIRE_PACKET = 65536, /* most bytes of a request */
    WIRE_INPUTS = 1024,
    WIRE_FILES = 64, /* descriptors of a request, that of the answer included */
    WIRE_CAGE = 320,
    WIRE_ALL_TIERS = 7, /* CLI_CAGE_ALL */
    WIRE_VERSION_TEXT = 16,
    WIRE_SAID = 16384 /* most findings of an answer, and most events */
};

/* What a worker says when it is ready. */
typedef struct wire_hello {
    uint32_t mark;
    uint32_t tiers;   /* of the cage that hold */
    uint32_t limited; /* address space may be limited */
    uint32_t size;    /* of a request: another one is another version */
    uint64_t base;    /* address space of an idle worker, bytes */
    char version[WIRE_VERSION_TEXT];
    char cage[WIRE_CAGE];
} wire_hello;

typedef struct wire_input {
    uint32_t file; /* number of a descriptor, from 1 on */
    uint32_t flags;
    uint64_t off, size;
} wire_input;

/* Then the inputs, then the texts: names of the inputs, then n_words words, each with its NUL. */
typedef struct wire_request {
    uint32_t mark, kind;
    uint64_t number;
    uint64_t most;                        /* bytes of the answer */
    uint64_t cpu_ms;                      /* of a process of its own; 0: no limit */
    uint32_t sm, suffix, policy, toolkit; /* of all kinds that have them */
    uint32_t flags;                       /* of the options */
    uint32_t want;                        /* select: request; scan: depth; finalize: form */
    uint32_t phase, level;                /* finalize */
    uint64_t max_output;                  /* finalize */
    uint32_t n_inputs, n_words, n_text;   /* words: kernels that are used; names in finalizations */
    uint32_t strict;                      /* of the limits 'live' alone counts, the others are the preset's */
    cuvet_limits limits;
} wire_request;

/* A request that was found in order. */
typedef struct wire_request_view {
    wire_request head;
    const void *input; /* of unknown alignment */
    const char *text;
} wire_request_view;

/* Words of a finalization, "" for none. */
enum { WIRE_BACKEND, WIRE_TOOL, WIRE_TOOL_VERSION, WIRE_TOOL_COMMAND, WIRE_FINAL_WORDS };

typedef struct wire_done {
    uint32_t mark;
    int32_t status; /* of a process that ended, as wait() gives it; 0: it has answered, or lives on */
    uint64_t number;
} wire_done;

typedef struct wire_finding {
    uint32_t severity, flags;
    uint64_t file_off, length, inner_off;
    uint32_t rule, place, text, unused; /* where they begin among the texts */
} wire_finding;

typedef struct wire_event {
    uint32_t kind, status;
    uint64_t off;
    uint32_t file, member; /* texts; 0: none */
} wire_event;

enum { WIRE_COUNTS = 6 };

/* Then findings, events, texts, each with its NUL, and the result. The first text is empty. */
typedef struct wire_answer {
    uint32_t mark, status;
    uint64_t number;
    uint32_t kind, code, verdict, has_result;
    uint32_t sm, suffix, n_findings, n_events;
    uint64_t dropped, n_text, n_result;
    uint64_t count[WIRE_COUNTS]; /* containers, members, images, notes, warnings, errors */
} wire_answer;

/* An answer that was found in order. */
typedef struct wire_answer_view {
    wire_answer head;
    const char *bytes;                       /* the whole answer */
    uint64_t findings, events, text, result; /* where they begin */
} wire_answer_view;

bool wire_hello_ok(const void *packet, size_t size, wire_hello *out);
bool wire_done_ok(const void *packet, size_t size, uint64_t number, wire_done *out);

/* n_files: descriptors that came with it. */
bool wire_take_request(const void *packet, size_t size, uint32_t n_files, wire_request_view *out);
wire_input wire_input_at(const wire_request_view *view, uint32_t index);
/* The text that begins at *at; *at becomes the beginning of the next one. */
const char *wire_next_text(const wire_request_view *view, size_t *at);

/* Bytes of an answer with this head, at most 'most'; 0: it is none. */
uint64_t wire_answer_size(const wire_answer *head, uint64_t number, uint64_t most);
/* 'size' is that of the head. */
bool wire_take_answer(const void *bytes, uint64_t size, uint64_t number, wire_answer_view *out);
/* Text by its place in a view. */
const char *wire_text(const wire_answer_view *view, uint32_t at);
wire_finding wire_finding_at(const wire_answer_view *view, uint64_t index);
wire_event wire_event_at(const wire_answer_view *view, uint64_t index);

#endif
