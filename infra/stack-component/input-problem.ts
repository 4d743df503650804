import type { ConfigProblem } from "../config/config-problem.ts";
import { formatForInputs } from "../config/problem-parts.ts";

/** A problem of a stack's configuration as one of a component's inputs, none of which `pulumi config` sets: the advice stays, its commands go. */
export function toInputProblem(problem: ConfigProblem): ConfigProblem {
  const { key, parts } = problem;
  return { key, message: parts === undefined ? reword(problem) : formatForInputs(parts) };
}

/** How a message that was written as a whole says by which command to do what it advises, with the key that the command is about. */
const byCommand = / with `pulumi config (?:set|rm)(?: --\w+)*(?: ([\w.]+)[^`]*)?`/g;

/** How it says which key to set besides, with the value where it has one. */
const settingCommand = /(?:\b([Ss]et) )?`pulumi config set(?: --\w+)* ([\w.]+)(?: (?![…<])([^`]*))?[^`]*`/g;

/** A message without parts, as those of the services' own checks are, for inputs. */
function reword({ key, message }: ConfigProblem): string {
  return message
    .replaceAll(byCommand, (_command, other = key) =>
      rootOf(other) === rootOf(key) ? "" : ` with the input \`${other}\``,
    )
    .replaceAll(settingCommand, (_command, set = "set", input: string, value?: string) =>
      value === undefined ? `${set} the input \`${input}\`` : `${set} the input \`${input}\` to \`${value}\``,
    );
}

/** The input that holds a value, however deep: `limits` of `limits.node.memory`. */
function rootOf(key: string): string {
  return key.split(".", 1)[0] ?? key;
}
