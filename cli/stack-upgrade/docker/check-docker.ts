import { hasSpaceFor } from "#daemon/files/disk-space.ts";
import { clonedSizeText, formatSize } from "#sidecar/upgrade/data-size.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import type { PlatformCheck } from "../stack-platform.ts";
import { explainCopy, parseVolumeReport } from "../workspace-report.ts";
import type { Engine, EngineContainer } from "./engine.ts";
import { buildNames, formatDiscardCommand, runWorkspaceJob } from "./workspace-job.ts";

type DockerLocation = Readonly<{ prefix: string; address: string }>;

const checkTimeoutMs = 300_000;

export async function checkDocker(location: DockerLocation, image: string, engine: Engine): Promise<PlatformCheck> {
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
  { prefix }: DockerLocation,
): Generator<string> {
  if (container === undefined) yield `the engine has no container ${name}`;
  else if (container.Config.Labels?.["io.gatehouse.stack"] !== prefix)
    yield `${name} does not belong to a stack ${prefix}`;
  else if (!container.State.Running) yield `${name} is not running`;
}

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
      ...(lacksRoom ? [`a copy of the node's data takes ${bytes} bytes, but ${freeBytes} are free in ${volume}`] : []),
      ...copies.map((id) => explainCopy(volume, formatDiscardCommand(job, address, id))),
    ],
    warnings: leftovers
      .filter((id) => !copies.includes(id))
      .map((id) => `${volume} still contains .gatehouse-upgrade/${id} of an earlier upgrade`),
  };
}
