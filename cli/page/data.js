/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What cuvet wrote, record by record (docs/report.md), into columns. */

const SEVERITY = ["note", "warning", "error"];
const SIGN = {
    clean: "✔",
    unsupported: "◌",
    suspicious: "⚠",
    malformed: "✘",
    limit: "◔",
    error: "✘",
    warning: "⚠",
    note: "ℹ"
};

/* Stack of a kernel that calls itself: below that of one of which nothing is known, -1. */
const UNKNOWN = -2;

/* Columns, each entry by its number: objects for 300,000 kernels would be slow to make and to walk. */
const S = [], files = [], packages = [], findings = [], rules = new Map(), limits = [];
const piece = {
    file: [],
    path: [],
    kind: [],
    arch: [],
    stored: [],
    size: [],
    comp: [],
    off: [],
    by: [],
    errors: [],
    warnings: [],
    nested: [],
    ar: [],
    first: [],
    n: 0
};
const kernel = {
    piece: [],
    name: [],
    code: [],
    regs: [],
    stack: [],
    shared: [],
    local: [],
    bars: [],
    n: 0
};
let version = "", end = null;

/* The ranges of a file, or of the unpacked bytes of a piece: records, until somebody looks. */
function world(file, path, inner) {
    const key = inner ? path : "";
    let found = file.worlds.get(key);
    if (!found)
        file.worlds.set(
            key,
            found =
                {path: key, inner, records: [], off: [], len: [], own: [], idx: [], where: [], sorted: null});
    return found;
}
const [ZERO, COMMA, MINUS, PLUS, DOT, COLON] = [..."0,-+.:"].map((one) => one.charCodeAt(0));
/* Letter by letter: half a million ranges as texts of their own would be slow to make. */
function decode(w) {
    for (const record of w.records) {
        const text = record[3];
        let at = 0, value = 0, digits = false, minus = false, len = 0, own = 0, index = 0, section = false;
        for (let i = 0; i <= text.length; i++) {
            const letter = i < text.length ? text.charCodeAt(i) : COMMA;
            if (letter >= ZERO && letter < ZERO + 10) {
                value = value * 10 + (letter - ZERO);
                digits = true;
                continue;
            }
            if (letter === MINUS)
                minus = true;
            else if (letter === PLUS)
                at += minus ? -value : value;
            else if (letter === DOT)
                len = value;
            else if (letter === COLON) {
                own = value;
                section = true;
            } else {
                if (section)
                    index = digits ? value : index + 1;
                else
                    own = value;
                w.off.push(at);
                w.len.push(len);
                w.own.push(own);
                w.idx.push(section ? index : 0);
                w.where.push(record[1]);
                at += len;
                section = minus = false;
            }
            value = 0;
            digits = false;
        }
    }
    w.records = [];
}
/* Two texts for each section: what its name begins with, if it is another one than before, and the rest. */
function decodeNames(text) {
    const out = [];
    let front = 0;
    for (const one of text.split(",")) {
        const dot = one.indexOf(".");
        if (dot >= 0) front = Number(one.slice(0, dot));
        out.push(front, Number(one.slice(dot + 1)));
    }
    return out;
}
const TAKE = {
    s(r) { S.push(r[1]); },
    v(r) { version = r[1]; },
    limits(r) {
        for (let i = 1; i + 3 < r.length; i += 4) limits.push(r.slice(i, i + 4));
    },
    f(r, s) {
        const name = S[r[1]], cut = r[2] ? name.indexOf("!/") : -1;
        s.file = {
            number: files.length,
            name,
            pack: cut < 0 ? "" : name.slice(0, cut),
            short: cut < 0 ? name : name.slice(cut + 2),
            codes: [],
            worlds: new Map(),
            names: new Map(),
            from: piece.n,
            to: piece.n,
            first: findings.length,
            cells: null,
            ends: null
        };
        files.push(s.file);
    },
    l(r, s) { world(s.file, S[r[1]], r[2] === 1).records.push(r); },
    c(r, s) { s.file.cells = {size: num(r[1]), owners: r[2], at: r.slice(3)}; },
    d(r, s) {
        findings.push({
            file: s.file,
            rule: r[1],
            severity: SEVERITY[r[2]],
            path: S[r[3]],
            message: r[4],
            off: r[5],
            len: num(r[6]),
            inner: r[7],
            whose: r[8],
            start: num(r[9]),
            hex: r[10]
        });
    },
    p(r, s) {
        const p = piece;
        p.file.push(s.file.number);
        p.path.push(r[1]);
        p.kind.push(r[2]);
        p.arch.push(r[3]);
        p.stored.push(num(r[4]));
        p.size.push(num(r[5]));
        p.comp.push(r[6]);
        p.off.push(num(r[7]));
        p.by.push(r[8]);
        p.errors.push(r[9]);
        p.warnings.push(r[10]);
        p.nested.push(r[11]);
        p.ar.push(r.length > 12 ? r[12] : "");
        p.first.push(kernel.n);
        s.file.to = ++p.n;
    },
    k(r) {
        const k = kernel;
        for (let i = 1; i + 6 < r.length; i += 7) {
            k.piece.push(piece.n - 1);
            k.name.push(r[i]);
            k.code.push(num(r[i + 1]));
            k.regs.push(r[i + 2]);
            k.stack.push(r[i + 3] ?? UNKNOWN);
            k.shared.push(num(r[i + 4]));
            k.local.push(num(r[i + 5]));
            k.bars.push(r[i + 6]);
            k.n++;
        }
    },
    t(r) {
        const k = kernel;
        k.piece.push(piece.n - 1);
        k.name.push(r[1]);
        k.code.push(0);
        for (const list of [k.regs, k.stack, k.shared, k.local, k.bars]) list.push(-1);
        k.n++;
    },
    n(r, s) {
        const path = S[piece.path[piece.n - 1]];
        if (!s.file.names.has(path)) s.file.names.set(path, []);
        s.file.names.get(path).push(r);
    },
    a(r, s) {
        s.file.codes.push({
            arch: r[1],
            kind: r[2],
            pieces: num(r[3]),
            stored: num(r[4]),
            size: num(r[5]),
            kernels: num(r[6])
        });
    },
    e(r, s) {
        const names = [
            "pieces", "kernels", "containers", "stored", "size", "errors", "warnings", "notes", "shownPieces",
            "shownFindings", "ranges", "shownRanges", "inner", "shownInner"
        ];
        const ends = {verdict: r[1], why: r[2], length: num(r[3]), sha256: r[4]};
        names.forEach((name, i) => {
            ends[name] = num(r[5 + i]);
        });
        s.file.ends = ends;
    },
    z(r) { packages.push({name: S[r[1]], entries: num(r[2]), verdict: r[3]}); },
    rule(r) {
        rules.set(r[1], {severity: r[2], cls: r[3], verdict: r[4], title: r[5], why: r[6], exempt: r[7]});
    },
    end(r) {
        end = {
            inputs: r[1],
            files: r[2],
            hidden: r[3],
            packages: r[4],
            pieces: num(r[5]),
            kernels: num(r[6]),
            tally: r[7]
        };
    },
};
function load() {
    const state = {file: null};
    for (const record of JSON.parse($("data").textContent).records) TAKE[record[0]](record, state);
    $("data").remove(); /* the text is not needed any more */
    piece.first.push(kernel.n);
}

