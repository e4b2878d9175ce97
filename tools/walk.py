#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Independent walk over the device code of any file: the second opinion for `cuvet scan`.

  walk.py [--decompress] [--members] [--json] FILE...

Written from the format description alone (docs/formats), shares no code with the library. The whole
file is searched for the eight header bytes `50 ed 55 ba 01 00 10 00`, whatever kind of file it is; from
each hit the members are walked. Nothing is taken from section tables.

Output: one TSV row per file (--json: one object per line), then a `total` row:
  file bytes containers members elf ptx lto other compressed stored true_size problems seconds
`true_size` is what the members hold once decompressed, by their headers; with --decompress every
compressed, unscrambled member is really decoded and a mismatch is a problem. With --members one more
line per member is printed: offset kind arch flags stored true_size.
The same file under two names (symbolic links) is walked once.
exit: 0 no problem, 1 a problem was seen, 2 a file could not be read.
"""

import argparse
import ctypes
import ctypes.util
import json
import mmap
import os
import struct
import sys
import time

HEADER = bytes.fromhex('50ed55ba01001000')
MEMBER = struct.Struct('<HHIQIIHHIIIQQQ')
KINDS = {1: 'ptx', 2: 'elf', 8: 'lto'}
COLUMNS = (
    'file',
    'bytes',
    'containers',
    'members',
    'elf',
    'ptx',
    'lto',
    'other',
    'compressed',
    'stored',
    'true_size',
    'problems',
    'seconds',
)
MAX_TRUE_SIZE = 1 << 30


class Codec:
    """liblz4 and libzstd through ctypes, loaded on first use"""

    def __init__(self):
        self._lz4 = self._zstd = None

    @staticmethod
    def _load(soname, name):
        for candidate in (soname, ctypes.util.find_library(name)):
            if candidate:
                try:
                    return ctypes.CDLL(candidate)
                except OSError:
                    pass
        raise SystemExit('walk.py: lib%s is needed for --decompress' % name)

    def lz4(self, source, size):
        if self._lz4 is None:
            self._lz4 = self._load('liblz4.so.1', 'lz4')
        out = ctypes.create_string_buffer(size)
        return self._lz4.LZ4_decompress_safe(source, out, len(source), size) == size

    def zstd(self, source, size):
        if self._zstd is None:
            library = self._load('libzstd.so.1', 'zstd')
            for function in (library.ZSTD_decompress, library.ZSTD_findFrameCompressedSize):
                function.restype = ctypes.c_size_t
            library.ZSTD_decompress.argtypes = (
                ctypes.c_void_p,
                ctypes.c_size_t,
                ctypes.c_char_p,
                ctypes.c_size_t,
            )
            library.ZSTD_findFrameCompressedSize.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
            self._zstd = library
        if self._zstd.ZSTD_findFrameCompressedSize(source, len(source)) != len(source):
            return False
        out = ctypes.create_string_buffer(size)
        return self._zstd.ZSTD_decompress(out, size, source, len(source)) == size


CODEC = Codec()


def decodes(data, at, compressed_size, flags, true_size):
    """does the stored member decode to exactly its declared size?"""
    if not 0 < true_size <= MAX_TRUE_SIZE:
        return False
    source = bytes(data[at : at + compressed_size])
    if flags & 0xF000 == 0x2000:
        return CODEC.lz4(source, true_size)
    if flags & 0xF000 == 0x8000:
        return CODEC.zstd(source, true_size)
    return False


def walk_members(data, begin, end, decompress):
    """yield (member dict or None, problem or None) from `begin` until the container is full"""
    at = begin
    while at < end:
        if end - at < MEMBER.size:
            yield None, 'member header at 0x%x passes the end of its container' % at
            return
        (
            kind,
            _version,
            header_size,
            payload_size,
            compressed_size,
            _options,
            _minor,
            _major,
            arch,
            _name,
            _length,
            flags,
            _key,
            uncompressed_size,
        ) = MEMBER.unpack_from(data, at)
        if header_size < 64 or header_size > end - at or payload_size > end - at - header_size:
            yield None, 'member at 0x%x does not fit its container' % at
            return
        problem = None
        compressed = bool(flags & 0xF000)
        if compressed and (compressed_size == 0 or compressed_size > payload_size):
            problem = 'member at 0x%x: impossible compressed size' % at
        elif decompress and compressed and not flags & 0x10000:
            if not decodes(data, at + header_size, compressed_size, flags, uncompressed_size):
                problem = 'member at 0x%x does not decode to its declared size' % at
        yield {
            'offset': at,
            'kind': KINDS.get(kind, str(kind)),
            'arch': arch,
            'flags': flags,
            'compressed': compressed,
            'stored': header_size + payload_size,
            'true_size': uncompressed_size if compressed else payload_size,
        }, problem
        at += header_size + payload_size


def walk_data(data, decompress, on_member):
    """counts for one file's bytes; searching goes on behind a sound container, 1 byte behind a broken header"""
    row = dict.fromkeys(COLUMNS[2:-2], 0)
    problems = []
    length = len(data)
    at = data.find(HEADER)
    while at >= 0:
        size = struct.unpack_from('<Q', data, at + 8)[0] if length - at >= 16 else None
        if size is None or size > length - at - 16:
            problems.append('container at 0x%x passes the end of the file' % at)
            at = data.find(HEADER, at + 1)
            continue
        row['containers'] += 1
        end = at + 16 + size
        for member, problem in walk_members(data, at + 16, end, decompress):
            if problem:
                problems.append(problem)
            if member is None:
                end = at + 1
                break
            row['members'] += 1
            row[member['kind'] if member['kind'] in row else 'other'] += 1
            row['compressed'] += member['compressed']
            row['stored'] += member['stored']
            row['true_size'] += member['true_size']
            on_member(member)
        at = data.find(HEADER, end)
    return row, problems


def walk_file(path, decompress, on_member):
    started = time.process_time()
    size = os.path.getsize(path)
    if size == 0:
        row, problems = dict.fromkeys(COLUMNS[2:-2], 0), []
    else:
        with open(path, 'rb') as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            row, problems = walk_data(data, decompress, on_member)
    row.update(file=path, bytes=size, problems=len(problems), seconds=round(time.process_time() - started, 3))
    return row, problems


def emit(row, as_json):
    if as_json:
        print(json.dumps({name: row[name] for name in COLUMNS}))
    else:
        print('\t'.join(str(row[name]) for name in COLUMNS))


def main():
    parser = argparse.ArgumentParser(description='count containers and members of any file')
    parser.add_argument('--decompress', action='store_true')
    parser.add_argument('--members', action='store_true')
    parser.add_argument('--json', action='store_true')
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    total = dict.fromkeys(COLUMNS[1:], 0)
    seen, failed = set(), False

    def on_member(member):
        if args.members:
            print(
                '\t0x%x\t%s\t%d\t0x%x\t%d\t%d'
                % tuple(member[k] for k in ('offset', 'kind', 'arch', 'flags', 'stored', 'true_size'))
            )

    if not args.json:
        print('\t'.join(COLUMNS))
    for path in args.files:
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        try:
            row, problems = walk_file(path, args.decompress, on_member)
        except OSError as error:
            print('walk.py: %s' % error, file=sys.stderr)
            failed = True
            continue
        for problem in problems:
            print('walk.py: %s: %s' % (path, problem), file=sys.stderr)
        emit(row, args.json)
        for name in total:
            total[name] += row[name]
    total['seconds'] = round(total['seconds'], 3)
    emit(dict(total, file='total'), args.json)
    return 2 if failed else 1 if total['problems'] else 0


if __name__ == '__main__':
    sys.exit(main())
