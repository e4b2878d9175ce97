# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# AFL++ persistent mode, through its libFuzzer-compatible driver. No sanitizer: the libFuzzer half of a campaign has
# them, this half buys speed; what it finds is replayed under ASan+UBSan. CMPLOG: set AFL_LLVM_CMPLOG=1 (mk/fuzz.mk).
AFL_CC     := $(firstword $(foreach c,afl-clang-fast,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
ifeq ($(AFL_CC),)
$(error MODE=afl needs afl-clang-fast (tools/deps.sh names the packages))
endif
MODE_CC    := $(AFL_CC)
CFLAGS     ?= -O2 -g
MODE_FLAGS := -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
MODE_LINK  := -fsanitize=fuzzer
