# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a mutant that a reader reads differently is nevertheless none that a scan could find.

Each row: kinds, group, fields (None: all), text that the reader's detail has to have (None: any), reason. What no row
fits is a miss without an excuse.
"""
import re

PROGRAM = "another program: a legal value where a compiler or the author of the code chooses freely"
TARGET = "made for another machine or by another toolkit: legal, but not for the reader that was asked"
STORED = "stored bytes have no checksum: the member unpacks to other code, which is legal as well"
UNSURE = "a warning that readelf has for genuine files of the same tools"
RAW = "the container is none any more; the device ELFs that lie in its bytes are judged all the same, the reader sees nothing"

ROWS = [
    (("refused",), "container header", ("magic", "version", "header_size"), r"does not contain device code|wrong format", RAW),
    (("refused", "warned"), "ELF header", ("e_flags", "e_version"),
     r"arch does not match|newer than toolkit|must be recompiled", TARGET),
    (("refused", "warned"), "note", None, r"newer than toolkit|must be recompiled", TARGET),
    (("layout",), "ELF header", ("e_version",), None, TARGET),
    (("layout",), "symbol", None, None, PROGRAM),
    (("layout",), "relocation", None, None, PROGRAM),
    (("layout",), "metadata", None, None, PROGRAM),
    (("layout",), "metadata of a clone", None, None, PROGRAM),
    (("layout",), "call graph", None, None, PROGRAM),
    (("layout",), "prototype", None, None, PROGRAM),
    (("layout",), "string table", ("byte of .strtab",), None, PROGRAM),
    (("refused",), "symbol", ("st_shndx", "st_info", "st_other"), r"Undefined reference", PROGRAM),
    (("layout", "warned", "refused"), "member payload", None, None, STORED),
    (("warned",), "symbol", ("st_info",), r"local symbol N found at index", UNSURE),
    (("warned", "refused"), "section header", ("sh_info",), r"local symbol N found at index", UNSURE),
]


def reason(kind, group, field, detail):
    """The reason why this is no fault of ours; None when there is none."""
    for kinds, in_group, fields, text, why in ROWS:
        if kind in kinds and group == in_group and (not fields or field in fields) and re.search(text or "", detail):
            return why
    return None
