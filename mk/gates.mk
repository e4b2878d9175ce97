# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Gates: each is one command that says what it looked at and fails loudly.

.PHONY: check-abi check-folders check-layers check-shape shape check-bans check-docs check-generated check-hostile check-unsafe check-hardening check-repro check-warnings check-asan check-int \
        check-tsan check-msan check-cfi check-valgrind check-analyzers check-mutation check-world check-toolkits check-device check-detection check-bare check-deb check-aarch64 check-s390x check-i386 lint format check-format coverage docs

check-layers: $(LAYER_LIBS) $(FILTER_INC) $(PAGE_INCS) $(BUILD)/libcuvet.so $(BUILD)/libcuvet-worker.so ## includes against src/LAYERS, each directory linked alone, exports
	@$(PYTHON) tools/check_layers --build $(BUILD) --cc '$(CC)'

check-shape: ## one-letter names, numbers of machines and formats outside their home, ...: tools/shape.max may only fall
	@$(PYTHON) tools/shape --check
shape: ## the same numbers as a table, for each directory
	@$(PYTHON) tools/shape

check-abi: $(BUILD)/libcuvet.so ## sizes, offsets, values and prototypes of the public headers against src/api/abi.tsv
	@$(PYTHON) tools/abi --build $(BUILD)

check-bans: ## banned calls and habits, with an allow-list that may only shrink
	@$(PYTHON) tools/check_bans

check-docs: $(BUILD)/cuvet ## rule table, docs/rules.md, rules named by tests, manual pages
	@$(PYTHON) tools/check_docs --build $(BUILD)

# What scripts write and git keeps: dictionaries, seeds, hostile and legal samples. A script that is not there fails.
GENERATORS := fuzz/make_dicts.py tools/corpus/make_seeds.py tools/corpus/hostile.py tests/planted/plant_sources.py
check-generated: ## dictionaries, seeds and hostile samples are what their scripts write
	@bad=0; for g in $(GENERATORS); do $(PYTHON) $$g --check || { echo "generated: $$g: differs"; bad=$$((bad + 1)); }; done; \
	echo "generated: $(words $(GENERATORS)) generators, $$bad with differences"; test $$bad = 0

check-folders: ## the tests write in the build folder and TMPDIR only: all else is read-only while they run (FOLDERS_ARGS)
	@$(SUBMAKE) all tests-build
	@CV_FULL= sh tools/check_folders.sh $(BUILD) $(RUNTESTS) --unit $(TEST_BINS) --scripts $(FOLDERS_ARGS)

check-hostile: $(BUILD)/cuvet ## every hostile sample raises its rule, its legal neighbour and the good samples do not
	@$(PYTHON) tools/corpus/hostile.py --scan $(BUILD)/cuvet

docs: ## regenerate what comes from spec/ and the option table: rules, limits, manual pages, completions, stages of a link
	@$(PYTHON) tools/gen_docs
	@$(PYTHON) tools/gen_man.py
	@$(PYTHON) tools/check_recipe --write
	@$(PYTHON) fuzz/make_dicts.py

