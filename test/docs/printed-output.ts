/** Masks what differs between runs: numbers, hashes and, because their lengths differ, a table's spaces and rules. */
function maskLine(line: string): string {
  return line
    .replaceAll(/0x[0-9a-fA-F]+/g, "0x#")
    .replaceAll(/\d+(?:[.,:]\d+)*/g, "#")
    .replaceAll(/─+/g, "─")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function splitLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map(maskLine)
    .filter((line) => line !== "");
}

function buildPattern(line: string): RegExp {
  const parts = line.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`);
}

/**
 * Compares a command's output with the page, with numbers masked and without blank lines. A line with only `…` matches
 * any lines.
 *
 * @returns the page's first line that was not printed at its position, or what was printed beyond the page; undefined
 * if both are equal.
 */
export function findFirstDifference(written: string, printed: string): string | undefined {
  const there = splitLines(printed);
  let at = 0;
  let anything = false;
  for (const line of splitLines(written)) {
    if (line === "…") {
      anything = true;
      continue;
    }
    const pattern = buildPattern(line);
    const found = anything ? there.findIndex((text, index) => index >= at && pattern.test(text)) : at;
    if (!pattern.test(there[found] ?? "")) return `not printed: ${line}`;
    at = found + 1;
    anything = false;
  }
  return anything || at === there.length ? undefined : `also printed: ${there[at]}`;
}
