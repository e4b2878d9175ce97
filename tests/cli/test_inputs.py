# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where inputs come from: standard input, pipes, directories, links, special files."""
import os
import socket
import sys
import threading
import time

from lib_cli import CLEAN, FINDINGS, IO, ROOT, bad_container, cuvet, equal, main, read, sample, scratch, test, write

sys.path.append(os.path.join(ROOT, "tools", "corpus"))
import bitcode


def verdicts(r):
    return [(o["file"], o["verdict"]) for o in r.objects("verdict")]


def without_name(r):
    return [{k: v for k, v in o.items() if k != "file"} for o in r.objects()]


@test
def standard_input():
    for name in ("multi.fatbin", "host-plain.so", "long-names.a", "plain.ptx"):
        direct = cuvet("scan", "--format=ndjson", sample(name))
        piped = cuvet("scan", "--format=ndjson", "-", stdin=read(name))
        with open(sample(name), "rb") as f:
            redirected = cuvet("scan", "--format=ndjson", "-", stdin=f)
        with open(sample(name), "rb") as f:
            f.seek(3)
            rest = cuvet("scan", "--format=ndjson", "-", stdin=f)
        equal(without_name(piped), without_name(direct), "pipe")
        equal(without_name(redirected), without_name(direct), "redirection")
        equal(without_name(rest), without_name(cuvet("scan", "--format=ndjson", write(read(name)[3:]))),
              "from the middle")
        equal({o["file"] for o in piped.objects()}, {"-"}, "name")
    equal(verdicts(cuvet("scan", "--format=ndjson", "-", stdin=b"")), [("-", "clean")], "nothing")
    equal(cuvet("scan", "-", stdin=bad_container()).rc, FINDINGS, "findings")


@test
def standard_input_with_a_temporary_directory():
    d = scratch()
    equal(cuvet("scan", "-", stdin=read("multi.fatbin"), env={"TMPDIR": d}).rc, CLEAN, "exit")
    equal(os.listdir(d), [], "left behind")
    r = cuvet("scan", "-", stdin=read("multi.fatbin"), env={"TMPDIR": d + "/absent"})
    equal(r.rc, IO, "no temporary directory")


@test
def closed_standard_input():
    r = cuvet("scan", "-", stdin=open(os.devnull, "rb"))
    equal(r.rc, CLEAN, "the empty device")


@test
def compressed_archives():
    code = bytes(24) + bad_container()  # what a search finds: two containers, one of them damaged
    for magic in (b"PK\3\4", b"\x1f\x8b\x08\x1f", b"\xfd7zXZ\0\0", b"BZh11AY&SY", b"BZh9\x17rE8P\x90", b"\x28\xb5\x2f\xfd\xf7",
                  b"\x04\x22\x4d\x18\x7d", b"7z\xbc\xaf\x27\x1c"):
        path = write(magic + code)
        found = cuvet("scan", "--format=ndjson", path)
        equal([o["type"] for o in found.objects()], ["finding", "verdict"], repr(magic))
        equal((found.rc, found.objects("finding")[0]["rule"], verdicts(found)[0][1]), (CLEAN, "CV-FILE-002", "unsupported"), repr(magic))
        claims = cuvet("map", "--format=ndjson", path).objects("claim")
        equal([(c["offset"], c["length"], c["owner"]) for c in claims], [(0, len(magic + code), "compressed, not looked into")], "map")
        # Behind anything else than itself it hides nothing: not at the end of a program, not in an archive of ar.
        equal(cuvet("scan", write(read("host-plain.so") + magic + code)).rc, FINDINGS, "behind a program")
        equal(cuvet("scan", write(b"\0" + magic + code)).rc, FINDINGS, "behind one byte")
    for begins_like in (b"PK\5\6", b"\x1f\x8b\x07\0", b"\x1f\x8b\x08\x20", b"\xfd7zXZ\0\1", b"BZh9" + bytes(8), b"BZhx1AY&SY",
                        b"\x28\xb5\x2f\xfd\x08", b"\x04\x22\x4d\x18\x20", b"7z\xbc\xaf\x27\x1d"):
        equal(cuvet("scan", write(begins_like + code)).rc, FINDINGS, repr(begins_like))


def ar(*bodies):
    out = b"!<arch>\n"
    for i, body in enumerate(bodies):
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (b"m%d.bc/" % i, 0, 0, 0, b"644", len(body)) + body + b"\n" * (len(body) % 2)
    return out


