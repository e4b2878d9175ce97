# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiler flags. Every flag is probed, because gcc 12, clang 14 and clang 16 each reject some of them; the answers
# are kept in $(BUILD)/flags-<compiler>.mk so that a second `make` costs nothing.

SRCDIR := $(CURDIR)

# Paths of this machine never reach an object file: sources are named relative to the root, the rest is mapped.
CV_MAP     := -ffile-prefix-map=$(SRCDIR)=. -ffile-prefix-map=$(abspath $(BUILD))=build

# The newest clang: sanitizers want it.
SAN_CC     := $(firstword $(foreach c,clang-16 clang-15 clang-14 clang,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
# A hundred programs with sanitizers are linked in a fifth of the time by lld.
SAN_LD     := $(addprefix --ld-path=,$(shell command -v "ld.lld$(SAN_CC:clang%=%)" 2>/dev/null))
# MC/DC wants 18 at least, with the tools of its own version, which alone read what it writes; an older one is asked for nothing else.
MCDC_CC    := $(firstword $(foreach v,20 19 18,$(if $(shell command -v clang-$(v) > /dev/null && command -v llvm-cov-$(v) > /dev/null \
                  && command -v llvm-profdata-$(v) > /dev/null && echo yes),clang-$(v))))
# Fuzzing of our own (fuzz-<target>, campaign): -O2, executions per second are what a campaign is paid in. How deep the stack is
# would be one more thing to be counted in each function; recursion has limits here.
FUZZ_OURS  := -O2 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined,float-divide-by-zero,local-bounds \
    -fno-sanitize-recover=all -fno-sanitize-coverage=stack-depth
FUZZ_CXX    = $(subst clang,clang++,$(SAN_CC))

# A mode (asan, int, tsan, cov, afl ...) brings its own compiler and flags; release brings the hardened ones.
ifneq ($(MODE),release)
include sanitizers/$(MODE).mk
endif
ifdef MODE_CC
override CC := $(MODE_CC)
endif

CC_ID      := $(shell printf '%s' '$(CC)' | tr -c 'A-Za-z0-9_.+-' '_')
FLAGS_FILE := $(BUILD)/flags-$(CC_ID).mk

# `clean`, `help` and the like must not start a compiler. Those of the second line install one first (tools/deps.sh) and
# build by a make of their own, which asks it then.
NO_FLAGS := clean help deps format dist campaign check-bare \
            demo check check-full bench bench-link
ifneq ($(filter-out $(NO_FLAGS),$(or $(MAKECMDGOALS),all)),)
include $(FLAGS_FILE)
endif

$(FLAGS_FILE): tools/probe_flags.sh
	@mkdir -p $(@D)
	@sh tools/probe_flags.sh '$(CC)' > $@.tmp && mv $@.tmp $@

ifeq ($(MODE),release)
CFLAGS     ?= -O2 -g
MODE_FLAGS  = $(CV_HARDEN_CC)
MODE_LINK   = $(CV_HARDEN_LD) $(CV_LINK_START)
endif

# Instrumentation inflates frames: the limit is for the code that ships.
ifneq ($(MODE),release)
CV_WARN    := $(filter-out -Wframe-larger-than=1024,$(CV_WARN))
endif

ifeq ($(WERROR),1)
CV_WERROR  := -Werror
endif

CV_DEFS    := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DCV_VERSION='"$(VERSION)"'
CV_BASE     = -std=c11 -pedantic -fPIC -fvisibility=hidden -fno-common -fno-strict-overflow \
              -fno-delete-null-pointer-checks -pthread $(CV_MAP) $(CV_DEFS) -MMD -MP
LIB_CFLAGS  = $(CV_BASE) $(CV_WARN) $(CV_WERROR) $(MODE_FLAGS) $(CFLAGS) -Iinclude -Isrc -Ispec
# The 1 KiB frame limit is for the library, which may run on small stacks; the command owns its process.
CLI_CFLAGS  = $(CV_BASE) $(filter-out -Wframe-larger-than=1024,$(CV_WARN)) -Wframe-larger-than=16384 $(CV_WERROR) \
              $(MODE_FLAGS) $(CFLAGS) -Iinclude $(CLI_DEP_CFLAGS)
# A mode may judge the shipped code only (int: the hashes of a fuzz driver are meant to wrap).
MODE_TEST_FLAGS ?= $(MODE_FLAGS)
# Check's macros expand to code that -Wconversion and friends dislike; the tests keep the rest.
TEST_CFLAGS = $(CV_BASE) $(CV_WARN_TEST) $(CV_WERROR) $(MODE_TEST_FLAGS) $(CFLAGS) -Iinclude -Isrc -Ispec -Itests \
              $(CHECK_CFLAGS)
FUZZ_CFLAGS = $(CV_BASE) $(CV_WARN_TEST) $(CV_WERROR) $(MODE_TEST_FLAGS) $(CFLAGS) -Iinclude -Isrc -Ispec -Ifuzz

comma      := ,
space      := $(subst ,, )
LIB_LIBS   := $(or $(MODE_LIBS),-llz4 -lzstd) -pthread
# Loaded by the command when they are needed (cli/loaded.h): jansson, nettle.
CLI_LIBS   := -ldl $(MODE_CLI_LIBS)
# Where else they may lie, seen from the program ($ORIGIN/...): the Python package brings its own.
LOADED_FROM ?=
LOADED_FLAG  = $(if $(LOADED_FROM),-Wl$(comma)-rpath$(comma)'$(LOADED_FROM)')
# CODECS=static links the decompressors into the command and libcuvet.so: it starts sooner, and must be built again when they
# change.
CODECS     ?= shared
# The C library before the others: the loader looks for each name in this order, and nearly all are there.
CODEC_LIBS := $(if $(filter static,$(CODECS)),-Wl$(comma)-Bstatic -llz4 -lzstd -Wl$(comma)-Bdynamic -pthread,-lc $(LIB_LIBS))
# What sanitizers and profiles do at their end is nothing that the cage allows: it stays open in those builds.
ifneq ($(MODE),release)
CLI_DEP_CFLAGS += -DCLI_INSTRUMENTED=1
endif

# Objects are rebuilt when the compiler or a flag changes, not only when a source does.
FLAGS_STAMP := $(BUILD)/.flags
$(FLAGS_STAMP): FORCE | $(FLAGS_FILE)
	@mkdir -p $(@D)
	@printf '%s\n' "$$CV_STAMP" | cmp -s - $@ || printf '%s\n' "$$CV_STAMP" > $@
$(FLAGS_STAMP): export CV_STAMP = $(CC) $(LIB_CFLAGS) $(MODE_LINK) $(LDFLAGS)

# A make of our own below this one: parallel, unless the caller already said how.
SUBMAKE = $(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

ifneq ($(V),1)
Q := @
say = @printf '  %-5s %s\n' '$(1)' '$(2)'
endif
