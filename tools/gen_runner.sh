#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Write the main() of a Check binary: every `Suite *suite_<name>(void)` defined in the given files, in that order.
# A test file without a suite is an error: its tests would silently never run.
# usage: gen_runner.sh NAME FILE...
set -eu
name=$1; shift
suites=
for f in "$@"; do
    s=$(sed -nE 's/^Suite \*(suite_[a-z0-9_]+)\(void\)[^;]*$/\1/p' "$f")
    if [ -z "$s" ]; then echo "$f: no 'Suite *suite_<name>(void)' at the start of a line" >&2; exit 1; fi
    suites="$suites $s"
done
cat << HEAD
/* Generated from the test files of $name; do not edit. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

HEAD
for s in $suites; do echo "Suite *$s(void);"; done
cat << 'MID'

int main(void)
{
    SRunner *r = srunner_create(NULL);
    int run, failed;

MID
for s in $suites; do echo "    srunner_add_suite(r, $s());"; done
cat << 'TAIL'
    srunner_run_all(r, CK_ENV);
    run = srunner_ntests_run(r);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    printf("%d passed, %d failed, 0 skipped\n", run - failed, failed);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
TAIL
