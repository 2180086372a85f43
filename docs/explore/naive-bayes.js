// Naive Bayes: type messages, label them; vocabulary, bits and counts fill in. Coins, or a die.

import { formula, html, m, note, number, percent, signed, svg } from "./dom.js";
import { countWords, sigmoid, sum, tokens, wordEvidence } from "./math.js";
import { button, choice, controls, define } from "./panel.js";
import { choiceField, listField, textField } from "./state.js";

const LABELS = ["ham", "spam"];
const start = [
  { text: "buy cheap price", label: 1 },
  { text: "buy cheap pills", label: 1 },
  { text: "cs229 project", label: 0 },
  { text: "lunch after cs229", label: 0 },
];
const clean = (text) => String(text ?? "").replaceAll("*", " ").slice(0, 120);

define({
  name: "naive-bayes",
  title: "Type mail, label it, and judge a message",
  fields: {
    messages: listField(start, {
      most: 12,
      settleItem: (item) => ({ text: clean(item?.text), label: item?.label ? 1 : 0 }),
      writeItem: ({ text, label }) => `${label}${text}`,
      readItem: (text) => ({ label: text.startsWith("1") ? 1 : 0, text: text.slice(1) }),
    }),
    query: textField("buy at a good price", 120),
    model: choiceField("coin", ["coin", "die"]),
  },
  presets: [
    { label: "“buy at a good price”", state: { query: "buy at a good price" } },
    { label: "“buy buy buy lunch”", state: { query: "buy buy buy lunch" } },
    { label: "“hello”", state: { query: "hello" } },
  ],
  question: {
    text: "A message says “buy buy buy”. Does it matter that the word comes three times?",
    choices: ["To the coins", "To the die", "To both"],
    right: 1,
    why: "A coin is tossed once for each word of the vocabulary: in or out. The die is thrown for each place of the message, so the factor of “buy” comes three times.",
    show: { query: "buy buy buy", model: "die" },
  },
  build(panel) {
    const query = html("input", { type: "text", class: "ex-text", "aria-label": "The message to judge", maxlength: 120, oninput: () => panel.set({ query: query.value }) });
    const bars = html("div", { class: "ex-evidence" });
    panel.picture.append(html("label", { class: "ex-judge" }, html("span", {}, "Judge this message:"), query), bars);
    const list = html("div", { class: "ex-messages" });
    const table = html("div", { class: "ex-scroll", tabindex: "0", role: "region", "aria-label": "Vocabulary and counts" });
    const change = (i, part) =>
      panel.set({ messages: panel.state.messages.map((item, j) => (i === j ? { ...item, ...part } : item)) });
    panel.below.append(
      controls(choice(panel, "model", "Each word is", { coin: "a coin (Bernoulli)", die: "a face of a die (multinomial)" })),
      html("p", { class: "ex-heading" }, "Mail to learn from"),
      list,
      controls(
        button("Add spam", () => panel.set({ messages: [...panel.state.messages, { text: "", label: 1 }] })),
        button("Add ham", () => panel.set({ messages: [...panel.state.messages, { text: "", label: 0 }] })),
      ),
      html("p", { class: "ex-heading" }, "The vocabulary: counts of each class, and the bits of the message"),
      table,
    );
    let rows = [];
    const arrange = (messages) => {
      while (rows.length > messages.length) rows.pop().element.remove();
      while (rows.length < messages.length) {
        const i = rows.length;
        const text = html("input", { type: "text", class: "ex-text", maxlength: 120, "aria-label": `Message ${i + 1}`, oninput: () => change(i, { text: text.value }) });
        const label = button("", () => change(i, { label: 1 - panel.state.messages[i].label }));
        const remove = button("×", () => panel.set({ messages: panel.state.messages.filter((_, j) => j !== i) }), { "aria-label": `Delete message ${i + 1}`, class: "ex-button ex-quiet" });
        const element = html("div", { class: "ex-message" }, label, text, remove);
        list.append(element);
        rows.push({ element, text, label });
      }
      messages.forEach((item, i) => {
        if (rows[i].text.value !== item.text) rows[i].text.value = item.text;
        rows[i].label.textContent = LABELS[item.label];
        rows[i].label.setAttribute("aria-label", `Message ${i + 1} is ${LABELS[item.label]}: change`);
        rows[i].label.className = `ex-button ex-flag ex-c${item.label}`;
      });
    };
    return (state) => {
      const { messages, model } = state;
      arrange(messages);
      if (query.value !== state.query) query.value = state.query;
      const used = messages.filter((item) => tokens(item.text).length);
      const counted = countWords(used);
      const code = [
        "from genus import TextClassifier",
        `texts = [${used.map((item) => JSON.stringify(item.text)).join(", ")}]`,
        `labels = [${used.map((item) => JSON.stringify(LABELS[item.label])).join(", ")}]`,
        `TextClassifier("${model === "coin" ? "bernoulli" : "multinomial"}").fit(texts, labels).predict_proba([${JSON.stringify(state.query)}])`,
      ].join("\n");
      if (counted.messages.some((n) => n === 0)) {
        bars.replaceChildren();
        table.replaceChildren();
        const words = "Both classes need a message with a word in it.";
        return { formula: [note(words)], python: code, answer: null, words };
      }
      const found = wordEvidence(counted, model, state.query);
      const p = sigmoid(found.logOdds);
      const order = counted.vocabulary.map((word, j) => ({ word, j, term: found.terms[j], there: found.times[j] > 0 }));
      const there = order.filter((w) => w.there).sort((a, b) => Math.abs(b.term) - Math.abs(a.term));
      const absent = order.filter((w) => !w.there);
      const lines = there.map((w) => [found.times[w.j] > 1 && model === "die" ? `${w.word} × ${found.times[w.j]}` : w.word, w.term]);
      if (model === "coin" && absent.length) {
        const largest = [...absent].sort((a, b) => Math.abs(b.term) - Math.abs(a.term));
        const few = largest.slice(0, 4);
        few.forEach((w) => lines.push([`no ${w.word}`, w.term]));
        if (largest.length > 4) lines.push([`${largest.length - 4} more absent`, sum(largest.slice(4).map((w) => w.term))]);
      }
      lines.push(["shares of classes", found.prior]);
      const most = Math.max(0.5, ...lines.map(([, t]) => Math.abs(t)));
      const height = 22 * lines.length + 44;
      bars.replaceChildren(
        svg(
          "svg",
          { viewBox: `0 0 400 ${height}`, role: "img", "aria-label": `What each word adds to the log-odds of spam: ${lines.map(([w, t]) => `${w} ${signed(t)}`).join(", ")}` },
          svg("text", { x: 252, y: 14, "text-anchor": "end", class: "ex-label" }, "← ham"),
          svg("text", { x: 268, y: 14, class: "ex-label" }, "spam →"),
          svg("line", { x1: 260, x2: 260, y1: 20, y2: height - 22, class: "ex-rule" }),
          ...lines.map(([word, term], i) => {
            const length = (Math.abs(term) / most) * 92;
            const y = 24 + 22 * i;
            return svg("g", {},
              svg("text", { x: 122, y: y + 12, "text-anchor": "end" }, word.length > 18 ? `${word.slice(0, 17)}…` : word),
              svg("rect", { x: term < 0 ? 260 - length : 260, y, width: length, height: 15, class: `ex-fill ex-c${term < 0 ? 0 : 1}` }),
              svg("text", { x: term < 0 ? 255 - length : 265 + length, y: y + 12, "text-anchor": term < 0 ? "end" : "start", class: "ex-tick" }, signed(term)),
            );
          }),
          svg("text", { x: 122, y: height - 6, "text-anchor": "end", class: "ex-strong" }, "log-odds"),
          svg("text", { x: 260, y: height - 6, "text-anchor": "middle", class: "ex-strong" }, `${signed(found.logOdds)}: spam ${percent(p)}`),
        ),
      );
      const cell = (text, kind) => html("td", kind ? { class: kind } : {}, text);
      const counts = model === "coin" ? counted.documents : counted.occurrences;
      table.replaceChildren(
        html(
          "table",
          { class: "ex-table" },
          html("thead", {}, html("tr", {}, ...["word", model === "coin" ? "ham with it" : "times in ham", model === "coin" ? "spam with it" : "times in spam", "φ ham", "φ spam", model === "coin" ? "bit xⱼ" : "places", "adds"].map((t) => html("th", { scope: "col" }, t)))),
          html("tbody", {}, ...order.map(({ word, j, term }) =>
            html("tr", found.times[j] ? { class: "ex-there" } : {},
              html("th", { scope: "row" }, word),
              cell(String(counts[0][j])), cell(String(counts[1][j])),
              cell(number(found.shares[0][j], 3)), cell(number(found.shares[1][j], 3)),
              cell(model === "coin" ? (found.times[j] ? "1" : "0") : String(found.times[j])),
              cell(signed(term)),
            ),
          )),
        ),
      );
      const first = there[0] ?? absent[0];
      const j = first.j;
      const all = (k) => (model === "coin" ? counted.messages[k] : sum(counted.occurrences[k]));
      const extra = model === "coin" ? 2 : counted.vocabulary.length;
      const share = (k) => m.frac(m(m.num(String(counts[k][j]), 0, `ex-c${k}`), "+ 1"), m(m.num(String(all(k)), 0, `ex-c${k}`), `+ ${extra}`));
      return {
        formula: [
          model === "coin"
            ? formula("p ( x | y ) =", "∏", m.subsup("φ", m("j | y"), m.sub("x", "j")), m.sup(m("( 1 −", m.sub("φ", m("j | y")), ")"), m("1 −", m.sub("x", "j"))))
            : formula("p ( x | y ) =", "∏", m.sub("φ", m(m.sub("x", "j"), "| y"))),
          note(`“${first.word}”, in spam and in ham:`),
          formula(m.sub("φ", m.word("spam")), "=", share(1), "=", m.num(found.shares[1][j], 3, "ex-c1")),
          formula(m.sub("φ", m.word("ham")), "=", share(0), "=", m.num(found.shares[0][j], 3, "ex-c0")),
          first.there || model === "die"
            ? formula("log", m.text(" "), m.frac(m.num(found.shares[1][j], 3, "ex-c1"), m.num(found.shares[0][j], 3, "ex-c0")), "=", m.num(signed(Math.log(found.shares[1][j] / found.shares[0][j]), 3)))
            : formula("log", m.text(" "), m.frac(m("1 −", m.num(found.shares[1][j], 3, "ex-c1")), m("1 −", m.num(found.shares[0][j], 3, "ex-c0"))), "=", m.num(signed(first.term, 3))),
          formula("p (", m.word("spam"), "| x ) =", m.frac("1", m("1 +", m.sup("e", m.num(signed(-found.logOdds))))), "=", m.num(p, 3)),
          note(model === "coin" ? "Absent words count, by 1 − φ." : "Absent words say nothing. A word counts each time it comes."),
          ...(found.unknown.length ? [note(`Not in the vocabulary, so left out: ${[...new Set(found.unknown)].join(", ")}.`)] : []),
        ],
        python: code,
        answer: [1 - p, p],
        words: `By the ${model}, the message is spam with ${percent(p)}: log-odds ${signed(found.logOdds)}. ${lines.slice(0, 5).map(([w, t]) => `${w} ${signed(t)}`).join(", ")}.`,
      };
    };
  },
});
