import { maskCredentials } from "#daemon/secrets/mask.ts";

/** What a command sets a key to: a value, or what a file holds; by default, whatever the reader puts in the place of `…`. */
type Given = Readonly<{ value?: string; file?: string; secret?: boolean }>;

/** A change of a key that a problem advises. A stack's configuration has a command for it, a component's input has none. */
export type KeyChange =
  /** How to do what the words before it say; `key` is absent where the words name it. */
  | (Given & Readonly<{ kind: "set"; key?: string; path?: boolean }>)
  | Readonly<{ kind: "remove"; key?: string; path?: boolean }>
  /** What to do itself; `said`: the word that a stack's sentence has before the command. */
  | (Given & Readonly<{ kind: "set-to"; key: string; said: "Set " | "set " | "" }>);

/** What is wrong with a key and what to do, before it is a sentence. */
export type ProblemParts = Readonly<{
  /** What was found and what is allowed, with the mark that ends it; or that there is no such key. */
  wrong: string | Readonly<{ kind: "no-such-key" }>;
  /** What to do: words, and the changes that they request. */
  remedy: readonly (string | KeyChange)[];
}>;

/** The sentences for whoever wrote a stack's configuration. */
export function formatForStack({ wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "no such key; Pulumi.yaml lists the keys.";
  return joinWords([begin, remedy.map((part) => (typeof part === "string" ? part : stackChange(part))).join("")]);
}

/** The sentences for whoever wrote a component's inputs; `key` is the one that the problem is about. */
export function formatForInputs(key: string, { wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "no such input.";
  return joinWords([begin, remedy.map((part) => (typeof part === "string" ? part : inputChange(key, part))).join("")]);
}

/** The parts without the credentials of a URL. */
export function maskParts({ wrong, remedy }: ProblemParts): ProblemParts {
  return {
    wrong: typeof wrong === "string" ? maskCredentials(wrong) : wrong,
    remedy: remedy.map((part) => (typeof part === "string" ? maskCredentials(part) : part)),
  };
}

function stackChange(change: KeyChange): string {
  const command = `\`${joinWords(commandOf(change))}\``;
  return change.kind === "set-to" ? `${change.said}${command}` : ` with ${command}`;
}

function commandOf(change: KeyChange): readonly (string | undefined)[] {
  const { key } = change;
  const path = change.kind === "set-to" ? undefined : change.path;
  const isInside = path ?? key?.includes(".") === true;
  if (change.kind === "remove") return ["pulumi config rm", isInside ? "--path" : undefined, key];
  const { secret, value, file } = change;
  const given = file === undefined ? value : `< ${file}`;
  const options = [secret === true ? "--secret" : undefined, isInside ? "--path" : undefined];
  // A shell would take brackets for a pattern of file names.
  const word = key?.includes("[") === true ? `'${key}'` : key;
  return ["pulumi config set", ...options, word, given ?? (key === undefined ? undefined : "…")];
}

function joinWords(words: readonly (string | undefined)[]): string {
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}

/** None of a component's inputs is set by a command. The words before it do for the input that the problem is about. */
function inputChange(about: string, change: KeyChange): string {
  const { key } = change;
  if (change.kind === "set-to") {
    const to = change.value === undefined ? "" : ` to \`${change.value}\``;
    return `${change.said === "" ? "set " : change.said}the input \`${change.key}\`${to}`;
  }
  return key === undefined || rootOf(key) === rootOf(about) ? "" : ` with the input \`${key}\``;
}

/** The input that holds a value, however deep: `limits` of `limits.node.memory`. */
function rootOf(key: string): string {
  return key.split(".")[0] ?? key;
}
