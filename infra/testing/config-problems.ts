import { ConfigError } from "../config/config-problem.ts";

/** Lists the problems for which a configuration is rejected, each with its key; none if it is valid. */
export function listConfigProblems(make: () => unknown): readonly string[] {
  try {
    make();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`);
    throw error;
  }
}
