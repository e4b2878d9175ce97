# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools/same runs: files and the command lines that they go through, in groups.

Everything here is the same on each call: what is drawn is drawn with fixed seeds.
"""
import csv
import glob
import os
import random
import re
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(ROOT, "corpus")
sys.path[:0] = [os.path.join(ROOT, "tools", "corpus"), os.path.join(ROOT, "tests", "hostile")]

import edit  # noqa: E402
import link_mutants  # noqa: E402

FILES = "@files"  # in a command line: the names of all files of the work, which may also be run one by one
BATCH = 128
COMMANDS = ("scan", "list", "unpack", "dump", "map", "rules", "select", "link", "finalize")
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_110", "sm_120",
           "sm_120f", "sm_121")
SCANS = [["scan", "--format=ndjson", "-j1", FILES], ["scan", "--all", "-v", "-j2", FILES],
         ["scan", "--format=sarif", "-j7", FILES]]
READS = [["list", "--kernels", "--format=ndjson", FILES], ["list", FILES], ["list", "--resources", FILES],
         ["dump", "--format=ndjson", FILES], ["dump", FILES]]
# Of the sweeps: one of each kind, small ones.
SEEDS = ("plain.sm_75.rdc.cubin", "plain.sm_90.cubin", "branchy.sm_100.rdc.cubin", "vars.sm_90.linked.cubin",
         "texture.sm_75.rdc.cubin", "plain.sm_100.lineinfo.cubin", "indirect.sm_90.rdc.cubin", "multi.fatbin",
         "lto-options.fatbin", "multi-lz4.fatbin", "compat.fatbin", "gaps.fatbin", "back-to-back.fatbin", "host-two_a.o",
         "host-plain.o", "host-plain.so", "long-names.a", "thin.a", "plain.ptx")


class Work:
    """Files of one folder and the command lines that are run there, each in an empty `out` folder."""

    def __init__(self, group, files, commands, stdin=b""):
        self.group, self.files, self.commands, self.stdin = group, files, commands, stdin


def load(*path):
    with open(os.path.join(CORPUS, *path), "rb") as f:
        return f.read()


def rows(*path):
    with open(os.path.join(CORPUS, *path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def samples():
    return [r["name"] for r in rows("samples", "MANIFEST.tsv")]


def limits():
    with open(os.path.join(ROOT, "spec", "limits.def"), encoding="utf-8") as f:
        return re.findall(r"^LIMIT\((\w+)", f.read(), re.M)


def target_of(name, otherwise="sm_90"):
    found = re.search(r"\.(sm_[0-9]+[af]?)\.", name)
    return found.group(1) if found else otherwise


def batches(group, files, commands, size=BATCH):
    names = sorted(files)
    for i in range(0, len(names), size):
        yield Work(group, {n: files[n] for n in names[i:i + size]}, commands)


def one_by_one(group, files, commands_of):
    for name in sorted(files):
        yield Work(group, {name: files[name]}, commands_of(name))


# ---- groups ------------------------------------------------------------------------------------------------------------


def hostile(quick):
    """Every file that breaks a rule, its neighbours, and the seeds of all fuzz targets, through every command."""
    del quick
    options = {}
    for r in rows("hostile", "MANIFEST.tsv"):
        for file, words in ((r["file"], r["options"]), (r["legal"], r["legal_options"])):
            options.setdefault("" if words == "-" else words, set()).add(file)
    for words, names in sorted(options.items()):
        files = {n.replace("/", "-"): load(n) for n in names}
        yield from batches("hostile", files, [[c[0], *words.split(), *c[1:]] for c in SCANS + (READS if not words else [])])
    plain = {n.replace("/", "-"): load(n) for n in options[""] if n.startswith(("hostile/", "legal/"))}
    yield from one_by_one("hostile", plain, lambda n: [
        ["map", n], ["map", "--format=ndjson", n], ["select", "--arch=" + target_of(n), "-o", "out/s", n],
        ["link", "-arch=" + target_of(n), n, "-o", "out/l"], ["unpack", "-d", "out", n],
        ["finalize", "--arch=" + target_of(n), "-o", "out/f", n]])


def seeds(quick):
    del quick
    files = {}
    for folder in sorted(glob.glob(os.path.join(CORPUS, "*", "seed")) + glob.glob(os.path.join(CORPUS, "*", "regress"))):
        for path in sorted(glob.glob(os.path.join(folder, "*"))):
            files["-".join(path.split(os.sep)[-3:])] = load(path)
    yield from batches("seeds", files, SCANS + READS)
    yield from one_by_one("seeds", files, lambda n: [["map", n], ["select", "--arch=sm_90", "-o", "out/s", n]])


def good(quick):
    """The samples through every command and with every option that shows something else."""
    files = {n: load("samples", n) for n in samples()}
    yield from batches("samples", files, SCANS + READS + [["list", "--demangle", "--kernels", FILES], ["dump", "--data", FILES],
                                                          ["dump", "--ptx", FILES], ["unpack", "-d", "out", FILES]])
    some = TARGETS if not quick else ("sm_75", "sm_90a", "sm_100", "sm_103", "sm_120")
    for name, data in sorted(files.items()):
        mine = target_of(name)
        runs = [["map", name], ["map", "--format=ndjson", name]]
        for t in some:
            runs.append(["select", "--arch=" + t, "--format=ndjson", "-o", "out/s", name])
        for request in ("sass", "ptx", "ltoir"):
            runs.append(["select", "--arch=" + mine, "--request=" + request, "-o", "out/s", name])
        runs.append(["select", "--arch=" + mine, "--arch-policy=exact", name])
        if name.endswith(".cubin"):
            for t in some:
                runs += [["finalize", "--arch=" + t, "-o", "out/f", name],
                         ["finalize", "--arch=" + t, "--explain", "--format=ndjson", name]]
            for kind in ("sass", "capmerc", "mercury"):
                runs.append(["finalize", "--binary-kind=" + kind, "--self-check", "-v", "-o", "out/f", name])
            runs.append(["finalize", "--tkinfo", "-o", "out/f", name])
        yield Work("samples", {name: data}, runs)


def links(quick):
    """The golden links, the samples in all forms, hosts and archives, and damaged objects."""
    golden, index = link_mutants.golden()
    for (case, target), (options, inputs) in sorted(index.items()):
        words = [] if options == "-" else options.split()
        names = ["%d.cubin" % i for i in range(len(inputs))]
        runs = [["link", "-arch=" + target, *words, *names, "-o", "out/l"]]
        if not quick:
            runs += [["link", "-arch=" + target, *words, *names[::-1], "-o", "out/l"],
                     ["link", "-arch=" + target, *words, "-r", *names, "-o", "out/l"],
                     ["link", "-arch=" + target, *words, "-g", *names, "-o", "out/l"]]
        yield Work("links", {n: golden[i] for n, i in zip(names, inputs)}, runs)
    yield from batches("links", golden, SCANS[:1] + READS)
    yield from one_by_one("links", golden if not quick else dict(sorted(golden.items())[::5]), lambda n: [
        ["map", n], ["finalize", "-o", "out/f", n], ["finalize", "--binary-kind=sass", "-o", "out/f", n]])
    files = {n: load("samples", n) for n in samples()}
    for name in sorted(files):
        forms = [[], ["-r"], ["-r", "--compat-r"], ["-g"], ["--preserve-relocs"], ["-kernels-used=x"], ["--verbose"],
                 ["-use-host-info"], ["-ignore-host-info"], ["--arch-policy=exact"]]
        yield Work("links", {name: files[name]}, [["link", "-arch=" + t, *f, name, "-o", "out/l"] for f in forms
                                                 for t in {target_of(name, "sm_75"), "sm_103"}])
    pairs = [(n, n.replace("two_a", "two_b")) for n in sorted(files) if "two_a" in n]
    pairs += [("host-two_a.o", "host-merged.o"), ("host-dlink.o", "host-two_a.o"), ("host-launch.o", "host-two_b.o")]
    for a, b in pairs:
        both = {a: files[a], b: files[b], "liba.a": archive((a, files[a]), (b, files[b])), "libb.a": archive((b, files[b]))}
        t = "-arch=" + target_of(a, "sm_75")
        yield Work("links", both, [["link", t, *x, "-o", "out/l"] for x in (
            [a, b], [b, a], [a, a], [a], ["liba.a"], [a, "libb.a"], ["-L.", "-la"], [a, "-L", ".", "-lb"], ["-lnone", a],
            ["-r", a, b], ["-g", a, b], [a, b, "-kernels-used", "nothing"], ["--verbose", a, b], ["absent.o", a])])
    per, more = (6, 3) if quick else (120, 60)
    for case, target, which in link_mutants.OBJECTS:
        options, inputs = index[case, target]
        words = [] if options == "-" else options.split()
        for i in range(per + more):
            kind, data = link_mutants.mutant("same", case, target, i, golden[inputs[which]], i >= per)
            names = ["%d.cubin" % k for k in range(len(inputs))]
            mine = dict(zip(names, (golden[k] for k in inputs)))
            mine[names[which]] = data
            yield Work("mutants", mine, [["link", "-arch=" + target, *words, *names, "-o", "out/l"],
                                        ["finalize", "-o", "out/f", names[which]]][:1 + (i % 3 == 0)])


def archive(*members):
    data = b"!<arch>\n"
    for name, body in members:
        data += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode()[:15] + b"/", 0, 0, 0, b"644", len(body))
        data += body + b"\n" * (len(body) % 2)
    return data


def few():
    return {"multi.fatbin": load("samples", "multi.fatbin"), "a.cubin": load("samples", "two_a.sm_75.rdc.cubin"),
           "b.cubin": load("samples", "two_b.sm_75.rdc.cubin"), "host.o": load("samples", "host-two_a.o"),
           "lto.fatbin": load("samples", "lto.fatbin"), "empty": b"", "lib.a": load("samples", "long-names.a")}


def usage(quick):
    """Help, rules, mistakes on the command line, a pipe as input."""
    del quick
    one = few()
    runs = [[], ["--help"], ["--unknown"], ["unknown"], ["scann"], ["rules"], ["rules", "--format=ndjson"], ["rules", "CV-X-1"],
            ["link", "-arch=sm_75", "-o", "out/l"], ["link", "-o", "out/l", "a.cubin"], ["link", "-arch=sm_75", "a.cubin"],
            ["link", "-arch=sm_999", "a.cubin", "-o", "out/l"], ["link", "-arch=sm_75", "a.cubin", "-o", "absent/l"],
            ["select", "multi.fatbin"], ["select", "--arch=sm_999", "multi.fatbin"], ["select", "--arch=compute_90", "lto.fatbin"],
            ["finalize", "--arch=sm_999", "-o", "out/f", "a.cubin"], ["finalize", "-o", "out/f", "multi.fatbin"],
            ["scan", "-q", "multi.fatbin", "empty"], ["scan", "--only-findings", "multi.fatbin", "empty", "a.cubin"],
            ["scan", "--member=2", "multi.fatbin"], ["scan", "--arch=sm_90", "--kind=elf", "multi.fatbin"],
            ["scan", "--target=sm_90a", "multi.fatbin"], ["scan", "--fail-on=unsupported", "lto.fatbin"], ["scan", "."],
            ["scan", "-r", "."], ["list", "-r", "."], ["map", "empty"], ["dump", "empty"], ["unpack", "multi.fatbin"],
            ["scan", "-"], ["list", "-"], ["map", "-"], ["select", "--arch=sm_90", "-"]]
    for c in COMMANDS:
        runs += [[c], [c, "--help"], [c, "--unknown"], [c, "absent"], [c, "--format=no", "a.cubin"], [c, "--limit=no=1", "a.cubin"]]
    yield Work("usage", one, runs, stdin=one["multi.fatbin"])


def each_limit(quick):
    """Each limit at small values: how far a file is read, and what is said then."""
    one = few()
    values = (0, 1, 100, 10000) if quick else (0, 1, 2, 3, 7, 16, 50, 100, 500, 1000, 3000, 10000, 100000)
    for name in limits():
        runs = []
        for v in values:
            limit = "--limit=%s=%d" % (name, v)
            runs += [["scan", "--format=ndjson", limit, "multi.fatbin", "host.o", "lib.a"], ["map", limit, "multi.fatbin"],
                     ["link", limit, "-arch=sm_75", "a.cubin", "b.cubin", "-o", "out/l"],
                     ["select", limit, "--arch=sm_90", "multi.fatbin"], ["finalize", limit, "-o", "out/f", "a.cubin"]]
        yield Work("limits", one, runs)


def fields(name, data):
    """(offset, width) of every field that a reader of this file looks at."""
    found = []
    if data[:4] == b"\x7fELF":
        found += list(edit.EHDR.values())
        for i, (_, kind, _, off, size, *_) in enumerate(link_mutants.sections(data)):
            at = struct.unpack_from("<Q", data, 40)[0] + 64 * i
            found += [(at + o, w) for o, w in edit.SHDR.values()]
            table = {2: edit.SYM, 4: edit.RELA, 9: edit.REL}.get(kind)
            if table:
                step = sum(w for _, w in table.values())
                found += [(off + k + o, w) for k in range(0, size - step + 1, step) for o, w in table.values()]
            elif kind >= 0x70000000 and kind not in edit.NO_BYTES or kind == 7:
                found += [(off + k, 4) for k in range(0, size - 3, 4)]
                found += [(off + k, 1) for k in range(0, size - 3, 4)]
        phoff, phnum = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        found += [(phoff + 56 * i + o, w) for i in range(phnum) for o, w in edit.PHDR.values()]
    elif name.endswith(".fatbin"):
        fat = edit.Fat(data)
        found += [(at + o, w) for at in fat.containers for o, w in edit.CONTAINER.values()]
        found += [(at + o, w) for at in fat.members for o, w in edit.MEMBER.values()]
    elif data[:3] == b"!<a":
        found += [(at, 1) for at in range(0, min(len(data), 400))]
    return [(o, w) for o, w in found if o + w <= len(data)]


def changed(data, off, width):
    """What one field may become: its limits, its neighbours, and the size of the file."""
    old, top = int.from_bytes(data[off:off + width], "little"), (1 << 8 * width) - 1
    for v in sorted({0, 1, top, top >> 1, (top >> 1) + 1, (old + 1) & top, (old - 1) & top, (old + 8) & top, old << 1 & top,
                     len(data) & top} - {old}):
        yield v, data[:off] + v.to_bytes(width, "little") + data[off + width:]


def sweep(quick):
    """Every prefix of the seeds, every field with other values, and single bytes; in quick mode a part of it."""
    for name in SEEDS:
        data, dice = load("samples", name), random.Random("same/" + name)
        stem, ending = os.path.splitext(name)
        files = {}
        step = max(len(data) // (40 if quick else 4000), 1)
        for k in range(0, len(data), step):
            files["%s.cut%06d%s" % (stem, k, ending)] = data[:k]
        edits = [("%s.at%06x.%d.%x%s" % (stem, o, w, v, ending), new) for o, w in fields(name, data)
                 for v, new in changed(data, o, w)]
        for k in range(0, len(data), max(len(data) // (60 if quick else 2000), 1)):
            for v in {0, data[k] ^ 1, 0xFF} - {data[k]}:
                edits.append(("%s.byte%06x.%x%s" % (stem, k, v, ending), data[:k] + bytes([v]) + data[k + 1:]))
        most = 240 if quick else 12000
        for label, new in dice.sample(edits, min(most, len(edits))):
            files[label] = new
        if ending == ".cubin":  # the same damage inside a compressed member
            for label, new in dice.sample(edits, min(most // 8, len(edits))):
                files[label + ".zstd.fatbin"] = edit.container(edit.member(2, new, 75, how="zstd"))
        yield from batches("sweep", files, SCANS[:1])
        names = sorted(files)
        yield from batches("sweep", {x: files[x] for x in dice.sample(names, len(names) // 4)}, SCANS[1:] + READS)
        few = dice.sample(names, min(len(names), 30 if quick else 800))
        for x in sorted(few):
            t = target_of(name, "sm_75")
            yield Work("sweep", {x: files[x]}, [["map", x], ["select", "--arch=" + t, "-o", "out/s", x],
                                               ["link", "-arch=" + t, x, "-o", "out/l"], ["unpack", "-d", "out", x],
                                               ["finalize", "-o", "out/f", x]])


def given(paths):
    """Files that the caller names: nothing is copied, they may be large."""
    names = []
    for path in paths:
        names += [path] if os.path.isfile(path) else [
            os.path.join(d, f) for d, _, fs in sorted(os.walk(path)) for f in sorted(fs)]
    for name in map(os.path.abspath, names):
        yield Work("given", {}, [["scan", "--format=ndjson", name], ["list", "--kernels", "--format=ndjson", name],
                                ["map", name], ["dump", name], ["select", "--arch=sm_90", name]])


GROUPS = {"usage": usage, "limits": each_limit, "hostile": hostile, "seeds": seeds, "samples": good, "links": links, "sweep": sweep}
