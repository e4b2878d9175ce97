# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/cli/parts/: Check binaries that are linked with single objects of the command.

PARTS := broker filter pool porter record whole worker yara
$(foreach d,$(PARTS),$(BUILD)/obj/tests/cli/parts/$(d)/%.o): TEST_CFLAGS += -Icli $(CLI_DEP_CFLAGS)

# $(1) name, $(2) objects of the command, $(3) libraries
part_rule = $(call test_rule,$(1),tests/cli/parts/$(1),$(patsubst %,$(BUILD)/obj/cli/%.o,$(2)) $(3))

$(eval $(call part_rule,broker,broker broker_serve frames sandbox filter,$(BUILD)/libcuvet.a))
$(eval $(call part_rule,filter,filter filter/rules))
$(eval $(call part_rule,pool,pool))
$(eval $(call part_rule,porter,porter porter_serve frames sandbox filter))
$(eval $(call part_rule,record,record escape))
$(eval $(call part_rule,whole))
$(eval $(call part_rule,worker,sandbox filter,$(BUILD)/libcuvet-worker.a))
$(eval $(call part_rule,yara,yara/wire))

# The only one that has libseccomp beside the programs that were made with it.
$(BUILD)/tests/filter: LIB_LIBS += -lseccomp
# The only one that has jansson beside what is written without it.
$(BUILD)/obj/tests/cli/parts/record/%.o: TEST_CFLAGS += -DCLI_LOADED_C
$(BUILD)/tests/record: LIB_LIBS += -ljansson

TEST_BINS += $(PARTS:%=$(BUILD)/tests/%)
tests-build: $(PARTS:%=$(BUILD)/tests/%)
# Its programs are started by the test.
$(BUILD)/tests/worker: | $(BUILD)/cuvet-worker $(BUILD)/tests/worker_planted
