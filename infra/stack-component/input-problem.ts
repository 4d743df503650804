import type { ConfigProblem } from "../config/config-problem.ts";

/** How a problem says by which command to do what it advises, with the key that the command is about. */
const byCommand = / with `pulumi config (?:set|rm)(?: --\w+)*(?: ([\w.]+)[^`]*)?`/g;

/** How a problem says which key to set besides, with the value where it has one. */
const settingCommand = /(?:\b([Ss]et) )?`pulumi config set(?: --\w+)* ([\w.]+)(?: (?![…<])([^`]*))?[^`]*`/g;

/** A problem of a stack's configuration as one of a component's inputs, none of which `pulumi config` sets: the advice stays, its commands go. */
export function toInputProblem({ key, message }: ConfigProblem): ConfigProblem {
  const reworded = message
    .replace("no such key; Pulumi.yaml lists the keys.", "no such input.")
    .replaceAll(byCommand, (_command, other = key) =>
      rootOf(other) === rootOf(key) ? "" : ` with the input \`${other}\``,
    )
    .replaceAll(settingCommand, (_command, set = "set", input: string, value?: string) =>
      value === undefined ? `${set} the input \`${input}\`` : `${set} the input \`${input}\` to \`${value}\``,
    );
  return { key, message: reworded };
}

/** The input that holds a value, however deep: `limits` of `limits.node.memory`. */
function rootOf(key: string): string {
  return key.split(".", 1)[0] ?? key;
}
