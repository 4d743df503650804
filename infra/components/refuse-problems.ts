import type { BuiltService } from "../services/built-service.ts";
import { ConfigError } from "../config/config-problem.ts";

/** The specifications of built services. @throws {ConfigError} with every problem of every service. */
export function withoutProblems<Built extends Readonly<Record<string, BuiltService | undefined>>>(built: Built): Built {
  const problems = Object.values(built).flatMap((service) => service?.problems ?? []);
  if (problems.length > 0) throw new ConfigError(problems);
  return built;
}