# Pointer arithmetic and raw indexing outside the fenced helpers (clang 16 and later know the warning).
CLANG_NEW := $(firstword $(foreach c,clang-19 clang-18 clang-17 clang-16,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
UNSAFE_SRCS := $(filter src/format/% src/target/% src/cubin/% src/host/% src/intake/% src/scan/% src/link/% src/drive/% src/finalize/%,$(LIB_SRCS))
check-unsafe: ## format, target to drive, finalize under clang's -Werror=unsafe-buffer-usage
ifeq ($(CLANG_NEW),)
	@echo "SKIPPED: needs clang 16 or later"; exit 77
else
	@bad=0; for f in $(UNSAFE_SRCS); do \
	    $(CLANG_NEW) -std=c11 $(CV_DEFS) -Iinclude -Isrc -Ispec -fsyntax-only -Werror=unsafe-buffer-usage $$f \
	        || bad=$$((bad + 1)); done; \
	echo "unsafe: $(words $(UNSAFE_SRCS)) files, $$bad with unsafe buffer use"; test $$bad = 0
endif

check-hardening: all ## read the hardening flags back from the binaries
	@$(PYTHON) tools/check_hardening --build $(BUILD) --flags '$(CV_HARDEN_CC)'

link-coverage: ## which relocation types and attributes the golden cases of links hold
	@$(PYTHON) tools/corpus/link_coverage.py

# In a push the build at hand is one of the two.
check-repro: $(if $(CV_FULL),,all) ## two builds in different places, same bytes
	@JOBS=$(JOBS) sh tools/check_repro.sh '$(CC)' $(if $(CV_FULL),,'$(BUILD)')

# Both compilers of the style guide, everything that we compile, not one warning. A build that is made with WERROR=1
# anyway, as in .ci/run, is not made twice.
WARN_CCS := $(foreach c,gcc clang-14 clang-16,$(if $(shell command -v $(c) 2>/dev/null),$(c)))
check-warnings: ## all sources with every installed compiler of gcc, clang 14, clang 16 and -Werror
	@mkdir -p $(BUILD); set -e; for c in $(WARN_CCS); do \
	    dir=$(BUILD)/warn-$$c; test "$$c/1" != "$(CC)/$(WERROR)" || dir=$(BUILD); \
	    $(SUBMAKE) -s CC=$$c WERROR=1 BUILD=$$dir all tests-build replay-build bench-build > $(BUILD)/warn-$$c.log 2>&1 \
	        || { tail -40 $(BUILD)/warn-$$c.log; echo "warnings: $$c: FAILED"; exit 1; }; \
	    echo "warnings: $$c: clean"; done

check-asan: ## all tests and corpora under ASan + UBSan, spans copied to islands
	@$(SUBMAKE) MODE=asan BUILD=$(BUILD)/asan check-run
# The full sweeps run in the release build and under ASan: here and in `coverage` a sample is enough, also in check-full.
# In a push the scripts that only read what the command prints are left to check-full: asan has them all.
INT_ONLY := $(if $(CV_FULL),.,^(unit|tests|replay|hostile)/|cli/test_(link|scan|select|dump|finalize|limits|serve|nv))
check-int: ## all tests and corpora under clang's integer and implicit-conversion checks
	@CV_FULL= $(SUBMAKE) MODE=int BUILD=$(BUILD)/int check-run RUNTESTS_ARGS="--only '$(INT_ONLY)' $(RUNTESTS_ARGS)"
# Allocations fail on one thread but for scans with several, which cli scripts have as well: a push leaves them to asan.
check-tsan: ## threads and contexts under TSan
	@$(SUBMAKE) MODE=tsan BUILD=$(BUILD)/tsan all tests-build
	@$(PYTHON) tools/runtests.py --jobs $(JOBS) --build $(BUILD)/tsan --mode tsan --unit $(filter %/unit_api %/unit_io %/unit_base %/unit_proc %/unit_scan $(if $(CV_FULL),%/fault) %/trap, \
	    $(TEST_BINS:$(BUILD)/%=$(BUILD)/tsan/%)) --scripts --only 'unit/|tests/fault|tests/trap|cli/.*(jobs|scan|thread|par|jit)' $(RUNTESTS_ARGS)
# The corpora only: libraries that are not built with MSan (Check, libarchive) would be taken for who forgot to write. Which ones are
# built with it, or are not and what that leaves out, is printed.
check-msan: ## all corpora under MSan, with its own liblz4, libzstd, jansson and nettle where apt has their sources: values that nobody wrote; ends with 77 where clang has no runtime for it
	@mkdir -p $(BUILD)
	@echo 'int main(void) { return 0; }' | $(or $(SAN_CC),false) -fsanitize=memory -x c - -o $(BUILD)/msan-probe 2> /dev/null \
	    || { echo "SKIPPED: needs clang and its runtime of MSan"; exit 77; }
	@sh tools/msan_libs.sh $(BUILD)/msan/libs $(SAN_CC) || \
	    echo "SKIPPED: msan: liblz4 and libzstd are the system's, and are believed what they say that they wrote; the targets $(FUZZ_LOADS), which call jansson or nettle, are left out"
	@$(SUBMAKE) MODE=msan BUILD=$(BUILD)/msan replay-build
	@$(PYTHON) tools/runtests.py --jobs $(JOBS) --build $(BUILD)/msan --mode msan --replay $(BUILD)/msan/replay $(RUNTESTS_ARGS)

# In this build, too, the command keeps its cage open: what reports the failure is nothing that it allows.
check-cfi: ## unit tests, command tests and links, each call through a pointer checked for its type; ends with 77 without lld of clang's version
	@command -v "ld.lld$(SAN_CC:clang%=%)" > /dev/null || { echo "SKIPPED: needs lld$(SAN_CC:clang%=%), which reads what $(or $(SAN_CC),clang) writes"; exit 77; }
	@CV_FULL= $(SUBMAKE) MODE=cfi BUILD=$(BUILD)/cfi all tests-build
	@CV_FULL= $(PYTHON) tools/runtests.py --jobs $(JOBS) --build $(BUILD)/cfi --mode cfi --unit $(TEST_BINS:$(BUILD)/%=$(BUILD)/cfi/%) \
	    --scripts --only '$(INT_ONLY)' $(RUNTESTS_ARGS)

# As it ships, without the cage, which valgrind's own calls would break.
VALGRIND := valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect
VALGRIND_UNITS := base bytes codec cubin format host intake link scan target
check-valgrind: all tests-build ## unit tests, scans and lists of all samples under valgrind: memory that nobody wrote, or that is lost; 77 without it
	@command -v valgrind > /dev/null || { echo "SKIPPED: needs valgrind"; exit 77; }
	@bad=0; for unit in $(VALGRIND_UNITS); do \
	    CK_FORK=no CK_DEFAULT_TIMEOUT=0 $(VALGRIND) $(BUILD)/tests/unit_$$unit > $(BUILD)/valgrind.log 2>&1 \
	        || { tail -n 30 $(BUILD)/valgrind.log; echo "valgrind: unit_$$unit: FAILED"; bad=$$((bad + 1)); }; done; \
	for folder in samples hostile legal; do for command in "scan -j1" list; do \
	    $(VALGRIND) $(BUILD)/cuvet $$command --no-sandbox --format=ndjson corpus/$$folder/* > $(BUILD)/valgrind.log 2> $(BUILD)/valgrind.err; \
	    case $$? in 0|1|4) test -s $(BUILD)/valgrind.log ;; *) false ;; esac || { tail -n 30 $(BUILD)/valgrind.err; echo "valgrind: $$command corpus/$$folder: FAILED"; bad=$$((bad + 1)); }; done; done; \
	echo "valgrind: $(words $(VALGRIND_UNITS)) unit tests and 6 runs over the samples, $$bad with errors"; test $$bad = 0

# gcc's paths through each function, and cppcheck's rules: they see other things than clang-tidy. What is kept in a structure is a leak
# for gcc 12: that is left to LeakSanitizer.
# Both look at a function without what its callers have asked, and gcc 12 takes what reallocarray() left for freed.
GCC_WRONG := cli/yara/question.c:double-free cli/worker/answer.c:double-free cli/worker/job.c:possible-null-argument \
    cli/package/image.c:null-dereference cli/package/image_tree.c:possible-null-dereference compat/nvjitlink/handle.c:null-dereference
# cppcheck 2.10 reads no array in a conditional, no loop of jansson's, no sizeof of an enumerator; an address is no use of what is there.
CPPCHECK_WRONG := internalAstError:cli/input_walk.c internalAstError:cli/package.c internalAstError:src/drive/link.c \
    unknownMacro:cli/report_sarif.c sizeofwithnumericparameter:spec/abi.def uninitvar:cli/cmd_inventory.c uninitvar:cli/escape.c \
    ctunullpointer:src/base/vec.h nullPointer:src/cubin/twins_records.c nullPointerArithmeticRedundantCheck:cli/check/policy_file.c \
    memleak:cli/package/image_read.c doubleFree:cli/package/image_read.c memleak:compat/nvjitlink/lto.c pointerOutOfBounds:cli/page/write.c \
    arrayIndexOutOfBoundsCond:src/format/dwarf/cfi.c arrayIndexOutOfBoundsCond:src/format/dwarf/frame.c
ANALYZED = $(LIB_SRCS) $(LINT_CLI)
ANALYZER_DEFS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DCV_VERSION=__FILE__ -DCLI_WORKER_PROGRAM=__FILE__ -DCLI_PACKAGE_PROGRAM=__FILE__ -DCV_JIT_MAJOR=13 -DCV_JIT_MINOR=0
check-analyzers: $(FLAGS_FILE) $(FILTER_INC) $(PAGE_INCS) ## gcc -fanalyzer and cppcheck over the library and the command; 77 without either
	@command -v gcc > /dev/null && command -v cppcheck > /dev/null || { echo "SKIPPED: needs gcc and cppcheck"; exit 77; }
	@printf '%s\n' $(ANALYZED) | xargs -P $(JOBS) -n 1 sh -c 'gcc -std=c11 -O1 -fanalyzer $(ANALYZER_DEFS) \
	    -Wno-analyzer-malloc-leak -Iinclude -Isrc -Ispec -Icli -I$(BUILD)/gen -c "$$@" -o /dev/null' sh > $(BUILD)/analyzer.log 2>&1; gcc=$$?; \
	cppcheck -q -j $(JOBS) --std=c11 --enable=warning,performance,portability -D__cppcheck__=1 $(CPPCHECK_WRONG:%=--suppress=%) $(ANALYZER_DEFS) \
	    -Iinclude -Isrc -Ispec -Icli -I$(BUILD)/gen $(ANALYZED) >> $(BUILD)/analyzer.log 2>&1; cppcheck=$$?; \
	count=$$(grep -E '^[^ ]+:[0-9]+:[0-9]+: (warning|(fatal )?error|performance|portability):|internal compiler error:' $(BUILD)/analyzer.log | \
	    grep -cvE '^($(subst $(space),|,$(strip $(foreach w,$(GCC_WRONG),$(subst :,:.*\[-Wanalyzer-,$(w))\]))))$$'); \
	test $$count$$gcc$$cppcheck = 000 || cat $(BUILD)/analyzer.log; \
	echo "analyzers: $(words $(ANALYZED)) files, $$count warnings; gcc ended with $$gcc, cppcheck with $$cppcheck"; test $$count$$gcc$$cppcheck = 000

# MUTATION_ARGS="--sample 300 --seed 2": so many of all changes, other ones; MUTATION: which directories or files.
MUTATION ?= src/base src/bytes src/codec src/format
check-mutation: all tests-build ## one expression or statement of the sources changed at a time: the tests notice 95 of 100 (MUTATION=src/bytes, MUTATION_ARGS); 77 without libclang
	@$(PYTHON) tools/mutation.py --build $(BUILD) --jobs $(JOBS) $(MUTATION_ARGS) $(MUTATION)

# Wheels of strangers, one at a time, out of a package index; without it the target ends with 77 and says so.
check-world: $(BUILD)/cuvet ## genuine files of the world: no error, no warning, nothing missed (WORLD="wheel ...", WORLD_ARGS=--write)
	@$(PYTHON) tests/world/world.py --cuvet $(BUILD)/cuvet $(WORLD:%=--only %) $(WORLD_ARGS)

check-toolkits: $(BUILD)/cuvet ## what the assembler and linker of each toolkit of the index write: clean, and linked (TOOLKITS="12.0 ...")
	@$(PYTHON) tests/world/toolkits.py --cuvet $(BUILD)/cuvet $(TOOLKITS:%=--only %)

# The driver is found when it runs; without one, or without nvcc, the target ends with 77 and says so.
check-device: $(BUILD)/cuvet ## what the driver of this machine does with images, and what a scan says of them (CV_GROUPS=..., CV_MUTANTS=N)
	@CUVET=$(abspath $(BUILD))/cuvet $(PYTHON) tests/device/driver.py

check-bare: ## both commands of the README in a bare Debian 12, as root and as a user (needs root, debootstrap, apt)
	@sh tools/check_bare.sh $(BUILD)

check-deb: deb ## the Debian packages in a bare Debian 12: installed, every example run, removed (needs what check-bare needs)
	@sh tools/check_deb.sh $(BUILD)

# Ends with 77, and says so, without cross compiler, emulator or package archive.
check-aarch64: $(BUILD)/cuvet ## built for aarch64 and run by an emulator: unit tests, answers as on this machine, golden links, the wheel
	@sh tools/check_machine.sh $(BUILD) $(PYTHON) aarch64

check-s390x: $(BUILD)/cuvet ## built for s390x, where numbers begin with their highest byte, and run by an emulator: unit tests, answers as on this machine, golden links
	@sh tools/check_machine.sh $(BUILD) $(PYTHON) s390x

check-i386: $(BUILD)/cuvet ## built for i386, where a size has 32 bits, and run by an emulator: the same
	@sh tools/check_machine.sh $(BUILD) $(PYTHON) i386

# Genuine files with one field changed; BEFORE is an older build to compare with. Wheels and older tools of the vendor are
# taken from the folders CV_WORLD_CACHE and CV_WORLD_TOOLS; without wheels the target ends with 77 and says so.
check-detection: $(BUILD)/cuvet ## one-field mutations of genuine files: found, or no reader minds (BEFORE=OLD/cuvet, DETECTION_ARGS=--write)
	@$(PYTHON) tests/world/detection.py --before $(or $(BEFORE),$(BUILD)/cuvet) --after $(BUILD)/cuvet \
	    --scratch $(BUILD)/detection $(DETECTION_ARGS)

# For changes that must not change an answer. JOBS, and SAME="--quick", "--only links", "--files DIR": see tools/same --help.
.PHONY: same
same: $(BUILD)/cuvet ## does this build answer as another one does, byte for byte? (BASE=OLD/cuvet, SAME=--quick)
	@test -n "$(BASE)" || { echo "same: BASE=path of another build's cuvet is needed"; exit 2; }
	@$(PYTHON) tools/same $(BASE) $(BUILD)/cuvet --jobs $(JOBS) $(SAME)

CLANG_TIDY := $(firstword $(foreach c,clang-tidy-16 clang-tidy-14 clang-tidy,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
LINT_CLI := $(CLI_SRCS) $(JIT_SRCS) $(sort $(wildcard cli/filter/*.c cli/worker/*.c cli/package/*.c))
# One file per process: with several, clang-tidy 14 invents uninitialised va_lists.
# The analyzer walks each function to so many places: its default where CV_FULL says that everything is wanted, as in
# check-full, else so many as take a sixth of the time.
LINT_NODES := $(if $(CV_FULL),225000,10000)
lint: $(FLAGS_FILE) $(FILTER_INC) $(PAGE_INCS) ## clang-tidy over the library and the command
ifeq ($(CLANG_TIDY),)
	@echo "SKIPPED: clang-tidy is not installed"; exit 77
else
	@printf '%s\n' $(LIB_SRCS) $(LINT_CLI) | xargs -P $(JOBS) -n 1 sh -c '$(CLANG_TIDY) --quiet "$$@" -- -std=c11 \
	    -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DCV_VERSION=__FILE__ -DCV_JIT_MAJOR=13 -DCV_JIT_MINOR=0 -DCLI_WORKER_PROGRAM=__FILE__ -DCLI_PACKAGE_PROGRAM=__FILE__ -Iinclude -Isrc -Ispec -Icli -I$(BUILD)/gen -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES) 2>/dev/null' sh > $(BUILD)/lint.log; rc=$$?; \
	    n=$$(grep -cE '^[^ ]+:[0-9]+:[0-9]+: (warning|error):' $(BUILD)/lint.log); \
	    test $$n = 0 || cat $(BUILD)/lint.log; \
	    echo "lint: $(words $(LIB_SRCS) $(LINT_CLI)) files, $$n warnings"; test $$n = 0 -a $$rc = 0
endif

CLANG_FORMAT := $(firstword $(foreach c,clang-format-14 clang-format clang-format-16,$(if $(shell command -v $(c) 2>/dev/null),$(c))))
FORMAT_SRCS = $(sort $(shell find src include cli compat fuzz tests bench examples -name '*.[ch]' 2>/dev/null))
format: ## clang-format, in place
	@$(CLANG_FORMAT) -i $(FORMAT_SRCS)
check-format: ## clang-format, compare only
	@$(CLANG_FORMAT) --dry-run -Werror $(FORMAT_SRCS)

# COVERAGE=1: in the build with ASan and UBSan, which is `check-asan` at the same time.
COV_MODE := $(if $(COVERAGE),asan,cov)
coverage: ## line and branch coverage of the library and the command by the tests; floors that may only go up, bytes, codec and format: all of it
	@$(SUBMAKE) MODE=$(COV_MODE) BUILD=$(BUILD)/$(COV_MODE) all tests-build replay-build
	@CV_FULL= $(PYTHON) tools/coverage.py --build $(BUILD)/$(COV_MODE) --mode $(COV_MODE) --jobs $(JOBS) --floor tools/coverage.floor $(COVERAGE_ARGS)

.PHONY: check-mcdc
check-mcdc: ## which conditions of the parsing core decide, by unit tests and corpora (clang 18 or newer, with its llvm tools); SKIPPED without
ifeq ($(MCDC_CC),)
	@echo "SKIPPED: MC/DC wants clang 18 or newer with llvm-cov and llvm-profdata of its version (clang-19, llvm-19, libclang-rt-19-dev of Debian 12)"; exit 77
else
	@mkdir -p $(BUILD); echo 'int main(void) { return 0; }' | $(MCDC_CC) -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc -x c - -o $(BUILD)/mcdc-probe 2> /dev/null \
	    || { echo "SKIPPED: MC/DC wants the runtime of $(MCDC_CC) that counts (libclang-rt-$(MCDC_CC:clang-%=%)-dev of Debian 12)"; exit 77; }
	@$(SUBMAKE) MODE=mcdc BUILD=$(BUILD)/mcdc tests-build replay-build
	@$(PYTHON) tools/mcdc.py --build $(BUILD)/mcdc --jobs $(JOBS) --floor tools/mcdc.floor --llvm $(MCDC_CC:clang-%=%)
endif
