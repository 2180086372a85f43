// Forget and correct: what was done, what it did to the scores, and rows that may be mislabelled.

import { html, number, percent } from "./dom.js";
import { get } from "./server.js";
import { button, card, label, name, nameOf, note, replace, sampled, score } from "./widgets.js";

export function screen(app, root) {
  const act = (body) => app.ask("act", body);

  function comparison(state) {
    const lines = ["accuracy", "log loss"].map((what) => {
      const [before, now] = [state.before?.[what], state.scores?.[what]];
      return html("tr", {}, html("th", { scope: "row" }, what), html("td", {}, before ? score(before[0], 4) : "–"),
        html("td", { class: now ? "" : "stale" }, now ? score(now[0], 4) : "…"),
        html("td", {}, before && now ? `${now[0] >= before[0] ? "+" : ""}${number(now[0] - before[0], 4)}` : ""));
    });
    return html("table", { class: "plain" },
      html("thead", {}, html("tr", {}, html("td", {}), html("th", { scope: "col" }, "at first"), html("th", { scope: "col" }, "now"), html("th", { scope: "col" }, "change"))),
      html("tbody", {}, ...lines));
  }

  const suspect = (row, columns) => {
    const { state } = app;
    return html("li", { class: "suspect" },
      html("div", {}, html("a", { href: `#rows/${row.row}` }, `Row ${row.number}`), " is ", label(state, row.truth), "; models that have not seen it predict ", label(state, row.taken), ` (${percent(row.p, 1)})`,
        html("p", { class: "muted cells" }, ...columns.slice(0, 6).flatMap((c, i) => [i ? " · " : "", name(c), " ", name(row.cells[i] ?? "–")]))),
      html("div", { class: "buttons" },
        button("Relabel", () => act({ kind: "relabel", rows: [row.row], label: row.taken }), { class: "button small", "data-key": `relabel-${row.row}`, "aria-label": `Relabel row ${row.number} as ${nameOf(state, row.taken)}` }),
        button("Forget", () => act({ kind: "forget", rows: [row.row] }), { class: "button small", "data-key": `forget-${row.row}`, "aria-label": `Forget row ${row.number}` })));
  };

  return {
    async refresh() {
      const { state } = app;
      if (!("target" in state)) return;
      if (!state.own) {
        replace(root, html("h1", {}, "Forget & correct"), html("p", { class: "lead" }, "Rows can be forgotten and relabelled only if the studio fitted the model to them: genus studio DATA --target COL."));
        return;
      }
      const found = await get("rows", { sort: "error", only: "wrong" });
      replace(root, html("h1", {}, "Forget & correct"),
        html("p", { class: "lead" }, "A model is a sum over its rows. To forget a row is to subtract it: the model is then as if it had never seen the row. Weights, families and all scores are updated."),
        html("div", { class: "pair" },
          card("Changes",
            state.edits.length
              ? [html("ol", { class: "edits" }, ...state.edits.map((e) => html("li", {}, e))), html("p", { class: "buttons" }, button("Undo the last change", () => app.ask("undo"), { "data-key": "undo-last" }), html("a", { class: "button quiet", href: "#export" }, "Export the model"))]
              : html("p", {}, "Nothing yet. Select rows in ", html("a", { href: "#rows" }, "Rows"), ", or start with those below.")),
          card("Scores", comparison(state), note(`${state.rows.toLocaleString("en")} of ${(state.total ?? 0).toLocaleString("en")} rows are in the model.`))),
        card("Labels that may be wrong",
          found.note ? html("p", { class: "waiting" }, "The rows are being scored.")
            : found.rows.length ? html("ul", { class: "suspects" }, ...found.rows.slice(0, 12).map((row) => suspect(row, found.columns))) : html("p", {}, "No row seems to have a wrong label."),
          note("Rows whose own class is least probable according to models that have not seen them. Check them before you change them."), sampled(state)));
    },
  };
}
