import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Finds the absolute path of the directory for a user's state of Gatehouse (XDG Base Directory Specification). */
export function findUserStateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  // The specification has a relative path ignored.
  return join(isAbsolute(state) ? state : join(homedir(), ".local", "state"), "gatehouse");
}
