#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Make sure that what a target needs is installed: silent when it is, through apt when it is not and we may, and
# otherwise one line that says exactly what to install. The list is deps.def.
# usage: deps.sh demo|check|full        CV_NO_INSTALL=1 never installs
set -u
want=${1:-check}
root=$(cd "$(dirname "$0")/.." && pwd)
case $want in
    demo)  kinds="link build" ;;
    check) kinds="link build check" ;;
    full)  kinds="link build check full" ;;
    *) echo "usage: deps.sh demo|check|full" >&2; exit 2 ;;
esac

have_cmd() {
    old=$IFS; IFS='|'
    for c in $1; do
        if command -v "$c" > /dev/null 2>&1; then IFS=$old; return 0; fi
    done
    IFS=$old
    return 1
}

# The runtimes are packaged apart from the compiler: ask the compiler itself to link with one.
have_clang_runtime() {
    old=$IFS; IFS='|'
    for c in $1; do
        IFS=$old
        command -v "$c" > /dev/null 2>&1 || continue
        if echo 'int main(void) { return 0; }' | "$c" -x c -fsanitize=address,undefined - -o /dev/null 2> /dev/null; then
            return 0
        fi
        return 1
    done
    return 1
}

present() {
    case $1 in
        pc:*)      command -v pkg-config > /dev/null 2>&1 &&
                   if [ -n "$2" ]; then pkg-config --atleast-version="$2" "${1#pc:}"; else pkg-config --exists "${1#pc:}"; fi ;;
        cmd:*)     have_cmd "${1#cmd:}" ;;
        file:*)    [ -e "${1#file:}" ] ;;
        hdr:*)     [ -e "/usr/include/${1#hdr:}" ] ;;
        clangrt:*) have_clang_runtime "${1#clangrt:}" ;;
        *)         echo "deps.def: unknown probe '$1'" >&2; exit 2 ;;
    esac
}

# One "package probe minimum" per line; probes hold no blanks.
list() {
    for k in $kinds; do
        sed -nE "s/^CV_DEP\($k, *\"([^\"]*)\", *\"([^\"]*)\", *\"([^\"]*)\".*/\1 \2 \3/p" "$root/deps.def"
    done
}
missing_now() {
    list | while read -r pkg probe min; do
        present "$probe" "$min" || printf ' %s' "$pkg"
    done
}

missing=$(missing_now)
[ -z "$missing" ] && exit 0

run=
if [ "$(id -u)" != 0 ]; then
    if command -v sudo > /dev/null 2>&1 && sudo -n true 2> /dev/null; then run="sudo -n"; else run=no; fi
fi
if [ "${CV_NO_INSTALL:-0}" = 1 ] || [ "$run" = no ] || ! command -v apt-get > /dev/null 2>&1; then
    echo "cuvet: missing for 'make $want':$missing" >&2
    echo "       on Debian or Ubuntu:  apt-get install$missing" >&2
    exit 1
fi
echo "cuvet: installing$missing"
log=$(mktemp) || exit 1
# shellcheck disable=SC2086  # both are lists
{ $run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing; } \
    > "$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
rm -f "$log"
missing=$(missing_now)
[ -z "$missing" ] && exit 0
echo "cuvet: installed, but still not found:$missing" >&2
exit 1
