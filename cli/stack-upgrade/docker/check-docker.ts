import { hasRoomFor } from "#daemon/files/disk-space.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import type { PlatformCheck } from "../stack-platform.ts";
import { explainCopy, formatSize, listLeftovers, parseVolumeReport } from "../workspace-report.ts";
import { buildNames } from "./docker-names.ts";
import type { Engine, EngineContainer } from "./engine.ts";
import { formatDiscardCommand, checkVolume } from "./workspace-job.ts";

/** A stack's containers, and the engine that runs them. */
type DockerPlace = Readonly<{ prefix: string; address: string }>;

/** Checks a stack's containers and volume; leaves no changes. */
export async function checkDocker(place: DockerPlace, image: string, engine: Engine): Promise<PlatformCheck> {
  const containers = await findContainers(place, engine);
  const { toolImage } = containers;
  const data = toolImage === undefined ? undefined : await checkData({ ...place, toolImage }, engine);
  const isPulled = (await engine.findImage(image)) !== undefined;
  return {
    problems: [...containers.problems, ...(data?.problems ?? [])],
    warnings: [...(data?.warnings ?? []), ...(isPulled ? [] : [explainPull(place, image)])],
    toolImage,
    conf: data?.conf,
    copyWords: data?.copyWords ?? "",
    clones: data?.clones ?? false,
  };
}

function explainPull({ address }: DockerPlace, image: string): string {
  return `the engine does not have ${image} yet: pull it first (${formatDockerCommand(address, "pull", image)}), or the node stands still while pulumi up does`;
}

async function findContainers(place: DockerPlace, engine: Engine) {
  const names = buildNames(place);
  const [node, sidecar] = [await engine.inspect(names.node), await engine.inspect(names.sidecar)];
  const problems = [
    ...findContainerProblems(names.node, node, place),
    ...findContainerProblems(names.sidecar, sidecar, place),
    ...(node?.Mounts.some(({ Name }) => Name === names.volume) === true
      ? [
          `${names.node} sees the whole of its volume, as an earlier release deployed it; run pulumi up with this release first`,
        ]
      : []),
  ];
  return { problems, toolImage: sidecar?.Image };
}

function* findContainerProblems(
  name: string,
  container: EngineContainer | undefined,
  { prefix }: DockerPlace,
): Generator<string> {
  if (container === undefined) yield `the engine has no container ${name}`;
  else if (container.Config.Labels?.["io.gatehouse.stack"] !== prefix) yield `${name} belongs to no stack ${prefix}`;
  else if (!container.State.Running) yield `${name} does not run`;
}

async function checkData(place: DockerPlace & Readonly<{ toolImage: string }>, engine: Engine) {
  const { volume } = buildNames(place);
  const found = parseVolumeReport(await checkVolume(place, { engine }), volume);
  const { bytes, freeBytes, clones, copies, conf } = found;
  const size = formatSize(bytes);
  const discard = (id: string) => formatDiscardCommand({ ...place, engine: place.address, id });
  return {
    conf,
    clones,
    copyWords: clones ? `${size} are cloned, which takes seconds and no room at first` : `${size} are copied in full`,
    problems: [
      ...(!clones && !hasRoomFor(found)
        ? [`a copy of the node's data takes ${bytes} bytes, and ${freeBytes} are free in ${volume}`]
        : []),
      ...copies.map((id) => explainCopy(volume, discard(id))),
    ],
    warnings: listLeftovers(found, volume),
  };
}
