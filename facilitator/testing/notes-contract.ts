import { expect, test } from "vitest";
import { payerNotesMax } from "../settlement/ownership.ts";
import { attempt, testClockMs, settled, settlement, type LedgerUnderTest } from "./ledger-contract.ts";

const owner = "the first";

function createScenes(open: (name: string) => Promise<LedgerUnderTest>) {
  let count = 0;
  return async () => {
    const ledgerUnderTest = await open(`notes-${(count += 1)}`);
    const { ownership } = ledgerUnderTest;
    const ledger = ledgerUnderTest.ledgerFor(async () => undefined);
    return { ...ledger, ownership, [Symbol.asyncDispose]: () => ledgerUnderTest[Symbol.asyncDispose]() };
  };
}

function testPayerLimit(scene: ReturnType<typeof createScenes>): void {
  test("limits a payer's verification records until the payer's settlements end", async () => {
    await using ledger = await scene();
    const { recordVerified } = ledger.ownership;
    for (let note = 0; note < payerNotesMax - 1; note += 1) await recordVerified(settlement, `seller ${note}`);
    expect(await recordVerified({ ...settlement, id: "0x01" }, owner)).toBe(true);
    expect(await recordVerified({ ...settlement, id: "0x02" }, owner)).toBe(false);
    expect(await recordVerified({ id: "0x02", payer: `0x${"77".repeat(20)}` }, owner)).toBe(true);
    await ledger.begin([{ settlement, attempt }]);
    expect(await recordVerified({ ...settlement, id: "0x02" }, owner)).toBe(false);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect(await recordVerified({ ...settlement, id: "0x02" }, owner)).toBe(true);
  });
}

/** Defines the tests of verification records that every settlement ledger must pass. `open` opens a separate empty ledger for a name. */
export function testNotes(open: (name: string) => Promise<LedgerUnderTest>): void {
  const scene = createScenes(open);
  testPayerLimit(scene);
  const [all, most] = [{ fromMs: 0, beforeMs: testClockMs + 1 }, 10];

  test("counts each seller's verifications of a payment until its records expire", async () => {
    await using ledger = await scene();
    const { recordVerified, verifiedOnce, forgetNotes } = ledger.ownership;
    const findOwners = async () => Promise.all([owner, "another"].map((name) => verifiedOnce(settlement.id, name)));
    expect(await findOwners()).toEqual([true, true]);
    await Promise.all([recordVerified(settlement, owner), recordVerified(settlement, "another")]);
    expect(await findOwners()).toEqual([true, true]);
    await recordVerified(settlement, owner);
    expect(await findOwners()).toEqual([false, true]);
    expect(await forgetNotes({ fromMs: 0, beforeMs: testClockMs }, most)).toBeUndefined();
    expect(await findOwners()).toEqual([false, true]);
    expect(await forgetNotes(all, most)).toBeUndefined();
    expect(await findOwners()).toEqual([true, true]);
  });

  test("keeps the owner's verifications of a recorded payment, and deletes others'", async () => {
    await using ledger = await scene();
    const { recordVerified, verifiedOnce, forgetNotes } = ledger.ownership;
    const findOwners = async () => Promise.all([owner, "another"].map((name) => verifiedOnce(settlement.id, name)));
    for (const name of [owner, owner, "another", "another"]) await recordVerified(settlement, name);
    await ledger.begin([{ settlement, attempt }]);
    await forgetNotes(all, most);
    expect(await findOwners()).toEqual([false, true]);
    await ledger.finish(new Map([[settlement.id, settled]]));
    await forgetNotes(all, most);
    expect(await findOwners()).toEqual([false, true]);
    await ledger.prune(testClockMs + 1, most);
    await forgetNotes(all, most);
    expect(await findOwners()).toEqual([true, true]);
  });

  test("deletes verification records in bounded steps, and returns where the next step starts", async () => {
    await using ledger = await scene();
    const { recordVerified, verifiedOnce, forgetNotes } = ledger.ownership;
    for (const name of [owner, owner, "another", "another"]) await recordVerified(settlement, name);
    const range = { fromMs: 0, beforeMs: testClockMs + 10 };
    const nextMs = await forgetNotes(range, 1);
    expect(nextMs, "records of one millisecond are not split").toBe(testClockMs);
    expect(await verifiedOnce(settlement.id, owner)).toBe(false);
    const lastMs = await forgetNotes({ ...range, fromMs: nextMs ?? Number.NaN }, 1);
    expect(await verifiedOnce(settlement.id, owner)).toBe(true);
    expect(await forgetNotes({ ...range, fromMs: lastMs ?? Number.NaN }, 1)).toBeUndefined();
  });

  test("deletes only a rejected verification", async () => {
    await using ledger = await scene();
    const { recordVerified, forgetRejected, verifiedOnce } = ledger.ownership;
    for (let times = 0; times < 3; times += 1) await recordVerified(settlement, owner);
    const verifications: boolean[] = [];
    for (let times = 0; times < 3; times += 1) {
      await forgetRejected(settlement.id, owner);
      verifications.push(await verifiedOnce(settlement.id, owner));
    }
    expect(verifications).toEqual([false, true, true]);
    await forgetRejected(settlement.id, owner);
    for (let times = 0; times < 2; times += 1) await recordVerified(settlement, owner);
    expect(await verifiedOnce(settlement.id, owner)).toBe(false);
  });
}
