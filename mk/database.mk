# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The compilation database, for clangd and other tools that read C: how each source is compiled. clangd finds the one in
# build/ by itself; `make compile_commands.json` puts a copy at the root, for another BUILD and for other tools.

.PHONY: compile_commands.json

DATABASE      := $(BUILD)/compile_commands.json
DATABASE_SRCS := $(sort $(LIB_SRCS) $(CLI_SRCS) $(call find_c,cli/filter cli/worker cli/package compat tests fuzz bench examples))
# What only writes dependencies has no place here, and clang must not stumble over a warning that only gcc knows.
DATABASE_BASE  = $(filter-out -MMD -MP $(CV_MAP),$(CV_BASE)) $(CFLAGS) -Wno-unknown-warning-option -Iinclude
database_lib   = $(CV_WARN) $(DATABASE_BASE) -Isrc -Ispec
database_cli   = $(CV_WARN) $(DATABASE_BASE) -I$(abspath $(BUILD))/gen
# Tests, fuzz targets and benchmarks: more folders than each needs, one set for all.
database_other = $(CV_WARN_TEST) $(DATABASE_BASE) -Isrc -Ispec -Itests -Ifuzz -Icli $(CHECK_CFLAGS) \
                 -DCV_FUZZ_ENTRY=cv_fuzz_span '-DCV_FUZZ_NAME="span"'

$(BUILD)/.database-sources: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(DATABASE_SRCS)' | cmp -s - $@ || printf '%s\n' '$(DATABASE_SRCS)' > $@

$(DATABASE): export DB_CC = $(CC)
$(DATABASE): export DB_LIB = $(database_lib)
$(DATABASE): export DB_CLI = $(database_cli)
$(DATABASE): export DB_OTHER = $(database_other)
$(DATABASE): tools/compile_commands.sh mk/database.mk $(FLAGS_STAMP) $(BUILD)/.database-sources
	$(call say,GEN,$@)
	$(Q)sh $< $(DATABASE_SRCS) > $@

compile_commands.json: $(DATABASE) ## how each source is compiled, at the root: for clangd and the like
	@cp $< $@