@test
def bitcode_and_its_triple():
    cuda, amd = bitcode.stream(), bitcode.stream(bitcode.module(b"amdgcn-amd-amdhsa"))
    host = bitcode.wrapped(bitcode.stream(bitcode.module(b"x86_64-pc-linux-gnu")))
    odd = bitcode.stream(bitcode.module(b"nvptx64-\x1b[31m\xff"))
    for data, verdict, triple in ((cuda, "unsupported", "nvptx64-nvidia-cuda"), (amd, "clean", "amdgcn-amd-amdhsa"),
                                  (host, "clean", "x86_64-pc-linux-gnu"), (odd, "unsupported", "nvptx64-\\x1b[31m\\xff"),
                                  (bitcode.stream(bitcode.module(None)), "unsupported", None)):
        for command in ("scan", "list"):
            r = cuvet(command, "--format=ndjson", write(data))
            member, = r.objects("member")
            equal((member["kind"], member.get("triple"), member["examined"], member["path"]), ("bitcode", triple, False, "bitcode"), command)
            equal((r.objects("verdict")[0]["bitcode"], r.rc), (1, CLEAN), command)
        equal(verdicts(cuvet("scan", "--format=ndjson", write(data)))[0][1], verdict, str(triple))
    out = cuvet("list", write(ar(cuda, b"text", amd, host))).out
    assert "  for nvptx64-nvidia-cuda  in m0.bc" in out and "  for amdgcn-amd-amdhsa  in m2.bc" in out, out
    equal("\x1b" in cuvet("list", write(odd)).out, False, "an escape")
    # A large part between the beginning and the triple is passed over; one that is too large is not read.
    far = bitcode.module(before=lambda out, width: bitcode.block(out, width, 9, 3, bytes(3 << 20)))
    equal(cuvet("list", "--format=ndjson", write(bitcode.stream(far))).objects("member")[0]["triple"], "nvptx64-nvidia-cuda", "far")
    # So is one with a definition far behind the beginning, which was read as no bits at all.
    for triple, want in ((b"x86_64-pc-linux-gnu", "clean"), (b"nvptx64-nvidia-cuda", "unsupported")):
        late = bitcode.stream(bitcode.module(triple, after=bitcode.late_definition))
        equal(verdicts(cuvet("scan", "--format=ndjson", write(late)))[0][1], want, "late definition")
    # What hides behind it, or in it, is found as anywhere else.
    for hidden in (cuda + bad_container(), bitcode.wrapped(cuda) + bad_container(), bitcode.stream(bitcode.module(before=lambda out, width:
                   bitcode.block(out, width, 9, 3, bad_container())))):
        r = cuvet("scan", "--format=ndjson", write(hidden))
        equal(r.rc, FINDINGS, "hidden")
        assert {"CV-FATBIN-051", "CV-FATBIN-015"} <= {o["rule"] for o in r.objects("finding")}
    claims = cuvet("map", "--format=ndjson", write(cuda)).objects("claim")
    equal([(c["offset"], c["length"], c["owner"]) for c in claims], [(0, len(cuda), "payload")], "map")


@test
def pipes_with_a_name():
    d = scratch()
    path = os.path.join(d, "pipe")
    os.mkfifo(path)

    def feed():
        with open(path, "wb") as f:
            f.write(read("multi.fatbin"))

    t = threading.Thread(target=feed)
    t.start()
    r = cuvet("scan", "--format=ndjson", path)
    t.join()
    equal(without_name(r), without_name(cuvet("scan", "--format=ndjson", sample("multi.fatbin"))), "content")


def tree():
    d = scratch()
    for rel, data in (("b/two", read("default.fatbin")), ("b/one", bad_container()), ("a", b"text"),
                      ("b.x", b""), ("c/d/e/f", read("plain.ptx")), (".hidden", read("lto.fatbin"))):
        path = os.path.join(d, rel)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
    os.mkdir(os.path.join(d, "empty"))
    return d


@test
def directories():
    d = tree()
    r = cuvet("scan", "-r", "--format=ndjson", d)
    equal(r.rc, FINDINGS, "exit")
    equal([os.path.relpath(f, d) for f, _ in verdicts(r)],
          [".hidden", "a", "b/one", "b/two", "b.x", "c/d/e/f"], "order")
    equal(verdicts(cuvet("scan", "-r", "--format=ndjson", d)), verdicts(r), "again")
    equal(verdicts(cuvet("scan", "-r", "--format=ndjson", scratch())), [], "an empty one")
    one = sample("default.fatbin")
    equal(verdicts(cuvet("scan", "-r", "--format=ndjson", one)), [(one, "clean")], "a file with -r")
    equal(len(cuvet("list", "-r", "--format=ndjson", d).objects("verdict")), 6, "list")


