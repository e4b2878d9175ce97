# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the command on samples, kept in tests/golden/cli/ and read in reviews.

CV_GOLDEN_UPDATE=1 rewrites it."""
import difflib
import os
import re

from lib_cli import GOLDEN, SAMPLES, bad_container, cuvet, damaged_member, main, scratch, test, write

UPDATE = os.environ.get("CV_GOLDEN_UPDATE") == "1"


def compare(name, text):
    path = os.path.join(GOLDEN, name)
    # Depends on the kernel, and on the build.
    text = re.sub(r'("sandbox": ?)"[^"]*"', r'\1"..."', text)
    text = re.sub(r"^sandbox: .*$", "sandbox: ...", text, flags=re.M)
    if UPDATE:
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return
    with open(path, encoding="utf-8") as f:
        old = f.read()
    diff = "\n".join(difflib.unified_diff(old.splitlines(), text.splitlines(), name, "now", lineterm="", n=1))
    if old != text:
        raise AssertionError(diff or "line ends differ")


def session(*commands, cwd=SAMPLES):
    """What a person would see: the commands, what they print, how they end."""
    out = []
    for args in commands:
        r = cuvet(*args, cwd=cwd)
        out.append("$ cuvet %s\n%s%s[%d]\n" % (" ".join(args), r.out, r.err, r.rc))
    return "\n".join(out)


@test
def scan_good():
    compare(
        "scan-good.txt",
        session(["scan", "multi.fatbin"], ["scan", "--notes", "lto.fatbin"],
                ["scan", "-v", "host-unclaimed.so", "gaps.fatbin"],
                ["scan", "long-names.a", "thin.a", "plain.ptx", "plain.sm_90a.cubin"],
                ["scan", "--format=ndjson", "default.fatbin"]))


@test
def scan_bad():
    d = scratch()
    write(bad_container(), "container.fatbin", d)
    write(damaged_member(), "member.fatbin", d)
    write(b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + b"\x02\x00\xbe\x00" + bytes(100), "stub.cubin", d)
    write(b"", "empty", d)
    compare(
        "scan-bad.txt",
        session(["scan", "container.fatbin", "member.fatbin", "stub.cubin", "empty", "absent"],
                ["scan", "--format=ndjson", "container.fatbin"], ["list", "member.fatbin"],
                ["unpack", "-d", "out", "--kind", "elf", "member.fatbin"],
                cwd=d))


@test
def list_samples():
    compare(
        "list.txt",
        session(["list", "multi.fatbin"], ["list", "--kernels", "long-names.a"], ["list", "lto-lz4.fatbin"],
                ["list", "--kernels", "host-plain.so"]))


@test
def map_samples():
    compare("map.txt",
            session(["map", "compress-false.fatbin"], ["map", "host-plain.o"], ["map", "gaps.fatbin"]))


@test
def sarif():
    d = scratch()
    write(damaged_member(), "member.fatbin", d)
    text = cuvet("scan", "--format=sarif", "member.fatbin", cwd=d).out
    text = re.sub(r'"ruleIndex": \d+', '"ruleIndex": 0', text)  # moves whenever a rule is added before it
    head, rest = text.split('     "rules": [', 1)
    compare("sarif.json", head + '     "rules": [...' + rest.split("\n     ]", 1)[1])


@test
def usage():
    compare("help.txt",
            session(["--help"], ["scan", "--help"], ["scan", "--list-limits"], ["rules", "CV-LIMIT-001"]))


main()
