import { findDataPath, readNodeValues } from "#node/conf/node-values.ts";
import { findSettledBlock } from "#node/settled-block.ts";
import type { DataEvidence, DataMark, KnownBlock } from "../state/data-evidence.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";
import type { UpgradeContext } from "../upgrade/upgrade-context.ts";
import type { BlockCheck, DataRpc } from "../../upgrade/node-rpc.ts";
import { listPrograms, checkLocation } from "./data-location.ts";
import { type DataCheck, compareKnownBlock, hasKnownBlock } from "./assess-data.ts";
import type { ObservedData } from "./data-observation.ts";

export type DataContext = UpgradeContext &
  Readonly<{ data: ObservedData; references: readonly Pick<DataRpc, "findBlock">[] }>;

/** Result of a data check, with the node's process; the next mark is built from both. */
export type DataCheckResult = Readonly<{ check: DataCheck; process: ProcessMark | undefined }>;

const unknown: BlockCheck = { kind: "unknown" };

/** @throws {HangingFileSystem} if the file system that holds its data, a key or its programs hangs. */
export async function checkData({ mark }: DataEvidence, context: DataContext): Promise<DataCheckResult> {
  const { health, rpc, holders, driver, state, signal } = context;
  // Done first, because a node with a hung disk may leave every call without a response.
  const { reading, found, programs } = await findSurroundings(context);
  const { height, reference, failure } = health.current();
  const facts = health.facts();
  const wasAnswering = facts.rpc !== undefined && facts.rpc.fault === undefined && failure === undefined;
  const isExpectedChain = facts.chain === "expected";
  const isMoving = facts.height === "advancing" || facts.height === "idle";
  const find = async (number: number | undefined) =>
    wasAnswering && number !== undefined ? rpc.findBlock(number, signal) : unknown;
  const [block, genesis] = await Promise.all([find(mark?.block?.number), find(0)]);
  const elsewhere = mark?.block === undefined ? [] : compareElsewhere(mark.block, block, height, context);
  const [process] = await holders.now();
  // A node that exited during the check would be stored as healthy but without a process, like a node whose process the sidecar can't see,
  // and could never be restored.
  const hasEnded = wasAnswering && process === undefined && (await health.check(signal)).failure !== undefined;
  const isAnswering = wasAnswering && !hasEnded;
  const healthy = state.healthy.get();
  return {
    process,
    check: {
      isAnswering,
      isHealthy: isAnswering && isExpectedChain && isMoving,
      isExpectedChain,
      height: isAnswering ? height : undefined,
      block,
      genesis,
      references: await Promise.all(elsewhere),
      referenceHeight: reference?.height,
      peers: isAnswering ? await rpc.peers(signal) : undefined,
      isSyncing: isAnswering ? await rpc.isSyncing(signal) : undefined,
      processes: (await driver?.processes?.()) ?? [],
      programs: programs?.digest,
      programNames: programs?.names,
      place: found,
      configHash: reading.contentHash,
      healthyHash: healthy?.proof === "advanced" ? healthy.hash : undefined,
      isStranded: state.upgrade.get()?.end === "stranded",
    },
  };
}

function compareElsewhere(
  known: KnownBlock,
  block: BlockCheck,
  height: number | undefined,
  { references, signal }: DataContext,
): readonly Promise<BlockCheck>[] {
  const state = compareKnownBlock(known, block, height);
  return state === "replaced" || state === "missing"
    ? references.map((each) => each.findBlock(known.number, signal))
    : [];
}

async function findSurroundings({ place, settings }: DataContext) {
  const { pathsDirectory } = place.layout();
  const reading = await place.read();
  const dataPath = reading.ok
    ? findDataPath(settings.node.dataPath, pathsDirectory, reading.document.value)
    : settings.node.dataPath;
  const values = reading.ok ? readNodeValues(reading.document, pathsDirectory) : {};
  const found = await checkLocation(dataPath, values, place);
  const { binDirectory } = place.layout();
  const programs = await place.fileDeadline.call(`checking ${binDirectory}`, () => listPrograms(binDirectory));
  return { reading, found, programs };
}

/** Builds the mark that records a healthy node. The programs in it are those with which the process was started, not later replacements. */
export async function buildDataMark(
  before: DataMark | undefined,
  { check, process }: DataCheckResult,
  { rpc, observer, clock, signal }: DataContext,
): Promise<DataMark> {
  const { height = 0, genesis } = check;
  const number = findSettledBlock(height);
  const settled = await rpc.findBlock(number, signal);
  // Otherwise, data replaced during the check would be mistaken for the earlier data.
  const holds =
    before?.block === undefined ||
    hasKnownBlock(before.block, await rpc.findBlock(before.block.number, signal), height);
  const isSameProcess =
    process !== undefined && before?.process?.pid === process.pid && before.process.startTicks === process.startTicks;
  return {
    atMs: clock.wallMs(),
    height: Math.max(height, before?.height ?? 0),
    block: settled.kind === "found" && holds ? { number, hash: settled.hash } : before?.block,
    genesis: genesis.kind === "found" ? genesis.hash : before?.genesis,
    version: observer.version().version?.text,
    dataInode: check.place.dataInode,
    process,
    programs: isSameProcess ? before?.programs : check.programs,
    programNames: isSameProcess ? (before?.programNames ?? check.programNames) : check.programNames,
  };
}
