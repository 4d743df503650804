import { z } from "zod";
import type { FilesInForce } from "#daemon/files/files-in-force.ts";
import { watchFile } from "#daemon/files/watched-file.ts";
import { createJsonRpcClient, NoJsonRpcAnswerError, type CallJsonRpc } from "#daemon/http/json-rpc-client.ts";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../settings.ts";
import { judgeVersion } from "./needed-version.ts";
import { readReleaseList, type ReleaseList } from "./release-list.ts";

export type ReleaseWatchDependencies = Readonly<{
  version: () => NodeVersion | undefined;
  health: Readonly<{ current: () => Readonly<{ height?: number }> }>;
  files: FilesInForce;
  board: ConditionBoard;
  clock: Clock;
  log: Logger;
}>;

/** Time between two queries for the rate, which changes slowly; and the time after one without an answer. */
const rateAgainMs = 600_000;
const noRateAgainMs = 30_000;
const rateTimeoutMs = 10_000;
const answerBytesMax = 16_777_216;

/** Blocks that the rate is taken over. */
const spanBlocks = 10_000;

const block = z.object({ timestamp: z.string().regex(/^0x[0-9a-f]{1,13}$/i) });

const watchedLook: WatchedLook = {
  what: "The comparison of the node's version with the release list",
  types: ["VersionSufficient"],
};

/**
 * Compares the running version with the settings' release list at intervals, and rereads the list when its file changes. Does nothing without a
 * list. Disposing of it ends the watch.
 *
 * @throws {StartupError} when the list can't be used at the start.
 */
export function watchReleases(
  { upgrade, node, health: { intervalMs } }: Pick<SidecarSettings, "upgrade" | "node" | "health">,
  { version, health, files, board, clock, log }: ReleaseWatchDependencies,
): AsyncDisposable {
  const { releasesPath: path, warnBeforeSeconds } = upgrade;
  const stopping = new AbortController();
  const { signal } = stopping;
  if (path === undefined) return { [Symbol.asyncDispose]: async () => undefined };
  let list: ReleaseList = [];
  const file = watchFile(
    { path, setting: "upgrade.releasesPath", read: readReleaseList, apply: (read: ReleaseList) => void (list = read) },
    { log, files },
  );
  const call = createJsonRpcClient({ url: node.httpUrl, timeoutMs: rateTimeoutMs, answerBytesMax });
  let lookedMs: number | undefined;
  let againMs = 0;
  // A node that does not answer now makes its blocks as quickly as before.
  let secondsPerBlock: number | undefined;
  const look = async () => {
    const { height } = health.current();
    const nowMs = clock.monotonicMs();
    if (height !== undefined && (lookedMs === undefined || nowMs - lookedMs > againMs)) {
      lookedMs = nowMs;
      const measured = await readSecondsPerBlock(height, call, signal);
      againMs = measured === undefined ? noRateAgainMs : rateAgainMs;
      secondsPerBlock = measured ?? secondsPerBlock;
    }
    if (signal.aborted) return;
    const running = { version: version(), height, secondsPerBlock, nowMs: clock.wallMs() };
    board.set(judgeVersion(list, running, warnBeforeSeconds));
  };
  const failed = (error: unknown) => reportFailedLook(watchedLook, error, board);
  const watching = poll({ name: "releases", failed, intervalMs, signal }, look, { log });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await watching;
      await file[Symbol.asyncDispose]();
    },
  };
}

/** Reads the seconds that a node's chain takes for a block, from the times of its head and of a block some way below; undefined if the node does not answer. */
async function readSecondsPerBlock(
  height: number,
  call: CallJsonRpc,
  signal: AbortSignal,
): Promise<number | undefined> {
  // The genesis block may be much older than the first one that was made.
  const span = Math.min(spanBlocks, height - 1);
  if (span < 1) return undefined;
  const [first, last] = await Promise.all([readTime(height - span, call, signal), readTime(height, call, signal)]);
  if (first === undefined || last === undefined || last <= first) return undefined;
  return (last - first) / span;
}

async function readTime(number: number, call: CallJsonRpc, signal: AbortSignal): Promise<number | undefined> {
  try {
    const answer = await call("eth_getBlockByNumber", [`0x${number.toString(16)}`, false], signal);
    const parsed = block.safeParse(answer.ok ? answer.result : undefined);
    return parsed.success ? Number(parsed.data.timestamp) : undefined;
  } catch (error) {
    if (!(error instanceof NoJsonRpcAnswerError)) throw error;
    return undefined;
  }
}
