# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds libcuvet with the project's own make, and puts it and the declarations of its headers into the package.

The source of the library is the tree around this folder, or, in a source distribution, the folder library/ beside this
file. Environment: CC, CFLAGS, LDFLAGS, MAKE as usual; CUVET_CODECS=shared leaves the decompressors out of the library (they
have to be installed where it runs); CUVET_BUILD names a folder where objects of the library are kept between two builds;
CUVET_NOTICES a folder with the texts liblz4 and libzstd, which a wheel with the decompressors inside has to have (default: what Debian has).
"""
import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
# What make needs for the library alone, from the root of the tree.
NEEDED = ("Makefile", "LICENSE", "deps.def", "mk", "include", "spec", "src", "tools/gen_cdef.py", "tools/probe_flags.sh")


def library_root():
    """The folder with the source of the library, or a message that says what is missing."""
    missing = {}
    for root in (os.path.join(HERE, "library"), os.path.dirname(HERE)):
        missing[root] = [name for name in NEEDED if not os.path.exists(os.path.join(root, name))]
        if not missing[root]:
            return root
    raise SystemExit("cuvet: the source of the library is needed to build this package, and is not here:\n" + "".join(
        "  %s lacks %s\n" % (root, ", ".join(names)) for root, names in missing.items()) +
        "Install from the python/ folder inside of the source tree (pip 21.3 or later builds it in its place), or from a\n"
        "source distribution that `python -m build --sdist python` made there.")


ROOT = library_root()


def of_makefile(name):
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as makefile:
        return re.search(r"^%s\s*:=\s*(\S+)" % name, makefile.read(), re.M).group(1)


def notices():
    """(name, path) of the notices of what is linked into the library; what is not found is said, and has to be added."""
    if os.environ.get("CUVET_CODECS", "static") != "static":
        return
    own = os.environ.get("CUVET_NOTICES")
    for name in ("liblz4", "libzstd"):
        path = os.path.join(own, name) if own else "/usr/share/doc/%s-dev/copyright" % name
        if os.path.isfile(path):
            yield name, path
        else:
            print("cuvet: warning: no notice of %s (%s): whoever hands this package on has to add it, see CUVET_NOTICES" % (name, path))


def declarations():
    spec = importlib.util.spec_from_file_location("gen_cdef", os.path.join(ROOT, "tools", "gen_cdef.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.declarations(os.environ.get("CC", "cc"))


class BuildWithLibrary(build_py):
    """The package, libcuvet.so.<n> and _declarations.py."""

    def run(self):
        super().run()
        package = "src/cuvet" if self.editable_mode else os.path.join(self.build_lib, "cuvet")
        library = self.make_library()
        for old in glob.glob(os.path.join(package, "libcuvet.so.*")):
            os.unlink(old)
        self.copy_file(library, os.path.join(package, os.path.basename(library)))
        for name, path in notices():
            self.mkpath(os.path.join(package, "notices"))
            self.copy_file(path, os.path.join(package, "notices", name + ".txt"), preserve_mode=False)
        self.write_declarations(os.path.join(package, "_declarations.py"))

    def make_library(self):
        build = os.path.abspath(os.environ.get("CUVET_BUILD") or
                                os.path.join(self.get_finalized_command("build").build_temp, "library"))
        library = os.path.join(build, "libcuvet.so." + of_makefile("SOVERSION"))
        codecs = os.environ.get("CUVET_CODECS", "static")
        command = shlex.split(os.environ.get("MAKE", "make")) + [
            "-C", ROOT, "-j%d" % (os.cpu_count() or 1), "BUILD=" + build, "MODE=release", "CODECS=" + codecs, library]
        # A make around us (`make check-python`) has options and a build folder of its own.
        env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
        # Without what is for debuggers, which would be three quarters of the package.
        env.setdefault("CFLAGS", "-O2")
        # For glibc before 2.36 as well; they make the start of a command faster, and nothing of a package.
        env.setdefault("LDFLAGS", "-Wl,-z,nopack-relative-relocs")
        if "CC" in os.environ:
            command.append("CC=" + os.environ["CC"])
        try:
            subprocess.run(command, check=True, env=env)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                "cuvet: the library was not built (%s).\nIt needs make, a C11 compiler, and liblz4 and libzstd with their headers%s: "
                "on Debian and Ubuntu\n  apt-get install make gcc libc6-dev liblz4-dev libzstd-dev" %
                (error, " and their\nstatic libraries (CUVET_CODECS=shared does without those)" if codecs == "static" else "")) from error
        return library

    def write_declarations(self, path):
        from cffi import FFI

        ffi = FFI()
        ffi.set_source("cuvet._declarations", None)
        ffi.cdef(declarations())
        ffi.emit_python_code(path)

    def get_outputs(self, include_bytecode=True):
        package = os.path.join(self.build_lib, "cuvet")
        return super().get_outputs(include_bytecode) + [os.path.join(package, "_declarations.py")] + \
            glob.glob(os.path.join(package, "libcuvet.so.*")) + glob.glob(os.path.join(package, "notices", "*"))


def needed_glibc(library):
    """The newest version of glibc of which the library needs a function, as 2.N: N, or None where it needs none."""
    with open(library, "rb") as handle:
        content = handle.read()
    found = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", content)]
    if b"\0GLIBC_ABI_DT_RELR\0" in content:  # packed relocations
        found.append(36)
    return max(found, default=None)


class WheelOfThisMachine(bdist_wheel):
    """For any Python 3, and for machines of this kind: the library is C, and no Python is in it.

    With the decompressors inside, it needs glibc alone: then the tag says since which version (manylinux_2_34_x86_64), so that
    pip does not install it where it would not load, and a package index takes it.
    """

    def get_tag(self):
        platform = super().get_tag()[2]
        found = glob.glob(os.path.join(self.get_finalized_command("build").build_lib, "cuvet", "libcuvet.so.*"))
        version = needed_glibc(found[0]) if found and os.environ.get("CUVET_CODECS", "static") == "static" else None
        if version is not None and platform.startswith("linux_"):
            platform = "manylinux_2_%d_%s" % (max(version, 17), platform[len("linux_"):])
        return "py3", "none", platform


class SourceWithLibrary(sdist):
    """The source of the library goes along, as library/."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in NEEDED:
            source, target = os.path.join(ROOT, name), os.path.join(base_dir, "library", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)


class WithMachineCode(Distribution):
    def has_ext_modules(self):
        return True


setup(
    version=of_makefile("VERSION"),
    distclass=WithMachineCode,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfThisMachine, "sdist": SourceWithLibrary},
)
