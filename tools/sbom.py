#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CycloneDX 1.4 bill of materials from deps.def: what is linked into what we ship, and with which version here."""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_table  # noqa: E402


def version(probe):
    p = subprocess.run(["pkg-config", "--modversion", probe[3:]], capture_output=True, text=True, check=False)
    return p.stdout.strip() or "unknown"


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--version", required=True)
    args = ap.parse_args()
    parts = []
    for _, (kind, package, probe, _, licence, purpose) in rules_table.rows(os.path.join(rules_table.ROOT, "deps.def"), "CV_DEP"):
        if kind != "link":
            continue
        v = version(probe)
        parts.append({"type": "library", "name": probe[3:], "version": v, "description": purpose,
                      "licenses": [{"expression": licence}], "purl": "pkg:deb/debian/%s@%s" % (package, v)})
    json.dump({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1,
               "metadata": {"component": {"type": "application", "name": "cuvet", "version": args.version,
                                          "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]}},
               "components": parts}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
