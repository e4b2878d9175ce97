/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One thing of a link, to be broken. Each ends the test when there is none. */
#ifndef CV_TEST_PICK_H
#define CV_TEST_PICK_H

#include "link/run.h"

cv_id kept_relocation(const cv_link *link);
/* What stays is an address in memory that the link has laid out itself. */
void kept_names(cv_link *link, uint8_t space);
cv_irel *added_relocation(cv_link *link);
cv_irec *record_with_symbol(cv_link *link);
cv_irec *raw_record(cv_link *link);
/* The record of an attribute that a kernel has, of the only kernel. */
cv_irec *record_of(cv_link *link, uint8_t code);
/* A section with two pieces. */
cv_osec *pieced(cv_link *link);
cv_isym *placed(cv_link *link);
cv_isym *reserved(cv_link *link);
cv_id patched(cv_link *link);

#endif
