import { RunError } from "@pulumi/pulumi";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { formatForStack, maskParts, type ProblemParts } from "./problem-parts.ts";

/** One thing that is wrong with a stack's configuration. */
export type ConfigProblem = Readonly<{
  /** The key in `Pulumi.<stack>.yaml` without the project's name, e.g. `nodeVersion`. */
  key: string;
  /** Value found, values allowed, and the remedy. */
  message: string;
  /** Parts of the message; absent if it was written as a whole. */
  parts?: ProblemParts;
}>;

/** Describes a problem by its parts; its message is the one for a stack's configuration. */
export function describeProblem(key: string, parts: ProblemParts): ConfigProblem {
  return { key, message: formatForStack(parts), parts };
}

/**
 * A stack's configuration that can't be deployed. `message` has one line per problem, all problems at once; Pulumi prints it without
 * a stack trace, because it is a {@link RunError}. Neither shows the credentials of a URL.
 */
export class ConfigError extends RunError {
  override readonly name = "ConfigError";
  readonly code = "config_invalid";
  readonly problems: readonly ConfigProblem[];
  /** First line of the message: the number of problems, and where they are. */
  readonly summary: string;

  /** @param where names what has the problems, and the prefix of its keys. */
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
