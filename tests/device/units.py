# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of driver.py about what cuvet links: programs of several units, in all ways of linking them."""
import concurrent.futures
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from base import CUVET, FIRST_PROGRAM, HERE, JOBS, PREPARE, PREPARED, PROGRAMS, ROOT, Group, Skipped, make, run
import edit
import language
import linked as programs

sys.path[:0] = [os.path.join(ROOT, "tests", "differential"), os.path.join(ROOT, "tests", "support")]
os.environ.setdefault("CV_TMP", tempfile.gettempdir())
import cxx_grammar  # noqa: E402
import link_names  # noqa: E402
import link_weak  # noqa: E402


def runtime(tools):
    """the library that a program needs whose kernels launch kernels"""
    out, place = os.path.join(tools.folder, "libcudadevrt.a"), PREPARE or PREPARED
    kept = os.path.join(place, "libcudadevrt.a") if place else None
    if not PREPARED and not os.path.exists(out):
        home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
        found = [p for p in (os.path.join(home, d, "libcudadevrt.a") for d in ("lib64", "lib", "targets/x86_64-linux/lib")) if os.path.exists(p)]
        if not found:
            raise Skipped("no libcudadevrt.a beside nvcc")
        shutil.copyfile(found[0], out)
        if kept:
            shutil.copyfile(out, kept)
    return kept if PREPARED else out


def compiled(tools, stem, texts, options):
    """units of CUDA or, where options are for ptxas, of PTX"""
    units, arch = [], "sm_%d" % tools.sm
    for number, text in enumerate(texts):
        ptx = text.startswith(".version")
        source, out = "%s%d%s" % (stem, number, ".ptx" if ptx else ".cu"), "%s%d.cubin" % (stem, number)
        with open(source, "w", encoding="ascii") as f:
            f.write(text)
        how = ("ptxas", "-c") if ptx else ("nvcc", "-rdc=true", "-cubin")
        make(tools.folder, out, *how, "-arch=" + arch, *options, source, "-o", out)
        units.append(out)
    return units


def in_all_ways(tools, stem, units, more=()):
    """{way: image}: linked at once, with what a debugger or a later reader wants, turned round, and by results of -r; and by nvlink"""
    arch, made = "sm_%d" % tools.sm, {}

    def link(way, *words):
        made[way] = stem + way
        run(CUVET, "link", "--arch", arch, *words, "-o", stem + way)
        return stem + way

    def part(way, *words):
        run(CUVET, "link", "--arch", arch, "-r", *words, "-o", stem + way)
        return stem + way
    link("final", *units, *more)
    link("debug", "-g", *units, *more)
    link("turned", *units[::-1], *more)
    link("relocs", "--preserve-relocs", *units, *more)
    link("two-steps", units[0], part("partial", *units[1:]), *more)
    link("all-twice", part("merged", *units), *more)
    link("all-debug", "-g", part("merged-debug", "-g", *units), *more)
    link("each-twice", *[part("part%d" % i, u) for i, u in enumerate(units)], *more)
    made["noted"] = stem + "noted"
    run(CUVET, "finalize", "--tkinfo", stem + "final", "-o", stem + "noted")
    if PREPARED or shutil.which("nvlink"):
        made["reference"] = stem + "reference"
        make(tools.folder, stem + "reference", "nvlink", "-arch=" + arch, *units, *more, "-o", stem + "reference")
    return {way: read(path) for way, path in made.items()}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def words_of(answer):
    return [None if w == "." else int(w, 16) for w in answer.words.split()]


def pooled(one, seeds):
    with concurrent.futures.ThreadPoolExecutor(max_workers=JOBS) as pool:
        list(pool.map(one, seeds))


def judge(group, right, theirs_count=True):
    """`right` says of each question which words may be there: all of one of these lists, None for any. Where nvlink is known to lose something
    what is wrong with its images is printed, and does not fail."""
    wrong, found = [], []
    for name, answer in group.ask().items():
        said = words_of(answer)
        good = any(len(said) >= len(words) and all(w is None or w == s for w, s in zip(words, said)) for words in right[name])
        if not theirs_count and ".reference" in name:
            wrong += [name] if not good else []
            found += [name] if group.verdicts.get(name, ("",))[0] != "clean" else []
            continue
        group.expect(good, name, "%s %s, not %s" % (group.outcome(answer), said[:12], [w[:12] for w in right[name]][:3]))
        verdict = group.verdicts.get(name)
        group.expect(verdict and verdict[0] == "clean", name, "a scan says %s" % (verdict,))
    if not theirs_count and not PREPARE:
        print("of nvlink's images %d do not compute it (%s), of %d a scan finds something (%s)" % (len(wrong), " ".join(wrong), len(found), " ".join(found)))
    return group


