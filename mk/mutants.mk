# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Damaged objects through the linker: tests/mutants/ links what it is sent, tests/differential/link_mutants.py damages,
# sends and counts. docs/evidence/link.md has the figures of a whole run.

.PHONY: mutants-link mutants-commands
$(BUILD)/tests/link_server: tests/mutants/link_server.c $(BUILD)/libcuvet.a $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -MF $@.d $< -o $@ $(MODE_LINK) $(LDFLAGS) -pie $(BUILD)/libcuvet.a $(LIB_LIBS)
-include $(BUILD)/tests/link_server.d

tests-build: $(BUILD)/tests/link_server

mutants-link: $(BUILD)/tests/link_server ## damaged objects through the linker (MUTANTS=n of each of 29, NVLINK=path)
	@$(PYTHON) tests/differential/link_mutants.py --server $(BUILD)/tests/link_server --each $(or $(MUTANTS),300) \
	    $(if $(NVLINK),--nvlink $(NVLINK))

mutants-commands: $(BUILD)/cuvet ## samples with lies in their fields through each command (MUTANTS=n)
	@$(PYTHON) tests/mutants/commands.py --cuvet $(BUILD)/cuvet --jobs $(JOBS) --count $(or $(MUTANTS),2000)
