/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/status.h>

const char *cuvet_status_name(cuvet_status status)
{
    switch (status) {
    case CUVET_OK: return "OK";
    case CUVET_END: return "END";
    case CUVET_E_MALFORMED: return "MALFORMED";
    case CUVET_E_UNSUPPORTED: return "UNSUPPORTED";
    case CUVET_E_NO_MATCH: return "NO_MATCH";
    case CUVET_E_REFUSED: return "REFUSED";
    case CUVET_E_UNKNOWN: return "UNKNOWN";
    case CUVET_E_TRUNCATED: return "TRUNCATED";
    case CUVET_E_ARCH: return "ARCH";
    case CUVET_E_COMPILER: return "COMPILER";
    case CUVET_E_LIMIT: return "LIMIT";
    case CUVET_E_NOMEM: return "NOMEM";
    case CUVET_E_IO: return "IO";
    case CUVET_E_CANCELLED: return "CANCELLED";
    case CUVET_E_USAGE: return "USAGE";
    case CUVET_E_HANDLE: return "HANDLE";
    case CUVET_E_STALE_HANDLE: return "STALE_HANDLE";
    case CUVET_E_HANDLE_KIND: return "HANDLE_KIND";
    case CUVET_E_BUSY: return "BUSY";
    case CUVET_E_POISONED: return "POISONED";
    case CUVET_E_EXISTS: return "EXISTS";
    case CUVET_E_NULL: return "NULL";
    case CUVET_E_STATE: return "STATE";
    case CUVET_E_INTERNAL: return "INTERNAL";
    }
    return "?";
}

const char *cuvet_version(void)
{
    return "0.1.0";
}

const char *cuvet_status_text(cuvet_status status)
{
    switch (status) {
    case CUVET_OK:
    case CUVET_END: return "no error";
    case CUVET_E_MALFORMED: return "malformed";
    case CUVET_E_UNSUPPORTED: return "not supported";
    case CUVET_E_NO_MATCH: return "nothing fits";
    case CUVET_E_REFUSED: return "refused";
    case CUVET_E_UNKNOWN: return "not device code of any known kind";
    case CUVET_E_TRUNCATED: return "truncated";
    case CUVET_E_ARCH: return "no such target";
    case CUVET_E_COMPILER: return "a compiler is needed, or it failed";
    case CUVET_E_LIMIT: return "a limit was reached";
    case CUVET_E_NOMEM: return "out of memory";
    case CUVET_E_IO: return "input or output failed";
    case CUVET_E_CANCELLED: return "cancelled";
    case CUVET_E_USAGE: return "an argument is out of its range";
    case CUVET_E_HANDLE: return "no handle of this context";
    case CUVET_E_STALE_HANDLE: return "the object was destroyed before";
    case CUVET_E_HANDLE_KIND: return "a handle of another kind of object";
    case CUVET_E_BUSY: return "the object is in use";
    case CUVET_E_POISONED: return "the object had an internal error before";
    case CUVET_E_EXISTS: return "file exists";
    case CUVET_E_NULL: return "a pointer that is needed is NULL";
    case CUVET_E_STATE: return "not in a state for this call";
    case CUVET_E_INTERNAL: return "internal error; this is a defect of cuvet, please report it";
    }
    return "?";
}