@test
def links_and_special_files_are_skipped_aloud():
    d = tree()
    os.symlink(os.path.join(d, "b"), os.path.join(d, "link-to-directory"))
    os.symlink(os.path.join(d, "a"), os.path.join(d, "link-to-file"))
    os.symlink(d, os.path.join(d, "c", "loop"))
    os.symlink("absent", os.path.join(d, "dangling"))
    os.mkfifo(os.path.join(d, "pipe"))
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(d)
    s.bind("socket")
    os.chdir(here)
    r = cuvet("scan", "-r", "--format=ndjson", d)
    s.close()
    equal(len(verdicts(r)), 6, "files")
    equal(r.rc, FINDINGS, "exit")
    for name in ("link-to-directory", "link-to-file", "loop", "dangling", "pipe", "socket"):
        assert name in r.err, "nothing said about " + name


@test
def links_on_the_command_line_are_followed():
    d = scratch()
    link = os.path.join(d, "link")
    os.symlink(sample("default.fatbin"), link)
    equal(verdicts(cuvet("scan", "--format=ndjson", link)), [(link, "clean")], "file")
    t = tree()
    os.symlink(t, link + "2")
    equal(len(verdicts(cuvet("scan", "-r", "--format=ndjson", link + "2"))), 6, "directory")


@test
def unreadable_files_in_a_directory():
    d = tree()
    os.chmod(os.path.join(d, "a"), 0)
    r = cuvet("scan", "-r", "--format=ndjson", d)
    if os.geteuid() == 0:
        equal(r.rc, FINDINGS, "root reads everything")
        return
    equal(r.rc, IO, "exit")
    equal(dict(verdicts(r))[os.path.join(d, "a")], "error", "verdict")
    equal(len(verdicts(r)), 6, "the others")


@test
def names_that_look_like_options():
    d = scratch()
    write(read("default.fatbin"), "--notes", d)
    write(read("default.fatbin"), "-", d)
    equal(verdicts(cuvet("scan", "--format=ndjson", "--", "--notes", cwd=d)), [("--notes", "clean")],
          "after --")
    equal(verdicts(cuvet("scan", "--format=ndjson", "./-", cwd=d)), [("./-", "clean")], "./-")
    equal(
        cuvet("scan", sample("default.fatbin"), "--format=ndjson").objects("verdict")[0]["verdict"], "clean",
        "options after files")


@test
def several_files_in_order():
    names = ["multi.fatbin", "default.fatbin", "plain.ptx", "default.fatbin"]
    paths = [sample(n) for n in names]
    equal([f for f, _ in verdicts(cuvet("scan", "--format=ndjson", *paths))], paths, "order")
    last = cuvet("scan", *paths).out.splitlines()[-1]
    equal(last, "       4 clean", "the last line")


@test
def holes_of_a_sparse_file_hide_nothing():
    piece, mib = read(sample("elf-raw.fatbin")), 1 << 20
    # At the borders of pages, windows and holes, one byte before and behind them.
    places = [5 * mib, 7 * mib - 1, 9 * mib + 4093, 11 * mib + 1, 13 * mib + 262141, 16 * mib - len(piece)]
    sparse, dense = (os.path.join(scratch(), n) for n in ("sparse", "dense"))
    with open(sparse, "wb") as f:
        f.truncate(16 * mib)
        for at in places:
            f.seek(at)
            f.write(piece)
    with open(dense, "wb") as f:
        f.write(read(sparse))
    for command in (["scan"], ["list"], ["map"], ["scan", "-j2"]):
        a, b = (cuvet(command[0], "--format=ndjson", *command[1:], f) for f in (sparse, dense))
        equal((without_name(a), a.rc), (without_name(b), b.rc), " ".join(command))
    found = [o for o in cuvet("list", "--format=ndjson", sparse).objects("member")]
    equal(len(found), len(places), "members")
    # Sixteen gigabytes that nobody stored; without holes this would take longer than the test may.
    with open(sparse, "r+b") as f:
        f.truncate(16 << 30)
    equal(cuvet("scan", "--limit=input=17179869184", sparse).rc, cuvet("scan", dense).rc, "large")


@test
def a_named_pipe_without_a_writer_ends():
    path = os.path.join(scratch(), "pipe")
    os.mkfifo(path)
    r = cuvet("scan", path, timeout=30)
    equal(r.rc, 3, "exit code")
    assert "named pipe" in r.err, r.err


