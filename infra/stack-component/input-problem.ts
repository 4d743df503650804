import type { ConfigProblem } from "../config/config-problem.ts";
import { formatForInputs } from "../config/problem-parts.ts";

/**
 * A problem of a stack's configuration as one of a component's inputs, none of which `pulumi config` sets: the advice stays, its commands go. One without parts names no command.
 */
export function toInputProblem({ key, message, parts }: ConfigProblem): ConfigProblem {
  return { key, message: parts === undefined ? message : formatForInputs(key, parts) };
}
