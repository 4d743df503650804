/**
 * A start-up error that an operator can fix: a taken port, a file that is not there, a chain with another id.
 * The message stands alone: what is wrong, where, what was expected, what to do next. It has one line per problem.
 */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly code = "startup_failed";
  /** The problems, one for each line of the message. */
  readonly problems: readonly string[];

  constructor(problem: string | readonly string[], options?: ErrorOptions) {
    const problems = typeof problem === "string" ? [problem] : problem;
    super(problems.join("\n"), options);
    this.problems = problems;
  }
}
