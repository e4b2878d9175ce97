#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""build/compat/libnvJitLink.so.*, opened by a program that knows their documented functions alone. tests/differential/nvjitlink.py
asks the reference the same."""
import os
import re
import subprocess
import tarfile

from lib_cli import ROOT, SAMPLES, CUVET, Skip, cuvet, equal, golden, main, scratch, test, write

BUILD = os.path.dirname(os.path.abspath(CUVET))
DRIVER = os.path.join(BUILD, "tests", "jit_driver")
LIBRARY = {v: os.path.join(BUILD, "compat", "libnvJitLink.so.%d" % v) for v in (12, 13)}
SUCCESS, UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT, PTX_COMPILE, NVVM_COMPILE, INTERNAL = range(7)
UNRECOGNIZED_INPUT, NULL_INPUT, INCOMPATIBLE, WRONG_TYPE = 8, 10, 11, 12
UNRECOGNIZED_ARCH, UNSUPPORTED_ARCH, LTO_NOT_ENABLED = 16, 17, 18
CUBIN, PTX, LTOIR, FATBIN, OBJECT, ARCHIVE, INDEX, ANY = 1, 2, 3, 4, 5, 6, 7, 10


def driver(*args, version=13, release=None, env=None):
    if not os.path.exists(DRIVER):
        raise Skip("SKIPPED: %s is not built (make tests-build)" % DRIVER)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    p = subprocess.run([DRIVER, LIBRARY[version], release or "%d_0" % version, *map(str, args)], capture_output=True, check=False, timeout=300,
                       env=dict(clean, **(env or {})))
    assert p.returncode >= 0, "died by signal %d: %r" % (-p.returncode, args)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


class Link:
    """One run: what each call answered, and the logs."""

    def __init__(self, options, *inputs, **how):
        self.path = os.path.join(scratch(), "out")
        rc, self.text, err = driver("run", self.path, *options, *("%s:%s" % i for i in inputs), **how)
        equal((rc, err), (0, ""), self.text)
        words = [line.split() for line in self.text.splitlines() if "|" not in line]
        self.create = int(words[0][1])
        self.adds = [int(w[1]) for w in words if w[0] == "add"]
        self.complete = [int(w[1]) for w in words if w[0] == "complete"]
        self.cubin = [tuple(map(int, w[1:])) for w in words if w[0] == "cubin"]
        self.errors, self.infos = ("\n".join(re.findall(r"^  %s\| (.*)$" % k, self.text, re.M)) for k in "EI")
        assert "BEHIND" not in self.text and "DOES NOT END" not in self.text, self.text
        equal([w[1:] for w in words if w[0] == "destroy"], [["0", "no-handle"]], self.text)
        for name, log in (("E", self.errors), ("I", self.infos)):  # the size counts the NUL, and is 0 without a log
            size = [int(w[2]) for w in words if w[0] == name][0]
            equal(size == 0, log == "", self.text)

    def bytes(self):
        with open(self.path, "rb") as f:
            return f.read()


def sample(name):
    return os.path.join(SAMPLES, name)


def unpacked():
    """(folder with the files of the golden links, rows of their index)"""
    d = scratch()
    files, cases = golden()
    files.extractall(d, filter="data") if hasattr(tarfile, "data_filter") else files.extractall(d)
    return d, cases


@test
def golden_links_are_those_of_the_command():
    d, rows = unpacked()
    linked = refused = 0
    share = 1 if os.environ.get("CV_FULL") else 3
    for name, target, options, inputs, want in rows[::share]:
        if options not in ("-", "-g", "--kernels-used=kdead"):
            continue
        words = [] if options == "-" else [options.replace("--", "-")]
        run = Link(["-arch=" + target, *words], *((CUBIN, os.path.join(d, n)) for n in inputs.split()))
        equal(run.create, SUCCESS, run.text)
        if want.endswith(".cubin"):
            equal((set(run.adds), run.complete), ({SUCCESS}, [SUCCESS]), name + run.text)
            out = os.path.join(d, "out")
            equal(cuvet("link", "--arch", target, *([] if options == "-" else [options]), "-o", out, *inputs.split(), cwd=d).rc, 0, name)
            with open(out, "rb") as f:
                assert f.read() == run.bytes(), name
            linked += 1
        else:
            assert any(run.adds) or run.complete == [INTERNAL], name + run.text
            equal(run.cubin[0][0::2], (INTERNAL, INTERNAL), name)
            rules = re.findall(r"CV-[A-Z]+-\d+", want)
            assert all(r in run.errors for r in rules[:1]), (name, want, run.errors)
            refused += 1
    assert linked > 200 / share and refused > 10 / share, (linked, refused)


@test
def options_answer_as_measured():
    arch = "-arch=sm_90"
    good = """-maxrregcount=32 -maxrregcount=x -time -timex -verbose -lto -dlto -ltoir -O0 -O3 -g -lineinfo -ftz=1 -ftz= -prec-div=0 -prec-sqrt=x
        -fma=true -kernels-used=k -variables-used=v -optimize-unused-variables -Xptxas=-v -Xnvvm=-g -split-compile=4 -split-compile=
        -split-compile-extended=2 -jump-table-density=102 -no-cache -no-opt -r -rdc=true -report-arch""".split()
    bad = """-O1 -O4 -O -O=3 -O33 -bogus -v --verbose -arch -ftz -fma -maxrregcount -maxrregcount= -kernels-used= -variables-used= -Xptxas= -Xptxas
        -Xnvvm= -split-compile -split-compile=-1 -split-compile-extended= -split-compile-extended=-1 -g=1 -G -nox -lt -tim arch=sm_90 -Werror -w
        -preserve-relocs -device-stack-protector""".split()
    cases = [((arch, o), SUCCESS) for o in good] + [((arch, o), UNRECOGNIZED_OPTION) for o in bad]
    cases += [((), MISSING_ARCH), (("-lto",), MISSING_ARCH), ((arch, arch), SUCCESS), ((arch, "-arch=sm_80"), SUCCESS), (("",), UNRECOGNIZED_OPTION),
              (("-arch=sm_99",), UNRECOGNIZED_ARCH), (("-arch=compute_99",), UNRECOGNIZED_ARCH), (("-arch=sm_70",), UNSUPPORTED_ARCH),
              (("-arch=sm_20",), UNSUPPORTED_ARCH), (("-arch=compute_70",), UNSUPPORTED_ARCH), (("-arch=foo",), UNRECOGNIZED_OPTION),
              (("-arch=",), UNRECOGNIZED_OPTION), (("-arch=90",), UNRECOGNIZED_OPTION), (("-arch=sm_",), UNRECOGNIZED_OPTION),
              (("-arch=compute_90",), INCOMPATIBLE), (("-arch=lto_90",), INCOMPATIBLE), (("-arch=compute_90", "-lto"), INCOMPATIBLE),
              ((arch, "-ptx"), INCOMPATIBLE), (("-arch=compute_90", "-lto", "-ptx"), SUCCESS), ((arch, "-lto", "-ptx"), SUCCESS),
              (("-arch=sm_" + "9" * 40,), UNRECOGNIZED_ARCH), (("-bogus", arch), UNRECOGNIZED_OPTION)]
    cases += [(("-arch=sm_%s" % a,), SUCCESS) for a in "75 80 86 87 88 89 90 90a 100 100a 100f 103 110 120 121".split()]
    for options, want in cases:
        run = Link(["=" + o for o in options])
        equal(run.create, want, "%r: %s" % (options, run.text))
        equal(run.create == SUCCESS, run.errors == "" or bool(run.complete), repr(options))


@test
def the_last_architecture_counts():
    cubin = (CUBIN, sample("plain.sm_75.rdc.cubin"))
    equal(Link(["-arch=sm_90", "-arch=sm_75"], cubin).adds, [SUCCESS])
    run = Link(["-arch=sm_75", "-arch=sm_90"], cubin)
    equal(run.adds, [INVALID_INPUT])
    assert "CV-ADMIT" in run.errors, run.errors


@test
def inputs_have_to_be_what_they_are_said_to_be():
    kinds = {CUBIN: "plain.sm_90.rdc.cubin", FATBIN: "lto.fatbin", OBJECT: "host-plain.o", PTX: "plain.ptx", ARCHIVE: "long-names.a"}
    for kind, name in kinds.items():
        for said in (CUBIN, PTX, LTOIR, FATBIN, OBJECT, ARCHIVE, INDEX):
            add = Link(["-arch=sm_90"], (said, sample(name))).adds
            equal(add == [WRONG_TYPE], said != kind, "%d said of %s: %r" % (said, name, add))
    d = scratch()
    text = os.path.join(d, "text")
    with open(text, "w") as f:
        f.write("no device code at all, but a text\n" * 20)
    with open(os.path.join(d, "empty"), "w"):
        pass
    equal(Link(["-arch=sm_90"], (ANY, text)).adds, [UNRECOGNIZED_INPUT])
    equal(Link(["-arch=sm_90"], (CUBIN, text)).adds, [WRONG_TYPE])
    equal(Link(["-arch=sm_90"], (0, text)).adds, [WRONG_TYPE])
    equal(Link(["-arch=sm_90"], (8, text)).adds, [WRONG_TYPE])
    equal(Link(["-arch=sm_90"], (ANY, os.path.join(d, "empty"))).adds, [INVALID_INPUT])
    equal(Link(["-arch=sm_90"], ("f%d" % ANY, os.path.join(d, "empty")), ("f1", d), ("f1", d + "/none")).adds, [INVALID_INPUT] * 3)


@test
def by_name_and_by_bytes_are_one():
    one, two, name = Link(["-arch=sm_90"], (ANY, sample("plain.sm_90.rdc.cubin"))), None, sample("plain.sm_90.rdc.cubin")
    two = Link(["-arch=sm_90"], ("f%d" % ANY, name))
    equal((one.complete, two.complete), ([SUCCESS], [SUCCESS]), one.text + two.text)
    equal(one.bytes(), two.bytes())
    out = os.path.join(scratch(), "out")
    equal(cuvet("link", "--arch", "sm_90", "-o", out, name).rc, 0)
    with open(out, "rb") as f:
        equal(f.read(), one.bytes())


@test
def a_cut_input_is_refused_and_not_ignored():
    with open(sample("plain.sm_90.rdc.cubin"), "rb") as f:
        whole = f.read()
    path = os.path.join(scratch(), "cut")
    for size in (1, 16, 63, 64, 200, len(whole) // 2, len(whole) - 1):
        with open(path, "wb") as f:
            f.write(whole[:size])
        run = Link(["-arch=sm_90"], (CUBIN, path))
        assert run.adds[0] in (INVALID_INPUT, WRONG_TYPE), (size, run.text)
        equal(run.complete, [INTERNAL], str(size))
        equal(run.cubin[0][0], INTERNAL)


@test
def a_finished_cubin_is_refused():
    run = Link(["-arch=sm_90"], (CUBIN, sample("plain.sm_90.cubin")))
    equal((run.adds, run.complete), ([INVALID_INPUT], [INTERNAL]), run.text)
    assert "CV-ADMIT-003" in run.errors, run.errors


@test
def a_refused_input_leaves_the_link_as_it_was():
    good = sample("plain.sm_90.rdc.cubin")
    alone = Link(["-arch=sm_90"], (CUBIN, good))
    run = Link(["-arch=sm_90"], (CUBIN, sample("plain.sm_75.rdc.cubin")), (CUBIN, good), (PTX, good))
    equal((run.adds, run.complete), ([INVALID_INPUT, SUCCESS, WRONG_TYPE], [SUCCESS]), run.text)
    equal(run.bytes(), alone.bytes())


@test
def ptx_needs_the_compiler_that_the_environment_names():
    ptx = (PTX, sample("plain.ptx"))
    run = Link(["-arch=sm_90"], ptx)
    equal(run.adds, [PTX_COMPILE], run.text)
    assert "CUVET_PTXAS" in run.errors, run.errors
    fake = os.path.join(BUILD, "tests", "fake_compiler")
    run = Link(["-arch=sm_90"], ptx, env={"CUVET_PTXAS": fake})
    equal(run.adds, [PTX_COMPILE], run.text)
    assert "CV-INPUT-010" in run.errors, run.errors
    run = Link(["-arch=sm_90"], ptx, env={"CUVET_PTXAS": "/nonexistent/ptxas"})
    equal(run.adds, [PTX_COMPILE], run.text)
    assert "CV-COMPILE-008" in run.errors, run.errors
    # Its folder is made in TMPDIR.
    run = Link(["-arch=sm_90"], ptx, env={"CUVET_PTXAS": fake, "TMPDIR": "/nonexistent"})
    equal(run.adds, [PTX_COMPILE], run.text)
    assert "CV-COMPILE-008" in run.errors, run.errors
    run = Link(["-arch=sm_90"], ptx, env={"CUVET_PTXAS": "ptxas"})
    equal(run.create, INTERNAL, run.text)
    assert "absolute" in run.errors, run.errors


@test
def ir_is_refused_by_its_own_code():
    for name in ("lto.fatbin", "lto-raw.fatbin"):
        for options, code in (([], LTO_NOT_ENABLED), (["-lto"], NVVM_COMPILE)):
            run = Link(["-arch=sm_90", *options], (FATBIN, sample(name)))
            equal(run.adds, [code], run.text)
            assert "LTO-IR" in run.errors, run.errors
    run = Link(["-arch=sm_90", "-lto"], (CUBIN, sample("plain.sm_90.rdc.cubin")))
    equal((run.adds, run.complete), ([SUCCESS], [NVVM_COMPILE]), run.text)
    assert "LTO-IR" in run.errors, run.errors


FAKE = os.path.join(BUILD, "tests", "libfake_nvjitlink.so")
IR = [(FATBIN, sample("lto-raw.fatbin")), (CUBIN, sample("plain.sm_90.rdc.cubin"))]


def hand_over(*options, inputs=None, library=FAKE, **env):
    return Link(["-arch=sm_90", "-lto", *options], *(inputs or IR), env=dict(env, CUVET_NVJITLINK=library))


@test
def ir_is_handed_to_the_library_that_is_named():
    run = hand_over("-verbose", "-kernels-used=k")
    equal((run.adds, run.complete), ([SUCCESS] * 2, [SUCCESS]), run.text)
    with open(IR[1][1], "rb") as f:
        assert f.read() == run.bytes(), run.text
    size = [os.path.getsize(p) for _, p in IR]
    # Options and inputs as they were given, in their order.
    lines = ["-arch=sm_90", "-lto", "-verbose", "-kernels-used=k", "4 %d lto-raw.fatbin" % size[0], "1 %d plain.sm_90.rdc.cubin" % size[1]]
    assert "\n".join(lines) in run.infos, run.infos
    # PTX is for the library as well, with the NUL that it looks for.
    run = hand_over(inputs=IR + [(PTX, sample("plain.ptx")), IR[0]])
    equal((run.adds, run.complete), ([SUCCESS] * 4, [SUCCESS]), run.text)
    assert "2 %d plain.ptx\n" % os.path.getsize(sample("plain.ptx")) in run.infos, run.infos
    run = hand_over("-ptx", inputs=IR[:1])
    equal((run.complete, run.cubin[0][0::2]), ([SUCCESS], (INTERNAL, INTERNAL)), run.text)
    assert run.bytes().startswith(b".version"), run.text


@test
def what_cuvet_can_read_is_judged_before():
    with open(sample("plain.sm_90.rdc.cubin"), "rb") as f:
        bad = write(f.read()[:700], "cut.cubin", scratch())
    run = hand_over(inputs=IR + [(CUBIN, bad), (CUBIN, sample("plain.sm_75.rdc.cubin"))])
    equal((run.adds, run.complete), ([SUCCESS, SUCCESS, INVALID_INPUT, INVALID_INPUT], [SUCCESS]), run.text)
    assert "cut.cubin" not in run.infos and "sm_75" not in run.infos, run.infos
    # Without any IR there is nothing to compile, as in the reference.
    run = hand_over(inputs=IR[1:])
    equal((run.adds, run.complete), ([SUCCESS], [NVVM_COMPILE]), run.text)
    # Without -lto it is not wanted.
    run = Link(["-arch=sm_90"], *IR, env={"CUVET_NVJITLINK": FAKE})
    equal(run.adds, [LTO_NOT_ENABLED, SUCCESS], run.text)


@test
def whatever_the_library_does_is_an_answer():
    for thing, code, text in (("crash", NVVM_COMPILE, "crashed (11)"), ("exit", NVVM_COMPILE, "empty (0)"), ("nothing", NVVM_COMPILE, "empty (0)"),
                              ("huge", NVVM_COMPILE, "no memory"), ("no-complete", NVVM_COMPILE, "it is refused"), ("no-add", INVALID_INPUT, "it is refused"),
                              ("no-create", INVALID_INPUT, "result 3"), ("garbage", INTERNAL, "that can be trusted"), ("cut", INTERNAL, "CV-")):
        run = hand_over("-Xnvvm=" + thing)
        equal((run.complete, run.cubin[0][0::2]), ([code], (INTERNAL, INTERNAL)), thing + run.text)
        assert text in run.errors, (thing, run.errors)
    for thing in ("garbage", "no-nul"):
        run = hand_over("-ptx", "-Xnvvm=" + thing, inputs=IR[:1])
        equal(run.complete, [INTERNAL], run.text)
        assert "no PTX" in run.errors, run.errors
    for thing, text in (("outside", "nothing outside"), ("environment", "no environment"), ("loud", "\\x1b[31m loud \\xff")):
        run = hand_over("-Xnvvm=" + thing)
        equal(run.complete, [SUCCESS], run.text)
        assert text in run.infos and "\x1b" not in run.infos, run.infos
    # Code for another machine than the one that was asked for.
    d = scratch()
    equal(cuvet("unpack", "-d", d, IR[0][1]).rc, 0)
    ir = [os.path.join(at, f) for at, _, files in os.walk(d) for f in files if f.endswith(".ltoir")]
    run = hand_over("-arch=sm_121", inputs=[(LTOIR, ir[0]), (CUBIN, sample("plain.sm_120.rdc.cubin"))])
    equal((run.adds, run.complete), ([SUCCESS] * 2, [INTERNAL]), run.text)
    assert "that can be trusted" in run.errors, run.errors


@test
def a_library_that_is_none():
    for library, code, text in (("libnvJitLink.so.13", INTERNAL, "no absolute path"), ("", NVVM_COMPILE, "CUVET_NVJITLINK names no libnvJitLink")):
        run = hand_over(library=library)
        equal(run.create or run.adds[0], code, run.text)
        assert text in run.errors, run.errors
    for library, text in (("/nonexistent/libnvJitLink.so.13", "cannot be loaded"), (CUVET, "failed (4)")):
        run = hand_over(library=library)
        equal(run.complete, [NVVM_COMPILE], run.text)
        assert text in run.errors, run.errors
    run = hand_over(TMPDIR="/nonexistent")
    equal(run.complete, [NVVM_COMPILE], run.text)
    assert "not found" in run.errors, run.errors


@test
def a_stack_that_nobody_knows():
    """The reference warns in the info log, -verbose or not, and counts 0; of a relocatable result it says nothing."""
    d, rows = unpacked()
    seen = 0
    for name, target, options, inputs, _ in rows:
        if not name.startswith("recursion") or options != "-":
            continue
        files = [(CUBIN, os.path.join(d, n)) for n in inputs.split()]
        for words in ([], ["-verbose"]):
            for how in (Link, isolated):
                run = how(["-arch=" + target] + words, *files)
                equal((run.complete, run.errors), ([SUCCESS], ""), run.text)
                lines = [line for line in run.infos.splitlines() if line.startswith("warning")]
                assert lines, run.text
                for line in lines:
                    assert re.fullmatch(r"warning : Stack size for entry function '\w+' cannot be statically determined", line), line
                assert how is isolated or not words or ", 0 stack, " in run.infos, run.text
        equal(Link(["-arch=" + target, "-r"], *files).infos, "")
        seen += 1
    assert seen >= 4, seen


def isolated(options, *inputs, how="1", worker="cuvet-worker", **env):
    worker = os.path.join(BUILD, "tests" if worker == "worker_planted" else ".", worker)
    return Link(options, *inputs, env=dict(env, CUVET_ISOLATE=how, CUVET_WORKER=worker))


@test
def a_worker_links_as_the_process_does():
    d, rows = unpacked()
    rows = [r for r in rows if r[2] in ("-", "-g", "--kernels-used=kdead")]
    for n, (_, target, options, inputs, _) in enumerate(rows[::7] + [r for r in rows if not r[4].endswith(".cubin")]):
        words = ["-arch=" + target] + ([] if options == "-" else [options.replace("--", "-")])
        files = [(CUBIN, os.path.join(d, n)) for n in inputs.split()]
        here, there = Link(words, *files), isolated(words, *files, how=("1", "persistent")[n % 2])
        equal((there.create, there.adds, there.complete, there.cubin), (here.create, here.adds, here.complete, here.cubin), here.text + there.text)
        equal(there.errors, here.errors, there.text)
        if here.complete == [SUCCESS]:
            equal(there.bytes(), here.bytes(), inputs)
        equal(there.infos, here.infos, there.text)
    # Every type of input, and what is not one.
    for kind, name in ((FATBIN, "multi.fatbin"), (OBJECT, "host-two_a.o"), (ARCHIVE, "long-names.a"), (ANY, "host-two_b.o"), (CUBIN, "plain.sm_75.cubin"),
                       (FATBIN, "lto.fatbin"), (FATBIN, "none.fatbin"), (CUBIN, "plain.ptx"), (PTX, "plain.ptx"), (CUBIN, "multi.fatbin")):
        for arch in ("-arch=sm_75", "-arch=sm_120"):
            here, there = Link([arch], (kind, sample(name))), isolated([arch], (kind, sample(name)))
            equal((there.adds, there.complete), (here.adds, here.complete), name + here.text + there.text)
    equal(isolated(["-arch=sm_90"]).complete, [INTERNAL])
    run = isolated(["-arch=sm_90", "-verbose"], (CUBIN, sample("plain.sm_90.rdc.cubin")))
    assert "linked by a worker" in run.infos, run.infos


@test
def ptx_is_compiled_for_a_worker():
    fake = os.path.join(BUILD, "tests", "fake_compiler")
    for compiler, text in ((fake, "no device code|is not|CV-"), ("/nonexistent/ptxas", "not found")):
        run = isolated(["-arch=sm_90"], (PTX, sample("plain.ptx")), CUVET_PTXAS=compiler)
        equal(run.adds, [PTX_COMPILE], run.text)
        assert re.search(text, run.errors), run.errors


@test
def ir_is_handed_on_and_judged_by_a_worker():
    for thing, code in (("", SUCCESS), ("garbage", INTERNAL), ("crash", NVVM_COMPILE)):
        run = isolated(["-arch=sm_90", "-lto", "-Xnvvm=" + (thing or "x")], *IR, CUVET_NVJITLINK=FAKE)
        equal((run.adds, run.complete), ([SUCCESS] * 2, [code]), run.text)
    with open(sample("plain.sm_90.rdc.cubin"), "rb") as f:
        bad = write(f.read()[:700], "cut.cubin", scratch())
    run = isolated(["-arch=sm_90", "-lto"], *IR, (CUBIN, bad), CUVET_NVJITLINK=FAKE)
    equal((run.adds, run.complete), ([SUCCESS, SUCCESS, INVALID_INPUT], [SUCCESS]), run.text)
    assert "CV-ELF-" in run.errors, run.errors


@test
def an_input_that_takes_the_worker_over():
    if "sanitizer build" in cuvet("list", "--format=ndjson", sample("none.fatbin")).objects("verdict")[0]["sandbox"]:
        raise Skip("a sanitizer answers for a program that ends badly, and there is no cage around it")
    with open(sample("plain.sm_90.rdc.cubin"), "rb") as f:
        code = f.read()
    d = scratch()
    good = (CUBIN, write(code, "good.cubin", d))
    for how in ("1", "persistent"):
        for thing, text in (("crash", "worker lost: signal 11"), ("exit", "worker (lost|protocol)"), ("code", "worker lost"), ("nonsense", "worker (lost|protocol)"),
                            ("close", "worker protocol"), ("fork", "worker lost: signal 31"), ("write", "worker lost: signal 31")):
            if (how, thing) == ("1", "close"):
                continue  # the process that forked it has the channel, too: it is the deadline that ends it
            run = isolated(["-arch=sm_90"], (CUBIN, write(code, "plant:" + thing, d)), good, how=how, worker="worker_planted")
            equal((run.adds, run.complete), ([INTERNAL, SUCCESS], [SUCCESS]), thing + run.text)
            assert re.search(text, run.errors), (how, thing, run.errors)


@test
def isolation_that_cannot_be_had_is_said():
    for how, worker, text in (("yes", "cuvet-worker", "none of 0, 1, fork, persistent"), ("1", "no-such-worker", "No such file")):
        run = isolated(["-arch=sm_90"], how=how, worker=worker)
        equal(run.create, INTERNAL, run.text)
        assert "CUVET_ISOLATE" in run.errors and text in run.errors, run.errors
    equal(isolated(["-arch=sm_90"], (CUBIN, sample("plain.sm_90.rdc.cubin")), how="0", worker="no-such-worker").complete, [SUCCESS])


@test
def verbose_tells_what_kernels_use():
    run = Link(["-arch=sm_90", "-verbose", "-time"], (CUBIN, sample("plain.sm_90.rdc.cubin")))
    equal(run.complete, [SUCCESS], run.text)
    assert "Function properties for '" in run.infos and "bytes gmem" in run.infos and "milliseconds" in run.infos, run.infos
    equal(Link(["-arch=sm_90"], (CUBIN, sample("plain.sm_90.rdc.cubin"))).infos, "")


@test
def misuse_is_answered():
    rc, out, _ = driver("misuse", sample("plain.sm_90.rdc.cubin"))
    equal(rc, 0, out)
    got = {line[:40].strip(): line[40:].strip() for line in out.splitlines()}
    equal(len(got), 40, out)
    assert not any("signal" in v for v in got.values()), out
    for what, code in got.items():
        want = NULL_INPUT if re.search(r"no (handle|options|place)$|NULL$|no data|file: no name", what) else None
        want = INVALID_INPUT if re.search("destroyed|twice|memory of|made up|: nothing$|not there|a directory|without -lto", what) else want
        want = INTERNAL if re.search("before complete|after |complete: twice", what) else want
        want = WRONG_TYPE if "type" in what else want
        equal(int(code), want or SUCCESS, what)


@test
def threads_share_nothing_but_handles():
    files = [sample("plain.sm_90.rdc.cubin")]
    rc, out, err = driver("threads", 16, 40, "sm_90", *files)
    equal((rc, "0 bad" in out), (0, True), out + err)


@test
def every_release_has_its_names_and_nothing_else_shows():
    for version, releases in ((12, range(10)), (13, range(6))):
        for release in releases:
            rc, out, err = driver("run", "-", "-arch=sm_90", "1:" + sample("plain.sm_90.rdc.cubin"), version=version, release="%d_%d" % (version, release))
            equal((rc, "complete 0" in out), (0, True), out + err)
        p = subprocess.run(["nm", "-D", "--defined-only", LIBRARY[version]], capture_output=True, text=True, check=False)
        if p.returncode:
            raise Skip("SKIPPED: no nm")
        names = [line.split()[-1] for line in p.stdout.splitlines()]
        node = "libnvJitLink.so.%d" % version
        equal([n for n in names if n != node and not re.fullmatch(r"(__)?nvJitLink\w+@@" + re.escape(node), n)], [])
        equal(len([n for n in names if n.startswith("__")]), {12: 130, 13: 90}[version])
        soname = subprocess.run(["readelf", "-dW", LIBRARY[version]], capture_output=True, text=True, check=False).stdout
        assert "[%s]" % node in soname and "libcuvet" not in soname, soname


main()
