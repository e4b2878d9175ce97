# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Defects made on purpose (tests/planted): MODE=planted builds the library with all of them, and CV_PLANT says which one is made.

.PHONY: check-planted check-planted-fuzz planted-tests

ifneq ($(filter planted planted-fuzz,$(MODE)),)
PLANTED_GEN  := $(BUILD)/gen/planted
PLANTED_SRCS := $(shell $(PYTHON) tests/planted/plant_sources.py --list)

# Copies of the sources that have edits, with a switch at each; what did not change is not compiled again.
$(PLANTED_GEN)/.made: $(wildcard tests/planted/edits*.py) tests/planted/tables.py tests/planted/plant_sources.py $(PLANTED_SRCS)
	$(call say,GEN,$(PLANTED_GEN))
	$(Q)$(PYTHON) tests/planted/plant_sources.py $(PLANTED_GEN)
	@touch $@
$(PLANTED_SRCS:%=$(PLANTED_GEN)/%) $(PLANTED_GEN)/planted_edits.inc: $(PLANTED_GEN)/.made ;

$(PLANTED_SRCS:%.c=$(BUILD)/obj/%.o): $(BUILD)/obj/%.o: $(PLANTED_GEN)/%.c $(FLAGS_STAMP)
	$(call say,CC,$*.c (with defects))
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) -w -iquote $(dir $*) -include tests/planted/switch.h -c $< -o $@

$(BUILD)/obj/tests/planted/switch.o: $(PLANTED_GEN)/planted_edits.inc
$(BUILD)/obj/tests/planted/switch.o: TEST_CFLAGS += -I$(PLANTED_GEN)
$(TEST_BINS): | $(MODE_REST)
endif

# What tests/planted/planted_tests.py asks.
planted-tests: $(BUILD)/cuvet $(foreach t,base bytes codec format cubin host intake scan target api,$(BUILD)/tests/unit_$(t))

# Results are kept: a run that was stopped goes on. PLANTED_FUZZ_ARGS="--part scan", "--fresh", names of defects.
MINUTES ?= 5
PLANTED_TARGETS = $(shell $(PYTHON) tests/planted/planted_fuzz.py --targets)
check-planted-fuzz: ## the same defects for the fuzz targets: committed inputs first, then MINUTES=5 of fuzzing for each that they do not notice
	@$(SUBMAKE) MODE=planted BUILD=$(BUILD)/planted FUZZ_ONLY="$(PLANTED_TARGETS)" replay-build
	@$(SUBMAKE) MODE=planted-fuzz BUILD=$(BUILD)/planted-fuzz FUZZ_ONLY="$(PLANTED_TARGETS)" replay-build fuzzers-build
	@$(PYTHON) tests/planted/planted_fuzz.py --plain $(BUILD)/planted --build $(BUILD)/planted-fuzz --minutes $(MINUTES) $(PLANTED_FUZZ_ARGS)

PLANTED_TOTALS := $(BUILD)/planted/totals.tsv
check-planted: ## defects made on purpose in the stages of scan, input, link and finalization, one at a time: each is noticed, by a check, a test or a model
	@$(SUBMAKE) MODE=planted BUILD=$(BUILD)/planted planted-tests replay-models
	@rm -f $(PLANTED_TOTALS); bad=0; \
	$(PYTHON) tests/planted/planted_tests.py --build $(BUILD)/planted --totals $(PLANTED_TOTALS) || bad=1; \
	$(PYTHON) tests/planted/planted_targets.py --build $(BUILD)/planted --totals $(PLANTED_TOTALS) || bad=1; \
	$(PYTHON) tests/planted/planted.py --cuvet $(BUILD)/planted/cuvet --totals $(PLANTED_TOTALS) || bad=1; \
	$(PYTHON) tests/planted/totals.py $(PLANTED_TOTALS) && test $$bad = 0
