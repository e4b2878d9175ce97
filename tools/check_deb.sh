#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The Debian packages that `make deb` made, on a machine that has nothing (lib_bare.sh): installed by apt, used as a stranger
# uses them, and removed without a trace. usage: check_deb.sh BUILD
# shellcheck source=tools/lib_bare.sh
. "$(dirname "$0")/lib_bare.sh"

ls "$1"/deb/*.deb > /dev/null 2>&1 || { echo "check-deb: there are no packages: make deb"; exit 1; }
machine deb
home="$sys/root"
mkdir "$home/packages"
for package in "$1"/deb/*.deb; do
    case $package in *-dbgsym_*) ;; *) cp "$package" "$home/packages/" ;; esac
done
quiet="apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"

expect "the command" 'sandbox: ' root "$quiet ../packages/cuvet_*.deb && cuvet --version"
expect "scans in its cage" 'clean' root "cuvet scan corpus/samples/host-two_a.o"
expect "reports, with what the command loads" '^reports: 2$' root 'n=0; for f in ndjson sarif; do
    cuvet scan --format=$f corpus/samples/host-two_a.o | grep -q clean && n=$((n + 1)); done; echo "reports: $n"'
expect "opens a package" 'package of 1 entry$' root 'tar -czf /tmp/samples.tar.gz -C corpus/samples host-two_a.o && cuvet scan /tmp/samples.tar.gz && rm /tmp/samples.tar.gz'
expect "the libraries" '^4$' root "$quiet ../packages/libcuvet0_*.deb && ls /usr/lib/*/libcuvet*.so.* | wc -l"
expect "headers and a compiler" 'ok installed$' root \
    "$quiet gcc libc6-dev pkg-config ../packages/libcuvet-dev_*.deb && dpkg-query -W -f '\${Status}\n' libcuvet-dev"
# shellcheck disable=SC2016  # for the shell inside
expect "examples, shared and static" '^examples: [1-9]' root 'n=0; for e in examples/*.c; do
    case $e in */service.c) pc=cuvet-worker ;; *) pc=cuvet ;; esac
    gcc -std=c11 $e -o /tmp/example $(pkg-config --cflags --libs $pc) && sh tools/run_example.sh /tmp/example $e || exit 1
    gcc -std=c11 $e -o /tmp/example $(pkg-config --cflags $pc) -Wl,-Bstatic -l$pc -llz4 -lzstd -Wl,-Bdynamic -pthread &&
        sh tools/run_example.sh /tmp/example $e || exit 1
    n=$((n + 1)); done; rm /tmp/example; echo "examples: $n"'
expect "in place of others" '^cuvet, in the place of nvlink|nvlink' root \
    "$quiet ../packages/cuvet-compat_*.deb && /usr/lib/*/cuvet/compat/nvlink --version && ls /usr/lib/*/cuvet/compat/nvlink"
expect "manual pages" '^man: 6' root 'n=0; for p in /usr/share/man/man1/cuvet.1.gz /usr/share/man/man1/cuvet-link.1.gz /usr/share/man/man3/cuvet_linker_add_file.3.gz \
    /usr/share/man/man3/cuvet_scan_next.3.gz /usr/share/man/man5/cuvet-ndjson.5.gz /usr/share/man/man7/cuvet-nvjitlink.7.gz; do [ -f $p ] && n=$((n + 1)); done; echo "man: $n"'
expect "removed" '^removed$' root "apt-get purge -y -qq cuvet cuvet-compat libcuvet-dev libcuvet0 gcc libc6-dev pkg-config > /dev/null &&
    apt-get autoremove --purge -y -qq > /dev/null && echo removed"
left=$(find "$sys/usr" "$sys/etc" "$sys/lib" -xdev -iname '*cuvet*')
if [ -z "$left" ]; then
    good=$((good + 1)); echo "check-deb: nothing of them is left"
else
    bad=$((bad + 1)); echo "check-deb: left by the packages: FAILED"; printf '%s\n' "$left" | head -n 20
fi

echo "$good passed, $bad failed, 0 skipped"
[ "$bad" = 0 ]
