#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hostile set: for every rule a file that breaks it, made from a good sample by one edit.

  hostile.py                 write corpus/hostile, corpus/legal and their manifest
  hostile.py --check         compare what is committed with what would be written; exit 1 on a difference
  hostile.py --scan CUVET    run `CUVET scan` over the hostile files, their neighbours and the good samples;
                             exit 1 if a rule is not raised, is raised by a neighbour, a sample has a finding,
                             or something differs from hostile/EXPECTED.tsv
  hostile.py --accept CUVET  write hostile/EXPECTED.tsv anew; read the diff before you commit it

hostile/MANIFEST.tsv: file, rule, label, offset of the edit in the file, its offset in decompressed content (- where
there is none, or when the content was built anew), least verdict, options of the command, legal neighbour and its
options. The neighbour is a file of corpus/legal, or the sample the case was made from.
hostile/EXPECTED.tsv: file, verdict, place of the first finding of the rule (offset, offset in decompressed content,
path), and all rules that the file raises.
The first case of a rule is called <RULE>.<ending>, more are <RULE>.<label>.<ending>.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import registry
import cases_fatbin  # noqa: F401  the modules fill registry.CASES
import cases_member  # noqa: F401
import cases_elf  # noqa: F401
import cases_twins  # noqa: F401
import cases_meta  # noqa: F401
import cases_graph  # noqa: F401
import cases_host  # noqa: F401
import cases_offload  # noqa: F401
import cases_legal  # noqa: F401

CORPUS = registry.CORPUS
SPEC = os.path.join(registry.ROOT, 'spec')
BADNESS = ('clean', 'unsupported', 'suspicious', 'malformed', 'limit', 'error')
EXPECTED = 'hostile/EXPECTED.tsv'
COLUMNS = ('file', 'rule', 'label', 'offset', 'inner', 'verdict', 'options', 'legal', 'legal_options')


def generate(known):
    """{path below corpus: bytes}, manifest rows"""
    files, rows, named = {}, [], set()
    for case in registry.CASES:
        rule, severity, kind = known.get(case.rule, (case.rule, 'NOTE', 'FORM'))
        stem = rule if rule not in named else '%s.%s' % (rule, case.label)
        named.add(rule)
        data, at, inner = case.build(case.edit)
        path = 'hostile/%s%s' % (stem, case.ending)
        if path in files:
            raise SystemExit('hostile.py: %s is made twice' % path)
        files[path] = data
        legal = 'samples/' + (case.neighbour or case.base)
        if case.legal:
            legal = 'legal/%s%s' % (stem, case.ending)
            files[legal] = case.build(case.legal)[0]
        elif ':' in legal:
            legal = 'legal/%s%s' % (case.base.replace(':', '-').rpartition('.')[0], case.ending)
            files[legal] = bytes(registry.load(case.base))
        rows.append(
            {
                'file': path,
                'rule': rule,
                'label': case.label,
                'offset': '-' if at is None else hex(at),
                'inner': '-' if inner is None else hex(inner),
                'verdict': registry.verdict(severity, kind),
                'options': case.options or '-',
                'legal': legal,
                'legal_options': case.legal_options or '-',
            }
        )
    for name, make in registry.LEGAL:
        files['legal/' + name] = bytes(make())
    text = '\t'.join(COLUMNS) + '\n' + ''.join('\t'.join(row[c] for c in COLUMNS) + '\n' for row in rows)
    files['hostile/MANIFEST.tsv'] = text.encode()
    return files, rows


def write(files):
    for folder in ('hostile', 'legal'):
        where = os.path.join(CORPUS, folder)
        os.makedirs(where, exist_ok=True)
        for name in os.listdir(where):
            if '%s/%s' % (folder, name) not in files and name != 'EXPECTED.tsv':
                os.remove(os.path.join(where, name))
    for path, data in files.items():
        with open(os.path.join(CORPUS, path), 'wb') as handle:
            handle.write(data)
    print('%d files, %d bytes' % (len(files), sum(map(len, files.values()))))


