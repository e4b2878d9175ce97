# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each shell step of the recipes for CI services (docs/ci.md), run as they would: what passes, and that nothing passes unseen."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import xml.dom.minidom

from lib_cli import CLEAN, CUVET, FINDINGS, IO, ROOT, USAGE, Skip, bad_container, equal, main, needs_packages, package, read, scratch, test, write

ACTION = os.path.join(ROOT, "contrib", "github-action", "action.yml")
GITLAB = os.path.join(ROOT, "contrib", "gitlab", "cuvet.gitlab-ci.yml")
HOOKS = os.path.join(ROOT, ".pre-commit-hooks.yaml")
HOOK = os.path.join(ROOT, "contrib", "pre-commit", "cuvet-hook")
REPAIR = os.path.join(ROOT, "contrib", "cibuildwheel", "repair-and-check")
# In the place of python3 -m venv, which would ask a package index: what pip was asked for is written down.
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 99
mkdir -p "$3/bin"
cat > "$3/bin/pip" << 'END'
#!/bin/sh
for last; do :; done
echo "$last" >> "@asked"
[ "$last" != broken ] && ln -sf "@cuvet" "$(dirname "$0")/cuvet"
END
cat > "$3/bin/python" << 'END'
#!/bin/sh
[ "$1 $2" = "-m cuvet.codequality" ] && shift 2 && exec "@python" "@convert" "$@"
END
chmod +x "$3/bin/pip" "$3/bin/python"
"""


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def blocks(text, key):
    """The literal blocks ("key: |") of a YAML file, by their indentation."""
    found, lines = [], text.splitlines()
    for i, line in enumerate(lines):
        if re.fullmatch(r" *(- )?" + key + r"\|", line):
            rest = []
            for more in lines[i + 1:]:
                if more.strip() and len(more) - len(more.lstrip()) <= len(line) - len(line.lstrip()):
                    break
                rest.append(more)
            margin = min(len(x) - len(x.lstrip()) for x in rest if x.strip())
            found.append("\n".join(x[margin:] for x in rest).rstrip() + "\n")
    return found


def sandbox():
    """(folder of a project with dist/, environment of its jobs)"""
    d = scratch()
    for name in ("dist", "bin", "temp"):
        os.mkdir(os.path.join(d, name))
    shutil.copy(package(**{"lib/a.so": read("multi.fatbin"), "a.py": b"pass\n"}), os.path.join(d, "dist", "good.whl"))
    with open(os.path.join(d, "bin", "python3"), "w", encoding="utf-8") as f:
        words = {"asked": os.path.join(d, "asked"), "cuvet": CUVET, "python": sys.executable,
                 "convert": os.path.join(ROOT, "python", "src", "cuvet", "codequality.py")}
        f.write(re.sub("@([a-z]+)", lambda m: words[m.group(1)], PYTHON))
    os.chmod(f.name, 0o755)
    return d, {"PATH": os.path.join(d, "bin") + os.pathsep + os.environ["PATH"], "RUNNER_TEMP": os.path.join(d, "temp"), "GITHUB_WORKSPACE": d,
               "GITHUB_OUTPUT": os.path.join(d, "output"), "GITHUB_RUN_ID": "7", "CI_PROJECT_DIR": d}


def bash(script, d, env, **more):
    return subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script], cwd=d, env=dict(os.environ, **env, **more),
                          capture_output=True, text=True, timeout=120, check=False)


def inputs(**given):
    names = ("files", "require", "policy", "baseline", "fail_on", "sarif")
    return {"CUVET_" + n.upper(): given.get(n, {"files": "dist/*.whl", "sarif": "cuvet-sarif"}.get(n, "")) for n in names}


@test
def the_extraction():
    """What is run here is what a reader of YAML sees; nothing of a user's is pasted into a script."""
    steps = blocks(text_of(ACTION), "run: ")
    equal(len(steps), 2, "steps")
    for script in steps + blocks(text_of(GITLAB), ""):
        assert "${{" not in script, script
    try:
        import yaml
    except ImportError as e:
        raise Skip("python3-yaml is not installed") from e
    action, gitlab = yaml.safe_load(text_of(ACTION)), yaml.safe_load(text_of(GITLAB))
    equal([s["run"] for s in action["runs"]["steps"]], steps, "action.yml")
    equal(gitlab[".cuvet"]["script"][1], blocks(text_of(GITLAB), "")[0], "GitLab")
    used = set(re.findall(r"inputs\.([a-z-]+)", text_of(ACTION)))
    equal(used, set(action["inputs"]), "inputs")
    for hook in yaml.safe_load(text_of(HOOKS)):
        assert os.access(os.path.join(ROOT, hook["entry"].split()[0]), os.X_OK) and hook["language"] == "script", hook


