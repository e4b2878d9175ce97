# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the modes share: the newest clang that is installed (mk/flags.mk), and the build switches of every checked build.
ifeq ($(SAN_CC),)
$(error the sanitizer modes need clang (tools/deps.sh names the packages))
endif
SAN_DEFS   := -DCV_ISLANDS=1 -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
