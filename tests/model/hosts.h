/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which files take part in a link, by what host objects say of themselves: docs/link.md, "Files and
 * libraries", which says what the reference linker does. */
#ifndef CV_TESTS_MODEL_HOSTS_H
#define CV_TESTS_MODEL_HOSTS_H

#include <stdbool.h>

typedef enum md_half {
    MD_CALLER,   /* a kernel; calls what the other half defines */
    MD_CALLED,   /* defines it */
    MD_PRINTER,  /* a kernel; calls what the driver defines */
    MD_FINISHED, /* what a device link made: no input, names the module that it linked */
    MD_WHOLE     /* a whole program: no input */
} md_half;

typedef struct md_object {
    md_half half;
    bool host;               /* an object for the host program, which has a module; else a cubin */
    bool system;             /* of a library of the system */
    const char *module;      /* "": it has none */
    bool lists;              /* it says which kernels its host code launches */
    const char *launched[2]; /* by these names and patterns; NULL: none */
    /* out: */
    bool already, not_needed; /* why it does not take part */
} md_object;

/* code: is any looked at? If not, libraries are needed as soon as there is something else. */
void md_take_part(md_object *object, unsigned count, bool code);
bool md_takes_part(const md_object *object);
/* What a kernel is called; NULL: the half has none. */
const char *md_kernel_of(md_half half);
/* "kernels that no list names are dead code": of the objects that take part. */
bool md_kernel_stays(const md_object *object, unsigned count, const char *kernel);
/* Is each name defined once, and everything that is referred to defined? */
bool md_can_be_linked(const md_object *object, unsigned count);
/* "would be more than an identifier in that program" */
bool md_is_module_name(const char *name);

#endif
