# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of detection.py."""
import collections
import json

import detection_reasons as reasons
import detection_samples as samples

WORST = ["hang", "crash", "refused", "warned", "layout", "words", "value", "same"]
GONE = "no longer device code for us, nor for the reader"
MISSES = ("hang", "crash", "refused", "warned", "layout")


def worst(row):
    """The worst word of a reader on a mutant, with the reader and the detail."""
    answers = sorted(row.get("answers") or [], key=lambda answer: WORST.index(answer[1]))
    return answers[0] if answers else None


def excuse(row, answer):
    """Why an answer is none that a scan could have foretold; None when there is no such reason."""
    if row["after"] == "gone" and (answer[1] in ("refused", "warned") or answer[0] == "readelf"):
        return GONE
    return reasons.reason(answer[1], row["mutant"].field.group, row["mutant"].field.name, answer[2])


def verdict(row):
    """(answer, reason) of the worst answer that has no reason, else of the worst that has; None when all read the same."""
    if row["after"] == "found":
        return None
    odd = [answer for answer in row.get("answers") or [] if answer[1] in MISSES]
    odd.sort(key=lambda answer: (excuse(row, answer) is not None, WORST.index(answer[1])))
    return (odd[0], excuse(row, odd[0])) if odd else None


def miss_kind(row):
    """The kind of miss that a mutant is; None when it was found, reads the same, or differs for a reason."""
    judged = verdict(row)
    return judged[0][1] if judged and not judged[1] else None


def estimate(rows):
    """How many misses there would be if the slow readers had seen all mutants: by field, from those that they saw."""
    total = 0.0
    fields = collections.defaultdict(list)
    for row in rows:
        if row["after"] != "found":
            fields[row["era"], row["mutant"].field.group, row["mutant"].field.name.split(" of 0x")[0]].append(row)
    for here in fields.values():
        missed = [row for row in here if miss_kind(row)]
        seen = [row for row in here if row.get("slow")]
        only_slow = [row for row in missed if verdict(row)[0][0].startswith("nvdisasm")]
        quiet = [row for row in seen if row not in missed or row in only_slow]
        rest = sum(not row.get("slow") and row not in missed for row in here)
        total += len(missed) + (rest * len(only_slow) / len(quiet) if quiet else 0)
    return total


def percent(part, whole):
    return "%.2f %%" % (100.0 * part / whole) if whole else "-"


