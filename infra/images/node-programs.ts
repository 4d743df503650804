import { cpSync, existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Says that a copy is whole; a directory without it was left by a kill. */
const wholeMarker = ".gatehouse-copied";

/**
 * Copies an image's own programs into the directory that a node runs in, once: a second look leaves them be, because a node may run from them.
 * A node.conf among them is left out; the node's own stands elsewhere.
 *
 * @returns what was done, for a person.
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

/** Puts a link at `path` that leads to `target`, in the place of whatever file stands there; whoever looks meanwhile finds one of both. */
export function linkTo(path: string, target: string): void {
  const staged = `${path}.linked`;
  if (linkOf(path) === target) return;
  rmSync(staged, { force: true });
  symlinkSync(target, staged);
  renameSync(staged, path);
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // Nothing there, or a file.
    return undefined;
  }
}
