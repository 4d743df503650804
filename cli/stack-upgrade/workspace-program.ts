/** The program in Gatehouse's image that works on a node's volume. */
export const workspaceProgram = "/app/cli/stack-upgrade/workspace-copy.main.ts";

/** Where a job has the volume. */
export const volumePlace = "/volume";

/** What Node says of a program that is not there. */
const missingModule = "Cannot find module";

/** Says how a job ended that did not do its work, by what it printed. Pure. */
export function explainJobEnd(
  name: string,
  { status, printed, program }: Readonly<{ status: number | string; printed: string; program: string }>,
): string {
  if (printed.includes(missingModule)) {
    return `the stack's image of Gatehouse is of an earlier release, without ${program}: run pulumi up with this release first`;
  }
  return `${name} ended with status ${status}: ${printed.trim().split("\n").at(-1) ?? ""}`;
}
