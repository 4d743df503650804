import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Copies a file from the stack into the node's workspace, replacing any older version, because the stack is the source of the file.
 *
 * @param placement `<source>=<path>`.
 * @returns a human-readable outcome.
 */
export function putFile(placement: string): string {
  const [source = "", path = ""] = placement.split("=");
  mkdirSync(dirname(path), { recursive: true });
  const staged = `${path}.placed`;
  writeFileSync(staged, readFileSync(source), { mode: 0o600 });
  chmodSync(staged, 0o600);
  renameSync(staged, path);
  return `placed ${path}`;
}

/** Returns the files that are missing or empty. */
export function findMissingFiles(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0);
}

/**
 * Marks existing data as initialized, so that an entry point that checks the mark never runs genesis over the data. Data without the mark
 * comes from a snapshot.
 *
 * @returns a human-readable outcome; undefined if there is nothing to mark.
 */
export function markGenesis(data: string, mark: string): string | undefined {
  if (existsSync(mark) || readdirSync(data).every((name) => name === "lost+found")) return undefined;
  mkdirSync(mark, { recursive: true });
  return `${data} has data but no ${mark}; created it, so that genesis does not overwrite the data`;
}
