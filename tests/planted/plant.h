/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of defects share. */
#ifndef CV_TESTS_PLANT_H
#define CV_TESTS_PLANT_H

#include "link/run.h"

/* Was the defect of this name made after this stage? */
bool cv_link_plant_more(cv_link *link, const char *wanted, const char *stage);

/* plant_models.c: the same for those that only a model notices. */
bool cv_link_plant_of_models(cv_link *link, const char *wanted, const char *stage);

/* plant_bytes.c: a byte of what was written. */
bool plant_first_byte(cv_link *link, uint64_t group);
bool plant_row_type(cv_link *link, uint64_t group);
bool plant_row_symbol(cv_link *link, uint64_t group);
bool plant_row_place(cv_link *link, uint64_t group);
bool plant_named_byte(cv_link *link, uint64_t number);
bool plant_header_byte(cv_link *link, uint64_t at);

/* plant_slots.c: slots that a kernel reaches and nobody writes. */
bool plant_slots_below(cv_link *link, uint64_t unused);
bool plant_slots_unmarked(cv_link *link, uint64_t unused);
bool plant_slot_unwritten(cv_link *link, uint64_t unused);

#endif