def check(files):
    bad = []
    for path, data in files.items():
        try:
            with open(os.path.join(CORPUS, path), 'rb') as handle:
                if handle.read() != data:
                    bad.append(path + ' differs')
        except OSError:
            bad.append(path + ' is missing')
    for folder in ('hostile', 'legal'):
        bad += [
            '%s/%s is not made by hostile.py' % (folder, name)
            for name in sorted(os.listdir(os.path.join(CORPUS, folder)))
            if '%s/%s' % (folder, name) not in files and name != 'EXPECTED.tsv'
        ]
    print(
        '\n'.join(bad) or 'corpus/hostile and corpus/legal are what hostile.py makes (%d files)' % len(files)
    )
    return 1 if bad else 0


def scan(command, path, options='', env=None):
    """(exit code, verdict, {rule: [offsets]}, findings, text) of one file"""
    words = [command, 'scan', '--format=ndjson'] + ([] if options in ('', '-') else options.split())
    done = subprocess.run(words + [os.path.join(CORPUS, path)], capture_output=True, timeout=60, check=False, env=env)
    verdict, raised, findings = '?', {}, []
    for line in done.stdout.decode('utf-8', 'replace').splitlines():
        entry = json.loads(line)
        if entry.get('type') == 'finding':
            raised.setdefault(entry['rule'], []).append(entry)
            if entry.get('severity') != 'note':
                findings.append(entry['rule'])
        elif entry.get('type') == 'verdict':
            verdict = entry['verdict']
    return done.returncode, verdict, raised, findings, done.stderr.decode('utf-8', 'replace')


# A finding whose two numbers are the same tells its reader nothing, unless the message is about two things that may be.
PAIR = re.compile(r'^RULE\(\w+,\s*"([\w-]+)",(?:[^"]*"(?:[^"\\]|\\.)*",\s*)"((?:[^"\\]|\\.)*)"', re.M)
MAY_BE_SAME = {
    'CV-AR-009': 'an offset, and the size that it must be below',
    'CV-ELF-047': 'a number, and how many there are',
    'CV-ELF-054': 'a machine, and the first one that has the section',
    'CV-ELF-071': 'a number, and how many there are',
    'CV-ELF-085': 'a number, and how many there are',
    'CV-ELF-086': 'where bytes begin, and where they have to end',
    'CV-ELF-117': 'two fields of a symbol',
    'CV-ELF-126': 'a place and a section',
    'CV-ELF-127': 'a section begins where the segment before it ends, and is in none',
    'CV-ELF-128': 'a section begins where the segment before it ends, and is in none',
    'CV-ELF-132': 'who calls whom',
    'CV-ELF-134': 'an offset, and what it must be below',
    'CV-ELF-135': 'a symbol and a section',
    'CV-ELF-151': 'a number of relocations and a symbol',
    'CV-FATBIN-046': 'a size, and what it must be below',
    'CV-META-003': 'a number, and how many there are',
    'CV-PROFILE-001': 'a number of differences and a tool',
    'CV-TLV-008': 'a code and a format',
    'CV-TLV-015': 'a number, and how many there are',
    'CV-TLV-018': 'an offset, and the size that it must be below',
    'CV-TLV-021': 'a section that is not the bank of itself',
    'CV-TLV-026': 'a number, and how many there are',
    'CV-TLV-033': 'a symbol and an attribute',
}


def pairs():
    """rules whose message has both numbers, in the same form"""
    found = set()
    for name in sorted(os.listdir(SPEC)):
        if name.startswith('rules_'):
            with open(os.path.join(SPEC, name), encoding='utf-8') as handle:
                for rule, message in PAIR.findall(handle.read()):
                    if 'letters' not in message and re.search(r'{got[:}]', message) and re.search(r'{want[:}]', message):
                        found.add(rule)
    return found - set(MAY_BE_SAME)


def tells_nothing(raised, compared):
    """rules of these findings that say that something is what it should be"""
    for rule, entries in raised.items():
        if rule in compared and any(entry.get('got') == entry.get('want') for entry in entries):
            yield rule


def summary(row, verdict, raised):
    """the line of EXPECTED.tsv for one hostile file"""
    first = raised.get(row['rule'], [{}])[0]
    place = [str(first.get(key, '-')) for key in ('offset', 'inner_offset')] + [first.get('path') or '-']
    return '\t'.join([row['file'], verdict, *place, ' '.join(sorted(raised))])


