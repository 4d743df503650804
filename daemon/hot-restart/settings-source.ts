import { hash } from "node:crypto";
import { dirname } from "node:path";
import { readRegularFile, explainUnreadable } from "../files/regular-file.ts";
import { findStamp } from "../files/watched-file.ts";
import { decodeUtf8 } from "../files/utf8.ts";

export type SettingsSource = Readonly<{
  /** Differs between snapshots whose content differs. */
  stamp: string;
  /** The settings file's text; empty if it can't be read, in which case a start with it fails and reports the reason. */
  text: string;
  sha256: string;
}>;

/** Max size of each of these files; settings take some KiB. */
const settingsFileBytes = 4_194_304;

const secretFile = /^GATEHOUSE_\w+_FILE$/;

/** Lists the files that a service reads its settings from: the settings file, and the secret files specified by the environment. */
export function listSettingsFiles(path: string, environment: NodeJS.ProcessEnv): readonly string[] {
  const secrets = Object.entries(environment).filter(([name]) => secretFile.test(name));
  return [path, ...secrets.flatMap(([, value]) => (value === undefined || value === "" ? [] : [value]))];
}

/** Returns a stamp that changes when a file is written or replaced; doesn't read the files. */
export async function checkFiles(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map(findStamp))).join("\n");
}

/** Consecutive checks that must find the files unchanged; more if they are in several directories, which are deployed one by one. */
const singleFileChecks = 2;
const multipleFileChecks = 11;

/**
 * Returns a function that decides at each check whether the files may be read. A stack's settings and secrets are rolled out separately
 * (each by its own container, or by the kubelet), but a change to both counts as one change: the new settings may not work without the new
 * secret.
 */
export function createStabilityCheck(paths: readonly string[]): (state: string) => boolean {
  const neededChecks = new Set(paths.map((path) => dirname(path))).size > 1 ? multipleFileChecks : singleFileChecks;
  let last: string | undefined;
  let same = 0;
  return (state) => {
    same = state === last ? same + 1 : 1;
    last = state;
    return same >= neededChecks;
  };
}

/** Reads the files; the first one must be the settings file. */
export async function readSettingsSource(paths: readonly string[]): Promise<SettingsSource> {
  const contents = await Promise.all(paths.map(readOrExplain));
  const text = contents[0]?.text ?? "";
  return { stamp: hash("sha256", JSON.stringify(contents)), text, sha256: hash("sha256", text) };
}

async function readOrExplain(path: string): Promise<Readonly<{ text?: string; why?: string }>> {
  try {
    return { text: decodeUtf8((await readRegularFile(path, settingsFileBytes)).bytes) };
  } catch (cause) {
    return { why: explainUnreadable(cause) };
  }
}
