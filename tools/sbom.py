#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CycloneDX 1.4 bill of materials: each file that `make install` writes, with its hash, and the libraries of deps.def that are
linked into them or loaded by them, with the version that is here. usage: sbom.py --version V --root DESTDIR
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_table  # noqa: E402


def version(probe):
    p = subprocess.run(["pkg-config", "--modversion", probe[3:]], capture_output=True, text=True, check=False)
    return p.stdout.strip() or "unknown"


def libraries():
    """What is linked into what we ship, or loaded by it."""
    for _, (kind, package, probe, _, licence, purpose) in rules_table.rows(os.path.join(rules_table.ROOT, "deps.def"), "CV_DEP"):
        if kind != "link":
            continue
        v = version(probe)
        yield {"type": "library", "name": probe[3:], "version": v, "description": purpose,
               "licenses": [{"expression": licence}], "purl": "pkg:deb/debian/%s@%s" % (package, v)}


def files(root):
    """Each file below root, by its name once installed; a symbolic link has no content of its own, and says where it leads."""
    for folder, folders, names in sorted(os.walk(root)):
        for name in sorted(names + [d for d in folders if os.path.islink(os.path.join(folder, d))]):
            path = os.path.join(folder, name)
            entry = {"type": "file", "name": "/" + os.path.relpath(path, root)}
            if os.path.islink(path):
                entry["properties"] = [{"name": "cuvet:link", "value": os.readlink(path)}]
            else:
                with open(path, "rb") as f:
                    entry["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(f.read()).hexdigest()}]
            yield entry


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--version", required=True)
    ap.add_argument("--root", required=True, help="where `make install DESTDIR=` wrote")
    args = ap.parse_args()
    shipped = list(files(args.root))
    if not shipped:
        raise SystemExit("sbom: nothing is installed in %s" % args.root)
    json.dump({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1,
               "metadata": {"component": {"type": "application", "name": "cuvet", "version": args.version,
                                          "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]}},
               "components": list(libraries()) + shipped}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