@test
def the_action_installs():
    d, env = sandbox()
    install = blocks(text_of(ACTION), "run: ")[0]
    for version, wheel, want, rc in (("", "", "cuvet", 0), ("0.1.0", "", "cuvet==0.1.0", 0), ("9", "./a b.whl", "./a b.whl", 0), ("", "broken", "broken", 1)):
        shutil.rmtree(os.path.join(d, "temp", "cuvet"), ignore_errors=True)
        p = bash(install, d, env, CUVET_VERSION=version, CUVET_PACKAGE=wheel)
        equal((p.returncode, text_of(os.path.join(d, "asked")).splitlines()[-1]), (rc, want), p.stderr)


@test
def the_action_checks():
    needs_packages()
    d, env = sandbox()
    install, check = blocks(text_of(ACTION), "run: ")
    p = bash(check, d, env, **inputs(require="sm_90"))
    equal((p.returncode, "not installed" in p.stdout), (IO, True), "nothing is installed")
    equal(bash(install, d, env, CUVET_VERSION="", CUVET_PACKAGE="").returncode, 0)
    write(b'{"schema": "cuvet-policy/1", "require": {"architectures": ["sm_100"]}}', "good.json", d)
    write(bad_container(), "bad $(touch x) file.fatbin", d)
    write(read("plain.sm_90.cubin"), "-n.cubin", d)
    write(subprocess.run([CUVET, "scan", "--format=ndjson", "bad $(touch x) file.fatbin"], cwd=d, capture_output=True, check=False).stdout, "before", d)
    write(b"no device code", "dist/none.bin", d)
    for given, want in ((dict(require="sm_80,sm_90"), CLEAN), (dict(policy="good.json"), CLEAN), (dict(require="sm_99"), FINDINGS), (dict(), USAGE),
                        (dict(files="", require="sm_90"), USAGE), (dict(files="dist/*.zip", require="sm_90"), IO), (dict(files="dist/*.whl\ndist/*.zip", require="sm_90"), IO),
                        (dict(policy="none.toml"), IO), (dict(require="sm_9x"), USAGE), (dict(files="dist/none.bin", require="sm_90"), FINDINGS),
                        (dict(files="nobody.whl", require="sm_90"), IO), (dict(files="bad*", require="sm_90"), FINDINGS),
                        (dict(files="bad $(touch x) file.fatbin", require="sm_90", baseline="before"), CLEAN), (dict(files="-n.cubin", require="sm_90"), CLEAN),
                        (dict(files="dist/*.whl\nbad*", require="sm_90", sarif="other/place"), FINDINGS), (dict(require="sm_90", fail_on="nonsense"), USAGE)):
        if os.path.exists(env["GITHUB_OUTPUT"]):
            os.unlink(env["GITHUB_OUTPUT"])
        p = bash(check, d, env, **inputs(**given))
        equal(p.returncode, want, "%s: %s%s" % (given, p.stdout, p.stderr))
        if os.path.exists(env["GITHUB_OUTPUT"]):
            equal(text_of(env["GITHUB_OUTPUT"]), "sarif=%s\nexit-code=%d\n" % (given.get("sarif", "cuvet-sarif"), want), "outputs")
    assert not os.path.exists(os.path.join(d, "x")), "a name was run"
    equal(bash(check, d, env, **inputs(require="sm_90", sarif="a\nexit-code=0")).returncode, USAGE, "an output of its own")
    for name in ("::error::x.fatbin", "##[error]x.fatbin", "::cuvet-7-1::.fatbin"):
        write(bad_container(), name, d)
    p = bash(check, d, env, **inputs(require="sm_90", files="[:#][:#]*.fatbin"))
    both, word = p.stdout + p.stderr, re.match("::stop-commands::([0-9a-f]{32})\n", p.stdout).group(1)
    assert p.returncode == FINDINGS and p.stdout.splitlines()[-1] == "::%s::" % word and both.count(word) == 2 and "##[error]" in both, (p.stdout, p.stderr)
    assert word != re.match("::stop-commands::(.*)", bash(check, d, env, **inputs(require="sm_90")).stdout).group(1)
    os.unlink(os.path.join(d, "temp", "cuvet", "bin", "cuvet"))
    for dies, rc in (("kill -KILL $$", 137), ("exit 5", 5), ("exit 139", 139)):  # one of its calls
        for which in ("scan --format=sarif", "check --format=sarif", "check --require"):
            write(('#!/bin/sh\ncase "$*" in "%s"*) %s ;; esac\nexec "%s" "$@"\n' % (which, dies, CUVET)).encode(), "temp/cuvet/bin/cuvet", d)
            os.chmod(os.path.join(d, "temp", "cuvet", "bin", "cuvet"), 0o755)
            equal(bash(check, d, env, **inputs(require="sm_90")).returncode, rc, (dies, which))
    ids = set()
    for name in ("scan", "check"):
        (run,) = json.loads(text_of(os.path.join(d, "other", "place", name + ".sarif")))["runs"]
        ids.add(run["automationDetails"]["id"])
        uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"] if r["level"] == "error"}
        equal(uris, {"bad%20%24%28touch%20x%29%20file.fatbin"}, name)
    equal(len(ids), 2, "two uploads that do not replace each other")


