/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions that the driver has: spec/driver.def. */
#ifndef CV_TARGET_PROVIDED_H
#define CV_TARGET_PROVIDED_H

#include "bytes/span.h"

/* Does the driver define the function of this name when it loads a program? */
CV_MUST bool cv_is_provided(cv_span name);

#endif
