import { isAbsolute, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";

/** Path that stands for standard input. */
export const standardInput = "-";

/** Name of a file in a report for a forge. */
export type RepositoryPlace = Readonly<{
  /** Relative to the repository, with slashes, where the file is in it; else as it was given. */
  path: string;
  /** The same as a URI reference (RFC 3986); `isRelative` to the repository, or a file URL. */
  uri: string;
  isRelative: boolean;
}>;

/** Names a file so that a forge finds it in its checkout, whatever directory the command was run in. */
export function findPlaceInRepository(configPath: string, repository: string): RepositoryPlace {
  if (configPath === standardInput) return { path: "stdin", uri: "stdin", isRelative: true };
  const absolute = resolve(configPath);
  const inside = relative(repository, absolute);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    return { path: configPath, uri: pathToFileURL(absolute).href, isRelative: false };
  }
  const segments = inside.split(sep);
  return { path: segments.join("/"), uri: segments.map(encodeURIComponent).join("/"), isRelative: true };
}
