/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files by architectures. */

let allCodes = [], mode = "stored";
function collectCodes() {
    const sums = new Map();
    for (const f of files)
        for (const c of f.codes) {
            const code = codeOf(c.arch, c.kind);
            sums.set(code, (sums.get(code) || 0) + c.size + 1);
        }
    allCodes = [...sums.keys()].sort(codeOrder);
}
const MOST_COLUMNS = 48;
function showCoverage() {
    let shown = 100;
    const columns = allCodes.slice(0, MOST_COLUMNS), known = new Set(columns);
    const withCode = files.filter((f) => f.codes.length || (f.ends && f.ends.pieces));
    function sums(list) {
        const out = new Map();
        for (const f of list)
            for (const c of f.codes) {
                const code = known.has(codeOf(c.arch, c.kind)) ? codeOf(c.arch, c.kind) : "others",
                      old = out.get(code) || {pieces: 0, stored: 0, size: 0, kernels: 0};
                out.set(code, {
                    pieces: old.pieces + c.pieces,
                    stored: old.stored + c.stored,
                    size: old.size + c.size,
                    kernels: old.kernels + c.kernels
                });
            }
        return out;
    }
    const titles = allCodes.length > MOST_COLUMNS ? [...columns, "others"] : columns;
    function line(name, list, cls) {
        const has = sums(list), th = el("th", "", name),
              native = titles.filter((t) => /^(sm|compute)_/.test(t)),
              missing = native.filter((t) => !has.has(t));
        th.scope = "row";
        if (missing.length)
            th.append(
                el("br"),
                el("small", "error",
                   missing.length === native.length ? "no machine code, no PTX" :
                                                      "lacks " +
                           (missing.length > 5 ? missing.length + " of " + native.length :
                                                 missing.join(", "))));
        const row = el("tr", cls, th);
        for (const title of titles) {
            const c = has.get(title), td = el("td", c ? "" : "none");
            if (c) {
                td.append(el("b", "", count(c.pieces)), el("small", "", bytes(c[mode])));
                td.title = name + ", " + title + ": " + many(c.pieces, "piece") + ", " +
                    many(c.kernels, "kernel") + ", " + count(c.stored) + " bytes stored, " + count(c.size) +
                    " unpacked";
            } else {
                td.append("—");
                td.title = name + " has nothing for " + title;
                td.setAttribute("aria-label", "none");
            }
            row.append(td);
        }
        return row;
    }
    function draw() {
        const body = el("tbody"), groups = new Map();
        for (const f of withCode) {
            if (!groups.has(f.pack)) groups.set(f.pack, []);
            groups.get(f.pack).push(f);
        }
        let rows = 0;
        if (withCode.length > 1)
            body.append(line("all " + count(withCode.length) + " files with device code", withCode, "whole"));
        for (const [pack, list] of groups) {
            if (pack && rows < shown && groups.size > 1) body.append(line(baseName(pack), list, "whole"));
            for (const f of list)
                if (rows++ < shown) body.append(line(f.pack ? f.short : f.name, [f], ""));
        }
        if (!withCode.length) {
            clear($("matrix"), el("p", "hint", "No file of this page has device code."));
            return;
        }
        const head = el("tr", "", el("th", "", "File"), ...titles.map((t) => {
            const th = el("th", "num mono", t);
            th.scope = "col";
            return th;
        }));
        clear($("matrix"), el("table", "", el("thead", "", head), body));
        clear(
            $("coverage-controls"),
            group("Bytes", [["stored", "stored"], ["size", "unpacked"]], mode, (m) => {
                setMode(m);
            }), rows > shown ? button("Show 200 more of " + many(rows - shown, "file"), () => {
                shown += 200;
                draw();
            }) : "");
    }
    showCoverage.draw = draw;
    draw();
}
