import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Returns the absolute path of Gatehouse's state directory for a user (XDG Base Directory Specification). */
export function findUserStateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  // The specification requires ignoring relative paths.
  return join(isAbsolute(state) ? state : join(homedir(), ".local", "state"), "gatehouse");
}
