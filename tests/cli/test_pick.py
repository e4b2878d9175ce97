# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--kind, --arch and --member mean the same in scan, list, unpack and dump, and hide nothing silently."""
import os
import re

from lib_cli import (CLEAN, FINDINGS, ROOT, USAGE, bad_container, cuvet, damaged_member, equal, main, sample, scratch,
                     test, write)

HOSTILE = os.path.join(ROOT, "corpus", "hostile")
FILES = ("multi.fatbin", "lto.fatbin", "long-names.a", "plain.sm_90a.cubin", "host-plain.so", "plain.ptx")


def filters(members):
    yield from (["--kind", k] for k in ("elf", "ptx", "lto-ir", "ltoir", "mercury", "fatbin", "unknown"))
    for m in members:
        yield ["--arch", m["arch"]]
        yield ["--arch", m["arch"].split("_")[1], "--kind", m["kind"]]
        if m["path"]:
            yield ["--member", m["path"]]
            yield ["--member", m["path"].split("/")[0]]
    yield from (["--member", str(i)] for i in range(len(members) + 1))
    yield ["--arch", "sm_1"]


def listed(args, path):
    return [o["path"] for o in cuvet("list", "--format=ndjson", *args, path).objects("member")]


def expected(members, args):
    o = dict(zip(args[::2], args[1::2]))
    out = []
    for i, m in enumerate(members):
        kind = {"ltoir": "lto-ir"}.get(o.get("--kind"), o.get("--kind"))
        where = o.get("--member")
        if kind and m["kind"] != kind or "--arch" in o and o["--arch"] not in (m["arch"], m["arch"].split("_")[1]):
            continue
        if where is None or where == str(i) or m["path"] == where or m["path"].startswith(where + "/"):
            out.append(m["path"])
    return out


@test
def the_same_in_all_commands():
    for name in FILES:
        path = sample(name)
        members = cuvet("list", "--format=ndjson", path).objects("member")
        for args in filters(members):
            want = expected(members, args)
            equal(listed(args, path), want, "list %s %s" % (name, args))
            r = cuvet("scan", "--format=ndjson", *args, path)
            equal([o["path"] for o in r.objects("member")], want, "scan %s %s" % (name, args))
            equal(r.objects("verdict")[0]["filtered_pieces"], len(members) - len(want), "left out")
            equal("no piece of device code was selected" in r.err, not want, "said")
            r = cuvet("dump", "--format=ndjson", "--header", *args, path)
            equal((r.rc, [o["path"] for o in r.objects("piece")]), (CLEAN if want else USAGE, want), "dump %s" % args)
            d = os.path.join(scratch(), "out")
            r = cuvet("unpack", "-d", d, *args, path)
            scrambled = sum(m["path"] in want and m["kind"] == "lto-ir" for m in members)
            equal(len(os.listdir(d)), len(want) - scrambled, "unpack %s %s" % (name, args))


@test
def verdict_and_exit_code_are_of_the_whole_file():
    path = write(damaged_member(), "member.bin")
    whole = cuvet("scan", "--format=ndjson", path)
    for args, shown in ((["--arch", "sm_80"], 1), (["--member", "1"], 1), (["--member", "0"], 0), (["--kind", "ptx"], 0),
                        (["--arch", "sm_75"], 0)):
        r = cuvet("scan", "--format=ndjson", *args, path)
        equal((r.rc, len(r.objects("finding"))), (FINDINGS, shown), " ".join(args))
        a, b = whole.objects("verdict")[0], r.objects("verdict")[0]
        equal((b.pop("filtered_findings"), b.pop("filtered_pieces")), (1 - shown, 7), "what was left out")
        equal(b, a, "verdict")
        r = cuvet("scan", *args, path)
        equal(("malformed;" in r.out, r.out.count("CV-CODEC-007")), (True, shown), r.out)
        assert ("; by filter not shown: 7 pieces" + ("" if shown else " with 1 finding")) in r.out, r.out
        equal(cuvet("scan", "-q", *args, path).out, path + ": malformed\n", "quiet")


@test
def what_is_about_no_piece_is_shown():
    seen = 0
    for name in sorted(os.listdir(HOSTILE))[::3]:
        path = os.path.join(HOSTILE, name)
        whole, r = (cuvet("scan", "--format=ndjson", *args, path) for args in ([], ["--member", "999"]))
        equal(r.rc, whole.rc, name)
        v = r.objects("verdict")[0]
        loud = [o for o in r.objects("finding") if o["severity"] != "note"]
        equal(len(loud) + v["filtered_findings"], v["findings"], name)
        for o in loud:  # a container inside of a piece is no piece: what is wrong with it is shown
            assert "/fatbin[" in o["path"] or not any(
                o["path"] == m["path"] or o["path"].startswith(m["path"] + "/")
                for m in whole.objects("member")), (name, o)
        seen += bool(loud)
    assert seen > 5, "findings about containers and files"


@test
def findings_above_the_cap():
    path = write(bad_container() * 150)
    r = cuvet("scan", "--kind", "elf", path)
    assert "(64 times)" in r.out, r.out
    assert "by filter not shown: 300 pieces; of the pieces shown, above the cap and only counted: 86 findings" in r.out
    r = cuvet("scan", "--kind", "elf", "--limit", "diagnostics=1000", path)
    assert "(150 times)" in r.out and "above the cap" not in r.out, r.out
    r = cuvet("scan", "--kind", "ptx", path)
    assert "by filter not shown: 300 pieces with 150 findings" in r.out and "CV-FATBIN-015" not in r.out, r.out
    equal(r.rc, FINDINGS, "exit")


@test
def no_architecture():
    for command in (["scan"], ["list"], ["dump"], ["unpack", "-d", scratch()]):
        for arch in ("", "sm", "sm_", "sm90", "90b", "sm_90aa", "nvptx_90", "sm_9000000"):
            equal(cuvet(*command, "--arch", arch, sample("multi.fatbin")).rc, USAGE, arch)
        r = cuvet(*command, "--arch", "sm90a", sample("multi.fatbin"))
        equal(re.findall("Did you mean '(.*)'", r.err), ["sm_90a"], "suggestion")
        equal(cuvet(*command, "--kind", "elv", sample("multi.fatbin")).rc, USAGE, "kind")


main()
