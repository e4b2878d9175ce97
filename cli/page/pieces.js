/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All pieces, or all kernels: to search, to sort, to look at. */

const low = [];
/* Texts that have the word: each is looked at once, however many pieces have it. */
function hitsOf(word) {
    const out = new Uint8Array(S.length);
    for (let i = 0; i < S.length; i++) {
        if (low[i] === undefined) low[i] = S[i].toLowerCase();
        if (low[i].includes(word)) out[i] = 1;
    }
    return out;
}
const fileHits = (word) => files.map((f) => f.name.toLowerCase().includes(word));
const find = {
    text: "",
    kind: "",
    code: "",
    file: "",
    rows: "pieces",
    run: 0
};
let pieceTable = null;
function fits(i, words, ownKernel) {
    if (find.kind && S[piece.kind[i]] !== find.kind) return false;
    if (find.code && pieceCode(i) !== find.code) return false;
    if (find.file && piece.file[i] !== Number(find.file)) return false;
    for (const w of words) {
        let hit = w.texts[piece.path[i]] || w.texts[piece.kind[i]] || w.texts[piece.arch[i]] ||
            w.texts[piece.comp[i]] || w.texts[piece.by[i]] || w.files[piece.file[i]] ||
            (piece.ar[i] && piece.ar[i].toLowerCase().includes(w.word));
        if (ownKernel !== undefined)
            hit = hit || w.texts[kernel.name[ownKernel]];
        else
            for (let k = piece.first[i]; !hit && k < piece.first[i + 1]; k++) hit = w.texts[kernel.name[k]];
        if (!hit) return false;
    }
    return true;
}
/* In slices: typing goes on meanwhile. */
function filterPieces() {
    const run = ++find.run, words = [], todo = find.text.toLowerCase().split(/\s+/).filter((w) => w),
          kernels = find.rows === "kernels", n = kernels ? kernel.n : piece.n, out = [];
    let at = 0;
    function slice() {
        if (run !== find.run) return;
        const start = performance.now();
        while (todo.length) {
            const word = todo.shift();
            words.push({word, texts: hitsOf(word), files: fileHits(word)});
            if (performance.now() - start > 12) {
                setTimeout(slice, 0);
                return;
            }
        }
        while (at < n) {
            for (const stop = Math.min(n, at + 2000); at < stop; at++)
                if (kernels ? fits(kernel.piece[at], words, at) : fits(at, words)) out.push(at);
            if (performance.now() - start > 12 && at < n) {
                setTimeout(slice, 0);
                return;
            }
        }
        pieceTable.set(out);
        $("piece-count").textContent = kernels ? count(out.length) + " of " + many(end.kernels, "kernel") +
                (kernel.n < end.kernels ? "; the page has " + count(kernel.n) : "") + "." :
                                                 count(out.length) + " of " + many(end.pieces, "piece") +
                (piece.n < end.pieces ? "; the page has " + count(piece.n) : "") + ".";
        document.documentElement.dataset.filtered = String(run);
    }
    slice();
}
const dash = (value) => (value === UNKNOWN ? "unknown" : value < 0 ? "" : count(value));
function buildTable() {
    const P = piece, K = kernel, several = files.length > 1;
    const fileColumn = (of) => ({
        title: "File",
        width: "minmax(9rem, 1fr)",
        text: (i) => tail(fileLabel(files[P.file[of(i)]]), 30),
        hint: (i) => files[P.file[of(i)]].name,
        key: (i) => P.file[of(i)]
    });
    if (find.rows === "pieces") {
        const same = (i) => i;
        pieceTable = Table(
            $("table"),
            [
                ...(several ? [fileColumn(same)] : []),
                {
                    title: "Path",
                    width: "minmax(13rem, 1.4fr)",
                    text: (i) => where(S[P.path[i]]) + (P.ar[i] ? "  (" + P.ar[i] + ")" : ""),
                    key: (i) => i
                },
                {title: "Kind", width: "5rem", text: (i) => S[P.kind[i]], key: (i) => S[P.kind[i]]},
                {
                    title: "Code for",
                    width: "7.5rem",
                    text: (i) => S[P.arch[i]] || "—",
                    key: (i) => {
                        const m = /(\d+)(.?)$/.exec(S[P.arch[i]]);
                        return m ? Number(m[1]) * 1000 + (m[2] ? m[2].charCodeAt(0) : 0) : -1;
                    }
                },
                {title: "Producer", width: "7.5rem", text: (i) => S[P.by[i]] || "—", key: (i) => S[P.by[i]]},
                {
                    title: "Stored",
                    width: "6rem",
                    num: true,
                    text: (i) => bytes(P.stored[i]),
                    hint: (i) => count(P.stored[i]) + " bytes",
                    key: (i) => P.stored[i]
                },
                {
                    title: "Unpacked",
                    width: "6.3rem",
                    num: true,
                    text: (i) => bytes(P.size[i]),
                    hint: (i) => count(P.size[i]) + " bytes",
                    key: (i) => P.size[i]
                },
                {title: "Packing", width: "5.6rem", text: (i) => S[P.comp[i]], key: (i) => S[P.comp[i]]},
                {
                    title: "Kernels",
                    width: "5.4rem",
                    num: true,
                    text: (i) => dash(P.first[i + 1] - P.first[i]),
                    key: (i) => P.first[i + 1] - P.first[i]
                },
                {
                    title: "Findings",
                    width: "6rem",
                    num: true,
                    text: (i) =>
                        (P.errors[i] + P.warnings[i] ? "⚠ " + count(P.errors[i] + P.warnings[i]) : "0"),
                    key: (i) => P.errors[i] + P.warnings[i]
                },
            ],
            {
                id: "row",
                label: "Pieces",
                least: several ? "76rem" : "66rem",
                pick: showPiece,
                empty: "No piece fits."
            });
    } else {
        const of = (i) => K.piece[i], number = (title, list, width, format) => ({
                                          title,
                                          width,
                                          num: true,
                                          text: (i) => (format && list[i] >= 0 ? format : dash)(list[i]),
                                          hint: (i) => dash(list[i]),
                                          key: (i) => list[i]
                                      });
        pieceTable = Table(
            $("table"),
            [
                {
                    title: "Kernel",
                    width: "minmax(16rem, 2fr)",
                    text: (i) => S[K.name[i]],
                    key: (i) => S[K.name[i]]
                },
                {
                    title: "Code for",
                    width: "7.5rem",
                    text: (i) => S[P.arch[of(i)]] || "—",
                    key: (i) => S[P.arch[of(i)]]
                },
                number("Code", K.code, "6rem", (v) => (v ? bytes(v) : "")),
                number("Registers", K.regs, "6.2rem"),
                number("Shared", K.shared, "5.6rem"),
                number("Stack", K.stack, "5.2rem"),
                number("Local", K.local, "5.2rem"),
                number("Barriers", K.bars, "5.6rem"),
                ...(several ? [fileColumn(of)] : []),
                {title: "Piece", width: "minmax(9rem, 1fr)", text: (i) => where(S[P.path[of(i)]]), key: of},
            ],
            {
                id: "row",
                label: "Kernels",
                least: several ? "76rem" : "64rem",
                pick: (i) => showPiece(of(i)),
                empty: "No kernel fits."
            });
    }
}
function choosePiece(i) {
    showPiece(i);
    if (find.rows === "pieces") pieceTable.choose(i);
    $("piece").scrollIntoView({block: "nearest"});
}
function showPiece(i) {
    const P = piece, K = kernel, f = files[P.file[i]], facts = el("dl"),
          add = (name, text) => facts.append(el("dt", "", name), el("dd", "", text));
    add("File", f.name);
    add("Path", where(S[P.path[i]]) + (P.ar[i] ? ", archive member " + P.ar[i] : ""));
    add("Kind", S[P.kind[i]] + (S[P.arch[i]] ? " for " + S[P.arch[i]] : ""));
    add("Producer", S[P.by[i]] || "not known");
    add("Bytes",
        count(P.stored[i]) + " stored (" + S[P.comp[i]] + "), " + count(P.size[i]) +
            " unpacked; payload at " + hex(P.off[i]));
    add("Findings", many(P.errors[i], "error") + ", " + many(P.warnings[i], "warning"));
    const host = el("div"), rows = [];
    for (let k = P.first[i]; k < P.first[i + 1]; k++) rows.push(k);
    const world = f.worlds.get(S[P.path[i]]);
    clear(
        $("piece"), el("h3", "", "Piece " + where(S[P.path[i]])), facts,
        world && world.inner ? button("Open its unpacked bytes in the ledger", () => {
            openWorld(f, world);
            $("ledger").scrollIntoView();
        }) : "", el("h3", "", many(rows.length, "kernel")), host);
    const number = (title, list, width) =>
        ({title, width, num: true, text: (k) => dash(list[k]), key: (k) => list[k]});
    Table(
        host,
        [
            {
                title: "Kernel",
                width: "minmax(16rem, 1fr)",
                text: (k) => S[K.name[k]],
                key: (k) => S[K.name[k]]
            },
            number("Code bytes", K.code, "6.6rem"),
            number("Registers", K.regs, "6.2rem"),
            number("Shared", K.shared, "5.6rem"),
            number("Stack", K.stack, "5.2rem"),
            number("Local", K.local, "5.2rem"),
            number("Barriers", K.bars, "5.6rem"),
        ],
        {
            id: "kernel",
            label: "Kernels of the piece",
            least: "52rem",
            most: 10,
            rows,
            empty: "None that is known."
        });
    tables.splice(tables.length - 1, 1);
}
function startPieces() {
    const kinds = [...new Set(piece.kind)].map((k) => S[k]).sort();
    let waits = 0;
    const change = (name) => (value) => {
        find[name] = value;
        clearTimeout(waits);
        waits = setTimeout(filterPieces, name === "text" ? 60 : 0);
    };
    clear(
        $("piece-controls"), search("Search: path, kernel, architecture, producer, file", change("text")),
        group(
            "Rows", [["pieces", "pieces"], ["kernels", "kernels"]], find.rows,
            (v) => {
                find.rows = v;
                buildTable();
                filterPieces();
            }),
        choice("Kind", [["", "all kinds"], ...kinds.map((k) => [k, k])], change("kind")),
        choice(
            "Code for", [["", "all architectures"], ...allCodes.slice(0, 500).map((c) => [c, c])],
            change("code")),
        files.length > 1 ? choice(
                               "File",
                               [
                                   ["", "all files"],
                                   ...files.filter((f) => f.to > f.from)
                                       .slice(0, 2000)
                                       .map((f) => [String(f.number), tail(fileLabel(f), 60)])
                               ],
                               change("file")) :
                           "");
    buildTable();
    filterPieces();
}
