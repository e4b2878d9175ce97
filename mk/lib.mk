# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The library and the command. One archive per directory of src/ (so that a layer can be linked without the ones above
# it), and all of them together in libcuvet.a and libcuvet.so. New files are picked up by wildcard.

# Lowest first; the order and the levels are those of src/LAYERS, which tools/check_layers reads.
LAYER_DIRS := $(shell sed -e 's/#.*//' src/LAYERS 2>/dev/null | awk 'NF >= 2 { print $$2 }')

LIB_SRCS   := $(sort $(foreach d,$(LAYER_DIRS),$(wildcard src/$(d)/*.c)))
LIB_OBJS   := $(LIB_SRCS:%.c=$(BUILD)/obj/%.o) $(MODE_OBJS)
CLI_SRCS   := $(sort $(wildcard cli/*.c cli/check/*.c cli/known/*.c cli/nvlink/*.c cli/page/*.c cli/yara/*.c) cli/package/frame.c cli/package/zip.c)
CLI_OBJS   := $(CLI_SRCS:%.c=$(BUILD)/obj/%.o)
# A mode may link the libraries that are loaded otherwise (cfi).
CLI_OBJS   := $(if $(MODE_CLI_LIBS),$(CLI_OBJS:%/cli/loaded.o=%/fuzz/engine/linked.o),$(CLI_OBJS))
EXPORTS    := src/api/exports.map
# Sanitizer runtimes are left undefined in a shared object on purpose; nothing else may be.
ifeq ($(MODE),release)
SO_NO_UNDEF := -Wl,--no-undefined
endif

# libcv_format_elf.a and the like: what check-layers and the unit tests link.
layer_lib   = $(BUILD)/lib/libcv_$(subst /,_,$(1)).a
LAYER_LIBS := $(foreach d,$(LAYER_DIRS),$(if $(wildcard src/$(d)/*.c),$(call layer_lib,$(d))))

$(BUILD)/obj/src/%.o: src/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) -c $< -o $@

$(BUILD)/obj/cli/%.o: cli/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLI_CFLAGS) -c $< -o $@

# The system call filter of the command: programs that libseccomp makes now, on this machine and for it, so that neither it
# nor the time that it takes is in the command. The exporter runs as it is, without what a mode adds. A cross build names an
# emulator for it (RUN).
FILTER_INC := $(BUILD)/gen/filter_programs.inc
$(BUILD)/gen/filter_export: $(wildcard cli/filter/*.[ch]) $(FLAGS_STAMP)
	$(call say,CC,cli/filter/export.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 $(CV_WARN_TEST) $(CV_WERROR) $(CV_DEFS) -o $@ cli/filter/export.c cli/filter/rules.c -lseccomp

$(FILTER_INC): $(BUILD)/gen/filter_export
	$(call say,GEN,$@)
	$(Q)$(RUN) $< > $@

$(BUILD)/obj/cli/filter.o: $(FILTER_INC)
$(BUILD)/obj/cli/filter.o: CLI_CFLAGS += -I$(BUILD)/gen

# The page of cuvet report, as the initializers of arrays. Its script is one function around all of its parts.
PAGE_INCS := $(patsubst %,$(BUILD)/gen/page_%.inc,html css js)
PAGE_JS   := $(patsubst %,cli/page/%.js,base data draw table summary findings coverage treemap ledger pieces start)
bytes_of   = od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
$(BUILD)/gen/page_%.inc: cli/page/page.% mk/lib.mk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)cat $< | $(bytes_of) > $@
$(BUILD)/gen/page_js.inc: $(PAGE_JS) mk/lib.mk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q){ echo '(function () { "use strict";'; cat $(PAGE_JS); echo '}());'; } | $(bytes_of) > $@

$(BUILD)/obj/cli/page/write.o: $(PAGE_INCS)
$(BUILD)/obj/cli/page/write.o: CLI_CFLAGS += -I$(BUILD)/gen

# `ar D` writes no dates and no owners; a fresh archive each time, so that a removed source leaves no object behind.
define archive
	$(call say,AR,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)ar crD $@ $(1)
endef

define layer_rule
$(call layer_lib,$(1)): $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard src/$(1)/*.c)))
	$$(call archive,$$^)
endef
$(foreach d,$(LAYER_DIRS),$(if $(wildcard src/$(d)/*.c),$(eval $(call layer_rule,$(d)))))

$(BUILD)/libcuvet.a: $(LIB_OBJS) $(BUILD)/.lib-sources
	$(call archive,$(LIB_OBJS))

# Static decompressors are hidden by the list of exports.
SO_LIBS     = $(if $(filter static,$(CODECS)),$(CODEC_LIBS),$(LIB_LIBS))
$(BUILD)/libcuvet.so.$(SOVERSION): $(LIB_OBJS) $(EXPORTS) $(BUILD)/.lib-sources $(BUILD)/.codecs
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -Wl,-soname,libcuvet.so.$(SOVERSION) \
	    -Wl,--version-script=$(EXPORTS) $(SO_NO_UNDEF) \
	    -o $@ $(LIB_OBJS) $(SO_LIBS)

$(BUILD)/libcuvet.so: $(BUILD)/libcuvet.so.$(SOVERSION)
	@ln -sf libcuvet.so.$(SOVERSION) $@

$(BUILD)/.codecs: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CODECS)' | cmp -s - $@ || printf '%s\n' '$(CODECS)' > $@

$(BUILD)/cuvet: $(CLI_OBJS) $(BUILD)/libcuvet-worker.a $(BUILD)/libcuvet.a $(BUILD)/.codecs
	$(call say,LD,$@)
	$(Q)$(CC) $(or $(MODE_PIE),-pie) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) $(LOADED_FLAG) -o $@ $(CLI_OBJS) $(BUILD)/libcuvet-worker.a $(BUILD)/libcuvet.a \
	    $(CLI_LIBS) $(CODEC_LIBS)

# The command under the names of the tools in whose place it can stand.
COMPAT := $(BUILD)/compat/nvlink
$(COMPAT): $(BUILD)/cuvet
	@mkdir -p $(@D) && ln -sfn ../cuvet $@

# The list of sources is a prerequisite of its own: deleting a file must relink.
$(BUILD)/.lib-sources: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(LIB_SRCS)' | cmp -s - $@ || printf '%s\n' '$(LIB_SRCS)' > $@

-include $(LIB_OBJS:.o=.d) $(CLI_OBJS:.o=.d)
