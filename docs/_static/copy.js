// A button on every block of code copies what can be pasted: without prompts, and without output.
"use strict";

function pasteable(block) {
  const lines = block.textContent.replace(/\n+$/, "").split("\n");
  const python = lines.some((line) => line.startsWith(">>> "));
  const shell = lines.some((line) => line.startsWith("$ "));
  if (python) {
    return lines
      .filter((line) => /^(>>>|\.\.\.)( |$)/.test(line))
      .map((line) => line.slice(4))
      .join("\n");
  }
  if (shell) {
    return lines
      .filter((line) => line.startsWith("$ "))
      .map((line) => line.slice(2))
      .join("\n");
  }
  return lines.join("\n");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No permission, or a page from a disk: select the text and copy that.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function addButtons() {
  for (const block of document.querySelectorAll("article div.highlight > pre")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      await copy(pasteable(block));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.parentElement.append(button);
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", addButtons);
else addButtons();
