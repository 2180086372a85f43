// Below each result of the search: the first place where a word of the question occurs.
"use strict";

(() => {
  const question = new URLSearchParams(location.search).get("q") || "";
  const words = question.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
  const results = document.querySelector("#search-results");
  if (!results || !words.length) return;

  function snippet(text) {
    const lower = text.toLowerCase();
    const at = words.map((word) => lower.indexOf(word)).find((place) => place >= 0);
    if (at === undefined) return null;
    const start = at < 80 ? 0 : text.indexOf(" ", at - 80) + 1;
    const piece = text.slice(start, start + 220).replace(/\s\S*$/, "");
    const line = document.createElement("p");
    line.className = "snippet";
    const pattern = new RegExp(`(${words.join("|")})`, "giu");
    for (const [i, part] of `${start ? "… " : ""}${piece} …`.split(pattern).entries()) {
      const element = i % 2 ? document.createElement("mark") : document.createTextNode(part);
      if (i % 2) element.textContent = part;
      line.append(element);
    }
    return line;
  }

  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  function extend() {
    for (const item of results.querySelectorAll("ul.search > li:not([data-seen])")) {
      item.dataset.seen = "";
      const href = new URL(item.querySelector("a").href);
      const page = decodeURIComponent(href.pathname.slice(root.pathname.length)).replace(/\.html$/, "");
      const line = page in genusTexts ? snippet(genusTexts[page]) : null;
      if (line && !item.querySelector("p")) item.append(line);
    }
  }
  new MutationObserver(extend).observe(results, { childList: true, subtree: true });
  extend();
})();
