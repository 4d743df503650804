import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allConstants, allSettings } from "../support/all-settings.ts";

const root = join(import.meta.dirname, "../..");

const settings = [
  ...allSettings.map((leaf) => ({ key: leaf.path.join("."), value: Number(leaf.default) })),
  ...allConstants.flatMap(({ path, value }) => (typeof value === "number" ? [{ key: path.join("."), value }] : [])),
];

/** Converts sizes from a page's units to a setting's own unit, given by the end of the setting's name. */
const units: readonly Readonly<{ end: RegExp; sizes: Readonly<Record<string, number>> }>[] = [
  {
    end: /Ms$/,
    sizes: { ms: 1, s: 1_000, second: 1_000, minute: 60_000, min: 60_000, hour: 3_600_000, day: 86_400_000 },
  },
  { end: /Seconds$/, sizes: { s: 1, second: 1, minute: 60, min: 60, hour: 3_600, day: 86_400, week: 604_800 } },
  { end: /Bytes$/, sizes: { byte: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 } },
];

const numbers: Readonly<Record<string, number>> = { a: 1, an: 1, two: 2, three: 3, four: 4, five: 5, ten: 10 };

type StatedSetting = Readonly<{ key: string; words: string }>;

/** Finds a page's settings followed by a default: in brackets or, in the list of limits, after a comma. */
function findStated(text: string, isTable = false): readonly StatedSetting[] {
  const line = text.replaceAll(/\n\s*/g, " ");
  const behind = isTable ? /`([a-z]\w+(?:\.\w+)*)`, ([^;→]+)/g : /`([a-z]\w+(?:\.\w+)+)` \(([^)]+)\)/g;
  return [...line.matchAll(behind)].map(([, key = "", words = ""]) => ({ key, words }));
}

/** The number at the start of the text, in the setting's unit; undefined if the text doesn't start with one. */
function readNumber({ key, words }: StatedSetting): number | undefined {
  const [, count = "", unit] =
    /^(?:default )?(\d[\d,]*|an?|two|three|four|five|ten)(?: (ms|s|second|minute|min|hour|day|week|byte|KiB|MiB|GiB)s?)?(?![\w.])/.exec(
      words,
    ) ?? [];
  const number = numbers[count] ?? Number(count.replaceAll(",", ""));
  if (count === "" || (Number.isNaN(Number(count.replaceAll(",", ""))) && unit === undefined)) return undefined;
  const sizes = units.find(({ end }) => end.test(key))?.sizes;
  // A setting without a unit is a count, of whatever the words after the number specify. An HTTP status is not a time or a size.
  if (sizes === undefined) return number;
  return unit === undefined ? undefined : number * (sizes[unit] ?? Number.NaN);
}

/** A setting of a sidecar's gateway has no `gateway.` prefix on the gateway's own pages. */
function defaultsOf(key: string): readonly number[] {
  const found = settings.filter(({ key: name }) => name === key || name === `gateway.${key}`);
  return found.map(({ value }) => value).filter((value) => !Number.isNaN(value));
}

function findWrong(stated: readonly StatedSetting[]): readonly string[] {
  return stated.flatMap(({ key, words }) => {
    const number = readNumber({ key, words });
    const defaults = defaultsOf(key);
    return number === undefined || defaults.length === 0 || defaults.includes(number)
      ? []
      : [`${key} is stated as ${words}, and is ${defaults.join(" or ")}`];
  });
}

const pages = globSync(["*.md", "*/README.md", "docs/**/*.md"], {
  cwd: root,
  exclude: ["node_modules/**", "docs/node_modules/**"],
})
  .filter((path) => path !== "CHANGELOG.md" && path !== "docs/settings.md")
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

describe("the defaults stated on pages", () => {
  it.each(pages)("match the settings: $path", ({ text }) => {
    expect(findWrong(findStated(text))).toEqual([]);
  });

  it("match the settings in the list of bounds", () => {
    const stated = findStated(readFileSync(join(root, "test/bounds/README.md"), "utf8"), true);
    expect(stated.filter((one) => readNumber(one) !== undefined).length).toBeGreaterThan(50);
    expect(findWrong(stated)).toEqual([]);
  });
});
