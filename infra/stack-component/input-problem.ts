import type { ConfigProblem } from "../config/config-problem.ts";
import { formatForInputs } from "../config/problem-parts.ts";

/**
 * Converts a configuration problem of a stack to a problem with a component input. `pulumi config` does not set inputs, so keeps the advice
 * without its commands.
 */
export function toInputProblem({ key, message, parts }: ConfigProblem): ConfigProblem {
  return { key, message: parts === undefined ? message : formatForInputs(key, parts) };
}
