/** Formats a Markdown table as lines, with columns padded as by the formatter. Doesn't escape cells: see {@link escapeCell}. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = header.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const formatRow = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [formatRow(header), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(formatRow)];
}

/** Escapes text for a table cell or a page: a bar would end the cell, and an angle bracket would start an element. */
export function escapeCell(text: string): string {
  return text.replaceAll(/[|<]/g, "\\$&");
}

/** Wraps a paragraph or a list item, indenting the item's continuation lines. */
export function wrapLines(text: string): readonly string[] {
  const indent = text.startsWith("- ") ? "  " : "";
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (`${last} ${word}`.length <= 140) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines;
}

/**
 * Replaces a page's text between the comments `<!-- <mark>: … -->` and `<!-- /<mark> -->`.
 *
 * @param page the page's name in the error.
 * @throws {Error} when the comments are missing.
 */
export function replaceMarkedSection(
  text: string,
  { page, mark, marked }: Readonly<{ page: string; mark: string; marked: string }>,
): string {
  const sectionPattern = new RegExp(`(?<=<!-- ${mark}:[^\\n]*-->\\n\\n)[\\s\\S]*?(?=\\n\\n<!-- /${mark} -->)`);
  if (!sectionPattern.test(text)) throw new Error(`${page} has no comments <!-- ${mark}: … --> and <!-- /${mark} -->`);
  return text.replace(sectionPattern, () => marked);
}
