# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Values that nobody wrote. The libraries that a target calls are built with it as well, by tools/msan_libs.sh. Where their sources are not
# reached, what liblz4 and libzstd filled is told (CV_FOREIGN_WROTE), as they say that they did, and targets that call jansson or nettle
# are left out. Nothing that needs other libraries runs in this mode: the corpora do, not the unit tests and the command.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all $(SAN_DEFS)
MODE_LINK  := -fsanitize=memory
ifneq ($(wildcard $(BUILD)/libs/stamp),)
MODE_FLAGS  += -DCV_FOREIGN_BUILT=1
MODE_LIBS   := $(BUILD)/libs/liblz4.a $(BUILD)/libs/libzstd.a
MODE_LINKED := $(BUILD)/libs/libjansson.a $(BUILD)/libs/libnettle.a $(MODE_LIBS)
FUZZ_LINKED := 1
FUZZ_WITH_LOADS := 1
CXX         := $(MODE_CC)
endif
