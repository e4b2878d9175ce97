# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet: vets, links and finalizes CUDA device code that nobody should trust.

Sources are bytes, paths, or binary file objects. A damaged file is a result of a scan; a link, a finalization and a
selection that are refused are exceptions, which say rule, offset, what was found and what was expected. Functions may be
called from several threads at once; the GIL is released while the library works.

:func:`list` is not among what ``from cuvet import *`` takes.
"""
from cuvet._errors import Error, FinalizeError, LinkError, SelectError, WorkerError
from cuvet._finalize import FinalizeFlags, finalize
from cuvet._library import lib as _lib
from cuvet._library import text as _text
from cuvet._limits import Limits, limits
from cuvet._link import Input, Inputs, LinkFlags, LocalLinkFlags, link
from cuvet._results import (Candidate, Counts, Event, FinalizeResult, Finding, LinkResult, Member, Producer, Rule, ScanResult,
                            SelectResult)
from cuvet._rules import rule, rules
from cuvet._scan import list as list
from cuvet._scan import scan, unpack, walk
from cuvet._select import SelectFlags, select
from cuvet._sources import Readable, Source
from cuvet._worker import Answer, Worker

__version__: str = _text(_lib.cuvet_version())

__all__ = [
    "Answer", "Candidate", "Counts", "Error", "Event", "FinalizeError", "FinalizeFlags", "FinalizeResult", "Finding", "Input",
    "Inputs", "Limits", "LinkError", "LinkFlags", "LinkResult", "LocalLinkFlags", "Member", "Producer", "Readable", "Rule",
    "ScanResult", "SelectError", "SelectFlags", "SelectResult", "Source", "Worker", "WorkerError", "__version__", "finalize",
    "limits", "link", "rule", "rules", "scan", "select", "unpack", "walk",
]
