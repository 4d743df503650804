import type { HealthWatch } from "#health/health-watch.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import { readTies } from "#node/conf/ties.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigReading } from "../config/config-file.ts";
import type { NodePlace } from "../config/node-place.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { DataEvidence, DataMark } from "../state/data-evidence.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { PortHolders } from "../upgrade/node-power.ts";
import type { BlockLook, DataRpc } from "../upgrade/node-rpc.ts";
import type { VersionResolution } from "../version/version-resolution.ts";
import { digestPrograms, lookAtPlace } from "./data-place.ts";
import { mayBePruned, settledBlocks, type DataLook } from "./judge-data.ts";

export type LookAtDataDependencies = Readonly<{
  settings: SidecarSettings;
  place: Pick<NodePlace, "layout" | "read" | "fileDeadline">;
  driver: NodeDriver | undefined;
  health: Pick<HealthWatch, "current" | "facts">;
  rpc: DataRpc;
  references: readonly Pick<DataRpc, "findBlock">[];
  holders: Pick<PortHolders, "now">;
  observer: Readonly<{ version: () => VersionResolution }>;
  state: Pick<UpkeepState, "healthy" | "upgrade">;
  clock: Readonly<{ wallMs: () => number }>;
  signal: AbortSignal;
}>;

/** A look, and who runs the node: what the next mark is made of. */
export type DataFound = Readonly<{ look: DataLook; process: ProcessMark | undefined }>;

const unknown: BlockLook = { kind: "unknown" };

/** Looks at a node, its data and what else may be wrong with it. Changes nothing. */
export async function lookAtData({ mark }: DataEvidence, dependencies: LookAtDataDependencies): Promise<DataFound> {
  const { health, rpc, references, driver, state, signal } = dependencies;
  const { height, reference, failure } = health.current();
  const facts = health.facts();
  const isAnswering = facts.rpc !== undefined && facts.rpc.fault === undefined && failure === undefined;
  const isExpectedChain = facts.chain === "expected";
  const isMoving = facts.height === "advancing" || facts.height === "idle";
  const find = async (number: number | undefined) =>
    isAnswering && number !== undefined ? rpc.findBlock(number, signal) : unknown;
  const [block, genesis] = await Promise.all([find(mark?.block?.number), find(0)]);
  const isOther =
    mark?.block !== undefined && (block.kind === "gone" || (block.kind === "found" && block.hash !== mark.block.hash));
  const { number } = mark?.block ?? {};
  const elsewhere = isOther && number !== undefined ? references.map((each) => each.findBlock(number, signal)) : [];
  const [process] = await dependencies.holders.now();
  const healthy = state.healthy.get();
  const { reading, found, programs } = await lookAround(dependencies);
  return {
    process,
    look: {
      isAnswering,
      isWell: isAnswering && isExpectedChain && isMoving,
      isExpectedChain,
      height: isAnswering ? height : undefined,
      block,
      genesis,
      references: await Promise.all(elsewhere),
      referenceHeight: reference?.height,
      peers: isAnswering ? await rpc.peers(signal) : undefined,
      isSyncing: isAnswering ? await rpc.isSyncing(signal) : undefined,
      processes: (await driver?.processes?.()) ?? [],
      programs,
      place: found,
      configHash: reading.contentHash,
      healthyHash: healthy?.proof === "advanced" ? healthy.hash : undefined,
      isStranded: state.upgrade.get()?.end === "stranded",
    },
  };
}

async function lookAround({ place, settings }: Pick<LookAtDataDependencies, "place" | "settings">) {
  const { configPath } = place.layout();
  const reading: ConfigReading = await place.read();
  const dataPath = reading.ok
    ? findDataPath(settings.node.dataPath, configPath, reading.document.value)
    : settings.node.dataPath;
  const ties = reading.ok ? readTies(reading.document, configPath) : {};
  const found = await place.fileDeadline.call(`looking at ${dataPath ?? "the data"}`, () =>
    lookAtPlace(dataPath, ties),
  );
  const { binDirectory } = place.layout();
  const programs = await place.fileDeadline.call(`looking at ${binDirectory}`, () => digestPrograms(binDirectory));
  return { reading, found, programs };
}

/** What a node that runs well is remembered by. Programs are those that its process was started with, not those that were put in their place since. */
export async function takeMark(
  before: DataMark | undefined,
  { look, process }: DataFound,
  { rpc, observer, clock, signal }: LookAtDataDependencies,
): Promise<DataMark> {
  const { height = 0, genesis } = look;
  const number = Math.max(0, height - settledBlocks);
  const settled = await rpc.findBlock(number, signal);
  // What was exchanged during the look would be taken for what was there before.
  const known = before?.block && (await rpc.findBlock(before.block.number, signal));
  const isPruned = known?.kind === "gone" && mayBePruned(before?.block?.number ?? height, height);
  const holds = known === undefined || isPruned || (known.kind === "found" && known.hash === before?.block?.hash);
  const isSameProcess =
    process !== undefined && before?.process?.pid === process.pid && before.process.startTicks === process.startTicks;
  return {
    atMs: clock.wallMs(),
    height: Math.max(height, before?.height ?? 0),
    block: settled.kind === "found" && holds ? { number, hash: settled.hash } : before?.block,
    genesis: genesis.kind === "found" ? genesis.hash : before?.genesis,
    version: observer.version().version?.text,
    dataInode: look.place.dataInode,
    process,
    programs: isSameProcess ? before?.programs : look.programs,
  };
}
