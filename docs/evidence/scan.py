#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/evidence/scan.md: cuvet, an independent walk and cuobjdump over one folder of libraries.

  scan.py --cuvet build/cuvet --libs FOLDER [--cuobjdump PATH] [--out docs/evidence/scan.md]

Each library is scanned in a process of its own, one after the other, on one core. Times are wall and user
seconds of that process; the first pass over a file reads it into the page cache beforehand.
"""

import argparse
import glob
import json
import os
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WALK = os.path.join(HERE, os.pardir, os.pardir, 'tools', 'walk.py')
COUNTS = ('containers', 'members', 'elf', 'ptx', 'lto')


def run(words):
    """(output, wall seconds, user seconds, exit code)"""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    done = subprocess.run(words, capture_output=True, check=False)
    wall = time.monotonic() - start
    return (
        done.stdout.decode('utf-8', 'replace'),
        wall,
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before,
        done.returncode,
    )


def libraries(folder):
    seen, found = set(), []
    for path in sorted(glob.glob(os.path.join(folder, '*.so*')) + glob.glob(os.path.join(folder, '*.a'))):
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            found.append(path)
    return found


def scan(cuvet, path):
    text, wall, user, code = run([cuvet, 'scan', '--format=ndjson', path])
    row = {
        'wall': wall,
        'user': user,
        'exit': code,
        'images': 0,
        'inside': dict.fromkeys(COUNTS, 0),
        'found': {},
    }
    for line in text.splitlines():
        entry = json.loads(line)
        if entry['type'] == 'member' and entry['in_container']:
            kind = 'lto' if entry['kind'].startswith('lto') else entry['kind']
            row['inside']['members'] += 1
            row['inside'][kind] = row['inside'].get(kind, 0) + 1
        elif entry['type'] == 'finding' and entry['severity'] != 'note':
            row['found'][entry['rule']] = row['found'].get(entry['rule'], 0) + 1
        elif entry['type'] == 'verdict':
            row.update(entry=entry)
            row['inside']['containers'] = entry['containers']
    return row


def ledger(cuvet, path):
    """(claims, members, problems): do the claims of `cuvet map` tile the file, and each decompressed member?"""
    size, groups, problems = os.path.getsize(path), {}, []
    with subprocess.Popen([cuvet, 'map', '--format=ndjson', path], stdout=subprocess.PIPE) as child:
        for line in child.stdout:
            entry = json.loads(line)
            if entry.get('type') != 'claim':
                continue
            if entry['owner'] in ('unclaimed', 'rest of a damaged container'):
                problems.append('%s at %d' % (entry['owner'], entry['offset']))
            if not entry['shared']:
                key = entry['path'].partition('/elf')[0] if entry['inner'] else None
                groups.setdefault(key, []).append((entry['offset'], entry['length']))
    for key, claims in groups.items():
        at = 0
        for offset, length in sorted(claims):
            if offset != at:
                problems.append(
                    '%s: %s at %d, %d expected' % (key, 'gap' if offset > at else 'overlap', offset, at)
                )
                break
            at = offset + length
        if key is None and at != size:
            problems.append('claims end at %d of %d' % (at, size))
    return sum(map(len, groups.values())), len(groups) - (None in groups), problems


def objdump(tool, path):
    counts, seconds = [], 0.0
    for option, word in (('--list-elf', 'ELF file'), ('--list-ptx', 'PTX file')):
        text, wall, _, _ = run([tool, option, path])
        counts.append(sum(line.startswith(word) for line in text.splitlines()))
        seconds += wall
    return counts, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--cuvet', required=True)
    parser.add_argument('--libs', required=True)
    parser.add_argument('--cuobjdump')
    parser.add_argument('--out', default=os.path.join(HERE, 'scan.md'))
    args = parser.parse_args()
    files = libraries(args.libs)
    text, _, walk_seconds, _ = run([sys.executable, WALK, '--json'] + files)
    walks = {entry['file']: entry for entry in map(json.loads, text.splitlines())}
    rows, total, differ, alarms = [], dict.fromkeys(COUNTS, 0), [], []
    sums = {
        'claims': 0,
        'tiled': 0,
        'wall': 0.0,
        'user': 0.0,
        'images': 0,
        'dump': 0.0,
        'dump_elf': 0,
        'dump_ptx': 0,
        'bytes': 0,
    }
    for path in files:
        with open(path, 'rb') as handle:
            while handle.read(1 << 24):
                pass
        row, walk, name = scan(args.cuvet, path), walks[path], os.path.basename(path)
        row['verdict'] = row['entry']['verdict']
        row['ledger'] = ledger(args.cuvet, path)
        row['dump'] = objdump(args.cuobjdump, path) if args.cuobjdump and walk['containers'] else None
        for key in COUNTS:
            total[key] += row['inside'][key]
            if row['inside'][key] != walk[key]:
                differ.append('%s: %s %d, the walk has %d' % (name, key, row['inside'][key], walk[key]))
        alarms += (
            [
                '%s: %s, %s'
                % (name, row['verdict'], ' '.join('%s ×%d' % pair for pair in sorted(row['found'].items())))
            ]
            if row['found'] or row['exit']
            else []
        )
        sums['claims'] += row['ledger'][0]
        sums['tiled'] += row['ledger'][1]
        alarms += ['%s: ledger: %s' % (name, problem) for problem in row['ledger'][2][:5]]
        sums['wall'] += row['wall']
        sums['user'] += row['user']
        sums['images'] += row['entry']['images']
        sums['bytes'] += walk['bytes']
        if row['dump']:
            sums['dump'] += row['dump'][1]
            sums['dump_elf'] += row['dump'][0][0]
            sums['dump_ptx'] += row['dump'][0][1]
        rows.append((name, walk, row))
    write(args, rows, walks['total'], total, differ, alarms, sums, walk_seconds)
    return 1 if differ or alarms else 0


def write(args, rows, walked, total, differ, alarms, sums, walk_seconds):
    version = run([args.cuvet, '--version'])[0].splitlines()[0]
    out = [
        '# Evidence: every library of one CUDA 13.0 installation',
        '',
        '## How do I',
        '',
        '| | |',
        '|---|---|',
        '| scan the libraries of my CUDA installation | `cuvet scan -r /usr/local/cuda/lib64` |',
        '| make this page again | `docs/evidence/scan.py --cuvet build/cuvet --libs FOLDER%s` |'
        % (' --cuobjdump PATH' if args.cuobjdump else ''),
        '| count containers and members without cuvet | `tools/walk.py FILE...` |',
        '| see who owns each byte of a file | `cuvet map FILE` |',
        '',
        '## Figures',
        '',
        'Made with %s.' % version,
        '',
        '%d files, %s bytes. Each file: `cuvet scan --format=ndjson FILE`, one process, one thread, file in the page cache.\n'
        'Wall times were taken on a shared machine of two cores and vary; counts do not.'
        % (len(rows), format(sums['bytes'], ',')),
        '',
        '| What | cuvet | independent walk (`tools/walk.py`) |',
        '|---|---|---|',
    ]
    out += ['| %s | %s | %s |' % (key, format(total[key], ','), format(walked[key], ',')) for key in COUNTS]
    out += [
        '',
        'Cubins that lie raw in a file, in no container: %d.' % sums['images'],
        'Byte ledger (`cuvet map`): %s claims; in every file, and in each of %s decompressed cubins, they follow each other'
        % (format(sums['claims'], ','), format(sums['tiled'], ',')),
        'without gap or overlap from the first byte to the last, apart from what is listed below.',
        'Time of all scans: %.1f s wall, %.1f s user; the walk, which decompresses nothing, takes %.1f s.'
        % (sums['wall'], sums['user'], walk_seconds),
    ]
    if args.cuobjdump:
        out += [
            '`cuobjdump --list-elf` and `--list-ptx` (13.1) over the files with containers: %s ELF, %s PTX, %.1f s.'
            % (format(sums['dump_elf'], ','), format(sums['dump_ptx'], ','), sums['dump'])
        ]
    out += [
        '',
        'Differences between cuvet and the walk: %s' % ('none.' if not differ else len(differ)),
        *['* ' + d for d in differ],
        '',
        'Files with findings: %s' % ('none.' if not alarms else len(alarms)),
        *['* ' + a for a in alarms],
        '',
        '| File | Bytes | Containers | Members | ELF | PTX | LTO-IR | Verdict | Wall s | cuobjdump ELF | PTX | s |',
        '|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|',
    ]
    for name, walk, row in rows:
        inside = row['inside']
        dump = '%d | %d | %.2f' % (*row['dump'][0], row['dump'][1]) if row['dump'] else '– | – | –'
        out.append(
            '| %s | %s | %s | %s | %s | %s | %s | %s | %.2f | %s |'
            % (
                name,
                format(walk['bytes'], ','),
                *(format(inside[key], ',') for key in COUNTS),
                row['verdict'],
                row['wall'],
                dump,
            )
        )
    with open(args.out, 'w', encoding='utf-8') as handle:
        handle.write('\n'.join(out) + '\n')
    print('\n'.join(out[:30]))


if __name__ == '__main__':
    sys.exit(main())