def read_expected():
    try:
        with open(os.path.join(CORPUS, EXPECTED), encoding='utf-8') as handle:
            return {line.split('\t')[0]: line.rstrip('\n') for line in handle}
    except OSError:
        return {}


def judge(row, code, verdict, raised, text):
    """complaints about the scan of one hostile file"""
    name = '%s (%s): ' % (row['file'], row['label'])
    if code not in (0, 1, 4):
        yield name + 'exit %d %s' % (code, text[-200:])
    if row['rule'] not in raised:
        yield name + 'not raised; %s %s' % (verdict, ' '.join(sorted(raised)))
    elif verdict not in BADNESS or BADNESS.index(verdict) < BADNESS.index(row['verdict']):
        yield name + 'verdict %s, at least %s expected' % (verdict, row['verdict'])
    size = os.path.getsize(os.path.join(CORPUS, row['file']))
    for entry in (entry for entries in raised.values() for entry in entries):
        if entry['offset'] + entry['length'] > size and 'inner_offset' not in entry:
            yield name + '%s at %d + %d, the file has %d bytes' % (
                entry['rule'],
                entry['offset'],
                entry['length'],
                size,
            )


def scan_all(command, rows, known, accept):
    complaints, lines = [], ['\t'.join(('file', 'verdict', 'offset', 'inner', 'path', 'rules'))]
    expected = read_expected()
    compared = pairs()
    for row in rows:
        code, verdict, raised, _, text = scan(command, row['file'], row['options'])
        complaints += [
            '%s: %s has the same number twice' % (row['file'], rule) for rule in tells_nothing(raised, compared)
        ]
        complaints += judge(row, code, verdict, raised, text)
        lines.append(summary(row, verdict, raised))
        if not accept and expected.get(row['file']) != lines[-1]:
            complaints.append(
                '%s:\n  expected %s\n  got      %s' % (row['file'], expected.get(row['file']), lines[-1])
            )
    for legal, rule, options in sorted({(row['legal'], row['rule'], row['legal_options']) for row in rows}):
        code, verdict, raised, _, _ = scan(command, legal, options)
        if rule in raised or code not in (0, 1):
            complaints.append('%s: neighbour of %s raises it (exit %d, %s)' % (legal, rule, code, verdict))
    for folder in ('samples', 'legal'):
        for name in sorted(os.listdir(os.path.join(CORPUS, folder))):
            if not name.endswith('.tsv'):
                code, verdict, _, findings, _ = scan(command, '%s/%s' % (folder, name))
                if code or findings:
                    complaints.append(
                        '%s/%s: %s, exit %d, %s' % (folder, name, verdict, code, ' '.join(findings))
                    )
    covered = {row['rule'] for row in rows}
    ids = {entry[0]: name for name, entry in known.items()}
    for rule in sorted(set(ids) - covered):
        if ids[rule] not in registry.NO_FILE and not ids[rule].startswith(tuple(registry.NO_FILE_PREFIX)):
            complaints.append('%s %s: no case' % (rule, ids[rule]))
    complaints += ['%s: no such rule' % rule for rule in sorted(covered - set(ids))]
    if accept:
        with open(os.path.join(CORPUS, EXPECTED), 'w', encoding='utf-8') as handle:
            handle.write('\n'.join(lines) + '\n')
    print(
        '\n'.join(
            complaints
            + [
                '%d cases, %d of %d rules, %d complaints'
                % (len(rows), len(covered & set(ids)), len(ids), len(complaints))
            ]
        )
    )
    return 1 if complaints else 0


def main():
    parser = argparse.ArgumentParser(description='the hostile set')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--scan', metavar='CUVET')
    parser.add_argument('--accept', metavar='CUVET')
    args = parser.parse_args()
    known = registry.rules(SPEC)
    files, rows = generate(known)
    if args.check:
        return check(files)
    if args.scan or args.accept:
        return scan_all(args.accept or args.scan, rows, known, bool(args.accept))
    write(files)
    return 0


if __name__ == '__main__':
    sys.exit(main())
