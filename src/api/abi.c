/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of the public headers come from abi.def, their numbers from the compiler. */
#include <cuvet/cuvet.h>
#include <cuvet/worker.h>

#include "bytes/sized.h"

cuvet_status cuvet_abi_get(size_t index, cuvet_abi_row *out)
{
    static const cuvet_abi_row ROWS[] = {
#define STRUCT(type) { sizeof(cuvet_abi_row), CUVET_ABI_STRUCT, #type, sizeof(type), _Alignof(type) },
#define MEMBER(type, member)                                                                                 \
    { sizeof(cuvet_abi_row), CUVET_ABI_MEMBER, #type "." #member, offsetof(type, member),                    \
      sizeof(((type *)0)->member) },
#define VALUE(name) { sizeof(cuvet_abi_row), CUVET_ABI_VALUE, #name, name, sizeof(name) },
#include "abi.def"
#undef STRUCT
#undef MEMBER
#undef VALUE
    };

    if (!out)
        return CUVET_E_NULL;
    if (index < CV_COUNT(ROWS))
        return cv_sized_give(out, &ROWS[index], sizeof(ROWS[index])) ? CUVET_OK : CUVET_E_USAGE;
    return cv_sized_give(out, &(size_t){ 0 }, sizeof(size_t)) ? CUVET_END : CUVET_E_USAGE;
}
