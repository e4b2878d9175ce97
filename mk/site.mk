# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The documentation as a site. Nothing else needs it, or mkdocs.

.PHONY: site

MKDOCS ?= mkdocs

site: $(BUILD)/cuvet ## the documentation as a static site in $(BUILD)/site/html; ends with 77 without mkdocs (Debian package or PyPI)
	@command -v $(firstword $(MKDOCS)) > /dev/null || { echo "SKIPPED: site: $(MKDOCS) is not installed: apt-get install mkdocs, or pip install mkdocs"; exit 77; }
	@$(PYTHON) tools/gen_site.py --cuvet $(BUILD)/cuvet --out $(BUILD)/site
	@$(MKDOCS) build --strict --quiet --clean --config-file $(BUILD)/site/mkdocs.yml
	@echo "$(BUILD)/site/html/index.html"
