#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Print, as make variables, those of our flags that the given compiler accepts. Probing beats a table of versions:
# a flag that is refused (or accepted with an "unused" warning) by one of the supported compilers is simply left out.
# usage: probe_flags.sh CC
# shellcheck disable=SC2086  # lists of flags are split on purpose
set -u
cc=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf 'int cv_probe(int a);\nint cv_probe(int a) { return a; }\n' > "$dir/c.c"
printf 'int main(void) { return 0; }\n' > "$dir/m.c"

if ! $cc -c "$dir/c.c" -o "$dir/c.o" > /dev/null 2> "$dir/err"; then
    echo "cuvet: the C compiler '$cc' does not work:" >&2
    cat "$dir/err" >&2
    exit 1
fi

# probe NAME FLAG...: a flag counts as supported when it compiles without a word.
probe_cc() {
    name=$1; shift
    ok=
    for f in "$@"; do
        if $cc -Werror -O2 $f -c "$dir/c.c" -o "$dir/c.o" > /dev/null 2>&1; then ok="$ok $f"; fi
    done
    printf '%s :=%s\n' "$name" "$ok"
}
probe_ld() {
    name=$1; shift
    ok=
    for f in "$@"; do
        if $cc -Werror -fPIE -pie $f "$dir/m.c" -o "$dir/m" > /dev/null 2>&1; then ok="$ok $f"; fi
    done
    printf '%s :=%s\n' "$name" "$ok"
}

common="-Wall -Wextra -Wshadow -Wundef -Wvla -Walloca -Wstrict-prototypes -Wformat=2 -Wimplicit-fallthrough
        -Wwrite-strings -Wpointer-arith -Wdate-time -Wbidi-chars=any -Wno-psabi"
strict="-Wconversion -Wsign-conversion -Wcast-qual -Wcast-align -Wnull-dereference -Wmissing-prototypes
        -Wswitch-enum -Wframe-larger-than=1024
        -Wlogical-op -Wduplicated-cond -Warith-conversion
        -Wcomma -Wassign-enum -Wunreachable-code"
probe_cc CV_WARN $common $strict
probe_cc CV_WARN_TEST $common -Wno-gnu-zero-variadic-macro-arguments
probe_cc CV_WARN_UNSAFE -Wunsafe-buffer-usage

probe_cc CV_HARDEN_CC -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
    -ftrivial-auto-var-init=zero -fstrict-flex-arrays=3 '-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3'
probe_ld CV_HARDEN_LD -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code -Wl,--as-needed
# Relative relocations as a bitmap: the C library must know them too.
probe_run() {
    name=$1; shift
    ok=
    for f in "$@"; do
        if $cc -Werror -fPIE -pie -Wl,--fatal-warnings $f "$dir/m.c" -o "$dir/m" > /dev/null 2>&1 && "$dir/m"; then ok="$ok $f"; fi
    done
    printf '%s :=%s\n' "$name" "$ok"
}
probe_run CV_LINK_START -Wl,-z,pack-relative-relocs
