import { dirname } from "node:path";
import type { Environment } from "#daemon/settings/environment.ts";

/** The current Node comes first, because a command's first line looks up `node` on the PATH. */
export const path = `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;

/** The environment of a program under test: the given variables only, and directories where no other test, and no user, announces services. */
export function buildOwnEnvironment(env: Environment): Environment {
  const { XDG_RUNTIME_DIR = "", XDG_STATE_HOME = "" } = process.env;
  return { PATH: path, XDG_RUNTIME_DIR, XDG_STATE_HOME, ...env };
}
