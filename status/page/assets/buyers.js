import { commandBlock } from "./copy.js";
import { element, find } from "./elements.js";

/** The lines that are shown, by which a redraw would take a reader's selection away. */
let shown;

/** Shows what stock clients have to be told before they pay this seller. */
export function showBuyers(buyers) {
  find("#buyers-section").hidden = buyers === undefined;
  const lines = JSON.stringify(buyers);
  if (lines === shown) return;
  shown = lines;
  const { typescript, python } = buyers ?? {};
  const blocks = Object.entries({ TypeScript: typescript, Python: python }).flatMap(([language, line]) =>
    line === undefined ? [] : [element("p", {}, language), commandBlock(line)],
  );
  find("#buyers").replaceChildren(...blocks);
}
