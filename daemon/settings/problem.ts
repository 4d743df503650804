import { closest, distance } from "fastest-levenshtein";
import { maskCredentials } from "../secrets/mask.ts";
import type { SettingsLeaf } from "./leaf.ts";

/** One thing that is wrong with a service's settings. */
export type SettingsProblem = Readonly<{
  /** The environment variable, or the key in the settings file. */
  name: string;
  /** One or two sentences that say what was found, what was expected and what to do. */
  message: string;
}>;

/** Settings, or sections of them, that earlier versions had, and what replaces each, as in "use b.c instead". */
export type RemovedSettings = Readonly<Record<string, string>>;

export function explainRemoved(instead: string): string {
  return `this setting was removed: ${instead}, and remove the setting.`;
}

/** Returns the origin of a setting's value, e.g. `default`, `/etc/gatehouse.json5: line 3` or its environment variable. */
export type NameOrigin = (leaf: SettingsLeaf) => string;

/** Settings as they were given, before the schema has judged them; secrets are plain text. */
export type GivenSettings = Readonly<{ settings: object; origin: NameOrigin }>;

/** Settings that a service can't start with. `message` has one line per problem, all problems at once. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly code = "settings_invalid";
  readonly problems: readonly SettingsProblem[];
  /** The message in parts: one for each problem, with the service's name and without credentials. */
  readonly lines: readonly string[];
  /** Private, so that whoever prints the error prints no secret. */
  readonly #given: GivenSettings | undefined;

  constructor(service: string, problems: readonly SettingsProblem[], given?: GivenSettings) {
    const lines = problems.map((problem) => maskCredentials(`${service}: ${problem.name}: ${problem.message}`));
    super(lines.join("\n"));
    this.problems = problems;
    this.lines = lines;
    this.#given = given;
  }

  /** Undefined if the settings file could not be read. */
  get given(): GivenSettings | undefined {
    return this.#given;
  }
}

/** Finds the known word that somebody most likely meant; undefined if none is near. */
export function findNearestWord(written: string, words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  const nearest = closest(written, words);
  return isNear(written, nearest) ? nearest : undefined;
}

/** Whether a word is another one with a typing error or two: one in up to five letters, two in more. */
export function isNear(written: string, word: string): boolean {
  const errorsMax = word.length > 5 ? 2 : 1;
  return distance(written.toLowerCase(), word.toLowerCase()) <= Math.max(errorsMax, Math.floor(word.length / 6));
}
