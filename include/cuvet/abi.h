/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** The binary interface as a table, for bindings of other languages: sizes and offsets of structures, values
 * of enumerators and flags. */
#ifndef CUVET_ABI_H
#define CUVET_ABI_H

#include <cuvet/status.h>

typedef enum cuvet_abi_kind {
    CUVET_ABI_STRUCT = 0, /**< name "cuvet_diag": value is its size, width its alignment */
    CUVET_ABI_MEMBER = 1, /**< name "cuvet_diag.rule": value is its offset, width its size; both in bytes */
    CUVET_ABI_VALUE = 2   /**< name "CUVET_E_NULL": value is the value, width the size of its type */
} cuvet_abi_kind;

typedef struct cuvet_abi_row {
    size_t size; /**< sizeof(cuvet_abi_row) of the caller */
    cuvet_abi_kind kind;
    const char *name; /**< static storage */
    uint64_t value;
    uint64_t width;
} cuvet_abi_row;

#ifdef __cplusplus
extern "C" {
#endif

/** Row by index, in the order of the headers; needs no context.
 *  @param out its size is set by the caller; zeroed unless OK
 *  @return CUVET_OK · CUVET_END past the last · CUVET_E_NULL · CUVET_E_USAGE (its size is none) */
CUVET_API CUVET_MUST cuvet_status cuvet_abi_get(size_t index, cuvet_abi_row *out);
/** "struct", "member", "value"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_abi_kind_name(cuvet_abi_kind kind);

#ifdef __cplusplus
}
#endif
#endif
