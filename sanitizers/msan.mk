# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Values that nobody wrote. The libraries of the codecs are not built with it: what they filled is told (CV_FOREIGN_WROTE), as
# they say that they did. Nothing that needs other libraries runs in this mode: the corpora do, not the unit tests and the command.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all $(SAN_DEFS)
MODE_LINK  := -fsanitize=memory
