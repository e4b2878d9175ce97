# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests that are linked with single objects of the command. tests/cage: enters the cage as the command does and tries to
# get out of it (driven by tests/cli/test_sandbox.py). tests/broker: a Check binary.

$(BUILD)/obj/tests/cage/%.o $(BUILD)/obj/tests/broker/%.o: TEST_CFLAGS += -Icli $(CLI_DEP_CFLAGS)

$(BUILD)/tests/cage_probe: $(BUILD)/obj/tests/cage/probe.o $(BUILD)/obj/cli/sandbox.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -pie -o $@ $^ -lseccomp -pthread
-include $(BUILD)/obj/tests/cage/probe.d

$(eval $(call test_rule,broker,tests/broker,$(patsubst %,$(BUILD)/obj/cli/%.o,broker broker_serve sandbox) $(BUILD)/libcuvet.a))
$(BUILD)/tests/broker: LIB_LIBS += -lseccomp

TEST_BINS += $(BUILD)/tests/broker
tests-build: $(BUILD)/tests/cage_probe $(BUILD)/tests/broker
