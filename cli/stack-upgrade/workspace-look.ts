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

/** A job's findings on a node's volume. */
export type VolumeLook = Readonly<z.output<typeof shape>>;

/**
 * Reads what a job printed that looked at a volume.
 *
 * @throws {PlatformError} for something else.
 */
export function parseVolumeLook(printed: string, volume: string): VolumeLook {
  const { data } = shape.safeParse(parseJson(printed));
  if (data !== undefined) return data;
  throw new PlatformError(`the look at ${volume} printed something else than expected`, false);
}

/** A size for a person. Pure. */
export function formatSize(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/** What an earlier upgrade has left on a volume besides a copy, a warning each. Pure. */
export function listLeftovers({ leftovers, copies }: VolumeLook, volume: string): readonly string[] {
  return leftovers
    .filter((id) => !copies.includes(id))
    .map((id) => `${volume} still holds .gatehouse-upgrade/${id} of an earlier upgrade`);
}

/** Says what to do about a copy that is there already. Pure. */
export function explainCopy(holder: string, command: string): string {
  return `${holder} holds the copy of an upgrade that is not over: go on with it where it was begun (--continue); or, if it is of no use any more, remove it: ${command}`;
}
