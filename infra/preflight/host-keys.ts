import { statSync } from "node:fs";
import { join } from "node:path";
import type { StackConfig } from "../config/config-schema.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { keyFiles } from "../services/node/node-keys.ts";

/**
 * Lists problems with a node's keys in a directory on the Docker host, which is this machine: a key that is missing, belongs to a user
 * other than the node's, or is readable or writable by anyone but its owner. An engine would create an empty directory in place of a
 * missing key.
 */
export function findHostKeyProblems({ nodeKeysDirectory, nodeUser }: StackConfig): readonly ConfigProblem[] {
  if (nodeKeysDirectory === undefined) return [];
  return Object.values(keyFiles).flatMap((name) => {
    const path = join(nodeKeysDirectory, name);
    const found = readState(path);
    if (typeof found === "string") return [buildProblem(`found no ${path} (${found})`, "Put the key there.")];
    const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
    if (found.isFile && found.uid === nodeUser && mode === "0400") return [];
    const what = found.isFile ? `${path} with mode ${mode} of user ${found.uid}` : `${path}, which is not a file`;
    const right = `mode 0400 of user ${nodeUser}, as whom the node runs`;
    return [buildProblem(`found ${what}; expected ${right}`, `\`chown ${nodeUser} ${path} && chmod 0400 ${path}\`.`)];
  });
}

function buildProblem(found: string, remedy: string): ConfigProblem {
  return { key: "nodeKeysDirectory", message: `${found}. ${remedy}` };
}

type Found = Readonly<{ isFile: boolean; uid: number; mode: number }>;

/** Returns the state of the file at a path; the error code if it can't be read. */
function readState(path: string): Found | string {
  try {
    const found = statSync(path);
    return { uid: found.uid, mode: found.mode, isFile: found.isFile() };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