@test
def the_action_of_a_scan():
    """What fail-on adds."""
    needs_packages()
    d, env = sandbox()
    install, check = blocks(text_of(ACTION), "run: ")
    bash(install, d, env, CUVET_VERSION="", CUVET_PACKAGE="")
    shutil.copy(os.path.join(ROOT, "corpus", "samples", "thin.a"), d)
    write(b'{"schema": "cuvet-policy/1", "forbid": {"kinds": ["ptx"]}}', "p.json", d)
    equal(bash(check, d, env, **inputs(files="thin.a", policy="p.json")).returncode, CLEAN)
    equal(bash(check, d, env, **inputs(files="thin.a", policy="p.json", fail_on="unsupported")).returncode, FINDINGS)


@test
def gitlab():
    needs_packages()
    d, env = sandbox()
    first = re.search(r"^    - (python3 .*)$", text_of(GITLAB), re.M).group(1)
    script = "set +o pipefail\n" + first + "\n" + blocks(text_of(GITLAB), "")[0]
    write(bad_container(), "dist/bad.fatbin", d)
    write(b'{"schema": "cuvet-policy/1", "require": {"architectures": ["sm_100"]}}', "good.json", d)
    defaults = dict(re.findall(r'^    (CUVET_\w+): "?([^"#\n]*?)"?(?: #.*)?$', text_of(GITLAB), re.M))
    equal(sorted(defaults), ["CUVET_BASELINE", "CUVET_FILES", "CUVET_PACKAGE", "CUVET_POLICY", "CUVET_REQUIRE"], "variables")
    for given, want in (({}, USAGE), ({"CUVET_REQUIRE": "sm_90"}, CLEAN), ({"CUVET_POLICY": "good.json"}, CLEAN), ({"CUVET_POLICY": "none.json"}, IO),
                        ({"CUVET_REQUIRE": "sm_99"}, FINDINGS), ({"CUVET_REQUIRE": "sm_90", "CUVET_FILES": "dist/*.zip"}, IO),
                        ({"CUVET_REQUIRE": "sm_90", "CUVET_PACKAGE": "broken"}, None), ({"CUVET_REQUIRE": "sm_75", "CUVET_FILES": "dist/*"}, FINDINGS)):
        shutil.rmtree(os.path.join(d, ".cuvet"), ignore_errors=True)
        p = bash(script, d, env, **dict(defaults, **given))
        assert p.returncode == want if want is not None else p.returncode != 0, (given, p.returncode, p.stdout, p.stderr)
    made = {name: text_of(os.path.join(d, name)) for name in ("cuvet.junit.xml", "gl-code-quality-report.json")}
    write(bad_container(), "--baseline=b.fatbin", d)  # a name is no option
    write(subprocess.run([CUVET, "scan", "--format=ndjson", "./--baseline=b.fatbin"], cwd=d, capture_output=True, check=False).stdout, "b.fatbin", d)
    write(bad_container(), "a b.fatbin", d)
    for files, want in (("*=b.fatbin", FINDINGS), ("a*.fatbin", FINDINGS), ("", FINDINGS)):
        equal(bash(script, d, env, **dict(defaults, CUVET_REQUIRE="sm_75", CUVET_FILES=files)).returncode != 0, want != 0, files)
    for name, text in made.items():
        write(text.encode(), name, d)
    suite = xml.dom.minidom.parseString(text_of(os.path.join(d, "cuvet.junit.xml"))).getElementsByTagName("testsuite")[0]
    equal((suite.getAttribute("tests"), suite.getAttribute("failures")), ("2", "1"), "JUnit")
    rows = [r for r in json.loads(text_of(os.path.join(d, "gl-code-quality-report.json"))) if r["severity"] != "info"]
    equal([(r["location"], r["check_name"], r["severity"]) for r in rows],
          [({"path": "dist/bad.fatbin", "lines": {"begin": 1}}, "CV-FATBIN-015", "critical")], "code quality")
    assert re.fullmatch("[0-9a-f]{64}", rows[0]["fingerprint"]) and rows[0]["description"].startswith("Member"), rows
    convert = [sys.executable, os.path.join(ROOT, "python", "src", "cuvet", "codequality.py")]
    for bad in (b"", b"[]", b'{"runs": [{}]}', b"\xff"):
        equal(subprocess.run(convert + [write(bad)], capture_output=True, check=False).returncode, IO, bad)
    equal((subprocess.run(convert, capture_output=True, check=False).returncode, subprocess.run(convert + ["none"], capture_output=True, check=False).returncode), (USAGE, IO))


