import { maskCredentials } from "#daemon/secrets/mask.ts";

/** New value of a key: the value itself, or a file that contains it; if neither is given, `…`, a placeholder for the reader to replace. */
type Given = Readonly<{ value?: string; file?: string; secret?: boolean }>;

/** A key change that a problem suggests. For a stack's configuration, there is a command for this change; for a component's input, there is none. */
export type KeyChange =
  /** Command for the change described by the words before it; `key` is absent if the message already includes it. */
  | (Given & Readonly<{ kind: "set"; key?: string; path?: boolean }>)
  | Readonly<{ kind: "remove"; key?: string; path?: boolean }>
  /** The whole instruction; `said` is the word that precedes the command in a stack's message. */
  | (Given & Readonly<{ kind: "set-to"; key: string; said: "Set " | "set " | "" }>);

/** A problem with a key and its remedy, before formatting. */
export type ProblemParts = Readonly<{
  /** Actual and allowed values, including final punctuation; or a statement that no such key exists. */
  wrong: string | Readonly<{ kind: "no-such-key" }>;
  /** Text interleaved with key changes. */
  remedy: readonly (string | KeyChange)[];
}>;

/** Formats a problem for the author of a stack's configuration. */
export function formatForStack({ wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "unknown key; Pulumi.yaml lists the keys.";
  return joinWords([begin, remedy.map((part) => (typeof part === "string" ? part : formatStackChange(part))).join("")]);
}

/** Formats a problem for the author of a component's inputs; `key` is the input at fault. */
export function formatForInputs(key: string, { wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "unknown input.";
  return joinWords([
    begin,
    remedy.map((part) => (typeof part === "string" ? part : formatInputChange(key, part))).join(""),
  ]);
}

/** Masks credentials in URLs. */
export function maskParts({ wrong, remedy }: ProblemParts): ProblemParts {
  return {
    wrong: typeof wrong === "string" ? maskCredentials(wrong) : wrong,
    remedy: remedy.map((part) => (typeof part === "string" ? maskCredentials(part) : part)),
  };
}

function formatStackChange(change: KeyChange): string {
  const command = `\`${joinWords(buildCommand(change))}\``;
  return change.kind === "set-to" ? `${change.said}${command}` : ` with ${command}`;
}

function buildCommand(change: KeyChange): readonly (string | undefined)[] {
  const { key } = change;
  const path = change.kind === "set-to" ? undefined : change.path;
  const isInside = path ?? (key?.includes(".") === true || key?.includes("[") === true);
  // A shell would expand brackets as a glob.
  const word = key?.includes("[") === true ? `'${key}'` : key;
  if (change.kind === "remove") return ["pulumi config rm", isInside ? "--path" : undefined, word];
  const { secret, value, file } = change;
  const given = file === undefined ? value : `< ${file}`;
  const options = [secret === true ? "--secret" : undefined, isInside ? "--path" : undefined];
  return ["pulumi config set", ...options, word, given ?? (key === undefined ? undefined : "…")];
}

function joinWords(words: readonly (string | undefined)[]): string {
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}

/**
 * Formats a change as the name of the input to change, because inputs have no command. If it is the input that the problem is about, the
 * words before it suffice.
 */
function formatInputChange(about: string, change: KeyChange): string {
  const { key } = change;
  if (change.kind === "set-to") {
    const to = change.value === undefined ? "" : ` to \`${change.value}\``;
    return `${change.said === "" ? "set " : change.said}the input \`${change.key}\`${to}`;
  }
  return key === undefined || findRootKey(key) === findRootKey(about) ? "" : ` with the input \`${key}\``;
}

/** Returns the root input of a nested key: `limits` for `limits.node.memory`. */
export function findRootKey(key: string): string {
  return key.split(/[.[]/)[0] ?? key;
}
