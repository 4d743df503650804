import { isAbsolute, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";

/** Path that means standard input. */
export const standardInput = "-";

export type RepositoryLocation = Readonly<{
  /** Path of the file: relative to the repository if the file is in it, with slashes; otherwise as given. */
  path: string;
  /** The path as a URI reference (RFC 3986): relative to the repository if `isRelative`, otherwise a file URL. */
  uri: string;
  isRelative: boolean;
}>;

/** Names a file so that a forge finds it in its checkout, independent of the command's working directory. */
export function findLocationInRepository(configPath: string, repository: string): RepositoryLocation {
  if (configPath === standardInput) return { path: "stdin", uri: "stdin", isRelative: true };
  const absolute = resolve(configPath);
  const inside = relative(repository, absolute);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    return { path: configPath, uri: pathToFileURL(absolute).href, isRelative: false };
  }
  const segments = inside.split(sep);
  return { path: segments.join("/"), uri: segments.map(encodeURIComponent).join("/"), isRelative: true };
}
