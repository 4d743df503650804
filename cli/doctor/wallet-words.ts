import { english } from "viem/accounts";

/** Words that a wallet's seed may be made of (BIP-39). */
const seedWords: ReadonlySet<string> = new Set(english);
/** Fewest words of a seed. */
const seedLength = 12;

const words = /\b[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,}\b/gi;

/** Puts another text in place of every wallet's seed in a text: twelve or more words in a row that all are of the list. */
export function withoutWalletWords(text: string, shownInstead: string): string {
  return text.replaceAll(words, (run) => {
    const kept: string[] = [];
    let seed: string[] = [];
    const endSeed = () => {
      kept.push(...(seed.length >= seedLength ? [shownInstead] : seed));
      seed = [];
    };
    for (const word of run.split(/[ \t]+/)) {
      if (seedWords.has(word.toLowerCase())) {
        seed.push(word);
        continue;
      }
      endSeed();
      kept.push(word);
    }
    endSeed();
    return kept.includes(shownInstead) ? kept.join(" ") : run;
  });
}
