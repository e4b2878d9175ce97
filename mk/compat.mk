# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Libraries in the place of others: build/compat/. They carry libcuvet inside of them, with all its names hidden.

JIT_SRCS := $(sort $(wildcard compat/nvjitlink/*.c))
# Releases that a library serves, and the one that it says to be.
JIT_MINOR_12 := 9
JIT_MINOR_13 := 0

# -verbose reads the result as `cuvet link -v` does: by the same file, which needs nothing else of the command.
JIT_CFLAGS = $(CLI_CFLAGS) -Icli -DCV_JIT_MAJOR=$(1) -DCV_JIT_MINOR=$(JIT_MINOR_$(1))

# $(1) major version
define jit_rule
$(BUILD)/obj/compat/nvjitlink-$(1)/%.o: compat/nvjitlink/%.c $(FLAGS_STAMP)
	$$(call say,CC,$$< ($(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(call JIT_CFLAGS,$(1)) -c $$< -o $$@
JIT_OBJS_$(1) := $(JIT_SRCS:compat/nvjitlink/%.c=$(BUILD)/obj/compat/nvjitlink-$(1)/%.o)
$(BUILD)/compat/libnvJitLink.so.$(1): $$(JIT_OBJS_$(1)) $(BUILD)/obj/cli/resources.o $(BUILD)/libcuvet.a \
                                      $(WORKER_LIB_OBJS) compat/nvjitlink/exports_$(1).map
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -shared $$(MODE_FLAGS) $$(CFLAGS) $$(MODE_LINK) $$(LDFLAGS) -Wl,-soname,libnvJitLink.so.$(1) \
	    -Wl,--version-script=compat/nvjitlink/exports_$(1).map $$(SO_NO_UNDEF) -Wl,--gc-sections \
	    -o $$@ $$(JIT_OBJS_$(1)) $(BUILD)/obj/cli/resources.o $(WORKER_LIB_OBJS) $(BUILD)/libcuvet.a $$(CODEC_LIBS) -pthread
-include $$(JIT_OBJS_$(1):.o=.d)
endef
$(foreach v,12 13,$(eval $(call jit_rule,$(v))))

JIT_LIBS := $(BUILD)/compat/libnvJitLink.so.12 $(BUILD)/compat/libnvJitLink.so.13
# What such a library starts for links with LTO-IR, beside it.
LTO_PROGRAM := $(BUILD)/compat/cuvet-lto
# A sanitizer's runtime would not start under the limits that it is run with: other modes build it without.
LTO_MODE  := $(if $(filter release,$(MODE)),$(MODE_FLAGS))
LTO_LINK  := $(if $(filter release,$(MODE)),$(MODE_LINK))
$(BUILD)/obj/compat/lto/%.o: compat/lto/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CV_BASE) $(CV_WARN_TEST) $(CV_WERROR) $(LTO_MODE) -O2 -g -Iinclude -c $< -o $@
$(LTO_PROGRAM): $(BUILD)/obj/compat/lto/main.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(LTO_MODE) $(LTO_LINK) $(LDFLAGS) -o $@ $< -ldl
-include $(BUILD)/obj/compat/lto/main.d
all: $(LTO_PROGRAM)

.PHONY: compat
compat: $(LTO_PROGRAM) $(JIT_LIBS) ## libraries in the place of others: build/compat/libnvJitLink.so.12 and .13
all: $(JIT_LIBS)

# Loads whichever library it is told: ours, or the reference.
$(BUILD)/tests/jit_driver: $(BUILD)/obj/tests/programs/jit_driver.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -pie -o $@ $^ -ldl -pthread
-include $(BUILD)/obj/tests/programs/jit_driver.d
tests-build: $(BUILD)/tests/jit_driver $(JIT_LIBS)
