/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The last diagnostic of a context that is no note, for callers without a callback. Objects of one context
 * may be used on several threads, so that it has a lock of its own. */
#ifndef CV_API_LAST_H
#define CV_API_LAST_H

#include <pthread.h>

#include <cuvet/context.h>

typedef struct cv_last {
    pthread_mutex_t lock;
    cuvet_diag diag;
    bool is_set;
    char text[1024];
} cv_last;

void cv_last_keep(cv_last *last, const cuvet_diag *diag);
/* "Title: message", and "path at 0x40", cut to cap and terminated. */
void cv_last_message(const cuvet_diag *diag, char *buf, size_t cap);
void cv_last_place(const cuvet_diag *diag, char *buf, size_t cap);
/* "CV-ELF-012 Title: message (path at 0x40)", cut to cap. @return length that was needed */
size_t cv_last_text(const cuvet_diag *diag, char *buf, size_t cap);

#endif
