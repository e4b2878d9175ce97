# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were compiled with an older or a newer header than the library: the examples, unchanged, with headers whose
structures end earlier (their last member is not there yet) or later (members that this library does not know). What they
print and write is that of the program with the header of today; a member from the future that is not zero is refused."""
import os
import re
import shutil
import subprocess

from lib_cli import CUVET, ROOT, Skip, equal, main, scratch, test

LIBRARY = os.path.dirname(os.path.abspath(CUVET))
HEADERS = os.path.join(ROOT, "include", "cuvet")
OBJECTS = [os.path.join(ROOT, "corpus", "samples", n) for n in ("host-two_a.o", "host-two_b.o")]
BAD = os.path.join(ROOT, "corpus", "hostile", "CV-FATBIN-014.fatbin")
# Without its last member no version of it could have worked.
NEEDED = {"cuvet_alloc", "cuvet_compiler", "cuvet_source", "cuvet_abi_row"}
STRUCT = re.compile(r"(typedef struct (\w+) \{\n    size_t size;.*?\n)\} \2;", re.S)
FUTURE = "    uint64_t from_tomorrow[2];\n"

PROBE = """#include <cuvet/cuvet.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL };
    cuvet_limits limits = { .size = sizeof(limits) };
    cuvet_ctx_options co = { .size = sizeof(co), .limits = &limits };
    cuvet_source file = { .size = sizeof(file) };
    struct { cuvet_summary sum; uint64_t guard[4]; } behind = { .sum = { .size = sizeof(behind.sum) } };
    struct { cuvet_item item; uint64_t guard[4]; } held = { .item = { .size = sizeof(held.item) } };
    cuvet_diag diag = { .size = sizeof(diag) };
    struct { cuvet_image_info info; uint64_t guard[4]; } made = { .info = { .size = sizeof(made.info) } };
    struct { cuvet_candidate row; uint64_t guard[4]; } first = { .row = { .size = sizeof(first.row) } };
    cuvet_select_options select = { .size = sizeof(select), .target = { 75, 0 } };
    cuvet_linker_options link = { .size = sizeof(link), .target = { 75, 0 } };
    cuvet_finalize_options final = { .size = sizeof(final), .target = { 75, 0 } };
    cuvet_image image = { 0 }, second = { 0 };
    cuvet_finalizer finalizer;
    cuvet_select selection;
    cuvet_ctx *ctx = NULL;
    cuvet_scan scan;
    cuvet_status s;

    if (argc != 3 || cuvet_limits_preset("strict", &limits) != CUVET_OK || cuvet_ctx_create(&co, &ctx) != CUVET_OK ||
        cuvet_source_path(argv[1], &file) != CUVET_OK || cuvet_scan_create(ctx, &file, &so, &scan) != CUVET_OK)
        return 1;
    while ((s = cuvet_scan_next(ctx, scan, &held.item)) == CUVET_OK)
        printf("%s %u %llu\\n", cuvet_kind_name(held.item.kind), held.item.arch,
               (unsigned long long)held.item.unpacked_size);
    if (s != CUVET_END || cuvet_scan_summary(ctx, scan, &behind.sum) != CUVET_OK)
        return 2;
    s = cuvet_ctx_last_diag(ctx, &diag);
    printf("%s %llu %d %s\\n", cuvet_verdict_name(behind.sum.verdict), (unsigned long long)behind.sum.containers, (int)s,
           s == CUVET_OK ? cuvet_rule_get(diag.rule)->id : "");
    for (unsigned i = 0; i < 4; i++)
        if (held.guard[i] != 0 || behind.guard[i] != 0)
            return 3;
    /* Options of each kind, and images. */
    if (cuvet_link_files(ctx, &link, NULL, (const char *const *)argv + 2, 1, &image) != CUVET_OK ||
        cuvet_image_get_info(ctx, image, &made.info) != CUVET_OK)
        return 7;
    printf("%zu %s\\n", made.info.n, cuvet_kind_name(made.info.kind));
    if (cuvet_select_create(ctx, &select, &selection) != CUVET_OK ||
        cuvet_select_bind_source(ctx, selection, &file, NULL) == CUVET_OK ||
        cuvet_select_file(ctx, &select, NULL, argv[2], &second) != CUVET_OK ||
        cuvet_image_get_info(ctx, second, &made.info) != CUVET_OK ||
        cuvet_finalizer_create(ctx, &final, &finalizer) != CUVET_OK)
        return 8;
    if (cuvet_select_bind(ctx, selection, made.info.bytes, made.info.n, CUVET_BIND_BORROW, NULL) != CUVET_OK ||
        cuvet_select_get_candidate(ctx, selection, 0, &first.row) != CUVET_OK)
        return 9;
    printf("%zu %u\\n", made.info.n, first.row.sm);
    for (unsigned i = 0; i < 4; i++)
        if (made.guard[i] != 0 || first.guard[i] != 0)
            return 10;
#ifdef TOMORROW
    if (made.info.from_tomorrow[0] || first.row.from_tomorrow[1])
        return 11;
    select.from_tomorrow[0] = link.from_tomorrow[0] = final.from_tomorrow[1] = 1;
    if (cuvet_select_create(ctx, &select, &selection) != CUVET_E_USAGE ||
        cuvet_link_files(ctx, &link, NULL, (const char *const *)argv + 2, 1, &image) != CUVET_E_USAGE ||
        cuvet_finalizer_create(ctx, &final, &finalizer) != CUVET_E_USAGE)
        return 12;
    if (held.item.from_tomorrow[0] || behind.sum.from_tomorrow[1] || diag.from_tomorrow[0] || limits.from_tomorrow[0])
        return 4;
    so.from_tomorrow[1] = 1;
    if (cuvet_scan_create(ctx, &file, &so, &scan) != CUVET_E_USAGE || cuvet_ctx_last_diag(ctx, &diag) != CUVET_OK)
        return 5;
    if (diag.got != sizeof(so) || diag.want >= sizeof(so))
        return 6;
