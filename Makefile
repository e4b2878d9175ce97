# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The one entry point. `make help` lists the targets; the parts live in mk/.
#
#   BUILD=dir    build somewhere else (default: build)      CC=clang-16   any of gcc 12, clang 14, clang 16
#   MODE=name    one of sanitizers/<name>.mk (default: release)           WERROR=1  warnings are errors (CI)
#   CODECS=static   the command and libcuvet.so have the decompressors in them (default: shared)
#   RUN='qemu-aarch64-static -L root'   what starts programs of a cross build (CC='aarch64-linux-gnu-gcc --sysroot=root')
#   JOBS=n       parallel jobs of the targets that build for themselves   DESTDIR PREFIX CFLAGS LDFLAGS as usual

VERSION    := 0.1.0
SOVERSION  := 0

BUILD      ?= build
MODE       ?= release
WERROR     ?= 0
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)
HOURS      ?= 1

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/cuvet
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
INSTALL    ?= install
PKG_CONFIG ?= pkg-config
PYTHON     ?= python3

MAKEFLAGS  += --no-print-directory --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: all help clean FORCE
FORCE:

include mk/flags.mk
include mk/lib.mk
include mk/worker.mk
include mk/package.mk
include mk/tests.mk
include mk/planted.mk
include mk/parts.mk
include mk/compat.mk
include mk/programs.mk
include mk/fuzz.mk
include mk/gates.mk
include mk/bench.mk
include mk/install.mk
include mk/database.mk
include mk/python.mk
include mk/site.mk

all: $(BUILD)/cuvet $(COMPAT) $(BUILD)/libcuvet.a $(BUILD)/libcuvet.so $(WORKER_BUILT) $(PACKAGE_BUILT) $(BUILD)/compile_commands.json ## build cuvet (also as compat/nvlink), libcuvet.a and libcuvet.so (the default)

help: ## this list
	@echo "cuvet $(VERSION): vets CUDA device code nobody should trust. Targets:"
	@grep -hE '^[a-z][a-z%-]*:.*## ' Makefile mk/*.mk | sed -E 's/:.*## /\t/' | sort | \
	    awk -F'\t' '{ printf "  %-18s %s\n", $$1, $$2 }'
	@echo "Variables: BUILD=$(BUILD) CC=$(CC) WERROR=0|1 JOBS=$(JOBS) HOURS=$(HOURS) DESTDIR PREFIX CFLAGS LDFLAGS"

clean: ## remove the build directory
	rm -rf $(BUILD)
