import type { CommandOutput } from "#daemon/command-line/command-output.ts";

/** Consent to what a command would have the sidecar do. */
export type Agreement = Readonly<{
  /** Agrees without asking for confirmation. */
  yes: boolean;
  /** Prints one JSON document, and asks nobody. */
  json?: boolean | undefined;
  /** Asks a person at the terminal; undefined if there is none. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
}>;

/** Question to a person, and the start of the message about a no: "adopt: nothing was changed". */
export type AgreementQuestion = Readonly<{ question: string; refused: string }>;

/** Whether the command was given `--yes`, or a person agrees now. If not, prints that, and how to agree without a terminal. */
export async function isAgreedTo(
  { question, refused }: AgreementQuestion,
  { yes, confirm }: Agreement,
  output: CommandOutput,
): Promise<boolean> {
  if (yes || (await confirm?.(question)) === true) return true;
  output.error(`${refused}.${confirm === undefined ? " Without a terminal, say --yes." : ""}\n`);
  return false;
}
