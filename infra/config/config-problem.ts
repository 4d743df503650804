import { RunError } from "@pulumi/pulumi";
import { maskCredentials } from "#daemon/mask.ts";

/** One thing that is wrong with a stack's configuration. */
export type ConfigProblem = Readonly<{
  /** The key in `Pulumi.<stack>.yaml` without the project's name, e.g. `nodeVersion`. */
  key: string;
  /** What was found, what is allowed and what to do. */
  message: string;
}>;

/** The command that sets a key, also one inside of an object. */
export function setCommand(key: string): string {
  return `pulumi config set ${key.includes(".") ? "--path " : ""}${key} …`;
}

/**
 * A stack's configuration that can't be deployed. `message` has one line per problem, all problems at once; Pulumi prints it without
 * a stack trace, because it is a {@link RunError}. Neither shows the credentials of a URL.
 */
export class ConfigError extends RunError {
  override readonly name = "ConfigError";
  readonly code = "config_invalid";
  readonly problems: readonly ConfigProblem[];

  /** @param where What the problems are in, in words, and what begins a key there. */
  constructor(
    problems: readonly ConfigProblem[],
    where: Readonly<{ what: string; begin: string }> = {
      what: "the stack's configuration; nothing was changed",
      begin: "gatehouse:",
    },
  ) {
    const masked = problems.map(({ key, message }) => ({ key, message: maskCredentials(message) }));
    const lines = masked.map((problem) => `  ${where.begin}${problem.key}: ${problem.message}`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`${count} in ${where.what}:\n${lines.join("\n")}`);
    this.problems = masked;
  }
}
