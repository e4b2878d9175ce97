/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiler that does what the first byte of its input says, and looks whether the broker let anything
 * through. */
#ifndef TESTS_BROKER_FAKE_H
#define TESTS_BROKER_FAKE_H

#include "broker_int.h"

#define FAKE_INPUT (1u << 20)

extern const cli_broker_rules RULES;

/* Written in the broker, read in the test. */
typedef struct fake_seen {
    int calls, cancelled;
    int cubins, debugs;
    int broken; /* requests outside of RULES */
} fake_seen;
extern fake_seen *seen;

void fake_setup(void);
void fake_teardown(void);
cuvet_compiler fake_compiler(void);

#endif
