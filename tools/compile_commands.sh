#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The compilation database of the sources that are named: DB_CC and one of DB_LIB, DB_CLI, DB_OTHER for each of them.
set -eu
quoted() {
    printf '%s' "$1" | sed 's/[\\"]/\\&/g'
}
root=$(quoted "$PWD")
cc=$(quoted "$DB_CC") lib=$(quoted "$DB_LIB") cli=$(quoted "$DB_CLI") other=$(quoted "$DB_OTHER")
between='['
for file; do
    case $file in
        src/*) flags=$lib ;;
        cli/*) flags=$cli ;;
        *) flags=$other ;;
    esac
    printf '%s\n  { "directory": "%s", "file": "%s", "command": "%s %s -c %s" }' \
        "$between" "$root" "$file" "$cc" "$flags" "$file"
    between=,
done
printf '\n]\n'
