// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules about CUDA device code, for `cuvet scan --yara device-code.yar FILE...` (docs/yara.md, which says how often each
// of them hits in libraries that everybody uses). They need cuvet's variables: yara itself compiles them with
//     -d arch= -d kind= -d kernels= -d section=
// Tags: leak (the piece says what its maker may not want to say), build (how it was built), hygiene, capability, mining, payload.

import "math"

rule home_directory : leak
{
    meta:
        description = "The path of somebody's home directory is in device code"
        severity = "warning"
    strings:
        // Those of build machines and of images are nobody's.
        $unix = /\/(home|Users)\/[A-Za-z0-9._-]{1,64}\/[A-Za-z0-9._\/-]{2,}/ ascii
        $windows = /[A-Za-z]:\\{1,2}Users\\{1,2}[A-Za-z0-9._-]{1,64}\\/ ascii nocase
        $ci = /\/(home|Users)\/(runner|jenkins|conda|builder|circleci|gitlab-runner|build|ubuntu|user)\// ascii
        $none = /[A-Za-z]:\\{1,2}Users\\{1,2}(runneradmin|vssadministrator|jenkins|public)\\/ ascii nocase
    condition:
        #unix > #ci or #windows > #none
}

rule source_path : leak
{
    meta:
        description = "Line information names source files with their absolute paths"
        severity = "note"
    strings:
        $ptx = /\.file[ \t]{1,8}[0-9]{1,6}[ \t]{1,8}"(\/|[A-Za-z]:\\)/ ascii
        $folder = /[\x00-\x1f]\/(usr|opt|home|root|tmp|var|mnt|data|src|build|builds|work|workspace|dvs|Users|__w)\/[A-Za-z0-9._+-]/ ascii
        $drive = /[A-Z]:[\\\/](Users|src|build|work|workspace|jenkins|agent|dvs)[\\\/]/ ascii
    condition:
        (kind == "ptx" and $ptx) or ((section == ".debug_line" or section == ".debug_str") and ($folder or $drive))
}

rule debug_build : build
{
    meta:
        description = "Device code was built for a debugger (-G): it is slow, and tells much about its source"
        severity = "warning"
    strings:
        $target = /\.target[ \t]{1,8}[^\n]{1,64},[ \t]{0,8}debug/ ascii
    condition:
        (kind == "ptx" and $target) or section == ".debug_info"
}

rule device_printf : hygiene
{
    meta:
        description = "Device code prints (printf)"
        severity = "note"
    strings:
        $ptx = /\.extern[ \t]{1,8}\.func[^;]{0,200}[ \t)]vprintf[ \t\r\n(]/ ascii
        $symbol = "\x00vprintf\x00" ascii
    condition:
        (kind == "ptx" and $ptx) or (section == ".strtab" and $symbol)
}

rule device_assert : hygiene
{
    meta:
        description = "Device code has assertions, which name the source file and the condition"
        severity = "note"
    strings:
        $ptx = /\.extern[ \t]{1,8}\.func[^;]{0,200}__assertfail/ ascii
        $symbol = "\x00__assertfail\x00" ascii
    condition:
        (kind == "ptx" and $ptx) or (section == ".strtab" and $symbol)
}

rule breakpoint : hygiene
{
    meta:
        description = "A breakpoint was left in PTX: a kernel that comes to it stops"
        severity = "warning"
    strings:
        $brkpt = /[\n;{}\t ]brkpt[ \t]{0,8};/ ascii
    condition:
        kind == "ptx" and $brkpt
}

rule device_launch : capability
{
    meta:
        description = "Kernels launch kernels (CUDA dynamic parallelism)"
        severity = "note"
    strings:
        $ptx = /\.extern[ \t]{1,8}\.func[^;]{0,200}(__cudaCDP2LaunchDevice|cudaLaunchDevice)/ ascii
        $symbol = /\x00(__cudaCDP2LaunchDevice|cudaLaunchDevice)(V2)?(_ptsz)?\x00/ ascii
    condition:
        (kind == "ptx" and $ptx) or (section == ".strtab" and $symbol)
}

