# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The library of MODE=planted for fuzz targets, replayed and under libFuzzer (`make check-planted-fuzz`): with what the targets are
# fuzzed with elsewhere, so that a defect that reads too far is seen as it would be there.
include sanitizers/common.mk
include sanitizers/planted.mk
MODE_CC    := $(SAN_CC)
MODE_FLAGS += -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined,local-bounds -fno-sanitize-recover=all $(SAN_DEFS)
MODE_LINK  := -fsanitize=address,undefined $(SAN_LD)
MODE_ENGINE := -fsanitize=fuzzer
