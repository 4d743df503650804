import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Returns the absolute path of Gatehouse's state directory for a user (XDG Base Directory Specification). */
export function findUserStateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  // The specification requires ignoring relative paths.
  return join(isAbsolute(state) ? state : join(findHome(), ".local", "state"), "gatehouse");
}

/** A user that is in no database, such as that of a systemd unit with `DynamicUser=`, has the home `/`, as in Docker and nss-systemd. */
function findHome(): string {
  try {
    return homedir();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return "/";
    throw error;
  }
}
