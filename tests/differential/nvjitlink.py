#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""build/compat/libnvJitLink.so.13 against the library of CUDA 13.0: the same calls, by the same program, on what nvcc makes of small programs.

Result codes of every call, sizes of logs, and results, section by section: for sm_75 to sm_90a all bytes but .note.nv.tkinfo, which names the
linker; from sm_100 on the code, because capsules are left out. In a worker (CUVET_ISOLATE) all of it has to be the same. Where the two disagree on purpose (docs/nvjitlink.md) both answers
are written down here. With CV_SHOW=1 the logs of both are printed side by side.

77: skipped, said on the last line. Needs nvcc, ptxas, ar and libnvJitLink.so.13 of CUDA 13.0 (CUVET_NVJITLINK names another place).
"""
import os
import random
import re
import shutil
import struct
import subprocess
import sys

TMP = os.environ["CV_TMP"]
BUILD = os.path.abspath(os.environ.get("CV_BUILD", "build"))
DRIVER, OURS = os.path.join(BUILD, "tests", "jit_driver"), os.path.join(BUILD, "compat", "libnvJitLink.so.13")
FULL, SHOW = bool(os.environ.get("CV_FULL")), bool(os.environ.get("CV_SHOW"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,86,89,90,90a,100,103,120,121" if FULL else "75,100").split(",")
MUTANTS = int(os.environ.get("CV_MUTANTS", "200" if FULL else "20"))
SOURCES = {
    "a": "__device__ int helper(int); __device__ float data[4] = {1,2,3,4}; __constant__ int kc[2] = {5,6};\n"
         "extern \"C\" __global__ void ka(int *p) { __shared__ int s[32]; s[threadIdx.x & 31] = p[0]; __syncthreads();"
         " p[threadIdx.x] = helper(s[0]) + kc[threadIdx.x & 1] + (int)data[threadIdx.x & 3]; }\n"
         "extern \"C\" __global__ void kz(int *p) { *p = 3; }\n",
    "b": "__device__ int tail = 7;\n__device__ __noinline__ int helper(int x) { return x * 3 + tail; }\n",
    "dup": "__device__ __noinline__ int helper(int x) { return x * 5; }\n",
    "proto": "__device__ __noinline__ long long helper(int x) { return x * 5LL; }\n",
    "whole": "extern \"C\" __global__ void kw(int *p) { *p = 3; }\n",
}
SUCCESS, BAD_OPTION, NO_ARCH, BAD_INPUT, PTX_COMPILE, NVVM, INTERNAL = range(7)
WRONG_TYPE, BAD_ARCH, NO_LTO = 12, 16, 18
CRASH = "crash or hang"


def reference():
    tools = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc") or "/none/bin/nvcc")))
    for path in [os.environ.get("CUVET_NVJITLINK")] + [os.path.join(tools, d, "libnvJitLink.so.13") for d in ("lib64", "lib")]:
        if path and os.path.exists(path):
            return os.path.realpath(path)
    return None


def run(*args):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if p.returncode:
        print(p.stdout.decode("utf-8", "replace"))
        raise SystemExit("%r failed" % (args,))


def make(arch):
    """What nvcc makes, by name: a.cubin, a.fatbin, a.o, lib.a and the like."""
    d = os.path.join(TMP, arch)
    os.mkdir(d)
    for name, text in SOURCES.items():
        with open(os.path.join(d, name + ".cu"), "w") as f:
            f.write(text)
    for name in ("a", "b", "dup", "proto"):
        for how, kind in (("-cubin", "cubin"), ("-fatbin", "fatbin"), ("-c", "o")):
            if name in ("dup", "proto") and kind != "cubin":
                continue
            run("nvcc", "-arch=sm_" + arch, "-rdc=true", how, "-o", "%s/%s.%s" % (d, name, kind), "%s/%s.cu" % (d, name))
    run("nvcc", "-arch=sm_" + arch, "-cubin", "-o", d + "/whole.cubin", d + "/whole.cu")
    run("ar", "crs", d + "/lib.a", d + "/b.o")
    for name in ("a", "b"):  # for link-time optimization
        how = "-gencode=arch=compute_%s,code=lto_%s" % (arch, arch)
        run("nvcc", how, "-rdc=true", "-fatbin", "-o", "%s/%s.lto.fatbin" % (d, name), "%s/%s.cu" % (d, name))
        run("nvcc", how, "-dc", "-o", "%s/%s.lto.o" % (d, name), "%s/%s.cu" % (d, name))
        run("nvcc", "-dlto", "-arch=sm_" + arch, "-rdc=true", "-ltoir", "-o", "%s/%s.ltoir" % (d, name), "%s/%s.cu" % (d, name))
    for name in ("a", "b"):
        run("nvcc", "-arch=compute_" + arch, "-rdc=true", "-ptx", "-o", "%s/%s.ptx" % (d, name), "%s/%s.cu" % (d, name))
    with open(d + "/a.cubin", "rb") as f, open(d + "/cut.cubin", "wb") as g:
        g.write(f.read()[:700])
    with open(d + "/a.fatbin", "rb") as f, open(d + "/cut.fatbin", "wb") as g:
        g.write(f.read()[:200])
    return d


def ask(library, d, options, inputs, env):
    out = os.path.join(d, "out")
    if os.path.exists(out):
        os.unlink(out)
    words = ["%s:%s" % (kind, os.path.join(d, name)) for kind, name in inputs]
    p = subprocess.Popen([DRIVER, library, "13_0", "run", out, *options, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env=dict(os.environ, **env))
    try:
        text = p.communicate(timeout=20 if any("cut." in w for w in words) else 300)[0]
    except subprocess.TimeoutExpired:  # the reference does not end with a fatbin that is cut off for sm_100
        p.kill()
        text = p.communicate()[0]
    text = text.decode("utf-8", "replace")
    lines = [line.split() for line in text.splitlines() if "|" not in line]
    answers = [(w[0], w[1]) for w in lines if w[0] in ("create", "add", "complete", "ptx")]
    if p.returncode < 0:
        answers.append(("died", CRASH))
    data = None
    if os.path.exists(out):
        with open(out, "rb") as f:
            data = f.read()
    return answers, [line.strip() for line in text.splitlines() if "|" in line], data, re.findall(r"^([EI]) 0 (\d+)", text, re.M)


def sections(data):
    shoff, = struct.unpack_from("<Q", data, 0x28)
    num, strndx = struct.unpack_from("<HH", data, 0x3C)
    head = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(num)]
    names = data[head[strndx][4]:head[strndx][4] + head[strndx][5]]
    out = []
    for h in head:
        name = names[h[0]:names.index(b"\0", h[0])].decode() if h[1] else ""
        tool = name == ".note.nv.tkinfo"
        out.append((name, h[1], h[2], 0 if tool else h[5]) + h[6:] + (b"" if h[1] in (0, 8) or tool else data[h[4]:h[4] + h[5]],))
    return out


def same(left, right, arch):
    """Below sm_100 everything but the note; from there on the code and the constants of each function."""
    one, two = sections(left), sections(right)
    if int(arch.rstrip("af")) >= 100:
        one, two = (sorted((s[0], s[-1]) for s in v if s[0].startswith((".text.", ".nv.constant", ".nv.global"))) for v in (one, two))
    return one == two


def flat(answers):
    return [int(code) if code != CRASH else CRASH for name, code in answers if name != "ptx"]


def sequences(arch):
    """(options, inputs, None: both answer alike and the results are equal, or what each answers; None: a crash, a hang, or one
    of several answers)"""
    arch = "-arch=sm_" + arch
    for one, two in (("1:a.cubin", "1:b.cubin"), ("4:a.fatbin", "4:b.fatbin"), ("5:a.o", "5:b.o"), ("5:a.o", "6:lib.a"), ("10:a.cubin", "10:b.fatbin"),
                     ("10:a.o", "10:lib.a"), ("f1:a.cubin", "f10:b.o"), ("f6:lib.a", "f4:a.fatbin")):
        yield [arch], [one, two], None
    for option in "-g -verbose -time -r -kernels-used=ka -kernels-used=nothing -variables-used=data -lineinfo -O0 -O3 -ftz=1 -Xptxas=-v -no-cache".split():
        yield [arch, option], ["1:a.cubin", "1:b.cubin"], None
    yield [arch, "-kernels-used=ka", "-kernels-used=kz"], ["1:a.cubin", "1:b.cubin"], None
    for option in ("", "-verbose", "-g", "-O0", "-lineinfo", "-maxrregcount=32"):
        yield [arch, option] if option else [arch], ["2:a.ptx", "10:b.ptx"], None
    for option in "-O1 -O4 -bogus -v -g=1 -maxrregcount= -split-compile=-1 -Xptxas -device-stack-protector --verbose".split():
        yield [arch, option], [], ([BAD_OPTION], [BAD_OPTION])
    yield ["-verbose"], [], ([NO_ARCH], [NO_ARCH])
    yield [arch], ["1:a.fatbin"], ([SUCCESS, WRONG_TYPE, SUCCESS], [SUCCESS, WRONG_TYPE, INTERNAL])
    yield [arch], ["0:a.cubin"], ([SUCCESS, WRONG_TYPE, SUCCESS], [SUCCESS, WRONG_TYPE, INTERNAL])
    yield [arch], ["7:a.cubin"], ([SUCCESS, WRONG_TYPE, SUCCESS], [SUCCESS, WRONG_TYPE, INTERNAL])
    yield [arch], ["10:a.cu"], ([SUCCESS, 8, SUCCESS], [SUCCESS, 8, INTERNAL])
    yield [arch], ["f1:nothing"], ([SUCCESS, BAD_INPUT, SUCCESS], [SUCCESS, BAD_INPUT, INTERNAL])
    yield [arch], ["1:a.cubin"], ([SUCCESS, SUCCESS, INTERNAL], [SUCCESS, SUCCESS, INTERNAL])
    yield [arch], ["1:b.cubin", "1:dup.cubin"], ([SUCCESS, SUCCESS, SUCCESS, SUCCESS], [SUCCESS, SUCCESS, SUCCESS, INTERNAL])
    yield [arch], ["1:a.cubin", "1:proto.cubin"], ([SUCCESS, SUCCESS, SUCCESS, SUCCESS], [SUCCESS, SUCCESS, SUCCESS, INTERNAL])
    yield [arch], ["1:whole.cubin"], ([SUCCESS, SUCCESS, SUCCESS], [SUCCESS, BAD_INPUT, INTERNAL])
    yield [arch], ["5:a.cubin"], ([SUCCESS, SUCCESS, SUCCESS], [SUCCESS, WRONG_TYPE, INTERNAL])
    yield [arch], ["1:cut.cubin"], (None, [SUCCESS, BAD_INPUT, INTERNAL])
    yield [arch], ["4:cut.fatbin"], (None, [SUCCESS, BAD_INPUT, INTERNAL])
    yield [arch, "-Xptxas=-bogus"], ["2:a.ptx"], ([SUCCESS, PTX_COMPILE, SUCCESS], [SUCCESS, PTX_COMPILE, INTERNAL])
    # Handed on: all bytes, and what -verbose and -time say but for the times.
    for one, two in (("3:a.ltoir", "3:b.ltoir"), ("3:a.ltoir", "1:b.cubin"), ("1:a.cubin", "10:b.ltoir"), ("4:a.lto.fatbin", "4:b.fatbin"),
                     ("5:a.lto.o", "5:b.lto.o"), ("5:a.o", "f5:b.lto.o"), ("3:a.ltoir", "6:lib.a"), ("3:a.ltoir", "2:b.ptx")):
        yield [arch, "-lto"], [one, two], None
    for option in "-g -r -verbose -kernels-used=ka -variables-used=data -lineinfo -O0 -ftz=1 -Xptxas=-v -Xnvvm=-opt=0 -maxrregcount=32".split():
        yield [arch, "-lto", option], ["3:a.ltoir", "1:b.cubin"], None
    yield [arch, "-lto", "-ptx"], ["3:a.ltoir", "3:b.ltoir"], None
    yield [arch.replace("sm_", "compute_"), "-lto", "-ptx"], ["3:a.ltoir", "3:b.ltoir"], None
    yield [arch, "-lto"], ["3:a.ltoir"], ([SUCCESS, SUCCESS, PTX_COMPILE], [SUCCESS, SUCCESS, PTX_COMPILE])
    yield [arch, "-lto", "-ptx"], ["3:a.ltoir", "1:b.cubin"], ([SUCCESS, SUCCESS, SUCCESS, WRONG_TYPE], [SUCCESS, SUCCESS, SUCCESS, WRONG_TYPE])
    yield [arch], ["3:a.ltoir"], ([SUCCESS, NO_LTO, SUCCESS], [SUCCESS, NO_LTO, INTERNAL])
    yield [arch, "-lto", "-Xnvvm=-bogus"], ["3:a.ltoir", "1:b.cubin"], (None, [SUCCESS, SUCCESS, SUCCESS, NVVM])
    yield [arch, "-lto"], ["1:a.cubin", "1:b.cubin"], ([SUCCESS, SUCCESS, SUCCESS, NVVM], [SUCCESS, SUCCESS, SUCCESS, NVVM])


def compare(d, arch, theirs, options, inputs, want):
    env = {"CUVET_PTXAS": shutil.which("ptxas"), "CUVET_NVJITLINK": theirs}
    inputs = [i.split(":") for i in inputs]
    ref, ours = ask(theirs, d, options, inputs, env), ask(OURS, d, options, inputs, env)
    if SHOW and (ref[1] or ours[1]):
        print("%s %s" % (" ".join(options), " ".join(":".join(i) for i in inputs)))
        print("\n".join(["  reference " + line for line in ref[1]] + ["  cuvet     " + line for line in ours[1]]))
    if want:
        good = want[0] in (None, flat(ref[0])) and flat(ours[0]) == want[1] and ours[2] is None
        return "" if good else "%r %r, wanted %r" % (flat(ref[0]), flat(ours[0]), want)
    if ref[0] != ours[0] or not ref[2] or not ours[2]:
        return "%r %r" % (ref[0], ours)
    apart = ask(OURS, d, options, inputs, dict(env, CUVET_ISOLATE="1", CUVET_WORKER=os.path.join(BUILD, "cuvet-worker")))
    if apart[0] != ours[0] or (apart[2] != ours[2] and "-lto" not in options):
        return "in a worker: %r %r" % (ours, apart)
    if "-lto" in options:  # it is the library's own work
        said = [[re.sub(r"[0-9.]+ ms", "", line) for line in who[1] if "note    :" not in line] for who in (ref, ours)]
        # The same call of the library does not always make the same bytes: seen with -Xnvvm=-opt=0 for sm_100.
        again = ref[2] != ours[2] and any(ask(theirs, d, options, inputs, env)[2] == ask(OURS, d, options, inputs, env)[2] for _ in range(8))
        return "" if (again or ref[2] == ours[2]) and said[0] == said[1] else "handed on: other bytes or words: %r %r" % (ref[1], ours[1])
    if "-verbose" in options and int(arch.rstrip("af")) < 100 and "2" not in [i[0] for i in inputs] and ref[1] != ours[1]:
        return "-verbose: %r %r" % (ref[1], ours[1])
    if [k for k, n in ref[3] if n != "0"] != [k for k, n in ours[3] if n != "0"]:
        return "logs: %r %r" % (ref[1], ours[1])
    if "-g" in options and int(arch.rstrip("af")) >= 100:
        return ""  # the reference makes other code of the capsules then (docs/link.md)
    if "-r" in options:
        return ""  # ours keeps the relocations that a later link needs (docs/link-partial.md)
    return "" if same(ref[2], ours[2], arch) else "another result"


def main():
    theirs = reference()
    lost = [t for t in ("nvcc", "ptxas", "ar") if not shutil.which(t)] + ([] if theirs else ["libnvJitLink.so.13"])
    if lost:
        print("SKIPPED: needs %s of CUDA 13.0" % ", ".join(lost))
        return 77
    with open(DRIVER, "rb") as f:
        if re.search(rb"__(asan|tsan|ubsan|msan)_", f.read()):
            print("SKIPPED: the reference's own leaks and crashes end a program with sanitizers, it was compared with the release build only")
            return 77
    good = bad = 0
    for arch in ARCHES:
        d = make(arch)
        for options, inputs, want in sequences(arch):
            what = compare(d, arch, theirs, options, inputs, want)
            good, bad = good + (not what), bad + bool(what)
            if what:
                print("FAILED: %s %s: %s" % (" ".join(options), " ".join(inputs), what[:600]))
    d = os.path.join(TMP, ARCHES[-1])
    for name, what in (("misuse", misuse(theirs, d + "/b.cubin")), ("mutants of IR", mutants(d, ARCHES[-1], theirs))):
        good, bad = good + (not what), bad + bool(what)
        if what:
            print("FAILED: %s: %s" % (name, what))
    print("%d passed, %d failed, 0 skipped" % (good, bad))
    return 1 if bad else 0


def mutants(d, arch, theirs):
    """Whatever the library makes of damaged IR, who called us goes on, with an answer."""
    with open(d + "/a.ltoir", "rb") as f:
        whole = f.read()
    dice, ends = random.Random(1), {}
    for n in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(4, len(data))] = dice.randrange(256)
        with open(d + "/bad.ltoir", "wb") as f:
            f.write(data[:dice.randint(64, len(data))] if n % 4 == 0 else data)
        words = [DRIVER, OURS, "13_0", "run", "-", "-arch=sm_" + arch, "-lto", "3:%s/bad.ltoir" % d, "1:%s/b.cubin" % d]
        p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300,
                           env=dict(os.environ, CUVET_NVJITLINK=theirs))
        said = p.stdout.decode("utf-8", "replace")
        answer = re.findall(r"^complete (\d+)$", said, re.M)
        if p.returncode != 0 or len(answer) != 1 or (answer != ["0"]) != ("E|" in said):
            return "mutant %d: exit %d: %s" % (n, p.returncode, said[-500:])
        how = "crashed" if "crashed" in said else "timeout" if "timeout" in said else "result " + answer[0]
        ends[how] = ends.get(how, 0) + 1
    print("mutants of IR: %s" % ", ".join("%d %s" % (v, k) for k, v in sorted(ends.items())))
    return ""


def misuse(theirs, cubin):
    """Where the reference answers at all, and not out of freed memory, the answers are equal."""
    out = []
    for library in (theirs, OURS):
        p = subprocess.run([DRIVER, library, "13_0", "misuse", cubin], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        out.append(p.stdout.decode().splitlines())
    differ = [(a, b) for a, b in zip(*out) if a != b and "signal" not in a and "destroyed" not in a]
    return "" if len(out[0]) == len(out[1]) == 40 and not differ else "%r" % (differ or out)


if __name__ == "__main__":
    sys.exit(main())
