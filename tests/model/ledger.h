/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who owns which byte, byte by byte; and what a file may still cost, in numbers that cannot overflow. */
#ifndef CV_TESTS_MODEL_LEDGER_H
#define CV_TESTS_MODEL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define MD_BYTES 64

typedef struct md_ledger {
    uint8_t owners[MD_BYTES];   /* of a byte, but for those that may share it */
    bool crosses[MD_BYTES + 1]; /* an owner has bytes on both sides of this place */
} md_ledger;

void md_ledger_claim(md_ledger *ledger, unsigned off, unsigned len, bool shared);
/* Has each byte of [off, off + len) one owner, none of whom reaches out of it? */
bool md_ledger_complete(const md_ledger *ledger, unsigned off, unsigned len);

/* Wide enough for every sum and product of two numbers of a file. */
__extension__ typedef unsigned __int128 md_wide;

/* "Everything inside of a file, at whatever depth, draws from one budget": docs/architecture.md, and the
 * rules of the limits budget, total and effort. */
typedef struct md_budget {
    md_wide file, unpacked, work;
    uint64_t effort;
    md_wide most, least; /* least: a file counts as one of this size */
} md_budget;

/* May so many bytes more be decompressed? */
bool md_budget_fits(const md_budget *budget, uint64_t bytes);

#endif
