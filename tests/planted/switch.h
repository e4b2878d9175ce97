/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which defect is wanted (the environment's CV_PLANT), and that it was made. Sources with edits (edits*.py)
 * are compiled with this in front of them, in MODE=planted alone. */
#ifndef CV_TESTS_SWITCH_H
#define CV_TESTS_SWITCH_H

extern unsigned cv_plant_wanted; /* number of an edit; 0: none of them */

/* Another answer was given, or another way was gone. */
void cv_plant_made(unsigned number);

/* An expression, and what stands there instead: made where the two differ. */
#define CV_PLANT_VALUE(number, was, now)                                                                     \
    __extension__({                                                                                          \
        __auto_type cv_was_ = (was);                                                                         \
        if (cv_plant_wanted == (number)) {                                                                   \
            __typeof__(cv_was_) cv_now_ = (__typeof__(cv_was_))(now);                                        \
            if (cv_now_ != cv_was_)                                                                          \
                cv_plant_made(number);                                                                       \
            cv_was_ = cv_now_;                                                                               \
        }                                                                                                    \
        cv_was_;                                                                                             \
    })

/* A statement, and what is done instead: made where it is reached. */
#define CV_PLANT_INSTEAD(number) (cv_plant_wanted == (number) ? (cv_plant_made(number), 1) : 0)

#endif
