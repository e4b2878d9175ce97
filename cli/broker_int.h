/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the two sides of a broker share: reading and writing of their stream. Its frames are in frames.h. */
#ifndef CLI_BROKER_INT_H
#define CLI_BROKER_INT_H

#include "frames.h"

bool broker_read(int fd, void *buf, uint64_t len);
bool broker_write(int fd, const void *buf, uint64_t len);
/** Give up what the broker does not need. Does not return when its parent has gone already. */
void broker_settle(int fd, int parent, const cli_broker_rules *rules);

#endif
