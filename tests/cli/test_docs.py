# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manual pages, completions and --help come from one table and say the same."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

from lib_cli import ROOT, Skip, cuvet, equal, main, sample, test

COMMANDS = ("scan", "list", "unpack", "dump", "map", "rules", "help")


def page(command):
    with open(os.path.join(ROOT, "docs", "man", "cuvet-%s.1" % command), encoding="utf-8") as f:
        return f.read().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")


@test
def generated_files_are_up_to_date():
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gen_man.py"), "--check"],
                       capture_output=True,
                       text=True,
                       check=False)
    equal((p.returncode, p.stdout), (0, ""), "tools/gen_man.py --check")


@test
def pages_have_exactly_the_options_of_help():
    for c in COMMANDS:
        shown = sorted(set(re.findall(r"^ +(?:-\w, |    )?(--[a-z-]+)", cuvet(c, "--help").out, flags=re.M)))
        options = page(c).split(".SH OPTIONS")[1].split(".SH")[0]
        equal(sorted(set(re.findall(r"(?:^|, )(--[a-z-]+)", options, flags=re.M))), shown, c)
        assert shown, c


@test
def every_option_of_help_is_accepted():
    for c in COMMANDS:
        for option, arg in re.findall(r"^ +(?:-\w, |    )?(--[a-z-]+)(=\S+)?",
                                      cuvet(c, "--help").out,
                                      flags=re.M):
            value = {"N": "1", "NAME=VALUE": "input=1"}.get(arg[1:], arg[1:].split("|")[0])
            r = cuvet(c, option + ("=" + value if arg else ""), "--help")
            equal(r.rc, 0, "%s %s" % (c, option))
            if arg:
                equal(cuvet(c, option).rc, 2, "%s %s without its argument" % (c, option))


@test
def verdicts_are_explained():
    """The same words in --help, the pages and SARIF, for each verdict that there is."""
    names = [k for k in cuvet("scan", "--format=ndjson", sample("plain.ptx"), sample("plain.ptx")).objects("summary")[0]
             if k not in ("schema", "type", "files")]
    run, = json.loads(cuvet("scan", "--format=sarif", sample("plain.ptx")).raw)["runs"]
    told = run["tool"]["driver"]["properties"]["verdicts"]
    equal(list(told), names, "SARIF")
    for text in (cuvet("--help").out, cuvet("scan", "--help").out, page("scan")):
        words = " ".join(text.split())
        for name, meaning in told.items():
            assert name + " " + meaning in words, (name, text[:80])


@test
def exit_codes_in_help_and_pages():
    text = cuvet("--help").out
    for code in range(7):
        assert re.search(r"^  %d  \S" % code, text, flags=re.M), code
        for c in COMMANDS:
            assert "\n.B %d\n" % code in page(c), (c, code)


@test
def programs_have_a_page():
    """Each program that is installed: the commands, and what they start."""
    with open(os.path.join(ROOT, "docs", "man", "cuvet-programs.7"), encoding="utf-8") as f:
        told = set(re.findall(r"^\.SS (\S+)$", f.read().replace("\\-", "-"), flags=re.M))
    with open(os.path.join(ROOT, "mk", "install.mk"), encoding="utf-8") as f:
        used = set(re.findall(r"\$\(BUILD\)/(cuvet-[a-z]+) '", f.read()))
    with open(os.path.join(ROOT, "mk", "package.mk"), encoding="utf-8") as f, open(os.path.join(ROOT, "mk", "compat.mk"), encoding="utf-8") as g:
        used |= set(re.findall(r"^(?:PACKAGE_BUILT|LTO_PROGRAM) *:?=.*/(cuvet-[a-z]+)\)?$", f.read() + g.read(), flags=re.M))
    equal((len(used), used), (3, told), "programs")
    commands = re.findall(r"^  ([a-z]+) ", cuvet("--help").out.split("commands:\n")[1].split("\n\n")[0], flags=re.M)
    assert len(commands) > 10, commands
    for command in commands:
        assert os.path.exists(os.path.join(ROOT, "docs", "man", "cuvet-%s.1" % command)), command


@test
def pages_are_well_formed():
    if not shutil.which("groff"):
        raise Skip("groff is not installed")
    for p in sorted(glob.glob(os.path.join(ROOT, "docs", "man", "*.[1-9]"))):
        r = subprocess.run(["groff", "-t", "-man", "-ww", "-Tutf8", p],
                           capture_output=True,
                           text=True,
                           check=False)
        equal((r.returncode, r.stderr), (0, ""), os.path.basename(p))


def complete(*words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cuvet; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    p = subprocess.run(
        ["bash", "-c", script, "bash",
         os.path.join(ROOT, "completions", "cuvet.bash"), "cuvet", *words],
        capture_output=True,
        text=True,
        check=False)
    return p.stdout.split()


@test
def bash_completion():
    if not shutil.which("bash"):
        raise Skip("bash is not installed")
    equal(complete("sc"), ["scan"], "command")
    equal(set(complete("")) >= set(COMMANDS), True, "commands")
    equal(complete("scan", "--format", "=", "s"), ["sarif"], "choice after =")
    equal(complete("scan", "--format", "nd"), ["ndjson"], "choice")
    equal(complete("list", "--ker"), ["--kernels"], "option")
    equal(complete("scan", "--ker"), [], "an option of another command")
    assert "--no-progress" in complete("unpack", "--"), "options"


@test
def other_completions():
    for shell, name in (("zsh", "_cuvet"), ("fish", "cuvet.fish")):
        with open(os.path.join(ROOT, "completions", name), encoding="utf-8") as f:
            text = f.read()
        for word in ("kernels", "list-limits", "text ndjson sarif", "strict roomy tiny"):
            assert word in text, (name, word)
        if shutil.which(shell):
            equal(
                subprocess.run([shell, "-n", os.path.join(ROOT, "completions", name)],
                               check=False).returncode, 0, name)


main()