@test
def the_hook():
    d, _ = sandbox()
    write(bad_container(), "bad.fatbin", d)
    write(read("multi.fatbin"), "good.fatbin", d)
    write(b"text", "none.fatbin", d)
    entries = re.findall(r"^  entry: \S+cuvet-hook (.*)$", text_of(HOOKS), re.M)
    equal(len(entries), 2, "hooks")
    scan, check = (e.split() for e in entries)

    def hook(*args, **env):
        return subprocess.run([HOOK, *args], cwd=d, env=dict(os.environ, **{"CUVET": CUVET, **env}), capture_output=True, text=True, check=False)

    equal([hook(*scan, f).returncode for f in ("good.fatbin", "bad.fatbin", "missing")], [CLEAN, FINDINGS, IO])
    equal([hook(*check, "--require=sm_75", f).returncode for f in ("good.fatbin", "bad.fatbin", "none.fatbin")], [CLEAN, FINDINGS, FINDINGS])
    equal(hook(*check, "good.fatbin").returncode, USAGE, "args were forgotten")
    write(subprocess.run([CUVET, "scan", "--format=ndjson", "bad.fatbin"], cwd=d, capture_output=True, check=False).stdout, "b.fatbin", d)
    for name in ("--baseline=b.fatbin", "--help.fatbin", "-q.fatbin", "--", "a b\nc.fatbin"):
        write(bad_container(), name, d)
        equal([hook(*scan, name).returncode, hook(*check, "--require=sm_75", name).returncode], [FINDINGS, FINDINGS], name)
    equal(hook(*check, "--require=sm_75", "bad.fatbin", "--baseline=b.fatbin").returncode, FINDINGS, "a name is no option")
    p = hook(*scan, "good.fatbin", CUVET="/none/cuvet")
    equal((p.returncode, "not installed" in p.stderr), (IO, True))
    wanted = [re.compile(x) for x in re.findall(r"^  files: '(.*)'$", text_of(HOOKS), re.M)]
    for name, scanned, checked in (("a/b.whl", 1, 1), ("libx.so.12.1", 1, 0), ("x.cubin", 1, 1), ("x.cubin.py", 0, 0), ("notes.md", 0, 0)):
        equal([bool(w.search(name)) for w in wanted], [bool(scanned), bool(checked)], name)


