# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m cuvet.codequality LOG.sarif...`: SARIF of cuvet as GitLab's code quality report, on standard output."""
from __future__ import annotations

import json
import sys
import urllib.parse
from typing import Any, Dict, List

_SEVERITY = {"note": "info", "warning": "major", "error": "critical"}


def report(log: Dict[str, Any]) -> List[Dict[str, Any]]:
    """What a report has of one log. Raises LookupError for what is no log of cuvet."""
    rows = []
    for run in log["runs"]:
        for result in run["results"]:
            place = result["locations"][0]["physicalLocation"]
            rows.append({
                "description": result["message"]["text"],
                "check_name": result["ruleId"],
                "fingerprint": result["partialFingerprints"]["ruleFile/v1"],
                "severity": _SEVERITY[result["level"]],
                "location": {"path": urllib.parse.unquote(place["artifactLocation"]["uri"], errors="backslashreplace"),
                             "lines": {"begin": place["region"]["startLine"]}},
            })
    return rows


def main(paths: List[str]) -> int:
    rows: List[Dict[str, Any]] = []
    if not paths:
        print("usage: python -m cuvet.codequality LOG.sarif...", file=sys.stderr)
        return 2
    for path in paths:
        try:
            with open(path, encoding="utf-8") as handle:
                rows += report(json.load(handle))
        except (OSError, ValueError, LookupError, TypeError) as error:
            print("cuvet.codequality: %s: %s: %s" % (path, type(error).__name__, error), file=sys.stderr)
            return 3
    json.dump(rows, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
