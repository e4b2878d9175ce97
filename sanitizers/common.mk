# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the modes share: the newest clang that is installed, and the build switches of every checked build.
SAN_CC     := $(firstword $(foreach c,clang-16 clang-15 clang-14 clang,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
ifeq ($(SAN_CC),)
$(error the sanitizer modes need clang (tools/deps.sh names the packages))
endif
SAN_DEFS   := -DCV_ISLANDS=1 -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
