# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What hostile files may cost: tests/budget/ counts it, tests/malformed/test_bombs.py asks for bounds in `make check`,
# bench/bombs.py measures seconds and megabytes.

.PHONY: bench-bombs
$(BUILD)/tests/budget: tests/budget/budget.c $(BUILD)/libcuvet.a $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -MF $@.d $< -o $@ $(MODE_LINK) $(LDFLAGS) -pie $(BUILD)/libcuvet.a $(LIB_LIBS)
-include $(BUILD)/tests/budget.d

tests-build: $(BUILD)/tests/budget

bench-bombs: all ## seconds and megabytes of files that are made to cost much (BENCH_ARGS: parts of their names)
	@$(PYTHON) bench/bombs.py --build $(BUILD) $(BENCH_ARGS)
