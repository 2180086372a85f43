// On a phone, names in tables and headings break where a person would: after a bracket, before a capital.
"use strict";

const WIDE = 16; // characters of a name that is broken before its capitals, too
const LONG = 24; // characters of a cell that is not to become a narrow column
const AFTER = /(?<=[_.,:=/([{])(?=[^_.,:=/\s)\]}])/;
const BEFORE = /(?<=[a-z_.])(?=[A-Z])/;

function allowBreaks(element, where) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = text.data.split(where).flatMap((part) => [document.createElement("wbr"), part]);
    text.replaceWith(...parts.slice(1));
  }
}

function allowAll() {
  for (const code of document.querySelectorAll("article td code")) {
    allowBreaks(code, AFTER);
    if (code.textContent.length > WIDE) allowBreaks(code, BEFORE);
  }
  const headings = document.querySelectorAll("article h1, .related-pages .title");
  for (const heading of headings) allowBreaks(heading, BEFORE);
  for (const cell of document.querySelectorAll("article td:not(.text-right)")) {
    cell.classList.toggle("long", cell.textContent.trim().length > LONG);
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", allowAll);
else allowAll();
