# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is given to fuzzers elsewhere: packed corpora, the folder of an engine, descriptions for its services. That a check of such a
folder finds what it is there for. Targets themselves are built by `make check-ossfuzz`."""
import argparse
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile

from lib_cli import ROOT, Skip, equal, main, read, scratch, test

sys.path.insert(0, os.path.join(ROOT, "tools"))
import corpora  # noqa: E402
import fuzz_layout  # noqa: E402
import fuzzing  # noqa: E402
import packed  # noqa: E402
import runtests  # noqa: E402

BUILD = os.environ.get("CV_BUILD") or os.path.join(ROOT, "build")


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(ROOT, "tools", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


check_ossfuzz = script("check_ossfuzz")
campaign = script("campaign")
regrow = script("corpus/regrow")


def refused(function, *args):
    try:
        function(*args)
    except (check_ossfuzz.Failure, ValueError, OSError, KeyError, zipfile.BadZipFile) as e:
        return str(e)
    raise AssertionError("%s took it" % function.__name__)


@test
def packs_hold_what_was_put_in():
    path = os.path.join(scratch(), "grown.pack")
    inputs = [b"", b"\0", b"CVPACK1\n", bytes(range(256)) * 300]
    packed.write(path, inputs)
    equal(packed.read(path), inputs, "inputs")
    equal(packed.read(path + ".none"), [], "no file")
    whole = read(path)
    for cut in (4, 9, 11, len(whole) - 1):
        with open(path, "wb") as f:
            f.write(whole[:cut])
        refused(packed.read, path)


@test
def the_replay_driver_reads_packs():
    driver = next((p for p in (os.path.join(BUILD, *d, "replay", "tlv") for d in ((), ("asan",))) if os.path.exists(p)), None)
    if not driver:
        raise Skip("no replay driver is built here")
    path = os.path.join(scratch(), "x.pack")
    inputs = [read(p) for p in fuzzing.seeds("tlv")]
    packed.write(path, inputs)
    p = subprocess.run([driver, path], capture_output=True, text=True, check=False)
    equal((p.returncode, p.stdout), (0, "tlv: %d inputs\n" % len(inputs)), "a pack")
    whole = read(path)
    for bad in (whole[:-1], whole[:10], b"CVPACK2\n" + whole[8:], whole + b"\xff\xff\xff\xff"):
        with open(path, "wb") as f:
            f.write(bad)
        p = subprocess.run([driver, path], capture_output=True, text=True, check=False)
        equal((p.returncode, p.stderr), (2, "replay: cannot read %s\n" % path), "a damaged pack")


@test
def rows_of_grown_corpora_are_those_of_the_packs():
    rows = regrow.read_table()
    packs = sorted(t for t in fuzzing.targets() if os.path.exists(fuzzing.pack_of(t)))
    equal(sorted(t for t, row in rows.items() if row[6] != "0"), packs, "targets with a pack")
    for target, row in rows.items():
        if row[6] == "0":  # seeds reach all that is known
            equal(row[3:5], [row[2]] * 2, target + ": edges")
            continue
        inputs = packed.read(fuzzing.pack_of(target))
        equal(row[6:8], [str(len(inputs)), str(sum(map(len, inputs)))], target + ": inputs and bytes of its pack")
        assert 0 < int(row[2]) < int(row[3]) <= int(row[4]), target + ": edges"
        assert os.path.getsize(fuzzing.pack_of(target)) <= packed.MOST, target + ": a pack is too large"
        equal(packed.size(inputs), os.path.getsize(fuzzing.pack_of(target)), target + ": the file")


@test
def a_pack_that_would_be_too_large_keeps_what_is_worth_most():
    each = {b"1": {"a", "b"}, b"22": {"a", "b", "c"}, b"4" * 40: set("defghijklmnopqrstuvwxyz"), b"5" * 400: {"d", "0"}, b"6": {"a"}}
    equal(regrow.cheapest(each, 1000), [b"4" * 40, b"22", b"5" * 400], "by edges for each byte; what adds none stays away")
    equal(regrow.cheapest(each, packed.size([b"22", b"4" * 40])), [b"4" * 40, b"22"], "what does not fit")
    equal(regrow.cheapest(each, packed.size([b"1"])), [b"1"], "a smaller one fits")
    equal(regrow.cheapest(each, 1000, set("abcdefghijklmnopqrstuvwxyz")), [b"5" * 400], "beside the seeds")


@test
def a_campaign_undoes_a_merge_that_was_killed_between_its_renames():
    def held(*parts):
        where = os.path.join(state, "tlv", *parts)
        return sorted(os.listdir(where)) if os.path.isdir(where) else None

    def leave(now, old):
        shutil.rmtree(os.path.join(state, "tlv"), ignore_errors=True)
        for name, files in (("libfuzzer", now), ("libfuzzer.old", old)):
            if files is not None:
                fuzzing.put(os.path.join(state, "tlv", name), files)

    found, merged = [b"one", b"two"], [b"one"]
    names = [sorted(map(fuzzing.name_of, datas)) for datas in (found, merged)]
    state = scratch()
    for now, old, want in ((None, found, names[0]), ([], found, names[0]), (merged, found, names[1]), (found, None, names[0])):
        leave(now, old)
        campaign.State(state)
        equal(held("libfuzzer"), want, "a new campaign, %s and %s" % (now, old))
    # A merge of this process: it begins with it, whatever comes of the rest.
    begun = campaign.State(state)
    leave(None, found)
    build = scratch()
    program(build)
    equal(campaign.merge(argparse.Namespace(build=build), begun, "tlv", quiet=True), None, "no merge")
    equal((held("libfuzzer"), held("libfuzzer.old"), begun.broken), (names[0], None, ["tlv/merge"]), "a merge that fails")


def program(build):
    """A target that runs nothing."""
    path = fuzzing.libfuzzer(build, "tlv")[0]
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexit 9\n")
    os.chmod(path, 0o755)


@test
def one_target_is_asked_with_the_planted_one():
    equal(check_ossfuzz.wanted(argparse.Namespace(targets=["tlv"])), ["tlv", "planted"], "of one")
    equal(check_ossfuzz.wanted(argparse.Namespace(targets=None)), fuzzing.targets(), "of all")
    out, base = folder()
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "check_ossfuzz"), "--layout", out, "--no-runs", "--targets", "tlv"],
                       capture_output=True, text=True, check=False)
    if p.returncode == 77:
        raise Skip("check_ossfuzz: " + p.stdout[-200:])
    assert "not built: planted" in p.stdout, p.stdout


@test
def a_replay_reads_what_engines_begin_with():
    replay = scratch()
    for target in ("layout", "scan", "tlv"):
        with open(os.path.join(replay, target), "wb"):
            pass
    jobs = list(runtests.replay_jobs(argparse.Namespace(replay=replay)))
    for target in ("layout", "scan", "tlv"):
        mine = [j for j in jobs if re.match(r"replay/%s\b" % target, j.name)]
        files = [path for job in mine for path in job.argv[1:]]
        equal(sorted(files), sorted(corpora.files(target)), target)
        assert set(fuzzing.seeds(target)) <= set(files), target
    assert [f for f in corpora.files("layout") if "/link/seed/" in f], "seeds of a link are seeds of its stages"


@test
def flags_of_a_compiler_alone_are_enough():
    script_of = read(os.path.join(ROOT, "oss-fuzz", "build.sh")).decode()
    kept = re.search(r'^: "\$\{CXXFLAGS:=.*\nexport CXXFLAGS\n', script_of, re.M)[0]
    for env, want in (({"CFLAGS": "-a -b"}, "-a -b"), ({"CFLAGS": "-a", "CXXFLAGS": "-c"}, "-c"), ({}, "")):
        p = subprocess.run(["sh", "-euc", kept + "exec printenv CXXFLAGS"], env=dict(env, PATH=os.environ["PATH"]), capture_output=True, text=True, check=True)
        equal(p.stdout, want + "\n", "CXXFLAGS")
    command = re.search(r"`(env [^`]* sh oss-fuzz/build\.sh)`", read(os.path.join(ROOT, "fuzz", "README.md")).decode())[1]
    assert "$CFLAGS" not in command, "the shell expands it before env sets it"


def folder(target="tlv"):
    source, out = scratch(), scratch()
    with open(os.path.join(source, target), "wb") as f:
        f.write(b"no program")
    fuzz_layout.put(source, out, target)
    return out, os.path.join(out, fuzzing.PREFIX + target)


@test
def what_an_engine_gets():
    out, base = folder()
    again, _ = folder()
    names = sorted(os.listdir(out))
    equal(names, ["cuvet_tlv" + end for end in ("", ".dict", ".options", "_seed_corpus.zip")], "files")
    equal([read(os.path.join(out, n)) for n in names], [read(os.path.join(again, n)) for n in names], "the same bytes each time")
    assert os.access(base, os.X_OK)
    assert check_ossfuzz.check_seeds(base, "tlv") >= len({read(p) for p in fuzzing.seeds("tlv")})
    assert check_ossfuzz.check_dictionary(base + ".dict")
    flags = check_ossfuzz.check_options(base + ".options", "tlv")
    assert "-dict=%s.dict" % base in flags and "-max_len=16384" in flags, flags


@test
def every_target_has_seeds_and_a_dictionary():
    """But for those whose inputs are choices, of a generator or of files, not bytes of a format."""
    choices = fuzzing.listed("FUZZ_MODELS") + fuzzing.listed("FUZZ_CASES")
    for target in fuzzing.targets():
        assert fuzzing.inputs(target), target
        dictionary = fuzzing.dictionary(target)
        assert check_ossfuzz.check_dictionary(dictionary) if dictionary else target in choices, target


@test
def a_layout_that_is_not_right_is_complained_of():
    _, base = folder()
    with zipfile.ZipFile(base + "_seed_corpus.zip", "a") as z:
        z.writestr("more", b"not committed")
    assert "the zip holds" in refused(check_ossfuzz.check_seeds, base, "tlv")
    with zipfile.ZipFile(base + "_seed_corpus.zip", "w") as z:
        z.writestr("in/a/folder", b"x")
    assert "not flat" in refused(check_ossfuzz.check_seeds, base, "tlv")
    for line in ('"no end', 'x="\\q"', '"\\x1"', "word", '""'):
        with open(base + ".dict", "w", encoding="ascii") as f:
            f.write("# a remark\n" + line + "\n")
        assert "no entry of a dictionary" in refused(check_ossfuzz.check_dictionary, base + ".dict"), line
    for text in ("[libfuzzer]\nmax_len = many\n", "[libfuzzer]\ndict = other.dict\n", "[asan]\nx = 1\n", "[libfuzzer]\nmax_len = 1\n"):
        with open(base + ".options", "w", encoding="ascii") as f:
            f.write(text)
        refused(check_ossfuzz.check_options, base + ".options", "tlv")
    refused(check_ossfuzz.check_libraries, base)


@test
def libraries_that_runners_lack():
    allowed = check_ossfuzz.ALLOWED
    for name in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "linux-vdso.so.1", "libgcc_s.so.1"):
        assert allowed.match(name), name
    for name in ("libjansson.so.4", "libzstd.so.1", "liblz4.so.1", "libnettle.so.8", "libcuvet.so.0", "libcrypto.so.3"):
        assert not allowed.match(name), name


@test
def workflows_may_do_little_and_name_versions():
    where = os.path.join(ROOT, ".github", "workflows")
    names = sorted(os.listdir(where))
    equal([n for n in names if n.startswith("cflite_")], ["cflite_%s.yml" % n for n in ("batch", "build", "coverage", "pr", "prune")], "workflows")
    for name in names:
        text = read(os.path.join(where, name)).decode()
        assert re.search(r"^permissions:\n(?:  \w[\w-]*: (?:read|none)\n)+", text, re.M), name + " may write, or all"
        assert "write" not in re.sub(r"#.*", "", text), name
        for action in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w./-]+@v\d[\w.]*", action), action
        assert "timeout-minutes:" in text, name
    modes = "".join(re.findall(r"mode: \S+", "".join(read(os.path.join(where, n)).decode() for n in names)))
    equal(sorted(re.findall(r"mode: ([\w-]+?)(?=mode|$)", modes)), ["batch", "code-change", "coverage", "prune"], "modes")


@test
def images_fetch_by_hash_and_run_our_script():
    fetched = read(os.path.join(ROOT, "oss-fuzz", "dependencies.sh")).decode()
    rows = re.findall(r"^get (\w+) ([0-9a-f]{64}) https://\S+$", fetched, re.M)
    equal([r[0] for r in rows], ["lz4", "zstd", "jansson", "nettle"], "libraries")
    for name in (".clusterfuzzlite/build.sh", "oss-fuzz/build.sh", "oss-fuzz/dependencies.sh"):
        assert os.access(os.path.join(ROOT, name), os.X_OK), name
        subprocess.run(["sh", "-n", os.path.join(ROOT, name)], check=True)
    assert "oss-fuzz/build.sh" in read(os.path.join(ROOT, ".clusterfuzzlite", "build.sh")).decode()


if __name__ == "__main__":
    main()
