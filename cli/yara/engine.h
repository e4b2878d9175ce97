/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Rules, and what they say of bytes: the only place that talks to libyara. Everything here runs in the
 * process of process.c, in its cage, and may end it. */
#ifndef CLI_YARA_ENGINE_H
#define CLI_YARA_ENGINE_H

#include "wire.h"

/** Compile rules, or load them if they are compiled; `text` has a NUL behind its `size` bytes.
 * @return false: what is wrong is in *hello */
bool yara_rules_take(const uint8_t *text, size_t size, yara_hello *hello);

/** Each rule that hits. @return false: nobody takes it */
typedef bool yara_hit_fn(void *user, const yara_hit *hit);
/** Look at a piece, and at its sections. */
void yara_scan(const yara_question *question, yara_hit_fn *each, void *user, yara_end *end);

#endif
