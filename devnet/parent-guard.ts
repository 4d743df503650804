import { accessSync, constants } from "node:fs";

/** Paths of util-linux's `setpriv`; no other program with that name is run. */
const setprivPaths = ["/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv"];

export type Command = readonly [program: string, ...args: string[]];

/**
 * Wraps `command` so that it is killed when this process exits for any reason (Linux's PR_SET_PDEATHSIG, see prctl(2)). Returns it
 * unchanged on machines without `setpriv`.
 */
export function guardByParent(command: Command): Command {
  const guard = findParentGuard();
  return guard === undefined ? command : [guard, "--pdeathsig", "KILL", "--", ...command];
}

/** Finds the path of `setpriv`; undefined if the machine lacks it. */
export function findParentGuard(): string | undefined {
  return setprivPaths.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
