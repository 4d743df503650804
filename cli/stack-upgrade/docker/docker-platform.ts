import { randomBytes } from "node:crypto";
import { PlatformError, type StackPlatform, type StackTask, type PlatformCheck } from "../stack-platform.ts";
import type { DockerTarget } from "../stack-record.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import { ownerLabel, type Engine, type EngineContainer } from "./engine.ts";
import { hasSpaceFor } from "#daemon/files/disk-space.ts";
import { clonedSizeText, formatSize } from "#sidecar/upgrade/data-size.ts";
import { explainCopy, parseVolumeReport, volumeLocation, workspaceProgram } from "../workspace-report.ts";

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
        if (container === undefined) throw new PlatformError(formatMissing(name), false);
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
  { pulumi, say }: Pick<StackTask, "pulumi" | "say">,
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

type DockerLocation = Readonly<{ prefix: string; address: string }>;

const checkTimeoutMs = 300_000;

async function checkDocker(location: DockerLocation, image: string, engine: Engine): Promise<PlatformCheck> {
  const names = buildNames(location.prefix);
  const [node, sidecar] = [await engine.inspect(names.node), await engine.inspect(names.sidecar)];
  const toolImage = sidecar?.Image;
  const data = toolImage === undefined ? undefined : await checkData(location, toolImage, engine);
  const isPulled = (await engine.findImage(image)) !== undefined;
  const pull = formatDockerCommand(location.address, "pull", image);
  const missingImage = `the engine has no image ${image}: pull it (${pull}); otherwise, pulumi up pulls it while the node is down`;
  return {
    problems: [
      ...findContainerProblems(names.node, node, location),
      ...findContainerProblems(names.sidecar, sidecar, location),
      ...(node?.Mounts.some(({ Name }) => Name === names.volume) === true
        ? [`${names.node} mounts its whole volume, as in an earlier release; run pulumi up with this release first`]
        : []),
      ...(data?.problems ?? []),
    ],
    warnings: [...(data?.warnings ?? []), ...(isPulled ? [] : [missingImage])],
    toolImage,
    conf: data?.conf,
    copyWords: data?.copyWords ?? "",
  };
}

function* findContainerProblems(
  name: string,
  container: EngineContainer | undefined,
  { prefix, address }: DockerLocation,
): Generator<string> {
  if (container === undefined) yield formatMissing(name);
  else if (container.Config.Labels?.["io.gatehouse.stack"] !== prefix)
    yield `${name} does not belong to a stack ${prefix}; select the stack that it belongs to (--stack)`;
  else if (!container.State.Running) yield `${name} is not running; run ${formatDockerCommand(address, "start", name)}`;
}

const formatMissing = (name: string) => `the engine has no container ${name}; run pulumi up to create it`;

async function checkData({ prefix, address }: DockerLocation, toolImage: string, engine: Engine) {
  const { volume } = buildNames(prefix);
  const job = { prefix, toolImage };
  const found = parseVolumeReport(await runWorkspaceJob(job, "look", checkTimeoutMs, engine), volume);
  const { bytes, freeBytes, clones, copies, leftovers, conf } = found;
  const lacksRoom = !clones && !hasSpaceFor(found);
  return {
    conf,
    copyWords: `${formatSize(bytes)}, ${clones ? clonedSizeText : "copied in full"}`,
    problems: [
      ...(lacksRoom
        ? [
            `a copy of the node's data takes ${bytes} bytes, but ${freeBytes} are free in ${volume}; free space on the engine's disk, or move the volume to a larger one`,
          ]
        : []),
      ...copies.map((id) => explainCopy(volume, formatDiscardCommand(job, address, id))),
    ],
    warnings: leftovers
      .filter((id) => !copies.includes(id))
      .map((id) => `${volume} still contains .gatehouse-upgrade/${id} of an earlier upgrade`),
  };
}

function buildNames(prefix: string) {
  return { node: `${prefix}-node`, sidecar: `${prefix}-sidecar`, volume: `${prefix}-node-workspace` };
}

/** A stack's node volume and the upgrade that uses it; no upgrade for a check. */
type WorkspaceLocation = Readonly<{ prefix: string; toolImage: string; id?: string }>;

/** An upgrade runs one job at a time; a check runs beside any other job. */
function runWorkspaceJob(
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

function formatDiscardCommand({ prefix, toolImage }: WorkspaceLocation, engine: string, id: string): string {
  const options = ["--rm", "--network", "none", "--user", "0", "--entrypoint", "node", "--volume"];
  const job = [toolImage, workspaceProgram, "discard", volumeLocation, id];
  return formatDockerCommand(engine, "run", ...options, `${buildNames(prefix).volume}:${volumeLocation}`, ...job);
}
