#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a link makes of names that several inputs have, and of what kernels reach through others: cuvet against nvlink, the same bytes (but the tool
note) and nvlink's result is clean, finally, with -r (--compat-r on our side) and with --preserve-relocs.

  launched    every program of one to three files, each of which defines, launches or declares one kernel, or has another function of its own
  replaced    weak kernels or functions of one name with more or fewer registers and relocations, in two files and in random three, on sm_80 and
              sm_90: which one wins, and what of the others stays
  pointed     a function, weak in each of two files or defined in one, that either calls, points to from a variable or a constant, takes the address of,
              or that is called through a pointer; what nvlink loses of a pointer is counted, and docs/link.md says so
  newer       random programs of two to five files, each for another virtual architecture, that define weak kernels and functions with as many registers
  old         a share of `pointed` from objects of an old compiler, which say less: as above, and nvlink's result with -r linked again. Only where
              CV_OLD_PTXAS names one of before 12.0
  reached     random programs of two to four files with functions, calls, barriers and functions of the driver: what kernels say that they need

  CV_OLD_PTXAS=FILE   for `old`; it is in the wheel nvidia-cuda-nvcc-cu11 of the package index
  CV_SEEDS=1-400   of `reached`, finally alone (default: 1-20, with CV_FULL=1 1-400)
  CV_SHARE=20      each which program of the others (with CV_FULL=1 every one)
  CV_JOBS=2

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import concurrent.futures
import itertools
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import link_classes as lc  # noqa: E402
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
SHARE = int(os.environ.get("CV_SHARE", "1" if FULL else "20"))
SEEDS = os.environ.get("CV_SEEDS", "1-400" if FULL else "1-20")
OLD_PTXAS = os.environ.get("CV_OLD_PTXAS")
SHARE_OF_OLD = 5
WAYS = ((), ("-r",), ("--preserve-relocs",))
AGAIN = ("again",)
HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
SMALL = "{ .reg .b64 %d<3>; ld.param.u64 %d1, [a]; st.global.u64 [%d1], %d1; ret; }\n"


# --- launched ----------------------------------------------------------------------------------------------

def taken(user, name):
    return ".visible .entry %s(.param .u64 p) { .reg .b64 %%d<4>; ld.param.u64 %%d1, [p]; mov.u64 %%d2, %s; st.global.u64 [%%d1], %%d2; ret; }\n" % (user, name)


CHILD = ".entry child(.param .u64 a) " + SMALL
FUNCTION = ".weak .func (.param .u32 r) other(.param .u32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 1; st.param.u32 [r], %r2; ret; }\n"
# D, S: a weak or strong definition; L, M: one that also launches it; X: launches it; F: a function whose address is taken
ROLES = {"D": lambda i: ".weak " + CHILD, "S": lambda i: ".visible " + CHILD, "L": lambda i: ".weak " + CHILD + taken("k%d" % i, "child"),
         "M": lambda i: ".visible " + CHILD + taken("k%d" % i, "child"), "X": lambda i: ".extern .entry child(.param .u64 a);\n" + taken("k%d" % i, "child"),
         "F": lambda i: FUNCTION + taken("q%d" % i, "other")}


def launched():
    for n in (1, 2, 3):
        for roles in itertools.product("DLXSMF", repeat=n):
            # A kernel that is weak here and strong there: the reference joins both parameter banks (docs/link-partial.md).
            mixed = set(roles) & set("DL") and set(roles) & set("SM")
            if set(roles) & set("LMX") and set(roles) & set("DLSM") and sum(r in "SM" for r in roles) < 2 and not mixed:
                yield from (("75", way, tuple(("launched.%s%d" % (r, i), HEAD + ROLES[r](i)) for i, r in enumerate(roles))) for way in WAYS)


# --- replaced ----------------------------------------------------------------------------------------------

VARIABLES = ".weak .shared .align 4 .b8 s[36];\n.weak .global .align 4 .b8 g[36];\n"
NEEDS = {"": "", "s": "ld.shared.f32 %f2, [s+4]; st.global.f32 [%d2], %f2; ", "g": "mov.u64 %d1, g; st.global.u64 [%d2], %d1; ",
         "a": "mov.u64 %d1, g; add.u64 %d1, %d1, 12; st.global.u64 [%d2], %d1; "}
# registers, what it needs, strong
FORMS = [(n, need, False) for n in (4, 20, 40) for need in NEEDS] + [(20, "g", True), (20, "", True)]


