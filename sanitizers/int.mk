# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Integer surprises: unsigned wrap and value-changing conversions stop the program. Wraps that are meant live in
# helpers named for it and marked no_sanitize. Left out, each for a reason:
#   implicit-integer-sign-change   size_t to ptrdiff_t and back is everywhere in POSIX and never loses a value here
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g1
MODE_FLAGS := -fno-omit-frame-pointer -fsanitize=integer,implicit-conversion \
              -fno-sanitize=implicit-integer-sign-change -fno-sanitize-recover=all $(SAN_DEFS)
# Library and command are judged; test and fuzz drivers hash and wrap as they like.
MODE_TEST_FLAGS := -fno-omit-frame-pointer $(SAN_DEFS)
MODE_LINK  := -fsanitize=integer,implicit-conversion $(SAN_LD)
