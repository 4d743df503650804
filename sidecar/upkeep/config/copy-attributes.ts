import { dirname } from "node:path";
import { runProcess } from "#daemon/process/bounded-process.ts";

/**
 * Copies a file's ACLs, extended attributes and security context to another file, whose content stays, by the `cp` of coreutils: Node has no calls for
 * them. Returns why it can't be done on this machine; undefined once it is done.
 *
 * @throws when `cp` could not run this time, so that the file is not replaced without them.
 */
export async function copyAttributes(from: string, to: string): Promise<string | undefined> {
  const copied = await runProcess({
    command: ["cp", "--preserve=all", "--no-preserve=timestamps,ownership", "--attributes-only", "--", from, to],
    directory: dirname(to),
    timeoutMs: 10_000,
    outputLimitBytes: 4_096,
    signal: new AbortController().signal,
  });
  if (copied.ok) return undefined;
  if (copied.reason === "NotFound" || copied.exitStatus !== undefined) return copied.message;
  throw new Error(copied.message);
}
