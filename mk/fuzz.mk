# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzz targets. fuzz/target_<name>.c defines cv_fuzz_<name>(); the same function is linked three times: with libFuzzer
# (MODE=libfuzzer), with AFL++'s persistent driver (MODE=afl) and with the plain replay driver (any mode).

.PHONY: replay-build fuzzers-build fuzz-all

# jansson and nettle, which `image`, `policy`, `print` and `serve` need, are not built with MSan: what they write would be taken for what nobody wrote.
FUZZ_NAMES   := $(filter-out $(if $(filter msan,$(MODE)),image policy print serve),$(sort $(patsubst fuzz/target_%.c,%,$(wildcard fuzz/target_*.c))))
FUZZ_COMMON  := $(sort $(filter-out fuzz/target_%,$(wildcard fuzz/*.c)))
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

# Targets that test what stands beside the library.
FUZZ_LIBS_image = $(shell $(PKG_CONFIG) --libs jansson)
FUZZ_MORE_serve := $(WORKER_LIB_OBJS)
$(foreach t,known policy print serve,$(eval $(BUILD)/obj/fuzz/target_$(t).o: FUZZ_CFLAGS += $(CLI_DEP_CFLAGS)))
FUZZ_MORE_jit := $(JIT_OBJS_13) $(WORKER_LIB_OBJS) $(BUILD)/obj/cli/resources.o

# $(1) target, $(2) engine source without .c, $(3) directory of the binary
define fuzz_rule
$(BUILD)/obj/fuzz/engine/$(2)-$(1).o: fuzz/engine/$(2).c $(FLAGS_STAMP)
	$$(call say,CC,$$< $(1))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(FUZZ_CFLAGS) -DCV_FUZZ_ENTRY=cv_fuzz_$(1) '-DCV_FUZZ_NAME="$(1)"' -c $$< -o $$@
$(BUILD)/$(3)/$(1): $(BUILD)/obj/fuzz/engine/$(2)-$(1).o $(BUILD)/obj/fuzz/target_$(1).o \
                    $(FUZZ_COMMON_OBJS) $(FUZZ_CLI_$(1):%=$(BUILD)/obj/cli/%.o) $(FUZZ_MORE_$(1)) $(BUILD)/libcuvet.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(MODE_FLAGS) $$(CFLAGS) $$(MODE_LINK) $$(LDFLAGS) -o $$@ $$^ $$(LIB_LIBS) $$(FUZZ_LIBS_$(1))
-include $(BUILD)/obj/fuzz/engine/$(2)-$(1).d $(BUILD)/obj/fuzz/target_$(1).d
endef
$(foreach t,$(FUZZ_NAMES),$(eval $(call fuzz_rule,$(t),replay,replay)))
$(foreach t,$(FUZZ_NAMES),$(eval $(call fuzz_rule,$(t),entry,fuzz)))
-include $(FUZZ_COMMON_OBJS:.o=.d)

replay-build:  $(FUZZ_NAMES:%=$(BUILD)/replay/%)
fuzzers-build: $(FUZZ_NAMES:%=$(BUILD)/fuzz/%)

.PHONY: fuzz-engines
fuzz-engines:
	@$(SUBMAKE) MODE=libfuzzer BUILD=$(BUILD)/libfuzzer fuzzers-build
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan replay-build
	@if command -v afl-clang-fast > /dev/null; then \
	    AFL_QUIET=1 $(SUBMAKE) MODE=afl BUILD=$(BUILD)/afl fuzzers-build; \
	else echo "SKIPPED: AFL++ builds, afl-clang-fast is not installed"; fi

fuzz-all: fuzz-engines ## build every fuzz target for libFuzzer, AFL++ (with and without CMPLOG) and replay
	@if command -v afl-clang-fast > /dev/null; then \
	    AFL_QUIET=1 AFL_LLVM_CMPLOG=1 $(SUBMAKE) MODE=afl BUILD=$(BUILD)/afl-cmplog fuzzers-build; fi

fuzz-%: ## build and run one target under libFuzzer (FUZZ_SECONDS=60, FUZZ_ARGS=...)
	@test -f fuzz/target_$*.c || { echo "no fuzz/target_$*.c; targets: $(FUZZ_NAMES)"; exit 2; }
	@$(SUBMAKE) MODE=libfuzzer BUILD=$(BUILD)/libfuzzer $(BUILD)/libfuzzer/fuzz/$*
	@$(PYTHON) tools/campaign --build $(BUILD) --one $* --seconds $(or $(FUZZ_SECONDS),60) $(FUZZ_ARGS)

.PHONY: campaign fuzz-smoke
campaign: fuzz-all ## HOURS=h: all fuzz targets in rotation on two cores, resumable, a report per target
	@$(PYTHON) tools/campaign --build $(BUILD) --hours $(HOURS) $(CAMPAIGN_ARGS)

# Two seconds a target are no time for CMPLOG: it is for campaigns.
fuzz-smoke: fuzz-engines ## about a minute: the planted bug by both engines, then every target for a moment
	@$(PYTHON) tools/campaign --build $(BUILD) --smoke $(CAMPAIGN_ARGS)