def definition(form, function, i):
    registers, need, strong = form
    body = "".join("ld.volatile.global.f32 %%f%d, [%%d2+%d]; " % (r, r * 4) for r in range(3, 3 + registers))
    body += "".join("st.volatile.global.f32 [%%d2+%d], %%f%d; " % (r * 8, r) for r in range(3, 3 + registers)) + NEEDS[need]
    begin, linkage = "{ .reg .f32 %f<60>; .reg .b64 %d<4>; ld.param.u64 %d2, [p]; ", ".visible" if strong else ".weak"
    if not function:
        return HEAD + VARIABLES + linkage + " .entry same(.param .u64 p) " + begin + body + "ret; }\n"
    return (HEAD + VARIABLES + linkage + " .func (.param .u64 r) same(.param .u64 p) " + begin + body + "st.param.u64 [r], %d2; ret; }\n"
            ".visible .entry user" + str(i) + "(.param .u64 p) { .reg .b64 %d<4>; ld.param.u64 %d2, [p]; { .param .u64 a; .param .u64 b; "
            "st.param.u64 [a], %d2; call (b), same, (a); ld.param.u64 %d2, [b]; } st.global.u64 [%d2], %d2; ret; }\n")


def replaced():
    rnd = random.Random(5)
    sets = list(itertools.product(FORMS, repeat=2)) + [tuple(rnd.choice(FORMS) for _ in range(3)) for _ in range(300)]
    for arch, function in itertools.product(("80", "90"), (False, True)):
        for forms in sets:
            if sum(f[2] for f in forms) > (1 if function else 0):
                continue  # as above
            files = tuple(("replaced.%d%s%d.%d.%d" % (*f, function, i), definition(f, function, i)) for i, f in enumerate(forms))
            yield from ((arch, way, files) for way in WAYS)


# --- pointed -----------------------------------------------------------------------------------------------

POINTED = " .func (.param .b32 r) f(.param .b32 a)"
ADDED = " { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r2, %r1, 7; st.param.b32 [r], %r2; ret; }\n"
DOES = {"calls": "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %r1; call (s), f, (q); ld.param.b32 %r1, [s]; }\n",
        "takes": "mov.u64 %d2, f; st.global.u64 [%d1+8], %d2;\n",
        "asks": "ld.global.u64 %d3, [%d1+16]; { .param .b32 q; .param .b32 s; st.param.b32 [q], %r1; pr: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                "call (s), %d3, (q), pr; ld.param.b32 %r1, [s]; }\n"}
HOLDS = {"variable": ".visible .global .u64 g%d[2] = {f, f};\n", "constant": ".visible .const .u64 c%d[2] = {0, f};\n"}


def pointed():
    chosen = [c for n in range(len(DOES) + len(HOLDS) + 1) for c in itertools.combinations((*DOES, *HOLDS), n)]
    text = {}
    for i, linkage, does in itertools.product((0, 1), (".weak", ".visible", ".extern"), chosen):
        body = (HEAD + linkage + POINTED + (";\n" if linkage == ".extern" else ADDED) + "".join(HOLDS[d] % i for d in does if d in HOLDS) +
                ".visible .entry k%d(.param .u64 p) { .reg .b32 %%r<5>; .reg .b64 %%d<5>; ld.param.u64 %%d1, [p]; ld.global.u32 %%r1, [%%d1];\n" % i +
                "".join(DOES[d] for d in does if d in DOES) + "st.global.u32 [%d1], %r1; ret; }\n")
        text[i, linkage, does] = ("pointed.%d%s.%s" % (i, linkage, "-".join(does) or "nothing"), body)
    for kinds in ((".weak", ".weak"), (".weak", ".visible"), (".visible", ".weak"), (".visible", ".extern"), (".extern", ".weak")):
        for pair in itertools.product(chosen, repeat=2):
            yield from (("90", way, tuple(text[i, k, does] for i, (k, does) in enumerate(zip(kinds, pair)))) for way in WAYS)


# --- newer -------------------------------------------------------------------------------------------------

TARGETS = ("50", "52", "60", "61", "70", "72", "75", "80")
NAMES = ("f", "g", "h")


