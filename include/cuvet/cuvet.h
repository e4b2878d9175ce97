/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Umbrella header of libcuvet. */
#ifndef CUVET_CUVET_H
#define CUVET_CUVET_H

#include <cuvet/abi.h>
#include <cuvet/alloc.h>
#include <cuvet/base.h>
#include <cuvet/classify.h>
#include <cuvet/compiler.h>
#include <cuvet/context.h>
#include <cuvet/decode.h>
#include <cuvet/diag.h>
#include <cuvet/elf.h>
#include <cuvet/finalize.h>
#include <cuvet/image.h>
#include <cuvet/kind.h>
#include <cuvet/limits.h>
#include <cuvet/linker.h>
#include <cuvet/lto.h>
#include <cuvet/scan.h>
#include <cuvet/select.h>
#include <cuvet/simple.h>
#include <cuvet/status.h>
#include <cuvet/target.h>

#endif
