import { maskCredentials } from "../mask.ts";

/** One thing that is wrong with a service's settings. */
export type SettingsProblem = Readonly<{
  /** Where it stands: the environment variable, or the key in the settings file. */
  name: string;
  /** What was found, what was expected and what to do, in one sentence or two. */
  message: string;
}>;

/** Settings that a service can't start with. `message` has one line per problem, all problems at once. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly code = "settings_invalid";
  readonly problems: readonly SettingsProblem[];

  constructor(service: string, problems: readonly SettingsProblem[]) {
    const lines = problems.map((problem) => `${service}: ${problem.name}: ${problem.message}`);
    super(maskCredentials(lines.join("\n")));
    this.problems = problems;
  }
}
