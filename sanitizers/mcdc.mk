# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Which condition of a decision was ever the one that decides (make check-mcdc). clang has it since 18.
include sanitizers/common.mk
MODE_CC    := $(MCDC_CC)
CFLAGS     ?= -O1 -g
MODE_FLAGS := -fprofile-instr-generate=/dev/null -fcoverage-mapping -fcoverage-mcdc -DCV_NO_HINTS=1 -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
MODE_LINK  := -fprofile-instr-generate
