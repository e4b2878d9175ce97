# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cli/worker/: libcuvet-worker, which a service links, and the program that it starts. The library has nothing of libcuvet
# in it, so that who links it alone has no parser in his process; the program has all of it, and the cage of the command.

WORKER_EXPORTS  := cli/worker/exports.map
WORKER_LIB_OBJS := $(patsubst %,$(BUILD)/obj/cli/worker/%.o,wire pool process job job_options job_answer)
WORKER_OBJS     := $(patsubst %,$(BUILD)/obj/cli/%.o,worker/main worker/perform worker/answer worker/wire heap sandbox filter)
WORKER_BUILT    := $(BUILD)/cuvet-worker $(BUILD)/libcuvet-worker.a $(BUILD)/libcuvet-worker.so

# Where the library looks for the program: what was installed with another PREFIX is compiled again.
$(BUILD)/.libexec: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(LIBEXECDIR)' | cmp -s - $@ || printf '%s\n' '$(LIBEXECDIR)' > $@
$(BUILD)/obj/cli/worker/pool.o: $(BUILD)/.libexec
$(BUILD)/obj/cli/worker/pool.o: CLI_CFLAGS += '-DCLI_WORKER_PROGRAM="$(LIBEXECDIR)/cuvet-worker"'

$(BUILD)/libcuvet-worker.a: $(WORKER_LIB_OBJS)
	$(call archive,$^)

$(BUILD)/libcuvet-worker.so.$(SOVERSION): $(WORKER_LIB_OBJS) $(WORKER_EXPORTS)
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -Wl,-soname,libcuvet-worker.so.$(SOVERSION) \
	    -Wl,--version-script=$(WORKER_EXPORTS) $(SO_NO_UNDEF) -o $@ $(WORKER_LIB_OBJS) -pthread

$(BUILD)/libcuvet-worker.so: $(BUILD)/libcuvet-worker.so.$(SOVERSION)
	@ln -sf libcuvet-worker.so.$(SOVERSION) $@

$(BUILD)/cuvet-worker: $(WORKER_OBJS) $(BUILD)/libcuvet.a $(BUILD)/.codecs
	$(call say,LD,$@)
	$(Q)$(CC) -pie $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -o $@ $(WORKER_OBJS) $(BUILD)/libcuvet.a $(CODEC_LIBS)

# A worker that does, on demand, what one would that an input took over.
$(BUILD)/obj/planted/perform.o: cli/worker/perform.c $(FLAGS_STAMP)
	$(call say,CC,$< (with planted defects))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLI_CFLAGS) -DCLI_WORKER_PLANTED=1 -c $< -o $@
$(BUILD)/obj/tests/programs/worker_plant.o: TEST_CFLAGS += -Icli/worker -DCLI_WORKER_PLANTED=1
$(BUILD)/tests/worker_planted: $(BUILD)/obj/planted/perform.o $(BUILD)/obj/tests/programs/worker_plant.o \
                               $(filter-out %/perform.o,$(WORKER_OBJS)) $(BUILD)/libcuvet.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -o $@ $^ $(CODEC_LIBS)

# Asks workers, for scripts.
$(BUILD)/obj/tests/programs/worker_client.o: TEST_CFLAGS += -Icli/worker
$(BUILD)/tests/worker_client: $(BUILD)/obj/tests/programs/worker_client.o $(BUILD)/libcuvet-worker.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(MODE_FLAGS) $(CFLAGS) $(MODE_LINK) $(LDFLAGS) -o $@ $^ -pthread

-include $(WORKER_LIB_OBJS:.o=.d) $(WORKER_OBJS:.o=.d) $(BUILD)/obj/planted/perform.d \
         $(BUILD)/obj/tests/programs/worker_plant.d $(BUILD)/obj/tests/programs/worker_client.d

tests-build: $(BUILD)/tests/worker_planted $(BUILD)/tests/worker_client
