# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Generated from cli/options.def by tools/gen_man.py; do not edit.
_cuvet()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} words=
    if [ "$cur" = = ]; then cur=; fi
    if [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='scan list check diff inventory known report unpack dump map rules select link finalize serve toolkit help --help --version'
    else
        case $command,$prev in
        scan,--format) words='text ndjson sarif' ;;
        scan,--source-root|scan,-) COMPREPLY=($(compgen -d -- "$cur")); return ;;
        scan,--kind) words='elf ptx lto-ir ltoir mercury fatbin bitcode unknown' ;;
        scan,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        scan,--limits) words='strict roomy tiny' ;;
        scan,--sandbox) words='auto required' ;;
        list,--format) words='text ndjson' ;;
        list,--kind) words='elf ptx lto-ir ltoir mercury fatbin bitcode unknown' ;;
        list,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        list,--limits) words='strict roomy tiny' ;;
        list,--sandbox) words='auto required' ;;
        check,--format) words='text ndjson junit sarif' ;;
        check,--source-root|check,-) COMPREPLY=($(compgen -d -- "$cur")); return ;;
        check,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        check,--limits) words='strict roomy tiny' ;;
        check,--sandbox) words='auto required' ;;
        diff,--format) words='text ndjson' ;;
        diff,--fail-on) words='any code lost' ;;
        diff,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        diff,--limits) words='strict roomy tiny' ;;
        diff,--sandbox) words='auto required' ;;
        inventory,--format) words='cyclonedx spdx' ;;
        inventory,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        inventory,--limits) words='strict roomy tiny' ;;
        inventory,--sandbox) words='auto required' ;;
        known,--format) words='text ndjson' ;;
        known,--fail-on) words='unknown metadata' ;;
        known,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        known,--limits) words='strict roomy tiny' ;;
        known,--sandbox) words='auto required' ;;
        report,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        report,--limits) words='strict roomy tiny' ;;
        report,--sandbox) words='auto required' ;;
        unpack,--directory|unpack,-d) COMPREPLY=($(compgen -d -- "$cur")); return ;;
        unpack,--kind) words='elf ptx lto-ir ltoir mercury fatbin bitcode unknown' ;;
        unpack,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        unpack,--limits) words='strict roomy tiny' ;;
        unpack,--sandbox) words='auto required' ;;
        dump,--kind) words='elf ptx lto-ir ltoir mercury fatbin bitcode unknown' ;;
        dump,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        dump,--limits) words='strict roomy tiny' ;;
        dump,--sandbox) words='auto required' ;;
        dump,--format) words='text ndjson' ;;
        map,--format) words='text ndjson' ;;
        map,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        map,--limits) words='strict roomy tiny' ;;
        map,--sandbox) words='auto required' ;;
        rules,--format) words='text ndjson' ;;
        select,--format) words='text ndjson' ;;
        select,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        select,--limits) words='strict roomy tiny' ;;
        select,--sandbox) words='auto required' ;;
        select,--arch-policy) words='reference exact' ;;
        select,--request) words='link sass ptx ltoir' ;;
        link,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        link,--limits) words='strict roomy tiny' ;;
        link,--sandbox) words='auto required' ;;
        link,--arch-policy) words='reference exact' ;;
        finalize,--limit) words='input= member= ratio= lz4_ratio= window= total= containers= members= nesting= sections= symbols= header_area= diagnostics= live= work= ptx_probe= options= option_bytes= candidates= budget= budget_ratio= effort= alignment='; compopt -o nospace ;;
        finalize,--limits) words='strict roomy tiny' ;;
        finalize,--sandbox) words='auto required' ;;
        finalize,--binary-kind) words='sass capmerc mercury' ;;
        finalize,--opportunistic-finalization-lvl) words='0 1 2 3 4' ;;
        finalize,--backend) words='copy strip external' ;;
        finalize,--arch-policy) words='reference exact' ;;
        finalize,--format) words='text ndjson' ;;
        serve,--mode) words='fork persistent' ;;
        *)
            case $command in
            scan) words='--format --source-root --help-uri --notes --all --quiet --only-findings --fail-on --known --cache --cache-limit --recursive --no-packages --files-from --jobs --arch --kind --member --yara --yara-timeout --target --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            list) words='--format --recursive --no-packages --files-from --kernels --resources --arch --kind --member --demangle --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            check) words='--format --source-root --require --forbid --policy --baseline --each --recursive --no-packages --files-from --jobs --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            diff) words='--format --fail-on --all --no-packages --demangle --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            inventory) words='--format --recursive --no-packages --files-from --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            known) words='--format --fail-on --all --as --recursive --no-packages --files-from --kernels --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            report) words='--recursive --no-packages --files-from --demangle --limit --limits --list-limits --no-progress --sandbox --no-sandbox --force --output --help --version' ;;
            unpack) words='--no-packages --files-from --directory --arch --kind --member --force --fsync --limit --limits --list-limits --no-progress --sandbox --no-sandbox --help --version' ;;
            dump) words='--no-packages --files-from --arch --kind --member --demangle --limit --limits --list-limits --sandbox --no-sandbox --format --header --sections --segments --symbols --relocs --info --compat --notes --callgraph --unified --capsules --frames --data --ptx --help --version' ;;
            map) words='--format --no-packages --limit --limits --list-limits --sandbox --no-sandbox --help --version' ;;
            rules) words='--format --help --version' ;;
            select) words='--format --limit --limits --list-limits --sandbox --no-sandbox --arch --arch-policy --request --compiler --output --force --help --version' ;;
            link) words='--jobs --limit --limits --list-limits --sandbox --no-sandbox --arch-policy --compat-r --prove --huge-pages --compiler --code-generator --help --version' ;;
            finalize) words='--limit --limits --list-limits --sandbox --no-sandbox --arch --binary-kind --cap-merc --self-check --fastpath-off --opportunistic-finalization-lvl --backend --code-generator --tkinfo --explain --verbose --output --arch-policy --format --help --version' ;;
            serve) words='--socket --mode --workers --queue --deadline --stall --allow-uid --worker --require-sandbox --help --version' ;;
            toolkit) words='--from --help --version' ;;
            help) words='--help --version scan list check diff inventory known report unpack dump map rules select link finalize serve toolkit help' ;;
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [ "$COMP_CWORD" -gt 1 ] && [ -z "$COMPREPLY" ]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _cuvet cuvet
