import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords } from "#daemon/command-line/shell-word.ts";
import type { CommandOutput } from "#daemon/command-line/command-output.ts";

/** Options that select a command's sidecar: by its URL, else its state directory, else its settings. */
export type ControlOptions = Readonly<{
  settings?: string | undefined;
  stateDirectory?: string | undefined;
  url?: string | undefined;
  tokenFile?: string | undefined;
}>;

/** Formats a command to the same sidecar, as an operator types it, without token and credentials. */
export function formatControlCommand(
  verb: "adopt" | "resume" | "status",
  { settings, stateDirectory, url, tokenFile }: ControlOptions,
): string {
  const named =
    url === undefined
      ? stateDirectory === undefined
        ? { "--settings": settings }
        : { "--state-directory": stateDirectory }
      : { "--url": URL.parse(url)?.origin, "--token-file": tokenFile };
  const options = Object.entries(named).flatMap(([option, value]) => (value === undefined ? [] : [option, value]));
  return `${formatOwnCommand(process.cwd())} ${formatShellWords([verb, ...options])}`;
}

export type Confirmation = Readonly<{
  yes: boolean;
  json?: boolean | undefined;
  confirm: ((question: string) => Promise<boolean>) | undefined;
}>;

type ConfirmationQuestion = Readonly<{ question: string; rejected: string }>;

/** Whether the command has `--yes` or the operator confirms. Otherwise, prints how to confirm without a terminal. */
export async function isConfirmed(
  { question, rejected }: ConfirmationQuestion,
  { yes, confirm }: Confirmation,
  output: CommandOutput,
): Promise<boolean> {
  if (yes || (await confirm?.(question)) === true) return true;
  output.error(`${rejected}.${confirm === undefined ? " Without a terminal, pass --yes." : ""}\n`);
  return false;
}
