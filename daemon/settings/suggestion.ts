import { closest, distance } from "fastest-levenshtein";

/** The word that somebody most likely meant, out of those that there are; undefined when none is near. */
export function nearestWord(written: string, words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  const nearest = closest(written, words);
  return isNear(written, nearest) ? nearest : undefined;
}

/** Whether a word is another one with a typing error or two: one in up to five letters, two in more. */
export function isNear(written: string, word: string): boolean {
  const errorsMax = word.length > 5 ? 2 : 1;
  return distance(written.toLowerCase(), word.toLowerCase()) <= Math.max(errorsMax, Math.floor(word.length / 6));
}