def linked(tools):
    """What a program computes is known before: by whatever way its units were linked."""
    group, right = Group(tools, "linked"), {}

    def one(seed):
        program = programs.generate(seed)
        stem = os.path.join(tools.folder, "program-%d-" % seed)
        for way, image in in_all_ways(tools, stem, compiled(tools, stem, program.units, program.options)).items():
            name = "%d.%s" % (seed, way)
            group.add(name, image, number=program.number)
            right[name] = [program.words]
    pooled(one, range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS))
    return judge(group, right)


def shared_by_units(tools):
    """What several units have: weak functions, tables and variables, local names, kernels of templates, kernels that launch kernels."""
    group, right = Group(tools, "shared_by_units"), {}

    def one(seed):
        program = language.generate(seed)
        stem, more = os.path.join(tools.folder, "language-%d-" % seed), [runtime(tools)] if program.launches else []
        for way, image in in_all_ways(tools, stem, compiled(tools, stem, program.units, program.options), more).items():
            for number, (kernel, words) in enumerate(program.questions.items()):
                name = "%d.%s.%d" % (seed, way, number)
                group.add(name, "%d.%s.0" % (seed, way) if number else image, number=program.number, kernel=kernel)
                right[name] = words
    runtime(tools)
    pooled(one, range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS))
    return judge(group, right, False)


def names(tools):
    """Local functions of one name in several units. What is right says ptxas: all units in one file, with other names, and no linker."""
    group, wholes = Group(tools, "names"), {}
    local = re.compile(r"\b(%s)(_constant|_shared|_)?\b" % "|".join(link_names.NAMES))

    def one(seed):
        dice = random.Random(seed)
        count = dice.randint(2, 4)
        texts = [link_names.unit(dice, i, i == count - 1).replace("_shared+4]", "_shared]") for i in range(count)]
        stem = os.path.join(tools.folder, "names-%d-" % seed)
        head = link_names.HEAD[:link_names.HEAD.index(".global")]
        whole = head + "".join(local.sub(lambda m, i=i: "%s_of%d%s" % (m[1], i, m[2] or ""), t[len(head):]) for i, t in enumerate(texts))
        with open(stem + "whole.ptx", "w", encoding="ascii") as f:
            f.write(whole)
        make(tools.folder, stem + "whole", "ptxas", "-arch=sm_%d" % tools.sm, stem + "whole.ptx", "-o", stem + "whole")
        try:
            images = in_all_ways(tools, stem, compiled(tools, stem, texts, ()))
        except RuntimeError as why:
            if "nvlink" not in str(why) or "cuvet" in str(why):
                raise
            return  # nvlink gives up inside of itself, as link_names.py counts
        images["whole"] = read(stem + "whole")
        for way, image in images.items():
            first = None
            for kernel in re.findall(r"\.entry (\w+)", whole):
                for number in (0, 1, 2, 0x80000003):
                    name = "%d.%s.%s.%x" % (seed, kernel, way, number)
                    group.add(name, first or image, mode="W", kernel=kernel, number=number)
                    first = first or name
                    wholes[name] = "%d.%s.whole.%x" % (seed, kernel, number)
    pooled(one, range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS))
    answers = group.ask()
    for name, whole in wholes.items():
        group.expect(answers[whole].sync == 0, whole, "does not run")
        group.expect(answers[name].words == answers[whole].words, name, "computes %s, not %s" % (answers[name].words[:60], answers[whole].words[:60]))
        group.expect(group.verdicts[name][0] == "clean", name, "a scan says %s" % (group.verdicts[name],))
    return group


