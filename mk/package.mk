# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cli/package/: cuvet-package, which the command starts for each package that it opens. It alone has libarchive in
# it. Where they are not installed it is not built, and the command says of packages that it cannot open them.

PACKAGE_NEEDS := libarchive jansson nettle
PACKAGE_OBJS  := $(patsubst %,$(BUILD)/obj/cli/%.o,package/main package/also package/open package/image package/image_json package/image_read package/image_tree package/tar package/zip package/frame sandbox filter)
# ARCHIVE=static: libarchive and the decompressors are in it, nettle and jansson alone are loaded (the Python package).
ARCHIVE       ?= shared
PACKAGE_LIBS   = $(if $(filter static,$(ARCHIVE)),-Wl$(comma)-Bstatic -larchive -llzma -lzstd -llz4 -lbz2 -lz -Wl$(comma)-Bdynamic -Wl$(comma)--as-needed -lnettle -ljansson -pthread,$(shell $(PKG_CONFIG) --libs $(PACKAGE_NEEDS)))
PACKAGE_BUILT := $(if $(shell $(PKG_CONFIG) --exists $(PACKAGE_NEEDS) 2>/dev/null && echo yes),$(BUILD)/cuvet-package)

$(BUILD)/obj/cli/package.o: $(BUILD)/.libexec
$(BUILD)/obj/cli/package.o: CLI_CFLAGS += '-DCLI_PACKAGE_PROGRAM="$(LIBEXECDIR)/cuvet-package"'
$(patsubst %,$(BUILD)/obj/cli/package/%.o,main also open image_json image_read): CLI_CFLAGS += $(shell $(PKG_CONFIG) --cflags $(PACKAGE_NEEDS))

$(BUILD)/cuvet-package: $(PACKAGE_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) -pie $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) $(LOADED_FLAG) -o $@ $(PACKAGE_OBJS) $(PACKAGE_LIBS)

-include $(PACKAGE_OBJS:.o=.d)
