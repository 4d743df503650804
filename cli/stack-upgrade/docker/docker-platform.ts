import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { Removed, StackPlatform, StrayDependencies } from "../stack-platform.ts";
import type { StackRecord } from "../stack-record.ts";
import type { DockerTarget } from "../stack-target.ts";
import { buildNames } from "./docker-names.ts";
import { EngineError, type Engine } from "./engine.ts";
import { checkDocker } from "./check-docker.ts";
import { describePendingCreations } from "./pending-creations.ts";
import { createDockerNode } from "./docker-node.ts";
import { formatDiscardCommand, runWorkspaceJob } from "./workspace-job.ts";

const done = { kind: "done" } as const;

/** Time limit for removing a copy. */
const removeMs = 600_000;

/** Engine errors about a conflicting container: its name is taken, or it uses the volume. */
const inTheWay = /container name "[^"]+" is already in use|last state: 'in_use'/;

/** Creates the platform for a Docker engine: it stops and starts containers, and copies the data in a separate container. */
export function createDockerPlatform(
  { engine: address }: Pick<DockerTarget, "engine">,
  { engine }: Readonly<{ engine: Engine }>,
): StackPlatform {
  const discard = (record: StackRecord) => formatDiscardCommand({ ...record, engine: address });
  return {
    look: ({ prefix }, { image }) => checkDocker({ prefix, address }, image, engine),
    ...createDockerNode(engine),
    start: (record) => startBoth(record, engine),
    removeCopy: (record) => removeCopy(record, { engine, discard }),
    runsImage: async (place, image) => {
      const [found, wanted] = [(await engine.inspect(buildNames(place).node))?.Image, await engine.findImage(image)];
      return found !== undefined && found === wanted;
    },
    removeStrays: async (record, said, dependencies) =>
      inTheWay.test(said) ? await removeStrays(listMadeContainers(record), { engine, ...dependencies }) : 0,
    listForgotten: async () => [],
    describeLeftovers: async (record, { pulumi }) => {
      const isKept = record.newRan && record.failure !== undefined;
      const pending = await describePendingCreations(
        { ...record, names: listMadeContainers(record) },
        { pulumi, engine },
      );
      return [
        ...(isKept
          ? [
              `What the new version made of the data is kept on the node's volume. Remove it once nobody needs it: ${discard(record)}`,
            ]
          : []),
        ...(pending === undefined ? [] : [pending]),
      ];
    },
  };
}

/** Lists the containers that an upgrade's `pulumi up` creates. */
function listMadeContainers(record: StackRecord): readonly string[] {
  const { node, sidecar } = buildNames(record);
  const deliveries = ["files", "live", "secrets"].map((kind) => `${sidecar}-${kind}`);
  return [node, `${node}-prime`, `${node}-conf`, sidecar, ...deliveries];
}

/** Starts the node and the sidecar: Pulumi doesn't start stopped containers whose definition is unchanged. */
async function startBoth(record: StackRecord, engine: Engine): Promise<StageOutcome> {
  const { node, sidecar } = buildNames(record);
  for (const name of [node, sidecar]) {
    const container = await engine.inspect(name);
    if (container === undefined) return { kind: "failed", why: `the engine has no container ${name}` };
    if (!container.State.Running) await engine.start(name);
  }
  return done;
}

async function removeCopy(
  record: StackRecord,
  { engine, discard }: Readonly<{ engine: Engine; discard: (record: StackRecord) => string }>,
): Promise<Removed> {
  try {
    await runWorkspaceJob(record, "remove", { engine, withinMs: removeMs });
    return done;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const note = `The copy of the data could not be removed (${error.message}). Remove it: ${discard(record)}`;
    return { kind: "done", note };
  }
}

/** Removes containers with these names that Pulumi does not track, left by a killed update; returns the number removed. */
async function removeStrays(
  names: readonly string[],
  { pulumi, engine, say }: StrayDependencies & Readonly<{ engine: Engine }>,
): Promise<number> {
  const known = new Set((await pulumi.readState()).containers.values());
  let removed = 0;
  for (const name of names) {
    const found = await engine.inspect(name);
    if (found === undefined || known.has(found.Id)) continue;
    say(`An update that was ended has left ${name}, which Pulumi does not know; removing it.`);
    // The container may be the node, which may be using the only copy of the data: let it exit within its grace period first.
    await engine.stop(name);
    await engine.remove(name);
    removed += 1;
  }
  return removed;
}
