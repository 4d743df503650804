import { listProgramFiles, readProgramFile } from "#daemon/files/program-files.ts";

/** Reads the runbooks, keyed by file name. They are included in the package, the image and the executable; without them, returns none. */
export function readRunbooks(): ReadonlyMap<string, string> {
  const names = listProgramFiles("docs/runbooks").filter((name) => name.endsWith(".md"));
  return new Map(names.map((name) => [name, readProgramFile("docs/runbooks", name)]));
}
