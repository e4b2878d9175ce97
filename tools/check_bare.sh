#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The two commands of the README on a machine that has nothing (lib_bare.sh). Once as root, who gets what is missing installed;
# once as somebody who is told what to install, has it installed by root, and then runs both, which write nowhere else.
# usage: check_bare.sh BUILD
# shellcheck source=tools/lib_bare.sh
. "$(dirname "$0")/lib_bare.sh"
demo='^demo: done$'
check='^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped$'

machine root
expect "root, nothing installed" "$demo" root "make demo"
expect "root, after the demo" "$check" root "make check"
cp "$sys"/var/cache/apt/archives/*.deb "$keep/archives/" 2> /dev/null || true
rm -rf --one-file-system "$sys"

machine user
for command in demo check; do
    if inside somebody "make $command" > "$work/log" 2>&1; then
        echo "check-bare: somebody, nothing installed: make $command: FAILED: it ended well"; bad=$((bad + 1))
    fi
    line=$(sed -n 's/.*on Debian or Ubuntu:  \(apt-get install .*\)/\1/p' "$work/log")
    echo "check-bare: somebody, nothing installed: make $command asks for: $line"
done
[ -n "$line" ] || { tail -n 20 "$work/log"; bad=$((bad + 1)); line=false; }
if ! inside root "apt-get update -qq && DEBIAN_FRONTEND=noninteractive $line -y -qq --no-install-recommends" > "$work/log" 2>&1; then
    tail -n 20 "$work/log"; bad=$((bad + 1))
fi
expect "somebody, with that installed" "$demo" somebody "make demo"
# Tests write in folders of their own, below TMPDIR: a folder in which something was made and removed is newer as well.
inside somebody "mkdir ~/tmp && sleep 1 && touch ~/stamp && sleep 1" > /dev/null
# shellcheck disable=SC2016  # for the shell inside
expect "somebody, after the demo" "$check" somebody 'TMPDIR=$HOME/tmp make check'
home=srv/somebody
written=$(find "$sys" -xdev \( -path "$sys/$home/cuvet" -o -path "$sys/$home/tmp/*" \) -prune -o -newer "$sys/$home/stamp" ! -path "$sys/$home/tmp" -print;
    find "$sys/$home/tmp" -mindepth 1)
if [ -z "$written" ]; then
    good=$((good + 1)); echo "check-bare: nothing was written outside of the tree and TMPDIR, and nothing was left in TMPDIR"
else
    bad=$((bad + 1)); echo "check-bare: written outside of the tree and TMPDIR, or left in it: FAILED"; printf '%s\n' "$written" | head -n 20
fi

echo "$good passed, $bad failed, 0 skipped"
[ "$bad" = 0 ]
