/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the bytes go: package, file, architecture, piece, kernel. */

const fold = (list, from, to, key) => {
    const out = new Map();
    for (let i = from; i < to; i++) {
        const k = key(i);
        if (!out.has(k)) out.set(k, []);
        out.get(k).push(i);
    }
    return out;
};
const SUM = (list, key) => list.reduce((all, one) => all + one[key], 0);
/* { name, what, stored, size, kids(), code, kind, more } */
function kernelNodes(i, code, kind) {
    const stored = piece.stored[i], size = piece.size[i], out = [];
    let all = 0;
    for (let k = piece.first[i]; k < piece.first[i + 1]; k++) all += kernel.code[k];
    const shrink = all > size && all > 0 ? size / all : 1, packed = size > 0 ? stored / size : 0;
    for (let k = piece.first[i]; k < piece.first[i + 1]; k++) {
        const n = kernel.code[k] * shrink;
        if (n > 0)
            out.push({
                name: S[kernel.name[k]],
                what: "kernel, machine code",
                size: n,
                stored: n * packed,
                code,
                kind,
                kernel: k,
                piece: i
            });
    }
    if (out.length)
        out.push({
            name: "all but code of kernels",
            what: "symbols, constants, attributes, debug information",
            size: Math.max(0, size - all * shrink),
            stored: Math.max(0, size - all * shrink) * packed,
            code,
            kind,
            piece: i,
            rest: true
        });
    return out;
}
function pieceNode(i, code) {
    const kind = S[piece.kind[i]], n = piece.first[i + 1] - piece.first[i];
    return {
        name: where(S[piece.path[i]]),
        what: "piece, " + kind,
        size: piece.size[i],
        stored: piece.stored[i],
        code,
        kind,
        piece: i,
        kids: kind === "elf" && n > 0 ? () => kernelNodes(i, code, kind) : null
    };
}
function fileNode(f, name) {
    return {
        name,
        what: "file",
        stored: SUM(f.codes, "stored"),
        size: SUM(f.codes, "size"),
        file: f,
        kids() {
            const by = fold(f, f.from, f.to, pieceCode), out = [], seen = new Map();
            for (const c of f.codes) {
                const code = codeOf(c.arch, c.kind);
                if (!seen.has(code)) seen.set(code, []);
                seen.get(code).push(c);
            }
            for (const [code, list] of seen) {
                const stored = SUM(list, "stored"), size = SUM(list, "size"), mine = by.get(code) || [],
                      n = SUM(list, "pieces");
                out.push({
                    name: code,
                    what: many(n, "piece"),
                    stored,
                    size,
                    code,
                    kind: list[0].kind,
                    kids() {
                        /* The bytes of a nested one are those of the piece that it lies in. */
                        const kids = mine.filter((i) => !piece.nested[i]).map((i) => pieceNode(i, code));
                        if (mine.length < n)
                            kids.push({
                                name: many(n - mine.length, "more piece"),
                                what: "counted, not on this page",
                                stored: Math.max(0, stored - SUM(kids, "stored")),
                                size: Math.max(0, size - SUM(kids, "size")),
                                code,
                                rest: true
                            });
                        return kids;
                    }
                });
            }
            return out;
        }
    };
}
function rootNode() {
    const groups = new Map(), list = files.filter((f) => f.codes.length);
    for (const f of list) {
        const key = f.pack || f.name;
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(f);
    }
    const tops = [...groups].map(([name, of]) => of.length === 1 ? fileNode(of[0], of[0].name) : {
        name,
        what: many(of.length, "file") + " with device code",
        stored: of.reduce((a, f) => a + SUM(f.codes, "stored"), 0),
        size: of.reduce((a, f) => a + SUM(f.codes, "size"), 0),
        kids: () => of.map((f) => fileNode(f, f.short))
    });
    return tops.length === 1 ? tops[0] : {
        name: "all files",
        what: many(list.length, "file"),
        stored: SUM(tops, "stored"),
        size: SUM(tops, "size"),
        kids: () => tops
    };
}
function kidsOf(node) {
    if (!node.kids) return [];
    if (!node.made) node.made = node.kids();
    if (node.by !== mode) {
        node.made.sort((a, b) => b[mode] - a[mode]);
        node.by = mode;
    }
    return node.made;
}
/* Squarified: rows as long as they make cells squarer. Calls back with each cell; what would be too small to
 * see is one cell. */
