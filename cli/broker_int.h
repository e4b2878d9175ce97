/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the two sides of a broker share. The frames of their stream are in frames.h. */
#ifndef CLI_BROKER_INT_H
#define CLI_BROKER_INT_H

#include "frames.h"
#include "whole.h"

/** Give up what the broker does not need. Does not return when its parent has gone already. */
void broker_settle(int fd, int parent, const cli_broker_rules *rules);

#endif
