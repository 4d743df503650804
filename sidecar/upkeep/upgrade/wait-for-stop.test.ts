import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { begunUpgrade } from "../../testing/begun-upgrade.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import { observeUpgrade } from "./upgrade-observation.ts";
import { waitForStop } from "./wait-for-stop.ts";

skipWaits();

const request = { source: "/releases/0.16.2" };
const before = { height: 99, autoPrune: true, tellsVersion: true };
const plan = { steps: [], problems: [], warnings: [], digest: "d1" };
const right: UpgradeCheck = { plan, record: { ...begunUpgrade, before } };
const restarting: UpgradeCheck = { plan: { ...plan, problems: ["the node is being restarted"] }, record: undefined };

/** Waits with looks that find these one after the other, then always the last; returns the outcome and the trouble that was noted before each look. */
async function wait(...found: readonly UpgradeCheck[]) {
  const upgrade = observeUpgrade(undefined, undefined);
  const said: (string | undefined)[] = [];
  let looks = 0;
  const outcome = await waitForStop(
    { preCopy: { request, digest: "d1" } },
    { upgrade },
    {
      check: async () => {
        said.push(upgrade.now().trouble);
        looks += 1;
        return found[Math.min(looks, found.length) - 1] ?? right;
      },
      settings: { upgrade: { lateMs: 12_000 } },
      clock: systemClock,
      signal: new AbortController().signal,
    },
  );
  return { outcome, looks, said, left: upgrade.now().trouble };
}

test("a node whose data are copied is stopped at once where nothing speaks against it, and proved by how it is then", async () => {
  expect(await wait(right)).toMatchObject({ outcome: { kind: "done", before }, looks: 1 });
});

test("what may pass is waited for, and said", async () => {
  const { outcome, said, left } = await wait(restarting, right);
  expect(outcome).toEqual({ kind: "done", before });
  expect([said, left]).toEqual([[undefined, "the node is being restarted"], undefined]);
});

test("what does not pass within upgrade.lateMs ends it", async () => {
  const outcome = { kind: "failed", why: "the node is being restarted" };
  expect(await wait(restarting)).toMatchObject({ outcome, looks: 4, left: undefined });
});

test("another upgrade than the one that was agreed to does not come to the node", async () => {
  const another: UpgradeCheck = { ...right, plan: { ...plan, digest: "d2" } };
  expect(await wait(another)).toMatchObject({ outcome: { kind: "failed", why: expect.stringContaining("agreed to") } });
});
