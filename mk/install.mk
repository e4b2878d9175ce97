# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installation and the source archive.

.PHONY: install uninstall dist sbom release deb check-install

# Files that say where the others were installed, each from its template with the words between @ replaced.
CMAKEDIR  ?= $(LIBDIR)/cmake/cuvet
UNITDIR   ?= $(PREFIX)/lib/systemd/user
FILLED    := $(addprefix $(BUILD)/,cuvet.pc cuvet-worker.pc cuvet-config.cmake cuvet-config-version.cmake cuvet.service)
vpath %.in contrib/cmake contrib/systemd
$(FILLED): $(BUILD)/%: %.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@BINDIR@|$(BINDIR)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@SOVERSION@|$(SOVERSION)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# Section 3 comes from the comments of the headers. Without Python there is none, and that is said.
.PHONY: man3
man3: ## manual pages of the library, in $(BUILD)/man
	@rm -rf $(BUILD)/man && mkdir -p $(BUILD)/man
	@if command -v $(PYTHON) > /dev/null; then $(PYTHON) tools/gen_man3.py $(BUILD)/man; \
	else echo "man3: no $(PYTHON), no manual pages of the library"; fi

install: all man3 $(FILLED) ## the command, the worker, the libraries, headers, cuvet.pc, the CMake package, manual pages, completions, systemd units (DESTDIR, PREFIX)
	$(INSTALL) -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(INCLUDEDIR)/cuvet'
	$(INSTALL) -m 755 $(BUILD)/cuvet '$(DESTDIR)$(BINDIR)/cuvet'
	$(INSTALL) -d '$(DESTDIR)$(LIBDIR)/cuvet/compat'
	ln -sf '$(BINDIR)/cuvet' '$(DESTDIR)$(LIBDIR)/cuvet/compat/nvlink'
	$(INSTALL) -m 755 $(LTO_PROGRAM) $(JIT_LIBS) '$(DESTDIR)$(LIBDIR)/cuvet/compat/'
	$(INSTALL) -m 644 $(BUILD)/libcuvet.a '$(DESTDIR)$(LIBDIR)/libcuvet.a'
	$(INSTALL) -m 755 $(BUILD)/libcuvet.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libcuvet.so.$(VERSION)'
	ln -sf libcuvet.so.$(VERSION) '$(DESTDIR)$(LIBDIR)/libcuvet.so.$(SOVERSION)'
	ln -sf libcuvet.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libcuvet.so'
	$(INSTALL) -d '$(DESTDIR)$(LIBEXECDIR)'
	$(INSTALL) -m 755 $(BUILD)/cuvet-worker '$(DESTDIR)$(LIBEXECDIR)/cuvet-worker'
	@for f in $(PACKAGE_BUILT); do $(INSTALL) -m 755 "$$f" '$(DESTDIR)$(LIBEXECDIR)/' || exit 1; done
	$(INSTALL) -m 644 $(BUILD)/libcuvet-worker.a '$(DESTDIR)$(LIBDIR)/libcuvet-worker.a'
	$(INSTALL) -m 755 $(BUILD)/libcuvet-worker.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libcuvet-worker.so.$(VERSION)'
	ln -sf libcuvet-worker.so.$(VERSION) '$(DESTDIR)$(LIBDIR)/libcuvet-worker.so.$(SOVERSION)'
	ln -sf libcuvet-worker.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libcuvet-worker.so'
	$(INSTALL) -m 644 $(BUILD)/cuvet-worker.pc '$(DESTDIR)$(LIBDIR)/pkgconfig/cuvet-worker.pc'
	$(INSTALL) -m 644 include/cuvet/*.h '$(DESTDIR)$(INCLUDEDIR)/cuvet/'
	$(INSTALL) -m 644 $(BUILD)/cuvet.pc '$(DESTDIR)$(LIBDIR)/pkgconfig/cuvet.pc'
	$(INSTALL) -d '$(DESTDIR)$(CMAKEDIR)' '$(DESTDIR)$(UNITDIR)'
	$(INSTALL) -m 644 $(BUILD)/cuvet-config.cmake $(BUILD)/cuvet-config-version.cmake '$(DESTDIR)$(CMAKEDIR)/'
	$(INSTALL) -m 644 $(BUILD)/cuvet.service contrib/systemd/cuvet.socket '$(DESTDIR)$(UNITDIR)/'
	$(INSTALL) -D -m 644 completions/cuvet.bash '$(DESTDIR)$(DATADIR)/bash-completion/completions/cuvet'
	$(INSTALL) -D -m 644 completions/_cuvet '$(DESTDIR)$(DATADIR)/zsh/site-functions/_cuvet'
	$(INSTALL) -D -m 644 completions/cuvet.fish '$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/cuvet.fish'
	$(INSTALL) -D -m 644 contrib/yara/device-code.yar '$(DESTDIR)$(DATADIR)/cuvet/yara/device-code.yar'
	@for s in 1 3 5 7; do for p in docs/man/*.$$s $(BUILD)/man/*.$$s; do test -f "$$p" || continue; \
	    $(INSTALL) -D -m 644 "$$p" "$(DESTDIR)$(MANDIR)/man$$s/$$(basename "$$p")" || exit 1; done; done

uninstall: man3 ## remove what install wrote, with the same DESTDIR and PREFIX
	rm -f '$(DESTDIR)$(LIBDIR)/cuvet/compat/nvlink'
	@for l in $(notdir $(LTO_PROGRAM) $(JIT_LIBS)); do rm -f "$(DESTDIR)$(LIBDIR)/cuvet/compat/$$l" || exit 1; done
	-@rmdir '$(DESTDIR)$(LIBDIR)/cuvet/compat' '$(DESTDIR)$(LIBDIR)/cuvet' 2>/dev/null || true
	rm -f '$(DESTDIR)$(BINDIR)/cuvet' '$(DESTDIR)$(LIBDIR)'/libcuvet.a '$(DESTDIR)$(LIBDIR)'/libcuvet.so \
	    '$(DESTDIR)$(LIBDIR)/libcuvet.so.$(SOVERSION)' '$(DESTDIR)$(LIBDIR)/libcuvet.so.$(VERSION)' '$(DESTDIR)$(LIBDIR)/pkgconfig/cuvet.pc'
	rm -f '$(DESTDIR)$(LIBEXECDIR)/cuvet-package' '$(DESTDIR)$(LIBEXECDIR)/cuvet-worker' '$(DESTDIR)$(LIBDIR)'/libcuvet-worker.a '$(DESTDIR)$(LIBDIR)'/libcuvet-worker.so \
	    '$(DESTDIR)$(LIBDIR)/libcuvet-worker.so.$(SOVERSION)' '$(DESTDIR)$(LIBDIR)/libcuvet-worker.so.$(VERSION)' '$(DESTDIR)$(LIBDIR)/pkgconfig/cuvet-worker.pc'
	-@rmdir '$(DESTDIR)$(LIBEXECDIR)' 2>/dev/null || true
	rm -f '$(DESTDIR)$(DATADIR)/bash-completion/completions/cuvet' '$(DESTDIR)$(DATADIR)/zsh/site-functions/_cuvet' \
	    '$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/cuvet.fish' '$(DESTDIR)$(DATADIR)/cuvet/yara/device-code.yar'
	-@rmdir '$(DESTDIR)$(DATADIR)/cuvet/yara' '$(DESTDIR)$(DATADIR)/cuvet' 2>/dev/null || true
	rm -f '$(DESTDIR)$(CMAKEDIR)/cuvet-config.cmake' '$(DESTDIR)$(CMAKEDIR)/cuvet-config-version.cmake' \
	    '$(DESTDIR)$(UNITDIR)/cuvet.service' '$(DESTDIR)$(UNITDIR)/cuvet.socket'
	-@rmdir '$(DESTDIR)$(CMAKEDIR)' 2>/dev/null || true
	@for h in include/cuvet/*.h; do rm -f "$(DESTDIR)$(INCLUDEDIR)/cuvet/$$(basename "$$h")" || exit 1; done
	@for s in 1 3 5 7; do for p in docs/man/*.$$s $(BUILD)/man/*.$$s; do test -f "$$p" || continue; \
	    rm -f "$(DESTDIR)$(MANDIR)/man$$s/$$(basename "$$p")" || exit 1; done; done
	-@rmdir '$(DESTDIR)$(INCLUDEDIR)/cuvet' 2>/dev/null || true

dist: ## cuvet-<version>.tar.gz of the last commit, reproducible
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=cuvet-$(VERSION)/ HEAD | gzip -n -9 > $(BUILD)/cuvet-$(VERSION).tar.gz
	@ls -l $(BUILD)/cuvet-$(VERSION).tar.gz

deb: ## Debian packages of the last commit, in $(BUILD)/deb (contrib/debian); ends with 77 without debhelper
	@sh tools/build_deb.sh '$(BUILD)' '$(VERSION)'

sbom: all ## CycloneDX bill of materials: each file that install writes, and the libraries in them (deps.def)
	@rm -rf $(BUILD)/shipped && mkdir -p $(BUILD)/shipped
	@$(MAKE) DESTDIR='$(abspath $(BUILD))/shipped' install > $(BUILD)/shipped/log 2>&1 || { cat $(BUILD)/shipped/log; exit 1; }
	@rm $(BUILD)/shipped/log
	@$(PYTHON) tools/sbom.py --version $(VERSION) --root $(BUILD)/shipped > $(BUILD)/cuvet.cdx.json
	@rm -rf $(BUILD)/shipped && echo $(BUILD)/cuvet.cdx.json

release: ## source archive of the last commit, bill of materials of what it installs, SHA256SUMS: in $(BUILD)/release
	@sh tools/release.sh '$(MAKE)' '$(BUILD)' '$(VERSION)' '$(CC)'

# What a stranger does: install, find it through pkg-config, compile the examples against it, run them.
check-install: all ## install into a scratch directory and build the examples against it
	@sh tools/check_install.sh '$(MAKE)' '$(BUILD)' '$(CC)'
