# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The compiler that misbehaves on demand (tests/fake/). Without the flags of a mode: a sanitizer's runtime would not start
# under the limits that it is run with.

$(BUILD)/tests/fake_compiler: tests/fake/compiler.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -pedantic -O1 -g $(CV_WARN_TEST) $(CV_WERROR) $(CV_MAP) $(CV_DEFS) -MMD -MP -MF $@.d $< -o $@
-include $(BUILD)/tests/fake_compiler.d

tests-build: $(BUILD)/tests/fake_compiler
$(filter %/unit_proc %/unit_finalize %/unit_api %/fault,$(TEST_BINS)): | $(BUILD)/tests/fake_compiler