@test
def lists_and_options_in_a_named_pipe():
    d = scratch()
    path, cubin = os.path.join(d, "pipe"), sample("two_a.sm_75.rdc.cubin")
    os.mkfifo(path)
    for args, text in ((["scan", "--files-from", path], cubin + "\n"),
                       (["link", "-arch=sm_75", "-r", "-o", os.path.join(d, "out"), "-optf", path], cubin)):
        r = cuvet(*args, timeout=30)
        equal((r.rc, "nobody writes" in r.err), (IO, True), " ".join(args) + r.err)
        for wait in (0, 3):  # nothing is written for longer than a writer may take to come, but he is there

            def feed(text=text, wait=wait):
                with open(path, "w", encoding="ascii") as f:
                    time.sleep(wait)
                    f.write(text)

            t = threading.Thread(target=feed)
            t.start()
            r = cuvet(*args, timeout=30)
            t.join()
            equal((r.rc, r.err), (CLEAN, ""), (args, wait, text))


@test
def files_that_are_written_to_while_they_are_read():
    """All the time, so that it is almost sure to happen: no answer is about no state of the file."""
    d = scratch()
    data = read("two_a.sm_75.rdc.cubin")
    path = write(data + bytes(48 << 20), "moving", d)
    stop = threading.Event()
    commands = (["scan", "--limit=ratio=1"], ["scan", "--jobs=2"], ["list"], ["select", "--arch=sm_75"],
                ["finalize", "-o", os.path.join(d, "out")], ["link", "-arch=sm_75", "-r", "-o", os.path.join(d, "out")])
    still = [cuvet(*args, path) for args in commands]

    def work():
        with open(path, "r+b", buffering=0) as f:
            while not stop.is_set():
                f.write(data[:1])
                f.seek(0)

    t = threading.Thread(target=work)
    t.start()
    try:
        for args, quiet in zip(commands, still):
            for _ in range(5):
                r = cuvet(*args, path)
                if r.rc == IO:
                    break
                # on a busy machine nothing may be written while a short command reads: then it is the file's answer, whole
                equal((r.rc, r.out, r.err), (quiet.rc, quiet.out, quiet.err), args)
            equal(r.rc, IO, " ".join(args) + r.err)
            assert "CV-IO-003" in r.out + r.err or args == ["list"] and "input or output failed" in r.err, (args, r.out, r.err)
    finally:
        stop.set()
        t.join()
    equal(os.path.exists(os.path.join(d, "out")), False, "a result")


@test
def a_file_of_no_bytes_that_has_some_is_not_clean():
    for path in ("/proc/self/maps", "/proc/version"):
        if os.path.exists(path):
            r = cuvet("scan", path)
            equal(r.rc, 3, path)
            assert "no bytes" in r.err, r.err


@test
def nobody_moves_the_walk_elsewhere():
    """folders that are replaced by links, and back, while they are walked: what the links name is never read"""
    tree, outside, aside = scratch(), scratch(), os.path.join(scratch(), "aside")
    folders = [os.path.join(tree, "f%02d" % i) for i in range(30)]
    write(bad_container(), "x", outside)
    for folder in folders:
        os.makedirs(os.path.join(folder, "deep"))
        write(read("plain.sm_75.cubin"), "x", folder)
        write(read("plain.sm_75.cubin"), "x", os.path.join(folder, "deep"))
    done = threading.Event()

    def swap():
        while not done.is_set():
            for folder in folders:
                for name in (os.path.join(folder, "deep"), folder):
                    os.rename(name, aside)
                    os.symlink(outside, name)
                    os.unlink(name)
                    os.rename(aside, name)

    racer = threading.Thread(target=swap)
    racer.start()
    try:
        for _ in range(15):
            r = cuvet("scan", "-r", "--format=ndjson", tree)
            assert "malformed" not in {v for _, v in verdicts(r)} and "CV-" not in r.out, r.out[-500:]
    finally:
        done.set()
        racer.join()
    r = cuvet("scan", "-r", "--format=ndjson", tree)
    equal(len(verdicts(r)), 60, "when nobody moves anything")
    equal([name for name, _ in verdicts(r)], sorted(name for name, _ in verdicts(r)), "order")


@test
def folders_inside_each_other():
    top = d = scratch()
    for _ in range(300):
        d = os.path.join(d, "d")
        os.mkdir(d)
    write(read("plain.sm_75.cubin"), "x", top)
    r = cuvet("scan", "-r", "--format=ndjson", top)
    equal((r.rc, [v for _, v in verdicts(r)]), (IO, ["error", "clean"]), "deep")
    assert "more folders inside each other than are walked" in r.out, r.out[-300:]


main()
