/** Mark of a text that was cut. */
export const cutMark = "…";

/**
 * Cuts a text that somebody else wrote to so many characters, and marks the cut. A secret that it repeats may have been cut, too: by the mark the
 * process's mask finds what is left of it.
 */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}${cutMark}`;
}
