import type { CommandOutput } from "#daemon/command-line/command-output.ts";

/** Consent to a command's effects. */
export type Agreement = Readonly<{
  /** Skips the confirmation prompt. */
  yes: boolean;
  /** Prints one JSON document and doesn't prompt. */
  json?: boolean | undefined;
  /** Prompts the operator at the terminal; undefined if there is no terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
}>;

/** Question to the operator, and the start of the message after a no: "adopt: nothing was changed". */
export type AgreementQuestion = Readonly<{ question: string; refused: string }>;

/** Whether the command has `--yes` or the operator confirms. If neither, prints that, and how to confirm without a terminal. */
export async function isAgreedTo(
  { question, refused }: AgreementQuestion,
  { yes, confirm }: Agreement,
  output: CommandOutput,
): Promise<boolean> {
  if (yes || (await confirm?.(question)) === true) return true;
  output.error(`${refused}.${confirm === undefined ? " Without a terminal, pass --yes." : ""}\n`);
  return false;
}
