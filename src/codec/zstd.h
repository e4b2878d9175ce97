/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef CV_CODEC_ZSTD_H
#define CV_CODEC_ZSTD_H

#include "codec/codec.h"

CV_MUST cuvet_status cv_zstd_decode(cv_ctx *ctx, cv_codec *codec, cv_span in, uint64_t size, cv_block *out);

#endif
