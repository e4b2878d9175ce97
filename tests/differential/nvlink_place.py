#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet in the place of nvlink, under nvcc and CMake as they are.

A shadow toolkit (cuvet toolkit) gets a bin/nvlink that runs both linkers with the very command line that it was given,
keeps what both wrote and said, and goes on with what cuvet wrote. Then programs are built in an empty folder with
nothing of this project but that toolkit: every kind of build that nvcc has an option for, and a CMake project. Of each
nvlink command line: exit codes, both streams and the file for --register-link-binaries are the same, and the cubins are
the same bytes but for the note that names the tool. Builds that cuvet refuses on purpose are named with what it says.
Needs nvcc of CUDA 13.0 and a host compiler; without them the test is skipped, loudly.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nvcc_end_to_end as e2e  # noqa: E402

CUVET = os.path.realpath(os.environ["CUVET"])
TMP = os.environ["CV_TMP"]
FULL = bool(os.environ.get("CV_FULL"))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvlink_place")

BOTH = """#!%s
import json, os, shutil, subprocess, sys
args, log = sys.argv[1:], %r
def named(*names):
    found = None
    for i, a in enumerate(args):
        for n in names:
            if a == n and i + 1 < len(args):
                found = args[i + 1]
            elif a.startswith(n + "="):
                found = a[len(n) + 1:]
    return found
paths = [named("-o", "--output-file"), named("--register-link-binaries")]
number = len(os.listdir(log))
told = {"args": args}
for who, tool in (("theirs", %r), ("ours", %r)):
    for p in paths:
        if p and os.path.exists(p):
            os.remove(p)
    r = subprocess.run([tool] + args, capture_output=True, text=True)
    kept = []
    for i, p in enumerate(paths):
        keep = os.path.join(log, "%%d.%%s.%%d" %% (number, who, i))
        kept.append(keep if p and os.path.exists(p) else None)
        if kept[-1]:
            shutil.copy(p, keep)
    told[who] = {"rc": r.returncode, "out": r.stdout, "err": r.stderr, "files": kept}
with open(os.path.join(log, "%%d.json" %% number), "w") as f:
    json.dump(told, f)
sys.stdout.write(r.stdout)
sys.stderr.write(r.stderr)
sys.exit(r.returncode)
"""


class Place:
    """A toolkit with both linkers in it."""

    def __init__(self, name, toolkit=None):
        self.root = os.path.join(TMP, name)
        self.log = os.path.join(TMP, name + ".log")
        os.mkdir(self.log)
        r = subprocess.run([CUVET, "toolkit", self.root] + (["--from", toolkit] if toolkit else []),
                           capture_output=True, text=True, check=False)
        if r.returncode != 0:
            raise RuntimeError("cuvet toolkit: " + r.stderr)
        self.own = os.path.join(self.root, "bin", "nvlink")
        link = os.path.join(TMP, name + ".own", "nvlink")
        os.mkdir(os.path.dirname(link))
        os.symlink(CUVET, link)
        real = os.path.join(os.path.realpath(os.path.join(self.root, "bin", "nvcc")), "..", "nvlink")
        os.remove(self.own)
        with open(self.own, "w", encoding="utf-8") as f:
            f.write(BOTH % (sys.executable, self.log, os.path.normpath(real), link))
        os.chmod(self.own, os.stat(self.own).st_mode | stat.S_IXUSR)

    def env(self):
        path = os.pathsep.join((os.path.join(self.root, "bin"), os.environ["PATH"]))
        return dict(os.environ, PATH=path, CUDACXX=os.path.join(self.root, "bin", "nvcc"), TMPDIR=TMP)

    def take(self):
        """What was linked since the last time."""
        out = []
        for name in sorted(os.listdir(self.log), key=lambda n: int(n.split(".")[0])):
            if name.endswith(".json"):
                with open(os.path.join(self.log, name), encoding="utf-8") as f:
                    out.append(json.load(f))
        return out

    def clear(self):
        shutil.rmtree(self.log)
        os.mkdir(self.log)


def after(args):
    """The number of the machine."""
    return int(re.search(r"-arch[ =](?:sm|compute)_([0-9]+)", " ".join(args)).group(1))


