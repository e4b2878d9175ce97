# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The Python package, python/. Its own build (python/setup.py) makes the library with this Makefile.

.PHONY: check-python

check-python: $(BUILD)/cuvet $(BUILD)/cuvet-worker ## the Python package: sdist, wheel of it, pytest and mypy in an empty environment; ends with 77 without venv or package index
	@sh tools/check_python.sh '$(PYTHON)' '$(BUILD)'

.PHONY: check-scale
check-scale: $(BUILD)/cuvet $(PACKAGE_BUILT) ## more than one machine: Ray, Slurm on two nodes, Kubernetes without one; workers and a node are killed; ends with 77 without them
	@sh tools/check_scale.sh '$(PYTHON)' '$(BUILD)'
