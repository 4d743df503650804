import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { PlatformError } from "./stack-platform.ts";

const shape = z.object({
  bytes: z.number(),
  freeBytes: z.number(),
  clones: z.boolean(),
  leftovers: z.array(z.string()),
  copies: z.array(z.string()),
  conf: z.string().optional(),
});

/** A job's findings about a node's volume. */
export type VolumeReport = Readonly<z.output<typeof shape>>;

/**
 * Parses the output of a job that inspected a volume.
 *
 * @throws {PlatformError} for any other output.
 */
export function parseVolumeReport(printed: string, volume: string): VolumeReport {
  const { data } = shape.safeParse(parseJson(printed));
  if (data !== undefined) return data;
  throw new PlatformError(`the look at ${volume} printed something else than expected`, false);
}

/** Formats a human-readable size. Pure. */
export function formatSize(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/** Lists warnings about leftovers of earlier upgrades on a volume, other than copies. Pure. */
export function listLeftovers({ leftovers, copies }: VolumeReport, volume: string): readonly string[] {
  return leftovers
    .filter((id) => !copies.includes(id))
    .map((id) => `${volume} still holds .gatehouse-upgrade/${id} of an earlier upgrade`);
}

/** Explains what to do about an existing copy. Pure. */
export function explainCopy(holder: string, command: string): string {
  return `${holder} holds the copy of an upgrade that is not over: go on with it where it was begun (--continue); or, if it is of no use any more, remove it: ${command}`;
}

/** Program in Gatehouse's image that works on a node's volume. */
export const workspaceProgram = "/app/cli/stack-upgrade/workspace-copy.main.ts";

/** Mount path of the volume in a job's container. */
export const volumeLocation = "/volume";

/** Node's message about a missing program. */
const missingModule = "Cannot find module";

/** Explains the remedy if the output shows that the image lacks a program; undefined otherwise. Pure. */
export function explainMissingProgram(printed: string, program: string): string | undefined {
  if (!printed.includes(missingModule)) return undefined;
  return `the stack's image of Gatehouse is of an earlier release, without ${program}: run pulumi up with this release first`;
}

/** Explains from a job's output why it failed. Pure. */
export function explainJobEnd(
  name: string,
  { status, printed, program }: Readonly<{ status: number | string; printed: string; program: string }>,
): string {
  const missing = explainMissingProgram(printed, program);
  return missing ?? `${name} ended with status ${status}: ${printed.trim().split("\n").at(-1) ?? ""}`;
}
