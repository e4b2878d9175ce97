# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exit codes 0 to 4: of one file, of several, and of command lines that make no sense."""
import os
import signal
import subprocess

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, LIMIT, USAGE, bad_container, cuvet, equal, main, read,
                     sample, scratch, test, write)


@test
def clean_file():
    for name in ("default.fatbin", "plain.sm_90a.cubin", "plain.ptx", "host-plain.so", "long-names.a"):
        r = cuvet("scan", sample(name))
        equal((r.rc, r.err), (CLEAN, ""), name)
        assert r.out.startswith(sample(name) + ": clean; "), r.out


@test
def notes_are_no_findings():
    r = cuvet("scan", "--format=ndjson", sample("lto.fatbin"))
    equal(r.rc, CLEAN, "exit")
    equal({o["severity"] for o in r.objects("finding")}, {"note"}, "severities")


@test
def findings():
    path = write(bad_container())
    r = cuvet("scan", path)
    equal(r.rc, FINDINGS, "exit")
    assert "CV-FATBIN-015" in r.out and ": malformed; " in r.out, r.out


@test
def the_highest_wins():
    bad, good = write(bad_container()), sample("default.fatbin")
    equal(cuvet("scan", good, bad).rc, FINDINGS, "finding after clean")
    equal(cuvet("scan", bad, good).rc, FINDINGS, "finding before clean")
    equal(cuvet("scan", bad, "/nonexistent", good).rc, IO, "missing file")
    equal(cuvet("scan", "--limit", "containers=1", "/nonexistent", sample("gaps.fatbin")).rc, LIMIT, "limit")


@test
def missing_file_gets_a_verdict():
    r = cuvet("scan", "no/such/file")
    equal(r.rc, IO, "exit")
    assert r.out.startswith("no/such/file: error: No such file"), r.out
    assert r.err.startswith("cuvet: no/such/file: No such file"), r.err
    v, = cuvet("scan", "--format=ndjson", "no/such/file").objects()
    equal((v["verdict"], v["exit"], v["members"]), ("error", IO, 0), "ndjson")


@test
def unreadable_things():
    d = scratch()
    equal(cuvet("scan", d).rc, IO, "directory without -r")
    equal(cuvet("scan", "/dev/null").rc, IO, "device")
    equal(cuvet("scan", "").rc, IO, "empty name")
    equal(cuvet("scan", write(b"x") + "/y").rc, IO, "file as directory")


@test
def empty_and_unknown_files():
    for data in (b"", b"\0", b"hello, world\n", bytes(range(256)) * 64):
        r = cuvet("scan", "--format=ndjson", write(data))
        equal(r.rc, CLEAN, "exit of %d bytes" % len(data))
        equal(r.objects("verdict")[0]["members"], 0, "members")


@test
def usage():
    good = sample("default.fatbin")
    for args in ([], ["scan"], ["nonsense"], ["scan", "--nonsense",
                                              good], ["scan", "--format",
                                                      good], ["scan", "--format=xml",
                                                              good], ["scan", "--format=",
                                                                      good], ["scan", "--jobs=0", good],
                 ["scan", "-j", "257", good], ["scan", "-jx",
                                               good], ["scan", "--limit", "nonsense=1",
                                                       good], ["scan", "--limit", "member",
                                                               good], ["scan", "--limit", "member=1T",
                                                                       good], ["scan", "--limit", "=1", good],
                 ["scan", "--limit", "member=-1",
                  good], ["scan", "--limit", "member=99999999999999999999",
                          good], ["scan", "--limits=huge",
                                  good], ["scan", "--notes=yes",
                                          good], ["scan", "-Z", good], ["list", "--notes",
                                                                        good], ["map"], ["map", good, good],
                 ["unpack",
                  good], ["unpack", "-d",
                          scratch()], ["rules",
                                       "CV-NONE-001"], ["help", "nonsense"], ["list", "--format=sarif",
                                                                              good]):
        r = cuvet(*args)
        equal((r.rc, r.out), (USAGE, ""), " ".join(args))
        assert r.err, "no complaint for " + " ".join(args)


@test
def help_and_version():
    for args in (["--help"], ["-h"], ["help"], ["--version"], ["-V"], ["scan", "--version"],
                 ["scan", "--help"], ["help", "unpack"], ["map", "-h"], ["scan", "--list-limits"]):
        r = cuvet(*args)
        equal((r.rc, r.err), (CLEAN, ""), " ".join(args))
        assert r.out, "silence for " + " ".join(args)
    text = cuvet("--version").out
    assert text.startswith("cuvet ") and "\nsandbox: " in text and "zstd" in text, text
    for command in ("scan", "list", "unpack", "dump", "map", "rules", "help"):
        assert "\n  %s" % command in cuvet("help").out, command


@test
def closed_and_full_standard_output():
    many = [sample("multi.fatbin")] * 200
    for args in (["scan",
                  "--format=ndjson"], ["scan",
                                       "--format=sarif"], ["scan"], ["list"], ["list", "--format=ndjson"]):
        with open("/dev/full", "wb") as full:
            r = cuvet(*args, *many, stdout=full)
        equal(r.rc, IO, "full disk: " + " ".join(args))
        assert "standard output" in r.err, r.err
    for args in (["rules"], ["help"], ["--version"], ["scan", "--help"], ["scan", "--list-limits"],
                 ["map", sample("multi.fatbin")]):
        with open("/dev/full", "wb") as full:
            equal(cuvet(*args, stdout=full).rc, IO, "full disk: " + " ".join(args))
    p = subprocess.Popen([CUVET, "scan", "--format=ndjson", *many],
                         stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    p.stdout.close()
    p.stderr.read()
    equal(p.wait(), 128 + signal.SIGPIPE, "closed pipe")
    p = subprocess.run([CUVET, "scan", sample("default.fatbin")],
                       stderr=subprocess.PIPE,
                       check=False,
                       preexec_fn=lambda: os.close(1))
    equal(p.returncode, IO, "no standard output at all")


@test
def nothing_is_written_into_an_input():
    # With standard output closed, the input would get its descriptor number.
    path = write(read("default.fatbin"))
    os.chmod(path, 0o600)
    subprocess.run([CUVET, "scan", path],
                   stderr=subprocess.DEVNULL,
                   check=False,
                   preexec_fn=lambda: os.close(1))
    equal(open(path, "rb").read(), read("default.fatbin"), "input")


main()
