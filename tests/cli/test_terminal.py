# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What only a terminal gets: a progress line (not too often), and colours (unless NO_COLOR)."""
import os
import pty
import re
import subprocess
import time

from lib_cli import CUVET, Skip, bad_container, cuvet, equal, main, read, sample, test, write

SHOW, CLEAR = b"\r\x1b[K", b"\r\x1b[K"


def terminal(*args, stream, env=None):
    """Run with one stream on a pseudo terminal. Returns exit code, what the terminal got, and the seconds."""
    try:
        parent, child = pty.openpty()
    except OSError as e:
        raise Skip("no pseudo terminals here") from e
    full = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    full.update({"TERM": "xterm"}, **(env or {}))
    start = time.monotonic()
    p = subprocess.Popen([CUVET, *args],
                         stdin=subprocess.DEVNULL,
                         env=full,
                         **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: child})
    os.close(child)
    got = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other end is gone
            break
        if not part:
            break
        got += part
    os.close(parent)
    return p.wait(), got, time.monotonic() - start


def long_input():
    """Enough members for a few progress lines, however fast the machine: at least half a second of work."""
    n = 2000
    while True:
        path = write(read("multi.fatbin") * n)
        start = time.monotonic()
        cuvet("scan", path)
        if time.monotonic() - start > 0.5 or n > 60000:
            return path
        os.unlink(path)
        n *= 2


PATH = long_input()


@test
def progress_line():
    rc, got, seconds = terminal("scan", PATH, stream="stderr")
    equal(rc, 0, "exit")
    shown = re.findall(rb"  (\d+) %  \d+ members", got)
    assert shown, got[:200]
    assert len(shown) <= seconds * 10 + 1, "%d updates in %.1f s" % (len(shown), seconds)
    assert got.endswith(CLEAR), "the line stays: %r" % got[-80:]
    assert all(0 <= int(x) <= 100 for x in shown) and [int(x)
                                                       for x in shown] == sorted(int(x) for x in shown), shown


@test
def no_progress_line():
    for args, env in ((["--no-progress"], {}), ([], {"TERM": "dumb"})):
        equal(terminal("scan", *args, PATH, stream="stderr", env=env)[1], b"", "%s %s" % (args, env))
    equal(cuvet("scan", PATH).err, "", "not a terminal")
    equal(terminal("map", sample("multi.fatbin"), stream="stderr")[1], b"", "map")


@test
def escapes_in_the_progress_line():
    path = write(open(PATH, "rb").read(), "evil\x1b]0;x\x07.bin")
    got = terminal("scan", path, stream="stderr")[1].replace(SHOW, b"")
    assert got and b"\x1b" not in got and b"\x07" not in got, got[:200]


@test
def colours():
    bad = write(bad_container())
    text = cuvet("scan", bad).out
    rc, got, _ = terminal("scan", bad, stream="stdout")
    equal(rc, 1, "exit")
    assert b"\x1b[31merror" in got and b"\x1b[31mmalformed\x1b[0m" in got, got
    equal(re.sub(rb"\x1b\[\d+m", b"", got).replace(b"\r\n", b"\n").decode(), text, "text below the colours")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        equal(
            terminal("scan", bad, stream="stdout", env=env)[1].replace(b"\r\n", b"\n").decode(), text,
            str(env))
    assert b"\x1b" in terminal("scan", bad, stream="stdout",
                               env={"NO_COLOR": ""})[1], "NO_COLOR that is empty"


main()
