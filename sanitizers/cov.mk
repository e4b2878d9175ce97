# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Source-based coverage (make coverage). No islands: the code that ships is the code that is measured.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g
MODE_FLAGS := $(COUNTS) -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
MODE_LINK  := $(COUNTS_LINK)
