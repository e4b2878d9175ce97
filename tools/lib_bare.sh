# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh
#
# Read by check_bare.sh and check_deb.sh, with BUILD as first argument: bare systems (Debian 12 as debootstrap makes it,
# minbase, and make) with a copy of this tree and no repository. What is mounted is mounted in a namespace of its own, which
# ends with its processes: nothing is ever deleted through a mount. Keeps the bare system and packages in BUILD/bare.
set -eu
unset TMPDIR CV_TMP MAKEFLAGS MAKELEVEL
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1/bare/archives"
keep=$(cd "$1/bare" && pwd)
suite=bookworm
gate=$(basename "$0" .sh | tr _ -)
skip() { echo "SKIPPED: $gate: $1"; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root"
for tool in debootstrap unshare chroot apt-get; do
    command -v $tool > /dev/null 2>&1 || skip "$tool is not installed"
done
unshare --mount --pid --fork --propagation private true 2> /dev/null || skip "namespaces are not allowed here"

work=$(mktemp -d "$keep/run.XXXXXX")
clean() {
    if grep -qF " $work" /proc/self/mounts; then echo "$gate: still mounted, left there: $work" >&2; exit 1; fi
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

# What this machine's apt takes packages from, and how it gets there.
# shellcheck disable=SC2016  # for apt-get to fill in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" 'Origin: Debian' 2> /dev/null | head -n 1)
[ -n "$mirror" ] || skip "apt has no archive of Debian's $suite here"
settings=$(apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|Force)' || true)
proxies=$(env | grep -iE '^(http|https|ftp|no)_proxy=[^ ]*$' || true)

# The bare system, once.
if [ ! -f "$keep/$suite.tar" ]; then
    echo "$gate: making $suite, minbase and make"
    if ! debootstrap --variant=minbase --include=make "$suite" "$work/base" "$mirror" > "$keep/debootstrap.log" 2>&1; then
        grep -qE 'Failed getting release file|Couldn.t download|Unable to' "$keep/debootstrap.log" &&
            skip "the package archive is not reached: $(tail -n 1 "$keep/debootstrap.log")"
        tail -n 20 "$keep/debootstrap.log"
        exit 1
    fi
    rm -f "$work/base"/var/cache/apt/archives/*.deb
    tar -C "$work/base" --one-file-system -cf "$work/base.tar" . && mv "$work/base.tar" "$keep/$suite.tar"
    rm -rf --one-file-system "$work/base"
fi

# What a clone would have: files that git does not know are not copied. Once, so that all runs see the same.
if [ -e "$root/.git" ] && command -v git > /dev/null 2>&1; then
    git -C "$root" ls-files -z
else
    (cd "$root" && find . -path ./build -prune -o -type f -print0)
fi | tar -C "$root" --null -T - -cf "$work/tree.tar"

# machine NAME: a new one, with a copy of the tree in the homes of root and of somebody.
machine() {
    sys=$work/$1
    mkdir "$sys"
    tar -C "$sys" -xf "$keep/$suite.tar"
    printf '%s\n' "$settings" > "$sys/etc/apt/apt.conf.d/00outside"
    cp -L /etc/resolv.conf "$sys/etc/resolv.conf"
    for f in "$keep"/archives/*.deb; do if [ -f "$f" ]; then cp "$f" "$sys/var/cache/apt/archives/"; fi; done
    chroot "$sys" useradd -m -d /srv/somebody somebody
    for home in root srv/somebody; do
        mkdir "$sys/$home/cuvet"
        tar -C "$sys/$home/cuvet" --no-same-owner -xf "$work/tree.tar"
    done
    chroot "$sys" chown -R somebody: /srv/somebody
}

# inside USER COMMAND: as at a terminal of that machine, except that nobody answers.
inside() {
    user=$1; shift
    # shellcheck disable=SC2016,SC2086  # for the shell inside; the proxies are words
    unshare --mount --pid --fork --kill-child --propagation private sh -c '
        sys=$1; shift
        mount -t proc proc "$sys/proc" && mount -t tmpfs -o mode=1777 tmpfs "$sys/dev/shm" &&
            mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$sys/dev/pts" &&
            exec chroot "$sys" "$@"' sh "$sys" \
        /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 $proxies \
        su "$user" -s /bin/sh -c "cd ~/cuvet && { $*; }" < /dev/null
}

bad=0 good=0
# expect WHAT PATTERN USER COMMAND: it ends well, and its last line is of that form.
expect() {
    what=$1 form=$2; shift 2
    start=$(date +%s)
    echo "$gate: $what: $2"
    if inside "$@" > "$work/log" 2>&1 && tail -n 1 "$work/log" | grep -qE "$form"; then
        good=$((good + 1)); verdict=ok
    else
        bad=$((bad + 1)); verdict=FAILED
        { grep -A 60 '^FAIL ' "$work/log" | head -n 60; tail -n 20 "$work/log"; } | sed 's/^/      | /'
    fi
    tail -n 2 "$work/log" | sed 's/^/    /'
    grep -E '^SKIPPED' "$work/log" | sed 's/^/    /' || true
    echo "$gate: $what: $verdict ($(($(date +%s) - start)) s)"
}
