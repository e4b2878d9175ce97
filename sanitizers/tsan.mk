# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Data races: several contexts at once, the handle table, `scan -j`.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g1
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=thread -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
MODE_LINK  := -fsanitize=thread $(SAN_LD)