#endif
    cuvet_source_destroy(&file);
    cuvet_ctx_destroy(ctx);
    fprintf(stderr, "%zu %zu %zu %zu\\n", sizeof(limits), sizeof(so), sizeof(held.item), sizeof(behind.sum));
    return 0;
}
"""


def rows():
    """{(kind, name): (value, width)} of the committed table of the interface."""
    found = {}
    with open(os.path.join(ROOT, "src", "api", "abi.tsv"), encoding="utf-8") as f:
        for line in f:
            parts = line.rstrip("\n").split("\t")
            if parts[0] in ("struct", "member"):
                found[parts[0], parts[1]] = (int(parts[2]), int(parts[3]))
    return found


def declarations(body):
    """(text, names) of the members of a structure, comments left out."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for decl in body.split(";")[:-1]:
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", decl)
        names = [pointer.group(1)] if pointer else [
            re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", p).group(1) for p in decl.split(",")]
        yield decl.strip(), names


def older(match, table, changed):
    """Declarations from the end are left out until the structure is shorter."""
    name = match.group(2)
    body = match.group(1).split("{\n", 1)[1]
    size = table["struct", name][0]
    keep = list(declarations(body))
    while len(keep) > 1 and name not in NEEDED:
        keep.pop()
        last, width = table["member", "%s.%s" % (name, keep[-1][1][-1])]
        if -(-(last + width) // 8) * 8 < size:
            changed.append(name)
            return "typedef struct %s {\n%s} %s;" % (name, "".join("    %s;\n" % d for d, _ in keep), name)
    return match.group(0)


def make(folder, how):
    """Headers in a folder of their own; the structures that are not those of today."""
    to, table, changed = os.path.join(folder, how, "cuvet"), rows(), []
    shutil.copytree(HEADERS, to)
    for name in sorted(os.listdir(to)) if how != "today" else []:
        path = os.path.join(to, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if how == "older":
            text = STRUCT.sub(lambda m: older(m, table, changed), text)
        else:
            changed += [m.group(2) for m in STRUCT.finditer(text)]
            text = STRUCT.sub(lambda m: m.group(1) + FUTURE + "} %s;" % m.group(2), text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return os.path.dirname(to), changed


def build(source, include, binary, *flags):
    with open(os.path.join(LIBRARY, "libcuvet.so"), "rb") as f:
        if re.search(rb"__(?:asan|tsan|ubsan)_", f.read()):
            raise Skip("the library is built with a sanitizer: a program of another compiler cannot be linked with it")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Werror", "-Wno-unused", *flags, "-I", include, source, "-o", binary,
                    "-L", LIBRARY, "-lcuvet", "-Wl,-rpath," + LIBRARY], check=True)
    return binary


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@test
def examples():
    d, seen = scratch(), {}
    for how in ("today", "older", "newer"):
        include, changed = make(d, how)
        assert how == "today" or len(changed) > 25, "%s: only %s changed" % (how, changed)
        out = os.path.join(d, how + ".cubin")
        scan = build(os.path.join(ROOT, "examples", "scan_file.c"), include, os.path.join(d, how + "-scan"))
        link = build(os.path.join(ROOT, "examples", "link_files.c"), include, os.path.join(d, how + "-link"))
        found, linked, refused = run(scan, BAD), run(link, "sm_75", out, *OBJECTS), run(link, "sm_75", out + "2", BAD)
        equal((linked.returncode, linked.stdout, linked.stderr), (0, "", ""), how)
        with open(out, "rb") as f:
            image = f.read()
        seen[how] = (found.returncode, found.stdout, found.stderr, image, refused.returncode, refused.stderr)
        assert "[CV-FATBIN-014]" in found.stdout and found.returncode == 0, found
        assert image[:4] == b"\x7fELF" and refused.returncode == 1 and "CV-LINK-050" in refused.stderr, refused
    equal(seen["older"], seen["today"], "older")
    equal(seen["newer"], seen["today"], "newer")


@test
def sizes():
    """Structures that the library fills in, and one from the future that asks for what is not known."""
    d, seen, bytes_of = scratch(), {}, {}
    source = os.path.join(d, "probe.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(PROBE)
    for how in ("today", "older", "newer"):
        include, _ = make(d, how)
        probe = build(source, include, os.path.join(d, how + "-probe"), *(["-DTOMORROW"] if how == "newer" else []))
        p = run(probe, BAD, OBJECTS[1])
        equal(p.returncode, 0, "%s: %s" % (how, p.stderr))
        seen[how], bytes_of[how] = p.stdout, [int(n) for n in p.stderr.split()]
    equal(seen["older"], seen["today"], "older")
    equal(seen["newer"], seen["today"], "newer")
    assert "malformed 1 0 CV-FATBIN-014" in seen["today"], seen["today"]
    for before, now, after in zip(bytes_of["older"], bytes_of["today"], bytes_of["newer"]):
        assert before < now < after, bytes_of


main()
