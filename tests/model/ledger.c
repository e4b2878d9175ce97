/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/ledger.h"

void md_ledger_claim(md_ledger *ledger, unsigned off, unsigned len, bool shared)
{
    for (unsigned i = off; i < off + len && i < MD_BYTES && !shared; i++) {
        ledger->owners[i]++;
        if (i > off)
            ledger->crosses[i] = true;
    }
}

bool md_ledger_complete(const md_ledger *ledger, unsigned off, unsigned len)
{
    bool whole = true;

    for (unsigned i = off; i < off + len; i++)
        whole = whole && ledger->owners[i] == 1;
    return whole && !ledger->crosses[off] && !ledger->crosses[off + len];
}

bool md_budget_fits(const md_budget *budget, uint64_t bytes)
{
    md_wide base = budget->file > budget->least ? budget->file : budget->least;

    return budget->unpacked + bytes <= budget->most &&
           budget->work <= budget->effort * (base + budget->unpacked);
}