def main_table(rows):
    lines = ["| era | class of field | mutants | found before | found after | read differently, for a reason | misses | "
             "estimate with all disassembled | kinds of misses |", "|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for era in samples.ERAS + ["all"]:
        groups = collections.defaultdict(list)
        for row in rows:
            if era in (row["era"], "all"):
                groups[row["mutant"].field.group].append(row)
                groups["all"].append(row)
        for group in sorted(groups, key=lambda g: (g == "all", g)):
            here = groups[group]
            kinds = collections.Counter(filter(None, map(miss_kind, here)))
            excused = sum(1 for row in here if verdict(row) and verdict(row)[1] and verdict(row)[1] != GONE)
            lines.append("| %s | %s | %d | %s | %s | %s | %s | %s | %s |" % (
                era, group, len(here), percent(sum(r["before"] == "found" for r in here), len(here)),
                percent(sum(r["after"] == "found" for r in here), len(here)), percent(excused, len(here)),
                percent(sum(kinds.values()), len(here)), percent(estimate(here), len(here)),
                ", ".join("%s %d" % pair for pair in sorted(kinds.items()))))
    return lines


def reason_table(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        judged = verdict(row)
        if judged and judged[1]:
            groups[judged[1]].append(row)
    lines = ["| reason | mutants | fields | kinds |", "|---|---:|---|---|"]
    for why, here in sorted(groups.items(), key=lambda item: -len(item[1])):
        fields = collections.Counter("%s: %s" % (r["mutant"].field.group, r["mutant"].field.name.split(" of 0x")[0])
                                     for r in here)
        kinds = collections.Counter(verdict(row)[0][1] for row in here)
        lines.append("| %s | %d | %s | %s |" % (why, len(here), ", ".join("%s %d" % p for p in fields.most_common(12)),
                                               ", ".join("%s %d" % p for p in kinds.most_common())))
    return lines


def lost_table(rows):
    """What was found before and is not found any more, by the rules that found it."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row["before"] == "found" and row["after"] != "found":
            groups["+".join(row["rules before"][:3]), row["mutant"].field.group, row["mutant"].field.name].append(row)
    lines = ["| rules that found it | field | lost | how | eras | readers say | example |", "|---|---|---:|---|---|---|---|"]
    for (rules, group, name), here in sorted(groups.items(), key=lambda item: -len(item[1])):
        words = collections.Counter(worst(row)[1] for row in here if worst(row))
        hows = collections.Counter(row["mutant"].how for row in here)
        eras = collections.Counter(row["era"] for row in here)
        example = next((row["kept"] for row in here if "kept" in row), here[0]["name"])
        lines.append("| %s | %s: %s | %d | %s | %s | %s | %s |" % (
            rules, group, name, len(here), ", ".join("%s %d" % p for p in hows.most_common(4)),
            ", ".join("%s %d" % p for p in sorted(eras.items())),
            ", ".join("%s %d" % p for p in words.most_common()), example))
    return lines


def miss_table(rows, short):
    groups = collections.defaultdict(list)
    for row in rows:
        if miss_kind(row):
            answer = verdict(row)[0]
            groups[answer[1], answer[0].split(" ")[0], row["mutant"].field.group,
                   row["mutant"].field.name.split(" of 0x")[0]].append(row)
    lines = ["| kind | reader | field | misses | how | eras | detail |" + ("" if short else " example |"),
             "|---|---|---|---:|---|---|---|" + ("" if short else "---|")]
    for (kind, reader, group, name), here in sorted(groups.items(), key=lambda item: -len(item[1])):
        hows = collections.Counter(row["mutant"].how for row in here)
        eras = collections.Counter(row["era"] for row in here)
        details = collections.Counter(verdict(row)[0][2] for row in here)
        line = "| %s | %s | %s: %s | %d | %s | %s | %s |" % (
            kind, reader, group, name, len(here), ", ".join("%s %d" % p for p in hows.most_common(4)),
            ", ".join("%s %d" % p for p in sorted(eras.items())), details.most_common(1)[0][0].replace("|", "/")[:100])
        if not short:
            line += " %s |" % next((row["kept"] for row in here if "kept" in row), here[0]["name"])
        lines.append(line)
    return lines


def origin_table(origins, by_name):
    lines = ["| era | genuine files | clean before | clean after | rules that accuse them after |", "|---|---:|---:|---:|---|"]
    for era in samples.ERAS:
        here = [name for name in origins if by_name[name].era == era]
        rules = collections.Counter(rule for name in here for rule in origins[name][1][1])
        lines.append("| %s | %d | %d | %d | %s |" % (
            era, len(here), sum(not origins[name][0][1] for name in here), sum(not origins[name][1][1] for name in here),
            ", ".join("%s %d" % pair for pair in rules.most_common(40))))
    return lines


def text(rows, origins, by_name, known, short=False):
    """All tables; short: without what only helps to find holes."""
    parts = [["### Genuine files"], origin_table(origins, by_name),
             ["### Mutants", "", "Readers: " + ", ".join(name for name, _ in known) + "."], main_table(rows),
             ["### Read differently for a reason"], reason_table(rows), ["### Misses"], miss_table(rows, short)]
    if not short:
        parts += [["### Found before, not found after"], lost_table(rows)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def save(rows, path):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            mutant = row["mutant"]
            plain = {key: value for key, value in row.items() if key != "mutant"}
            plain.update(group=mutant.field.group, field=mutant.field.name, at=mutant.field.at, width=mutant.field.width,
                         how=mutant.how, old=mutant.old, new=mutant.new)
            file.write(json.dumps(plain) + "\n")