/* A name as it is read: within the only package, else with the package's; its end tells more than its
 * beginning. */
const baseName = (name) => name.slice(name.lastIndexOf("/") + 1) || name;
const fileLabel = (f) =>
    (!f.pack                                                     ? f.name :
         packages.length === 1 && files.every((one) => one.pack) ? f.short :
                                                                   baseName(f.pack) + "!/" + f.short);
const tail = (text, most) => (text.length > most ? "…" + text.slice(1 - most) : text);
const codeOf = (arch, kind) => arch || kind;
const pieceCode = (i) => codeOf(S[piece.arch[i]], S[piece.kind[i]]);
const where = (path) => path || "the file itself";
function sectionName(file, path, index) {
    for (const record of file.names.get(path) || []) {
        if (typeof record[2] === "string") record[2] = decodeNames(record[2]);
        const at = 2 * (index - record[1]);
        if (at >= 0 && at + 1 < record[2].length) return S[record[2][at]] + S[record[2][at + 1]];
    }
    return "";
}
function codeOrder(one, other) {
    const key = (name) => {
        const m = /^(sm|compute|lto)_(\d+)(.?)$/.exec(name);
        return m ? [{sm: 0, compute: 1, lto: 2}[m[1]], Number(m[2]), m[3]] : [3, 0, name];
    };
    const a = key(one), b = key(other);
    return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : a[2] > b[2] ? 1 : 0);
}
