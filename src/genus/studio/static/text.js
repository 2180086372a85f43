// Text: the words that are typical of each class, and a message to type.

import { html } from "./dom.js";
import { get, post, resting } from "./server.js";
import { card, evidence, label, name, note, probabilities, replace, select, signedOdds, wide, colourOf } from "./widgets.js";

export function screen(app, root) {
  let found = null;
  let column = 0;
  const verdict = html("div", { class: "verdict" });
  const message = html("textarea", { id: "message", rows: 4, "data-key": "message", maxlength: 20000 });
  message.value = sessionStorage.getItem("message") ?? "";

  const judge = resting(async () => {
    sessionStorage.setItem("message", message.value);
    if (!message.value.trim()) {
      replace(verdict);
      return;
    }
    try {
      const said = await post("message", { text: message.value, column });
      const rows = said.terms.map(([word, term]) => ({ name: word, term }));
      if (said.others[0]) rows.push({ name: `(${said.others[0]} more words)`, term: said.others[1] });
      if (Math.abs(said.rest) > 0.005) rows.push({ name: "(not due to any word)", term: said.rest });
      replace(verdict, probabilities(app.state, said.p),
        html("p", {}, label(app.state, said.first), " rather than ", label(app.state, said.second), `; ${signedOdds(said.baseline)} without any word.`),
        rows.length ? evidence(app.state, said, rows) : html("p", { class: "muted" }, "It contains no known word."),
        said.unknown.length ? note("Not known: ", ...said.unknown.flatMap((w, i) => [i ? ", " : "", name(w)])) : null);
    } catch (error) {
      replace(verdict, html("p", { class: "wrong", role: "alert" }, error.message));
    }
  }, 120);
  message.addEventListener("input", judge);

  const words = (c) =>
    html("div", { class: "words" }, ...c.classes.map((one) => {
      const most = Math.max(1e-9, ...one.words.map(([, odds]) => odds));
      return html("div", {}, html("h3", {}, label(app.state, one.class)),
        html("dl", { class: "bars" }, ...one.words.map(([word, odds]) => html("div", { class: "bar-row" }, html("dt", {}, name(word)),
          html("dd", {}, html("span", { class: "track" }, wide(html("span", { class: `fill ${colourOf(app.state, one.class)}` }), odds / most)), html("span", { class: "figure" }, signedOdds(odds)))))));
    }));

  return {
    async refresh() {
      found = await get("words");
      replace(root, html("h1", {}, "Text"),
        html("p", { class: "lead" }, "Type a message, and see which words decide."),
        html("div", { class: "field" }, html("label", { for: "message" }, "Message"), message,
          found.columns.length > 1 ? select("Column", found.columns.map((c, i) => [i, c.name]), column, (v) => { column = Number(v); judge(); }, { "data-key": "text-column" }) : null),
        verdict,
        ...found.columns.map((c) => card(c.name ? [" ", "Words of ", name(c.name)] : "Words", words(c))),
        note("The most typical words of each class, with their log-odds against the other classes. A word comes first if its log-odds are high and many texts of the class contain it."));
      judge();
    },
  };
}
