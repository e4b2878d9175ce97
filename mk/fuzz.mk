# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzz targets. fuzz/target_<name>.c defines cv_fuzz_<name>(); the same function is linked three times: with libFuzzer
# (or an engine of somebody else: MODE=engine), with AFL++'s persistent driver (MODE=afl) and with the plain
# replay driver (any mode).

.PHONY: replay-build fuzzers-build fuzz-all

# Targets that need jansson or nettle. Where these are not built with MSan, what they write would be taken for what nobody wrote.
FUZZ_LOADS   := image policy print serve
FUZZ_WITH_LOADS ?= $(if $(filter msan,$(MODE)),,1)
# FUZZ_WITHOUT: more names that are left out. FUZZ_ONLY: no others.
FUZZ_NAMES   := $(filter-out $(FUZZ_WITHOUT) $(if $(FUZZ_WITH_LOADS),,$(FUZZ_LOADS)),$(sort $(patsubst fuzz/target_%.c,%,$(wildcard fuzz/target_*.c))))
ifneq ($(FUZZ_ONLY),)
FUZZ_NAMES   := $(filter $(FUZZ_ONLY),$(FUZZ_NAMES))
endif
FUZZ_COMMON  := $(sort $(filter-out fuzz/target_% fuzz/program%,$(wildcard fuzz/*.c)))
FUZZ_COMMON_OBJS := $(FUZZ_COMMON:%.c=$(BUILD)/obj/%.o)

$(BUILD)/obj/fuzz/%.o: fuzz/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(FUZZ_CFLAGS) -c $< -o $@

# Targets that also test single files of the command: frames that cross the border of its cage.
FUZZ_CLI_frames    := frames
FUZZ_CLI_image     := package/image package/image_json package/image_tree
FUZZ_CLI_known     := known/frame known/recording
FUZZ_CLI_memberopt := frames
FUZZ_CLI_package   := package/frame
FUZZ_CLI_policy    := check/policy check/policy_file check/baseline check/codes names hash number json escape loaded
FUZZ_CLI_print     := fingerprint_text names hash json escape loaded
FUZZ_CLI_serve     := serve_frame serve_request json escape loaded
FUZZ_CLI_zip       := package/zip
FUZZ_CLI_worker    := worker/wire
FUZZ_CLI_yara      := yara/wire
$(foreach t,frames image known memberopt package policy print serve worker yara zip,$(eval $(BUILD)/obj/fuzz/target_$(t).o: FUZZ_CFLAGS += -Icli))

# Targets that compare stages with models (tests/model), on programs that the input chooses.
MODEL_OBJS := $(patsubst %.c,$(BUILD)/obj/%.o,$(call find_c,tests/model))
PROGRAM_OBJS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard fuzz/program*.c))
FUZZ_MODELS := archive choices describe hosts ledger offload propagate reach select shared slots
$(foreach t,$(FUZZ_MODELS),$(eval FUZZ_MORE_$(t) := $(MODEL_OBJS) $(PROGRAM_OBJS)))
$(foreach o,$(FUZZ_MODELS:%=$(BUILD)/obj/fuzz/target_%.o) $(PROGRAM_OBJS),$(eval $(o): FUZZ_CFLAGS += -Itests))
# What an engine learns from is the library: models and generator would only cost time.
ifneq ($(filter engine planted-fuzz,$(MODE)),)
$(MODEL_OBJS): TEST_CFLAGS += -fno-sanitize=fuzzer-no-link
$(PROGRAM_OBJS): FUZZ_CFLAGS += -fno-sanitize=fuzzer-no-link
endif
-include $(MODEL_OBJS:.o=.d) $(PROGRAM_OBJS:.o=.d)

# A comparison that an engine hears of costs more than it does itself, a quarter of the time of a link. In the readers of formats, which
# look for numbers and words, an engine learns from them; what is behind those compares counts, indices and bounds.
ifneq ($(and $(filter engine,$(MODE)),$(findstring fuzzer-no-link,$(CFLAGS))),)
FUZZ_UNTOLD  := api base bytes cubin drive finalize io link proc target
$(foreach d,$(FUZZ_UNTOLD),$(eval $(BUILD)/obj/src/$(d)/%.o: LIB_CFLAGS += -fno-sanitize-coverage=trace-cmp))
$(BUILD)/obj/fuzz/%.o: FUZZ_CFLAGS += -fno-sanitize-coverage=trace-cmp
endif

# Files of which it is known what is wrong with them, halves of programs, good files.
CASES_GEN    := $(BUILD)/gen/cases
$(CASES_GEN)/.made: fuzz/make_cases.py tools/corpus/edit.py corpus/hostile/MANIFEST.tsv
	$(call say,GEN,$(CASES_GEN))
	$(Q)$(PYTHON) fuzz/make_cases.py $(CASES_GEN)
	@touch $@
# Whose inputs choose among them.
FUZZ_CASES   := admits choices fields hosts places verdict
$(FUZZ_CASES:%=$(BUILD)/obj/fuzz/target_%.o): $(CASES_GEN)/.made
$(BUILD)/obj/fuzz/target_choices.o: FUZZ_CFLAGS += -I$(CASES_GEN) '-DCV_FUZZ_CHOICES="$(CASES_GEN)/choices.bin"'
$(BUILD)/obj/fuzz/target_places.o: FUZZ_CFLAGS += -I$(CASES_GEN) '-DCV_FUZZ_PLACES="$(CASES_GEN)/places.bin"'
$(BUILD)/obj/fuzz/target_fields.o: FUZZ_CFLAGS += -I$(CASES_GEN) '-DCV_FUZZ_BASES="$(CASES_GEN)/bases.bin"'
$(BUILD)/obj/fuzz/target_verdict.o: FUZZ_CFLAGS += -I$(CASES_GEN) '-DCV_FUZZ_CASES="$(CASES_GEN)/cases.bin"'
$(foreach t,admits hosts,$(BUILD)/obj/fuzz/target_$(t).o): FUZZ_CFLAGS += -I$(CASES_GEN) '-DCV_FUZZ_HOSTS="$(CASES_GEN)/hosts.bin"'

# Targets that test what stands beside the library.
FUZZ_LIBS_image = $(shell $(PKG_CONFIG) --libs jansson)
FUZZ_MORE_serve := $(WORKER_LIB_OBJS)
$(foreach t,known policy print serve,$(eval $(BUILD)/obj/fuzz/target_$(t).o: FUZZ_CFLAGS += $(CLI_DEP_CFLAGS)))
FUZZ_MORE_jit := $(JIT_OBJS_13) $(WORKER_LIB_OBJS) $(BUILD)/obj/cli/resources.o

# For an engine that runs elsewhere: what the machine there has not is in the target.
ifneq ($(FUZZ_LINKED),)
FUZZ_LD       = $(CXX) $(MODE_FLAGS) $(CXXFLAGS) $(LDFLAGS)
FUZZ_END      = $(if $(filter fuzz,$(1)),$(LIB_FUZZING_ENGINE)) $(or $(MODE_LINKED),-Wl$(comma)-Bstatic -ljansson -lnettle -llz4 -lzstd -Wl$(comma)-Bdynamic) -pthread -ldl
FUZZ_LOADED  := $(BUILD)/obj/fuzz/engine/linked.o
else
FUZZ_LD       = $(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS)
FUZZ_END      = $(if $(filter fuzz,$(1)),$(MODE_ENGINE)) $(LIB_LIBS) $(FUZZ_LIBS_$(2))
FUZZ_LOADED  := $(BUILD)/obj/cli/loaded.o
endif
$(BUILD)/obj/fuzz/engine/linked.o: FUZZ_CFLAGS += -Icli
fuzz_cli      = $(foreach f,$(FUZZ_CLI_$(1)),$(if $(filter loaded,$(f)),$(FUZZ_LOADED),$(BUILD)/obj/cli/$(f).o))

# $(1) target, $(2) engine source without .c, $(3) directory of the binary
define fuzz_rule
$(BUILD)/obj/fuzz/engine/$(2)-$(1).o: fuzz/engine/$(2).c $(FLAGS_STAMP)
	$$(call say,CC,$$< $(1))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(FUZZ_CFLAGS) -DCV_FUZZ_ENTRY=cv_fuzz_$(1) '-DCV_FUZZ_NAME="$(1)"' -c $$< -o $$@
$(BUILD)/$(3)/$(1): $(BUILD)/obj/fuzz/engine/$(2)-$(1).o $(BUILD)/obj/fuzz/target_$(1).o \
                    $(FUZZ_COMMON_OBJS) $(call fuzz_cli,$(1)) $(FUZZ_MORE_$(1)) $(BUILD)/libcuvet.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(FUZZ_LD) -o $$@ $$^ $$(call FUZZ_END,$(3),$(1))
-include $(BUILD)/obj/fuzz/engine/$(2)-$(1).d $(BUILD)/obj/fuzz/target_$(1).d
endef
$(foreach t,$(FUZZ_NAMES),$(eval $(call fuzz_rule,$(t),replay,replay)))
$(foreach t,$(FUZZ_NAMES),$(eval $(call fuzz_rule,$(t),entry,fuzz)))
-include $(FUZZ_COMMON_OBJS:.o=.d)

.PHONY: replay-models
replay-models: $(FUZZ_MODELS:%=$(BUILD)/replay/%)
replay-build:  $(FUZZ_NAMES:%=$(BUILD)/replay/%)
fuzzers-build: $(FUZZ_NAMES:%=$(BUILD)/fuzz/%)

# oss-fuzz/build.sh ends here.
.PHONY: fuzz-install
FUZZ_BUILT    = $(if $(strip $(LIB_FUZZING_ENGINE)),fuzz,replay)
fuzz-install: $(FUZZ_NAMES:%=$(BUILD)/$(FUZZ_BUILT)/%)
	@test -n "$(OUT)" || { echo "fuzz-install: OUT=folder is needed; oss-fuzz/build.sh says what else"; exit 2; }
	@$(PYTHON) tools/fuzz_layout.py --source $(BUILD)/$(FUZZ_BUILT) --out $(OUT) $(FUZZ_NAMES)

# libFuzzer by the script that others run: $(1) are more words for its environment.
our_engine    = MAKEFLAGS= SRC=$(abspath $(BUILD))/libfuzzer/src WORK=$(abspath $(BUILD))/libfuzzer OUT=$(abspath $(BUILD))/libfuzzer/out CV_FUZZ_BUILD=$(abspath $(BUILD))/libfuzzer \
    CC=$(SAN_CC) CXX=$(FUZZ_CXX) CFLAGS='$(FUZZ_OURS)' CXXFLAGS='$(FUZZ_OURS)' LDFLAGS='$(SAN_LD)' SANITIZER=address LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
    JOBS=$(JOBS) CV_FUZZ_PLANTED=1 $(1) sh oss-fuzz/build.sh

.PHONY: fuzz-engines
fuzz-engines:
	@$(call our_engine)
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan replay-build
	@if command -v afl-clang-fast > /dev/null; then \
	    AFL_QUIET=1 $(SUBMAKE) MODE=afl BUILD=$(BUILD)/afl fuzzers-build; \
	else echo "SKIPPED: AFL++ builds, afl-clang-fast is not installed"; fi

# For secondaries of AFL++: the structured mutators, without what an engine counts.
$(BUILD)/afl/mutator.so: fuzz/engine/afl_mutator.c $(wildcard fuzz/mutate*.[ch])
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CV_BASE) -O2 -shared -Iinclude -Isrc -Ispec -Ifuzz -MMD -MF $@.d -o $@ $(filter %.c,$^) -llz4 -lzstd

fuzz-all: fuzz-engines ## build every fuzz target for libFuzzer, AFL++ (with and without CMPLOG) and replay
	@if command -v afl-clang-fast > /dev/null; then \
	    AFL_QUIET=1 AFL_LLVM_CMPLOG=1 $(SUBMAKE) MODE=afl BUILD=$(BUILD)/afl-cmplog fuzzers-build; \
	    $(SUBMAKE) $(BUILD)/afl/mutator.so; fi

fuzz-%: ## build and run one target under libFuzzer (FUZZ_SECONDS=60, FUZZ_ARGS=...)
	@test -f fuzz/target_$*.c || { echo "no fuzz/target_$*.c; targets: $(FUZZ_NAMES)"; exit 2; }
	@$(call our_engine,FUZZ_ONLY=$*)
	@$(PYTHON) tools/campaign --build $(BUILD) --one $* --seconds $(or $(FUZZ_SECONDS),60) $(FUZZ_ARGS)

.PHONY: fuzz-speed
fuzz-speed: ## executions per second of processor time of each target under libFuzzer, ASan, UBSan (SPEED_ARGS="--cpu 20 --targets link,scan")
	@$(call our_engine)
	@$(PYTHON) tools/fuzz_speed --build $(BUILD) $(SPEED_ARGS)

.PHONY: campaign fuzz-smoke
campaign: fuzz-all ## HOURS=h: all fuzz targets in rotation on two cores, resumable, a report per target
	@$(PYTHON) tools/campaign --build $(BUILD) --hours $(HOURS) $(CAMPAIGN_ARGS)

# Two seconds a target are no time for CMPLOG: it is for campaigns.
fuzz-smoke: fuzz-engines ## about a minute: the planted bug by both engines, then every target for a moment
	@$(PYTHON) tools/campaign --build $(BUILD) --smoke $(CAMPAIGN_ARGS)
	@$(PYTHON) tools/check_ossfuzz --layout $(BUILD)/libfuzzer/out --no-runs

# Each configuration is a whole build in a clean copy. The first is the one of check-full.
OSSFUZZ ?= $(if $(CV_FULL),libfuzzer/address,libfuzzer/address libfuzzer/undefined libfuzzer/memory libfuzzer/coverage none/address afl/none)
.PHONY: check-ossfuzz
check-ossfuzz: ## oss-fuzz/build.sh in a clean copy, then what OSS-Fuzz asks of its result (OSSFUZZ="engine/sanitizer ...", OSSFUZZ_ARGS)
	@$(PYTHON) tools/check_ossfuzz --configs $(subst $(space),$(comma),$(strip $(OSSFUZZ))) --jobs $(JOBS) $(OSSFUZZ_ARGS)

.PHONY: fuzz-blockers
fuzz-blockers: ## what no committed input of a target reaches, and where the ways there end (WRITE=1: docs/evidence/blockers.md)
	@$(SUBMAKE) MODE=cov BUILD=$(BUILD)/cov replay-build
	@$(PYTHON) tools/blockers --build $(BUILD)/cov --jobs $(JOBS) $(if $(WRITE),--write)

.PHONY: check-campaign
check-campaign: ## a campaign that is killed, begun again and merged loses nothing; after fuzz-engines (CAMPAIGN_ARGS=--seconds=60)
	@$(PYTHON) tools/check_campaign --build $(BUILD) $(CAMPAIGN_ARGS)
