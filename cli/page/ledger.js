/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who owns which range of a file, or of what a piece was unpacked to. */

const strip = {
    file: null,
    world: null,
    from: 0,
    to: 1,
    chosen: -1,
    table: null,
    rows: [],
    owners: [],
    all: 1
};
/* In order of their places, with what nobody owns between them: numbers of ranges, or -1 - number of a gap. */
function sortWorld(w, length) {
    if (w.sorted) return;
    decode(w);
    const order = Array.from(w.off.keys()), out = [], gaps = [], reach = [],
          before = (a, b) => w.off[a] - w.off[b] || w.len[b] - w.len[a] || a - b;
    if (order.some((i) => i > 0 && before(i - 1, i) > 0)) order.sort(before); /* most are as they came */
    let at = 0;
    for (const i of order) {
        if (w.off[i] > at) {
            out.push(-1 - gaps.length);
            gaps.push([at, w.off[i]]);
            reach.push(w.off[i]);
        }
        out.push(i);
        at = Math.max(at, w.off[i] + w.len[i]);
        reach.push(at);
    }
    if (length > at) {
        out.push(-1 - gaps.length);
        gaps.push([at, length]);
        reach.push(length);
    }
    w.sorted = out;
    w.reach = reach; /* where all up to there end: a long one may share bytes with many behind it */
    w.gaps = gaps;
    w.end = Math.max(at, length);
}
const rangeOff = (w, i) => (i < 0 ? w.gaps[-1 - i][0] : w.off[i]);
const rangeLen = (w, i) => (i < 0 ? w.gaps[-1 - i][1] - w.gaps[-1 - i][0] : w.len[i]);
function ownerName(w, i) {
    return i < 0 ? (strip.cut && !w.inner ? "not listed" : "gap") : S[Math.floor(w.own[i] / 2)];
}
function rangeName(w, i) {
    if (i < 0) return strip.cut && !w.inner ? "ranges that are not on this page" : "nobody owns these bytes";
    const owner = ownerName(w, i);
    if (owner !== "section") return owner;
    const name = sectionName(strip.file, S[w.where[i]], w.idx[i]);
    return "section " + w.idx[i] + (name ? "  " + name : "");
}
const ownerNumber = (name) => {
    let at = strip.owners.indexOf(name);
    if (at < 0) {
        at = strip.owners.length;
        strip.owners.push(name);
    }
    return at;
};
const ownerPattern = (name) =>
    (name === "gap" || name === "not listed" ? 1 :
         name === "host"                     ? 3 :
         /padding|slack/.test(name)          ? 2 :
                                               0);
const ownerColour = (name) =>
    (name === "gap"                               ? paint.paper :
         name === "not listed" || name === "host" ? paint.hatch :
                                                    hue(ownerNumber(name)));
