# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libFuzzer with ASan and UBSan (make fuzz-<target>). -O2: executions per second are what a campaign is paid in.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O2 -g
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined,float-divide-by-zero,local-bounds \
              -fno-sanitize-recover=all $(SAN_DEFS)
MODE_LINK  := -fsanitize=fuzzer,address,undefined
