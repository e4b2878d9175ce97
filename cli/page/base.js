/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All that comes from files gets into the page as text of nodes, or is drawn: nothing is ever read as HTML. */

const $ = (id) => document.getElementById(id);

/* An element with a class and children: nodes, or texts. */
function el(tag, cls, ...kids) {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    for (const kid of kids)
        if (kid !== null && kid !== undefined) node.append(kid);
    return node;
}
/* What may be larger than it is shown: keys move it. */
function region(label, ...kids) {
    const node = el("div", "scroll", ...kids);
    node.tabIndex = 0;
    node.setAttribute("role", "region");
    node.setAttribute("aria-label", label);
    return node;
}
function clear(node, ...kids) { node.replaceChildren(...kids); }
function button(text, act, cls) {
    const node = el("button", cls, text);
    node.type = "button";
    node.addEventListener("click", act);
    return node;
}
function choice(label, options, act) { /* options: [value, text] */
    const list = el("select");
    for (const [value, text] of options) {
        const o = el("option", "", text);
        o.value = value;
        list.append(o);
    }
    list.addEventListener("change", () => act(list.value));
    list.setAttribute("aria-label", label);
    return list;
}
/* Buttons of which one is pressed. */
function group(label, options, value, act) {
    const node = el("span", "group");
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", label);
    for (const [key, text] of options) {
        const one = button(text, () => {
            for (const b of node.children) b.setAttribute("aria-pressed", String(b === one));
            act(key);
        });
        one.setAttribute("aria-pressed", String(key === value));
        node.append(one);
    }
    return node;
}
function search(label, act) {
    const node = el("input");
    node.type = "search";
    node.placeholder = label;
    node.setAttribute("aria-label", label);
    node.addEventListener("input", () => act(node.value));
    return node;
}


/* ---- numbers ---- */

/* What JSON's readers would lose digits of is a text, "0x...". */
const num = (value) => (typeof value === "number" ? value : Number(value));
const FORMAT = new Intl.NumberFormat("en-US");
const count = (value) => FORMAT.format(value);
const many = (value, one, more) => count(value) + " " + (value === 1 ? one : more || one + "s");
const hex = (value) => (typeof value === "string" ? value : "0x" + value.toString(16));
const SI = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
function bytes(value) {
    let unit = 0;
    while (value >= 1024 && unit < SI.length - 1) {
        value /= 1024;
        unit++;
    }
    return (unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(value >= 10 ? 1 : 2)) + " " +
        SI[unit];
}
const share = (part, whole) =>
    (whole > 0 ? (100 * part / whole).toFixed(part * 100 < whole * 10 ? 1 : 0) + " %" : "");
