// Requests to the server of this page, and nothing else. Errors are sentences.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answer(response) {
  const text = await response.text();
  let found = text;
  if (response.headers.get("content-type")?.includes("json")) found = JSON.parse(text);
  if (!response.ok) throw new Refused(response.status, found?.error ?? String(found));
  return found;
}

const query = (given) => {
  const made = new URLSearchParams(
    Object.entries(given ?? {}).filter(([, value]) => value !== undefined && value !== ""),
  ).toString();
  return made ? `?${made}` : "";
};

export const get = async (path, given) => answer(await fetch(`/api/${path}${query(given)}`));

export const post = async (path, body) =>
  answer(
    await fetch(`/api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-genus-studio": "1" },
      body: JSON.stringify(body ?? {}),
    }),
  );

export const send = async (path, given, bytes) =>
  answer(
    await fetch(`/api/${path}${query(given)}`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream", "x-genus-studio": "1" },
      body: bytes,
    }),
  );

// Do only the last of several calls in a short time: ask when typing or dragging pauses.
export function resting(work, pause = 80) {
  let timer = 0;
  let running = false;
  let again = null;
  const run = async (given) => {
    if (running) {
      again = given;
      return;
    }
    running = true;
    try {
      await work(...given);
    } finally {
      running = false;
      if (again) {
        const next = again;
        again = null;
        run(next);
      }
    }
  };
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(run, pause, given);
  };
}
