# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Calls through pointers: what is called has the type of the pointer, or the program ends. Needs the whole program at once (LTO),
# and so a linker that knows the compiler's intermediate code. cfi-icall is all that C has of it.
# It knows the type of what is linked, not of what dlsym() finds: jansson and nettle are linked here, sanitizers/cfi.ignore names
# who calls the others.
include sanitizers/common.mk
MODE_CC    := $(SAN_CC)
CFLAGS     ?= -O1 -g
MODE_FLAGS := -fno-omit-frame-pointer -flto -fsanitize=cfi-icall -fno-sanitize-trap=cfi-icall -fno-sanitize-recover=all \
    -fsanitize-ignorelist=sanitizers/cfi.ignore $(SAN_DEFS)
MODE_LINK  := -flto -fsanitize=cfi-icall -fno-sanitize-trap=cfi-icall --ld-path=$(shell command -v $(SAN_CC:clang%=ld.lld%) || echo no-lld)
MODE_CLI_LIBS := -ljansson -lnettle
