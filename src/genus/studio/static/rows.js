// Rows: sort, filter and select them; the evidence in one, and what would change its class.

import { html, number, percent } from "./dom.js";
import { chart, dash } from "./charts.js";
import { replaceGiven } from "./place.js";
import { get, post, resting } from "./server.js";
import { button, card, colourOf, evidence, label, name, nameOf, note, probabilities, replace, sampled, select, signedOdds, slider } from "./widgets.js";

const SORTS = [["error", "Most wrong"], ["doubt", "Most uncertain"], ["unusual", "Most unusual"], ["number", "By number"]];

export const screen = (app, root, row, given) => (row === "" ? list(app, root, given) : one(app, root, row, given));

function list(app, root, given) {
  let how = { sort: "error", ...given };
  let found = null;
  const change = (more) => {
    how = { ...how, page: "", ...more };
    replaceGiven(Object.fromEntries(Object.entries(how).filter(([, value]) => value !== "")));
    load();
  };
  const typed = resting((value) => change({ value }), 250);
  const typedEnd = resting((high) => change({ high }), 250);

  let told = ""; // why the last filter was refused
  async function load() {
    try {
      found = await get("rows", how);
      if (told && app.refused === told) app.refused = "";
      told = "";
    } catch (error) {
      if (!error.status || !found) throw error;
      told = app.refused = error.message;
    }
    draw();
  }

  function filters() {
    const { state } = app;
    const columns = found.columnNames ?? [];
    const value = html("input", { type: "search", placeholder: "value", "aria-label": "Value to look for", "data-key": "value", maxlength: 200 });
    value.value = how.value ?? "";
    value.addEventListener("input", () => typed(value.value));
    const end = html("input", { type: "search", placeholder: "to", "aria-label": "End of the range", "data-key": "high", maxlength: 200 });
    end.value = how.high ?? "";
    end.addEventListener("input", () => typedEnd(end.value));
    if (how.how === "range") value.placeholder = "from";
    return html("div", { class: "toolbar" },
      html("div", { class: "segments", role: "group", "aria-label": "Sort" },
        ...SORTS.map(([key, text]) => button(text, () => change({ sort: key }), { class: "segment", "aria-pressed": String(how.sort === key), "data-key": `sort-${key}` }))),
      select("Class", [["", "all classes"], ...state.classes.map((c, k) => [k, c.name])], how.class ?? "", (v) => change({ class: v }), { "data-key": "class" }),
      select("Right or wrong", [["", "right and wrong"], ["wrong", "wrong only"], ["right", "right only"]], how.only ?? "", (v) => change({ only: v }), { "data-key": "only" }),
      select("Column", [["", "any column"], ...columns.map((c) => [c[0], c[1]])], how.column ?? "", (v) => change({ column: v, how: how.how || "is" }), { "data-key": "column" }),
      how.column ? select("How", [["is", "is"], ["contains", "contains"], ["range", "is from … to …"], ["missing", "is missing"]], how.how ?? "is", (v) => change({ how: v }), { "data-key": "how" }) : null,
      how.column && how.how !== "missing" ? value : null,
      how.column && how.how === "range" ? end : null,
      jump());
  }

  // Open a row by its number in the file.
  function jump() {
    const input = html("input", { type: "number", min: 1, placeholder: "row …", "aria-label": "Open the row with this number", class: "jump", "data-key": "jump" });
    input.addEventListener("keydown", async (event) => {
      if (event.key !== "Enter" || !input.value) return;
      const at = await get("number", { number: input.value }).catch((error) => { app.refused = error.message; });
      if (at) app.go(`rows/${at.row}`);
    });
    return input;
  }

  function picks() {
    const { state, selected } = app;
    if (!state.own) return null;
    const active = [...selected];
    const isFiltered = how.class || (how.column && (how.value || how.how === "missing" || (how.how === "range" && how.high))) || how.only;
    const filter = Object.fromEntries(["class", "only", "column", "how", "value", "high"].filter((k) => how[k]).map((k) => [k, how[k]]));
    const all = how.only ? found.total : found.matching;
    const rows = active.length ? { rows: active } : { filter };
    const count = active.length || (isFiltered ? all : 0);
    const done = async (body) => {
      if (await app.ask("act", body)) {
        selected.clear();
        app.keepSelection();
        draw();
      }
    };
    return html("div", { class: "picks", role: "group", "aria-label": "Selected rows" },
      html("span", { role: "status" }, active.length ? `${active.length} selected` : isFiltered ? `${all.toLocaleString("en")} rows match` : "Tick rows, or filter them, to forget or relabel them."),
      count ? button(`Forget ${count.toLocaleString("en")}`, () => done({ kind: "forget", ...rows }), { "data-key": "forget" }) : null,
      count ? select("Relabel as", [["", "Relabel as …"], ...state.classes.map((c, k) => [k, c.name])], "", (v) => v !== "" && done({ kind: "relabel", label: Number(v), ...rows }), { "data-key": "relabel" }) : null,
      active.length ? button("Select none", () => { selected.clear(); app.keepSelection(); draw(); }, { class: "button quiet", "data-key": "none" }) : null);
  }

  function line(row) {
    const { state, selected } = app;
    const box = html("input", { type: "checkbox", "aria-label": `Select row ${row.number}`, "data-key": `box-${row.row}` });
    box.checked = selected.has(row.row);
    box.addEventListener("change", () => {
      if (box.checked) selected.add(row.row);
      else selected.delete(row.row);
      app.keepSelection();
      draw();
    });
    const made = html("tr", { class: row.truth === row.taken ? "" : "is-wrong" },
      state.own ? html("td", {}, box) : null,
      html("th", { scope: "row" }, html("a", { href: `#rows/${row.row}`, "data-key": `row-${row.row}`, "aria-label": `Row ${row.number}` }, String(row.number))),
      html("td", {}, label(state, row.truth)),
      html("td", { class: "taken" }, label(state, row.taken)),
      html("td", { class: "figure" }, percent(row.p, 1)),
      html("td", { class: "figure" }, row.unusual < 0.01 ? html("strong", { title: "Less likely than 99 % of the rows" }, percent(row.unusual, 1)) : percent(row.unusual, 0)),
      ...row.cells.map((c) => html("td", { class: "cell-text" }, c === null ? html("span", { class: "muted" }, "–") : name(c))));
    made.addEventListener("click", (event) => {
      if (!event.target.closest("a, input")) app.go(`rows/${row.row}`);
    });
    return made;
  }

  function draw() {
    const { state } = app;
    if (found.note === "no rows") {
      replace(root, html("h1", {}, "Rows"), html("p", { class: "lead" }, "The model was opened without rows. Change a row drawn from the model:"), html("p", {}, html("a", { class: "button", href: "#rows/new" }, "Open a row")));
      return;
    }
    if (found.note === "scores") {
      replace(root, html("h1", {}, "Rows"), html("p", { class: "lead waiting" }, state.job ? "The rows are being scored." : "The rows were not scored."));
      return;
    }
    const pages = html("p", { class: "pages" },
      button("←", () => change({ page: found.page - 1 }), { class: "button small", disabled: found.page <= 0, "aria-label": "Previous page", "data-key": "back" }),
      html("span", {}, `page ${found.pages ? found.page + 1 : 0} of ${found.pages}`),
      button("→", () => change({ page: found.page + 1 }), { class: "button small", disabled: found.page >= found.pages - 1, "aria-label": "Next page", "data-key": "next" }));
    replace(root, html("h1", {}, "Rows"),
      html("p", { class: "lead" }, "Every row is predicted by models that have not seen it. Open one to see why."),
      sampled(state, " Filters apply to all rows."),
      filters(), picks(),
      html("div", { class: "scroll", "data-scroll": "rows", tabindex: "0", role: "region", "aria-label": "List of rows" },
        html("table", { class: "rows" },
          html("thead", {}, html("tr", {}, state.own ? html("td", {}) : null, ...["row", "class", "predicted", "probability", "rarer rows"].map((t) => html("th", { scope: "col" }, t)), ...found.columns.map((c) => html("th", { scope: "col" }, name(c))))),
          html("tbody", {}, ...found.rows.map(line)))),
      pages,
      note("“Probability” is that of the predicted class. “Rarer rows” is the share of rows that are even less likely under the model."));
  }
  return {
    moved(next) {
      how = { sort: "error", ...next };
    },
    refresh: load,
  };
}

