/** Formats a number to three digits or so, grouped: `1,234,567`, `12.3`. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: value < 1_000 ? 3 : 21, maximumFractionDigits: 0 });
}

/** Formats a share as percent. */
export function formatPercent(ratio: number): string {
  return `${formatNumber(ratio * 100)} %`;
}

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats a count of bytes in its largest unit. */
export function formatBytes(count: number): string {
  const power = Math.min(byteUnits.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)));
  return `${formatNumber(count / 1_024 ** power)} ${byteUnits[power]}`;
}

const timeUnits = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats a duration in at most two units: `1 min 15 s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const first = timeUnits.findIndex(([, size]) => seconds >= size);
  if (first === -1) return "0 s";
  const parts = timeUnits.slice(first, first + 2).map(([unit, size], index) => {
    const left = index === 0 ? seconds : seconds % (timeUnits[first]?.[1] ?? 1);
    return { unit, count: Math.floor(left / size) };
  });
  return parts
    .filter(({ count }) => count > 0)
    .map(({ unit, count }) => `${count} ${unit}`)
    .join(" ");
}

/** Formats a figure's age in one unit. */
export function formatAge(ms: number): string {
  return ms < 100_000 ? `${Math.max(0, Math.round(ms / 1_000))} s` : (formatDuration(ms).match(/^\d+ \S+/)?.[0] ?? "");
}

/** Characters by which a text could steer a terminal: what a node says of itself is shown, not obeyed. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Formats a text as one plain line. */
export function formatPlain(text: string): string {
  return text.replaceAll(steering, " ");
}

/** Breaks a text at its spaces into lines of at most `width` characters; a longer word is cut. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of formatPlain(text).split(" ").filter(Boolean)) {
    for (const part of splitWord(word, width)) {
      if (line !== "" && line.length + 1 + part.length > width) {
        lines.push(line);
        line = "";
      }
      line = line === "" ? part : `${line} ${part}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}

function splitWord(word: string, width: number): readonly string[] {
  const characters = [...word];
  const count = Math.ceil(characters.length / width);
  return Array.from({ length: count }, (_, index) => characters.slice(index * width, (index + 1) * width).join(""));
}

/** Pads or cuts a text to exactly `width` characters; one that is cut ends in `…`. */
export function fit(text: string, width: number): string {
  const characters = [...formatPlain(text)];
  if (characters.length <= width) return characters.join("").padEnd(width);
  return `${characters.slice(0, width - 1).join("")}…`;
}
