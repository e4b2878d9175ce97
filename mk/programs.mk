# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that tests start (tests/programs/), one C file each, and the targets that use them on their own.

.PHONY: mutants-link mutants-commands mutants-worker mutants-packages
# With the whole library: link_server links what it is sent, budget counts what a hostile file costs.
LIB_PROGRAMS := $(patsubst %,$(BUILD)/tests/%,budget link_server)
$(LIB_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/programs/%.o $(BUILD)/libcuvet.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -pie -o $@ $^ $(LIB_LIBS)
-include $(LIB_PROGRAMS:$(BUILD)/tests/%=$(BUILD)/obj/tests/programs/%.d)

# The compiler that misbehaves on demand. Without the flags of a mode: a sanitizer's runtime would not start under the
# limits that it is run with.
$(BUILD)/tests/fake_compiler: tests/programs/fake_compiler.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D) $(BUILD)/obj/tests/programs
	$(Q)$(CC) -std=c11 -pedantic -O1 -g $(CV_WARN_TEST) $(CV_WERROR) $(CV_MAP) $(CV_DEFS) -MMD -MP \
	    -MF $(BUILD)/obj/tests/programs/fake_compiler.d $< -o $@
-include $(BUILD)/obj/tests/programs/fake_compiler.d

# A libnvJitLink of the same kind.
$(BUILD)/tests/libfake_nvjitlink.so: tests/programs/fake_nvjitlink.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D) $(BUILD)/obj/tests/programs
	$(Q)$(CC) -std=c11 -pedantic -O1 -g -fPIC -shared -fvisibility=hidden $(CV_WARN_TEST) $(CV_WERROR) $(CV_MAP) $(CV_DEFS) -MMD -MP \
	    -MF $(BUILD)/obj/tests/programs/fake_nvjitlink.d $< -o $@
-include $(BUILD)/obj/tests/programs/fake_nvjitlink.d
tests-build: $(BUILD)/tests/libfake_nvjitlink.so

# A libyara that its rules have taken over.
$(BUILD)/tests/libhostile_yara.so: tests/programs/hostile_libyara.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D) $(BUILD)/obj/tests/programs
	$(Q)$(CC) -std=c11 -pedantic -O1 -g -fPIC -shared -Icli $(CV_WARN_TEST) $(CV_WERROR) $(CV_MAP) $(CV_DEFS) -MMD -MP \
	    -MF $(BUILD)/obj/tests/programs/hostile_libyara.d $< -o $@
-include $(BUILD)/obj/tests/programs/hostile_libyara.d
tests-build: $(BUILD)/tests/libhostile_yara.so

# Enters the sandbox by the code of the command and tries one thing.
$(BUILD)/obj/tests/programs/cage_probe.o: TEST_CFLAGS += -Icli $(CLI_DEP_CFLAGS)
$(BUILD)/tests/cage_probe: $(BUILD)/obj/tests/programs/cage_probe.o \
                           $(patsubst %,$(BUILD)/obj/cli/%.o,sandbox filter porter porter_serve frames)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -pie -o $@ $^ -lseccomp -pthread
-include $(BUILD)/obj/tests/programs/cage_probe.d

tests-build: $(LIB_PROGRAMS) $(BUILD)/tests/fake_compiler $(BUILD)/tests/cage_probe
$(filter %/unit_proc %/unit_finalize %/unit_api %/fault,$(TEST_BINS)): | $(BUILD)/tests/fake_compiler $(BUILD)/tests/libfake_nvjitlink.so $(LTO_PROGRAM)

# docs/evidence/link.md has the figures of a whole run of both.
mutants-link: $(BUILD)/tests/link_server ## damaged objects through the linker (MUTANTS=n of each of 29, NVLINK=path)
	@$(PYTHON) tests/hostile/link_mutants.py --server $(BUILD)/tests/link_server --each $(or $(MUTANTS),300) \
	    $(if $(NVLINK),--nvlink $(NVLINK))

mutants-worker: $(BUILD)/tests/worker_client $(BUILD)/cuvet-worker ## the same through one caged worker that goes on: each has a verdict, none is lost (MUTANTS=n of each of 29)
	@$(PYTHON) tests/hostile/link_mutants.py --each $(or $(MUTANTS),300) \
	    --server '$(BUILD)/tests/worker_client persistent $(abspath $(BUILD))/cuvet-worker'

mutants-packages: $(BUILD)/cuvet $(PACKAGE_BUILT) ## damaged packages of every packing through scan and unpack (MUTANTS=n; SEED=n)
	@CUVET=$(abspath $(BUILD))/cuvet $(PYTHON) tests/hostile/mutate_packages.py --cuvet $(BUILD)/cuvet --count $(or $(MUTANTS),2000) --seed $(or $(SEED),1)

mutants-commands: $(BUILD)/cuvet ## samples with lies in their fields through each command (MUTANTS=n)
	@$(PYTHON) tests/hostile/mutate_commands.py --cuvet $(BUILD)/cuvet --jobs $(JOBS) --count $(or $(MUTANTS),2000)
