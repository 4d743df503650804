import type { ConfigProblem } from "../config/config-problem.ts";
import { formatForInputs } from "../config/problem-parts.ts";

/**
 * Converts a problem of a stack's configuration to one of a component's inputs, which `pulumi config` does not set: retains the advice
 * without its commands.
 */
export function toInputProblem({ key, message, parts }: ConfigProblem): ConfigProblem {
  return { key, message: parts === undefined ? message : formatForInputs(key, parts) };
}
