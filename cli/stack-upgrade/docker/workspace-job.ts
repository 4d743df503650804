import { randomBytes } from "node:crypto";
import { ownerLabel, type Engine } from "./engine.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import { volumeLocation, workspaceProgram } from "../workspace-report.ts";

export function buildNames(prefix: string) {
  return { node: `${prefix}-node`, sidecar: `${prefix}-sidecar`, volume: `${prefix}-node-workspace` };
}

/** A stack's node volume and the upgrade that uses it; no upgrade for a check. */
type WorkspaceLocation = Readonly<{ prefix: string; toolImage: string; id?: string }>;

/** An upgrade runs one job at a time; a check runs beside any other job. */
export function runWorkspaceJob(
  { prefix, toolImage, id }: WorkspaceLocation,
  action: "look" | "copy" | "restore" | "remove",
  withinMs: number,
  engine: Engine,
): Promise<string> {
  const { node, volume } = buildNames(prefix);
  const owner = id ?? randomBytes(4).toString("hex");
  return engine.run({
    name: id === undefined ? `${node}-look-${owner}` : `${node}-upgrade`,
    image: toolImage,
    labels: { "io.gatehouse.stack": prefix, [ownerLabel]: owner },
    command: [workspaceProgram, action, volumeLocation, ...(id === undefined ? [] : [id])],
    volumes: { [volumeLocation]: volume },
    withinMs,
  });
}

export function formatDiscardCommand({ prefix, toolImage }: WorkspaceLocation, engine: string, id: string): string {
  const options = ["--rm", "--network", "none", "--user", "0", "--entrypoint", "node", "--volume"];
  const job = [toolImage, workspaceProgram, "discard", volumeLocation, id];
  return formatDockerCommand(engine, "run", ...options, `${buildNames(prefix).volume}:${volumeLocation}`, ...job);
}
