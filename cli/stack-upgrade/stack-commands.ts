import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords } from "#daemon/command-line/shell-word.ts";

export type CommandLocation = Readonly<{ stack: string; directory: string; configFile: string }>;

export function formatContinueCommand({ stack, directory, configFile }: CommandLocation): string {
  const locationArguments = ["--cwd", directory, "--config-file", configFile];
  return `${formatOwnCommand(process.cwd())} ${formatShellWords(["upgrade", "--stack", stack, "--continue", ...locationArguments])}`;
}

export function formatPulumiCommand(
  { stack, directory }: Omit<CommandLocation, "configFile">,
  ...words: readonly string[]
) {
  return formatShellWords(["pulumi", "-C", directory, ...words, "--stack", stack]);
}

export function formatDockerCommand(engine: string, ...words: readonly string[]): string {
  return formatShellWords(["docker", "--host", engine, ...words]);
}

export function formatKubectlCommand(
  { context, namespace }: Readonly<{ context?: string | undefined; namespace: string }>,
  ...words: readonly string[]
): string {
  const inContext = context === undefined ? [] : ["--context", context];
  return formatShellWords(["kubectl", ...inContext, "-n", namespace, ...words]);
}
