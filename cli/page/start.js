/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One part after the other, so that what is there can be used while the rest is made. */

function redraw() {
    readColours();
    if (map.path.length) showMap();
    if (strip.file) {
        strip.owners.length = 0;
        openLegend();
        drawStrip();
    }
}
function openLegend() {
    const {from, to, chosen} = strip;
    openWorld(strip.file, strip.world);
    strip.chosen = chosen;
    view(from, to);
}
function name() {
    if (!end) throw new Error("the data ends early");
    readColours();
    collectCodes();
    const title = packages.length === 1 && files.every((f) => f.pack) ? packages[0].name :
        files.length === 1                                            ? files[0].name :
                                                                        many(end.inputs, "file");
    document.title = "cuvet report: " + baseName(title);
    document.querySelector("h1").textContent = "cuvet report: " + baseName(title);
    document.querySelector("h1").title = title;
}
function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    redraw();
}
function listen() {
    $("theme").addEventListener("change", () => setTheme($("theme").value));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    let waits = 0;
    addEventListener("resize", () => {
        clearTimeout(waits);
        waits = setTimeout(() => {
            drawMap();
            drawStrip();
            tables.forEach((t) => t.refresh());
        }, 100);
    });
    /* Paper is light. */
    let theme;
    addEventListener("beforeprint", () => {
        theme = $("theme").value;
        setTheme("light");
        tables.forEach((t) => t.print(true));
    });
    addEventListener("afterprint", () => {
        setTheme(theme);
        tables.forEach((t) => t.print(false));
    });
}
/* One after the other, so that what is there can be read and used while the rest is made. */
const STEPS =
          [load, name, showSummary, showFindings, startPieces, showCoverage, startMap, startLedger, listen],
      took = [];
function next() {
    const step = STEPS.shift(), start = performance.now();
    if (!step) {
        document.documentElement.dataset.steps = took.join(" ");
        document.documentElement.dataset.ready = String(Math.round(start));
        return;
    }
    try {
        step();
    } catch (error) {
        $("broken").hidden = false;
        $("broken").textContent = "The page could not be drawn: " + error.message;
        throw error;
    }
    took.push(step.name + ":" + Math.round(performance.now() - start));
    setTimeout(next, 0);
}
next();
