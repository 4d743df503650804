import type { Engine } from "./engine.ts";
import { namesOf } from "./stack-place.ts";

/** What a job on a node's volume does. */
export type WorkspaceAction = "look" | "copy" | "restore" | "remove" | "discard";

/** The program in Gatehouse's image that does it. */
const program = "/app/cli/stack-upgrade/workspace-copy.main.ts";
const mountedAt = "/volume";

/** Runs a job on the node's volume, in a separate container, and returns what it printed. */
export function runWorkspaceJob(
  {
    prefix,
    toolImage,
    id,
  }: Readonly<{ prefix: string; toolImage: string; /** Of the copy; a look needs none. */ id: string | undefined }>,
  action: WorkspaceAction,
  { engine, withinMs }: Readonly<{ engine: Engine; withinMs: number }>,
): Promise<string> {
  const { job: name, volume } = namesOf({ prefix });
  return engine.run({
    name,
    image: toolImage,
    labels: { "io.gatehouse.stack": prefix },
    command: [program, action, mountedAt, ...(id === undefined ? [] : [id])],
    volumes: { [mountedAt]: volume },
    withinMs,
  });
}

/** The command by which a person removes all that an upgrade has left on the node's volume. Pure. */
export function formatDiscardCommand({
  prefix,
  toolImage,
  id,
}: Readonly<{ prefix: string; toolImage: string; id: string }>): string {
  const { volume } = namesOf({ prefix });
  return `docker run --rm --network none --user 0 --entrypoint node --volume ${volume}:${mountedAt} ${toolImage} ${program} discard ${mountedAt} ${id}`;
}