rule grid_sync : capability
{
    meta:
        description = "Kernels wait for the whole grid (cooperative groups): they must be launched cooperatively"
        severity = "note"
    strings:
        $workspace = "%envreg2" ascii
        $old = "cudaCGSynchronize" ascii
    condition:
        (kind == "ptx" and any of them) or (section == ".strtab" and $old)
}

rule old_ptx : build
{
    meta:
        description = "PTX for machines that CUDA 13 no longer compiles for"
        severity = "note"
    condition:
        kind == "ptx" and section == "" and arch matches /^compute_([1-6][0-9]|7[0-2])$/
}

rule url_in_data : leak
{
    meta:
        description = "Constants or initial values of device code have the address of a server in them"
        severity = "warning"
    strings:
        $url = /(https?|ftp|stratum\+tcp|stratum\+ssl):\/\/[A-Za-z0-9.-]{4,}/ ascii wide
    condition:
        (section startswith ".nv.constant" or section startswith ".nv.global" or section startswith ".rodata") and $url
}

rule program_in_data : payload
{
    meta:
        description = "Constants or initial values of device code have a program for the host in them"
        severity = "error"
    strings:
        $elf = { 7f 45 4c 46 (01 | 02) (01 | 02) 01 [9] (02 | 03) 00 (03 | 3e | b7 | 28 | f3) 00 }
        $windows = "This program cannot be run in DOS mode" ascii
        $shell = /#!\/(usr\/)?bin\/(env )?(ba|da|z)?sh/ ascii
        $power = "powershell -" ascii wide nocase
    condition:
        (section startswith ".nv.constant" or section startswith ".nv.global" or section startswith ".rodata") and any of them
}

rule random_data : payload
{
    meta:
        description = "A large section of constants or initial values looks encrypted or compressed"
        severity = "note"
    condition:
        (section startswith ".nv.constant" or section startswith ".nv.global" or section startswith ".rodata") and
        filesize >= 16384 and math.entropy(0, filesize) > 7.9
}

rule sha256_constants : mining
{
    meta:
        description = "Device code has the round constants of SHA-256"
        severity = "warning"
    strings:
        $k0 = { 98 2f 8a 42 }
        $k1 = { 91 44 37 71 }
        $k2 = { cf fb c0 b5 }
        $k3 = { a5 db b5 e9 }
        $k4 = { 5b c2 56 39 }
        $k63 = { f2 78 71 c6 }
    condition:
        kind != "ptx" and all of them
}

rule keccak_constants : mining
{
    meta:
        description = "Device code has the round constants of Keccak, which SHA-3 and Ethash are made of"
        severity = "warning"
    strings:
        // The halves that are no round numbers; in a table they lie together, in code each is an operand.
        $a = { 8b 80 00 80 }
        $b = { 81 80 00 80 }
        $c = { 89 80 00 00 }
        $d = { 0a 80 00 00 }
        $e = { 02 80 00 00 }
        $f = { 03 80 00 00 }
        $g = { 8a 80 00 00 }
    condition:
        kind != "ptx" and all of them
}

rule miner_kernel : mining
{
    meta:
        description = "A kernel has the name of one of a miner of crypto currency"
        severity = "error"
    strings:
        // Names of symbols, and of entries of PTX: a text such as `kernels` is matched in its first 4096 bytes only.
        $name = /[^A-Za-z](ethash|etchash|dagger_?hashimoto|progpow|kawpow|firopow|cryptonight|cn_?implode|cn_?explode|randomx|equihash|cuckaroo|cuckatoo|autolykos|kheavyhash|heavyhash|neoscrypt|lyra2(v2|v3|re|z)|x1[1367]r?_gpu|groestl_gpu|skein_gpu|scrypt_core|beamhash|octopus_hash|sha256d_gpu|verthash|zelhash)/ ascii nocase
    condition:
        (kind == "ptx" or section == ".strtab") and $name
}
