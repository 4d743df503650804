import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { readRegularFile, explainUnreadable } from "../files/regular-file.ts";

/** A settings file and the files of secrets that belong to it, as they stood at one time. */
export type SettingsSource = Readonly<{
  /** Differs from that of another time when anything in them does. */
  stamp: string;
  /** The settings file's text; empty if it can't be read: starting with it fails with the reason. */
  text: string;
  /** SHA-256 of that text, in hexadecimal. */
  sha256: string;
}>;

/** Largest of these files that is read; settings are some KiB. */
export const settingsFileBytes = 4_194_304;

/** The variables that name a service's files of secrets. */
const secretFile = /^GATEHOUSE_\w+_FILE$/;

/** Lists the files that a service reads its settings from: the settings file, and the secrets that the environment names. */
export function listSettingsFiles(path: string, environment: NodeJS.ProcessEnv): readonly string[] {
  const secrets = Object.entries(environment).filter(([name]) => secretFile.test(name));
  return [path, ...secrets.flatMap(([, value]) => (value === undefined || value === "" ? [] : [value]))];
}

/** Changes when one of the files is written or replaced; none is read for it. */
export async function lookAtFiles(paths: readonly string[]): Promise<string> {
  const looks = paths.map((path) =>
    stat(path).then(({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`, explainUnreadable),
  );
  return (await Promise.all(looks)).join("\n");
}

/** Looks in a row that have to find the files the same: of one directory, and of several, which are brought one by one. */
const looksAlone = 2;
const looksApart = 11;

/**
 * Returns what judges, at each look, whether the files may be read. A stack's settings and secrets are brought apart, by a container each or by the cluster's
 * agent: a change of both is one change, and the settings may be of no use without the secret.
 */
export function createSettling(paths: readonly string[]): (look: string) => boolean {
  const needed = new Set(paths.map((path) => dirname(path))).size > 1 ? looksApart : looksAlone;
  let last: string | undefined;
  let same = 0;
  return (look) => {
    same = look === last ? same + 1 : 1;
    last = look;
    return same >= needed;
  };
}

/** Reads the files; the first one is the settings file. */
export async function readSettingsSource(paths: readonly string[]): Promise<SettingsSource> {
  const contents = await Promise.all(paths.map(readOrExplain));
  const text = contents[0]?.text ?? "";
  return { stamp: hash("sha256", JSON.stringify(contents)), text, sha256: hash("sha256", text) };
}

/** Builds a source from text that no file holds now; its stamp differs from that of any source read from files. */
export function rememberSource(text: string): SettingsSource {
  return { stamp: "", text, sha256: hash("sha256", text) };
}

async function readOrExplain(path: string): Promise<Readonly<{ text?: string; why?: string }>> {
  try {
    return { text: Buffer.from((await readRegularFile(path, settingsFileBytes)).bytes).toString("utf8") };
  } catch (cause) {
    return { why: explainUnreadable(cause) };
  }
}
