/**
 * A startup error that an operator can fix: a port in use, a missing file, a wrong chain id. The message is self-contained: what is wrong,
 * where, what was expected, what to do next. It has one line per problem.
 */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly code = "startup_failed";
  readonly problems: readonly string[];

  constructor(problem: string | readonly string[], options?: ErrorOptions) {
    const problems = typeof problem === "string" ? [problem] : problem;
    super(problems.join("\n"), options);
    this.problems = problems;
  }
}
