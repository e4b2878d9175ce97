# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing that came from outside reaches a terminal or a JSON reader as it is: names of files, of archive
members, of kernels, and what stands on the command line."""
import os
import re
import unicodedata

from lib_cli import cuvet, equal, main, read, sample, scratch, test, write

# name as bytes, and what is printed for it
NAMES = [
    (b"plain", "plain"),
    (b"with space", "with space"),
    (b"back\\slash", "back\\\\slash"),
    (b"esc\x1b[31mred", "esc\\x1b[31mred"),
    (b"bell\x07", "bell\\x07"),
    (b"line\nfeed", "line\\x0afeed"),
    (b"carriage\rreturn", "carriage\\x0dreturn"),
    (b"delete\x7f", "delete\\x7f"),
    (b"c1 csi \xc2\x9b31m", "c1 csi \\xc2\\x9b31m"),
    (b"latin \xe9", "latin \\xe9"),
    (b"utf-8 \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80", "utf-8 \u00e9 \u6f22 \U0001f600"),
    (b"overlong \xc0\xaf", "overlong \\xc0\\xaf"),
    (b"overlong \xe0\x80\xaf", "overlong \\xe0\\x80\\xaf"),
    (b"surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80"),
    (b"too big \xf4\x90\x80\x80", "too big \\xf4\\x90\\x80\\x80"),
    (b"cut \xe6\xbc", "cut \\xe6\\xbc"),
    (b"override \xe2\x80\xaetxt.exe", "override \\xe2\\x80\\xaetxt.exe"),
    (b"isolate \xe2\x81\xa6x\xe2\x81\xa9", "isolate \\xe2\\x81\\xa6x\\xe2\\x81\\xa9"),
    (b"marks \xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "marks \\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c"),
    (b"zero width \xe2\x80\x8b\xef\xbb\xbf", "zero width \\xe2\\x80\\x8b\\xef\\xbb\\xbf"),
    (b"separator \xe2\x80\xa8", "separator \\xe2\\x80\\xa8"),
    (b"tag \xf3\xa0\x80\x81", "tag \\xf3\\xa0\\x80\\x81"),
    (b"percent %s%n", "percent %s%n"),
    (b"quote \" ' {}", "quote \" ' {}"),
]
BAD = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U0010ffff]")


def harmless(r, what):
    for name, raw in (("stdout", r.raw), ("stderr", r.err_raw)):
        text = raw.decode("utf-8")  # strict
        assert not BAD.search(text), "%s of %s: %r" % (name, what, BAD.search(text).group(0))


@test
def names_of_files():
    d = os.fsencode(scratch())
    for raw, shown in NAMES:
        path = os.path.join(d, raw)
        with open(path, "wb") as f:
            f.write(read("default.fatbin"))
        prefix = os.fsdecode(d) + "/"
        r = cuvet("scan", path)
        harmless(r, raw)
        assert r.out.startswith(prefix + shown + ": clean;"), (r.out, shown)
        equal([o["file"] for o in cuvet("scan", "--format=ndjson", path).objects()], [prefix + shown] * 3,
              "ndjson")
        for args in (["scan",
                      "--format=sarif"], ["list"], ["map"], ["list",
                                                             "--format=ndjson"], ["map", "--format=ndjson"]):
            harmless(cuvet(*args, path), args)
    r = cuvet("scan", "-r", d)
    harmless(r, "-r")
    equal(r.rc, 0, "-r")


@test
def names_that_do_not_exist():
    for raw, shown in NAMES:
        r = cuvet("scan", raw)
        harmless(r, raw)
        assert r.err.startswith("cuvet: " + shown + ": "), (r.err, shown)


@test
def whatever_is_not_seen():
    """All that Unicode calls a control, a format or a separator of lines, but signs that stand before numbers and are seen."""
    seen = [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]
    hidden = [c for c in range(1, 0x110000)
              if unicodedata.category(chr(c)) in ("Cc", "Cf", "Zl", "Zp", "Co") and c not in seen and not 0xD800 <= c < 0xE000]
    some = [c for c in hidden if unicodedata.category(chr(c)) != "Co"] + [0xE000, 0xF8FF, 0xF0000, 0x10FFFD]
    for at in range(0, len(some), 100):
        names = [b"absent<" + chr(c).encode() + b">" for c in some[at:at + 100]]
        r = cuvet("scan", *names)
        for c, name in zip(some[at:at + 100], names):
            want = "absent<" + "".join("\\x%02x" % b for b in chr(c).encode()) + ">"
            assert want in r.err, "U+%04X is printed as it is" % c


@test
def words_of_the_command_line():
    for raw, _ in NAMES:
        for args in ([raw], [b"--" + raw], [b"scan", b"--" + raw], [b"scan", b"--format=" + raw,
                                                                    b"x"], [b"scan", b"--limit=" + raw, b"x"],
                     [b"scan", b"--jobs=" + raw,
                      b"x"], [b"rules",
                              raw], [b"help", raw], [b"unpack", b"-d", b"/nonexistent/" + raw,
                                                     b"x"], [b"unpack", b"--arch=" + raw,
                                                             b"x"], [b"scan", b"--limits",
                                                                     raw], [b"unpack", b"--kind", raw, b"x"]):
            r = cuvet(*args)
            harmless(r, args)
            assert r.rc in (2, 3), (args, r.rc)


@test
def names_are_cut():
    r = cuvet("scan", "x" * 5000)
    assert len(r.err) < 1300 and "...(+" in r.err, len(r.err)
    r = cuvet("scan", b"\xff" * 4000)
    assert len(r.err) < 5000, len(r.err)


@test
def names_in_archives():
    for raw, shown in NAMES:
        if len(raw) > 15 or b"/" in raw:
            continue
        body = read("default.fatbin")
        head = (raw + b"/").ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8)
        head += str(len(body)).encode().ljust(10) + b"`\n"
        path = write(b"!<arch>\n" + head + body, "names.a")
        r = cuvet("scan", "--format=ndjson", path)
        equal([o["archive_member"] for o in r.objects("member")], [shown] * 2, "name %r" % raw)
        harmless(r, raw)
        harmless(cuvet("list", path), raw)
        harmless(cuvet("scan", "--notes", path), raw)


@test
def names_of_kernels():
    path = sample("plain.sm_90.cubin")
    data = read("plain.sm_90.cubin")
    names = cuvet("list", "--kernels", "--format=ndjson", path).objects("member")[0]["kernel_names"]
    assert names, "the sample has no kernel"
    old = names[0].encode()
    new = (b"\x1b]0;\xe2\x80\xae" + b"\xff" * len(old))[:len(old)]
    r = cuvet("list", "--kernels", write(data.replace(old, new)))
    harmless(r, "kernel")
    r = cuvet("list", "--kernels", "--format=ndjson", write(data.replace(old, new)))
    harmless(r, "kernel")


main()
