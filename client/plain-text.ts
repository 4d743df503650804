/** Control and text-direction characters, which would let a server's text move a terminal's cursor. */
// oxlint-disable-next-line no-control-regex -- these characters are removed
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

const shownMax = 500;

/** Replaces all characters that a terminal interprets, except line breaks. */
export function toTerminalText(text: string): string {
  return text.replace(unprintable, " ");
}

export function toPlainText(text: string): string {
  return toTerminalText(text).replaceAll("\n", " ").slice(0, shownMax);
}

export function formatError(error: unknown): string {
  return toPlainText(joinCauses(error));
}

function joinCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${joinCauses(error.cause)}`;
}

/** Parses a server's JSON; returns undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