function squarify(list, sum, x, y, w, h, put) {
    let at = 0, left = sum;
    while (at < list.length && left > 0 && w > 0.5 && h > 0.5) {
        const area = w * h / left, side = Math.min(w, h);
        if (list[at][mode] * area < 36 && list.length - at > 1) {
            put(null, x, y, w, h, at);
            return;
        }
        let n = 0, row = 0, worst = Infinity;
        while (at + n < list.length) {
            const more = row + list[at + n][mode], thick = more * area / side,
                  big = list[at][mode] * area / thick, small = list[at + n][mode] * area / thick;
            const next = Math.max(thick / Math.max(small, 1e-9), big / thick, thick / Math.max(big, 1e-9));
            if (n > 0 && next > worst) break;
            worst = next;
            row = more;
            n++;
        }
        if (row <= 0) return;
        const thick = row * area / side;
        let place = 0;
        for (let i = 0; i < n; i++) {
            const long = list[at + i][mode] * area / thick;
            if (w >= h)
                put(list[at + i], x, y + place, thick, long, at + i);
            else
                put(list[at + i], x + place, y, long, thick, at + i);
            place += long;
        }
        if (w >= h) {
            x += thick;
            w -= thick;
        } else {
            y += thick;
            h -= thick;
        }
        left -= row;
        at += n;
    }
}
const map = {
    path: [],
    hits: [],
    chosen: null
};
const patternOf = (node) =>
    (node.rest                                                       ? 3 :
         node.kind === "ptx"                                         ? 1 :
         node.kind && node.kind !== "elf" && node.kind !== "mercury" ? 2 :
                                                                       0);
const colourOf = (node) => (node.code ? hue(allCodes.indexOf(node.code)) : paint.soft);
function drawMap() {
    const [ctx, w, h] = surface($("treemap"));
    map.hits = [];
    function cell(node, x, y, w, h, depth) {
        map.hits.push({node, x, y, w, h, depth});
        const kids = depth < 5 && w > 14 && h > 14 && w * h > 600 ? kidsOf(node) : [],
              head = kids.length && h > 36 && w > 44 ? 18 : 0;
        ctx.fillStyle = colourOf(node);
        ctx.fillRect(x, y, w, h);
        if (!kids.length || head) pattern(ctx, x, y, w, kids.length ? head : h, patternOf(node));
        ctx.strokeStyle = paint.paper;
        ctx.lineWidth = depth === 1 ? 3 : 1;
        if (w > 3 && h > 3) ctx.strokeRect(x, y, w, h);
        ctx.fillStyle = paint.ink;
        if (head)
            label(ctx, node.name + "  " + bytes(node[mode]), x + 6, y + 10, w - 12);
        else if (!kids.length && w > 44 && h > 15) {
            label(ctx, node.name, x + 5, y + 9, w - 10);
            if (h > 32) label(ctx, bytes(node[mode]), x + 5, y + 24, w - 10);
        }
        if (kids.length) within(node, kids, x + 1, y + head + (head ? 0 : 1), w - 2, h - head - 2, depth + 1);
    }
    function within(node, kids, x, y, w, h, depth) {
        squarify(kids, SUM(kids, mode), x, y, w, h, (kid, cx, cy, cw, ch, at) => {
            if (kid) {
                cell(kid, cx, cy, cw, ch, depth);
                return;
            }
            const small = kids.slice(at), rest = {
                name: many(small.length, "smaller cell"),
                what: "too small to draw here",
                stored: SUM(small, "stored"),
                size: SUM(small, "size"),
                code: small[0].code,
                kind: small[0].kind,
                rest: true,
                kids: () => small
            };
            map.hits.push({node: rest, x: cx, y: cy, w: cw, h: ch, depth});
            ctx.fillStyle = colourOf(rest);
            ctx.fillRect(cx, cy, cw, ch);
            pattern(ctx, cx, cy, cw, ch, 3);
            ctx.strokeStyle = paint.paper;
            ctx.lineWidth = 1;
            if (cw > 3 && ch > 3) ctx.strokeRect(cx, cy, cw, ch);
            ctx.fillStyle = paint.ink;
            if (ch > 14) label(ctx, rest.name, cx + 4, cy + ch / 2, cw - 8);
        });
    }
    const top = map.path[map.path.length - 1];
    if (top[mode] > 0) {
        const kids = kidsOf(top);
        if (kids.length)
            within(top, kids, 0, 0, w, h, 1);
        else
            cell(top, 0, 0, w, h, 1);
    } else {
        ctx.fillStyle = paint.dim;
        ctx.fillText("No device code to show.", 16, 24);
    }
    markChosen(ctx);
}
function markChosen(ctx) {
    const hit = map.chosen && map.hits.find((one) => one.node === map.chosen);
    if (!hit) return;
    ctx.strokeStyle = paint.ink;
    ctx.lineWidth = 3;
    ctx.strokeRect(hit.x + 1.5, hit.y + 1.5, Math.max(2, hit.w - 3), Math.max(2, hit.h - 3));
    ctx.strokeStyle = paint.paper;
    ctx.lineWidth = 1;
    ctx.strokeRect(hit.x + 3.5, hit.y + 3.5, Math.max(1, hit.w - 7), Math.max(1, hit.h - 7));
}
function moreOf(node) {
    if (node.piece === undefined) return "";
    const packed = S[piece.comp[node.piece]] !== "none", k = node.kernel;
    if (k === undefined) return packed ? "\ncompressed: " + S[piece.comp[node.piece]] : "";
    return "\n" + many(kernel.regs[k], "register") + ", " + many(kernel.shared[k], "byte") +
        " of shared memory, " + (kernel.stack[k] === UNKNOWN ? "an unknown stack" : many(kernel.stack[k], "byte") + " of stack") +
        (packed ? "\nits share of what is stored is an estimate" : "");
}
const sayNode = (node) => node.name + "\n" + node.what +
    (node.code && node.code !== node.name ? ", " + node.code : "") + "\n" + count(Math.round(node.stored)) +
    " bytes stored, " + count(Math.round(node.size)) + " unpacked; " +
    share(node[mode], map.path[map.path.length - 1][mode]) + " of this view" + moreOf(node);
