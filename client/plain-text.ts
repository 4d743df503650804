/** Control characters, and those that change the direction of text: with them a server's text could move a terminal's cursor. */
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

/** Longest text of a server that is shown, in characters. */
const shownMax = 500;

/** Replaces everything that a terminal would act on, except for line breaks. */
export function toTerminalText(text: string): string {
  return text.replace(unprintable, " ");
}

/** Shortens text of a server or a contract to one line. */
export function toPlainText(text: string): string {
  return toTerminalText(text).replaceAll("\n", " ").slice(0, shownMax);
}

/** Formats an error as one line, with the chain of its causes. */
export function formatError(error: unknown): string {
  return toPlainText(joinCauses(error));
}

function joinCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${joinCauses(error.cause)}`;
}

/** Reads JSON of a server; undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
