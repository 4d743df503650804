/** Formats a command's words for a POSIX shell. */
export function formatShellWords(words: readonly string[]): string {
  return words.map(quoteShellWord).join(" ");
}

/** Quotes text as one word for a POSIX shell, if necessary. */
export function quoteShellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
