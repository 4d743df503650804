import { PlatformError, type StackPlatform, type StackWork } from "../stack-platform.ts";
import type { DockerTarget } from "../stack-record.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import type { Engine } from "./engine.ts";
import { checkDocker } from "./check-docker.ts";
import { buildNames, formatDiscardCommand, runWorkspaceJob } from "./workspace-job.ts";

const removeTimeoutMs = 600_000;

/** Engine errors about a conflicting container: its name is taken, or it uses the volume. */
const conflict = /container name "[^"]+" is already in use|last state: 'in_use'/;

/** Creates the platform for a Docker engine: it stops and starts containers, and copies the data in a separate container. */
export function createDockerPlatform(
  prefix: string,
  { engine: address }: Pick<DockerTarget, "engine">,
  engine: Engine,
): StackPlatform {
  const { node, sidecar, volume } = buildNames(prefix);
  const inspectNode = async () => (await engine.inspect(node))?.State;
  const stop = async () => {
    // Stops the sidecar first: it would restart the node, which doesn't respond while its data is copied.
    await engine.stop(sidecar);
    await engine.stop(node);
  };
  return {
    node,
    volume,
    plan: {
      stop: `Stop ${sidecar}, then ${node} within its grace period. From here on the gateway is down.`,
      copy: (copyWords) => `Copy the node's data and node.conf within ${volume}: ${copyWords}.`,
      update: "Run pulumi up.",
      clean: "Once the new version is verified, remove the copy: after that, there is no rollback to the old data.",
      back: "If anything fails before pulumi up: start both again. If anything fails later: stop both, set the old image, restore the old data and node.conf, run pulumi up. Then verify the old version. Blocks that the new version received are fetched again.",
    },
    imageProof: "by the id of its image alone",
    resumeCommand: formatDockerCommand(address, "exec", sidecar, "node", "/app/cli/gatehouse.js", "resume"),
    keepsFailedData: true,
    check: (image) => checkDocker({ prefix, address }, image, engine),
    see: async () => {
      const state = await inspectNode();
      return { isStopped: state?.Running !== true, lastStart: state?.StartedAt };
    },
    stop,
    end: async () => {
      await stop();
      const state = await inspectNode();
      return state && { exitCode: state.ExitCode, isOutOfMemory: state.OOMKilled };
    },
    // Pulumi doesn't start stopped containers whose definition is unchanged.
    start: async () => {
      for (const name of [node, sidecar]) {
        const container = await engine.inspect(name);
        if (container === undefined) throw new PlatformError(`the engine has no container ${name}`, false);
        if (!container.State.Running) await engine.start(name);
      }
    },
    copyData: async (record) => void (await runWorkspaceJob(record, "copy", record.limits.copyMs, engine)),
    restoreData: async (record) => void (await runWorkspaceJob(record, "restore", record.limits.copyMs, engine)),
    removeCopy: async (record) => void (await runWorkspaceJob(record, "remove", removeTimeoutMs, engine)),
    formatDiscardCommand: (record) => formatDiscardCommand(record, address, record.id),
    explainSpoiled: ({ id }) =>
      `${node} was started while the old data was restored into ${volume}, which may be incomplete. The data not restored yet is in .gatehouse-upgrade/${id}/restoring on that volume, the data that it replaced in .gatehouse-upgrade/${id}/aside. Stop the node and inspect them, or let it sync from scratch; continuing restores the rest of the copy, and uses the data as it is then`,
    runsImage: async (image) => {
      const found = (await engine.inspect(node))?.Image;
      return found !== undefined && found === (await engine.findImage(image));
    },
    repair: async (failed, _record, work) => conflict.test(failed ?? "") && (await removeStrays(prefix, engine, work)),
  };
}

/** Removes containers of an upgrade's `pulumi up` that Pulumi does not track, left by a killed update; returns whether there were any. */
async function removeStrays(
  prefix: string,
  engine: Engine,
  { pulumi, say }: Pick<StackWork, "pulumi" | "say">,
): Promise<boolean> {
  const known = new Set((await pulumi.readIds("docker:index/container:Container")).values());
  const made = ["node", "node-prime", "node-conf", "sidecar", "sidecar-files", "sidecar-live", "sidecar-secrets"];
  let wasRemoved = false;
  for (const name of made.map((each) => `${prefix}-${each}`)) {
    const found = await engine.inspect(name);
    if (found === undefined || known.has(found.Id)) continue;
    say(`A killed update left ${name}, which Pulumi does not track; removing it.`);
    // The container may be the node, which may be using the only copy of the data: let it exit within its grace period first.
    await engine.stop(name);
    await engine.remove(name);
    wasRemoved = true;
  }
  return wasRemoved;
}
