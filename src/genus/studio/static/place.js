// Where the page is: #rows/12?sort=doubt (or #/rows/…) names the screen, the item on it, and its options.

export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [screen, ...rest] = path.split("/");
  return { screen, rest: rest.join("/"), given: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function replaceGiven(given) {
  const { screen, rest } = place();
  const query = new URLSearchParams(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ).toString();
  history.replaceState(null, "", `#${screen}${rest ? `/${rest}` : ""}${query ? `?${query}` : ""}`);
}
