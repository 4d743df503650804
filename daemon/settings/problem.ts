import { closest, distance } from "fastest-levenshtein";
import { maskCredentials } from "../secrets/mask.ts";
import type { SettingsLeaf } from "./leaf.ts";

export type SettingsProblem = Readonly<{
  /** The environment variable, or the key in the settings file. */
  name: string;
  /** One or two sentences describing what was found, what was expected and what to do. */
  message: string;
}>;

/** Returns the origin of a setting's value, e.g. `default`, `/etc/gatehouse.json5: line 3` or its environment variable. */
export type NameOrigin = (leaf: SettingsLeaf) => string;

/** Settings before validation by the schema; secrets are plain text. */
export type UnvalidatedSettings = Readonly<{ settings: object; origin: NameOrigin }>;

/** Invalid settings that prevent a service's start. `message` contains all problems, one per line. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly code = "settings_invalid";
  readonly problems: readonly SettingsProblem[];
  /** The lines of the message: one per problem, with the service's name and without credentials. */
  readonly lines: readonly string[];
  /** Private, so that printing the error reveals no secret. */
  readonly #unvalidated: UnvalidatedSettings | undefined;

  constructor(service: string, problems: readonly SettingsProblem[], given?: UnvalidatedSettings) {
    const lines = problems.map((problem) => maskCredentials(`${service}: ${problem.name}: ${problem.message}`));
    super(lines.join("\n"));
    this.problems = problems;
    this.lines = lines;
    this.#unvalidated = given;
  }

  /** The given settings; undefined if the settings file could not be read. */
  get unvalidated(): UnvalidatedSettings | undefined {
    return this.#unvalidated;
  }
}

/** Finds the known name closest to a misspelt or incomplete one; undefined if none is near. */
export function findNearestWord(written: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const nearestName = closest(written, names);
  return isSimilar(written, nearestName) ? nearestName : findBySameWords(written, names);
}

/** Finds the one name with the fewest words added to the written one (`PRIVATE_KEY` for `KEY`), or removed from it. */
function findBySameWords(written: string, names: readonly string[]): string | undefined {
  const words = listWords(written);
  const near = names.flatMap((name) => {
    const own = listWords(name);
    return own.isSubsetOf(words) || words.isSubsetOf(own) ? [{ name, extra: Math.abs(own.size - words.size) }] : [];
  });
  const minExtra = Math.min(...near.map(({ extra }) => extra));
  const [found, otherMatch] = near.filter(({ extra }) => extra === minExtra);
  return otherMatch === undefined ? found?.name : undefined;
}

function listWords(name: string): ReadonlySet<string> {
  return new Set(name.split(/[_.-]|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase()));
}

/** Checks whether a word differs from another only by typos: one in a word of up to five letters, two in a longer word. */
export function isSimilar(written: string, word: string): boolean {
  const errorsMax = word.length > 5 ? 2 : 1;
  return distance(written.toLowerCase(), word.toLowerCase()) <= Math.max(errorsMax, Math.floor(word.length / 6));
}
