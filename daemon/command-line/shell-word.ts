/** Quotes a text as one word of a POSIX shell, if it has to be quoted. */
export function quoteShellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
