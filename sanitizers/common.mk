# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the modes share: the newest clang that is installed (mk/flags.mk), and the build switches of every checked build.
ifeq ($(SAN_CC),)
$(error the sanitizer modes need clang (tools/deps.sh names the packages))
endif
SAN_DEFS   := -DCV_ISLANDS=1 -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
# Source-based coverage whose counts can be kept in a file while the program runs (%c in LLVM_PROFILE_FILE, tools/coverage.py): a child that
# ends by _exit() or by a signal writes none at its end.
COUNTS     := -fprofile-instr-generate=/dev/null -fcoverage-mapping -mllvm -runtime-counter-relocation
# The option is one of the compiler, and the driver says so when it links.
COUNTS_LINK := -fprofile-instr-generate -Wno-unused-command-line-argument
