/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects that stages of a finalization could have, one for each row of FINALS; see plant.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finalize/job.h"

/* What a backend wrote is 'made' until stage write, then the output. */
static cv_block *image_of(cv_final_job *job)
{
    return job->made.span.len ? &job->made : job->out;
}

static bool flip(cv_final_job *job, uint64_t at)
{
    cv_block *image = image_of(job);
    uint8_t *byte = at < image->span.len ? cv_block_at(image, at, 1) : NULL;

    if (byte)
        *byte ^= 1;
    return byte != NULL;
}

/* A byte of the header. */
static bool header_byte(cv_final_job *job, uint64_t at)
{
    return flip(job, at);
}

static uint64_t row_of(cv_final_job *job, uint64_t index)
{
    cv_span image = image_of(job)->span;

    return cv_u64_at(image, cv_elf_ehdr_at(false, CV_EH_SHOFF)) + index * cv_elf_shdr_size(false);
}

/* Of what was written the last section of this type, SHT_NOBITS excepted; 0: there is none. */
static uint64_t last_row(cv_final_job *job, uint64_t type, uint64_t flags)
{
    cv_span image = image_of(job)->span;
    uint64_t count = cv_u32_at(image, cv_elf_ehdr_at(false, CV_EH_SHNUM)) & UINT16_MAX;

    for (uint64_t i = count; i > 1; i--) {
        uint64_t row = row_of(job, i - 1);

        if (cv_u32_at(image, row + 4) == type && (cv_u64_at(image, row + 8) & flags) == flags &&
            cv_u64_at(image, row + 32) != 0)
            return row;
    }
    return 0;
}

enum { CODE, BANK, SYMBOLS, STRINGS, ROWS, RECORDS, NOTE, DEBUG };

static uint64_t section_row(cv_final_job *job, uint64_t what)
{
    switch (what) {
    case CODE: return last_row(job, CV_SHT_PROGBITS, CV_SHF_ALLOC | CV_SHF_EXECINSTR);
    case BANK: return last_row(job, CV_SHT_PROGBITS, CV_SHF_ALLOC);
    case SYMBOLS: return last_row(job, CV_SHT_SYMTAB, 0);
    case STRINGS: return last_row(job, CV_SHT_STRTAB, 0);
    case ROWS: return last_row(job, CV_SHT_RELA, 0);
    case RECORDS: return last_row(job, CV_SHT_CUDA_INFO, 0);
    case NOTE: return last_row(job, CV_SHT_NOTE, 0);
    default: return last_row(job, CV_SHT_PROGBITS, 0);
    }
}

/* The last byte but three of its contents. */
static bool content_byte(cv_final_job *job, uint64_t what)
{
    uint64_t row = section_row(job, what);
    cv_span image = image_of(job)->span;

    return row != 0 && flip(job, cv_u64_at(image, row + 24) + cv_u64_at(image, row + 32) - 4);
}

/* The first one: of a symbol table that is a row of zeros, of strings a zero. */
static bool first_byte(cv_final_job *job, uint64_t what)
{
    uint64_t row = section_row(job, what);

    return row != 0 && flip(job, cv_u64_at(image_of(job)->span, row + 24));
}

/* A byte of the row of the last code section: sh_type, sh_flags, sh_offset, sh_size, sh_link, sh_info, … */
static bool row_byte(cv_final_job *job, uint64_t at)
{
    uint64_t row = section_row(job, CODE);

    return row != 0 && flip(job, row + at);
}

static bool shorter(cv_final_job *job, uint64_t by)
{
    cv_block *image = image_of(job);

    if (image->span.len <= by)
        return false;
    image->span.len -= by;
    return true;
}

static bool other_target(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->dst_sm = job->dst_sm == 103 ? 100 : 103;
    return true;
}

static bool other_form(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->out_kind = job->out_kind == CV_KIND_SASS ? CV_KIND_CAPMERC : CV_KIND_SASS;
    return true;
}

static bool other_input_form(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->in_kind = job->in_kind == CV_KIND_SASS ? CV_KIND_CAPMERC : CV_KIND_SASS;
    return true;
}

static bool other_part(cv_final_job *job, uint64_t pair)
{
    for (uint64_t i = job->part.count; i > 1; i--)
        if (*cv_u8s_get(&job->part, i - 1) == pair >> 8) {
            *cv_u8s_at(&job->part, i - 1) = pair & UINT8_MAX;
            return true;
        }
    return false;
}

static bool verbatim_other(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->verbatim = !job->verbatim;
    return true;
}

static bool request_target(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->req.dst_sm = job->req.dst_sm == 103 ? 100 : 103;
    return true;
}