function goInto(node) {
    if (node.kids && kidsOf(node).length) {
        map.path.push(node);
        map.chosen = null;
        showMap();
    } else if (node.piece !== undefined)
        choosePiece(node.piece);
}
function goUp(to) {
    if (map.path.length > to) {
        map.chosen = map.path[to];
        map.path.length = to;
        showMap();
    }
}
function showMap() {
    drawMap();
    const top = map.path[map.path.length - 1], kids = kidsOf(top), crumbs = [];
    map.path.forEach((node, i) => {
        if (i) crumbs.push("›");
        const b = button(node.name, () => goUp(i + 1));
        b.disabled = i === map.path.length - 1;
        b.title = node.name;
        crumbs.push(b);
    });
    clear(
        $("crumbs"), ...crumbs,
        el("span", "hint",
           count(kids.length) + " in it, " + bytes(top[mode]) +
               (mode === "stored" ? " stored" : " unpacked")));
    clear(
        $("largest"), ...kids.slice(0, 40).map((node) => {
            const fill = el("i"), one = button("", () => goInto(node));
            fill.style.width = (top[mode] > 0 ? 100 * node[mode] / top[mode] : 0) + "%";
            one.append(
                el("span", "", node.name),
                el("small", "", bytes(node[mode]) + ", " + share(node[mode], top[mode]) + ", " + node.what),
                el("div", "bar", fill));
            one.title = node.name;
            return one;
        }),
        kids.length > 40 ? el("p", "hint", "and " + count(kids.length - 40) + " smaller ones") : "");
    const codes = allCodes.slice(0, 40);
    clear(
        $("legend"),
        ...codes.map(
            (code) => swatch(
                hue(allCodes.indexOf(code)),
                code.startsWith("compute_") ? 1 :
                    /^sm_/.test(code)       ? 0 :
                                              2,
                code)),
        swatch(paint.soft, 3, "not code of kernels, or too small"));
}
function setMode(to) {
    mode = to;
    showMap.controls();
    showMap();
    showCoverage.draw();
}
function startMap() {
    const canvas = $("treemap");
    map.path = [rootNode()];
    while (map.path[0].kids && kidsOf(map.path[0]).length === 1 && kidsOf(map.path[0])[0].kids)
        map.path = [kidsOf(map.path[0])[0]];
    showMap.controls = () => clear(
        $("map-controls"),
        group("Bytes", [["stored", "stored bytes"], ["size", "unpacked bytes"]], mode, setMode),
        el("span", "hint", "A click chooses, a second click goes in; the path above leads back."));
    showMap.controls();
    const at = (event) => {
        const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
        let found = null;
        for (const hit of map.hits)
            if (x >= hit.x && x < hit.x + hit.w && y >= hit.y && y < hit.y + hit.h &&
                (!found || hit.depth >= found.depth))
                found = hit;
        return found;
    };
    const choose = (node) => {
        map.chosen = node;
        drawMap();
        $("map-say").textContent = node ? sayNode(node).replace(/\n/g, "; ") : "";
    };
    canvas.addEventListener("mousemove", (event) => {
        const hit = at(event);
        tip(hit ? sayNode(hit.node) : "", event.clientX, event.clientY);
    });
    canvas.addEventListener("mouseleave", () => tip(""));
    canvas.addEventListener("click", (event) => {
        const hit = at(event);
        if (!hit) return;
        /* One level at a time: the cell of this view that the click is in. */
        const outer =
            map.hits.find(
                (one) => one.depth === 1 && event.offsetX >= one.x && event.offsetX < one.x + one.w &&
                    event.offsetY >= one.y && event.offsetY < one.y + one.h) ||
            hit;
        if (map.chosen === outer.node)
            goInto(outer.node);
        else
            choose(outer.node);
    });
    canvas.addEventListener("keydown", (event) => {
        const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key],
              tops = map.hits.filter((hit) => hit.depth === 1);
        if (event.key === "Enter" && map.chosen)
            goInto(map.chosen);
        else if (event.key === "Backspace" || event.key === "Escape")
            goUp(Math.max(1, map.path.length - 1));
        else if (event.key === "Home")
            goUp(1);
        else if (way && tops.length) {
            const from = tops.find((hit) => hit.node === map.chosen);
            let best = from ? null : tops[0], least = Infinity;
            for (const hit of from ? tops : []) {
                const dx = hit.x + hit.w / 2 - from.x - from.w / 2,
                      dy = hit.y + hit.h / 2 - from.y - from.h / 2, along = dx * way[0] + dy * way[1],
                      across = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
                if (along > 1 && along + 2 * across < least) {
                    least = along + 2 * across;
                    best = hit;
                }
            }
            if (best) choose(best.node);
        } else
            return;
        event.preventDefault();
    });
    showMap();
}
