/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Findings by rule, with the bytes of the place. */

function hexNode(f) {
    const pre = el("pre", "hex mono"), place = num(f.whose ? f.inner : f.off), size = f.hex.length / 2;
    const from = place - f.start, to = from + Math.max(1, f.len);
    for (let line = 0; line < size; line += 16) {
        let text = [], letters = [];
        pre.append(el("span", "at", (f.start + line).toString(16).padStart(8, "0") + "  "));
        const add = (target, value, marked) => {
            const last = target[target.length - 1];
            if (last && last[1] === marked)
                last[0] += value;
            else
                target.push([value, marked]);
        };
        for (let i = line; i < line + 16; i++) {
            const marked = i >= from && i < to && i < size, two = i < size ? f.hex.substr(2 * i, 2) : "  ",
                  code = parseInt(two, 16);
            add(text, two, marked);
            add(text, i % 16 === 7 ? "  " : " ", marked && i + 1 < to && i % 16 !== 15);
            if (i < size) add(letters, code >= 32 && code < 127 ? String.fromCharCode(code) : ".", marked);
        }
        for (const [value, marked] of text) pre.append(marked ? el("mark", "", value) : value);
        pre.append(" ");
        for (const [value, marked] of letters) pre.append(marked ? el("mark", "", value) : value);
        pre.append("\n");
    }
    return pre;
}
function card(f) {
    const offset = "at " + hex(f.off) +
        (f.inner === null ?
             " in the file" :
             " in the file, where its payload begins; at " + hex(f.inner) + " in the unpacked bytes") +
        (f.len ? "; " + many(f.len, "byte") : "");
    const title = (rules.get(f.rule) || {title: ""}).title + ": ";
    const node =
        el("article", "card",
           el("div", "message", f.message.startsWith(title) ? f.message.slice(title.length) : f.message),
           el("div", "where", fileLabel(f.file) + "  ›  " + where(f.path)), el("div", "where", offset));
    if (f.hex)
        node.append(
            el("div", "hint",
               f.whose              ? "Unpacked bytes:" :
                   f.inner === null ? "Bytes of the file:" :
                                      "Bytes of the file; those inside could not be shown:"),
            hexNode(f));
    node.append(button("Show in the ledger", () => showInLedger(f)));
    return node;
}
/* All findings of one rule: what it is about once, the first places, and more on request. */
function ruleNode(id, list, severity) {
    const rule = rules.get(id) || {title: "", why: "", cls: "", verdict: "", exempt: ""};
    const more =
        el("details", "", el("summary", "", "What " + id + " is about"), el("p", "", rule.why),
           el("p", "hint",
              "class " + rule.cls + "; a file with no worse finding is " + rule.verdict +
                  (rule.exempt ? "; not applied to: " + rule.exempt : "")));
    const places = el("div"),
          node =
              el("section", "rule " + severity,
                 el("h3", "", el("span", "word " + severity, SIGN[severity] + " " + severity), " ",
                    el("span", "mono", id), " ", rule.title, " ",
                    el("span", "hint", many(list.length, "place"))),
                 more, places);
    let shown = 0;
    const rest = button("", () => add(20));
    function add(n) {
        for (const i of list.slice(shown, shown + n)) places.append(card(findings[i]));
        shown += n;
        rest.hidden = shown >= list.length;
        rest.textContent = "Show more places, " + count(list.length - shown) + " are left";
    }
    node.append(rest);
    add(severity === "note" ? 1 : 3);
    return node;
}
function showFindings() {
    let text = "", rule = "", least = 1;
    const rank = {error: 2, warning: 1, note: 0};
    const names = [...new Set(findings.map((f) => f.rule))].sort();
    const total = {error: 0, warning: 0, note: 0};
    for (const f of files)
        if (f.ends) {
            total.error += f.ends.errors;
            total.warning += f.ends.warnings;
            total.note += f.ends.notes;
        }
    function draw() {
        const want = text.toLowerCase(), groups = new Map();
        let n = 0;
        findings.forEach((f, i) => {
            if (rank[f.severity] < least || (rule && f.rule !== rule) ||
                (want &&
                 !(f.file.name + " " + f.path + " " + f.message + " " + f.rule).toLowerCase().includes(want)))
                return;
            if (!groups.has(f.rule)) groups.set(f.rule, []);
            groups.get(f.rule).push(i);
            n++;
        });
        const order = [...groups].sort(
            (a, b) =>
                rank[findings[b[1][0]].severity] - rank[findings[a[1][0]].severity] || a[1][0] - b[1][0]);
        $("finding-count").textContent = many(total.error, "error") + ", " + many(total.warning, "warning") +
            " and " + many(total.note, "note") + " were found" +
            (findings.length < total.error + total.warning + total.note ?
                 "; the page has " + count(findings.length) +
                     " of them (--limit diagnostics=N sets how many a rule may have in a file)" :
                 "") +
            ". Shown here: " + count(n) + ".";
        const made = order.map(([id, list]) => ruleNode(id, list, findings[list[0]].severity));
        const nothing = "No errors and no warnings.";
        const hint = " Notes say what was not looked into, or is unusual but harmless: “and notes” shows them.";
        const filtered = least === 0 || text || rule;
        if (!made.length)
            made.push(el("p", "hint", filtered ? "None fits the filter." : nothing + (total.note ? hint : "")));
        clear($("finding-list"), ...made);
    }
    const change = (act) => (value) => {
        act(value);
        draw();
    };
    clear(
        $("finding-controls"), search("Filter findings: path, message, rule", change((v) => {
                                          text = v;
                                      })),
        group("Severity", [[2, "errors"], [1, "and warnings"], [0, "and notes"]], least, change((v) => {
                  least = v;
              })),
        choice("Rule", [["", "all rules"], ...names.map((n) => [n, n])], change((v) => {
                   rule = v;
               })));
    draw();
}
