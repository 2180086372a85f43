// Open a table: drop a file, then choose what to predict.

import { html } from "./dom.js";
import { get, send } from "./server.js";
import { button, name, note, replace } from "./widgets.js";

export function screen(app, root) {
  const upload = async (file) => {
    if (!file) return;
    try {
      app.refused = "";
      await send("upload", { name: file.name }, file);
    } catch (error) {
      app.refused = error.message;
    }
    app.state = null;
  };
  const choose = () => {
    const input = html("input", { type: "file", id: "file", class: "offscreen", accept: ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.parquet,.feather,.arrow,.orc,.xlsx,.gz,.bz2,.xz,.zst" });
    input.addEventListener("change", () => upload(input.files[0]));
    const area = html(
      "div",
      { class: "drop" },
      html("p", {}, "Drop a table here"),
      input,
      html("label", { for: "file", class: "button" }, "Choose a file"),
      note("CSV, TSV, Parquet, JSON lines, Arrow, ORC or Excel. It stays on this machine."),
    );
    area.addEventListener("dragover", (event) => {
      event.preventDefault();
      area.classList.add("over");
    });
    area.addEventListener("dragleave", () => area.classList.remove("over"));
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      area.classList.remove("over");
      upload(event.dataTransfer.files[0]);
    });
    return [html("h1", {}, "Explore a table"), area];
  };
  const targets = (found) => [
    html("h1", {}, "What do you want to predict?"),
    html("p", { class: "lead" }, "Choose the column with the classes. All other columns are used to predict it.",
      app.state.target ? [" The present target is ", name(app.state.target), ". If you return to it later, your changes come back."] : null),
    html(
      "ul",
      { class: "targets" },
      ...found.map((c) =>
        html(
          "li",
          {},
          button("", async () => (await app.ask("target", { column: c.column })) && app.go("table"), { class: `target${c.suits ? "" : " odd"}`, "data-key": `target-${c.column}` }),
        ),
      ),
    ),
  ];
  return {
    async refresh() {
      const found = app.state.targets ?? (app.state.own ? await get("targets") : null);
      replace(root, ...(found ? targets(found) : choose()));
      if (!found) return;
      for (const [i, press] of [...root.querySelectorAll(".target")].entries())
        press.append(
          html("strong", {}, name(found[i].name)),
          html("span", {}, `${found[i].distinct.toLocaleString("en")} values: `, ...found[i].some.flatMap((v, j) => [j ? ", " : "", name(v)]), found[i].distinct > 4 ? ", …" : ""),
          found[i].warning ? html("span", { class: "caution" }, found[i].warning) : "",
        );
    },
  };
}
