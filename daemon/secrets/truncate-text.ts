export const truncationMark = "…";

/**
 * Truncates external text to a number of characters, and marks the cut. This may truncate a secret as well: at the mark, the process's mask
 * also recognizes the start of a secret.
 */
export function truncateText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}${truncationMark}`;
}
