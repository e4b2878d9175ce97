/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs for the targets that compare a stage with its model: drawn from the bytes of an input by a
 * grammar, then edited, so that most of them pass the first stages; written as objects, which are examined
 * and linked as any others. */
#ifndef CV_FUZZ_PROGRAM_H
#define CV_FUZZ_PROGRAM_H

#include "common.h"
#include "link/run.h"
#include "model/model.h"

#define FZ_IMAGE 24576 /* of one object, at most */

/* What a target has programs with, besides functions and calls: what it does not look at costs time. */
#define FZ_TRAITS    1u /* records of functions */
#define FZ_VARIABLES 2u /* in shared memory */
#define FZ_SLOTS     4u /* textures and surfaces */

/* Code of the record of a trait in .nv.info; its format, spec/eiattr.def says. */
extern const uint8_t fz_trait_code[MD_TRAITS];

/* The program that these bytes choose; every choice has a meaning, and bytes that are missing are zero. */
void fz_program_draw(md_program *program, const uint8_t *bytes, size_t size, unsigned with);
/* The object of a unit. Its length. */
size_t fz_program_write(const md_program *program, unsigned unit, uint8_t *out);

typedef struct fz_linked {
    cv_ctx ctx;
    cv_link link;
    cv_block out;
    cv_slices file;
    char name[24]; /* that is asked for */
    const char *asked[1];
    uint64_t said;    /* all that was reported, as one number */
    cv_id fn[MD_FNS]; /* of a function of the program: that of the link, CV_NONE where no input names it */
} fz_linked;

typedef void fz_program_fn(const md_program *program, fz_linked *linked, cuvet_status status);

/* Draw, write, examine, link up to a stage; then let the target compare, and take everything down. For one
 * input in four (fz_one_in) the link runs a second time, with another key for its hash tables, and makes the
 * same. */
int fz_program_run(const uint8_t *data, size_t size, unsigned with, const char *stage,
                   fz_program_fn *compare);
/* What the link has made, as one number. */
uint64_t fz_program_made(const fz_linked *linked, cuvet_status status);
/* Was a rule said? */
bool fz_program_said(const fz_linked *linked, cv_rule rule);
/* The name of a function. */
size_t fz_program_name(const md_program *program, unsigned fn, char *out);

#endif
