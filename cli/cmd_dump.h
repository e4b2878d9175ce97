/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: what its files share. A dump is a series of records, each a list of named fields; the same
 * calls give a line of a table for people or an object of NDJSON. Nothing in it depends on anything but the
 * file. */
#ifndef CLI_CMD_DUMP_H
#define CLI_CMD_DUMP_H

#include "report.h"

/* Longest name that is printed in full; C++ kernels reach a few thousand bytes. Bounds the output of a file
 * whose symbols all share one huge name. */
#define DUMP_NAME_CAP 8192u

typedef enum dump_part {
    DUMP_HEADER = 1 << 0,
    DUMP_SECTIONS = 1 << 1,
    DUMP_SEGMENTS = 1 << 2,
    DUMP_SYMBOLS = 1 << 3,
    DUMP_RELOCS = 1 << 4,
    DUMP_INFO = 1 << 5,
    DUMP_COMPAT = 1 << 6,
    DUMP_NOTES = 1 << 7,
    DUMP_CALLGRAPH = 1 << 8, /* with prototypes and relocation actions */
    DUMP_UNIFIED = 1 << 9,
    DUMP_CAPSULES = 1 << 10,
    DUMP_FRAMES = 1 << 11,
    DUMP_DATA = 1 << 12,
    DUMP_PTX = 1 << 13
} dump_part;
#define DUMP_DEFAULT ((1u << 12) - 1)

typedef struct dump_out {
    FILE *to;
    /* Tables of a hostile file may all lie over the same bytes, all their names be one long string, and all
     * its pieces be unpacked from next to nothing: what a piece may print is bounded by its size, and what a
     * file may by its own. About the bytes that were written, and those that were looked at to write them. */
    uint64_t spent, budget;
    uint64_t file_left; /* of what all pieces of the file may spend */
    bool cut;           /* a budget ended the dump of this piece */
    bool json;
    const char *file;        /* name of the input */
    char path[CLI_PATH_CAP]; /* of the piece */
    bool vertical;           /* text: one field per line */
    bool first;              /* text: no field of this line yet */
    bool titled;             /* text: nothing since the last title */
    cli_record rec;
    FILE *memory; /* JSON: text field that is being written */
    char *memory_text;
    size_t memory_size;
} dump_out;

typedef struct dump_state {
    cuvet_ctx *ctx;
    cuvet_elf elf;
    cuvet_elf_header header;
    unsigned parts;
    dump_out out;
} dump_state;

/* out_*: cmd_dump_out.c. Width: columns of the text form, negative = left, 0 = as long as it is. Keys are for
 * JSON, and the label of vertical records. */
void out_title(dump_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** "what: section INDEX NAME" as a title. */
void out_section_title(dump_out *out, const char *what, uint64_t index, cuvet_bytes name);
void out_head(dump_out *out, const char *line);
void out_begin(dump_out *out, const char *type, bool vertical);
void out_dec(dump_out *out, const char *key, int width, uint64_t value);
/** A field that only machines get: where it belongs, or the number behind a name. */
void out_number(dump_out *out, const char *key, uint64_t value);
void out_signed(dump_out *out, const char *key, int width, int64_t value);
void out_hex(dump_out *out, const char *key, int width, uint64_t value);
void out_text(dump_out *out, const char *key, int width, const char *value);
void out_name(dump_out *out, const char *key, int width, cuvet_bytes bytes);
/** Free text as the last field of a line, or a line of a vertical record: print to what this returns, then
 * end it. */
FILE *out_detail(dump_out *out, const char *key);
void out_detail_end(dump_out *out, const char *key);
/** Line break inside free text: a new indented line for people, a space in JSON. */
void out_wrap(const dump_out *out, FILE *to);
void out_end(dump_out *out);
/** Spend 'count' of the budget before an element is shown. @return false: used up, show no more. */
bool out_spend(dump_out *out, uint64_t count);
/** What follows offset `at` of a section cannot be decoded; the findings of the scan say why. */
void out_damage(dump_out *out, uint64_t section, uint64_t at);
/** Numbers and escaped bytes into free text. */
void dump_put_dec(FILE *to, uint64_t value);
void dump_put_hex(FILE *to, uint64_t value);
void dump_put(dump_out *out, FILE *to, cuvet_bytes bytes);
bool dump_is(cuvet_bytes bytes, const char *text);
bool dump_starts(cuvet_bytes bytes, const char *text);

/* cmd_dump_elf.c */
/** Section i; an all-zero one past the end. */
bool dump_section(const dump_state *dump, uint64_t index, cuvet_elf_section *out);
/** Symbol table that section 'section' speaks of. 0: none. */
uint64_t dump_symtab_of(const dump_state *dump, const cuvet_elf_section *section);
/** Name of symbol i of a table; an unnamed section symbol has the name of its section. */
cuvet_bytes dump_symbol_name(const dump_state *dump, uint64_t table, uint64_t index);
/** "NAME [i]" into free text. */
void dump_put_symbol(dump_state *dump, FILE *to, uint64_t table, uint64_t index);
void dump_header(dump_state *dump);
void dump_sections(dump_state *dump);
void dump_segments(dump_state *dump);
void dump_symbols(dump_state *dump);
void dump_relocs(dump_state *dump);

/* cmd_dump_info.c */
void dump_info(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_compat(dump_state *dump, uint64_t index, const cuvet_elf_section *section);

/* cmd_dump_meta.c */
void dump_notes(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_callgraph(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_prototype(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_rel_action(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_unified(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_capsule(dump_state *dump, uint64_t index, const cuvet_elf_section *section);

/* cmd_dump_frame.c, cmd_dump_data.c */
void dump_frames(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_data(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
void dump_ptx(dump_state *dump, cuvet_bytes text, bool whole);

#endif
