// The state of a panel: fields with their bounds, which can be written to the page's address and
// read from it. What cannot be read becomes the default; nothing here throws.

const decimals = (step) => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));

// A number in steps: what the formula shows, what Python is given and what is drawn is one number.
export function numberField(start, low, high, step = 0.01) {
  const settle = (value) => {
    const near = Math.round(value / step) * step;
    return Number(Math.min(Math.max(near, low), high).toFixed(decimals(step))) + 0;
  };
  return {
    start,
    low,
    high,
    step,
    settle: (value) => (Number.isFinite(value) ? settle(value) : start),
    write: String,
    read: (text) => (text.trim() === "" ? start : Number(text)),
  };
}

export const choiceField = (start, options) => ({
  start,
  options,
  settle: (value) => (options.includes(value) ? value : start),
  write: String,
  read: (text) => text,
});

export const switchField = (start) => ({
  start,
  settle: Boolean,
  write: (value) => (value ? "1" : "0"),
  read: (text) => text === "1",
});

export const textField = (start, most = 200) => ({
  start,
  settle: (value) => String(value).slice(0, most),
  write: String,
  read: (text) => text,
});

// Rows of numbers: [[0.5, 1, 0], …] is written 0.5_1_0*…
export function rowsField(start, settleRow, most = 200) {
  const settle = (rows) =>
    (Array.isArray(rows) ? rows : start).slice(0, most).map(settleRow).filter(Boolean);
  return {
    start,
    settle,
    write: (rows) => rows.map((row) => row.join("_")).join("*"),
    read: (text) => (text === "" ? [] : text.split("*").map((row) => row.split("_").map(Number))),
  };
}

// Bits, four to a digit.
export function bitsField(count) {
  const start = new Array(count).fill(0);
  return {
    start,
    settle: (bits) =>
      Array.isArray(bits) && bits.length === count ? bits.map((b) => (b ? 1 : 0)) : start,
    write: (bits) => {
      let text = "";
      for (let i = 0; i < count; i += 4)
        text += (8 * bits[i] + 4 * bits[i + 1] + 2 * bits[i + 2] + bits[i + 3]).toString(16);
      return text.replace(/0{3,}/g, (zeros) => `.${zeros.length}.`);
    },
    read: (text) =>
      [...text.replace(/\.(\d{1,3})\./g, (_, n) => "0".repeat(Math.min(Number(n), count / 4)))]
        .flatMap((digit) => {
          const value = parseInt(digit, 16);
          return [8, 4, 2, 1].map((bit) => (value & bit ? 1 : 0));
        }),
  };
}

export const listField = (start, { settleItem, writeItem, readItem, most = 40 }) => ({
  start,
  settle: (items) =>
    (Array.isArray(items) ? items : start).slice(0, most).map(settleItem).filter(Boolean),
  write: (items) => items.map(writeItem).join("*"),
  read: (text) => (text === "" ? [] : text.split("*").map(readItem)),
});

export const defaults = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.start]));

export function settled(fields, state, changes) {
  const next = { ...state };
  for (const [name, value] of Object.entries(changes))
    if (name in fields) next[name] = fields[name].settle(value);
  return next;
}

// ?normal.mx=1&normal.my=0: only what differs from the start of the panel.
export function readAddress(panel, fields, search) {
  const found = {};
  const given = new URLSearchParams(search);
  for (const [name, field] of Object.entries(fields)) {
    const text = given.get(`${panel}.${name}`);
    if (text === null) continue;
    try {
      found[name] = field.settle(field.read(text));
    } catch {
      // a link that was cut short: the default stays
    }
  }
  return found;
}

export function writeAddress(panel, fields, start, state, search) {
  const given = new URLSearchParams(search);
  for (const [name, field] of Object.entries(fields)) {
    const key = `${panel}.${name}`;
    const text = field.write(state[name]);
    if (text === field.write(start[name])) given.delete(key);
    else given.set(key, text);
  }
  const text = given.toString();
  return text ? `?${text}` : "";
}
