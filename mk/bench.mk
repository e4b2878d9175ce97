# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Measurements: cuvet against the bare loops that do the same work without any check.

.PHONY: bench bench-build bench-link bench-bombs bench-worst bench-cache
BENCH_SRCS := $(sort $(wildcard bench/*.c))
BENCH_BINS := $(BENCH_SRCS:bench/%.c=$(BUILD)/bench/%)

$(BUILD)/bench/%: bench/%.c $(BUILD)/libcuvet.a $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CV_BASE) $(CV_WARN_TEST) $(CV_WERROR) $(MODE_FLAGS) $(CFLAGS) -Iinclude -Isrc -Ispec -MF $@.d \
	    $< -o $@ $(MODE_LINK) $(LDFLAGS) -pie $(BUILD)/libcuvet.a $(LIB_LIBS)
-include $(BENCH_BINS:%=%.d)
$(BUILD)/bench/worker: $(BUILD)/libcuvet-worker.a | $(BUILD)/cuvet-worker
$(BUILD)/bench/worker: LIB_LIBS := $(BUILD)/libcuvet-worker.a $(LIB_LIBS)

bench-build: $(BENCH_BINS)

# What links cost, also in the place of nvlink and libnvJitLink and in workers, is in bench-link.
bench: ## ratios to bare loops, paired runs, medians of cpu time (CUVET_BENCH_FILES names other files)
	@sh tools/deps.sh check
	@$(SUBMAKE) all bench-build
	@$(PYTHON) bench/run.py --build $(BUILD) $(BENCH_ARGS)

bench-link: ## links, also in nvlink's place and in workers, against nvlink and libnvJitLink where present, and against half the size (BENCH_ARGS)
	@sh tools/deps.sh check
	@$(SUBMAKE) all bench-build
	@$(PYTHON) bench/run_link.py --build $(BUILD) $(BENCH_ARGS)

# tests/hostile/test_bombs.py counts the same families in `make check`.
bench-bombs: all ## seconds and megabytes of files that are made to cost much (BENCH_ARGS: parts of their names)
	@$(PYTHON) bench/bombs.py --build $(BUILD) $(BENCH_ARGS)

# tests/hostile/test_worst.py counts some of them in `make check`.
bench-worst: all ## how time and memory of each stage grow with the worst inputs, by doubling sizes (BENCH_ARGS: --sizes 0.25,0.5,1 or parts of their names)
	@$(PYTHON) bench/worst.py --build $(BUILD) $(BENCH_ARGS)

bench-cache: all ## what a verdict that is kept saves, on the files of BENCH_ARGS
	@$(PYTHON) bench/cache.py --build $(BUILD) $(BENCH_ARGS)
