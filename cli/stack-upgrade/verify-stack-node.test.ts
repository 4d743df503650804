import { describe, expect, it } from "vitest";
import type { SidecarStatus } from "./node-status.ts";
import { verifyStackNode, type VerifyVersionDependencies } from "./verify-stack-node.ts";
import { createWorldTime } from "./testing/world-time.ts";

const options = {
  version: "0.17.0",
  image: "evm/node:0.17.0",
  before: { height: 101, block: { number: 37, hash: "0xold" }, tellsVersion: true, autoPrune: false, metrics: false },
  mayBePaused: false,
  withinMs: 1_000,
  steadyMs: 0,
  everyMs: 100,
} as const;

/** Builds a sidecar's status of a healthy node, except for the conditions in `missing`. */
function describeNode(missing: readonly string[] = []): SidecarStatus {
  const types = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent"];
  const conditions = types.map((type) => ({
    type,
    status: missing.includes(type) ? ("False" as const) : ("True" as const),
    reason: "Said",
    message: `what the sidecar says of ${type}`,
  }));
  return { node: { answers: true, height: 150, binaryVersion: "0.17.0" }, conditions };
}

const report = async () => "0xold";

/** The sidecar returns these statuses, one per check, and then the last one. */
async function verify(said: readonly SidecarStatus[], blockHash: VerifyVersionDependencies["blockHash"]) {
  const { clock, advance } = createWorldTime();
  let checkCount = 0;
  const checkStatus = async () => {
    const now = said[Math.min(checkCount, said.length - 1)] ?? describeNode();
    checkCount += 1;
    return { ok: true, said: now } as const;
  };
  const verification = verifyStackNode(options, {
    checkNode: checkStatus,
    blockHash,
    clock,
    pause: async (ms) => advance(ms),
  });
  const why = await verification.then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  return { why, tookMs: clock.monotonicMs() };
}

describe("the verification of a node", () => {
  it("fails at once if an old block has a different hash, whatever else the sidecar reports", async () => {
    const failedVerification = await verify([describeNode(["NoRestartPending"])], async () => "0xnew");
    expect(failedVerification).toEqual({
      why: "its data differs: block 37, which had the hash 0xold, has the hash 0xnew",
      tookMs: 0,
    });
  });

  it("waits for an old block that is not returned yet", async () => {
    let asked = 0;
    const respondLate = async () => ((asked += 1) > 2 ? "0xold" : undefined);
    expect(await verify([describeNode()], respondLate)).toEqual({ why: undefined, tookMs: 200 });
  });

  it("fails at its time limit if the block is never returned", async () => {
    expect(await verify([describeNode()], async () => undefined)).toMatchObject({
      why: "within 1000 ms: its data differs: block 37, which had the hash 0xold, is not returned",
    });
  });

  it("waits until the sidecar reports no faults, and reports the remaining ones at its time limit", async () => {
    const wrong = describeNode(["ConfigReconciled"]);
    expect(await verify([wrong, wrong, describeNode()], report)).toEqual({ why: undefined, tookMs: 200 });
    expect(await verify([wrong], report)).toMatchObject({
      why: "within 1000 ms: ConfigReconciled: what the sidecar says of ConfigReconciled",
    });
  });
});
