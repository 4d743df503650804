import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { PlatformError } from "./stack-platform.ts";

const reportSchema = z.object({
  bytes: z.number(),
  freeBytes: z.number(),
  /** Whether the volume's file system supports clones. */
  clones: z.boolean(),
  /** Ids of earlier upgrades that left copies or set-aside data. */
  leftovers: z.array(z.string()).readonly(),
  /** Leftovers with a copy, restored or not; as far as can be seen here, their upgrades have not finished. */
  copies: z.array(z.string()).readonly(),
  /** node.conf in base64; absent if there is none. */
  conf: z.string().optional(),
});

export type VolumeReport = Readonly<z.output<typeof reportSchema>>;

/** @throws {PlatformError} for anything but the output of a job that checked a volume. */
export function parseVolumeReport(printed: string, volume: string): VolumeReport {
  const { data } = reportSchema.safeParse(parseJson(printed));
  if (data !== undefined) return data;
  throw new PlatformError(`the check of ${volume} printed something unexpected`, false);
}

export function explainCopy(holder: string, command: string): string {
  return `${holder} contains the copy of an unfinished upgrade: continue that upgrade where it was started (--continue), or remove the copy if it is no longer needed: ${command}`;
}

export const workspaceProgram = "/app/cli/stack-upgrade/workspace-copy.main.ts";

export const volumeLocation = "/volume";

/** Explains the remedy if the output shows that the image lacks a program; undefined otherwise. Pure. */
export function explainMissingProgram(printed: string, program: string): string | undefined {
  if (!printed.includes("Cannot find module")) return undefined;
  return `the stack's Gatehouse image is from an earlier release, without ${program}: run pulumi up with this release first`;
}

export function explainJobEnd(
  name: string,
  { status, printed, program }: Readonly<{ status: number | string; printed: string; program: string }>,
): string {
  const missingProgram = explainMissingProgram(printed, program);
  return missingProgram ?? `${name} exited with status ${status}: ${printed.trim().split("\n").at(-1) ?? ""}`;
}
