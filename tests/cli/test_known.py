# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet known, and cuvet scan --known and --cache: where code comes from, and what a file seen before costs; what a database says is
not believed."""
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time

from lib_cli import CLEAN, CUVET, FINDINGS, IO, USAGE, bad_container, cuvet, edited, equal, main, needs_packages, package, read, sample, scratch, test, write

MULTI, HOST, LTO, MERGED = sample("multi.fatbin"), sample("host-plain.so"), sample("lto.fatbin"), sample("host-merged.o")
SETTLE = 3.1  # seconds: what was written to a moment ago is not kept


def database(*adds):
    path = os.path.join(scratch(), "known.db")
    for add in adds:
        r = cuvet("known", "add", path, *add)
        equal((r.rc, r.err), (CLEAN, ""), add)
    return path


def lookup(path, *args):
    r = cuvet("known", "lookup", "--format=ndjson", path, *args)
    return r, r.objects("known")


def cubin(*words):
    return sample(".".join(("plain",) + words + ("cubin",)))


def rows(path, what):
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        return db.execute(what).fetchall()


@test
def a_piece_is_known():
    path = database((MULTI, "--as", "two 1.0"), (HOST,))
    for name, sources in ((MULTI, ["two 1.0"]), (HOST, ["host-plain.so"])):
        r, known = lookup(path, name)
        equal(r.rc, CLEAN)
        for o in known:
            assert o["match"] == "bytes" and set(sources) <= set(o["sources"]), o
        equal([o["path"] for o in known], [o["path"] for o in cuvet("list", "--format=ndjson", name).objects("member")])
    r, known = lookup(path, sample("printer.sm_90.cubin"), "--fail-on=unknown")
    equal((r.rc, [(o["match"], o["sources"], o["kernels"], o["known_kernels"]) for o in known]), (FINDINGS, [("none", [], 1, 0)]))


@test
def the_same_code_under_other_metadata():
    for sm in ("sm_90", "sm_100", "sm_120"):
        path = database((cubin(sm), "--as", "plain"))
        r, (o,) = lookup(path, cubin(sm, "lineinfo"), "--fail-on=unknown")
        equal((r.rc, o["match"], o["sources"]), (CLEAN, "code", ["plain"]), sm)
        equal(lookup(path, cubin(sm, "lineinfo"), "--fail-on=metadata")[0].rc, FINDINGS)
        equal(lookup(path, cubin(sm), "--fail-on=metadata")[0].rc, CLEAN)
    r = cuvet("known", "lookup", path, cubin("sm_120", "lineinfo"))
    assert "same code, other metadata: plain" in r.out, r.out


def text_of(elf):
    (o,) = [s for s in cuvet("dump", "--sections", "--format=ndjson", write(elf)).objects("section") if s["name"].startswith(".text.")]
    return o["offset"]


@test
def one_bit_of_code_is_not_known():
    elf = bytearray(open(cubin("sm_90"), "rb").read())
    elf[text_of(bytes(elf))] ^= 1
    path = database((cubin("sm_90"),))
    equal([o["match"] for o in lookup(path, write(bytes(elf)))[1]], ["none"])


@test
def a_kernel_in_other_company_is_known():
    """The kernel of a whole program, where its object has more: one of them is known, and named."""
    whole, more = sample("plain.sm_90.cubin"), sample("plain.sm_90.g.cubin")
    path = database((sample("host-two_a.o"), "--as", "a"), (sample("host-two_b.o"), "--as", "b"))
    r, known = lookup(path, sample("host-two_a.o"), "--kernels")
    kernels = r.objects("known_kernel")
    assert kernels and all(o["sources"] == ["a"] for o in kernels), kernels
    equal({o["match"] for o in known}, {"bytes"})
    path = database((whole, "--as", "whole"))
    r, (o,) = lookup(path, more)
    assert o["match"] in ("none", "some", "kernels"), o
    # The kernel by itself: the database forgets the piece.
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM piece")
    r, (o,) = lookup(path, whole, "--kernels")
    equal(lookup(path, whole, "--fail-on=unknown")[0].rc, FINDINGS)  # what the kernels call, and data, may be other ones
    equal((o["match"], o["sources"], o["kernels"], o["known_kernels"]), ("kernels", ["whole"], 1, 1))
    equal([(k["kernel"], k["sources"]) for k in r.objects("known_kernel")], [("_Z5plainPi", ["whole"])])
    assert "all kernels known: whole (1 of 1 kernels known)" in cuvet("known", "lookup", path, whole).out


@test
def code_that_says_nothing_is_no_evidence():
    """Without a function, what compilers write is the same whoever asks them: nothing is concluded from it."""
    nothing = sample("nocode.sm_90.cubin")
    path = database((MULTI,))
    r = cuvet("known", "add", path, nothing)
    assert r.rc == CLEAN and "0 pieces, 0 kernels" in r.out and "1 without code" in r.out, r.out
    r, (o,) = lookup(path, nothing, "--fail-on=metadata")
    equal((r.rc, o["match"], o["sources"]), (CLEAN, "empty", []))


@test
def what_cannot_be_unpacked_is_known_by_its_bytes():
    path = database((LTO, "--as", "lto"))
    for o in lookup(path, LTO)[1]:
        equal((o["match"], o["sources"]), ("bytes", ["lto"]), o)


@test
def damage_is_not_remembered():
    path = os.path.join(scratch(), "known.db")
    hurt = write(edited("default.fatbin", 16 + 2, "H", 0x0102))
    r = cuvet("known", "add", path, hurt)
    good = [o for o in cuvet("scan", "--format=ndjson", hurt).objects("member") if o["errors"] == 0]
    assert r.rc == FINDINGS and "not added: 1 pieces with findings" in r.out, r.out
    equal((len(good), rows(path, "SELECT count(*) FROM piece")), (1, [(1,)]))


@test
def names():
    """Of a wheel the project and version, of anything else its file; what is in a package has the name of the package."""
    needs_packages()
    wheel = os.path.join(scratch(), "some_thing_cu12-1.2.3-py3-none-any.whl")
    os.link(package(**{"lib/a.so": read(HOST)}), wheel)
    path = database((wheel,), (MULTI,))
    equal(rows(path, "SELECT name FROM source ORDER BY name"), [("multi.fatbin",), ("some-thing-cu12 1.2.3",)])
    for bad in ("", "a\nb", "x" * 256):
        equal(cuvet("known", "add", "--as", bad, path, MULTI).rc, USAGE, bad)
    odd = os.path.join(scratch(), "a\n\x1b[2J\udcff")
    shutil.copy(MULTI, odd)
    equal(cuvet("known", "add", path, odd).rc, CLEAN)
    r = cuvet("known", "info", path)
    assert r.rc == CLEAN and "\x1b" not in r.out, r.out


@test
def merging():
    first, second = database((MULTI, "--as", "m")), database((HOST, "--as", "h"), (MULTI, "--as", "m"))
    r = cuvet("known", "merge", first, second)
    equal((r.rc, r.err), (CLEAN, ""))
    for table in ("source", "piece", "kernel"):
        key = {"source": "name", "piece": "bytes, print, code", "kernel": "print, code, name"}[table]
        equal(sorted(rows(first, "SELECT %s FROM %s" % (key, table))), sorted(rows(second, "SELECT %s FROM %s" % (key, table))), table)
    r = cuvet("known", "merge", first, second)
    assert r.rc == CLEAN and " 0 of them new" in r.out, r.out
    equal({o["match"] for o in lookup(first, HOST)[1]}, {"bytes"})


@test
def nothing_is_taken_of_a_merge_that_fails():
    first, second = database((MULTI,)), database((HOST,))
    before = read(first)
    equal(cuvet("known", "merge", first, second, write(b"no database")).rc, IO)
    equal(read(first), before)
    equal(cuvet("known", "add", first, HOST, os.path.join(scratch(), "none")).rc, IO)
    equal({o["match"] for o in lookup(first, HOST)[1]}, {"bytes"})  # what could be read was added


@test
def a_database_that_is_none():
    """Somebody else's, one of a later release, an older one, one with a trigger or a view, a damaged one: refused in a word, and nothing is
    written into it."""
    good = read(database((MULTI,)))
    folder = scratch()

    def made(*statements):
        path = os.path.join(folder, "%d.db" % len(os.listdir(folder)))
        with open(path, "wb") as f:
            f.write(good)
        db = sqlite3.connect(path)
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()
        return path

    cases = [
        ("newer cuvet", made("PRAGMA user_version=3")), ("older cuvet", made("PRAGMA user_version=0")), ("older cuvet", made("PRAGMA user_version=1")),
        ("no database of known code", made("PRAGMA application_id=7")), ("no database of known code", write(b"text" * 1000)),
        ("damaged", made("CREATE TABLE more(x)")), ("damaged", made("CREATE VIEW more AS SELECT 1")),
        ("damaged", made("CREATE TRIGGER t AFTER INSERT ON source BEGIN DELETE FROM piece; END")),
        ("damaged", made("DROP INDEX piece_print")), ("damaged", made("ALTER TABLE source ADD COLUMN x TEXT")),
    ]
    for text, path in cases:
        before = read(path)
        for args in (("known", "lookup", path, MULTI), ("known", "add", path, HOST), ("scan", "--cache", path, MULTI),
                     ("scan", "--known", path, MULTI), ("known", "info", path), ("known", "merge", os.path.join(scratch(), "to.db"), path)):
            r = cuvet(*args)
            equal(r.rc, IO, (text, args))
            assert text in r.err and r.err.count("\n") == 1, (text, args, r.err)
            equal(read(path), before, args)
    for args in (("known", "lookup", os.path.join(scratch(), "none"), MULTI), ("known", "info", "/"), ("known", "add", "/proc/none/x", MULTI)):
        equal(cuvet(*args).rc, IO, args)


@test
def rows_that_nobody_writes():
    """What another database says is handed to the process that keeps ours, which ends when that is no order: it is looked at before."""
    good = read(database((MULTI,)))
    for n, change in enumerate(("piece SET code = 'sm_' || char(27)", "piece SET code = ''", "kernel SET code = char(127)",
                                "kernel SET code = printf('%099d', 1)", "kernel SET name = zeroblob(70000)", "source SET name = 'a' || char(10)",
                                "piece SET print = x'00'", "piece SET source = 77")):
        path = write(good, "rows-%d.db" % n)
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA ignore_check_constraints=1")
            db.execute("UPDATE OR IGNORE " + change)
        db.close()
        r = cuvet("known", "merge", os.path.join(scratch(), "to.db"), path)
        equal(r.rc, IO, change)
        assert "damaged" in r.err and r.err.count("\n") == 1, (change, r.err)


@test
def a_reset_keeps_what_was_there():
    path = database((MULTI,))
    before = read(path)
    r = cuvet("known", "reset", path)
    equal((r.rc, r.err), (CLEAN, ""))
    equal(read(path + ".old.1"), before)
    r, known = lookup(path, MULTI)
    equal({o["match"] for o in known}, {"none"})
    equal(cuvet("known", "reset", path).rc, CLEAN)
    assert os.path.exists(path + ".old.2")


@test
def damaged_databases_by_the_hundred():
    """A byte that is another, a page that is gone: an answer or a refusal, each time."""
    path = database((MULTI, "--as", "m"), (HOST, "--as", "h"))
    good, rng = read(path), random.Random(7)
    found = {}
    for n in range(40 if not os.environ.get("CV_FULL") else 2000):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 4, 30))):
            data[rng.randrange(len(data)) if rng.random() < .6 else rng.randrange(min(len(data), 6000))] = rng.randrange(256)
        if rng.random() < .2:
            data = data[:rng.randrange(len(data))]
        hurt = write(bytes(data), "hurt-%d.db" % n)
        for args in (("known", "lookup", hurt, MULTI), ("known", "merge", os.path.join(scratch(), "to.db"), hurt), ("known", "info", hurt),
                     ("scan", "--cache", hurt, MULTI)):
            r = cuvet(*args)
            assert r.rc in (CLEAN, IO), (n, args, r.rc, r.err)
            assert (r.rc == CLEAN) == (r.err == ""), (n, args, r.err)
            found[args[1], r.rc] = found.get((args[1], r.rc), 0) + 1
    assert found["merge", IO] > 5 and found["lookup", CLEAN] > 5, found


@test
def many_at_once():
    """Eight processes write into one database, which did not exist: each sees none of it or all."""
    names = [cubin("sm_%d" % sm) for sm in (75, 90, 100, 120)]
    for turn in range(4):
        path = os.path.join(scratch(), "known-%d.db" % turn)
        run = [subprocess.Popen([CUVET, "known", "add", path, n], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for n in names * 2]
        for p in run:
            out, _ = p.communicate()
            equal(p.returncode, CLEAN, out)
        equal(rows(path, "SELECT count(DISTINCT source) FROM piece"), [(4,)])
        equal(rows(path, "PRAGMA integrity_check"), [("ok",)])
    for n in names:
        equal([o["match"] for o in lookup(path, n)[1]], ["bytes"], n)


@test
def a_scan_says_what_is_known():
    path = database((MULTI, "--as", "m"))
    r = cuvet("scan", "--format=ndjson", "--known", path, MULTI, HOST)
    plain = cuvet("scan", "--format=ndjson", MULTI, HOST)
    equal((r.rc, [o for o in r.objects() if o["type"] != "known"]), (plain.rc, plain.objects()))
    equal(len(r.objects("known")), len(r.objects("member")))
    r = cuvet("scan", "--known", path, MULTI)
    assert r.rc == CLEAN and "byte-identical to m" in r.out and ": clean;" in r.out, r.out
    one = cuvet("scan", "--format=ndjson", "--known", path, "--member", "0", MULTI)
    equal(len(one.objects("known")), 1)
    for args in (("--format=sarif",), ("-q",), ("--cache", path), ("--only-findings",)):
        equal(cuvet("scan", "--known", path, *args, MULTI).rc, USAGE, args)


# ---- verdicts ----

def large(data, size=1 << 17):
    """Above what a verdict is kept for."""
    return data + bytes(max(0, size - len(data)))


def settled(*paths):
    newest = max(os.stat(p).st_ctime for p in paths)
    time.sleep(max(0, newest + SETTLE - time.time()))


# Made first, so that they are old enough when their tests come.
def make_files():
    folder = scratch()
    contents = [read(HOST), read(MERGED), bad_container(), read(sample("long-names.a")), read(LTO), b"nothing"] + [read(HOST) + struct.pack("<I", n) for n in range(12)]
    for n, data in enumerate(contents):
        with open(os.path.join(folder, "%d" % n), "wb") as f:
            f.write(large(data))
    return [os.path.join(folder, "%d" % n) for n in range(len(contents))]


FILES = make_files()
SEVERAL, ALIKE = FILES[:6], FILES[6:]


def kept(path):
    return rows(path, "SELECT count(*) FROM verdict")[0][0] if os.path.exists(path) else 0


@test
def a_file_is_scanned_once():
    """Every form of output is the same, byte for byte, whether a file was scanned or remembered; also its exit code and what is said beside."""
    names, path = SEVERAL, os.path.join(scratch(), "verdicts.db")
    settled(*names)
    for args in (("--format=ndjson",), ("--format=sarif",), ("--format=text", "--all"), (), ("-j1",), ("--arch", "sm_90"), ("-q",), ("--fail-on=unsupported",)):
        plain = cuvet("scan", *args, *names)
        for turn in range(2):
            r = cuvet("scan", "--cache", path, *args, *names)
            equal((r.rc, r.out, r.err), (plain.rc, plain.out, plain.err), (args, turn))
        equal(kept(path), len(names), args)
    notes = cuvet("scan", "-v", "--cache", path, *names).out
    assert "6 of 6 files were scanned before" in notes, notes


@test
def what_makes_another_verdict():
    """Other bytes, other limits, another target, another build: nothing is taken over from one to the other."""
    name, path = FILES[0], os.path.join(scratch(), "verdicts.db")
    settled(name)
    count = 0
    for args in ((), ("--limit", "members=7"), ("--limits", "roomy"), ("--target", "sm_90"), ("--target", "sm_90a")):
        for _ in range(2):
            equal(cuvet("scan", "--cache", path, *args, name).rc, cuvet("scan", *args, name).rc)
        count += 1
        equal(kept(path), count, args)
    other = os.path.join(scratch(), "cuvet")
    shutil.copy(CUVET, other)
    with open(other, "ab") as f:
        f.write(b"\0")
    equal(subprocess.run([other, "scan", "--cache", path, name], stdout=subprocess.DEVNULL).returncode, CLEAN)
    equal(kept(path), count + 1)
    for other in ALIKE[1:3]:
        equal(cuvet("scan", "--cache", path, other).out, cuvet("scan", other).out)
    equal(kept(path), count + 3)


@test
def what_was_written_to_a_moment_ago_is_not_kept():
    name, path = write(large(read(HOST))), os.path.join(scratch(), "verdicts.db")
    equal(cuvet("scan", "--cache", path, name).rc, CLEAN)
    equal(kept(path), 0)


@test
def entries_of_packages_are_kept():
    needs_packages()
    wheel, path = package(**{"lib/a.so": large(read(HOST)), "b.so": large(read(MERGED), 3 << 20), "small": read(MULTI)}), os.path.join(scratch(), "v.db")
    plain = cuvet("scan", "--format=ndjson", wheel)
    for turn in range(2):
        r = cuvet("scan", "--format=ndjson", "--cache", path, wheel)
        equal((r.rc, r.out), (plain.rc, plain.out), turn)
        equal(kept(path), 2)


@test
def a_recording_that_lies_is_not_told():
    """What is kept is damaged: the file is scanned as if nothing were there."""
    name, path = FILES[0], os.path.join(scratch(), "verdicts.db")
    settled(name)
    plain = cuvet("scan", "--format=ndjson", name)
    equal(cuvet("scan", "--cache", path, name).rc, CLEAN)
    ((good,),) = rows(path, "SELECT result FROM verdict")
    rng = random.Random(3)
    for n in range(20):
        data = bytearray(good)
        if n % 2:
            del data[rng.randrange(len(data)):]
        else:
            data[0] = 9 + n
        with sqlite3.connect(path) as db:
            db.execute("UPDATE verdict SET result = ?, size = ?", (bytes(data), len(data)))
        db.close()
        r = cuvet("scan", "--format=ndjson", "--cache", path, name)
        equal((r.rc, r.out, r.err), (plain.rc, plain.out, ""), n)
    equal(rows(path, "SELECT result FROM verdict"), [(good,)])


@test
def the_cache_is_bounded():
    names, path = ALIKE, os.path.join(scratch(), "verdicts.db")
    settled(*names)
    equal(cuvet("scan", "--cache", path, *names).rc, CLEAN)
    ((one, all_of_them),) = rows(path, "SELECT max(size), sum(size) FROM verdict")
    equal(kept(path), len(names))
    equal(cuvet("scan", "--cache", path, "--cache-limit", "%d" % (4 * one), *names).rc, CLEAN)
    ((left,),) = rows(path, "SELECT sum(size) FROM verdict")
    assert 0 < left <= 4 * one < all_of_them, (left, one)
    equal(cuvet("scan", "--cache", path, "--cache-limit", "x", MULTI).rc, USAGE)


@test
def many_scans_at_once():
    names, path = ALIKE, os.path.join(scratch(), "verdicts.db")
    settled(*names)
    want = cuvet("scan", *names).out
    run = [subprocess.Popen([CUVET, "scan", "--cache", path, *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for p in run:
        out, err = p.communicate()
        equal((p.returncode, out, err), (CLEAN, want, ""))
    equal(kept(path), len(names))


@test
def a_run_that_is_killed_leaves_a_whole_database():
    path = database((MULTI,))
    before = rows(path, "SELECT * FROM piece")
    for n in range(5):
        p = subprocess.Popen([CUVET, "known", "add", path, "-r", os.path.dirname(MULTI)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 * n)
        p.kill()
        p.wait()
    time.sleep(0.2)
    equal(rows(path, "PRAGMA integrity_check"), [("ok",)])
    assert set(before) <= set(rows(path, "SELECT * FROM piece"))
    equal(cuvet("known", "lookup", path, MULTI).rc, CLEAN)


def open_database(path):
    return sqlite3.connect(path, isolation_level=None)


@test
def nobody_waits_for_who_was_told():
    """Whoever was told a verdict, and does something else now, keeps nobody from writing."""
    names, path = ALIKE[:2], os.path.join(scratch(), "verdicts.db")
    settled(*names)
    equal(cuvet("scan", "--cache", path, names[0]).rc, CLEAN)
    pipe = os.path.join(scratch(), "pipe")
    os.mkfifo(pipe)
    p = subprocess.Popen([CUVET, "scan", "--cache", path, names[0], pipe], stdout=subprocess.PIPE)
    with open(pipe, "wb"):  # it waits for what comes through
        time.sleep(0.5)  # the verdict was told
        start = time.time()
        r = cuvet("scan", "--cache", path, names[1])
        equal((r.rc, r.err), (CLEAN, ""))
        assert time.time() - start < 10
    p.communicate()
    equal((p.returncode, kept(path)), (CLEAN, 2))


@test
def few_descriptors():
    """The process with the database has no room for all inputs: they are scanned, not all are kept, and nobody hangs."""
    folder, path = scratch(), os.path.join(scratch(), "verdicts.db")
    for n in range(400):
        os.link(ALIKE[n % len(ALIKE)], os.path.join(folder, "%d" % n))
    settled(*ALIKE)
    want = cuvet("scan", "-r", folder)
    for most in (24, 40, 64):
        r = subprocess.run(["sh", "-c", 'ulimit -n %d; exec "$@"' % most, "sh", CUVET, "scan", "--cache", path, "-r", folder], capture_output=True, text=True,
                           timeout=60, check=False)
        equal((r.returncode, r.stdout), (want.rc, want.out), most)


@test
def an_index_of_rows_that_are_not_there():
    """What is to go cannot be removed: that has an end."""
    name, path = FILES[0], os.path.join(scratch(), "verdicts.db")
    settled(name)
    equal(cuvet("scan", "--cache", path, name).rc, CLEAN)
    db = open_database(path)
    db.execute("CREATE TABLE other(used INTEGER, size INTEGER)")
    db.execute("CREATE INDEX other_used ON other(used, size)")
    db.executemany("INSERT INTO other VALUES(0, ?)", [(10000,)] * 50)
    ((root,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'other_used'")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'verdict_used'", (root,))
    db.execute("DELETE FROM sqlite_schema WHERE tbl_name = 'other'")
    db.close()
    r = cuvet("scan", "--cache", path, "--cache-limit", "1000", FILES[1])
    assert r.rc == IO and "is damaged" in r.err, (r.rc, r.err)


@test
def a_huge_verdict_is_none():
    name, path = FILES[0], os.path.join(scratch(), "verdicts.db")
    settled(name)
    plain = cuvet("scan", name)
    for size in (0, (8 << 20) + 1, 15 << 20):
        equal(cuvet("scan", "--cache", path, name).rc, CLEAN)
        db = open_database(path)
        db.execute("UPDATE verdict SET result = zeroblob(%d)" % size)
        db.close()
        r = cuvet("scan", "--cache", path, name)
        equal((r.rc, r.out, r.err), (plain.rc, plain.out, ""), size)


@test
def many_sources_are_merged_in_linear_time():
    """Thirty thousand of them with one kernel each: nobody reads all kernels for each."""
    path, to = database(), os.path.join(scratch(), "to.db")
    equal(cuvet("known", "reset", path).rc, CLEAN)
    db = open_database(path)
    db.execute("BEGIN")
    db.executemany("INSERT INTO source VALUES(?, ?)", ((n + 1, "source %d" % n) for n in range(30000)))
    db.executemany("INSERT INTO kernel VALUES(?, ?, 'sm_90', x'6b')", ((struct.pack("<32xQ", n)[8:], n + 1) for n in range(30000)))
    db.execute("COMMIT")
    db.close()
    start = time.time()
    r = cuvet("known", "merge", to, path)
    assert r.rc == CLEAN and "30000 rows, 30000 of them new" in r.out, (r.out, r.err)
    assert time.time() - start < 30
    equal(rows(to, "SELECT count(DISTINCT source) FROM kernel"), [(30000,)])
    what = "SELECT source.name, print FROM source JOIN kernel ON source.id = kernel.source ORDER BY print"
    equal(rows(to, what), rows(path, what))


@test
def a_transaction_that_did_not_end():
    """Whoever only reads says so; whoever writes takes it back first."""
    path = database((MULTI, "--as", "m"))
    other = os.path.join(scratch(), "known.db")
    db = open_database(path)
    db.execute("PRAGMA cache_size = 1")
    db.execute("BEGIN")
    db.execute("UPDATE source SET name = 'half'")
    db.executemany("INSERT INTO kernel VALUES(randomblob(32), 1, 'x', randomblob(900))", [()] * 200)  # more than stays in memory
    shutil.copy(path + "-journal", other + "-journal")
    shutil.copy(path, other)
    db.execute("ROLLBACK")
    db.close()
    r = cuvet("known", "lookup", other, MULTI)
    assert r.rc == IO and "did not end writing" in r.err, r.err
    equal(cuvet("known", "add", other, "--as", "h", HOST).rc, CLEAN)
    equal({tuple(o["sources"]) for o in lookup(other, MULTI)[1]}, {("m",)})


@test
def where_anybody_may_write():
    """Somebody else's journal beside a database would be believed."""
    path = database((MULTI,))
    os.chmod(os.path.dirname(path), 0o777)
    for args in (("known", "lookup"), ("known", "add"), ("scan", "--cache"), ("scan", "--known")):
        r = cuvet(*args, path, MULTI)
        assert r.rc == IO and "anybody may write to" in r.err, (args, r.err)


@test
def usage():
    equal(cuvet("known", "add", "--as", "a\x01b", "x", MULTI).rc, USAGE)
    folder = scratch()
    equal((cuvet("known", "reset", folder).rc, os.path.isdir(folder)), (IO, True))
    for args in ((), ("add",), ("ad", "x", MULTI), ("add", "x"), ("info", "x", "y"), ("lookup", "x", "--format=sarif", MULTI)):
        equal(cuvet("known", *args).rc, USAGE, args)


if __name__ == "__main__":
    sys.exit(main())
