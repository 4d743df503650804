import { cpSync, existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Marker of a whole copy; a directory without it was left by a kill. */
const wholeMarker = ".gatehouse-copied";

/**
 * Copies an image's own programs into the directory that a node runs in, once: later calls leave them be, because a node may run from them. A node.conf
 * among them is left out; the node's own is elsewhere.
 *
 * @returns the outcome in words, for a person.
 */
export function copyPrograms(from: string, to: string): string {
  const marker = join(to, wholeMarker);
  if (existsSync(marker)) return `the image's programs are in ${to}`;
  const names = readdirSync(from);
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => basename(source) !== "node.conf",
  });
  writeFileSync(marker, "");
  return names.length === 0 ? "the image has no programs there" : `copied the image's programs to ${to}`;
}

/** Puts a link to `target` at `path`, in place of any file there; a concurrent reader finds one of both. */
export function linkTo(path: string, target: string): void {
  const staged = `${path}.linked`;
  if (readLink(path) === target) return;
  rmSync(staged, { force: true });
  symlinkSync(target, staged);
  renameSync(staged, path);
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // Nothing there, or a file.
    return undefined;
  }
}
