#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the manual pages (docs/man/*.1, cuvet-ndjson.5) and the shell completions (completions/) from cli/options.def and
spec/limits.def. `--check` compares instead and exits 1 when a file is not what the tables say."""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_table  # noqa: E402

ROOT = rules_table.ROOT
OPTIONS = os.path.join(ROOT, "cli", "options.def")
LINK_OPTIONS = os.path.join(ROOT, "spec", "nvlink.def")
LIMITS = os.path.join(ROOT, "spec", "limits.def")
INPUT = ("SCAN", "LIST", "CHECK", "DIFF", "INVENTORY", "KNOWN", "REPORT", "UNPACK", "MAP", "SELECT", "FINALIZE")
UNITS = {"CV_KIB": 1 << 10, "CV_MIB": 1 << 20, "CV_GIB": 1 << 30}
SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
FROM = "Generated from cli/options.def by tools/gen_man.py; do not edit."

NDJSON = {
    "scan": [
        ("member",
         "file path kind arch stored_size size compression offset payload_offset in_container; of a container "
         "also container_offset raw_kind version flags referenced identifier; archive_member examined kernels "
         "producer (of a cubin that was examined: tool version inferred) triple (of bitcode) errors warnings; "
         "image and layer as in verdict"),
        ("finding",
         "file rule severity path offset inner_offset (in decompressed content) length got want message; of a rule of --yara, whose name is in rule behind "
         "'YARA:', no got and want, but yara (rule namespace tags meta: name value; section stored_as_is places, of which strings has some: string offset "
         "inner_offset length)"),
        ("verdict",
         "file verdict depth reason (when the scan did not end) members findings containers unreferenced images "
         "elf ptx ltoir bitcode other stored unpacked opaque gap_bytes notes warnings errors suppressed sandbox exit; with a filter "
         "filtered_pieces filtered_findings; with --yara yara_hits and yara_unseen (pieces that no rule could look at); of a file of an image archive that is in "
         "no image: image (deleted replaced unused) layer (the one that did it, from 1)"),
        ("known", "as of known, after each member, with --known"),
        ("package", "after its entries, each of which has a name of the form package!/entry: file entries (that were opened)"),
        ("summary", "after several files: files, and how many of them are clean unsupported suspicious malformed limit error")
    ],
    "check": [("check", "file ok verdict (the worst of what is in it) has lacks forbidden: architectures as sm_90 and compute_90; kinds that may not be there, and are; "
               "problems (rule text where count): all that is wrong")],
    "diff": [
        ("diff_code", "code (sm_90, compute_90, lto_90, or the name of a kind) state (same changed lost new) pieces (old new same same_code) kernels (same changed lost new: "
         "names) stored (old new)"),
        ("diff_kernel", "each that is not the same: code state name demangled, old and new, of each variant: fingerprint, machine_code (of the section of code alone), registers stack (null where nobody knows it) shared local barriers"),
        ("diff_file, diff_producer", "whose number of pieces differs: name state pieces (old new)"),
        ("diff", "at the end: old new result (same metadata code lost) complete (both could be looked at, without a finding) old_verdict new_verdict")
    ],
    "map": [("claim", "file path owner index (of a section) inner offset length shared"),
            ("finding, verdict", "as of scan")],
    "rules": [("rule", "rule severity class title message why")],
}
NDJSON["known"] = [
    ("known", "of lookup, for each piece: file path arch match (bytes, code, kernels: all of them, some, none, empty: no code in it, closed: not looked into) sources "
     "(names) more_sources (that are not told); where the piece as a whole is not known also kernels and known_kernels"),
    ("known_kernel", "with --kernels, before its piece: file path kernel sources more_sources")
]
NDJSON["list"] = [
    ("member",
     "as of scan; with --kernels or --resources also sha256 (of what unpack writes), and of a cubin kernel_names, functions (name kernel registers "
     "stack, null where nobody knows it, shared local, constant by bank; demangled with --demangle), global and constant (of the whole file)"),
    ("finding, verdict, package", "as of scan, at depth headers")
]
NDJSON["dump"] = [
    ("piece", "file path number kind arch size compression"),
    ("header", "class osabi abiversion elf_type e_type machine version entry phoff shoff flags ehsize phentsize phnum shentsize shnum shstrndx "
     "sections segments extent arch virtual_arch toolkit"),
    ("section", "index sh_type type_number flags addr offset size link info align entsize name"),
    ("segment", "index p_type type_number flag_bits flags offset vaddr paddr filesz memsz align"),
    ("symbol", "table index value size bind st_type info other marks section name"),
    ("relocation", "section target offset r_type type_number symbol name addend"),
    ("frame_common", "section common_entry size version augmentation code_alignment data_alignment return_register program"),
    ("frame", "section function_entry size common start range function program"),
    ("note", "section offset owner note_type size note_version object tool tool_version tool_build command_line virtual_arch toolkit, or words where it has none of these"),
    ("attribute, compat", "section offset format code name value payload"),
    ("call", "section offset kind part value"),
    ("relocation_action", "section offset r_type kind shift from bits to; of an action with two fields also from2 bits2 to2"),
    ("capsule", "section code_section code_name word1 word2 stream_bytes"),
    ("prototype", "section offset value"),
    ("unified_entry", "section offset flags slot id symbol"),
    ("ptx_line", "line text"),
    ("data", "section offset bytes (with --data)"),
    ("text", "section offset text (a string of a section of strings, with --data)"),
    ("damage", "section offset: the rest of it cannot be decoded"),
]
NDJSON["select"] = [
    ("candidate", "file index path kind arch rank reason chosen depth reference_reads_it offset stored"),
    ("selection", "file target status match arch compiled size candidate (index of what was chosen)"),
    ("finding", "file rule severity path offset inner (offset is in the decompressed content) message"),
]
NDJSON["finalize"] = [
    ("finalization", "file code (of the reference finalizer) text source target from to backend capsules linked can_finalize can_fastpath isa level "
     "accelerated mask; with --explain"),
]


class Table:
    def __init__(self):
        self.commands = [
            dict(zip(("id", "name", "operands", "brief", "text"), a)) for _, a in self.rows("COMMAND")
        ]
        keys = ("commands", "id", "letter", "name", "arg", "help")
        both = [(line, dict(zip(keys, a))) for m in ("OPTION", "ALSO") for line, a in self.rows(m)]
        self.options = [o for _, o in sorted(both, key=lambda x: x[0])]
        for o in self.options:
            o["letter"] = o["letter"].strip("'") if o["letter"] != "0" else ""
            o["commands"] = self.where(o["commands"])
        self.exits = [(int(a[0]), a[2]) for _, a in self.rows("EXIT")]
        self.verdicts = [(a[1], a[2]) for _, a in self.rows("VERDICT")]
        self.examples = [a for _, a in self.rows("EXAMPLE")]

    @staticmethod
    def rows(macro):
        # The header of the table defines empty macros of the same names: those lines start with '#'.
        return rules_table.rows(OPTIONS, macro)

    def where(self, text):
        out = set(re.findall(r"IN\((\w+)\)", text))
        if "IN_INPUT" in text:
            out |= set(INPUT)
        if "IN_ANY" in text:
            out |= {c["id"] for c in self.commands}
        return out

    def of(self, command):
        return [o for o in self.options if command["id"] in o["commands"]]


def limits():
    def number(text):
        n = 1
        for f in text.split("*"):
            f = f.strip()
            n *= UNITS[f] if f in UNITS else int(f)
        return n

    def short(n):
        for unit, size in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
            if n and n % size == 0:
                return "%d%s" % (n // size, unit)
        return str(n)

    for _, (name, unit, strict, roomy, tiny, what) in rules_table.rows(LIMITS, "LIMIT"):
        yield name, unit, [
            short(number(v)) if unit == "bytes" else str(number(v)) for v in (strict, roomy, tiny)
        ], what


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def head(name, brief):
    return [
        '.\\" ' + SPDX, '.\\" ' + FROM,
        '.TH %s 1 "" "cuvet" "User Commands"' % name.upper(), ".SH NAME",
        "%s \\- %s" % (roff(name), roff(brief)), ".SH SYNOPSIS"
    ]


def exit_section(table):
    out = [".SH EXIT STATUS", "Of several files the highest value wins."]
    for code, meaning in table.exits:
        out += [".TP", ".B %d" % code, roff(meaning)]
    return out + [
        ".TP", ".B 141",
        "whoever reads standard output has closed it: the rest is not looked at, and nothing is said about that"
    ]


def verdict_section(table):
    out = [".SH VERDICTS", "A file gets the worst one that applies."]
    for name, meaning in table.verdicts:
        out += [".TP", ".B " + name, roff(meaning)]
    return out


def option_section(options):
    out = [".SH OPTIONS"]
    for o in options:
        letter = "\\fB\\-%s\\fR, " % o["letter"] if o["letter"] else ""
        arg = "=\\fI%s\\fR" % roff(o["arg"]) if o["arg"] else ""
        out += [".TP", "%s\\fB\\-\\-%s\\fR%s" % (letter, roff(o["name"]), arg), roff(o["help"])]
    return out


def reference_options():
    """cuvet link takes the options of the reference linker, from a table of their own."""
    out = [".SH OPTIONS OF THE REFERENCE LINKER", "With one hyphen or two, the value behind a blank or an equals sign."]
    for _, (_, long, short, _, arg, what, text) in rules_table.rows(LINK_OPTIONS, "LINK_OPTION"):
        name = "\\fB\\-\\-%s\\fR" % roff(long)
        if short and short != long:
            name = "\\fB\\-%s\\fR, " % roff(short) + name
        state = {"PTX": "With --compiler: ", "IGNORED": "Accepted, has no meaning here: ", "REFUSED": "Refused: "}.get(what, "")
        out += [".TP", name + ("=\\fI%s\\fR" % roff(arg) if arg else ""), roff(state + text)]
    return out


def limit_section():
    out = [
        ".SH LIMITS",
        "Name, values of the presets strict, roomy and tiny, and what is limited. Reaching one ends in the "
        "verdict", ".I limit", "and names the limit and the place.", ".TS", "l r r r lx."
    ]
    out += ["%s\t%s\tT{\n%s\nT}" % (n, "\t".join(v), roff(what)) for n, _, v, what in limits()]
    return out + [".TE"]


def ndjson_section(rows):
    out = [
        ".SH NDJSON", "One object per line. The first members are", ".I schema", "(cuvet/1) and", ".I type.",
        "Numbers above 2^53\\-1 are strings in hexadecimal. Text from the input is escaped as in the text output."
    ]
    for kind, members in rows:
        out += [".TP", ".B " + kind, roff(members)]
    return out


def page_of(table, c):
    # Without the preprocessor line a reader's man would print the table of limits raw.
    out = ["'\\\" t"] + head("cuvet-" + c["name"], c["brief"])
    out += [
        ".B cuvet %s" % c["name"], "[\\fIOPTION\\fR...] " + roff(c["operands"]), ".SH DESCRIPTION",
        roff(c["text"])
    ]
    options = table.of(c)
    out += option_section(options)
    if c["id"] == "LINK":
        out += reference_options()
    if any(o["name"] == "limit" for o in options):
        out += limit_section()
    if c["id"] == "SCAN":
        out += verdict_section(table)
    if c["name"] in NDJSON:
        out += ndjson_section(NDJSON[c["name"]])
    if c["name"] != "help":
        out += [
            ".SH OUTPUT",
            "Text from the input and names of files are escaped: backslashes are doubled; controls, invisible "
            "and bidirectional marks and bytes that are not UTF\\-8 become \\exNN. Verdicts go to standard output, "
            "complaints to standard error."
        ]
    out += exit_section(table)
    examples = [e for e in table.examples if e[0] == c["id"]]
    if examples:
        out.append(".SH EXAMPLES")
        for _, line, what in examples:
            out += [".TP", ".B " + roff(line), roff(what)]
    out += [
        ".SH SEE ALSO",
        ", ".join("\\fB%s\\fR(1)" % roff(n)
                  for n in ["cuvet"] + sorted("cuvet-" + o["name"] for o in table.commands if o is not c))
    ]
    return "\n".join(out) + "\n"


def nvlink_page():
    """The command under the name of the reference linker."""
    out = [
        '.\\" ' + SPDX, '.\\" Generated from spec/nvlink.def by tools/gen_man.py; do not edit.',
        '.TH CUVET-NVLINK 1 "" "cuvet" "User Commands"', ".SH NAME", "cuvet\\-nvlink \\- cuvet link in the place of nvlink",
        ".SH SYNOPSIS", ".B nvlink", "[\\fIOPTION\\fR...] \\fIFILE\\fR...", ".SH DESCRIPTION",
        "Called under the name nvlink, through a link to it, cuvet takes the command lines of nvlink 13.0.88, writes what it would "
        "write, says what it would say, in its words and on its streams, and ends with its exit codes. "
        "It does what", ".BR cuvet\\-link (1)", "does, in the same sandbox; these are the differences to that:", ".IP \\(bu 2",
        "Host objects and archives without relocatable device code, and libraries of \\-l that are nowhere found, are passed over without a word. "
        "When nothing is left the result is a cubin without code.", ".IP \\(bu 2",
        "A file with relocatable code, and none for the target, is a warning.", ".IP \\(bu 2",
        "Notes are not printed. \\-w silences no warning, as measured.", ".IP \\(bu 2",
        "For a virtual architecture (compute_80) the file of \\-\\-register\\-link\\-binaries is all that is written.", ".IP \\(bu 2",
        "Every name is one of a file: \\- is no standard stream.", ".PP",
        "What nvlink passes over or takes although it is damaged, empty, a program that is linked already, or PTX, is refused: one line, which begins with "
        "\"nvlink fatal   : \", names the file and ends with the rule. Link\\-time optimization is refused by its name. With \\-r the result keeps the "
        "relocations that a later link needs, as of cuvet link. "
        "The file of \\-\\-register\\-link\\-binaries is not written when the link fails, and \\-\\-dump\\-callgraph prints names as they are in the files.",
        ".PP", "Options of", ".BR cuvet\\-link (1)", "with two hyphens that nvlink does not have are taken too: \\-Xnvlink \\-\\-limits=roomy."
    ]
    out += reference_options()
    return "\n".join(out + [
        ".SH ENVIRONMENT", ".TP", ".B CUVET_COMPILER", "absolute path of a ptxas, as for \\-\\-compiler: PTX that nvlink would compile is compiled by it",
        ".TP", ".B CUVET_CODE_GENERATOR", "absolute path of an nvlink, as for \\-\\-code\\-generator: it makes code again for another machine of a family",
        ".SH EXIT STATUS", ".TP", ".B 0", "linked; warnings may have been printed", ".TP", ".B 1", "refused at once: the command line, a file, names that do not agree",
        ".TP", ".B 255", "refused late: undefined names, registers, memory", ".SH EXAMPLES", ".TP", ".B cuvet toolkit shadow && shadow/bin/nvcc hello.cu",
        "an nvcc that links with it", ".SH SEE ALSO", "\\fBcuvet\\-link\\fR(1), \\fBcuvet\\-toolkit\\fR(1)"
    ]) + "\n"


def ndjson_page(table):
    """All records that the commands write, for who reads them."""
    out = [
        '.\\" ' + SPDX, '.\\" ' + FROM, '.TH CUVET-NDJSON 5 "" "cuvet" "File Formats"', ".SH NAME",
        "cuvet\\-ndjson \\- what \\-\\-format=ndjson writes", ".SH DESCRIPTION",
        "One JSON object per line, UTF\\-8, written while the command runs. "
        "Each object begins with", ".I schema", "(cuvet/1) and", ".I type;", "then most have", ".I file", "and", ".I path,", "the piece of the file that they are of. "
        "A member that has nothing to say is left out, and later versions may add members and types: readers pass over what they do not know. "
        "Numbers above 2^53\\-1 are strings in hexadecimal. Text from the input and names of files are escaped: backslashes are doubled; "
        "controls, invisible and bidirectional marks and bytes that are not UTF\\-8 become \\exNN. "
        "What scan, list and map say of a file ends with its verdict; where that is missing the command was ended from outside."
    ]
    for c in table.commands:
        if c["name"] in NDJSON:
            out.append(".SH cuvet %s" % c["name"])
            for kind, members in NDJSON[c["name"]]:
                out += [".TP", ".B " + kind, roff(members)]
    out += verdict_section(table)
    out += [
        ".SH EXAMPLES", ".TP", ".B cuvet scan \\-\\-format=ndjson *.so | jq 'select(.type==\\(dqfinding\\(dq) | [.file, .rule, .offset]'",
        "file, rule and place of each finding",
        ".SH SEE ALSO", ", ".join("\\fB%s\\fR(1)" % roff("cuvet-" + n) for n in sorted(NDJSON))
    ]
    return "\n".join(out) + "\n"


def main_page(table):
    out = head("cuvet", "vet CUDA device code that nobody should trust")
    out += [
        ".B cuvet", "\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIFILE\\fR...]", ".br", ".B cuvet",
        "\\-\\-help | \\-\\-version", ".SH DESCRIPTION",
        "Finds CUDA device code in any file, unpacks it and checks it against the rules of its formats.",
        "Any bytes get a verdict; every rejection names a rule, a place and what was expected.",
        ".SH COMMANDS"
    ]
    for c in table.commands:
        out += [".TP", ".BR cuvet\\-%s (1)" % c["name"], roff(c["brief"])]
    out += verdict_section(table)
    out += exit_section(table)
    out += [
        ".SH ENVIRONMENT", ".TP", ".B NO_COLOR", "when set and not empty, no colours on a terminal", ".TP",
        ".B TMPDIR", "where standard input and pipes are stored while they are scanned, and where a program that a command starts "
        "has its directory; /tmp if unset"
    ]
    return "\n".join(out) + "\n"


def choices(o):
    return o["arg"].split("|") if "|" in o["arg"] else []


def bash(table):
    out = [
        "# " + SPDX, "# " + FROM, "_cuvet()", "{",
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}",
        "    local command=${COMP_WORDS[1]} words=", "    if [ \"$cur\" = = ]; then cur=; fi",
        "    if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi",
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
        "        words='%s --help --version'" % " ".join(c["name"] for c in table.commands), "    else",
        "        case $command,$prev in"
    ]
    for c in table.commands:
        for o in table.of(c):
            if choices(o):
                out.append("        %s,--%s) words='%s' ;;" % (c["name"], o["name"], " ".join(choices(o))))
            elif o["name"] == "limit":
                out.append("        %s,--limit) words='%s'; compopt -o nospace ;;" %
                           (c["name"], " ".join(n + "=" for n, *_ in limits())))
            elif o["arg"] == "DIR":
                out += [
                    "        %s,--%s|%s,-%s) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;" %
                    (c["name"], o["name"], c["name"], o["letter"])
                ]
    out += ["        *)", "            case $command in"]
    for c in table.commands:
        words = ["--" + o["name"] for o in table.of(c)]
        if c["name"] == "help":
            words += [k["name"] for k in table.commands]
        out.append("            %s) words='%s' ;;" % (c["name"], " ".join(words)))
    out += [
        "            esac ;;", "        esac", "    fi",
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))",
        "    if [ \"$COMP_CWORD\" -gt 1 ] && [ -z \"$COMPREPLY\" ]; then COMPREPLY=($(compgen -f -- \"$cur\")); fi",
        "}", "complete -o filenames -F _cuvet cuvet"
    ]
    return "\n".join(out) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(table):
    def spec(o):
        text = o["help"].replace("[", "(").replace("]", ")").replace(":", "\\:")
        arg = ""
        if o["arg"]:
            values = "(%s)" % " ".join(choices(o)) if choices(
                o) else "_files -/" if o["arg"] == "DIR" else " "
            arg = ":%s:%s" % (o["arg"].split("|")[0] if not choices(o) else o["name"], values)
        forms = ["--%s%s" %
                 (o["name"], "=" if o["arg"] else "")] + (["-" + o["letter"]] if o["letter"] else [])
        return " ".join(quoted("%s[%s]%s" % (f, text, arg)) for f in forms)

    out = [
        "#compdef cuvet", "# " + SPDX, "# " + FROM, "_cuvet()", "{", "    local -a commands", "    commands=("
    ]
    out += ["        " + quoted("%s:%s" % (c["name"], c["brief"])) for c in table.commands]
    out += [
        "    )", "    if (( CURRENT == 2 )); then", "        _describe command commands", "        return",
        "    fi", "    case $words[2] in"
    ]
    for c in table.commands:
        out.append("    %s) shift words; (( CURRENT-- )); _arguments \\" % c["name"])
        out += ["        %s \\" % spec(o) for o in table.of(c)]
        rest = {
            "rules": "'*:rule:'", "help": "'1:command:(%s)'" % " ".join(k["name"] for k in table.commands)
        }
        out.append("        %s ;;" % rest.get(c["name"], "'*:file:_files'"))
    out += ["    esac", "}", "_cuvet \"$@\""]
    return "\n".join(out) + "\n"


def fish(table):
    names = " ".join(c["name"] for c in table.commands)
    out = ["# " + SPDX, "# " + FROM]
    for c in table.commands:
        out.append("complete -c cuvet -f -n 'not __fish_seen_subcommand_from %s' -a %s -d %s" %
                   (names, c["name"], quoted(c["brief"])))
    for c in table.commands:
        for o in table.of(c):
            line = "complete -c cuvet -n '__fish_seen_subcommand_from %s' -l %s" % (c["name"], o["name"])
            line += " -s " + o["letter"] if o["letter"] else ""
            if choices(o):
                line += " -x -a " + quoted(" ".join(choices(o)))
            elif o["arg"]:
                line += " -r"
            out.append(line + " -d " + quoted(o["help"]))
    return "\n".join(out) + "\n"


def outputs():
    table = Table()
    yield "docs/man/cuvet.1", main_page(table)
    for c in table.commands:
        yield "docs/man/cuvet-%s.1" % c["name"], page_of(table, c)
    yield "docs/man/cuvet-nvlink.1", nvlink_page()
    yield "docs/man/cuvet-ndjson.5", ndjson_page(table)
    yield "completions/cuvet.bash", bash(table)
    yield "completions/_cuvet", zsh(table)
    yield "completions/cuvet.fish", fish(table)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    bad = 0
    for rel, text in outputs():
        path = os.path.join(ROOT, rel)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == text:
            continue
        if args.check:
            print("man: %s is not what cli/options.def says (tools/gen_man.py)" % rel)
            bad = 1
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            print("man: wrote " + rel)
    return bad


if __name__ == "__main__":
    sys.exit(main())
