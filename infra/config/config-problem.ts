import { RunError } from "@pulumi/pulumi";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { formatForStack, maskParts, type ProblemParts } from "./problem-parts.ts";

/** A problem in a stack's configuration. */
export type ConfigProblem = Readonly<{
  /** Key in `Pulumi.<stack>.yaml` without the project prefix, e.g. `nodeVersion`. */
  key: string;
  /** Actual value, allowed values, and the remedy. */
  message: string;
  /** Parts of the message; absent if the message was written as a single text. */
  parts?: ProblemParts;
}>;

/** Builds a problem from its parts; the message is worded for a stack's configuration. */
export function describeProblem(key: string, parts: ProblemParts): ConfigProblem {
  return { key, message: formatForStack(parts), parts };
}

/**
 * A stack configuration that can't be deployed. `message` lists all problems, one per line; because this is a {@link RunError}, Pulumi
 * prints it without a stack trace. URL credentials are masked in both the problems and the message.
 */
export class ConfigError extends RunError {
  override readonly name = "ConfigError";
  readonly code = "config_invalid";
  readonly problems: readonly ConfigProblem[];
  /** First line of the message: the number of problems and their location. */
  readonly summary: string;

  /**
   * @param where describes the object that has the problems, and the prefix of its keys.
   */
  constructor(
    problems: readonly ConfigProblem[],
    where: Readonly<{ what: string; begin: string }> = {
      what: "the stack's configuration; nothing was changed",
      begin: "gatehouse:",
    },
  ) {
    const masked = problems.map(({ key, message, parts }) => ({
      key,
      message: maskCredentials(message),
      ...(parts === undefined ? {} : { parts: maskParts(parts) }),
    }));
    const lines = masked.map((problem) => `  ${where.begin}${problem.key}: ${problem.message}`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    const summary = `${count} in ${where.what}:`;
    super([summary, ...lines].join("\n"));
    this.problems = masked;
    this.summary = summary;
  }
}
