// Table: columns with their families, densities and importance.

import { html, number, percent } from "./dom.js";
import { density, dependence, map } from "./charts.js";
import { get } from "./server.js";
import { button, card, label, name, note, replace, select, wide, colourOf } from "./widgets.js";

export function screen(app, root) {
  const open = new Map();
  const act = (body) => app.ask("act", body);

  const family = (c) =>
    html(
      "div",
      { class: "family" },
      select(`Family of ${c.name}`, [["auto", c.asked === "auto" ? `auto: ${c.family}` : "auto"], ...c.families.map((f) => [f, f])], c.asked,
        (value) => act({ kind: "family", column: c.column, family: value }), { "data-key": `family-${c.column}` }),
      app.state.own
        ? button("Leave out", () => act({ kind: "leave out", column: c.column }), { class: "button small quiet", "data-key": `out-${c.column}`, "aria-label": `Leave out ${c.name}` })
        : null,
    );

  const toggle = async (c) => {
    if (open.has(c.column)) {
      open.delete(c.column);
      draw();
      return;
    }
    open.set(c.column, null);
    draw();
    const found = await get("column", { column: c.column });
    if (open.has(c.column)) open.set(c.column, found);
    draw();
  };

  const details = (c, found) =>
    html(
      "div",
      { class: "details" },
      c.why ? html("p", {}, c.why) : null,
      html(
        "div",
        { class: "pair" },
        found.density ? html("div", {}, html("h3", {}, "In each class"), density(app.state, found.density, c.name, { large: true })) : null,
        found.dependence ? html("div", {}, html("h3", {}, "Contribution of a value to the log-odds",
          found.dependence.curves.length === 1 ? [" of ", label(app.state, found.dependence.curves[0].class)] : null), dependence(app.state, found.dependence)) : null,
      ),
      found.dependence ? together(c) : null,
    );

  // Another column may be chosen, to see what both add together.
  const pairs = new Map();
  function together(c) {
    const others = data.columns.filter((o) => o.kind !== "text" && o.column !== c.column);
    const shown = pairs.get(c.column);
    return html("div", { class: "together" },
      html("label", {}, html("h3", {}, "Together with "), select(`Together with another column`, [["", "…"], ...others.map((o) => [o.column, o.name])], shown?.other ?? "", async (other) => {
        if (other === "") pairs.delete(c.column);
        else pairs.set(c.column, { other, found: await get("pair", { column: c.column, other }) });
        draw();
      }, { "data-key": `pair-${c.column}` })),
      shown ? html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Log-odds by ${shown.found.columns.join(" and ")}`, "data-scroll": `pair-${c.column}` },
        html("p", { class: "muted" }, "Rows: ", name(shown.found.columns[0]), "; columns: ", name(shown.found.columns[1]), "; log-odds of ", label(app.state, shown.found.class)), map(shown.found)) : null);
  }

  const drifted = (d) =>
    card("Are these rows like those of the model?",
      d.unlike === null ? null : html("p", {}, `${percent(d.unlike, 1)} of the rows are less likely than ${percent(1 - d.expected)} of the model's own rows (expected: ${percent(d.expected)}).`),
      html("div", { class: "scroll", "data-scroll": "drift", tabindex: "0", role: "region", "aria-label": "Columns that moved" },
        html("table", { class: "plain" },
          html("thead", {}, html("tr", {}, html("td", {}), ...["moved", "never seen", "missing", "missing before"].map((t) => html("th", { scope: "col" }, t)))),
          html("tbody", {}, ...d.columns.map((c) => html("tr", {}, html("th", { scope: "row" }, name(c.name), c.is ? html("span", { class: "worse" }, " moved") : null),
            ...[c.moved, c.unseen, c.missing, c.before].map((v) => html("td", {}, v === null ? "–" : percent(v, 1)))))))),
      ...d.columns.filter((c) => c.told).map((c) => note(c.told)),
      ...d.notes.map((told) => note(told)),
      note("How far a column moved is the share of rows that would have to change to restore its former distribution."));

  let data = null;
  function draw() {
    const { state } = app;
    const found = data;
    const most = Math.max(1e-9, ...found.columns.map((c) => c.moves ?? 0));
    const total = Math.max(1, ...[state.rows]);
    replace(
      root,
      html("h1", {}, "Table"),
      html("p", { class: "lead" },
        state.own || state.total === null ? "" : "This is the model: ",
        `${state.rows.toLocaleString("en")} rows; ${found.columns.length} columns predict `, name(state.target), ".",
        state.own && state.unlabelled ? ` ${state.unlabelled.toLocaleString("en")} rows without a label are left out.` : "",
        state.own ? [" ", html("a", { href: "#open", "data-key": "target" }, "Predict another column")] : null,
        state.own || state.total === null ? "" : ` The ${state.total.toLocaleString("en")} new rows are in the comparison below, and on the other screens.`),
      html("div", { class: "stack", "aria-hidden": "true" }, ...state.classes.map((c, k) => wide(html("span", { class: `fill ${colourOf(state, k)}` }), c.rows / total))),
      html("ul", { class: "legend" }, ...state.classes.map((c, k) => [c, k]).filter(([c]) => state.classes.length <= 12 || c.colour < 7).map(([c, k]) => html("li", {}, label(state, k), " ", html("span", { class: "figure" }, percent(c.rows / total, 1)))),
        state.classes.length > 12 ? html("li", { class: "muted" }, `and ${state.classes.length - 7} other classes`) : null),
      found.cautions.length ? html("div", { class: "cautions" }, html("h2", {}, "Look at this first"), html("ul", {}, ...found.cautions.map((c) => html("li", {}, c)))) : null,
      found.drift ? drifted(found.drift) : null,
      html("ul", { class: "columns" },
        ...found.columns.map((c) =>
          html("li", { class: "column" },
            html("div", { class: "who" },
              html("h2", {}, html("button", { type: "button", class: "unfold", "aria-expanded": String(open.has(c.column)), onclick: () => toggle(c), "data-key": `column-${c.column}` }, name(c.name))),
              html("span", { class: "kind" }, c.kind),
              c.missing > 0 ? html("span", { class: "missing" }, `${percent(c.missing, 1)} missing`) : null,
              c.note && (!c.missing || c.kind === "text") ? html("span", { class: "muted" }, c.note) : null),
            html("div", { class: "drawing" }, c.kind === "text" ? html("a", { href: "#text" }, "Words of each class") : density(app.state, c.density, c.name)),
            html("div", { class: "moves", title: "How far the column moves the log-odds on average" },
              html("span", { class: "track" }, wide(html("span", { class: "fill plain" }), (c.moves ?? 0) / most)),
              html("span", { class: "figure" }, `moves the log-odds by ${number(c.moves ?? 0, 2)}`)),
            family(c),
            open.has(c.column) ? (open.get(c.column) ? details(c, open.get(c.column)) : html("p", { class: "details soon" }, "Computing …")) : null)),
      ),
      found.leftOut.length
        ? card("Left out",
            html("ul", { class: "plain-list" }, ...found.leftOut.map((c) =>
              html("li", {}, html("span", {}, name(c.name), html("span", { class: "muted" }, ` ${c.note}`)),
                c.chosen && app.state.own ? button("Use it", () => act({ kind: "take in", column: c.column }), { class: "button small", "data-key": `in-${c.column}`, "aria-label": `Use ${c.name}` }) : null))))
        : null,
      note("The grey bars show all rows, and the lines show the model of each class. “Moves” is the mean absolute contribution of the column to the log-odds. A family can be changed without reading the rows again."),
    );
  }
  return {
    async refresh() {
      if (!("target" in app.state)) return;
      data = await get("table");
      pairs.clear();
      for (const column of [...open.keys()])
        if (data.columns.some((c) => c.column === column)) open.set(column, await get("column", { column }));
        else open.delete(column);
      draw();
    },
  };
}
