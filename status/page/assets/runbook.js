import { commandBlock } from "./copy.js";

/** A block's commands or queries, each to be copied alone; one that goes on over lines stays whole. */
function commandsOf(text) {
  const lines = text.trimEnd().split("\n");
  return lines.some((line) => line === "" || /^\s|\\$/.test(line)) ? [lines.join("\n")] : lines;
}

for (const block of document.querySelectorAll("main pre")) {
  block.replaceWith(...commandsOf(block.textContent).map(commandBlock));
}
