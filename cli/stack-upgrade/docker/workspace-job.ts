import { randomBytes } from "node:crypto";
import { ownerLabel, type Engine } from "./engine.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import { volumeLocation, workspaceProgram } from "../workspace-report.ts";
import { buildNames } from "./docker-names.ts";

/** Actions of a job on a node's volume. */
export type WorkspaceAction = "copy" | "restore" | "remove" | "discard";

/** A copy of the data, by id, on a stack's node volume. */
export type WorkspaceLocation = Readonly<{ prefix: string; engine: string; toolImage: string; id: string }>;

const lookMs = 300_000;

/** Inspects the node's volume, even while another job uses it, and returns the job's output. */
export function checkVolume(
  { prefix, toolImage }: Pick<WorkspaceLocation, "prefix" | "toolImage">,
  { engine }: Readonly<{ engine: Engine }>,
): Promise<string> {
  const { look, volume } = buildNames({ prefix });
  const own = randomBytes(4).toString("hex");
  return engine.run({
    name: `${look}-${own}`,
    image: toolImage,
    labels: { "io.gatehouse.stack": prefix, [ownerLabel]: own },
    command: [workspaceProgram, "look", volumeLocation],
    volumes: { [volumeLocation]: volume },
    withinMs: lookMs,
  });
}

/** Runs a job on the node's volume in a separate container: one at a time, for one upgrade. */
export async function runWorkspaceJob(
  { prefix, toolImage, id }: Pick<WorkspaceLocation, "prefix" | "toolImage" | "id">,
  action: WorkspaceAction,
  { engine, withinMs }: Readonly<{ engine: Engine; withinMs: number }>,
): Promise<void> {
  const { job: name, volume } = buildNames({ prefix });
  await engine.run({
    name,
    image: toolImage,
    labels: { "io.gatehouse.stack": prefix, [ownerLabel]: id },
    command: [workspaceProgram, action, volumeLocation, id],
    volumes: { [volumeLocation]: volume },
    withinMs,
  });
}

/** Formats the command that removes everything an upgrade left on the node's volume. Pure. */
export function formatDiscardCommand({ prefix, engine, toolImage, id }: WorkspaceLocation): string {
  const { volume } = buildNames({ prefix });
  const options = ["--rm", "--network", "none", "--user", "0", "--entrypoint", "node", "--volume"];
  const job = [toolImage, workspaceProgram, "discard", volumeLocation, id];
  return formatDockerCommand(engine, "run", ...options, `${volume}:${volumeLocation}`, ...job);
}
