# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links, finalizations and selections: the bytes of the command, and refusals that say why."""
import io
import pathlib
import pickle
import subprocess
from typing import Any, List

import pytest
from conftest import HOSTILE, SAMPLES, files_of

import cuvet

PAIR = [SAMPLES / "two_a.sm_90.rdc.cubin", SAMPLES / "two_b.sm_90.rdc.cubin"]
MULTI = SAMPLES / "multi.fatbin"


def made_by(command: str, tmp_path: pathlib.Path, *args: str) -> bytes:
    out = tmp_path / "out"
    subprocess.run([command, *args, "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
@pytest.mark.parametrize("option", ["", "-r", "-g"])
def test_link_as_the_command(command: str, tmp_path: pathlib.Path, arch: str, option: str) -> None:
    pair = [SAMPLES / ("two_%s.%s.rdc.cubin" % (half, arch)) for half in "ab"]
    expected = made_by(command, tmp_path, "link", "-arch=" + arch, *([option] if option else []), *map(str, pair))
    linked = cuvet.link(pair, arch=arch, relocatable=option == "-r", debug=option == "-g")
    assert linked.image == expected
    assert (linked.arch, linked.objects, linked.inputs) == (arch, 2, tuple(map(str, pair)))
    assert [(event.kind, event.status) for event in linked.events] == [("taken", "OK")] * 2
    assert cuvet.scan(linked.image).verdict == "clean"


def test_inputs_of_a_link() -> None:
    expected = cuvet.link(PAIR, arch="sm_90").image
    data = [path.read_bytes() for path in PAIR]
    some: List[Any] = [data, map(str, PAIR), tuple(map(io.BytesIO, data)), [cuvet.Input(one, "x") for one in data],
                       [data[0], PAIR[1]]]
    for inputs in some:
        assert cuvet.link(inputs, arch="sm_90").image == expected
    alone = SAMPLES / "branchy.sm_90.rdc.cubin"
    one: List[Any] = [alone, str(alone), alone.read_bytes(), io.BytesIO(alone.read_bytes()), cuvet.Input(alone)]
    assert len({cuvet.link(single, arch="sm_90").image for single in one}) == 1
    assert cuvet.link(data, arch="sm_90").inputs == ("input 0", "input 1")
    with pytest.raises(TypeError):
        cuvet.link([3], arch="sm_90")  # type: ignore[list-item]


def test_host_objects_have_modules() -> None:
    pair = [SAMPLES / "host-two_a.o", SAMPLES / "host-two_b.o"]
    linked = cuvet.link(pair, arch="sm_75")
    assert len(linked.modules) == 2 and linked.kernels == 1
    only = cuvet.link(pair, arch="sm_75", modules_only=True)
    assert (only.modules, only.image, only.arch) == (linked.modules, b"", None)
    with pytest.raises(cuvet.LinkError) as refused:
        cuvet.link(pair, arch="sm_90")
    assert refused.value.status == "COMPILER" and "nothing-fits" in [event.kind for event in refused.value.events]


def test_kernels_that_stay() -> None:
    whole = cuvet.link(PAIR, arch="sm_90")
    assert cuvet.link(PAIR, arch="sm_90", kernels=["caller"]).kernels == whole.kernels == 1
    with pytest.raises(ValueError):
        cuvet.link(PAIR, arch="sm_90", kernels=["a\0b"])


def test_a_link_that_is_refused() -> None:
    with pytest.raises(cuvet.LinkError) as refused:
        cuvet.link([PAIR[0], PAIR[0]], arch="sm_90")
    error = refused.value
    assert (error.status, error.inputs) == ("REFUSED", (str(PAIR[0]),) * 2)
    reason = error.reason
    assert reason is not None
    assert (reason.rule, reason.severity, reason.offset > 0) == ("CV-LINK-001", "error", True)
    assert set(reason.symbols) == {"_Z6callerPi"} and "CV-LINK-001" in str(error)
    with pytest.raises(cuvet.LinkError) as refused:
        cuvet.link([PAIR[0], b"nothing"], arch="sm_90")
    assert refused.value.status == "UNKNOWN"
    assert [(event.file, event.status) for event in refused.value.events] == [(str(PAIR[0]), "OK"), ("input 1", "UNKNOWN")]


def test_damaged_objects_are_not_linked() -> None:
    refused = 0
    for path in files_of(HOSTILE)[::5]:
        try:
            cuvet.link([path], arch="sm_90")
        except cuvet.LinkError as error:
            refused += 1
            assert error.findings or error.events, path
            assert error.status != "INTERNAL", path
    assert refused > 150


def test_wrong_links() -> None:
    with pytest.raises(cuvet.Error) as refused:
        cuvet.link(PAIR, arch="sm_9000")
    assert refused.value.status == "ARCH"
    with pytest.raises(TypeError, match="no_such"):
        cuvet.link(PAIR, arch="sm_90", no_such=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError):
        cuvet.link(PAIR, arch="sm_90", policy="none")
    with pytest.raises(cuvet.Error) as refused:
        cuvet.link(PAIR, arch="sm_90", exact_relocatable=True)
    assert refused.value.status == "USAGE"
    with pytest.raises(cuvet.LinkError):
        cuvet.link([], arch="sm_90")


def test_finalize(command: str, tmp_path: pathlib.Path) -> None:
    path = SAMPLES / "branchy.sm_100.cubin"
    same = cuvet.finalize(path)
    assert (same.code, same.image, same.source, same.target) == ("NOT_NEEDED", path.read_bytes(), "sm_100", "sm_100")
    bare = cuvet.finalize(path.read_bytes(), form="sass")
    assert (bare.code, bare.backend, bare.source_form, bare.target_form) == ("OK", "strip", "capmerc", "sass")
    assert bare.image == made_by(command, tmp_path, "finalize", "--binary-kind=sass", str(path))
    with pytest.raises(cuvet.FinalizeError) as refused:
        cuvet.finalize(path, arch="sm_120")
    assert (refused.value.status, refused.value.code) == ("REFUSED", "INCOMPATIBLE")
    assert refused.value.reason and (refused.value.reason.got, refused.value.reason.want) == (100, 120)
    with pytest.raises(cuvet.FinalizeError) as refused:
        cuvet.finalize(b"nothing")
    assert refused.value.findings
    with pytest.raises(cuvet.Error) as wrong:
        cuvet.finalize(path, backend="none")
    assert wrong.value.status == "USAGE"
    with pytest.raises(ValueError):
        cuvet.finalize(path, form="none")


def test_select(command: str, tmp_path: pathlib.Path) -> None:
    chosen = cuvet.select(MULTI, arch="sm_120", request="ptx")
    assert (chosen.kind, chosen.compiled) == ("ptx", False)
    assert chosen.image == made_by(command, tmp_path, "select", "--arch=sm_120", "--request=ptx", str(MULTI))
    assert [(one.arch, one.chosen) for one in chosen.candidates if one.rank == 1] == [("compute_120", True)]
    with pytest.raises(cuvet.SelectError) as refused:
        cuvet.select(MULTI, arch="sm_90")
    error = refused.value
    assert error.status == "REFUSED" and error.reason and error.reason.rule == "CV-ADMIT-003"
    assert {one.arch: one.reason for one in error.candidates}["sm_75"] == "family"
    with pytest.raises(cuvet.SelectError) as refused:
        cuvet.select(MULTI, arch="sm_75", request="lto-ir")
    assert refused.value.status == "NO_MATCH"
    with pytest.raises(cuvet.Error):
        cuvet.select(MULTI, arch="x")


def test_exceptions_can_be_sent_to_another_process() -> None:
    errors: List[Exception] = [cuvet.WorkerError("lost", "signal 11")]
    for call in (lambda: cuvet.link(PAIR[:1] * 2, arch="sm_90"), lambda: cuvet.select(MULTI, arch="sm_90"),
                 lambda: cuvet.finalize(b"x"), lambda: cuvet.scan(MULTI, arch="sm_1")):
        with pytest.raises(cuvet.Error) as refused:
            call()
        errors.append(refused.value)
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), vars(copy), str(copy)) == (type(error), vars(error), str(error))
