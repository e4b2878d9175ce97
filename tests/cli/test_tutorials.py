# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each command of docs/tutorials, run: it prints what the page says. CV_GOLDEN_UPDATE=1 writes what it prints into the page.
The links of all pages lead somewhere, with no mkdocs (tools/gen_site.py), and mkdocs builds them where it is."""
import glob
import os
import re
import shutil
import subprocess
import sys

from lib_cli import CUVET, ROOT, Skip, equal, main, needs_packages, scratch, test

PAGES = sorted(glob.glob(os.path.join(ROOT, "docs", "tutorials", "*.md")) + [os.path.join(ROOT, "docs", "from-cuobjdump.md")])
BLOCK = re.compile(r"(^```console\n)(.*?)(^```$)", re.S | re.M)


def commands(text):
    """[command, with its further lines] and what is between, of a block"""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:]])
        elif line.startswith("> ") or line == ">":
            found[-1].append(line[2:])
    return found


def place():
    d = scratch()
    for name in ("corpus", "tests", "tools", "examples"):
        os.symlink(os.path.join(ROOT, name), os.path.join(d, name))
    os.mkdir(os.path.join(d, "build"))
    for name in ("cuvet-worker", "cuvet-package"):
        if os.path.exists(os.path.join(os.path.dirname(CUVET), name)):
            os.symlink(os.path.join(os.path.dirname(CUVET), name), os.path.join(d, "build", name))
    return d


def run_page(path):
    """The text of the page, with what its commands print now: all of them in one shell, as a reader has it."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    script, mark = ["exec 2>&1"], "--- end of a command, %d ---"
    number = 0
    for block in BLOCK.finditer(text):
        for command in commands(block.group(2)):
            script += command + ["keep=$?; printf '\\n%s\\n' '" + mark % number + "'; (exit $keep)"]
            number += 1
    env = dict(os.environ, PATH=os.path.dirname(CUVET) + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    p = subprocess.run(["bash", "--noprofile", "--norc", "-s"], input="\n".join(script) + "\n", cwd=place(), env=env, capture_output=True, text=True, timeout=300, check=False)
    parts = re.split(r"\n--- end of a command, \d+ ---\n", p.stdout)
    equal(len(parts), number + 1, "commands of %s: %s" % (os.path.basename(path), p.stdout[-800:]))
    parts = iter(parts)

    def filled(block):
        out = []
        for command in commands(block.group(2)):
            out += ["$ " + command[0]] + [("> " + line).rstrip() for line in command[1:]]
            said = next(parts).rstrip("\n")
            out += said.split("\n") if said else []
        return block.group(1) + "\n".join(out) + "\n" + block.group(3)

    return text, BLOCK.sub(filled, text)


def one(path):
    needs_packages()
    text, now = run_page(path)
    if os.environ.get("CV_GOLDEN_UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(now)
    else:
        equal(now.splitlines(), text.splitlines(), os.path.basename(path))
    assert BLOCK.search(text), "no command in " + path


def add(path):
    def tutorial():
        one(path)

    tutorial.__name__ = re.sub(r"\W", "_", os.path.basename(path)[:-3])
    test(tutorial)


for each in PAGES:
    add(each)


@test
def links():
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gen_site.py"), "--cuvet", CUVET, "--out", scratch(), "--check"], capture_output=True, text=True, check=False)
    equal((p.returncode, p.stderr), (0, ""), p.stdout)
    pages, rules, shown = map(int, re.search(r"(\d+) pages, (\d+) of them of rules, (\d+) of these with bytes", p.stdout).groups())
    assert pages > rules > 600 and shown > 400, p.stdout


@test
def toolkits():
    """The table has the figures of the evidence and the releases that are tried."""
    with open(os.path.join(ROOT, "docs", "evidence", "world.md"), encoding="utf-8") as f:
        found = re.findall(r"^\| (?:toolkit|ptxas|nvlink|nvasm_internal|finalizer) (\d+\.\d+)(?:, inferred)? \| ([\d,]+) \|", f.read(), flags=re.M)
    with open(os.path.join(ROOT, "docs", "toolkits.md"), encoding="utf-8") as f:
        rows = {r: (n, made) for r, n, made in re.findall(r"^\| (\d+\.\d+) \| ([\d,]*) \| ([^|]*) \|", f.read(), flags=re.M)}
    counts = {}
    for release, n in found:
        counts[release] = counts.get(release, 0) + int(n.replace(",", ""))
    equal({r: n for r, (n, _) in rows.items() if n}, {r: "{:,}".format(n) for r, n in counts.items()}, "in wheels")
    with open(os.path.join(ROOT, "tests", "world", "toolkits.tsv"), encoding="utf-8") as f:
        made = [line.split("\t") for line in f if line[0].isdigit()]
    for row in made:
        equal(rows[row[0]][1], "scanned and linked: ptxas %s, nvJitLink %s" % (row[2], row[4]), row[0])
    equal(sorted(r for r, (_, what) in rows.items() if what.startswith("scanned and linked: ptxas")), sorted(row[0] for row in made), "no other")


@test
def the_site():
    program = shutil.which("mkdocs")
    if not program:
        raise Skip("mkdocs is not installed")
    if not os.environ.get("CV_FULL"):
        raise Skip("CV_FULL is not set")
    out = scratch()
    for command in ([sys.executable, os.path.join(ROOT, "tools", "gen_site.py"), "--cuvet", CUVET, "--out", out],
                    [program, "build", "--strict", "--quiet", "--config-file", os.path.join(out, "mkdocs.yml")]):
        p = subprocess.run(command, capture_output=True, text=True, check=False)
        equal((p.returncode, p.stderr), (0, ""), p.stdout)
    with open(os.path.join(out, "html", "docs", "rules", "CV-FATBIN-014", "index.html"), encoding="utf-8") as f:
        page = f.read()
    assert "^^" in page and "00000010" in page, "a picture"
    assert not re.search(r'(?:src|href)="(?:https?:)?//(?!www\.mkdocs\.org)', page), "nothing is fetched from elsewhere"


main()
