/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Status codes: what steers a caller's program. Text for people is in diag.h; never branch on text. */
#ifndef CUVET_STATUS_H
#define CUVET_STATUS_H

#include <cuvet/base.h>

typedef enum cuvet_status {
    CUVET_OK = 0,
    CUVET_END = 1,            /**< an iteration has no further element */
    CUVET_E_MALFORMED = 10,   /**< the bytes break a rule; a diagnostic names it */
    CUVET_E_UNSUPPORTED = 11, /**< legal or unknown, but not handled; never used for corrupt bytes */
    CUVET_E_NO_MATCH = 12,
    CUVET_E_REFUSED = 13,      /**< legal, but not for this target or this use; a diagnostic says why */
    CUVET_E_UNKNOWN = 14,      /**< the bytes are nothing that is known here */
    CUVET_E_TRUNCATED = 15,    /**< the bytes end before what they begin does */
    CUVET_E_ARCH = 16,         /**< no such target */
    CUVET_E_COMPILER = 17,     /**< a compiler is needed and there is none, or it failed */
    CUVET_E_LIMIT = 20,        /**< a limit of limits.h was reached; a diagnostic names it */
    CUVET_E_NOMEM = 21,        /**< the allocator returned NULL */
    CUVET_E_IO = 22,           /**< a source or a sink failed */
    CUVET_E_CANCELLED = 23,    /**< the caller asked for the end */
    CUVET_E_USAGE = 30,        /**< an argument is outside its documented range */
    CUVET_E_HANDLE = 31,       /**< zero, never issued, or another context's handle */
    CUVET_E_STALE_HANDLE = 32, /**< the object was destroyed before */
    CUVET_E_HANDLE_KIND = 33,  /**< a handle of another kind of object */
    CUVET_E_BUSY = 34,         /**< the object is in use on another thread */
    CUVET_E_POISONED = 35,     /**< an earlier internal error; only destroy works */
    CUVET_E_EXISTS = 36,       /**< the output exists and may not be replaced */
    CUVET_E_NULL = 37,         /**< a required pointer is NULL */
    CUVET_E_STATE = 38,        /**< the object is not in a state for this call */
    CUVET_E_INTERNAL = 40      /**< one of our own invariants does not hold: our bug */
} cuvet_status;

#ifdef __cplusplus
extern "C" {
#endif

/** Name of a status without its prefix, e.g. "MALFORMED"; "?" for a value that is none. Static storage. */
CUVET_API const char *cuvet_status_name(cuvet_status status);
/** A status for people: "no such target"; "?" for a value that is none. Static storage. */
CUVET_API const char *cuvet_status_text(cuvet_status status);

#ifdef __cplusplus
}
#endif
#endif
