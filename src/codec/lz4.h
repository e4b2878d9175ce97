/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef CV_CODEC_LZ4_H
#define CV_CODEC_LZ4_H

#include "codec/codec.h"

CV_MUST cuvet_status cv_lz4_decode(cv_ctx *ctx, cv_span in, uint64_t size, cv_block *out);

#endif
