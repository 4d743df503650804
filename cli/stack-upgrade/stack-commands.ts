import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords } from "#daemon/command-line/shell-word.ts";

export type CommandLocation = Readonly<{ stack: string; directory: string; configFile: string }>;

export function formatContinueCommand({ stack, directory, configFile }: CommandLocation): string {
  const locationArguments = ["--cwd", directory, "--config-file", configFile];
  return `${formatOwnCommand(process.cwd())} ${formatShellWords(["upgrade", "--stack", stack, "--continue", ...locationArguments])}`;
}

export function formatPulumiCommand(
  { stack, directory }: Omit<CommandLocation, "configFile">,
  ...args: readonly string[]
) {
  return formatShellWords(["pulumi", "-C", directory, ...args, "--stack", stack]);
}

export function formatDockerCommand(engine: string, ...args: readonly string[]): string {
  return formatShellWords(["docker", "--host", engine, ...args]);
}

export function formatKubectlCommand(
  { context, namespace }: Readonly<{ context?: string | undefined; namespace: string }>,
  ...args: readonly string[]
): string {
  const inContext = context === undefined ? [] : ["--context", context];
  return formatShellWords(["kubectl", ...inContext, "-n", namespace, ...args]);
}
