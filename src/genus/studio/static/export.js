// Export: the model, the report, the corrected table, and the script that repeats what was done.

import { html } from "./dom.js";
import { get } from "./server.js";
import { button, card, note, replace } from "./widgets.js";

export function screen(app, root) {
  const file = (href, text) => html("a", { class: "button", href, download: "" }, text);
  return {
    async refresh() {
      const found = await get("export");
      const code = html("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "Script" }, found.script);
      const copy = button("Copy", async () => {
        await navigator.clipboard.writeText(found.script);
        copy.textContent = "Copied";
      }, { class: "button small", "data-key": "copy" });
      replace(root, html("h1", {}, "Export"),
        html("p", { class: "lead" }, "Save your results. The file that you opened is not changed."),
        html("div", { class: "offers" },
          card("Model", html("p", {}, "For genus predict, genus explain and genus.load."), file("/export/model", "Save the model")),
          found.report ? card("Report", html("p", {}, "One HTML file with all figures, to send to others."),
            found.reportReady ? file("/export/report", "Save the report") : button("Write the report", () => app.ask("report"), { "data-key": "report" })) : null,
          found.table ? card("Table", html("p", {}, "The remaining rows with their current labels, as CSV."), file("/export/rows", "Save the table")) : null),
        found.script ? card("Script", html("p", {}, "A Python script that repeats your changes."), code, html("p", { class: "buttons" }, copy, file("/export/script", "Save the script"))) : null,
        note("The model holds counts and a sample of encoded rows; see the page on files for what that means for privacy."));
    },
  };
}