function drawStrip() {
    const [ctx, w, h] = surface($("strip")), wd = strip.world;
    if (!wd) {
        ctx.fillStyle = paint.dim;
        ctx.fillText("No ranges.", 16, 24);
        return;
    }
    const span = strip.to - strip.from, scale = w / span, top = 26, tall = h - top - 22, cols = Math.ceil(w);
    const px = (off) => (off - strip.from) * scale;
    /* What is narrower than a pixel is added up by owner; the rest is drawn as it is. */
    const thin = new Map(), add = (name, from, to) => {
        let list = thin.get(name);
        if (!list) thin.set(name, list = new Float64Array(cols));
        for (let c = Math.max(0, Math.floor(from)); c < Math.min(cols, Math.ceil(to)); c++)
            list[c] += Math.max(0, Math.min(to, c + 1) - Math.max(from, c));
    };
    const wide = [], list = wd.sorted;
    const cells = strip.cut && !wd.inner ? strip.file.cells : null;
    let first = 0, high = list.length;
    while (first < high) {
        const mid = (first + high) >> 1;
        if (wd.reach[mid] <= strip.from)
            first = mid + 1;
        else
            high = mid;
    }
    for (let k = first; k < list.length; k++) {
        const i = list[k], off = rangeOff(wd, i), len = rangeLen(wd, i);
        if (off >= strip.to) break;
        if (i < 0 && cells) continue;
        const a = px(off), b = px(off + len);
        if (b < 0) continue;
        if (b - a >= 2)
            wide.push([i, Math.max(-2, a), Math.min(w + 2, b)]);
        else
            add(ownerName(wd, i), a, b);
    }
    if (cells) drawCells(ctx, cells, px, top, tall, w);
    for (const [i, a, b] of wide) {
        const name = ownerName(wd, i);
        ctx.fillStyle = ownerColour(name);
        ctx.fillRect(a, top, b - a, tall);
        pattern(ctx, a, top, b - a, tall, ownerPattern(name));
        ctx.strokeStyle = i === strip.chosen ? paint.ink : paint.paper;
        ctx.lineWidth = i === strip.chosen ? 3 : 1;
        ctx.strokeRect(a + 0.5, top + 0.5, Math.max(1, b - a - 1), tall - 1);
        ctx.fillStyle = paint.ink;
        if (b - a > 34) {
            const x = Math.max(3, a + 4);
            label(ctx, rangeName(wd, i), x, top + 14, Math.min(w, b) - x - 4);
            label(ctx, bytes(rangeLen(wd, i)), x, top + 32, Math.min(w, b) - x - 4);
            if (tall > 60)
                label(ctx, wd.inner ? "" : S[wd.where[i]] || "", x, top + 50, Math.min(w, b) - x - 4);
        }
    }
    for (let c = 0; c < cols; c++) {
        let y = top;
        for (const [name, list] of thin)
            if (list[c] > 0.002) {
                const part = Math.min(1, list[c]) * tall;
                ctx.fillStyle = ownerColour(name);
                ctx.fillRect(c, y, 1, part);
                y += part;
            }
    }
    /* Where findings are. */
    ctx.fillStyle = paint.bad;
    for (const f of strip.marks) {
        const x = px(f);
        if (x >= -4 && x <= w + 4) {
            ctx.beginPath();
            ctx.moveTo(x - 5, top - 9);
            ctx.lineTo(x + 5, top - 9);
            ctx.lineTo(x, top - 1);
            ctx.fill();
        }
    }
    ctx.fillStyle = paint.dim;
    ctx.textAlign = "left";
    ctx.fillText(hex(Math.floor(strip.from)), 2, 10);
    ctx.textAlign = "right";
    ctx.fillText(hex(Math.ceil(strip.to)), w - 2, 10);
    ctx.textAlign = "center";
    ctx.fillText(bytes(span) + " of " + bytes(strip.all), w / 2, 10);
    ctx.textAlign = "left";
    /* Where this view lies in the whole. */
    ctx.fillStyle = paint.soft;
    ctx.fillRect(0, h - 14, w, 8);
    ctx.fillStyle = paint.dim;
    ctx.fillRect(w * strip.from / strip.all, h - 14, Math.max(3, w * span / strip.all), 8);
}
function drawCells(ctx, cells, px, top, tall, w) {
    const n = cells.owners.length;
    for (let c = 0; c * n < cells.at.length; c++) {
        const a = px(c * cells.size), b = px((c + 1) * cells.size);
        if (b < 0 || a > w) continue;
        let y = top;
        for (let o = 0; o < n; o++) {
            const part = num(cells.at[c * n + o]) / cells.size * tall;
            if (part <= 0) continue;
            ctx.fillStyle = ownerColour(cells.owners[o]);
            ctx.fillRect(a, y, Math.max(1, b - a), part);
            pattern(ctx, a, y, b - a, part, ownerPattern(cells.owners[o]));
            y += part;
        }
    }
}
function listRanges() {
    const w = strip.world;
    if (!w) {
        strip.table.set([]);
        return;
    }
    const list = w.sorted, whole = strip.from <= 0 && strip.to >= strip.all;
    strip.rows = whole ? list : list.filter((i) => {
        const off = rangeOff(w, i);
        return off < strip.to && off + Math.max(1, rangeLen(w, i)) > strip.from;
    });
    strip.table.set(strip.rows);
    $("ledger-say").textContent = many(strip.rows.length, "range") + (whole ? "" : " in this part") +
        (w.gaps.length && !(strip.cut && !w.inner) ? "; " + many(w.gaps.length, "gap") + " of " +
                 bytes(w.gaps.reduce((all, g) => all + g[1] - g[0], 0)) + " that nobody owns" :
             w.gaps.length ? "" :
                             "; no gaps: each byte has an owner") +
        ".";
}
let listing = 0;
function view(from, to) {
    const span = Math.max(16, Math.min(strip.all, to - from));
    strip.from = Math.max(0, Math.min(strip.all - span, from));
    strip.to = strip.from + span;
    requestAnimationFrame(drawStrip);
    clearTimeout(listing);
    listing = setTimeout(listRanges, 120);
}
function zoom(by, at) {
    const place = at === undefined ? (strip.from + strip.to) / 2 : at, span = (strip.to - strip.from) * by;
    view(place - (place - strip.from) * by, place - (place - strip.from) * by + span);
}
function sayRange(w, i) {
    const off = rangeOff(w, i), len = rangeLen(w, i);
    return rangeName(w, i) + "\n" + hex(off) + " to " + hex(off + len) + ", " + many(len, "byte") +
        (i >= 0 && w.where[i] !== undefined && S[w.where[i]] ? "\n" + S[w.where[i]] : "") +
        (i >= 0 && w.own[i] % 2 ? "\nlegally shares these bytes with another range" : "");
}
function chooseRange(i, move) {
    const w = strip.world;
    strip.chosen = i;
    const off = rangeOff(w, i), len = rangeLen(w, i);
    if (move && (off + len < strip.from || off > strip.to))
        view(off - (strip.to - strip.from) / 2, off + (strip.to - strip.from) / 2);
    else
        drawStrip();
    ledgerControls();
    $("ledger-say").textContent = sayRange(w, i).replace(/\n/g, "; ");
}
function innerOf(i) {
    const w = strip.world;
    return w && !w.inner && i >= 0 && S[Math.floor(w.own[i] / 2)] === "payload" ?
        strip.file.worlds.get(S[w.where[i]]) || null :
        null;
}
function openWorld(file, w) {
    strip.file = file;
    strip.world = w;
    strip.chosen = -1;
    const ends = file.ends;
    let length = w && !w.inner && ends ? ends.length : 0;
    if (w && w.inner)
        for (let i = file.from; i < file.to; i++)
            if (S[piece.path[i]] === w.path) {
                length = piece.size[i];
                break;
            }
    strip.cut = !!ends && ends.shownRanges < ends.ranges;
    if (w) sortWorld(w, length);
    strip.all = Math.max(16, w ? w.end : 16);
    strip.from = 0;
    strip.to = strip.all;
    strip.marks = findings
                      .filter(
                          (f) => f.file === file && f.severity !== "note" &&
                              (w && w.inner ? f.inner !== null && f.path.startsWith(w.path) : true))
                      .map((f) => num(w && w.inner ? f.inner : f.off));
    const remark = [];
    if (strip.cut)
        remark.push(
            "This ledger has " + count(ends.ranges) + " ranges: the list has the first " +
            count(ends.shownRanges) + ", the strip shows the rest in " + count(1024) +
            " cells, in which the bytes of each owner are added up.");
    if (ends && ends.shownInner < ends.inner)
        remark.push(
            "Of " + count(ends.inner) + " ranges of unpacked bytes in this file, " + count(ends.shownInner) +
            " are on this page.");
    $("ledger-remark").hidden = !remark.length;
    $("ledger-remark").textContent = remark.join(" ");
    drawStrip();
    listRanges();
    ledgerControls();
    const names = new Map();
    if (w)
        for (const i of w.sorted) {
            const name = ownerName(w, i);
            names.set(name, (names.get(name) || 0) + rangeLen(w, i));
        }
    clear(
        $("ledger-legend"),
        ...[...names]
            .sort((a, b) => b[1] - a[1])
            .slice(0, 24)
            .map(([name, n]) => swatch(ownerColour(name), ownerPattern(name), name + ", " + bytes(n))),
        strip.marks.length ? el("span", "error", "▼ finding") : "");
}
function ledgerControls() {
    const w = strip.world, inner = innerOf(strip.chosen), withRanges = files.filter((f) => f.worlds.size);
    const pickFile = choice(
        "File", withRanges.slice(0, 2000).map((f) => [String(f.number), tail(fileLabel(f), 90)]),
        (v) => openFile(files[Number(v)]));
    if (strip.file) pickFile.value = String(strip.file.number);
    const parts = [
        pickFile, button("+", () => zoom(0.5)), button("−", () => zoom(2)),
        button("All", () => view(0, strip.all))
    ];
    parts[1].setAttribute("aria-label", "Zoom in");
    parts[2].setAttribute("aria-label", "Zoom out");
    if (w && w.inner)
        parts.push(
            el("span", "hint", "unpacked bytes of " + where(w.path)),
            button("Back to the file", () => openFile(strip.file)));
    if (strip.chosen !== -1 || inner)
        parts.push(button(
            "Fill the strip with the range",
            () => view(rangeOff(w, strip.chosen), rangeOff(w, strip.chosen) + rangeLen(w, strip.chosen))));
    if (inner) parts.push(button("Open its unpacked bytes", () => openWorld(strip.file, inner)));
    clear($("ledger-controls"), ...parts);
}
function openFile(file) { openWorld(file, file.worlds.get("") || null); }
function showInLedger(f) {
    let w = f.file.worlds.get("") || null, place = num(f.off);
    if (f.inner !== null)
        for (const [path, one] of f.file.worlds)
            if (path && (f.path === path || f.path.startsWith(path + "/")) && one.inner) {
                w = one;
                place = num(f.inner);
            }
    openWorld(f.file, w);
    if (w) {
        const i = w.sorted.find(
            (r) => rangeOff(w, r) <= place && place < rangeOff(w, r) + rangeLen(w, r) && (r >= 0));
        view(place - 256, place + 256);
        if (i !== undefined) {
            chooseRange(i, false);
            setTimeout(() => strip.table.choose(i), 200);
        }
    }
    $("ledger").scrollIntoView();
    $("strip").focus({preventScroll: true});
}
function startLedger() {
    const canvas = $("strip"),
          byteAt = (event) => strip.from +
        (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth * (strip.to - strip.from);
    const rangeAt = (place) => {
        const w = strip.world;
        let found;
        if (w)
            for (const i of w.sorted) {
                const off = rangeOff(w, i);
                if (off > place) break;
                if (place < off + rangeLen(w, i)) found = i;
            }
        return found;
    };
    const W = () => strip.world;
    strip.table = Table(
        $("ranges"),
        [
            {
                title: "Offset",
                width: "8rem",
                num: true,
                mono: true,
                text: (i) => hex(rangeOff(W(), i)),
                key: (i) => rangeOff(W(), i)
            },
            {
                title: "Length",
                width: "7rem",
                num: true,
                text: (i) => count(rangeLen(W(), i)),
                key: (i) => rangeLen(W(), i)
            },
            {
                title: "Owner",
                width: "minmax(14rem, 2fr)",
                text: (i) => rangeName(W(), i),
                key: (i) => rangeName(W(), i)
            },
            {
                title: "Piece",
                width: "minmax(10rem, 1fr)",
                text: (i) => (i < 0 ? "" : S[W().where[i]]),
                key: (i) => (i < 0 ? "" : S[W().where[i]])
            },
            {title: "Shared", width: "6rem", text: (i) => (i >= 0 && W().own[i] % 2 ? "shared" : "")},
        ],
        {
            id: "range",
            label: "Ranges",
            least: "46rem",
            most: 12,
            pick: (i) => chooseRange(i, true),
            cls: (i) => (i < 0 ? "gap" : ""),
            empty: "No ranges."
        });
    let drag = null, moved = false;
    canvas.addEventListener("pointerdown", (event) => {
        drag = {x: event.clientX, from: strip.from, to: strip.to};
        moved = false;
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
        if (drag) {
            const by = (event.clientX - drag.x) / canvas.clientWidth * (drag.to - drag.from);
            moved = moved || Math.abs(event.clientX - drag.x) > 4;
            if (moved) {
                view(drag.from - by, drag.to - by);
                tip("");
            }
            return;
        }
        const i = rangeAt(byteAt(event));
        tip(i === undefined ? "" : sayRange(W(), i), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerup", (event) => {
        if (drag && !moved) {
            const i = rangeAt(byteAt(event));
            if (i !== undefined) {
                chooseRange(i, false);
                strip.table.choose(i);
            }
        }
        drag = null;
    });
    canvas.addEventListener("pointerleave", () => tip(""));
    canvas.addEventListener("dblclick", (event) => {
        const i = rangeAt(byteAt(event));
        if (i !== undefined) view(rangeOff(W(), i), rangeOff(W(), i) + rangeLen(W(), i));
    });
    canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, byteAt(event));
    }, {passive: false});
    canvas.addEventListener("keydown", (event) => {
        const span = strip.to - strip.from;
        if (event.key === "ArrowLeft")
            view(strip.from - span / 8, strip.to - span / 8);
        else if (event.key === "ArrowRight")
            view(strip.from + span / 8, strip.to + span / 8);
        else if (event.key === "+" || event.key === "=")
            zoom(0.5);
        else if (event.key === "-")
            zoom(2);
        else if (event.key === "Home")
            view(0, strip.all);
        else if (event.key === "Enter" && innerOf(strip.chosen))
            openWorld(strip.file, innerOf(strip.chosen));
        else if (event.key === "Escape" && W() && W().inner)
            openFile(strip.file);
        else
            return;
        event.preventDefault();
    });
    /* First what has findings, then the largest. */
    const list =
        files.filter((f) => f.worlds.size)
            .sort(
                (a, b) => (b.ends ? (b.ends.errors + b.ends.warnings > 0) * 1e18 + b.ends.stored : 0) -
                    (a.ends ? (a.ends.errors + a.ends.warnings > 0) * 1e18 + a.ends.stored : 0));
    if (list.length)
        openFile(list[0]);
    else {
        drawStrip();
        listRanges();
    }
}
