# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command under the name nvlink: spelling, words, streams, silence and exit codes are nvlink 13.0.88's, as measured,
and what nvlink would take and cuvet does not is one line on standard error. Without any tool of the vendor's; the
comparison with the real one is tests/differential/nvlink_place.py."""
import os
import shutil
import struct
import subprocess

from lib_cli import CLEAN, CUVET, IO, USAGE, cuvet, equal, main, sample, scratch, test, write

A, B = sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")
HOST_A, HOST_B, PLAIN = sample("host-two_a.o"), sample("host-two_b.o"), sample("host-plain.so")
FATAL, LATE = 1, 255


def nvlink(*args, cwd=None, env=None):
    """Under that name, as a link to the command."""
    where = scratch()
    tool = os.path.join(where, "nvlink")
    os.symlink(os.path.realpath(CUVET), tool)
    r = subprocess.run([tool, *args], capture_output=True, text=True, cwd=cwd or where, timeout=120, check=False,
                       env=dict(os.environ, **(env or {})))
    assert r.returncode >= 0, "died by signal %d: %s" % (-r.returncode, args)
    r.where = cwd or where
    return r


def linked(*args, **more):
    """The bytes of a link that must work, without a word."""
    r = nvlink("-arch=sm_75", "-o", "out.cubin", *args, **more)
    equal((r.returncode, r.stdout, r.stderr), (0, "", ""), str(args))
    with open(os.path.join(r.where, "out.cubin"), "rb") as f:
        return f.read()


def fails(words, *args, rc=FATAL, **more):
    """It says this, and no more, and writes nothing."""
    r = nvlink(*args, **more)
    equal((r.returncode, r.stdout, r.stderr), (rc, "", words), str(args))
    equal([n for n in os.listdir(r.where) if n.endswith((".cubin", ".c"))], [], str(args))


def is_empty(image):
    """A cubin without code: what nvlink makes when nothing takes part."""
    equal((image[:4], struct.unpack_from("<HH", image, 0x10)), (b"\x7fELF", (2, 190)))
    assert b".text." not in image and b".nv.callgraph\0" in image
    return True


def objects():
    where = scratch()
    with open(os.path.join(where, "plain.c"), "w", encoding="ascii") as f:
        f.write("int plain(void) { return 1; }\n")
    return where


@test
def the_same_link_as_under_the_own_name():
    out = os.path.join(scratch(), "own.cubin")
    equal(cuvet("link", "-arch=sm_75", A, B, "-o", out).rc, CLEAN)
    with open(out, "rb") as f:
        equal(linked(A, B), f.read())


@test
def silence_where_the_reference_is_silent():
    """What nvcc passes, libraries of the host, and the kernels that no host code names."""
    linked(HOST_A, HOST_B, "-m64", "--shared", "-cpu-arch=X86_64", "--host-ccbin", "gcc", "-nvvmpath=/nowhere")
    linked(HOST_A, HOST_B, "-L/nowhere", "-lm", "-lpthread", "-ldl", "-lrt", "-lstdc++", "-lnobody-has-this")
    linked(A, B, "-shared", "-extrawarn", "-Xnvvm", "-v", "-split-compile", "2", "-disable-infos")


@test
def every_spelling():
    whole = linked(A, B)
    options = scratch()
    with open(os.path.join(options, "words"), "w", encoding="ascii") as f:
        f.write('-arch=sm_75 "-o" out.cubin\n%s' % A)
    for args in (["-arch=sm_75", "-o", "out.cubin", A, B], ["-arch", "sm_75", "-o=out.cubin", A, B],
                 ["--arch=sm_75", "--output-file", "out.cubin", A, B],
                 [A, "--arch", "sm_75", B, "--output-file=out.cubin", "-m", "64"],
                 ["-optf", os.path.join(options, "words"), B], ["--options-file=" + os.path.join(options, "words"), B],
                 ["-arch=sm_75", "-arch=sm_75", "-m64", "-m=64", "-o", "out.cubin", "-o", "out.cubin", A, B],
                 ["-arch=sm_75", "-o", "out.cubin", A, B, "-l="]):
        r = nvlink(*args)
        equal((r.returncode, r.stdout, r.stderr), (0, "", ""), str(args))
        with open(os.path.join(r.where, "out.cubin"), "rb") as f:
            assert f.read() == whole, args


@test
def a_file_is_a_file_whatever_its_name():
    """No standard streams."""
    where = scratch()
    shutil.copy(A, os.path.join(where, "-"))
    r = nvlink("-arch=sm_75", "-o", "out.cubin", "-", B, cwd=where)
    equal((r.returncode, r.stderr), (0, ""))
    r = nvlink("-arch=sm_75", "-o", "-", A, B)
    equal((r.returncode, r.stdout, r.stderr, os.path.exists(os.path.join(r.where, "-"))), (0, "", "", True))


@test
def the_last_value_counts_and_that_is_said():
    said = "nvlink warning : incompatible redefinition for option '%s', the last value of this option was used\n"
    r = nvlink("-arch=sm_80", "-arch=sm_75", "-o", "x", "-w", "-o", "out.cubin", "-cpu-arch=X86", "-cpu-arch=X86_64", A, B)
    equal((r.returncode, r.stderr), (0, said % "arch" + said % "output-file" + said % "cpu-arch"))
    equal(os.path.exists(os.path.join(r.where, "x")), False)


@test
def words_about_the_command_line():
    base = ["-arch=sm_75", "-o", "out.cubin", A, B]
    for words, args in (
            ("Unknown arch name '(null)'", []),
            ("Unknown arch name '(null)'", ["-o", "out.cubin", A]),
            ("Must specify output file with -o option", ["-arch=sm_75", A]),
            ("No input files specified; use option --help for more information", base[:3]),
            ("No input files specified; use option --help for more information", base[:3] + ["-lm"]),
            ("Value 'sm_99' is not defined for option 'arch'", ["-arch=sm_99", A]),
            ("Value '' is not defined for option 'arch'", ["-arch=", A]),
            ("Value '32' is not defined for option 'machine'", base + ["-m32"]),
            ("Value 'foo' is not defined for option 'cpu-arch'", base + ["-cpu-arch=foo"]),
            ("'foo': expected a number", base + ["-maxrregcount=foo"]),
            ("'foo': expected true or false", base + ["-device-stack-protector", "foo"]),
            ("Unknown option 'bogus'", base + ["-bogus"]), ("Unknown option '-bogus'", base + ["--bogus"]),
            ("Unknown option '-'", base + ["--"]), ("Unknown option '-g'", base + ["--g"]),
            ("Unknown option 'debug'", base + ["-debug"]), ("Unknown option 'oout'", base + ["-oout"]),
            ("Unknown option 'register-link-binaries=r.c'", base + ["-register-link-binaries=r.c"]),
            ("argument expected after '-arch'", base + ["-arch"]), ("argument expected after '-o'", base + ["-o"]),
            ("no argument expected after '-g'", base + ["-g=true"]),
            ("no argument expected after '--debug'", base + ["--debug=1"]),
            ("Conflicting options '--Ofast-compile' and 'no -dlto'", base + ["-Ofc", "max"]),
            ("Conflicting options '-emit-ptx' and 'no -dlto'", base + ["-emit-ptx"]),
            ("Link target of 'lto_80' is virtual target that is not JIT-able; use 'sm_' target instead",
             ["-arch=lto_80", "-o", "out.cubin", A])):
        fails("nvlink fatal   : %s\n" % words, *args)


@test
def what_is_refused_is_named():
    base = ["-arch=sm_75", "-o", "out.cubin", A, B]
    for option in ("dlto", "lto"):
        r = nvlink(*base, "-" + option)
        equal(r.returncode, FATAL)
        assert r.stderr.startswith("nvlink fatal   : --") and "link-time optimization" in r.stderr, r.stderr
        equal(r.stderr.count("\n"), 1)
    fails("nvlink fatal   : nothing is linked for compute_75, and 'out.cubin' would not be written; use an 'sm_' target\n",
          "-arch=compute_75", "-o", "out.cubin", A)


@test
def files_that_cannot_be_read():
    fails("nvlink fatal   : Could not open input file 'nobody.o' (No such file or directory)\n", "-arch=sm_75", "-o",
          "out.cubin", "nobody.o")
    fails("nvlink fatal   : Could not open options file 'nobody' (No such file or directory)\n", "-optf", "nobody")
    r = nvlink("-arch=sm_75", "-o", "/nowhere/out.cubin", A, B)
    equal((r.returncode, r.stderr.count("\n"), r.stderr[:17]), (FATAL, 1, "nvlink fatal   : "))


@test
def errors_of_a_link():
    """Late ones end with 255, names that do not agree with 1 and a last word."""
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A)
    lines = r.stderr.splitlines()
    equal(r.returncode, LATE, r.stderr)
    assert lines and all(x.startswith("nvlink error   : Undefined reference to '") and x.endswith("' in '%s'" % A)
                         for x in lines), r.stderr
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, "-report-arch")
    assert all(x.endswith("' in '%s' (target: sm_75)" % A) for x in r.stderr.splitlines()), r.stderr
    for args in ([A, B, B], [A, B, "-v"], [A, B, "nobody.o"], [A, B, sample("elf-raw.fatbin")], [A, "-Werror"]):
        r = nvlink("-arch=sm_75", "-o", "out.cubin", "-report-arch", *args)
        assert r.stderr and all(x.endswith(" (target: sm_75)") for x in r.stderr.splitlines()), r.stderr
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, B)
    lines = r.stderr.splitlines()
    equal((r.returncode, lines[-1]), (FATAL, "nvlink fatal   : merge_elf failed"), r.stderr)
    assert all(x.startswith("nvlink error   : Multiple definition of '") and "first defined in '%s'" % B in x
               for x in lines[:-1]) and len(lines) > 1, r.stderr
    fails("nvlink fatal   : Input file '%s' arch does not match target 'sm_90'\n" % A, "-arch=sm_90", "-o", "out.cubin", A)


@test
def passed_over():
    """Host files without relocatable code, and without any: the cubin has no code then."""
    where = objects()
    with open(os.path.join(where, "host.o"), "wb") as f:
        f.write(host_object())
    subprocess.run(["ar", "rc", "libhost.a", "host.o"], cwd=where, check=True)
    assert is_empty(linked("host.o", cwd=where)) and is_empty(linked("libhost.a", cwd=where))
    assert is_empty(linked(PLAIN))
    equal(linked(A, B, "host.o", "libhost.a", PLAIN, cwd=where), linked(A, B))
    equal(linked(A, B, "-L.", "-lhost", cwd=where), linked(A, B))


@test
def nothing_to_link_for_any_target():
    """nvcc links every program, and most have no relocatable code."""
    for arch in ("75", "80", "89", "90", "90a", "100", "100a", "100f", "103", "110", "120", "121"):
        for form in ([], ["-r"], ["-g"]):
            r = nvlink("-arch=sm_" + arch, *form, "-o", "out.cubin", sample("host-plain.o"))
            equal((r.returncode, r.stdout, r.stderr), (0, "", ""), arch + str(form))
            out = os.path.join(r.where, "out.cubin")
            equal(cuvet("scan", "-q", out).rc, CLEAN, arch + str(form))


def host_object():
    """An ELF object for x86-64 without sections but its names."""
    names = b"\0.shstrtab\0"
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 1, 62, 1, 0, 0, 0x40 + len(names) + 5, 0, 64, 0, 0, 64, 2, 1)
    table = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 0x40, len(names), 0, 0, 1, 0)
    return head + names + bytes(5) + table


@test
def code_for_other_targets():
    """A warning that -w does not silence, and -Werror makes an error."""
    said = "nvlink %s: SM Arch ('sm_90') not found in '%s'\n"
    for more, rc, how in (([], 0, "warning "), (["-w"], 0, "warning "), (["-Werror"], LATE, "error   ")):
        path = sample("elf-raw.fatbin")  # sm_75 and no PTX
        r = nvlink("-arch=sm_90", "-o", "out.cubin", path, *more)
        equal((r.returncode, r.stderr), (rc, said % (how, path)), str(more))
        if rc == 0:
            with open(os.path.join(r.where, "out.cubin"), "rb") as f:
                is_empty(f.read())
    linked_for_90 = nvlink("-arch=sm_90", "-o", "out.cubin", sample("elf-raw.fatbin"), "-suppress-arch-warning")
    equal((linked_for_90.returncode, linked_for_90.stderr), (0, ""))


@test
def what_only_a_compiler_makes_code_of():
    """nvlink has one in itself. LTO-IR is not left out as code for other targets is."""
    fails("nvlink fatal   : Input file '%s' has nothing but PTX for target 'sm_90', which needs a compiler: "
          "CUVET_COMPILER=/path/to/ptxas [CV-COMPILE-001]\n" % HOST_B, "-arch=sm_90", "-o", "out.cubin", HOST_B)
    path = sample("lto.fatbin")
    fails("nvlink fatal   : Input file '%s': IR for link-time optimization needs a compiler\n" % path, "-arch=sm_90", "-o",
          "out.cubin", path)


@test
def still_hardened():
    """What nvlink takes without a word is refused in one line that names the file and the rule."""
    where = scratch()
    with open(A, "rb") as f:
        image = f.read()
    program = os.path.join(where, "program")
    r = nvlink("-arch=sm_75", "-o", program, A, B)
    equal(r.returncode, 0)
    for name, data, rule in (("cut.cubin", image[:200], "CV-"), ("empty.o", b"", "CV-CLASS-002"),
                             ("text.o", b"no object at all, but some text", "CV-CLASS-001"), ("done.cubin", None, "CV-ADMIT-003")):
        path = program if data is None else write(data, name)
        r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, path)
        equal((r.returncode, r.stderr.count("\n")), (FATAL, 1), name + r.stderr)
        assert r.stderr.startswith("nvlink fatal   : Input file '%s': " % path) and "[%s" % rule in r.stderr, r.stderr
        equal(os.path.exists(os.path.join(r.where, "out.cubin")), False)


@test
def modules_alone_for_a_virtual_architecture():
    r = nvlink("-arch=compute_75", "--register-link-binaries=r.c", HOST_A, HOST_B)
    equal((r.returncode, r.stdout, r.stderr), (0, "", ""))
    with open(os.path.join(r.where, "r.c"), encoding="ascii") as f:
        virtual = f.read()
    r = nvlink("-arch=sm_75", "--register-link-binaries=r.c", HOST_A, HOST_B, "-o", "out.cubin")
    with open(os.path.join(r.where, "r.c"), encoding="ascii") as f:
        equal(virtual, f.read())
    assert virtual.startswith("#define NUM_PRELINKED_OBJECTS 2\nDEFINE_REGISTER_FUNC("), virtual
    # A library of the system counts where there is other code.
    where = scratch()
    shutil.copy(HOST_B, os.path.join(where, "cudadevrt.o"))
    for files, count in (([HOST_A, "cudadevrt.o"], 2), ([sample("host-plain.o"), "cudadevrt.o"], 0)):
        r = nvlink("-arch=compute_75", "--register-link-binaries=r.c", *files, cwd=where)
        with open(os.path.join(where, "r.c"), encoding="ascii") as f:
            equal((r.returncode, r.stderr, f.readline()), (0, "", "#define NUM_PRELINKED_OBJECTS %d\n" % count))


@test
def tables_of_times():
    heads = "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n"
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, "-time", "-")
    equal((r.returncode, r.stdout, r.stderr), (0, heads, ""))
    where = scratch()
    for _ in range(2):
        r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, "--time=t.csv", cwd=where)
        with open(os.path.join(where, "t.csv"), encoding="ascii") as f:
            equal((r.returncode, f.read()), (0, heads))


@test
def verbose():
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, "-v")
    equal((r.returncode, r.stdout), (0, ""))
    assert all(x.startswith("nvlink info    : ") for x in r.stderr.splitlines()), r.stderr
    assert "Function properties for '" in r.stderr and " bytes gmem" in r.stderr


@test
def version_and_help():
    for option in ("--version", "-V"):
        r = nvlink(option)
        equal((r.returncode, r.stderr), (0, ""))
        assert r.stdout.startswith("nvlink: cuvet ") and "release 13.0, V13.0.88" in r.stdout, r.stdout
    for args in (["--help"], ["-h"], ["-arch=sm_75", A, "-h"]):
        r = nvlink(*args)
        equal((r.returncode, r.stderr), (0, ""))
        assert "--register-link-binaries" in r.stdout and "--kernels-used" in r.stdout


@test
def own_options_work_too():
    """Limits, the sandbox and tools that nvlink has in itself: on the command line or in the environment."""
    linked(A, B, "--limits=roomy", "--prove")
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, "--limit=input=100")
    equal((r.returncode, r.stderr[:17]), (FATAL, "nvlink fatal   : "))
    fake = os.path.join(os.path.dirname(os.path.realpath(CUVET)), "tests", "fake_compiler")
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, env={"CUVET_COMPILER": fake})
    equal((r.returncode, r.stderr), (0, ""))
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, env={"CUVET_COMPILER": "not/absolute"})
    equal((r.returncode, r.stderr[:17]), (FATAL, "nvlink fatal   : "))


@test
def the_cage_stays_on():
    """As under the own name: where the kernel has one, it can be required."""
    own = cuvet("link", "-arch=sm_75", "-o", os.path.join(scratch(), "o"), A, B, "--sandbox=required")
    r = nvlink("-arch=sm_75", "-o", "out.cubin", A, B, "--sandbox=required")
    equal(r.returncode, 0 if own.rc == CLEAN else FATAL, r.stderr)


def toolkit():
    """The shape of one."""
    where = os.path.join(scratch(), "cuda")
    for name in ("bin/nvcc", "bin/nvlink", "bin/nvcc.profile", "bin/crt/link.stub", "include/cuda.h", "nvvm/bin/cicc", "version.json"):
        path = os.path.join(where, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec \"$(dirname \"$0\")/nvlink\" \"$@\"\n" if name == "bin/nvcc" else name)
        os.chmod(path, 0o755)
    return os.path.realpath(where)


def tree(root):
    found = {}
    for base, dirs, names in os.walk(root):
        for n in dirs + names:
            path = os.path.join(base, n)
            if os.path.islink(path):
                found[os.path.relpath(path, root)] = os.readlink(path)
            else:
                equal(os.path.relpath(path, root), "bin", "not a link")
    return found


@test
def a_shadow_is_links_alone():
    real = toolkit()
    where = os.path.join(scratch(), "shadow")
    r = cuvet("toolkit", "--from", real, where + "/")
    equal((r.rc, r.err), (CLEAN, ""))
    got = tree(where)
    want = {n: os.path.join(real, n) for n in ("include", "nvvm", "version.json", "bin/nvcc", "bin/nvcc.profile", "bin/crt")}
    equal(got, dict(want, **{"bin/nvlink": os.path.realpath(CUVET)}))
    r = subprocess.run([os.path.join(where, "bin", "nvcc"), "--version"], capture_output=True, text=True, check=False)
    assert r.stdout.startswith("nvlink: cuvet "), r.stdout
    equal(os.stat(where).st_mode & 0o777, 0o777 & ~umask())


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@test
def where_a_toolkit_is_looked_for():
    """--from, $CUDA_HOME, the nvcc on PATH, also when that is a link elsewhere or in another shadow."""
    one, two, three = toolkit(), toolkit(), toolkit()
    where = scratch()
    away = os.path.join(where, "away")
    os.mkdir(away)
    os.symlink(os.path.join(two, "bin", "nvcc"), os.path.join(away, "nvcc"))

    def made(name, *args, **env):
        r = cuvet("toolkit", *args, os.path.join(where, name), env=env)
        equal((r.rc, r.err), (CLEAN, ""))
        return os.path.dirname(os.readlink(os.path.join(where, name, "include")))

    path = away + os.pathsep + os.environ["PATH"]
    equal(made("a", "--from=" + three, CUDA_HOME=one, PATH=path), three)
    equal(made("b", CUDA_HOME=one, PATH=path), one)
    equal(made("c", CUDA_HOME="", PATH=path), two)
    equal(made("d", CUDA_HOME="/nowhere", PATH=os.path.join(where, "c", "bin") + os.pathsep + path), two)


@test
def a_driver_on_path_that_is_a_script():
    """It starts that of a toolkit elsewhere, and links to what lies beside the script would be no shadow: nvcc would go on with nvlink."""
    real, where = toolkit(), scratch()
    away = os.path.join(where, "away")
    os.mkdir(away)

    def asked(name, text):
        for tool in ("nvcc", "nvlink"):
            with open(os.path.join(away, tool), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(os.path.join(away, tool), 0o755)
        return cuvet("toolkit", os.path.join(where, name), env={"CUDA_HOME": "", "PATH": away + os.pathsep + os.environ["PATH"]})

    driver = os.path.join(real, "bin", "nvcc")
    for number, text in enumerate(("#!/bin/sh\nexec %s \"$@\"\n", "#!/bin/bash\nexport X=1\nexec '%s' $@", "#!/bin/sh\n  # exec /old/bin/nvcc\nREAL=%s; exec $REAL \"$@\"\n")):
        name = "shadow%d" % number
        r = asked(name, text % driver)
        equal((r.rc, r.err), (CLEAN, ""), text)
        equal(os.readlink(os.path.join(where, name, "bin", "nvcc")), driver)
    for text in ("#!/bin/sh\nexec $(which -a nvcc | tail -n 1)\n", "#!/bin/sh\nexec /nowhere/bin/nvcc\n", "#!", "", "\177ELF" + driver,
                 "#!/bin/sh\nexec %s/nvcc\n" % away):
        r = asked("none", text)
        equal(r.rc, IO, text)
        assert "no toolkit is around it" in r.err, r.err
        assert not os.path.exists(os.path.join(where, "none")), text


@test
def shadows_that_cannot_be_made():
    real, where = toolkit(), scratch()
    full = os.path.join(where, "full")
    os.makedirs(os.path.join(full, "x"))
    open(os.path.join(where, "file"), "w", encoding="ascii").close()
    before = sorted(os.listdir(where))
    for args, rc, words in ((["--from", real, full], IO, "not empty"), (["--from", real, os.path.join(where, "file")], IO, "no folder"),
                            (["--from", "/nowhere", full + "2"], IO, "no toolkit"), (["--from", real, real + "/in"], IO, "lies in"),
                            (["--from", real, os.path.join(where, "no", "where")], IO, "No such"), (["--from", real], USAGE, "one DIR"),
                            ([full, full], USAGE, "one DIR")):
        r = cuvet("toolkit", *args)
        equal(r.rc, rc, str(args) + r.err)
        assert words in r.err, (args, r.err)
        equal((sorted(os.listdir(where)), os.listdir(full)), (before, ["x"]), str(args))
    empty = os.path.join(where, "empty")
    os.mkdir(empty)
    equal(cuvet("toolkit", "--from", real, empty).rc, CLEAN)


if __name__ == "__main__":
    main()
