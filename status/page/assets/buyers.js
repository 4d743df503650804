import { commandBlock } from "./copy.js";
import { element, find } from "./elements.js";

/** The lines that are currently shown; redrawing them would clear the reader's selection. */
let shown;

/** Shows the configuration with which stock clients can pay this seller. */
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
