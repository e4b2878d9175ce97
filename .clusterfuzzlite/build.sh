#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
exec sh "$SRC/cuvet/oss-fuzz/build.sh"
