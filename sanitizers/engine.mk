# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzz targets for whoever brings compiler, flags and engine: OSS-Fuzz, ClusterFuzzLite, a cluster of one's own. All of it is
# in the environment (oss-fuzz/build.sh); what is added here is no sanitizer, only the switches of our checked builds.
CFLAGS     ?= -O1 -g
CXXFLAGS   ?= $(CFLAGS)
MODE_FLAGS := -DCV_ISLANDS=1 -DCV_CHECK_DEEP=1 -DCV_TRAPS=1
MODE_LINK  :=
# Reports and coverage name the sources by where they are: a runner looks for them there.
CV_MAP     :=
# Instead of the engine's driver and shared libraries: mk/fuzz.mk.
FUZZ_LINKED := 1
