/** Masks what differs from run to run: numbers and hashes, and with their lengths the blanks and rules of a table. */
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

/** Builds the pattern of a page's line: `…` stands for any text. */
function buildPattern(line: string): RegExp {
  const parts = line.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`);
}

/**
 * Compares what a command printed with what its page says, numbers masked and blank lines left out. A line that is `…` alone stands
 * for any lines.
 *
 * @returns the page's first line that was not printed where the page has it, or what was printed beyond the page; undefined where
 * both say the same.
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
  return anything || at === there.length ? undefined : `printed, too: ${there[at]}`;
}
