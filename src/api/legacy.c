/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers of the tools this interface was measured against. */
#include <cuvet/input.h>

int cuvet_status_legacy(cuvet_status s, cuvet_legacy_call call)
{
    switch (s) {
    case CUVET_OK:
    case CUVET_END: return 0;
    case CUVET_E_NULL:
    case CUVET_E_NOMEM: return 1;
    case CUVET_E_NO_MATCH: return call == CUVET_LEGACY_SELECT ? 3 : 1;
    case CUVET_E_STATE: return call == CUVET_LEGACY_RESULT ? 1 : 2;
    case CUVET_E_HANDLE:
    case CUVET_E_STALE_HANDLE:
    case CUVET_E_HANDLE_KIND:
    case CUVET_E_UNKNOWN:
    case CUVET_E_TRUNCATED:
    case CUVET_E_ARCH: return 2;
    case CUVET_E_MALFORMED: return call == CUVET_LEGACY_SELECT ? 5 : 2;
    case CUVET_E_UNSUPPORTED:
    case CUVET_E_REFUSED:
    case CUVET_E_COMPILER:
    case CUVET_E_LIMIT:
    case CUVET_E_IO:
    case CUVET_E_CANCELLED:
    case CUVET_E_USAGE:
    case CUVET_E_BUSY:
    case CUVET_E_POISONED:
    case CUVET_E_EXISTS:
    case CUVET_E_INTERNAL: break;
    }
    return 5;
}
