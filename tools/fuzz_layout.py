#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Put built fuzz targets where a runner looks for them: OUT/cuvet_<target>, and beside each its seeds in
cuvet_<target>_seed_corpus.zip, its dictionary and its options. The same bytes each time.
"""
import argparse
import os
import shutil
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzzing  # noqa: E402


def write_zip(path, inputs):
    """Flat, named by content: engines that read no folders in folders take it as it is."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for data in sorted(inputs, key=fuzzing.name_of):
            z.writestr(zipfile.ZipInfo(fuzzing.name_of(data), (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def write_options(path, target):
    with open(path, "w", encoding="ascii") as f:
        f.write("[libfuzzer]\n")
        f.writelines("%s = %d\n" % o for o in fuzzing.libfuzzer_options(target).items())
        if fuzzing.dictionary(target):
            f.write("dict = %s%s.dict\n" % (fuzzing.PREFIX, target))


def put(source, out, target):
    base = os.path.join(out, fuzzing.PREFIX + target)
    # A new file: the old one may be running.
    shutil.copyfile(os.path.join(source, target), base + ".new")
    os.chmod(base + ".new", 0o755)
    os.rename(base + ".new", base)
    write_zip(base + "_seed_corpus.zip", fuzzing.inputs(target))
    if fuzzing.dictionary(target):
        shutil.copyfile(fuzzing.dictionary(target), base + ".dict")
    write_options(base + ".options", target)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--source", required=True, help="folder of the built targets")
    ap.add_argument("--out", required=True)
    ap.add_argument("targets", nargs="+")
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for target in args.targets:
        put(args.source, args.out, target)
    print("fuzz-install: %d targets in %s" % (len(args.targets), args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
