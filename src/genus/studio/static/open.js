// Open a table: drop a file, then choose what to predict.

import { html } from "./dom.js";
import { get, send } from "./server.js";
import { button, card, name, note, replace } from "./widgets.js";

const ACCEPTED = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.parquet,.feather,.arrow,.orc,.xlsx,.gz,.bz2,.xz,.zst";

export function screen(app, root, rest) {
  let wanted = null; // what is to be opened: a file, or "" for the table of the command
  let isSending = false;

  const titleOf = (what) => (what === "" ? app.state.named : what.name);
  // Open a table. If the present one has changes, which are closed with it, list them first.
  const open = async (what, isConfirmed = false) => {
    const { unsaved } = app.state;
    wanted = what;
    if (unsaved.length && !isConfirmed) {
      draw();
      root.querySelector("[data-key=confirm]")?.focus();
      return;
    }
    isSending = true;
    draw();
    try {
      app.refused = "";
      if (what === "") await app.ask("reopen", { lost: unsaved.length });
      else await send("upload", { name: what.name, lost: unsaved.length }, what);
      wanted = null;
      if (!app.refused) app.go("table");
    } catch (error) {
      if (error.status !== 409) wanted = null;
      app.refused = error.message;
    }
    isSending = false;
    await app.poll();
    draw();
  };

  const confirmation = () => {
    const { unsaved, comesBack } = app.state;
    return card([" ", "Open ", name(titleOf(wanted)), "?"],
      html("p", {}, "This closes ", name(app.state.name), ", with your changes:"),
      html("ol", { class: "edits" }, ...unsaved.slice(0, 10).map((one) => html("li", {}, one)), unsaved.length > 10 ? html("li", {}, `and ${unsaved.length - 10} more`) : null),
      html("p", {}, comesBack ? ["They come back when you open ", name(app.state.name), " again. You can export the model first."] : "They cannot be restored. Export the model first if you need it."),
      html("p", { class: "buttons" },
        button("Open it", () => open(wanted, true), { "data-key": "confirm" }),
        html("a", { class: "button quiet", href: "#export" }, "Export first"),
        button("Cancel", () => { wanted = null; draw(); }, { class: "button quiet", "data-key": "cancel" })));
  };

  const choose = () => {
    const { state } = app;
    const input = html("input", { type: "file", id: "file", class: "offscreen", accept: ACCEPTED });
    input.addEventListener("change", () => input.files[0] && open(input.files[0]));
    const area = html(
      "div",
      { class: "drop" },
      html("p", {}, "Drop a table here"),
      input,
      html("label", { for: "file", class: "button" }, "Choose a file"),
      note("CSV, TSV, Parquet, JSON lines, Arrow, ORC or Excel. It stays on this machine."),
    );
    area.addEventListener("dragover", () => area.classList.add("over"));
    area.addEventListener("dragleave", () => area.classList.remove("over"));
    return [
      html("h1", {}, state.targets || state.screens[0] !== "open" ? "Open another table" : "Explore a table"),
      isSending ? html("p", { class: "lead", role: "status" }, "Sending ", name(titleOf(wanted)), " …") : wanted !== null ? confirmation() : area,
      state.named && wanted === null && !state.job ? html("p", {}, button(["Open ", name(state.named), " again"], () => open(""), { "data-key": "reopen" })) : null,
      state.dropped.length && wanted === null
        ? card("Changes to files that you dropped before", html("ul", { class: "plain-list" }, ...state.dropped.map(([file, changes]) => html("li", {}, html("span", {}, name(file), html("span", { class: "muted" }, ` ${changes} change${changes > 1 ? "s" : ""}`))))),
            note("The studio keeps no dropped files. Drop one again, and its changes come back."))
        : null,
    ];
  };
  const targets = (found) => [
    html("h1", {}, "What do you want to predict?"),
    html("p", { class: "lead" }, found.length ? "Choose the column with the classes. All other columns are used to predict it." : "No column of this table holds classes.",
      app.state.target ? [" The present target is ", name(app.state.target), ". If you return to it later, your changes come back."] : null),
    html(
      "ul",
      { class: "targets" },
      ...found.map((c) =>
        html(
          "li",
          {},
          button([
            html("strong", {}, name(c.name)),
            html("span", {}, `${c.distinct.toLocaleString("en")} values: `, ...c.some.flatMap((v, j) => [j ? ", " : "", name(v)]), c.distinct > 4 ? ", …" : ""),
            c.warning ? html("span", { class: "caution" }, c.warning) : null,
          ], async () => (await app.ask("target", { column: c.column })) && app.go("table"), { class: `target${c.suits ? "" : " odd"}`, "data-key": `target-${c.column}` }),
        ),
      ),
    ),
  ];

  let listed = null;
  function draw() {
    replace(root, ...(listed ? targets(listed) : choose()));
  }
  return {
    dropped(file) {
      listed = null;
      return open(file);
    },
    async refresh() {
      const { state } = app;
      listed = rest === "file" ? null : (state.targets ?? (state.own ? await get("targets") : null));
      if (!listed && app.dropped) {
        const file = app.dropped;
        app.dropped = null;
        await open(file);
      } else draw();
    },
  };
}
