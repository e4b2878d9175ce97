# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests that are linked with single objects of the command. tests/cage: enters the cage as the command does and tries to
# get out of it (driven by tests/cli/test_sandbox.py). tests/broker, tests/filter, tests/pool,
# tests/porter and tests/record: Check binaries.

$(BUILD)/obj/tests/cage/%.o $(BUILD)/obj/tests/broker/%.o $(BUILD)/obj/tests/filter/%.o $(BUILD)/obj/tests/pool/%.o \
$(BUILD)/obj/tests/porter/%.o $(BUILD)/obj/tests/record/%.o: TEST_CFLAGS += -Icli $(CLI_DEP_CFLAGS)

$(BUILD)/tests/cage_probe: $(BUILD)/obj/tests/cage/probe.o $(patsubst %,$(BUILD)/obj/cli/%.o,sandbox filter porter porter_serve frames)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -pie -o $@ $^ -lseccomp -pthread
-include $(BUILD)/obj/tests/cage/probe.d

$(eval $(call test_rule,broker,tests/broker,$(patsubst %,$(BUILD)/obj/cli/%.o,broker broker_serve frames sandbox filter) $(BUILD)/libcuvet.a))

# The only one that has libseccomp beside the programs that were made with it.
$(eval $(call test_rule,filter,tests/filter,$(BUILD)/obj/cli/filter.o $(BUILD)/obj/cli/filter/rules.o))
$(BUILD)/tests/filter: LIB_LIBS += -lseccomp

$(eval $(call test_rule,porter,tests/porter,$(patsubst %,$(BUILD)/obj/cli/%.o,porter porter_serve frames sandbox filter)))

$(eval $(call test_rule,pool,tests/pool,$(BUILD)/obj/cli/pool.o))

# The only one that has jansson beside what is written without it.
$(eval $(call test_rule,record,tests/record,$(patsubst %,$(BUILD)/obj/cli/%.o,record escape)))
$(BUILD)/obj/tests/record/%.o: TEST_CFLAGS += -DCLI_LOADED_C
$(BUILD)/tests/record: LIB_LIBS += -ljansson

TEST_BINS += $(patsubst %,$(BUILD)/tests/%,broker filter pool porter record)
tests-build: $(BUILD)/tests/cage_probe $(patsubst %,$(BUILD)/tests/%,broker filter pool porter record)
