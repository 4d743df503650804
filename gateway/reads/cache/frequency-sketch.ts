/** Counters of a row; a power of two. */
const width = 65_536;
const rows = 4;
/** Keys that are counted before all counters are halved: with half a key to a counter, few are taken for others. */
const agesAfter = width / 2;
/** A counter's most, which takes four halvings to be forgotten. */
const most = 15;

/** Remembers how often keys came lately, in a fixed quarter of a megabyte; never too few times, seldom too many. */
export type FrequencySketch = Readonly<{
  /** Counts a key, by its hash; answers how often it had come before. */
  count: (hash: number) => number;
}>;

/**
 * Creates a sketch: a count-min sketch whose counts are halved as it grows full (TinyLFU: Einziger, Friedman and Manes, 2017). What
 * comes once is thereby told from what comes again, whatever the number of keys.
 */
export function createFrequencySketch(): FrequencySketch {
  const counters = new Uint8Array(rows * width);
  const words = new Uint32Array(counters.buffer);
  let counted = 0;

  const age = () => {
    counted = 0;
    for (let at = 0; at < words.length; at += 1) words[at] = ((words[at] ?? 0) >>> 1) & 0x7f7f7f7f;
  };
  return {
    count: (hash) => {
      const step = (Math.imul(hash, 0x9e3779b1) >>> 15) | 1;
      let least = most;
      for (let row = 0; row < rows; row += 1) {
        const at = row * width + ((hash + row * step) & (width - 1));
        const count = counters[at] ?? 0;
        least = Math.min(least, count);
        if (count < most) counters[at] = count + 1;
      }
      counted += 1;
      if (counted === agesAfter) age();
      return least;
    },
  };
}
