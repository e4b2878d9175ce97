#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation as a site: `make site`. Writes the pages of the tree, a page for each rule with the bytes of a file that breaks it,
and the manual pages into a folder, with a configuration for mkdocs beside it; `--check` looks whether each link between them leads
somewhere (needs no mkdocs). Nothing is fetched, by this or by who reads the site.

usage: gen_site.py --cuvet build/cuvet --out FOLDER [--check]        writes FOLDER/pages and FOLDER/mkdocs.yml
"""
import argparse
import glob
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_table  # noqa: E402

ROOT = rules_table.ROOT
HOSTILE = os.path.join("corpus", "hostile")
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", "corpus/README.md", "fuzz/README.md"]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
ROW, BEFORE, AFTER = 16, 2, 3
CONFIG = """# Written by tools/gen_site.py
site_name: cuvet
docs_dir: pages
site_dir: %s
theme: {name: mkdocs, highlightjs: false}
markdown_extensions: [tables, fenced_code, toc]
nav:
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def outside_code(text):
    """The text with its code blanked out, as long as it was."""
    return re.sub(r"^```.*?^```$|`[^`\n]+`", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S | re.M)


class Site:
    def __init__(self, out):
        self.out, self.pages, self.files = out, {}, set()

    def add_tree(self):
        names = PAGES + [os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)]
        for name in sorted(set(names)):
            if os.path.exists(os.path.join(ROOT, name)):
                self.pages[name] = read(name)

    def link_to(self, page, target):
        """What a link of a page becomes; files and folders that it names come along."""
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return target
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if name.startswith("..") or name in self.pages:
            return target
        if name + ".md" in self.pages:  # a manual page
            return path + ".md" + ("#" + anchor if anchor else "")
        if os.path.isdir(os.path.join(ROOT, name)):
            self.add_folder(name)
            return posixpath.join(path, "README.md") + ("#" + anchor if anchor else "")
        if os.path.isfile(os.path.join(ROOT, name)):
            self.files.add(name)
        return target

    def add_folder(self, name):
        if name + "/README.md" in self.pages:
            return
        rows = ["# %s/" % name, ""]
        for entry in sorted(os.listdir(os.path.join(ROOT, name))):
            if os.path.isfile(os.path.join(ROOT, name, entry)) and not entry.startswith("."):
                self.files.add(name + "/" + entry)
                rows.append("- [%s](%s)" % (entry, entry))
        self.pages[name + "/README.md"] = "\n".join(rows) + "\n"

    def resolve(self):
        """Rewrite links; pages that are made meanwhile have their own."""
        for name in list(self.pages):
            text, plain = self.pages[name], outside_code(self.pages[name])
            parts, at = [], 0
            for m in LINK.finditer(plain):
                parts += [text[at:m.start(2)], self.link_to(name, m.group(2))]
                at = m.end(2)
            self.pages[name] = "".join(parts) + text[at:]

    def write(self):
        pages = os.path.join(self.out, "pages")
        shutil.rmtree(pages, ignore_errors=True)
        for name, text in self.pages.items():
            os.makedirs(os.path.dirname(os.path.join(pages, name)), exist_ok=True)
            with open(os.path.join(pages, name), "w", encoding="utf-8") as f:
                f.write(text)
        for name in self.files:
            os.makedirs(os.path.dirname(os.path.join(pages, name)), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, name), os.path.join(pages, name))

    def broken(self):
        """Links of the pages that lead nowhere."""
        bad, known = [], {}
        for name, text in sorted(self.pages.items()):
            for m in LINK.finditer(outside_code(text)):
                path, _, anchor = m.group(2).partition("#")
                if re.match(r"[a-z]+:", path):
                    continue
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
                if target not in self.pages and target not in self.files:
                    bad.append("%s: a link to %s, which is not there" % (name, m.group(2)))
                elif anchor and target in self.pages:
                    if target not in known:
                        known[target] = anchors(self.pages[target])
                    if anchor not in known[target]:
                        bad.append("%s: %s has no heading %s" % (name, target, anchor))
        return bad


def anchors(text):
    """The ids of the headings, as the site has them."""
    found = set()
    for title in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), flags=re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        number, own = 1, slug
        while own in found:
            own = "%s_%d" % (slug, number)
            number += 1
        found.add(own)
    return found


# ---- a page for each rule ----


def findings(cuvet):
    """By rule: the smallest file of corpus/hostile that is named for it and breaks it, and the finding."""
    names = sorted(os.listdir(os.path.join(ROOT, HOSTILE)))
    p = subprocess.run([cuvet, "scan", "--format=ndjson", "--no-progress", "--", *[os.path.join(HOSTILE, n) for n in names]], cwd=ROOT, capture_output=True, check=False)
    best = {}
    for line in p.stdout.splitlines():
        o = json.loads(line)
        if o["type"] != "finding" or not os.path.basename(o["file"]).startswith(o["rule"] + "."):
            continue
        size = os.path.getsize(os.path.join(ROOT, o["file"]))
        if o["rule"] not in best or size < best[o["rule"]][0]:
            best[o["rule"]] = (size, o)
    if not best:
        sys.exit("site: %s found nothing in %s: exit code %d: %s" % (cuvet, HOSTILE, p.returncode, p.stderr.decode("utf-8", "replace")[:500]))
    return {rule: o for rule, (_, o) in best.items()}