def replaced(tools):
    """Weak kernels and functions of one name that need other registers: the one that stays is one of them, and has what it needs."""
    group, right, dice = Group(tools, "replaced"), {}, random.Random(FIRST_PROGRAM)
    sets = [tuple(dice.choice(link_weak.FORMS) for _ in range(dice.choice((2, 2, 3)))) for _ in range(PROGRAMS)]
    sets = [(forms, function) for forms in sets for function in (False, True) if sum(f[2] for f in forms) <= (1 if function else 0)]

    def one(number):
        forms, function = sets[number]
        texts = [link_weak.definition(form, function, i) for i, form in enumerate(forms)]
        stem = os.path.join(tools.folder, "replaced-%d-" % number)
        strong = [f for f in forms if f[2]] or forms
        for way, image in in_all_ways(tools, stem, compiled(tools, stem, texts, ())).items():
            for kernel in ["user%d" % i for i in range(len(forms))] if function else ["same"]:
                name = "%d.%s.%s" % (number, way, kernel)
                group.add(name, image, mode="W", kernel=kernel, number=7)
                right[name] = [[None, None] + [7 + (i // 2 if i % 2 == 0 and 3 <= i // 2 < 3 + form[0] else i) for i in range(2, 64)] for form in strong]
    pooled(one, range(len(sets)))
    return judge(group, right)


VAGUE = ("(int)(long long)&", "cvta_generic", "clock()", "bar.sync", "bar%d", "this_grid()", "barrier<", "mbarrier", "memcpy_async", "_mask", "shfl", "reduce", "__trap", "new int[x]", "malloc(x)", "coalesced")


def kernels_and_variables(data):
    """what there is to launch, and the variables that hold no addresses"""
    image, held, kernels, variables = edit.Elf(data), [], [], []
    for name in image.names:
        if name.startswith((".rela.nv.global", ".rel.nv.global")):
            held += [image.rget(name, i, "offset") for i in range(image.sget(name, "size") // image.sget(name, "entsize"))]
    for name, at in image.symbols():
        _, info, other, section, begin, size = struct.unpack_from("<IBBHQQ", image.data, at)
        there = image.names[section] if section < len(image.names) else ""
        if info & 15 == 2 and other & 0x10 and there == ".text." + name:
            kernels.append(name)
        elif info & 15 == 1 and info >> 4 and (there == ".nv.global" or there == ".nv.global.init" and not any(begin <= h < begin + size for h in held)):
            variables.append(name)
    return kernels, variables


PLACES = {"sorted": ("sorted_one.cu sorted_two.cu", ""), "objects": ("objects_one.cu objects_two.cu", ""), "grid": ("grid_one.cu grid_two.cu", "grid_alone.cu")}
BUILDS = {"direct": "nvcc -rdc=true OPTIONS UNITS ALONE -o OUT",
          "debug": "nvcc -G -rdc=true OPTIONS UNITS ALONE -o OUT",
          "-dlink": "nvcc -rdc=true OPTIONS -c UNITS && nvcc OPTIONS -dlink OBJECTS -o linked.o && nvcc OPTIONS -nodlink OBJECTS linked.o ALONE -lcudadevrt -o OUT",
          "library": "nvcc -rdc=true OPTIONS -lib UNITS -o library.a && nvcc -rdc=true OPTIONS MAIN library.a ALONE -o OUT"}


def toolkit(tools):
    """Whole programs, which check themselves, by an nvcc that has cuvet in the place of nvlink, and by one that has not."""
    group, shadow = Group(tools, "toolkit"), os.path.join(tools.folder, "shadow")
    sources, scripts = os.path.join(HERE, "place"), {}
    if not PREPARED:
        run(CUVET, "toolkit", shadow)
    for program, (units, alone) in PLACES.items():
        for build, text in BUILDS.items():
            folder = os.path.join(tools.folder, "%s-%s" % (program, build))
            shutil.copytree(sources, folder)
            if build == "library":
                text = text.replace("UNITS", units.split()[1]).replace("MAIN", units.split()[0])
            text = text.replace("UNITS", units).replace("OBJECTS", units.replace(".cu", ".o"))
            if alone:
                text = "nvcc OPTIONS -c %s -o alone.o && %s" % (alone, text)
            text = text.replace("ALONE", "alone.o" if alone else "").replace("OPTIONS", "-w -std=c++17 -arch=sm_%d" % tools.sm)
            for who in ("cuvet", "nvlink"):
                out = "%s-%s-%s" % (program, build, who)
                scripts[out] = "cd %s && mkdir %s && cp *.* %s && cd %s && export PATH=%s:$PATH && %s" % (
                    folder, who, who, who, os.path.join(shadow, "bin") if who == "cuvet" else "/nowhere", text.replace("OUT", os.path.join(tools.folder, out)))
    with concurrent.futures.ThreadPoolExecutor(max_workers=JOBS) as pool:
        list(pool.map(lambda out: make(tools.folder, os.path.join(tools.folder, out), "sh", "-ec", scripts[out]), scripts))
    group.answers, said = {}, {}
    for out in scripts if not PREPARE else ():
        path = os.path.join(tools.folder, out)
        os.chmod(path, 0o755)
        try:
            done = subprocess.run([path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            said[out] = "%d %s" % (done.returncode, done.stdout[-300:])
        except subprocess.TimeoutExpired:
            said[out] = "longer than a minute"
        group.expect(said[out].startswith("0 0 wrong"), out, said[out])
        group.table[("ran" if said[out].startswith("0 0 wrong") else "fault", "-")] += 1
        run(CUVET, "unpack", "--kind", "elf", "-d", path + ".images", path)
        by_us = any(b"\0cuvet\0" in read(os.path.join(path + ".images", f)) for f in os.listdir(path + ".images"))
        group.expect(by_us == out.endswith("-cuvet"), out, "is linked by the other linker")
    return group


def random_cxx(tools):
    """Random programs of link_cxx.py, which do not know what they compute: by whatever way cuvet links them, what they write, and what is in their
    variables afterwards, is what it is when nvlink links them at once. What differs between two runs of the latter is not asked."""
    group, theirs, objects = Group(tools, "random_cxx"), {}, os.environ.get("CV_OBJECTS")

    def one(seed):
        least, debug, more, features, texts = cxx_grammar.program(seed)
        if least > tools.sm or any(v in t for v in VAGUE for t in texts):
            return
        stem, units = os.path.join(tools.folder, "random-%d-" % seed), []
        if objects:
            units = [os.path.join(objects, "p%d_%d.sm_%d.cubin" % (seed, i, tools.sm)) for i in range(len(texts))]
            if not all(os.path.exists(u) for u in units):
                return
        try:
            units = units or compiled(tools, stem, texts, ["-w", "--extended-lambda", *debug, *more])
            images = in_all_ways(tools, stem, units, [runtime(tools)] if any(b"GetParameterBuffer" in read(u) for u in units) else [])
        except RuntimeError as why:  # programs that no linker takes, and those in which nvlink gives up
            group.table[("nvcc" if "-rdc" in str(why) else "nvlink" if str(why).startswith("nvlink") else "cuvet") + " refuses", "-"] += 1
            group.refused.append("%d: %s" % (seed, str(why)[-300:]))
            return
        kernels, variables = kernels_and_variables(images["reference"])
        kernels = [k for k in kernels if k.endswith(("Pii", "Pi", "PT_S0_", "PT_S1_", "PT_S_"))]
        if "several" in features:
            images.pop("turned")  # another definition stays
        for way, data in images.items():
            first = None
            for number, kernel in enumerate(kernels):
                for again in ("a", "b"):
                    name = "%d.%s.%d.%s" % (seed, way, number, again)
                    group.add(name, first or data, mode="W", kernel=kernel, number=5, variables=variables)
                    first = first or name
                    theirs[name] = "%d.reference.%d." % (seed, number)
    group.refused = []
    runtime(tools)
    pooled(one, range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS))
    asked = dict(group.questions)
    once = tools.driver.ask_each([(r + "a", asked[r + "a"]) for r in sorted(set(theirs.values()))], True)
    bad = {name[:-1] for name, answer in once.items() if answer.launch or answer.sync}  # nothing to compare, and each costs a process
    print("%d kernels, %d of which fault or never end, with nvlink" % (len(once), 0 if PREPARE else len(bad)))
    theirs = {name: reference for name, reference in theirs.items() if reference not in bad}
    group.questions = [q for q in group.questions if q[0] in theirs]
    answers, vague = group.ask(), set()
    for name, reference in theirs.items():
        a, b = answers[reference + "a"], answers[reference + "b"]
        mine, again = answers[name], answers[name[:-1] + "b"]
        if a != b or mine[4:] != again[4:]:
            vague.add(reference)
        elif name.endswith("a"):
            group.expect((mine.sync, mine.words) == (a.sync, a.words), name, "%s, not %s" % (mine, a))
        verdict = group.verdicts.get(name)
        group.expect(".reference." in name or verdict and verdict[0] == "clean", name, "a scan says %s" % (verdict,))
    if not theirs and not PREPARE:
        raise Skipped("random_cxx: no kernel of %d programs could be compared, %d were refused" % (PROGRAMS, len(group.refused)))
    print("%d kernels were compared, %d more are vague" % (len(set(theirs.values())) - len(vague), len(vague)))
    print("\n".join(group.refused))
    return group
