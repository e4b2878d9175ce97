# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--demangle: names as people write them, and names that stand for more than anybody has memory or time for."""
import ctypes
import os
import re
import struct
import subprocess
import sys
import time

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import edit  # noqa: E402
from lib_cli import CLEAN, Skip, cuvet, equal, main, read, sample, test, write  # noqa: E402

KNOWN = {
    b"_Z5plainPi": "plain(int*)",
    b"_ZN3cub11EmptyKernelIvEEvv": "void cub::EmptyKernel<void>()",
    b"_Z4growIfET_S0_": "float grow<float>(float)",
    b"_Z": None,
    b"_Znonsense": None,
    b"kernel": None,
    b"__Z5plainPi": None,
    b"_Z5plainPi\x1b[31m": None,
    b"_Z5pl\xff\xfeinPi": None,
}


def library():
    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError as why:
        raise Skip("no C++ library, nothing was demangled") from why


def renamed(*names):
    """A cubin whose kernel has another name, in the symbol and in nothing else, once for each name."""
    for name in names:
        elf = edit.Elf(bytearray(read("plain.sm_90.cubin")))
        end = elf.sget(".strtab", "size")
        elf.splice(".strtab", end, 0, name + b"\0")
        elf.symbol(8, "name", end)
        yield write(bytes(elf.data))


def doubling(n):
    """f(A<int>, A<A<int>, A<int> >, ...): each argument is twice the one before."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return ("_Z1f1AIiE" + "".join("S_IS%s_S%s_E" % (digits[i], digits[i]) for i in range(n))).encode()


def kernels(path, *args):
    r = cuvet("list", "--kernels", "--demangle", *args, path, timeout=60)
    return re.findall(r"^      (.*?)  REG:", r.out, flags=re.M), r


@test
def known_names():
    library()
    for name, want in KNOWN.items():
        path, = renamed(name)
        plain = re.findall(r"^      (.*?)  REG:", cuvet("list", "--kernels", path).out, flags=re.M)
        names, r = kernels(path)
        equal((names, r.err), ([want] if want else plain, cuvet("list", "--kernels", path).err), repr(name))
        assert "\x1b" not in r.out, r.out


@test
def json_has_both():
    library()
    m = cuvet("list", "--resources", "--demangle", "--format=ndjson", sample("weak.sm_75.cubin")).objects("member")[0]
    for f in m["functions"]:
        want = subprocess.run(["c++filt", f["name"]], capture_output=True, text=True, check=False).stdout.strip() \
            if os.path.exists("/usr/bin/c++filt") else f["demangled"]
        equal(f["demangled"], want, f["name"])
    rows = cuvet("dump", "--symbols", "--demangle", "--format=ndjson", sample("plain.sm_90.cubin")).objects("symbol")
    equal([(o["name"], o["name_demangled"]) for o in rows if "name_demangled" in o], [("_Z5plainPi", "plain(int*)")], "dump")
    plain = cuvet("dump", "--symbols", "--format=ndjson", sample("plain.sm_90.cubin")).objects("symbol")
    equal([{k: v for k, v in o.items() if k != "name_demangled"} for o in rows], plain, "nothing else differs")


@test
def text_of_dump():
    library()
    out = cuvet("dump", "--symbols", "--info", "--demangle", sample("plain.sm_75.cubin")).out
    assert "plain(int*)" in out and re.search(r"REGCOUNT +plain\(int\*\) \[", out), out
    equal(cuvet("dump", "--demangle", sample("nocode.sm_75.cubin")).out, cuvet("dump", sample("nocode.sm_75.cubin")).out,
          "nothing to demangle")


@test
def names_that_are_too_much():
    """Each of these texts has more than 2^25 parts, in a few hundred bytes."""
    library()
    start = time.time()
    path, = renamed(doubling(30))
    names, r = kernels(path)
    equal(names, [doubling(30).decode()], "the name stays")
    path, = renamed(doubling(3))
    equal(kernels(path)[0][0].count("A<int>"), 15, "a small one of the kind is a name")
    deep = b"_Z1f" + b"P" * 4000 + b"i"
    path, = renamed(deep)
    names, r = kernels(path)
    assert names in ([deep.decode()[:1024] + "...(+%d bytes)" % (len(deep) - 1024)],) or names[0].startswith("f(int*"), names
    path, = renamed(b"_Z1f" + b"P" * 100000 + b"i")
    assert kernels(path)[0][0].startswith("_Z1fPPP"), "too long to be asked for"
    assert time.time() - start < 40, "%.1f s" % (time.time() - start)


@test
def it_gives_up():
    """After a few deaths no name is asked for any more."""
    library()
    paths = list(renamed(*[doubling(30)] * 6, b"_Z5plainPi"))
    start = time.time()
    r = cuvet("list", "--kernels", "--demangle", *paths, timeout=100)
    names = re.findall(r"^      (.*?)  REG:", r.out, flags=re.M)
    equal((len(names), set(names[:6])), (7, {doubling(30).decode()}), "names stay")
    if "has given up" in r.err:
        equal((names[6], r.err.count("has given up")), ("_Z5plainPi", 1), "said once")
    assert time.time() - start < 60, "%.1f s" % (time.time() - start)


@test
def a_good_name_after_a_bad_one():
    library()
    for bad in (doubling(30), b"_Z1f" + b"P" * 4000 + b"i"):
        paths = list(renamed(b"_Z5plainPi", bad, b"_ZN3cub11EmptyKernelIvEEvv", b"_Z5plainPi"))
        r = cuvet("list", "--kernels", "--demangle", *paths, timeout=100)
        names = re.findall(r"^      (.*?)  REG:", r.out, flags=re.M)
        equal((names[0], names[2], names[3]), ("plain(int*)", "void cub::EmptyKernel<void>()", "plain(int*)"), repr(bad[:20]))


@test
def in_the_cage():
    library()
    for args in (["list", "--kernels"], ["dump", "--symbols"]):
        r = cuvet(*args, "--demangle", sample("plain.sm_90.cubin"))
        equal((r.rc, r.err, "plain(int*)" in r.out), (CLEAN, "", True), " ".join(args))


main()
