import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where a user's programs keep their state (XDG Base Directory Specification): the one for Gatehouse, absolute. */
export function findUserStateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  // The specification has a relative path ignored.
  return join(isAbsolute(state) ? state : join(homedir(), ".local", "state"), "gatehouse");
}