def plain(sections):
    """From sm_100 on: names and sizes of code, bytes of data. Order, capsules and code that nvlink makes again differ."""
    kept = [s for s in sections if s[0].startswith((".text.", ".nv.constant", ".nv.global", ".nv.shared"))]
    return sorted((s[0], s[1], s[3], s[-1] if not s[0].startswith(".text.") else b"") for s in kept)


def compare(told):
    """What the two linkers do not agree in, for one command line."""
    a, b = told["theirs"], told["ours"]
    # Definitions that clash are told in the order of the inputs' symbols here.
    errors = [x["err"] if x["rc"] == 0 else sorted(x["err"].splitlines()) for x in (a, b)]
    bad = ["%s %r, nvlink has %r" % (k, b[k], a[k]) for k in ("rc", "out") if a[k] != b[k]]
    bad += [] if errors[0] == errors[1] else ["standard error %r, nvlink has %r" % (b["err"][:600], a["err"][:600])]
    if bad:
        return bad
    for i, what in enumerate(("cubin", "register file")):
        theirs, ours = a["files"][i], b["files"][i]
        if (theirs is None) != (ours is None):
            # nvlink leaves a register file behind when the link fails
            if not (a["rc"] != 0 and what == "register file"):
                bad.append("%s: %s wrote none" % (what, "nvlink" if theirs is None else "cuvet"))
        elif theirs and what == "cubin":
            ref, our = e2e.sections(theirs), e2e.sections(ours)
            if after(told["args"]) >= 100:
                ref, our = plain(ref), plain(our)
            bad += [] if [s[0] for s in ref] == [s[0] for s in our] else ["other sections"]
            bad += ["section %s differs" % r[0] for r, o in zip(ref, our) if r != o]
        elif theirs:
            with open(theirs, "rb") as x, open(ours, "rb") as y:
                bad += [] if x.read() == y.read() else ["register files differ"]
    return bad


def sh(place, where, script):
    return subprocess.run(["sh", "-ec", script], cwd=where, capture_output=True, text=True, timeout=1200, check=False,
                          env=place.env())


