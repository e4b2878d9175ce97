#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Algorithms of CUB and Thrust, the templates of the toolkit that most device code is made of. Each is instantiated in two units that call
each other, so that weak functions and kernels are in both; cuvet and nvlink link them in every way of link_cxx.py, with the same bytes but
for the note that names the tool (from sm_100 on: what link_random.py compares). Headers of cub/block, cub/warp and cub/device without a
case are named.

  CV_ARCHES=75,80,90    for which machines (default: 75,90, with CV_FULL=1 75,80,90,100,120)
  CV_SHARE=N            each Nth case (default 20, with CV_FULL=1 4)
  CV_ONLY=WORD          cases whose header has the word
  CV_KEEP=DIR           where PTX of differences is put (tools/shrink_link.py cuts it down)
  CV_JOBS=2

77: skipped, said on the last line. Needs nvcc with its CCCL headers, ptxas and nvlink of CUDA 13.0 on PATH.
"""
import concurrent.futures
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-cccl-"))
import link_cxx as lc  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90,100,120" if FULL else "75,90").split(",")
SHARE = int(os.environ.get("CV_SHARE", "4" if FULL else "20"))

STORAGE = "__shared__ typename C::TempStorage room; "
ITEMS = "int items[4] = {x, x + 1, x ^ 3, 7}; "
# What a thread does with x, by header.
DEVICE = {
    "cub/block/block_adjacent_difference.cuh": "using C = cub::BlockAdjacentDifference<int, 64>; " + STORAGE + ITEMS
                                               + "C(room).SubtractLeft(items, items, cuda::std::minus<int>()); x = items[2];",
    "cub/block/block_discontinuity.cuh": "using C = cub::BlockDiscontinuity<int, 64>; " + STORAGE + ITEMS
                                         + "int flags[4]; C(room).FlagHeads(flags, items, cuda::std::not_equal_to<int>()); x = flags[1];",
    "cub/block/block_exchange.cuh": "using C = cub::BlockExchange<int, 64, 4>; " + STORAGE + ITEMS + "C(room).BlockedToStriped(items, items); x = items[3];",
    "cub/block/block_histogram.cuh": "using C = cub::BlockHistogram<unsigned char, 64, 4, 32>; " + STORAGE
                                     + "__shared__ unsigned bins[32]; unsigned char items[4] = {1, 2, 3, (unsigned char)(x & 31)}; C(room).Histogram(items, bins);"
                                       " __syncthreads(); x = bins[x & 31];",
    "cub/block/block_load.cuh": "using C = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>; " + STORAGE + ITEMS + "C(room).Load(memory, items); x = items[1];",
    "cub/block/block_merge_sort.cuh": "using C = cub::BlockMergeSort<int, 64, 4>; " + STORAGE + ITEMS + "C(room).Sort(items, cuda::std::less<int>()); x = items[0];",
    "cub/block/block_radix_sort.cuh": "using C = cub::BlockRadixSort<int, 64, 4>; " + STORAGE + ITEMS + "C(room).Sort(items); x = items[0];",
    "cub/block/block_reduce.cuh": "using C = cub::BlockReduce<int, 64>; " + STORAGE + "x = C(room).Sum(x);",
    "cub/block/block_run_length_decode.cuh": "using C = cub::BlockRunLengthDecode<int, 64, 2, 4>; " + STORAGE
                                             + "int values[2] = {x, 1}, lengths[2] = {1, 2}, total = 0, items[4]; C decode(room, values, lengths, total);"
                                               " decode.RunLengthDecode(items, 0); x = items[1] + total;",
    "cub/block/block_scan.cuh": "using C = cub::BlockScan<int, 64>; " + STORAGE + "C(room).ExclusiveSum(x, x);",
    "cub/block/block_shuffle.cuh": "using C = cub::BlockShuffle<int, 64>; " + STORAGE + "int y; C(room).Rotate(x, y, 3); x = y;",
    "cub/block/block_store.cuh": "using C = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>; " + STORAGE + ITEMS + "C(room).Store(memory, items);",
    "cub/warp/warp_exchange.cuh": "using C = cub::WarpExchange<int, 4, 32>; " + STORAGE + ITEMS + "C(room).StripedToBlocked(items, items); x = items[2];",
    "cub/warp/warp_load.cuh": "using C = cub::WarpLoad<int, 4, cub::WARP_LOAD_TRANSPOSE>; " + STORAGE + ITEMS + "C(room).Load(memory, items); x = items[2];",
    "cub/warp/warp_merge_sort.cuh": "using C = cub::WarpMergeSort<int, 4>; " + STORAGE + ITEMS + "C(room).Sort(items, cuda::std::less<int>()); x = items[0];",
    "cub/warp/warp_reduce.cuh": "using C = cub::WarpReduce<int>; " + STORAGE + "x = C(room).Sum(x);",
    "cub/warp/warp_scan.cuh": "using C = cub::WarpScan<int>; " + STORAGE + "C(room).InclusiveSum(x, x);",
    "cub/warp/warp_store.cuh": "using C = cub::WarpStore<int, 4, cub::WARP_STORE_TRANSPOSE>; " + STORAGE + ITEMS + "C(room).Store(memory, items);",
    "thrust/sort.h": ITEMS + "thrust::sort(thrust::seq, items, items + 4); x = items[0];",
    "thrust/scan.h": ITEMS + "thrust::inclusive_scan(thrust::seq, items, items + 4, items); x = items[3];",
    "thrust/reduce.h": ITEMS + "x = thrust::reduce(thrust::seq, items, items + 4);",
    "thrust/binary_search.h": ITEMS + "x = thrust::lower_bound(thrust::seq, memory, memory + 32, x) - memory;",
    "thrust/set_operations.h": ITEMS + "x = thrust::set_union(thrust::seq, items, items + 4, memory, memory + 4, memory + 8) - memory;",
    "thrust/unique.h": ITEMS + "x = thrust::unique(thrust::seq, items, items + 4) - items;",
    "thrust/partition.h": ITEMS + "x = thrust::stable_partition(thrust::seq, items, items + 4, [](int y) { return y > 3; }) - items;",
}
# What host code asks for: the kernels are templates. "n" is a size_t, "m" an int.
SIZED = "void *room = nullptr; size_t n = 0; int *d = nullptr; (void)room; "
HOST = {
    "cub/device/device_adjacent_difference.cuh": "cub::DeviceAdjacentDifference::SubtractLeftCopy(room, n, d, d + m, m);",
    "cub/device/device_for.cuh": "cub::DeviceFor::Bulk(m, [] __device__(int i) { memory[i & 31] = i; });",
    "cub/device/device_histogram.cuh": "cub::DeviceHistogram::HistogramEven(room, n, d, d + m, 17, 0, 16, m);",
    "cub/device/device_merge.cuh": "cub::DeviceMerge::MergeKeys(room, n, d, m, d + m, m, d + 2 * m);",
    "cub/device/device_merge_sort.cuh": "cub::DeviceMergeSort::SortKeys(room, n, d, m, cuda::std::less<int>());",
    "cub/device/device_partition.cuh": "cub::DevicePartition::Flagged(room, n, d, d, d + m, d + 2 * m, m);",
    "cub/device/device_radix_sort.cuh": "cub::DeviceRadixSort::SortKeys(room, n, d, d + m, m);",
    "cub/device/device_reduce.cuh": "cub::DeviceReduce::Sum(room, n, d, d + m, m);",
    "cub/device/device_run_length_encode.cuh": "cub::DeviceRunLengthEncode::Encode(room, n, d, d + m, d + 2 * m, d + 3 * m, m);",
    "cub/device/device_scan.cuh": "cub::DeviceScan::InclusiveSum(room, n, d, d + m, m);",
    "cub/device/device_segmented_reduce.cuh": "cub::DeviceSegmentedReduce::Sum(room, n, d, d + m, 2, d, d + 1);",
    "cub/device/device_segmented_sort.cuh": "cub::DeviceSegmentedSort::SortKeys(room, n, d, d + m, m, 2, d, d + 1);",
    "cub/device/device_select.cuh": "cub::DeviceSelect::Unique(room, n, d, d + m, d + 2 * m, m);",
    "cub/device/device_transform.cuh": "cub::DeviceTransform::Transform(d, d + m, m, [] __device__(int y) { return y + 1; });",
}


def units(header):
    """Two sources. Each has the template, and a kernel that calls what the other one has of it."""
    found = []
    for me, other in ((0, 1), (1, 0)):
        text = "#include <%s>\n" % header
        if header.startswith("thrust/"):
            text += "#include <thrust/execution_policy.h>\n"
        text += "%s__device__ int memory[32];\n" % ("" if me == 0 else "extern ")
        text += "__device__ int called_%d(int x);\n" % other
        text += "__device__ __noinline__ int called_%d(int x) { %s return x; }\n" % (me, DEVICE.get(header, "x += memory[x & 31];"))
        text += "__global__ void kernel_%d(int *p) { p[1] = called_%d(p[0]) + called_%d(p[2]); }\n" % (me, other, me)
        if header in HOST:
            text += "void host_%d(int m) { %s%s }\n" % (me, SIZED, HOST[header])
        found.append(text)
    return found


def program(header):
    name, found = "cccl_" + header.replace("/", "_").rsplit(".", 1)[0], []
    try:
        ptx = lc.texts(name, 75, [], units(header))
    except lc.Unbuilt as e:
        return name, [("all", "nvcc", "not compiled", str(e))], [header]
    for arch in ARCHES:
        try:
            for way, answer, said in lc.links(ptx, arch, []):
                found.append((arch, way, answer, said))
                if answer not in lc.FINE:
                    lc.keep(name, arch, way, ptx, [])
        except lc.Unbuilt as e:
            found.append((arch, "ptxas", "not compiled", str(e)))
    return name, found, [header]


def home():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))


def headers():
    """Where the toolkit has its CCCL, or None."""
    places = (os.path.join(home(), "include", "cccl"), os.path.join(home(), "include"))
    return next((p for p in places if os.path.isdir(os.path.join(p, "cub")) and os.path.isdir(os.path.join(p, "thrust"))), None)


def without_case(where):
    every = ["cub/%s/%s" % (part, name) for part in ("block", "warp", "device") for name in sorted(os.listdir(os.path.join(where, "cub", part)))]
    return [name for name in every if name.endswith(".cuh") and name not in DEVICE and name not in HOST]


def main():
    why = lc.missing() or (None if headers() else "the toolkit of nvcc has no CCCL headers")
    if why:
        print("SKIPPED: %s, CUB and Thrust were linked by nobody" % why)
        return 77
    only = os.environ.get("CV_ONLY", "")
    cases = [h for i, h in enumerate(sorted({**DEVICE, **HOST})) if i % SHARE == 0 and only in h]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        good = lc.report(pool.map(program, cases))
    print("%d of %d headers; without a case: %s" % (len(cases), len({**DEVICE, **HOST}), " ".join(without_case(headers()))))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