static bool request_short(cv_final_job *job, uint64_t by)
{
    if (job->verbatim || job->req.in.len <= by)
        return false;
    job->req.in.len -= by;
    return true;
}

static bool other_backend(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    if (!job->use.backend)
        return false;
    job->use.backend = job->use.backend == &cv_backend_copy ? &cv_backend_strip : &cv_backend_copy;
    return true;
}

static bool no_backend(cv_final_job *job, uint64_t unused)
{
    bool had = job->use.backend != NULL;

    (void)unused;
    job->use.backend = NULL;
    return had;
}

static bool says_moved(cv_final_job *job, uint64_t unused)
{
    (void)unused;
    job->said.moved = !job->verbatim;
    return job->said.moved;
}

static bool note_elsewhere(cv_final_job *job, uint64_t by)
{
    if (job->bodies.count == 0)
        return false;
    cv_final_bodies_at(&job->bodies, 0)->section += (uint32_t)by;
    return true;
}

static bool note_longer(cv_final_job *job, uint64_t word)
{
    if (job->bodies.count == 0)
        return false;
    cv_put_u32(&cv_final_bodies_at(&job->bodies, 0)->bytes, (uint32_t)word);
    return true;
}

typedef struct final_plant {
    const char *name, *stage;
    bool (*make)(cv_final_job *job, uint64_t number); /* false: nothing of the kind is there */
    uint64_t number;
} final_plant;

#define PARTS(from, to) ((uint64_t)(from) << 8 | (to))

static const final_plant FINALS[] = {
    { "final-target", "admit", other_target, 0 },
    { "final-form", "admit", other_form, 0 },
    { "final-input-form", "admit", other_input_form, 0 },
    { "final-code-as-capsule", "classify", other_part, PARTS(CV_PART_CODE, CV_PART_CAPSULE) },
    { "final-capsule-as-code", "classify", other_part, PARTS(CV_PART_CAPSULE, CV_PART_CODE) },
    { "final-symbols-as-twin", "classify", other_part, PARTS(CV_PART_SYMBOLS, CV_PART_TWIN) },
    { "final-verbatim", "fast path", verbatim_other, 0 },
    { "final-request-target", "fast path", request_target, 0 },
    { "final-request-short", "fast path", request_short, 64 },
    { "final-backend", "choose", other_backend, 0 },
    { "final-no-backend", "choose", no_backend, 0 },
    { "final-made-code", "backend", content_byte, CODE },
    { "final-made-bank", "backend", content_byte, BANK },
    { "final-made-symbols", "backend", content_byte, SYMBOLS },
    { "final-made-strings", "backend", content_byte, STRINGS },
    { "final-made-rows", "backend", content_byte, ROWS },
    { "final-made-records", "backend", content_byte, RECORDS },
    { "final-made-note", "backend", content_byte, NOTE },
    { "final-made-debug", "backend", content_byte, DEBUG },
    { "final-made-type", "backend", header_byte, 16 },
    { "final-made-abi", "backend", header_byte, 8 },
    { "final-made-flags", "backend", header_byte, 49 },
    { "final-made-names", "backend", header_byte, 62 },
    { "final-made-section-flags", "backend", row_byte, 8 },
    { "final-made-section-place", "backend", row_byte, 25 },
    { "final-made-section-info", "backend", row_byte, 44 },
    { "final-made-section-align", "backend", row_byte, 48 },
    { "final-made-short", "backend", shorter, 8 },
    { "final-moved", "transform", says_moved, 0 },
    { "final-note-elsewhere", "notes", note_elsewhere, 1 },
    { "final-note-longer", "notes", note_longer, 7 },
    { "final-code", "write", content_byte, CODE },
    { "final-first-code", "write", first_byte, CODE },
    { "final-bank", "write", content_byte, BANK },
    { "final-symbols", "write", content_byte, SYMBOLS },
    { "final-strings", "write", content_byte, STRINGS },
    { "final-rows", "write", content_byte, ROWS },
    { "final-records", "write", content_byte, RECORDS },
    { "final-note", "write", content_byte, NOTE },
    { "final-debug", "write", content_byte, DEBUG },
    { "final-flags", "write", header_byte, 49 },
    { "final-section-info", "write", row_byte, 44 },
    { "final-short", "write", shorter, 8 },
};

void cv_final_plant(cv_final_job *job, const char *stage)
{
    const char *wanted = getenv("CV_PLANT");

    for (size_t i = 0; wanted && i < CV_COUNT(FINALS); i++)
        if (strcmp(CV_AT(FINALS, i).name, wanted) == 0 && strcmp(CV_AT(FINALS, i).stage, stage) == 0 &&
            CV_AT(FINALS, i).make(job, CV_AT(FINALS, i).number))
            (void)fprintf(stderr, "planted: %s\n", wanted);
}