def of_target(rnd, target, i):
    """Some of the functions, each with a constant of its own: which one stays is seen in the code. All have as many registers."""
    text, used = HEAD.replace("sm_75", "sm_" + target), [n for n in NAMES if rnd.random() < .8] or ["f"]
    for n in used:
        text += (".weak .func (.param .b32 r) %s(.param .b32 a) { .reg .b32 %%r<3>; ld.param.b32 %%r1, [a]; add.u32 %%r2, %%r1, %d; st.param.b32 [r], %%r2; ret; }\n" %
                 (n, rnd.randrange(2, 1 << 16)))
    for q, name in enumerate(("same", "mine%d" % i)):
        asked = [n for n in used if rnd.random() < .7]
        text += ".weak .entry %s(.param .u64 p) { .reg .b32 %%r<5>; .reg .b64 %%d<5>; ld.param.u64 %%d1, [p]; ld.global.u32 %%r1, [%%d1];\n" % name
        text += "".join("{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%r1; call (s), %s, (q); ld.param.b32 %%r1, [s]; }\n" % n for n in asked if q)
        text += "add.u32 %%r1, %%r1, %d; st.global.u32 [%%d1], %%r1; ret; }\n" % rnd.randrange(2, 1 << 16)
    return text


def newer():
    for seed in range(480):
        rnd = random.Random(seed)
        targets = [rnd.choice(TARGETS) for _ in range(rnd.randint(2, 5))]
        files = tuple(("newer.%d.%d" % (seed, i), of_target(rnd, t, i)) for i, t in enumerate(targets))
        yield from (("80", way, files) for way in WAYS)


# --- old ---------------------------------------------------------------------------------------------------

def old():
    for _, way, files in list(pointed())[::SHARE_OF_OLD] if OLD_PTXAS else ():
        named = tuple(("old." + name, text) for name, text in files)
        yield "80", way, named
        if not way:
            yield "80", AGAIN, named


MADE_ANEW = (b".symtab", b".strtab", b".shstrtab", b".nv.callgraph", b".nv.prototype", lr.TOOL_NOTE)
POINTERS = (b".rel.nv.global", b".rela.nv.global", b".rel.nv.constant", b".rela.nv.constant")


def told(path):
    """How often the result says that an address is taken, and has a relocation of data."""
    counts, section = collections.Counter(), ""
    for words in map(str.split, lr.tool(os.environ["CUVET"], "dump", "--callgraph", "--relocs", path).stdout.decode("latin-1").splitlines()):
        if words[:2] == ["Relocations:", "section"]:
            section = words[3]
        elif len(words) > 2 and words[1] == "address-taken":
            counts["record", words[2]] += 1
        elif len(words) > 2 and words[1].startswith("R_CUDA_") and section.encode().startswith(POINTERS):
            counts[section, words[-1]] += 1
    return counts


def rest(data):
    """Symbols and bodies of all sections but those of pointers and names. Where a relocation section is not there its symbol is not either, so that
    numbers of sections and symbols are replaced by names."""
    image = lr.Image(data)
    names, table = (next(body for name, _, _, body in image.sections if name == wanted) for wanted in (b".strtab", b".symtab"))
    symbols = []
    for name, info, other, section, value, size in struct.iter_unpack("<IBBHQQ", table):
        home = image.sections[section][0] if section < len(image.sections) else section
        symbols.append((lr.name_at(names, name), info, other, home, value, size))
    bodies = {}
    for name, head, size, body in image.sections:
        if name in MADE_ANEW or name.startswith(POINTERS):
            continue
        if head[1] in lr.RELOCATIONS:
            wide = head[1] == 4
            body = [(row[0], row[1] & 0xFFFFFFFF, symbols[row[1] >> 32], *row[2:]) for row in struct.iter_unpack("<QQq" if wide else "<QQ", body)]
        elif name == b".nv.info":
            body = [(*row[:3], symbols[row[3]], row[4]) for row in struct.iter_unpack("<BBHII", body)]
        bodies[name] = (head[1], size, body)
    return bodies, [row for row in symbols if row[1] & 15 != 3]


def loss(theirs, ours):
    """loses: the reference's result has one of the pointers, or of the records that say that the address is taken, less than ours, and is like it in all else.
    drops: with its last pointer the function has gone as well, and what names it in code."""
    less, same = told(theirs) < told(ours), told(theirs) == told(ours)
    (bodies, symbols), (our_bodies, our_symbols) = rest(lc.read(theirs)), rest(lc.read(ours))
    if less and (bodies, symbols) == (our_bodies, our_symbols):
        return "loses"
    gone = {b".text.f", b".nv.info.f"} | {section + kernel for section in (b".rel.text.k", b".rela.text.k") for kernel in (b"0", b"1")}
    return "drops" if (less or same) and [row for row in our_symbols if row[0] != b"f"] == symbols and our_bodies.keys() - bodies.keys() <= gone else None


# --- reached -----------------------------------------------------------------------------------------------

DRIVER = ("malloc", "free", "vprintf", "__assertfail")


def signature(name):
    return "(.param .b32 r) %s (.param .b32 a)" % name


def calls(names):
    return "".join("{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%r1; call (s), %s, (q); ld.param.b32 %%r1, [s]; }\n" % n for n in names)


