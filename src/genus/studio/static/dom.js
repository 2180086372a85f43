// Elements, numbers as people read them, and formulas as MathML. Text is always set as text.

const SPACES = {
  svg: "http://www.w3.org/2000/svg",
  math: "http://www.w3.org/1998/Math/MathML",
  html: "http://www.w3.org/1999/xhtml",
};

function make(space, tag, attributes, children) {
  const made = document.createElementNS(SPACES[space], tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export const html = (tag, attributes, ...children) => make("html", tag, attributes, children);
export const svg = (tag, attributes, ...children) => make("svg", tag, attributes, children);

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

// Numbers

const MINUS = "−";

export function number(value, digits = 2) {
  if (Number.isNaN(value)) return "0/0";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  let text = value.toFixed(digits);
  if (Number(text) === 0 && value !== 0 && Math.abs(value) < 10 ** -digits / 2) {
    const [mantissa, exponent] = value.toExponential(1).split("e");
    const high = [...exponent].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? (c === "-" ? "⁻" : "")).join("");
    text = `${mantissa}·10${high}`;
  }
  if (Number(text) === 0) text = text.replace("-", "");
  return text.replace("-", MINUS);
}

export const signed = (value, digits = 2) => (value >= 0 ? "+" : "") + number(value, digits);
export const percent = (value, digits = 0) =>
  value > 0 && value < 0.005 && !digits
    ? "<1\u00a0%"
    : value < 1 && value >= 0.995 && !digits
      ? ">99\u00a0%"
      : `${(100 * value).toFixed(digits)}\u00a0%`;

// Formulas: m("p ( x ) =", m.frac("1", "2")) makes a row; words apart are signs apart.

const OPERATORS = new Set([..."=+-−·×/(),|[]{}<>≤≥∈Σ∏∼→≈:;∧…", "∑", "log", "exp", "argmax"]);

function sign(word) {
  if (/^[\d−.⁻⁰¹²³⁴⁵⁶⁷⁸⁹·%+]*\d[\d−.⁻⁰¹²³⁴⁵⁶⁷⁸⁹·%+]*$/u.test(word)) return make("math", "mn", {}, [word]);
  if (word === "Σ") return make("math", "mi", { mathvariant: "normal" }, [word]);
  if (word === "log" || word === "exp") return make("math", "mi", {}, [word]);
  if (word === "|") return make("math", "mo", { stretchy: "false", lspace: "0.15em", rspace: "0.15em" }, [word]);
  if ("()".includes(word)) return make("math", "mo", { stretchy: "false" }, [word]);
  if (OPERATORS.has(word)) return make("math", "mo", {}, [word]);
  return make("math", "mi", {}, [word]);
}

const parts = (given) =>
  given.flat().flatMap((part) =>
    typeof part === "string" ? part.split(" ").filter(Boolean).map(sign) : [part],
  );
const one = (part) => m(part);
const many = (tag) => (...given) => make("math", tag, {}, given.map(one));

export function m(...given) {
  const found = parts(given);
  return found.length === 1 ? found[0] : make("math", "mrow", {}, found);
}
m.frac = many("mfrac");
m.sup = many("msup");
m.sub = many("msub");
m.subsup = many("msubsup");
m.sqrt = many("msqrt");
const unbroken = (text) => text.replaceAll(" ", "\u00a0");  // MathML drops spaces at the ends
m.text = (text) => make("math", "mtext", {}, [unbroken(text)]);
m.num = (value, digits = 2, kind = "now") =>
  make("math", "mn", { class: kind }, [typeof value === "string" ? value : number(value, digits)]);
m.word = (text, kind) => make("math", "mtext", { class: kind ?? "" }, [unbroken(text)]);
m.matrix = (rows) =>
  make("math", "mrow", {}, [
    make("math", "mo", {}, ["["]),
    make("math", "mtable", {}, rows.map((row) =>
      make("math", "mtr", {}, row.map((entry) => make("math", "mtd", {}, [m(entry)]))),
    )),
    make("math", "mo", {}, ["]"]),
  ]);

// A formula on its own line; the label is what a screen reader says where it does not read MathML.
export const formula = (...given) =>
  html("div", { class: "ex-formula" }, make("math", "math", { display: "block" }, [m(...given)]));

export const inline = (...given) => make("math", "math", {}, [m(...given)]);

export const note = (...children) => html("p", { class: "ex-note" }, ...children);

// Python

export const py = (value) => (Array.isArray(value) ? `[${value.map(py).join(", ")}]` : String(value));
