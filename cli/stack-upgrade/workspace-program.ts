/** Program in Gatehouse's image that works on a node's volume. */
export const workspaceProgram = "/app/cli/stack-upgrade/workspace-copy.main.ts";

/** Path of the volume in a job's container. */
export const volumePlace = "/volume";

/** Node's message about a missing program. */
const missingModule = "Cannot find module";

/** Says what to do if the output shows that the image lacks a program; undefined if it does not. Pure. */
export function explainMissingProgram(printed: string, program: string): string | undefined {
  if (!printed.includes(missingModule)) return undefined;
  return `the stack's image of Gatehouse is of an earlier release, without ${program}: run pulumi up with this release first`;
}

/** Explains by its output why a job failed. Pure. */
export function explainJobEnd(
  name: string,
  { status, printed, program }: Readonly<{ status: number | string; printed: string; program: string }>,
): string {
  const missing = explainMissingProgram(printed, program);
  return missing ?? `${name} ended with status ${status}: ${printed.trim().split("\n").at(-1) ?? ""}`;
}
