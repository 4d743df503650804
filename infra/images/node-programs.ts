import { cpSync, existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Marker for a complete copy; a directory without it was left by a copy that was killed. */
const copyCompleteMarker = ".gatehouse-copied";

/**
 * Copies an image's own programs into the node's working directory once; later calls don't touch them, because a node may be running from
 * them. A node.conf among them is skipped: the node's own is elsewhere.
 *
 * @returns a human-readable outcome.
 */
export function copyPrograms(from: string, to: string): string {
  const marker = join(to, copyCompleteMarker);
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

/** Creates a link to `target` at `path`, replacing any file there; a concurrent reader sees either the old file or the new link. */
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
    // The link is missing, or is a regular file.
    return undefined;
  }
}
