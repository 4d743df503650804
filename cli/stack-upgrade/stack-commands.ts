import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** Options that identify an upgrade from any working directory. */
export type CommandLocation = Readonly<{ stack: string; directory: string; configFile: string }>;

export function formatContinueCommand({ stack, directory, configFile }: CommandLocation): string {
  const place = ["--cwd", directory, "--config-file", configFile];
  return formatCommand("gatehouse", "upgrade", "--stack", stack, "--continue", ...place);
}

/** Formats the command that removes the lock of a finished update. Pure. */
export function formatCancelCommand({ stack, directory }: Pick<CommandLocation, "stack" | "directory">): string {
  return formatCommand("pulumi", "-C", directory, "cancel", "--yes", "--stack", stack);
}

export function formatRefreshCommand({ stack, directory, configFile }: CommandLocation): string {
  return formatCommand("pulumi", "-C", directory, "up", "--refresh", "--stack", stack, "--config-file", configFile);
}

/** Formats a `docker` command for a stack's engine, independent of docker's default. Pure. */
export function formatDockerCommand(engine: string, ...words: readonly string[]): string {
  return formatCommand("docker", "--host", engine, ...words);
}

/** Formats a kubectl command for a stack's cluster and namespace, independent of kubectl's defaults. Pure. */
export function formatKubectlCommand(
  { context, namespace }: Readonly<{ context?: string | undefined; namespace: string }>,
  ...words: readonly string[]
): string {
  const inContext = context === undefined ? [] : ["--context", context];
  return formatCommand("kubectl", ...inContext, "-n", namespace, ...words);
}

function formatCommand(...words: readonly string[]): string {
  return words.map(quoteShellWord).join(" ");
}
