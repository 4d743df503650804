/** Marks a truncated text. */
export const cutMark = "…";

/**
 * Truncates external text to a number of characters, and marks the cut. A secret in it may be truncated, too: the mark lets the process's
 * mask find the rest of it.
 */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}${cutMark}`;
}
