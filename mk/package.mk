# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cli/package/: cuvet-package, which the command starts for each package that it opens. Alone has it libarchive in it.

PACKAGE_OBJS := $(patsubst %,$(BUILD)/obj/cli/%.o,package/main package/frame sandbox filter)
PACKAGE_LIBS  = $(shell $(PKG_CONFIG) --libs libarchive)

$(BUILD)/obj/cli/package.o: $(BUILD)/.libexec
$(BUILD)/obj/cli/package.o: CLI_CFLAGS += '-DCLI_PACKAGE_PROGRAM="$(LIBEXECDIR)/cuvet-package"'
$(BUILD)/obj/cli/package/main.o: CLI_CFLAGS += $(shell $(PKG_CONFIG) --cflags libarchive)

$(BUILD)/cuvet-package: $(PACKAGE_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) -pie $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -o $@ $(PACKAGE_OBJS) $(PACKAGE_LIBS)

-include $(PACKAGE_OBJS:.o=.d)
