# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of hostile cases: each module cases_*.py adds its own with `case`."""

import os
import re

import synth
from edit import Blob, Elf, Fat

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, 'corpus')
ELF_ENDINGS = ('.cubin', '.o', '.so', '.exe')
# Rules that no file on its own can raise, and why.
NO_FILE = {
    'IO_READ': 'needs a failing source; tests/library/fault',
    'IO_OPEN': 'needs a name that cannot be opened; tests/unit/api/test_simple.c',
    'TWIN_TAKEN': 'what becomes of a file; tests/unit/finalize/test_codes.c',
    'LINK_OF_LINKERS': 'an object that a link is given; tests/unit/api/test_linker_claims.c',
    'LINK_SYSTEM_NAME': 'an object that a link is given; tests/unit/api/test_linker_claims.c',
    'LINK_SYMBOL_TYPE': 'an object that a link is given; tests/unit/api/test_linker_claims.c',
    'LINK_COMMON_ALIGN': 'a link of several objects; tests/unit/api/test_linker_commons.c',
    'IO_MODIFIED': 'needs a file that is written to during the scan; tests/library/fault',
    'IO_CHANGED': 'needs a file that changes during the scan; tests/unit/scan/test_unit.c',
    'FATBIN_MAGIC': 'the search finds right magics only; the reader is tested by tests/unit/format',
    'AR_MAGIC': 'an archive is recognised by its magic; the reader is tested by tests/unit/format',
    'LIMIT_PTX_PROBE': 'a limit of the classifier; tests/unit/intake',
    'LIMIT_OPTIONS': 'a limit of the calls of an input; tests/unit/api',
    'LIMIT_OPTION_BYTES': 'a limit of the calls of an input; tests/unit/api',
    'LIMIT_PADDING': 'a limit of what is written; tests/unit/finalize',
    'LIMIT_CANDIDATES': 'a limit of the selection; tests/unit/api',
    'HOST_NAMES_SIZE': 'needs a name table of many megabytes; tests make one while they run',
}
# Families that a scan does not raise: they are about an input on its way to a linker.
NO_FILE_PREFIX = {
    'CLASS_': 'the class of a payload; tests/unit/intake and tests/unit/api, row by row',
    'INPUT_': 'what is selected from a payload; tests/unit/api and tests/cli/test_select.py',
    'API_': 'what a caller hands in; tests/unit/api',
    'ADMIT_': 'a legal file for the wrong target or use; tests/unit/cubin/test_admit.c, row by row',
    'FINAL_': 'a legal file that is not what is wanted, or a backend that misbehaves; tests/unit/finalize, row by row',
    'BACKEND_': 'what a code generator does; tests/unit/finalize/test_external.c, row by row',
    'DWARF_': 'debug information that is rewritten when code moves; tests/unit/finalize, rule by rule',
    'LINK_': 'what several objects say together; tests/unit/api, rule by rule',
    'COMPILE_': 'what a compiler does; tests/unit/proc and tests/unit/api',
}
CASES = []
LEGAL = []
_samples = {}


def sample(name):
    """the bytes of a sample"""
    if name not in _samples:
        with open(os.path.join(CORPUS, 'samples', name), 'rb') as handle:
            _samples[name] = handle.read()
    return _samples[name]


def load(base):
    """a fresh editable picture of a sample; abi7:, cuver: and elf32: make older files from it"""
    form, _, name = base.rpartition(':')
    data = sample(name)
    if form == 'abi7':
        return synth.legacy(Elf(data))
    if form == 'cuver':
        return synth.cuver(Elf(data))
    if form == 'elf32':
        return Blob(synth.elf32(synth.legacy(Elf(data))))
    if name.endswith('.fatbin'):
        return Fat(data)
    return Elf(data) if name.endswith(ELF_ENDINGS) else Blob(data)


class Case:
    """one hostile file: `rule` (by name) is what it must raise, `legal` makes the neighbour that must not"""

    def __init__(
        self, rule, label, base, edit, legal=None, options='', legal_options='', neighbour=None, ending=None
    ):
        self.rule, self.label, self.base, self.edit = rule, label, base, edit
        self.legal, self.options, self.legal_options, self.neighbour = (
            legal,
            options,
            legal_options,
            neighbour,
        )
        self.ending = ending or os.path.splitext(base)[1]

    def build(self, edit):
        """(bytes, offset of the edit or None, its offset in decompressed content or None)"""
        result = edit(load(self.base))
        return bytes(result), result.at, getattr(result, 'inner', None)


def case(rule, label, base, edit, **more):
    CASES.append(Case(rule, label, base, edit, **more))


def legal(name, make):
    """a file of corpus/legal that is no neighbour of one case: `make` returns its bytes"""
    LEGAL.append((name, make))


def rules(folder):
    """{name: (id, severity, class)} out of spec/rules_*.def"""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith('rules_') and name.endswith('.def'):
            with open(os.path.join(folder, name), encoding='utf-8') as handle:
                for match in re.finditer(
                    r'^RULE\((\w+),\s*"(CV-[A-Z0-9-]+)",\s*(\w+),\s*(\w+),', handle.read(), re.M
                ):
                    found[match.group(1)] = (match.group(2), match.group(3), match.group(4))
    return found


def verdict(severity, kind):
    """what one diagnostic of a rule makes of a file"""
    if kind in ('LIMIT',):
        return 'limit'
    if kind in ('IO', 'INTERNAL'):
        return 'error'
    if kind == 'TARGET':
        return 'clean'  # whoever scans is not linking: notes
    if kind == 'UNSUPPORTED':
        return 'unsupported'
    return {'NOTE': 'clean', 'WARNING': 'suspicious', 'ERROR': 'malformed'}[severity]
