/** A place in a text as editors count: both from 1. */
export type TextPosition = Readonly<{ line: number; column: number }>;

/** The line and column of an offset. */
export function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - (before.lastIndexOf("\n") + 1) + 1 };
}
