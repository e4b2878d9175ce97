/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Colours, patterns, texts and tips of what is drawn. */

let dark = false;
const paint = {};
function readColours() {
    const style = getComputedStyle(document.documentElement);
    dark = style.colorScheme === "dark";
    for (const name of ["paper", "ink", "dim", "line", "soft", "hatch", "focus", "bad", "warn"])
        paint[name] = style.getPropertyValue("--" + name).trim();
}
const HUES = [212, 28, 145, 280, 50, 330, 180, 100, 0, 245, 70, 305];
const hue = (n) => "hsl(" + HUES[n % HUES.length] +
    (dark ? " 42% " + (n >= HUES.length ? 26 : 34) + "%)" : " 62% " + (n >= HUES.length ? 68 : 78) + "%)");
/* A pattern over a colour, so that colour alone tells nothing: lines to the right, to the left, dots. 0: none */
const tiles = new Map();
function tile(ctx, kind) {
    const key = kind + String(dark);
    if (!tiles.has(key)) {
        const canvas = el("canvas"), pen = canvas.getContext("2d"), line = (x, y, to, down) => {
            pen.moveTo(x, y);
            pen.lineTo(to, down);
        };
        canvas.width = canvas.height = 8;
        pen.strokeStyle = dark ? "rgba(255,255,255,.22)" : "rgba(0,0,0,.2)";
        pen.beginPath();
        if (kind === 1) {
            line(-2, 10, 10, -2);
            line(-2, 2, 2, -2);
            line(6, 10, 10, 6);
        }
        if (kind === 2) {
            line(-2, -2, 10, 10);
            line(6, -2, 10, 2);
            line(-2, 6, 2, 10);
        }
        if (kind === 3) line(3, 4, 4.6, 4);
        pen.stroke();
        tiles.set(key, canvas);
    }
    return ctx.createPattern(tiles.get(key), "repeat");
}
function pattern(ctx, x, y, w, h, kind) {
    if (!kind || w < 3 || h < 3) return;
    ctx.fillStyle = tile(ctx, kind);
    ctx.fillRect(x, y, w, h);
}
function surface(canvas) {
    const scale = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
        canvas.width = Math.round(w * scale);
        canvas.height = Math.round(h * scale);
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.fillStyle = paint.paper;
    ctx.fillRect(0, 0, w, h);
    ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    ctx.textBaseline = "middle";
    return [ctx, w, h];
}
/* At most so wide. To measure is slow: letters are taken to be as wide as they are on the average, and
 * checked once. */
function label(ctx, text, x, y, most) {
    let letters = Math.floor(most / 6.2);
    if (letters < 3) return;
    if (text.length > letters || (text.length > letters * 0.7 && ctx.measureText(text).width > most)) {
        const wide = ctx.measureText(text.slice(0, letters)).width;
        if (wide > most - 10) letters = Math.floor(letters * (most - 10) / wide);
        if (letters < 2) return;
        text = text.slice(0, letters) + "…";
    }
    ctx.fillText(text, x, y);
}
function swatch(colour, kind, text) {
    const canvas = el("canvas"), node = el("span", "", canvas, text);
    canvas.width = 44;
    canvas.height = 28;
    const ctx = canvas.getContext("2d");
    ctx.scale(2, 2);
    ctx.fillStyle = colour;
    ctx.fillRect(0, 0, 22, 14);
    pattern(ctx, 0, 0, 22, 14, kind);
    canvas.setAttribute("aria-hidden", "true");
    return node;
}

function tip(text, x, y) {
    const node = $("tip");
    node.hidden = !text;
    if (!text) return;
    node.textContent = text;
    node.style.left = Math.max(4, Math.min(x + 14, innerWidth - node.offsetWidth - 8)) + "px";
    node.style.top =
        (y + 18 + node.offsetHeight > innerHeight ? Math.max(4, y - node.offsetHeight - 10) : y + 18) + "px";
}