def picture(finding):
    """Rows of bytes around the place, with a mark under it."""
    with open(os.path.join(ROOT, finding["file"]), "rb") as f:
        data = f.read()
    off = int(str(finding["offset"]), 0)
    if off >= len(data):
        return ["The place is byte 0x%x, behind the %d bytes of the file." % (off, len(data)), ""]
    size = max(1, min(int(str(finding["length"]), 0) or 1, ROW))
    first = max(0, off // ROW - BEFORE)
    rows = ["```"]
    for row in range(first, min(off // ROW + AFTER, (len(data) + ROW - 1) // ROW)):
        part = data[row * ROW:(row + 1) * ROW]
        shown = "".join(chr(b) if 0x20 <= b < 0x7F else "." for b in part)
        rows.append("%08x  %-47s  %s" % (row * ROW, part.hex(" "), shown))
        marks = [i for i in range(off - row * ROW, off + size - row * ROW) if 0 <= i < len(part)]
        if marks:
            rows.append(" " * (10 + 3 * marks[0]) + "^" * (3 * len(marks) - 1))
    return rows + ["```", ""]


def rule_page(rule, finding):
    out = ["# %s" % rule["id"], "", "**%s** (%s, %s)" % (rule["title"], rule["severity"].lower(), rule["cls"].lower()), "",
           "Message: `%s`" % rule["message"], ""]
    if rule["why"]:
        out += [rule["why"], ""]
    if not finding:
        return "\n".join(out + ["No file of the corpus is named for this rule and breaks it in a plain scan.", "", "[All rules](../rules.md)", ""])
    out += ["## A file that breaks it", "", "`%s`, %s, byte 0x%x%s:" % (
        finding["file"], "`%s`" % finding["path"] if finding["path"] else "the file", int(str(finding["offset"]), 0),
        " (where the compressed piece begins; in the unpacked one it is byte 0x%x)" % int(str(finding["inner_offset"]), 0) if "inner_offset" in finding else ""), ""]
    out += picture(finding)
    # As code: what is between backquotes is no markup.
    out += ["cuvet says: `%s`" % finding["message"].replace("`", "'"), "", "[All rules](../rules.md)", ""]
    return "\n".join(out)


def add_rules(site, cuvet):
    found, shown = findings(cuvet), 0
    for rule in rules_table.rules():
        site.pages["docs/rules/%s.md" % rule["id"]] = rule_page(rule, found.get(rule["id"]))
        shown += rule["id"] in found
    site.pages["docs/rules.md"] = re.sub(r"^### (CV-[A-Z]+-\d{3})$", r"### \1\n\n[bytes of a file that breaks it](rules/\1.md)", site.pages["docs/rules.md"], flags=re.M)
    return shown


# ---- the rest ----


def add_manuals(site):
    groff = shutil.which("groff")
    rows = ["# Manual pages", ""]
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "man", "*.[1-9]"))):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if groff:
            p = subprocess.run([groff, "-t", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u", path], capture_output=True, text=True, check=False)
            text = p.stdout if p.returncode == 0 and p.stdout else text
        site.pages["docs/man/%s.md" % name] = "# %s(%s)\n\n```\n%s\n```\n" % (name[:-2], name[-1], text.replace("```", "'''"))
        rows.append("- [%s](%s.md)" % (name, name))
    site.pages["docs/man/README.md"] = "\n".join(rows) + "\n"


def title_of(text, name):
    found = re.search(r"^# +(.*)$", text, flags=re.M)
    return re.sub(r"[`\[\]]", "", found.group(1)) if found else name


def configuration(site, where):
    def rows(names):
        return ["  - %s: %s" % (json.dumps(title_of(site.pages[n], n)), n) for n in names]

    def section(title, names):
        there = [n for n in names if n in site.pages]
        return ["- %s:" % title] + rows(there) if there else []

    docs = sorted(n for n in site.pages if re.fullmatch(r"docs/[\w-]+\.md", n) and n not in ("docs/README.md", "docs/rules.md"))
    nav = ["- cuvet: README.md", "- Pages: docs/README.md"]
    nav += section("Tutorials", sorted(n for n in site.pages if n.startswith("docs/tutorials/")))
    nav += section("Use", docs) + ["- Rules: docs/rules.md", "- Manual: docs/man/README.md"]
    nav += section("Measured", sorted(n for n in site.pages if n.startswith("docs/evidence/")))
    nav += section("Project", PAGES[1:])
    return CONFIG % json.dumps(where) + "\n".join(nav) + "\n"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--cuvet", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--check", action="store_true", help="only look at the links")
    args = ap.parse_args()
    site = Site(os.path.abspath(args.out))
    site.add_tree()
    add_manuals(site)
    shown = add_rules(site, os.path.abspath(args.cuvet))
    site.resolve()
    bad = site.broken()
    for line in bad:
        print("site: " + line)
    rules = sum(n.startswith("docs/rules/") for n in site.pages)
    print("site: %d pages, %d of them of rules, %d of these with bytes; %d links that lead nowhere" % (len(site.pages), rules, shown, len(bad)))
    if not args.check:
        site.write()
        with open(os.path.join(site.out, "mkdocs.yml"), "w", encoding="utf-8") as f:
            f.write(configuration(site, os.path.join(site.out, "html")))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
