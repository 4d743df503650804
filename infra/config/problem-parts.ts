import { maskCredentials } from "#daemon/mask.ts";

/** A change of the key that a problem is about. A stack's configuration has a command for it, a component's input has none. */
export type KeyChange =
  | Readonly<{ kind: "set"; key: string; secret?: boolean }>
  | Readonly<{ kind: "set-to"; key: string; value: string }>
  | Readonly<{ kind: "remove" }>;

/** What is wrong with a key and what to do, before it is a sentence. */
export type ProblemParts = Readonly<{
  /** What was found and what is allowed, with the mark that ends it; or that there is no such key. */
  wrong: string | Readonly<{ kind: "no-such-key" }>;
  /** What to do: words, and the changes that they ask for. */
  remedy: readonly (string | KeyChange)[];
}>;

/** The sentences for whoever wrote a stack's configuration. */
export function formatForStack({ wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "no such key; Pulumi.yaml lists the keys.";
  return `${begin} ${remedy.map((part) => (typeof part === "string" ? part : stackChange(part))).join("")}`;
}

/** The sentences for whoever wrote a component's inputs. */
export function formatForInputs({ wrong, remedy }: ProblemParts): string {
  const begin = typeof wrong === "string" ? wrong : "no such input.";
  return `${begin} ${remedy.map((part) => (typeof part === "string" ? part : inputChange(part))).join("")}`;
}

/** The parts without the credentials of a URL. */
export function maskParts({ wrong, remedy }: ProblemParts): ProblemParts {
  return {
    wrong: typeof wrong === "string" ? maskCredentials(wrong) : wrong,
    remedy: remedy.map((part) => (typeof part === "string" ? maskCredentials(part) : part)),
  };
}

function stackChange(change: KeyChange): string {
  if (change.kind === "remove") return " with `pulumi config rm`";
  if (change.kind === "set-to") return ` set \`pulumi config set ${change.key} ${change.value}\``;
  const options = `${change.secret === true ? "--secret " : ""}${change.key.includes(".") ? "--path " : ""}`;
  return ` with \`pulumi config set ${options}${change.key} …\``;
}

function inputChange(change: KeyChange): string {
  return change.kind === "set-to" ? ` set the input \`${change.key}\` to \`${change.value}\`` : "";
}
