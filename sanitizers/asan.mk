# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Address + undefined behaviour. Spans are copied to blocks of their own ("islands"), so that an overread inside the
# file is one for ASan too. Never together with _FORTIFY_SOURCE or auto-var-init: they hide what ASan looks for.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g1
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=address,undefined,float-divide-by-zero,local-bounds,nullability \
              -fno-sanitize-recover=all $(SAN_DEFS)
MODE_LINK  := -fsanitize=address,undefined $(SAN_LD)
# Tests start the command ten thousand times: where it is loaded is settled once, here.
MODE_PIE   := -no-pie
# .ci/run: one build, and one run of all tests, for the sanitizers and for coverage. LLVM_PROFILE_FILE says where counts go.
ifneq ($(COVERAGE),)
MODE_FLAGS += $(COUNTS)
MODE_LINK  += $(COUNTS_LINK)
endif
