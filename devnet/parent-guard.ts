import { accessSync, constants } from "node:fs";

/** Where util-linux's `setpriv` stands; no other program of that name is meant. */
const guards = ["/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv"];

/** A program and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/**
 * The command that runs `command` so that it ends with this process, however this process ends (Linux's PR_SET_PDEATHSIG, see
 * prctl(2)). Where the machine has no `setpriv`, the command itself.
 */
export function guardByParent(command: Command): Command {
  const guard = findParentGuard();
  return guard === undefined ? command : [guard, "--pdeathsig", "KILL", "--", ...command];
}

/** The path of `setpriv`, if the machine has it. */
export function findParentGuard(): string | undefined {
  return guards.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
