import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** What a person has to name so that a command means the same upgrade wherever it is typed. */
export type CommandPlace = Readonly<{ stack: string; directory: string; configFile: string }>;

/** The command that goes on with an upgrade. Pure. */
export function formatContinueCommand({ stack, directory, configFile }: CommandPlace): string {
  const options = ["--stack", stack, "--continue", "--cwd", directory, "--config-file", configFile];
  return joinWords("gatehouse", "upgrade", ...options);
}

/** The command that removes the lock of an update that is no more. Pure. */
export function formatCancelCommand({ stack, directory }: Pick<CommandPlace, "stack" | "directory">): string {
  return joinWords("pulumi", "-C", directory, "cancel", "--yes", "--stack", stack);
}

/** The command that takes what the engine really runs into Pulumi's state, and updates that. Pure. */
export function formatRefreshCommand({ stack, directory, configFile }: CommandPlace): string {
  return joinWords("pulumi", "-C", directory, "up", "--refresh", "--stack", stack, "--config-file", configFile);
}

/** The command that has Pulumi forget the creations in which updates were killed, and look at these resources alone. Pure. */
export function formatClearCommand({ stack, directory, configFile }: CommandPlace, urns: readonly string[]): string {
  const options = ["--clear-pending-creates", "--yes", "--stack", stack, "--config-file", configFile];
  return joinWords("pulumi", "-C", directory, "refresh", ...options, ...urns.flatMap((urn) => ["--target", urn]));
}

/** A command for Docker's command line, to the engine of a stack whatever else it would use by itself. Pure. */
export function formatDockerCommand(engine: string, ...words: readonly string[]): string {
  return joinWords("docker", "--host", engine, ...words);
}

/** A command for kubectl, to the cluster and namespace of a stack whatever else it would use by itself. Pure. */
export function formatKubectlCommand(
  { context, namespace }: Readonly<{ context?: string | undefined; namespace: string }>,
  ...words: readonly string[]
): string {
  const place = [...(context === undefined ? [] : ["--context", context]), "-n", namespace];
  return joinWords("kubectl", ...place, ...words);
}

function joinWords(...words: readonly string[]): string {
  return words.map(quoteShellWord).join(" ");
}