@test
def pre_commit_itself():
    program = shutil.which("pre-commit")
    if not program or not shutil.which("git"):
        raise Skip("pre-commit and git are not installed")
    d, home, hooks = scratch(), scratch(), scratch()
    for name in (".pre-commit-hooks.yaml", "contrib/pre-commit/cuvet-hook"):
        os.makedirs(os.path.dirname(os.path.join(hooks, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(hooks, name))
    env = dict(os.environ, PATH=os.path.dirname(CUVET) + os.pathsep + os.environ["PATH"], HOME=home, PRE_COMMIT_HOME=home, GIT_CONFIG_NOSYSTEM="1",
               GIT_AUTHOR_NAME="x", GIT_AUTHOR_EMAIL="x@x", GIT_COMMITTER_NAME="x", GIT_COMMITTER_EMAIL="x@x")

    def run(where, *args):
        return subprocess.run(args, cwd=where, env=env, capture_output=True, text=True, timeout=120, check=False)

    for where in (hooks, d):
        run(where, "git", "init", "-q")
    write(("repos:\n- repo: %s\n  rev: v1\n  hooks:\n  - id: cuvet-scan\n  - id: cuvet-check\n    args: [--require=sm_90]\n" % hooks).encode(), ".pre-commit-config.yaml", d)
    for where in (hooks, d):
        run(where, "git", "add", "-A")
        equal(run(where, "git", "commit", "-qm", "x").returncode, 0)
    run(hooks, "git", "tag", "v1")
    equal(run(d, program, "validate-manifest", HOOKS).returncode, 0, "manifest")
    for data, rc in ((read("multi.fatbin"), 0), (bad_container(), 1)):
        write(data, "a.fatbin", d)
        run(d, "git", "add", "-A")
        p = run(d, program, "run")
        equal((p.returncode, "CV-FATBIN-015" in p.stdout), (rc, rc == 1), p.stdout + p.stderr)


@test
def cibuildwheel():
    """The wheel that comes out of the repair is the one that is checked."""
    needs_packages()
    d, _ = sandbox()
    write(b'#!/bin/sh\nset -e\n[ "$1" = repair ]; shift\n[ "$1" != --strip ] || shift\n[ "$1" = -w ]; mkdir -p "$2"\n[ -n "$NOTHING" ] || cp "$3" "$2"\n', "auditwheel", d)
    os.chmod(os.path.join(d, "auditwheel"), 0o755)

    def repair(*args, **env):
        shutil.rmtree(os.path.join(d, "out"), ignore_errors=True)
        return subprocess.run(["sh", REPAIR, *args], cwd=d, env=dict(os.environ, **{"CUVET": CUVET, "AUDITWHEEL": "./auditwheel", **env}), capture_output=True, text=True,
                              check=False)

    wheel = os.path.join("dist", "good.whl")
    for args, env, want in ((("--require=sm_90", "--", "out", wheel), {}, CLEAN), (("--require=sm_90", "--forbid=lto-ir", "--", "out", wheel, "--strip"), {}, CLEAN),
                            (("--require=sm_99", "--", "out", wheel), {}, FINDINGS), (("--", "out", wheel), {}, USAGE), (("--require=sm_90", "out", wheel), {}, USAGE),
                            (("--policy=none.toml", "--", "out", wheel), {}, IO), (("--require=sm_90", "--", "out", wheel), {"CUVET": "/none/cuvet"}, IO),
                            (("--require=sm_90", "--", "out", wheel), {"NOTHING": "1"}, IO), (("--require=sm_90", "--", "out", "none.whl"), {}, 1),
                            (("--require=sm_90;x", "--", "out", wheel), {}, USAGE), (("--require=sm_90", "--", "out", wheel), {"AUDITWHEEL": "/none/auditwheel"}, 127)):
        p = repair(*args, **env)
        equal(p.returncode, want, "%s %s: %s%s" % (args, env, p.stdout, p.stderr))
    equal(sorted(glob.glob(os.path.join(d, "dist", "*"))), [os.path.join(d, wheel)], "what went in stays")


main()
