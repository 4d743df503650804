import { RunError } from "@pulumi/pulumi";
import { maskCredentials } from "#daemon/secrets/mask.ts";

export type ConfigProblem = Readonly<{
  /** Key in `Pulumi.<stack>.yaml` without the project prefix, e.g. `nodeVersion`. */
  key: string;
  /** Actual value, allowed values, and the remedy. */
  message: string;
  /** The message for the author of a component's inputs, which no command sets; absent if it is the same. */
  inputMessage?: string;
}>;

/** Part of a remedy: text, or a change of a key, worded for a stack's configuration and for the inputs of a component. */
type Remedy = string | ((about: string) => Readonly<{ stack: string; input: string }>);

/** New value of a key: the value itself, or a file that contains it; if neither is given, `…`, a placeholder for the reader to replace. */
type FoundValue = Readonly<{ value?: string; file?: string; secret?: boolean; path?: boolean }>;

/** Describes a problem; `wrong` states the actual and allowed values, with final punctuation. */
export function describeProblem(key: string, wrong: string, ...remedy: readonly Remedy[]): ConfigProblem {
  const texts = remedy.map((part) => (typeof part === "string" ? { stack: part, input: part } : part(key)));
  return {
    key,
    message: joinWords([wrong, texts.map(({ stack }) => stack).join("")]),
    inputMessage: joinWords([wrong, texts.map(({ input }) => input).join("")]),
  };
}

export function describeInvalid(key: string, wrong: string, given?: FoundValue): ConfigProblem {
  return describeProblem(key, wrong, "Correct it", setKey(key, given), ".");
}

export function describeMissing(key: string, wrong: string, given?: FoundValue): ConfigProblem {
  return describeProblem(key, wrong, "Set it", setKey(key, given), ".");
}

/** Describes a value that must not be set, with the command that removes it. */
export function describeUnneeded(key: string, wrong: string): ConfigProblem {
  return describeProblem(key, wrong, "Remove it", removeKey(key), ".");
}

/** Suggests the command for the change described by the preceding words; `key` is absent if the message already includes it. */
export function setKey(key?: string, given: FoundValue = {}): Remedy {
  return (about) => ({ stack: ` with \`${formatSet(key, given)}\``, input: formatOtherInput(about, key) });
}

export function removeKey(key?: string, { path }: Pick<FoundValue, "path"> = {}): Remedy {
  const command = joinWords(["pulumi config rm", isInside(key, path) ? "--path" : undefined, quoteKey(key)]);
  return (about) => ({ stack: ` with \`${command}\``, input: formatOtherInput(about, key) });
}

/** The full instruction; `said` precedes the command in a stack's message. */
export function setKeyTo(verb: "Set " | "set " | "", key: string, given: FoundValue = {}): Remedy {
  const to = given.value === undefined ? "" : ` to \`${given.value}\``;
  const input = `${verb === "" ? "set " : verb}the input \`${key}\`${to}`;
  return () => ({ stack: `${verb}\`${formatSet(key, given)}\``, input });
}

function formatSet(key: string | undefined, { value, file, secret, path }: FoundValue): string {
  const given = file === undefined ? value : `< ${file}`;
  return joinWords([
    "pulumi config set",
    secret === true ? "--secret" : undefined,
    isInside(key, path) ? "--path" : undefined,
    quoteKey(key),
    given ?? (key === undefined ? undefined : "…"),
  ]);
}

function isInside(key: string | undefined, path: boolean | undefined): boolean {
  return path ?? (key?.includes(".") === true || key?.includes("[") === true);
}

/** Quotes a key with brackets, which a shell would expand as a glob. */
function quoteKey(key: string | undefined): string | undefined {
  return key?.includes("[") === true ? `'${key}'` : key;
}

/** Formats the name of the input to change; empty if it is the one that the problem is about. */
function formatOtherInput(about: string, key: string | undefined): string {
  return key === undefined || findRootKey(key) === findRootKey(about) ? "" : ` with the input \`${key}\``;
}

function joinWords(words: readonly (string | undefined)[]): string {
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}

/** Returns the root input of a nested key: `limits` for `limits.node.memory`. */
export function findRootKey(key: string): string {
  return key.split(/[.[]/)[0] ?? key;
}

/**
 * A stack configuration that can't be deployed. `message` lists all problems, one per line; since this is a {@link RunError}, Pulumi prints
 * it without a stack trace. URL credentials are masked in both the problems and the message.
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
    where: Readonly<{ what: string; linePrefix: string }> = {
      what: "the stack's configuration; nothing was changed",
      linePrefix: "gatehouse:",
    },
  ) {
    const masked = problems.map(({ key, message, inputMessage }) => ({
      key,
      message: maskCredentials(message),
      ...(inputMessage === undefined ? {} : { inputMessage: maskCredentials(inputMessage) }),
    }));
    const lines = masked.map((problem) => `  ${where.linePrefix}${problem.key}: ${problem.message}`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    const summary = `${count} in ${where.what}:`;
    super([summary, ...lines].join("\n"));
    this.problems = masked;
    this.summary = summary;
  }
}
