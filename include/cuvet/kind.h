/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Kinds of device code, and of files that carry it: one list for everything that is classified, found,
 * chosen or made. */
#ifndef CUVET_KIND_H
#define CUVET_KIND_H

#include <cuvet/status.h>

typedef enum cuvet_kind {
    CUVET_K_NONE = 0, /**< nothing that is known here */
    CUVET_K_CUBIN,    /**< device ELF */
    CUVET_K_PTX,
    CUVET_K_LTOIR,   /**< IR for link-time optimization */
    CUVET_K_MERCURY, /**< a member that says so; chosen code: a device ELF with a capsule, or not finalized */
    CUVET_K_FATBIN,
    CUVET_K_BITCODE, /**< LLVM or NVVM bitcode, of whatever machine */
    CUVET_K_NVVM,    /**< NVVM IR with its old magic, at offset 0 or behind four zero bytes */
    CUVET_K_WRAPPER, /**< host-side fatbin wrapper: names a container, is none */
    CUVET_K_ARCHIVE, /**< ar archive, thin ones included */
    CUVET_K_HOST_ELF
} cuvet_kind;

/** Which numbers of the reference tools. */
typedef enum cuvet_reference {
    CUVET_REFERENCE_CONTENT = 0, /**< what a payload is: 1 NVVM, 2 fat binary, 3 device ELF, 4 PTX */
    CUVET_REFERENCE_RESULT = 1   /**< what was chosen: 1 PTX, 2 device ELF, 8 IR, 16 Mercury */
} cuvet_reference;

#ifdef __cplusplus
extern "C" {
#endif

/** "elf", "ptx", "lto-ir", "mercury", "fatbin", "bitcode", "nvvm", "wrapper", "archive", "host-elf",
 * "unknown"; "?" for a value that is none of them. Static storage. */
CUVET_API const char *cuvet_kind_name(cuvet_kind kind);
/** The number of the reference tools for a kind; 0: they have none. */
CUVET_API uint32_t cuvet_kind_reference(cuvet_kind kind, cuvet_reference which);
/** "content", "result"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_reference_name(cuvet_reference which);

#ifdef __cplusplus
}
#endif
#endif
