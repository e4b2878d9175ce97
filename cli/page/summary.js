/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Verdict, sums, files. */

const ORDER = ["clean", "unsupported", "suspicious", "malformed", "limit", "error"];
const SAYS = {
    clean: "nothing is wrong with what was found",
    unsupported: "something in it is legal, but was not looked into; the rest is clean",
    suspicious: "it is not what it says it is: it breaks the profile of the producer that it claims",
    malformed:
        "it breaks a rule of safety: somebody who reads it can be hurt, or two readers see different things",
    limit: "a limit was reached; what lies behind it was not looked at",
    error: "it could not be read, or not to its end",
};
function verdictNode(verdict) { return el("span", "word " + verdict, (SIGN[verdict] || "") + " " + verdict); }
function showSummary() {
    const sum = (get) => files.reduce((all, f) => all + (f.ends ? get(f.ends) : 0), 0);
    let worst = "clean", errors = 0, warnings = 0, by = [];
    for (let i = 0; i < end.tally.length; i += 4) {
        const [name, n, bad, odd] = end.tally.slice(i, i + 4);
        if (n > 0) {
            worst = name;
            by.push(count(n) + " " + name);
        }
        errors += bad;
        warnings += odd;
    }
    for (const p of packages)
        if (ORDER.indexOf(p.verdict) > ORDER.indexOf(worst)) worst = p.verdict;
    const head = end.packages || end.inputs !== 1 ?
        many(end.inputs, "file") + (end.packages ? " in " + many(end.packages, "package") : "") :
        files.length ? files[0].name :
                       "nothing";
    const box = $("verdict");
    box.className = worst;
    clear(
        box, verdictNode(worst), " ",
        el("span", "more",
           (end.inputs > 1 && worst !== "clean" ? "the worst of " : "") + head + ": " + SAYS[worst] +
               (by.length > 1 ? " (" + by.join(", ") + ")" : "") + "."));
    const tile = (value, text, cls) => {
        const b = el("b", cls || "", value);
        return el("div", "tile", b, el("span", "", text));
    };
    const codes = (name) => files.reduce((all, f) => all + SUM(f.codes, name), 0);
    const stored = codes("stored"), size = codes("size"), length = sum((e) => e.length),
          notes = sum((e) => e.notes);
    clear(
        $("tiles"), tile(count(end.pieces), "pieces of device code"), tile(count(end.kernels), "kernels"),
        tile(count(allCodes.length), "architectures and kinds"),
        tile(bytes(stored), "stored" + (length ? ", " + share(stored, length) + " of the files shown" : "")),
        tile(bytes(size), "unpacked"), tile(count(errors), "errors", errors ? "malformed" : ""),
        tile(count(warnings), "warnings", warnings ? "suspicious" : ""), tile(count(notes), "notes"));
    const left = [];
    if (end.hidden) left.push(many(end.hidden, "file"));
    const lacks = (get) => sum(get);
    const morePieces = lacks((e) => e.pieces - e.shownPieces),
          moreFindings =
              lacks((e) => e.errors + e.warnings) - findings.filter((f) => f.severity !== "note").length;
    if (morePieces > 0) left.push(many(morePieces, "piece"));
    if (moreFindings > 0) left.push(many(moreFindings, "finding"));
    const moreRanges = lacks((e) => e.ranges - e.shownRanges + e.inner - e.shownInner);
    if (moreRanges > 0) left.push(many(moreRanges, "range") + " of the ledger");
    $("left-out").hidden = left.length === 0;
    $("left-out").textContent =
        "Counted, but not on this page, which has a bound for each of its parts: " + left.join(", ") +
        ". cuvet scan, list and map have all of them.";
    const numbers = files.map((f) => f.number),
          get = (name) => (i) => (files[i].ends ? files[i].ends[name] : 0);
    const number = (title, name, format) => ({
        title,
        width: "7rem",
        num: true,
        text: (i) => format(get(name)(i)),
        hint: (i) => count(get(name)(i)),
        key: get(name)
    });
    Table(
        $("files"),
        [
            {
                title: "File",
                width: "minmax(16rem, 1fr)",
                text: (i) => tail(fileLabel(files[i]), 46),
                hint: (i) =>
                    files[i].name + (files[i].ends && files[i].ends.why ? "\n" + files[i].ends.why : ""),
                key: (i) => files[i].name
            },
            {
                title: "Verdict",
                width: "8.5rem",
                node: (i) => verdictNode(files[i].ends ? files[i].ends.verdict : "error"),
                hint: (i) => (files[i].ends ? files[i].ends.why || SAYS[files[i].ends.verdict] : ""),
                key: (i) => (files[i].ends ? ORDER.indexOf(files[i].ends.verdict) : 9)
            },
            {
                title: "Findings",
                width: "6rem",
                num: true,
                text: (i) => count(get("errors")(i) + get("warnings")(i)),
                hint: (i) => many(get("errors")(i), "error") + ", " + many(get("warnings")(i), "warning") +
                    ", " + many(get("notes")(i), "note"),
                key: (i) => get("errors")(i) + get("warnings")(i)
            },
            number("Pieces", "pieces", count),
            number("Kernels", "kernels", count),
            {
                title: "Device code",
                width: "7rem",
                num: true,
                text: (i) => bytes(SUM(files[i].codes, "stored")),
                hint: (i) => count(SUM(files[i].codes, "stored")),
                key: (i) => SUM(files[i].codes, "stored")
            },
            number("File size", "length", bytes),
            {
                title: "SHA-256",
                width: "12rem",
                mono: true,
                text: (i) => (files[i].ends ? files[i].ends.sha256 : "")
            },
        ],
        {
            id: "file",
            label: "Files",
            least: "64rem",
            most: 10,
            rows: numbers,
            empty: "No file has device code."
        });
    const list =
        el("table", "",
           el("thead", "",
              el("tr", "", el("th", "", "Limit"), el("th", "num", "Value"), el("th", "", "Unit"),
                 el("th", "", "What it bounds"))),
           el("tbody"));
    for (const [name, value, unit, what] of limits)
        list.lastChild.append(
            el("tr", "", el("td", "mono", name),
               el("td", "num", typeof value === "number" ? count(value) : value), el("td", "", unit),
               el("td", "", what)));
    clear(
        $("limits"),
        el("p", "hint",
           "cuvet " + version + ". " +
               (packages.length ? packages.map((p) => p.name + ": " + many(p.entries, "entry", "entries"))
                                      .slice(0, 20)
                                      .join("; ") +
                        ". Entries without device code and without a finding are left out." :
                                  "")),
        region("Limits", list));
}
