import { commandBlock } from "./copy.js";

/** Returns a block's commands or queries, each with its own copy button; a multi-line command or query stays in one piece. */
function commandsOf(text) {
  const lines = text.trimEnd().split("\n");
  return lines.some((line) => line === "" || /^\s|\\$/.test(line)) ? [lines.join("\n")] : lines;
}

for (const block of document.querySelectorAll("main pre")) {
  block.replaceWith(...commandsOf(block.textContent).map(commandBlock));
}
