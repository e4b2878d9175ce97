/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tables of any length: the rows that are in sight are there, and no others. */

const ROW = 28, HEAD = 30, PRINTED = 400, tables = [];

/* columns: { title, width, num, mono, text(i), hint(i), key(i), node(i) }; rows: numbers that these are asked
 * with. */
function Table(host, columns, options) {
    const inner = el("div", "inner"), head = el("div", "head"), body = el("div", "body", head),
          space = el("div", "space"), root = el("div", "vt", inner);
    let rows = options.rows || [], sort = -1, down = false, chosen = -1, printing = false;
    root.setAttribute("role", "table");
    root.setAttribute("aria-label", options.label);
    root.style.setProperty("--columns", columns.map((c) => c.width).join(" "));
    root.style.setProperty("--least", options.least || "0");
    head.setAttribute("role", "row");
    body.setAttribute("role", "rowgroup");
    body.tabIndex = 0;
    body.setAttribute("aria-label", options.label + ": rows");
    columns.forEach((column, at) => {
        const one = button(column.title, () => {
            if (!column.key) return;
            down = sort === at ? !down : !!column.num;
            sort = at;
            order();
        });
        const cell = el("div", "cell" + (column.num ? " num" : ""), one);
        cell.setAttribute("role", "columnheader");
        one.disabled = !column.key;
        head.append(cell);
    });
    body.append(space);
    inner.append(body);
    clear(host, root);

    function order() {
        if (sort >= 0) {
            const key = columns[sort].key, keys = new Map(), sign = down ? -1 : 1;
            for (const i of rows) keys.set(i, key(i));
            rows = rows.slice().sort((a, b) => {
                const x = keys.get(a), y = keys.get(b);
                return x < y ? -sign : x > y ? sign : a - b;
            });
        }
        [...head.children].forEach((cell, at) => {
            cell.setAttribute("aria-sort", at !== sort ? "none" : down ? "descending" : "ascending");
            cell.firstChild.textContent = columns[at].title + (at === sort ? (down ? " ▾" : " ▴") : "");
        });
        show();
    }
    function makeRow(at) {
        const i = rows[at], row = el("div", "row" + (options.pick ? " pick" : ""));
        row.setAttribute("role", "row");
        row.setAttribute("aria-rowindex", String(at + 2));
        row.setAttribute("aria-selected", String(i === chosen));
        row.id = options.id + "-" + at;
        row.style.top = at * ROW + "px";
        for (const column of columns) {
            const cell =
                el("div",
                   "cell" + (column.num ? " num" : "") + (column.mono ? " mono" : "") +
                       (options.cls ? " " + options.cls(i) : ""));
            cell.setAttribute("role", "cell");
            if (column.node)
                cell.append(column.node(i));
            else
                cell.textContent = column.text(i);
            cell.title = column.hint ? column.hint(i) : cell.textContent;
            row.append(cell);
        }
        if (options.pick) row.addEventListener("click", () => pick(at));
        return row;
    }
    function show() {
        const height = printing ? Math.min(rows.length, PRINTED) * ROW :
                                  Math.min(options.most || 14, Math.max(rows.length, 1)) * ROW;
        body.style.height = height + HEAD + 2 + "px";
        space.style.height =
            (printing ? Math.min(rows.length, PRINTED) : Math.max(rows.length, 1)) * ROW + "px";
        root.setAttribute("aria-rowcount", String(rows.length + 1));
        const from = printing ? 0 : Math.max(0, Math.floor(body.scrollTop / ROW) - 4),
              to = Math.min(rows.length, from + Math.ceil(height / ROW) + 9);
        const made = [];
        for (let at = from; at < to; at++) made.push(makeRow(at));
        if (rows.length === 0) made.push(el("div", "empty", options.empty || "Nothing."));
        if (printing && rows.length > PRINTED)
            made.push(
                el("div", "empty", "The first " + count(PRINTED) + " of " + count(rows.length) + " rows."));
        clear(space, ...made);
    }
    let waits = false;
    body.addEventListener("scroll", () => {
        if (!waits) {
            waits = true;
            requestAnimationFrame(() => {
                waits = false;
                show();
            });
        }
    });
    function reveal(at) {
        if (at * ROW < body.scrollTop)
            body.scrollTop = at * ROW;
        else if ((at + 1) * ROW > body.scrollTop + body.clientHeight - HEAD)
            body.scrollTop = (at + 1) * ROW - body.clientHeight + HEAD;
    }
    function pick(at) {
        chosen = rows[at];
        reveal(at);
        show();
        body.setAttribute("aria-activedescendant", options.id + "-" + at);
        if (options.pick) options.pick(chosen);
    }
    body.addEventListener("keydown", (event) => {
        const step =
            {ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity}[event.key];
        if (step === undefined || !rows.length) return;
        event.preventDefault();
        const old = rows.indexOf(chosen);
        pick(Math.max(0, Math.min(rows.length - 1, old < 0 ? 0 : old + step)));
    });
    const self = {
        set(list) {
            rows = list;
            body.scrollTop = 0;
            order();
        },
        choose(i) {
            const at = rows.indexOf(i);
            if (at >= 0) {
                chosen = i;
                reveal(at);
                show();
            }
        },
        print(on) {
            printing = on;
            show();
        },
        refresh: show,
    };
    tables.push(self);
    order();
    return self;
}
