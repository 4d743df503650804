/** Text that a spreadsheet would run as a formula (OWASP, "CSV Injection"). */
const formula = /^[=+\-@\t\r]/;

/** Formats one record of CSV (RFC 4180). Text that begins like a formula gets an apostrophe before it. */
export function formatCsv(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const text = formula.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${written.join(",")}\r\n`;
}