# Name, commands in a folder with the sources, text that the build ends with when it is refused ("" when it is not).
QUICK = [
    ("hello, without -rdc", "nvcc -arch=sm_80 hello.cu -o p && test -x p", ""),
    ("-rdc objects, plain ones and both in archives",
     "nvcc -arch=sm_80 -rdc=true -c lib.cu use.cu && nvcc -arch=sm_80 -c plain.cu && gcc -c host.c -o host.o && "
     "ar rc libmix.a plain.o lib.o host.o && nvcc -arch=sm_80 use.o lib.o plain.o main.cu host.o -o p && "
     "nvcc -arch=sm_80 use.o main.cu -L. -lmix -lm -lstdc++ -o q", ""),
]
BUILDS = QUICK + [
    ("-rdc, two files", "nvcc -arch=sm_80 -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("several -gencode", "nvcc -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 "
     "-gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90 -rdc=true lib.cu use.cu main.cu "
     "plain.cu -o p", ""),
    ("without -rdc, several -gencode", "nvcc -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 "
     "hello.cu -o p", ""),
    ("code for other machines only", "nvcc -arch=sm_90 -c plain.cu && nvcc -arch=sm_90 -rdc=true -c lib.cu && "
     "nvcc -arch=sm_80 main2.cu plain.o lib.o -o p", ""),
    ("-G", "nvcc -arch=sm_80 -G -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("-G, sm_90", "nvcc -arch=sm_90 -g -G -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("-lineinfo", "nvcc -arch=sm_80 -lineinfo -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("-g -lineinfo", "nvcc -arch=sm_86 -g -lineinfo -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("without -rdc, sm_100 and sm_120", "nvcc -gencode arch=compute_100,code=sm_100 -gencode arch=compute_120,code=sm_120 hello.cu -o p", ""),
    ("sm_100", "nvcc -arch=sm_100 -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("sm_120", "nvcc -arch=sm_120 -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("-dlink", "nvcc -arch=sm_80 -rdc=true -c lib.cu use.cu && nvcc -arch=sm_80 -dlink lib.o use.o -o d.o && "
     "nvcc -arch=sm_80 -c main.cu plain.cu && g++ main.o plain.o lib.o use.o d.o -o p -L$(dirname $(command -v nvcc))/../lib64 "
     "-lcudart_static -lcudadevrt -ldl -lrt -lpthread", ""),
    ("-dlink, then again with more", "nvcc -arch=sm_80 -rdc=true -c lib.cu use.cu && "
     "nvcc -arch=sm_80 -dlink lib.o use.o -o d.o && nvcc -arch=sm_80 -rdc=true main.cu plain.cu lib.o use.o d.o -o p", ""),
    ("-dlink -cubin and -fatbin", "nvcc -arch=sm_80 -rdc=true -c lib.cu use.cu && "
     "nvcc -arch=sm_80 -dlink -cubin lib.o use.o -o d.cubin && nvcc -arch=sm_80 -dlink -fatbin lib.o use.o -o d.fatbin", ""),
    ("-cubin, -fatbin, -ptx of one file", "nvcc -arch=sm_80 -cubin hello.cu && nvcc -arch=sm_80 -fatbin hello.cu && "
     "nvcc -arch=sm_80 -ptx hello.cu", ""),
    ("cubins and fatbins linked", "nvcc -arch=sm_80 -rdc=true -cubin lib.cu use.cu && nvcc -arch=sm_80 -rdc=true -fatbin lib.cu use.cu "
     "&& nvcc -arch=sm_80 -dlink -cubin lib.cubin use.cubin -o d.cubin && nvcc -arch=sm_80 -dlink -fatbin lib.fatbin use.fatbin -o d.fatbin", ""),
    ("-shared", "nvcc -arch=sm_80 -rdc=true -shared -Xcompiler -fPIC lib.cu use.cu plain.cu -o libp.so && "
     "nvcc -arch=sm_80 main.cu -L. -lp -o p", ""),
    ("-lib", "nvcc -arch=sm_80 -rdc=true -lib lib.cu use.cu -o libp.a && nvcc -arch=sm_80 -rdc=true main.cu plain.cu -L. -lp -o p", ""),
    ("dynamic parallelism", "nvcc -arch=sm_80 -rdc=true parallel.cu -lcudadevrt -o p", ""),
    ("dynamic parallelism, sm_90", "nvcc -arch=sm_90 -rdc=true parallel.cu -o p", ""),
    ("cooperative groups", "nvcc -arch=sm_80 -rdc=true groups.cu -o p", ""),
    ("-arch=native", "nvcc -arch=native hello.cu -o p", ""),
    ("-arch=all-major", "nvcc -arch=all-major -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("PTX alone", "nvcc -arch=compute_80 -code=compute_80 hello.cu -o p && "
     "nvcc -arch=compute_80 -code=compute_80 -rdc=true lib.cu use.cu main.cu plain.cu -lcudadevrt -o q", ""),
    ("host libraries", "nvcc -arch=sm_80 -rdc=true lib.cu use.cu main.cu plain.cu -lm -lpthread -ldl -lrt -lcuda -lstdc++ -lgomp -o p "
     "-Xcompiler -fopenmp", ""),
    ("-Xnvlink", "nvcc -arch=sm_80 -rdc=true lib.cu use.cu main.cu plain.cu -Xnvlink -v,--suppress-stack-size-warning "
     "-o p", ""),
    ("kernels and variables by name", "nvcc -arch=sm_80 -rdc=true lib.cu use.cu main.cu plain.cu -Xnvlink --kernels-used=_Z1k "
     "-Xnvlink --variables-used=x -o p", ""),
    ("-res-usage -time", "nvcc -arch=sm_80 -rdc=true lib.cu use.cu main.cu plain.cu -res-usage -time t.csv -o p", ""),
    ("-Werror and -w", "nvcc -arch=sm_80 -rdc=true -Werror all-warnings lib.cu use.cu main.cu plain.cu -o p && "
     "nvcc -arch=sm_80 -rdc=true -w lib.cu use.cu main.cu plain.cu -o q", ""),
    ("options files", "echo '-arch=sm_80 -rdc=true -Xnvlink --report-arch' > o && nvcc -optf o lib.cu use.cu main.cu plain.cu -o p", ""),
    ("-maxrregcount -use_fast_math -O0", "nvcc -arch=sm_80 -maxrregcount 32 -use_fast_math -Xptxas -O0 -rdc=true lib.cu use.cu main.cu "
     "plain.cu -o p", ""),
    ("-ewp", "nvcc -arch=sm_80 -ewp hello.cu -o p", "[CV-ADMIT-004]"),
    ("-device-stack-protector", "nvcc -arch=sm_80 -device-stack-protector=true -rdc=true lib.cu use.cu main.cu plain.cu -o p", ""),
    ("undefined name", "nvcc -arch=sm_80 -rdc=true use.cu main.cu plain.cu -o p", "nvlink error   : Undefined reference to "),
    ("defined twice", "nvcc -arch=sm_80 -rdc=true -c lib.cu -o a.o && nvcc -arch=sm_80 -rdc=true -c lib.cu -o b.o && "
     "nvcc -arch=sm_80 -rdc=true use.cu main.cu plain.cu a.o b.o -o p", "nvlink fatal   : merge_elf failed"),
    ("-dlto", "nvcc -arch=sm_80 -dlto -rdc=true lib.cu use.cu main.cu plain.cu -o p", "--dlto is not supported"),
    ("objects for -dlto without it", "nvcc -gencode arch=compute_80,code=lto_80 -rdc=true -c lib.cu -o l.o && "
     "nvcc -arch=sm_80 -rdc=true use.cu main.cu plain.cu l.o -o p", "IR for link-time optimization needs a compiler"),
    ("PTX that has to be compiled", "nvcc -arch=compute_80 -code=compute_80 -rdc=true -c lib.cu -o l.o && "
     "nvcc -arch=sm_80 -rdc=true use.cu main.cu plain.cu l.o -o p", "CUVET_COMPILER="),
]
# Builds in which nvcc starts no linker of device code. In any other one none would say that nvcc goes past the shadow.
NO_LINKS = ("-cubin, -fatbin, -ptx of one file",)
ENDS = ("--dlto is", "IR for link", "CUVET_COMPILER=", "[CV-ADMIT-004]")  # cuvet's own refusals: nvlink links


def check(place, where, name, script, refused):
    """@return what is wrong, and how many links there were."""
    place.clear()
    r = sh(place, where, script)
    told = place.take()
    past = [] if told or name in NO_LINKS else ["nvcc never started the shadow's nvlink"]
    if refused:
        own = refused.startswith(ENDS)
        bad = past + ([] if r.returncode != 0 and refused in r.stderr else ["%r was expected: %s" % (refused, r.stderr[-800:])])
        return bad + ([] if own else [x for t in told for x in compare(t)]), len(told)
    bad = past + ([] if r.returncode == 0 else ["exit %d: %s" % (r.returncode, r.stderr[-1500:])])
    for t in told:
        bad += ["%s (nvlink %s)" % (x, " ".join(t["args"])) for x in compare(t)]
    return bad, len(told)


def folder(name):
    where = os.path.join(TMP, name)
    shutil.copytree(DATA, where)
    return where


def cmake(place, archs):
    where = folder("cmake-" + archs.replace(";", "-"))
    script = ("cmake -S project -B b -DCMAKE_CUDA_ARCHITECTURES='%s' -DCMAKE_BUILD_TYPE=Release && "
              "cmake --build b -j2" % archs)
    return check(place, where, "cmake", script, "")


def main():
    why = e2e.missing()
    if why:
        print("SKIPPED: %s; nothing was built with cuvet in the place of nvlink" % why)
        return 77
    place = Place("toolkit")
    failed = links = count = 0
    for count, (name, script, refused) in enumerate(BUILDS if FULL else QUICK, 1):
        bad, n = check(place, folder("build%d" % count), name, script, refused)
        links += n
        failed += bool(bad)
        print("%s: %d links, %s" % (name, n, "; ".join(bad) if bad else "refused as said" if refused else "as nvlink"))
    if FULL and shutil.which("cmake"):
        for archs in ("80", "80;90"):
            bad, n = cmake(place, archs)
            count, links = count + 1, links + n
            failed += bool(bad)
            print("CMake, %s: %d links, %s" % (archs, n, "; ".join(bad) if bad else "as nvlink"))
    elif FULL:
        print("SKIPPED: there is no cmake on PATH; no CMake project was built")
    print("%d passed, %d failed, 0 skipped; %d links" % (count - failed, failed, links))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