def barrier(rnd, chance):
    return "bar.sync %d;\n" % rnd.randint(1, 5) if rnd.random() < chance else ""


def program(seed):
    """Texts of its files. Functions call later ones alone: nothing calls itself."""
    rnd = random.Random(seed)
    n_functions, n_files = rnd.randint(3, 8), rnd.randint(2, 4)
    home = {"f%d" % i: rnd.randrange(n_files) for i in range(n_functions)}
    texts = []
    for k in range(n_files):
        mine, items, used = [f for f in home if home[f] == k], [], set()
        for f in mine:
            names = [g for g in home if int(g[1:]) > int(f[1:]) and rnd.random() < .4] + [d for d in DRIVER if rnd.random() < .15]
            rnd.shuffle(names)
            used |= set(names)
            items.append(".visible .func " + signature(f) + "\n{ .reg .b32 %r<9>; ld.param.b32 %r1, [a];\n" + calls(names) + barrier(rnd, .35) +
                         "add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n")
        for q in range(rnd.randint(0, 2) if k else rnd.randint(1, 2)):
            names = [g for g in home if rnd.random() < .35] + [d for d in DRIVER if rnd.random() < .05]
            rnd.shuffle(names)
            used |= set(names)
            items.append(".visible .entry k%d_%d (.param .u64 a)\n" % (k, q) + "{ .reg .u64 %rd<9>; .reg .b32 %r<9>; ld.param.u64 %rd1, [a]; "
                         "ld.global.u32 %r1, [%rd1];\n" + calls(names) + barrier(rnd, .25) + "st.global.u32 [%rd1], %r1; ret; }\n")
        rnd.shuffle(items)
        declared = "".join((".visible" if c in mine else ".extern") + " .func " + signature(c) + ";\n" for c in sorted(used | set(mine)))
        texts.append(HEAD + declared + "".join(items))
    return texts


def reached():
    first, last = map(int, SEEDS.split("-"))
    for seed in range(first, last + 1):
        yield "75", (), tuple(("reached.%d.%d" % (seed, i), text) for i, text in enumerate(program(seed)))


# --- all of them -------------------------------------------------------------------------------------------

@lc.in_folder
def one(d, arch, way, files):
    inputs = [lc.compiled(text, arch, name, OLD_PTXAS if name.startswith("old.") else "ptxas") for name, text in files]
    if way == AGAIN:
        part, way = os.path.join(d, "part.cubin"), ()
        if lr.tool("nvlink", "-arch=sm_" + arch, "-r", *inputs, "-o", part).returncode:
            return "fails"
        inputs = [part]
    theirs, ours = lc.link_both(arch, way, inputs, d, ["--compat-r"] if "-r" in way else [])
    if theirs[0] and "reference to deleted symbol" in theirs[1]:
        return "fails"  # it does not get through itself
    if (theirs[0] == 0) != (ours[0] == 0):
        raise lr.Different("nvlink %d %s; cuvet %d %s" % (theirs[0], theirs[1][:200], ours[0], ours[1][:300]))
    if theirs[0]:
        return "refused"
    p = lr.tool(os.environ["CUVET"], "scan", theirs[2])
    if p.returncode:
        raise lr.Different("the reference's result is not clean: " + p.stdout.decode("latin-1")[:300])
    try:
        lr.strict(lc.read(theirs[2]), lc.read(ours[2]))
    except lr.Different:
        found = loss(theirs[2], ours[2]) if "pointed" in files[0][0] else None
        if not found:
            raise
        return found
    return "equal"


def main():
    why = lr.without("ptxas", "nvlink")
    if why:
        print("SKIPPED: %s; nothing was compared" % why)
        return 77
    good = bad = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        for jobs in (launched, replaced, pointed, newer, old, reached):
            args = list(jobs())[::{reached: 1, pointed: 7 * SHARE}.get(jobs, SHARE)]  # what is pointed to has very many
            found = list(pool.map(lambda a: one(*a), args))
            count = {w: found.count(w) for w in ("equal", "refused", "fails", "loses", "drops")}
            for text in [f for f in found if f not in count][:40]:
                print("DIFFERENT: %s: %s" % (jobs.__name__, text[-600:]))
            print("%s: %d links, %d equal, refused by both %d, the reference fails %d, it loses a pointer %d, and the function %d, different %d" %
                  (jobs.__name__, len(args), *count.values(), len(args) - sum(count.values())))
            good, bad = good + count["equal"], bad + len(args) - sum(count.values())
    print("%d passed, %d failed, 0 skipped" % (good, bad))
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
