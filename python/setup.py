# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds libcuvet with the project's own make, and puts it and the declarations of its headers into the package.

The source of the library is the tree around this folder, or, in a source distribution, the folder library/ beside this
file. Environment: CC, CFLAGS, LDFLAGS, MAKE as usual; CUVET_CODECS=shared leaves the decompressors out of the library (they
have to be installed where it runs); CUVET_BUILD names a folder where objects of the library are kept between two builds;
CUVET_NOTICES a folder with the texts liblz4 and libzstd, and so on, which a wheel with these libraries inside has to have (default: what Debian has).

The command comes along: bin/cuvet and bin/cuvet-package in the environment, with libarchive and the decompressors in them, and libjansson and
libnettle in lib/cuvet beside. CUVET_COMMAND=no leaves it out: then libjansson, nettle, libarchive and libseccomp are not needed.
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
NEEDED = ("Makefile", "LICENSE", "deps.def", "mk", "include", "spec", "src", "cli", "compat", "tools/gen_cdef.py", "tools/probe_flags.sh")
WITH_COMMAND = os.environ.get("CUVET_COMMAND", "yes") != "no" and os.environ.get("CUVET_CODECS", "static") == "static"
PROGRAMS = ("cuvet", "cuvet-package")
# Loaded by them when they are needed (cli/loaded.h), and what they are called for whoever asks which licence they have.
LOADED = {"libjansson.so.4": "libjansson", "libnettle.so.8": "nettle"}
INSIDE = ("liblz4", "libzstd") + (("libarchive", "liblzma", "libbz2", "zlib1g", "libjansson", "nettle") if WITH_COMMAND else ())


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
    for name in INSIDE:
        path = os.path.join(own, name) if own else "/usr/share/doc/%s-dev/copyright" % name
        if os.path.isfile(path):
            yield name, path
        else:
            print("cuvet: warning: no notice of %s (%s): whoever hands this package on has to add it, see CUVET_NOTICES" % (name, path))


def loaded_path(name):
    """Where the compiler of the programs finds a library, as the loader would."""
    found = subprocess.run(shlex.split(os.environ.get("CC", "cc")) + ["-print-file-name=" + name], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        raise SystemExit("cuvet: %s is not there, which the command needs: on Debian and Ubuntu\n  apt-get install libjansson-dev nettle-dev\n"
                         "CUVET_COMMAND=no leaves the command out" % name)
    # As a file of its own: a link would be left behind.
    return os.path.abspath(found)


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
        if WITH_COMMAND and not self.editable_mode:
            programs = [os.path.join(self.build_folder(), name) for name in PROGRAMS]
            self.distribution.data_files = [("bin", programs), ("lib/cuvet", [loaded_path(name) for name in LOADED])]

    def build_folder(self):
        return os.path.abspath(os.environ.get("CUVET_BUILD") or
                               os.path.join(self.get_finalized_command("build").build_temp, "library"))

    def make_library(self):
        build = self.build_folder()
        library = os.path.join(build, "libcuvet.so." + of_makefile("SOVERSION"))
        codecs = os.environ.get("CUVET_CODECS", "static")
        command = shlex.split(os.environ.get("MAKE", "make")) + [
            "-C", ROOT, "-j%d" % (os.cpu_count() or 1), "BUILD=" + build, "MODE=release", "CODECS=" + codecs, library]
        if WITH_COMMAND:
            command += ["ARCHIVE=static", "LOADED_FROM=$$ORIGIN/../lib/cuvet"] + [os.path.join(build, name) for name in PROGRAMS]
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
                "on Debian and Ubuntu\n  apt-get install make gcc libc6-dev liblz4-dev libzstd-dev%s" %
                (error, " and their\nstatic libraries (CUVET_CODECS=shared does without those, and without the command)" if codecs == "static" else "",
                 " libjansson-dev nettle-dev libseccomp-dev libarchive-dev liblzma-dev libbz2-dev zlib1g-dev\n"
                 "of which CUVET_COMMAND=no needs the first five alone, and leaves the command out" if WITH_COMMAND else "")) from error
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

    With the decompressors inside, it and the command need glibc alone: then the tag says since which version (manylinux_2_36_x86_64), so
    that pip does not install it where it would not load, and a package index takes it.
    """

    def get_tag(self):
        platform = super().get_tag()[2]
        found = glob.glob(os.path.join(self.get_finalized_command("build").build_lib, "cuvet", "libcuvet.so.*"))
        found += [path for _, paths in self.distribution.data_files or () for path in paths]
        versions = [needed_glibc(path) for path in found] if os.environ.get("CUVET_CODECS", "static") == "static" else []
        version = max((v for v in versions if v is not None), default=None)
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
