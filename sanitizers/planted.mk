# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A library that makes a defect on purpose (tests/planted/plant*.c, edits*.py; rules in mk/planted.mk), for `make check-planted`. Never given to anybody.
CFLAGS     ?= -O1 -g
MODE_FLAGS := -DCV_PLANTS=1
MODE_LINK  :=
MODE_OBJS  := $(BUILD)/obj/tests/planted/plant.o $(BUILD)/obj/tests/planted/plant_more.o $(BUILD)/obj/tests/planted/plant_bytes.o \
              $(BUILD)/obj/tests/planted/plant_final.o $(BUILD)/obj/tests/planted/plant_slots.o $(BUILD)/obj/tests/planted/plant_models.o \
              $(BUILD)/obj/tests/planted/switch.o
# What makes defects is above all layers: a test program of some layers takes it, and what it needs, from the whole library.
MODE_REST   = $(BUILD)/libcuvet.a
