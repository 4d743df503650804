/** Formats a table in Markdown as lines, its columns padded as the formatter pads them. Cells stand as they are: see {@link escapeCell}. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = header.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const formatRow = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [formatRow(header), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(formatRow)];
}

/** Escapes text for a cell of a table, or a page: a bar would end the cell, and an angle bracket begin an element. */
export function escapeCell(text: string): string {
  return text.replaceAll(/[|<]/g, "\\$&");
}

/** Wraps a paragraph, or an item of a list, whose later lines are indented. */
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
 * Puts a text in place of the one that a page has between the comments `<!-- <mark>: … -->` and `<!-- /<mark> -->`.
 *
 * @param page what the error calls the page.
 * @throws {Error} when it has no such comments.
 */
export function withMarked(
  text: string,
  { page, mark, marked }: Readonly<{ page: string; mark: string; marked: string }>,
): string {
  const between = new RegExp(`(?<=<!-- ${mark}:[^\\n]*-->\\n\\n)[\\s\\S]*?(?=\\n\\n<!-- /${mark} -->)`);
  if (!between.test(text)) throw new Error(`${page} has no comments <!-- ${mark}: … --> and <!-- /${mark} -->`);
  return text.replace(between, () => marked);
}
