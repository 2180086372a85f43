// Compare: logistic regression on the same rows and folds, and learning curves.

import { html, number } from "./dom.js";
import { chart } from "./charts.js";
import { get, post } from "./server.js";
import { button, card, note, replace, sampled, score } from "./widgets.js";

const KINDS = ["c0", "c1", "c2"];

export function screen(app, root) {
  let asked = -1;

  function curves(found, measure, title) {
    const sizes = found.sizes.map(Math.log10);
    const all = found.lines.flatMap((l) => l[measure]).filter((v) => v !== null);
    const top = Math.max(0.01, Math.min(measure === "loss" ? 2 : 1, Math.max(...all) * 1.05));
    const points = (l) => sizes.map((s, i) => [s, l[measure][i]]).filter(([, v]) => v !== null);
    const ticks = [10, 30, 100, 300, 1000].map(Math.log10).filter((t) => t >= sizes[0] && t <= sizes.at(-1));
    const margin = 0.03 * (sizes.at(-1) - sizes[0]);
    return html("div", {}, html("h3", {}, title),
      chart({ width: 420, height: 250, x: [sizes[0] - margin, sizes.at(-1) + margin], y: [0, top], xLabel: "rows learned from", yLabel: title, xTicks: ticks, xTell: (v) => Math.round(10 ** v).toLocaleString("en"), label: `${title} by rows`,
        lines: found.lines.map((l, i) => ({ points: points(l), kind: KINDS[i], dash: ["", "7 3", "2 3"][i] })),
        dots: found.lines.flatMap((l, i) => points(l).map(([x, y]) => ({ x, y, r: 2.5, kind: KINDS[i] }))),
        said: found.lines.map((l) => `${l.name}: ${number(l[measure].findLast((v) => v !== null) ?? NaN, 3)}`).join("; ") }));
  }

  return {
    async refresh() {
      const { state } = app;
      if (!("target" in state)) return;
      const found = await get("compare");
      // Live: whenever the model has changed and its scores are there, compare again.
      if (found.possible && !found.told && !state.aside && !state.error && asked !== state.serial) {
        asked = state.serial;
        post("compare").catch((error) => { app.refused = error.message; });
      }
      const c = found.curves;
      replace(root, html("h1", {}, "Compare"),
        html("p", { class: "lead" }, found.told ?? (found.possible ? "Logistic regressions are being fitted to the same rows and folds." : "There are no rows on which to compare.")),
        found.lines.length
          ? html("table", { class: "plain" }, html("thead", {}, html("tr", {}, html("td", {}), html("th", { scope: "col" }, "accuracy"), html("th", { scope: "col" }, "log loss"))),
              html("tbody", {}, ...found.lines.map((l) => html("tr", {}, html("th", { scope: "row" }, l.name), html("td", {}, score(l.accuracy, 4)), html("td", {}, score(l.loss, 4))))))
          : null,
        sampled(state),
        found.possible && !found.told && !state.aside && state.error ? html("p", { class: "buttons" }, button("Compare", () => app.ask("compare"), { "data-key": "compare" })) : null,
        card("Learning curves",
          c ? [html("p", {}, c.told),
               html("ul", { class: "legend" }, ...c.lines.map((l, i) => html("li", {}, html("span", { class: `swatch ${KINDS[i]}`, "aria-hidden": "true" }), l.name))),
               html("div", { class: "pair" }, curves(c, "error", "error"), curves(c, "loss", "log loss")),
               c.why.length ? html("details", {}, html("summary", {}, "Why"), html("ul", {}, ...c.why.map((w) => html("li", {}, w)))) : null]
            : [html("p", {}, "How a plain generative model and logistic regression improve with more rows, and where their curves cross."),
               found.possible ? html("p", { class: "buttons" }, button("Draw the curves", () => app.ask("curves"), { "data-key": "curves" })) : null],
          note("At most 2,000 rows, ten repeats. The plain model is naive Bayes or discriminant analysis, not the weighted model of the table above.")));
    },
  };
}
