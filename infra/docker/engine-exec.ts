import { z } from "zod";
import type { EngineClient } from "../preflight/engine-client.ts";

const created = z.object({ Id: z.string() });

/**
 * Runs a command in a container and returns its output (Docker Engine API, "Exec"). Allocates a TTY, so that the engine returns the raw stream instead of multiplexed frames.
 * Returns `undefined` if the container isn't running.
 */
export async function runInContainer(
  engine: EngineClient,
  container: string,
  command: readonly string[],
): Promise<string | undefined> {
  const body = { Cmd: command, Tty: true, AttachStdout: true, AttachStderr: true };
  const made = await engine(`/containers/${container}/exec`, { method: "POST", body });
  const id = created.safeParse(made.body).data?.Id;
  if (id === undefined) return undefined;
  const { body: printed } = await engine(`/exec/${id}/start`, { method: "POST", body: { Detach: false, Tty: true } });
  return typeof printed === "string" ? printed : undefined;
}
