# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests; tests/README.md is the map. tests/unit/<layer>/ becomes one Check binary linked with layers 0..N only;
# tests/library/<name>/ one linked with the whole library; scripts drive the command. tools/runtests.py runs and counts them.

.PHONY: check check-full check-sweeps demo tests-build deps golden-update

CHECK_CFLAGS  := $(shell $(PKG_CONFIG) --cflags check 2>/dev/null)
CHECK_LIBS    := $(or $(shell $(PKG_CONFIG) --libs check 2>/dev/null),-lcheck) -lm -lrt

find_c         = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
TEST_SUPPORT  := $(call find_c,tests/support)
UNIT_DIRS     := $(sort $(patsubst tests/unit/%/,%,$(wildcard tests/unit/*/)))
WHOLE_DIRS    := property fault trap once
TEST_BINS     := $(foreach d,$(UNIT_DIRS),$(if $(call find_c,tests/unit/$(d)),$(BUILD)/tests/unit_$(d))) \
                 $(WHOLE_DIRS:%=$(BUILD)/tests/%)

# Directories of layers 0..N for a directory of tests/unit: everything lower, itself, no siblings. Highest first,
# which is the order a linker wants. A directory that is no layer (util, support) gets everything.
layers_up_to = $(shell sed -e 's/\#.*//' src/LAYERS | awk -v want='$(1)' ' \
    NF >= 2 { n++; lev[n] = $$1; dir[n] = $$2; if ($$2 == want || index($$2, want "/") == 1) top = $$1 } \
    END { for (i = n; i > 0; i--) if (top == "" || lev[i] < top || dir[i] == want || index(dir[i], want "/") == 1) \
              print dir[i] }')
unit_libs    = $(foreach d,$(call layers_up_to,$(1)),$(filter $(call layer_lib,$(d)),$(LAYER_LIBS)))

$(BUILD)/obj/tests/%.o: tests/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -c $< -o $@

# A wrong index ends a test program, also where the library below it is the one that ships: this object stands in for
# its src/base/trap.c. tests/library/trap shows what ships. Where the mode has traps (CV_TRAPS in sanitizers/) nothing is needed.
TRAP_OBJ := $(BUILD)/obj/traps/trap.o
$(TRAP_OBJ): src/base/trap.c $(FLAGS_STAMP)
	$(call say,CC,$< (for test programs))
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) -DCV_TRAP_ENDS=1 -c $< -o $@
-include $(TRAP_OBJ:.o=.d)

# $(1) binary name, $(2) source directory, $(3) libraries, $(4) an object that stands in for one of them
define test_rule
$(BUILD)/tests/$(1).c: $(filter %.c,$(foreach f,$(call find_c,$(2)),$(if $(filter test_%,$(notdir $(f))),$(f)))) \
                       $(patsubst %/,%,$(sort $(dir $(call find_c,$(2))))) tools/gen_runner.sh
	@mkdir -p $$(@D)
	$$(Q)sh tools/gen_runner.sh $(2) $$(filter tests/%.c,$$^) > $$@
$(BUILD)/tests/$(1): $(BUILD)/tests/$(1).c $(patsubst %.c,$(BUILD)/obj/%.o,$(call find_c,$(2)) $(TEST_SUPPORT)) $(4) $(3)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(MODE_FLAGS) $$(CFLAGS) $$(MODE_LINK) $$(LDFLAGS) $$(CHECK_CFLAGS) -o $$@ $$^ \
	    $$(MODE_REST) $$(CHECK_LIBS) $$(LIB_LIBS)
-include $(patsubst %.c,$(BUILD)/obj/%.d,$(call find_c,$(2)))
endef
$(foreach d,$(UNIT_DIRS),$(if $(call find_c,tests/unit/$(d)),$(eval \
    $(call test_rule,unit_$(d),tests/unit/$(d),$(call unit_libs,$(d)),$(if $(filter release planted,$(MODE)),$(TRAP_OBJ))))))
$(foreach d,$(WHOLE_DIRS),$(eval $(call test_rule,$(d),tests/library/$(d),$(BUILD)/libcuvet.a,$(if \
    $(filter-out trap,$(d)),$(if $(filter release planted,$(MODE)),$(TRAP_OBJ))))))
-include $(patsubst %.c,$(BUILD)/obj/%.d,$(TEST_SUPPORT))

# Calls between files of the library that tests/library/once counts.
ONCE_CALLS := cv_classify_look cv_classify cv_containers_probe cv_walk_open cv_host_read cv_cubin_examine cv_block_copy \
              cv_block_load cv_codec_decode
$(BUILD)/tests/once: private LDFLAGS += $(ONCE_CALLS:%=-Wl,--wrap=%)

# System calls of src/io that tests/unit/io/test_system.c lets fail.
IO_CALLS := close fsync fstat64 linkat mkostemp64 open64 openat64 pread64 read renameat renameat2 unlinkat write writev
$(BUILD)/tests/unit_io: private LDFLAGS += $(IO_CALLS:%=-Wl,--wrap=%)

# The examples are compiled as a stranger would: public headers, the shared library.
EXAMPLE_BINS := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
$(BUILD)/examples/service: EXAMPLE_LIBS := -lcuvet-worker
$(BUILD)/examples/service: $(BUILD)/libcuvet-worker.so | $(BUILD)/cuvet-worker
$(BUILD)/examples/%: examples/%.c $(BUILD)/libcuvet.so
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Wall -Wextra $(CV_WERROR) $(CFLAGS) $(if $(filter-out release,$(MODE)),$(MODE_LINK)) -Iinclude \
	    -MMD -MP -MF $@.d $< -o $@ -L$(BUILD) $(or $(EXAMPLE_LIBS),-lcuvet) -Wl,-rpath,'$$ORIGIN/..'
-include $(EXAMPLE_BINS:%=%.d)

tests-build: $(TEST_BINS) $(EXAMPLE_BINS)

deps: ## install what is missing through apt, or say what to install
	@sh tools/deps.sh check

RUNTESTS = $(PYTHON) tools/runtests.py --build $(BUILD) --jobs $(JOBS)
GATES   := layers abi shape bans docs generated hostile

# In a mode build (MODE=asan ...) `check-run` runs everything with that mode's binaries and no gates.
.PHONY: check-run
check-run: all tests-build replay-build
	@$(RUNTESTS) --mode $(MODE) --unit $(TEST_BINS) --scripts --replay $(BUILD)/replay $(RUNTESTS_ARGS)

check: ## unit tests, command tests, all corpora under ASan+UBSan, gates
	@sh tools/deps.sh check
	@$(SUBMAKE) all tests-build
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan replay-build
	@$(RUNTESTS) --unit $(TEST_BINS) --scripts --replay $(BUILD)/asan/replay --examples $(EXAMPLE_BINS) \
	    --gates $(GATES) $(RUNTESTS_ARGS)

# CV_FULL=1: tools/runtests.py splits the sweeps of tests/library/property into parts for all cores, here and in the gate asan,
# which looks at each 15th byte (check-sweeps at all of them) and has the rest as `make check` has it: all in under two hours.
# RESUME=1 goes on where a run from the same sources was cut off; parts: RUNTESTS_ARGS="--only 'differential|gate/asan'".
check-full: ## everything: full corpora sweeps, every sanitizer mode, every gate (before an issue is resolved)
	@sh tools/deps.sh full
	@$(SUBMAKE) all tests-build
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan replay-build
	@CV_FULL=1 $(RUNTESTS) --unit $(TEST_BINS) --scripts --replay $(BUILD)/asan/replay --examples $(EXAMPLE_BINS) \
	    --gates $(GATES) warnings unsafe folders asan int tsan msan hardening repro lint coverage ossfuzz bare \
	    $(if $(RESUME),--resume) $(RUNTESTS_ARGS)

check-sweeps: ## of check-full: every prefix, byte and limit of all samples, in the release build and under ASan + UBSan
	@$(SUBMAKE) all $(BUILD)/tests/property
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan all tests-build
	@CV_FULL=1 $(RUNTESTS) --unit $(BUILD)/tests/property $(RUNTESTS_ARGS)
	@CV_FULL=1 CV_STEP=1 $(RUNTESTS) --build $(BUILD)/asan --mode asan --unit $(BUILD)/asan/tests/property $(RUNTESTS_ARGS)

demo: ## the main job on the bundled samples: scan, list, unpack, SARIF
	@sh tools/deps.sh demo
	@$(SUBMAKE) $(BUILD)/cuvet
	@sh tools/demo.sh $(BUILD)/cuvet

golden-update: all ## rewrite the golden files from today's output, then show the diff for review
	@CV_GOLDEN_UPDATE=1 $(RUNTESTS) --scripts
	@git --no-pager diff --stat -- tests/golden
