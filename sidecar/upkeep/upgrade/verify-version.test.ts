import { expect, test } from "vitest";
import type { RpcState } from "#health/rpc-state.ts";
import { startedUpgrade } from "../../testing/started-upgrade.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import { makeContext, readTestSettings } from "../../testing/upkeep-context.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import type { StopStartContext } from "./stop-and-start.ts";
import { verifyVersion } from "./verify-version.ts";

skipWaits();

const hash = `0x${"5".repeat(64)}`;

const record: UpgradeRecord = {
  ...startedUpgrade,
  before: { height: 10, block: { number: 2, hash }, autoPrune: true, tellsVersion: true },
};

const settings = readTestSettings({
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "1000",
});

const verify = (reported: Reported) => verifyVersion("to", record, false, node(reported));

type Reported = Readonly<{
  firstHeight?: number;
  /** Earlier block rate; the node produces one more block, then none. */
  chain?: Pick<RpcState, "cadence" | "idleAt">;
  version?: string | undefined;
  blockHash?: string | undefined;
  autoPrune?: boolean;
}>;

/** A node whose height rises at each check after its start. */
function node({ firstHeight = 20, chain, version = "0.16.2", blockHash = hash, autoPrune = true }: Reported) {
  let isStarted = false;
  let height = firstHeight;
  const health = (): RpcState => {
    if (!isStarted) return { answers: 0, failure: { reason: "ConnectionRefused", message: "", isPortClosed: true } };
    const rpcState: RpcState = { answers: 1, height, ...chain };
    // The height rises so slowly that no block is produced within the verification time.
    height = chain === undefined ? height + 0.001 : firstHeight + 1;
    return version === "" ? rpcState : { ...rpcState, binaryVersion: { text: version, isCurrent: true } };
  };
  return makeContext({
    settings,
    driver: {
      start: async () => {
        isStarted = true;
        return {};
      },
    },
    health: { check: async () => health() },
    rpc: { blockHash: async () => (blockHash === "" ? undefined : blockHash), peers: async () => 1 },
    nodeCli: { pruneInfo: async () => ({ ok: true, value: { autoPrune } }) },
    commits: () => ({}),
  }) as StopStartContext;
}

test("verifies a version that reports its name, has the old block, exceeds its old height and prunes", async () => {
  await expect(verify({})).resolves.toBeUndefined();
});

test("does not require a chain with irregular blocks to exceed its old height", async () => {
  const reportedNode: Reported = { firstHeight: 9, chain: { cadence: "irregular" } };
  await expect(verify(reportedNode)).resolves.toBeUndefined();
});

test.each<[string, Reported, string]>([
  ["runs as a different version", { version: "0.15.0" }, "it runs as 0.15.0, not as 0.16.2"],
  ["no longer reports its version", { version: "" }, "it does not report its version, which must be 0.16.2"],
  ["has a different old block", { blockHash: "0x6" }, `block 2, which had the hash ${hash}, has the hash 0x6`],
  ["has lost the old block", { blockHash: "" }, `block 2, which had the hash ${hash}, is not returned`],
  ["is below the old height", { firstHeight: 3 }, "it was 10 before the upgrade"],
  [
    "is stuck at its old height, on a chain that was idle when first checked and has had steady blocks since",
    { firstHeight: 9, chain: { cadence: "steady", idleAt: 10 } },
    "its height is 10; it was 10 before the upgrade",
  ],
  ["has stopped pruning", { autoPrune: false }, "auto-pruning was on, but is now off"],
])("does not verify a version that %s", async (_, reported, why) => {
  await expect(verify(reported)).rejects.toThrow(why);
});