function one(app, root, at, given) {
  const row = at === "new" ? -1 : Number(at);
  let start = null;
  let now = null;
  let changes = { ...given };
  let focus = null;
  const said = html("div", { class: "said" });
  const because = html("div", { class: "because" });
  const curve = html("div", { class: "what-if-curve" });
  let wrong = "";

  const ask = resting(async () => {
    try {
      now = await post("what-if", { row, given: changes, focus });
      wrong = "";
    } catch (error) {
      wrong = error.message;
    }
    drawJudgement();
  }, 60);

  const set = (column, value) => {
    const own = start.inputs.find((i) => i.column === column);
    if (value === own.value) delete changes[column];
    else changes[column] = value;
    focus = column;
    replaceGiven(changes);
    for (const item of root.querySelectorAll("[data-input]")) item.classList.toggle("is-changed", item.dataset.input in changes);
    back.hidden = Object.keys(changes).length === 0;
    ask();
  };
  const back = button("Undo the changes of this row", () => {
    changes = {};
    replaceGiven({});
    drawAll();
    ask();
  }, { class: "button quiet", "data-key": "reset" });

  function field(input) {
    const { column } = input;
    const value = changes[column] ?? input.value;
    const id = `input-${column}`;
    const parts = [html("label", { for: id }, name(input.name))];
    let main;
    if (input.kind === "text") {
      main = html("textarea", { id, rows: 3, "data-key": id });
      main.value = value;
    } else {
      main = html("input", { id, type: "text", "data-key": id, placeholder: "missing", autocomplete: "off", list: input.choices ? `choices-${column}` : false, inputmode: input.low !== undefined ? "decimal" : false });
      main.value = value;
      if (input.choices) parts.push(html("datalist", { id: `choices-${column}` }, ...input.choices.map((c) => html("option", { value: c }))));
    }
    let bar = null;
    if (input.low !== undefined && input.high > input.low) {
      const at = Number(value);
      bar = slider(`${input.name}, from ${number(input.low, 1)} to ${number(input.high, 1)}`, { low: input.low, high: input.high, step: input.step, value: Number.isFinite(at) && value !== "" ? at : input.low }, (v) => {
        main.value = String(v);
        set(column, String(v));
      }, { "data-key": `slide-${column}` });
    }
    main.addEventListener("input", () => {
      set(column, main.value);
      if (bar && Number.isFinite(Number(main.value))) bar.value = main.value;
    });
    main.addEventListener("focus", () => {
      focus = column;
      ask();
    });
    return html("div", { class: `field${column in changes ? " is-changed" : ""}`, "data-input": column }, ...parts, main, bar);
  }

  function drawJudgement() {
    const { state } = app;
    const changed = Object.keys(changes).length > 0;
    const lines = now.evidence.filter((e) => Math.abs(e.term) >= 0.005);
    const words = now.evidence.flatMap((e) => e.words.map(([word, odds]) => ({ name: word, term: odds })));
    replace(said,
      wrong ? html("p", { class: "wrong", role: "alert" }, wrong) : null,
      html("h2", {}, changed ? "What if" : "Prediction"),
      probabilities(state, now.p, changed ? start.p : start.outOfFold),
      changed || start.outOfFold ? note(changed ? "The marks are for the unchanged row." : "The marks are the predictions of models that have not seen the row.") : null);
    replace(because,
      html("h2", {}, "Evidence"),
      html("p", {}, label(state, now.first), " rather than ", label(state, now.second), `: log-odds ${signedOdds(now.logOdds)}, of which the class shares add ${signedOdds(now.baseline)}.`),
      evidence(state, now, lines),
      words.length ? html("details", { open: true }, html("summary", {}, "Words"), evidence(state, now, words)) : null);
    const found = now.curve;
    const input = start.inputs.find((i) => i.column === focus);
    if (!found || !input) {
      replace(curve);
      return;
    }
    const field = root.querySelector(`[data-input="${focus}"]`);
    if (curve.parentNode !== field) field?.append(curve);
    const value = Number(changes[focus] ?? input.value);
    replace(curve, html("h3", {}, "If only ", name(input.name), " changes"),
      chart({ width: 420, height: 210, x: [found.x[0], found.x.at(-1)], y: [0, 1], xLabel: "", yLabel: "probability", label: `Probability by ${input.name}`,
        lines: [...found.curves.map((c) => ({ points: found.x.map((x, i) => [x, c.p[i]]), kind: colourOf(state, c.class), dash: found.curves.length > 1 ? dash(state, c.class) : undefined })),
          ...(Number.isFinite(value) ? [{ points: [[value, 0], [value, 1]], kind: "zero" }] : [])],
        said: found.curves.map((c) => nameOf(state, c.class)).join(", ") }),
      html("p", { class: "note" }, ...found.curves.flatMap((c) => [label(state, c.class), " "])));
  }

  function drawAll() {
    const { state } = app;
    now ??= start;
    back.hidden = Object.keys(changes).length === 0;
    const act = (body) => app.ask("act", { rows: [row], ...body });
    const title = row < 0 ? "A row drawn from the model" : `Row ${start.number}`;
    replace(root, html("p", { class: "crumbs" }, html("a", { href: "#rows" }, "Rows")), html("h1", {}, title),
      row < 0 ? null : html("p", { class: "lead" },
        start.active ? html("span", {}, "It is ", label(state, start.truth), ". ") : "It is forgotten: the model no longer contains it. ",
        start.unusual ? (start.unusual.is ? html("strong", {}, "It is unusual: less likely than 99 % of the rows.") : `${percent(start.unusual.share)} of the rows are less likely.`) : ""),
      state.own && start.active ? html("p", { class: "buttons" }, button("Forget this row", () => act({ kind: "forget" }), { "data-key": "forget" }),
        select("Relabel as", [["", "Relabel as …"], ...state.classes.map((c, k) => [k, c.name]).filter(([k]) => k !== start.truth)], "", (v) => v !== "" && act({ kind: "relabel", label: Number(v) }), { "data-key": "relabel" })) : null,
      html("div", { class: "what-if" }, said,
        card("Change a value", html("div", { class: "fields" }, ...start.inputs.map(field)), back), because),
      start.neighbours.length ? card("The nearest rows of another class",
        html("ul", { class: "plain-list" }, ...start.neighbours.map((n) =>
          html("li", {}, html("span", {}, html("a", { href: `#rows/${n.row}` }, `Row ${n.number}`), " ", label(state, n.truth)),
            html("span", { class: "muted" }, n.differs.length ? "differs in " : "has the same values", ...n.differs.flatMap((d, i) => [i ? ", " : "", name(d.name), ": ", name(d.here ?? "missing"), " → ", name(d.there ?? "missing")]))))), sampled(state))
        : null);
    drawJudgement();
  }

  return {
    async refresh() {
      if (!("target" in app.state)) return;
      start = row < 0 ? await get("blank") : await get("row", { row });
      now = start;
      if (Object.keys(changes).length) now = await post("what-if", { row, given: changes, focus }).catch(() => start);
      drawAll();
    },
  };
}
