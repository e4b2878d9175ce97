# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libFuzzer with ASan and UBSan, by hand: the objects that oss-fuzz/build.sh makes with our flags (mk/fuzz.mk: FUZZ_OURS).
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CXX        := $(FUZZ_CXX)
CFLAGS     ?= $(FUZZ_OURS)
LIB_FUZZING_ENGINE ?= -fsanitize=fuzzer
include sanitizers/engine.mk
