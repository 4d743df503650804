/** Control characters, and those that turn the direction of writing: by them a server's text could move a terminal's cursor. */
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

/** Longest text of a server that is shown. */
const shownMax = 500;

/** Text with lines, without anything that a terminal would act on. */
export function toTerminalText(text: string): string {
  return text.replace(unprintable, " ");
}

/** Text of a server or a contract as one short line. */
export function toPlainText(text: string): string {
  return toTerminalText(text).replaceAll("\n", " ").slice(0, shownMax);
}

/** An error as one line, with the chain of what caused it. */
export function formatError(error: unknown): string {
  return toPlainText(causes(error));
}

function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`;
}
