import { describe, expect, it } from "vitest";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { LoadGate } from "./load-gate.ts";

const light = 1;
const heavy = 75;

/** A gate whose callers may each have two calls in flight, with these overall limits. */
function startGate(bounds: Readonly<Record<string, number>> = {}, loopDelayMs = 0) {
  const { overload, tiers } = testSettings({
    tiers: { public: { ...limitlessTier, concurrency: 2 } },
    overload: bounds,
  });
  const gate = new LoadGate(testSettings().upstream, { loopDelayMs: () => loopDelayMs });
  const waitMs = 60_000;
  return {
    enter: (caller: string, costUnits = light) => gate.enter(caller, tiers["public"]!, costUnits, overload),
    leave: (caller: string, costUnits = light) => gate.leave(caller, costUnits, overload),
    wait: (reason: "concurrency" | "heavy", caller: string, proceed: () => void) =>
      gate.wait({ reason, caller, tier: tiers["public"]!, overload, waitMs }, proceed),
    callsInFlight: () => gate.callsInFlight,
  };
}

describe("the load gate", () => {
  it("always allows each caller as many concurrent calls as its tier permits", () => {
    const { enter, leave } = startGate();
    for (let round = 0; round < 3; round += 1) {
      expect([enter("a"), enter("a"), enter("a")]).toEqual([undefined, undefined, "concurrency"]);
      expect(enter("b")).toBeUndefined();
      leave("a");
      expect([enter("a"), enter("a")]).toEqual([undefined, "concurrency"]);
      for (const caller of ["a", "a", "b"]) leave(caller);
    }
  });

  it("rejects calls beyond the total concurrency, and does not count the rejected ones", () => {
    const { enter, leave, callsInFlight } = startGate({ callsInFlight: 2 });
    expect([enter("a"), enter("b"), enter("c"), enter("c"), enter("c")]).toEqual([
      undefined,
      undefined,
      "overload",
      "overload",
      "overload",
    ]);
    expect(callsInFlight()).toBe(2);
    leave("a");
    leave("b");
    expect(callsInFlight()).toBe(0);
    expect([enter("c"), enter("c"), enter("c")]).toEqual([undefined, undefined, "concurrency"]);
  });

  it("admits no heavy calls beyond their own concurrency while light ones continue", () => {
    const { enter, leave } = startGate({ heavyParallel: 1 });
    expect([enter("a", heavy), enter("b", heavy), enter("b", light)]).toEqual([undefined, "heavy", undefined]);
    leave("b", light);
    expect(enter("b", heavy)).toBe("heavy");
    leave("a", heavy);
    expect(enter("b", heavy)).toBeUndefined();
  });

  it("lets waiting heavy calls enter round-robin, before later ones of a caller whose call just ended", async () => {
    const { enter, leave, wait } = startGate({ heavyParallel: 1 });
    const order: string[] = [];
    enter("a", heavy);
    for (const [caller, name] of ["a1", "a2", "b1", "c1"].map((each) => [each[0] ?? "", each] as const))
      wait("heavy", caller, () => order.push(`${name} ${enter(caller, heavy) ?? "entered"}`));
    for (const caller of ["a", "a", "b", "c"]) {
      leave(caller, heavy);
      expect(enter("a", heavy)).toBe("heavy");
      await Promise.resolve();
    }
    expect(order).toEqual(["a1 entered", "b1 entered", "c1 entered", "a2 entered"]);
  });

  it("lets a heavy call enter although one of a caller at its own limit waits", async () => {
    const { enter, wait, leave } = startGate({ heavyParallel: 1 });
    const entered: string[] = [];
    enter("c", heavy);
    wait("heavy", "a", () => entered.push(`a ${enter("a", heavy) ?? ""}`));
    for (let call = 0; call < 2; call += 1) enter("a");
    leave("c", heavy);
    await Promise.resolve();
    expect([entered, enter("b", heavy)]).toEqual([[], "heavy"]);
    wait("heavy", "b", () => entered.push(`b ${enter("b", heavy) ?? ""}`));
    await Promise.resolve();
    leave("b", heavy);
    leave("a");
    await Promise.resolve();
    expect(entered).toEqual(["b ", "a "]);
  });

  it("gives the heavy slot that a caller at its own limit frees to another caller's waiting call", async () => {
    const { enter, leave, wait } = startGate({ heavyParallel: 1 });
    const order: string[] = [];
    enter("a", heavy);
    enter("a");
    wait("concurrency", "a", () => order.push(`a ${enter("a", heavy) ?? "entered"}`));
    wait("heavy", "b", () => order.push(`b ${enter("b", heavy) ?? "entered"}`));
    await Promise.resolve();
    leave("a", heavy);
    await Promise.resolve();
    expect(order).toEqual(["a heavy", "b entered"]);
  });

  it("serves each heavy call under its own policy: a hot-reloaded limit does not apply to those that wait", async () => {
    const [before, after] = [1, 2].map((heavyParallel) => testSettings({ overload: { heavyParallel } }).overload);
    const tier = testSettings({ tiers: { public: limitlessTier } }).tiers["public"]!;
    const gate = new LoadGate(testSettings().upstream, { loopDelayMs: () => 0 });
    const attempts: string[] = [];
    const request = (caller: string, overload = before!) => {
      const rejection = gate.enter(caller, tier, heavy, overload);
      attempts.push(`${caller} ${rejection ?? "entered"}`);
      // Bounds the attempts, so that a gate that serves and queues the call forever fails.
      if (rejection !== "heavy" || attempts.length > 10) return;
      const queued = { reason: rejection, caller, tier, overload, waitMs: 60_000 };
      gate.wait(queued, () => request(caller, overload));
    };
    request("a");
    request("b");
    request("c", after);
    await Promise.resolve();
    expect(attempts).toEqual(["a entered", "b heavy", "c heavy", "c entered"]);
    for (const [caller, overload] of [
      ["a", before!],
      ["c", after!],
    ] as const)
      gate.leave(caller, heavy, overload);
    await Promise.resolve();
    expect(attempts.slice(4)).toEqual(["b entered"]);
  });

  it("rejects heavy calls under load while light ones continue", () => {
    const { enter, leave } = startGate({ heavyCallsInFlight: 1 });
    expect([enter("a"), enter("a", heavy), enter("b")]).toEqual([undefined, "overload", undefined]);
    leave("a");
    leave("b");
    expect(enter("a", heavy)).toBeUndefined();
  });

  it("rejects heavy calls while the event loop lags", () => {
    const { enter } = startGate({ loopDelayMs: 200 }, 201);
    expect([enter("a", heavy), enter("a")]).toEqual(["overload", undefined]);
  });

  it("keeps counting callers with calls in flight, however many other callers come and go", () => {
    const { enter, leave, callsInFlight } = startGate();
    enter("stays");
    enter("stays");
    enter("one of two");
    enter("one of two");
    leave("one of two");
    for (let other = 0; other < 25_000; other += 1) {
      expect(enter(`other ${other}`)).toBeUndefined();
      leave(`other ${other}`);
    }
    expect(callsInFlight()).toBe(3);
    expect(enter("stays")).toBe("concurrency");
    expect([enter("one of two"), enter("one of two")]).toEqual([undefined, "concurrency"]);
    leave("stays");
    expect([enter("stays"), enter("stays")]).toEqual([undefined, "concurrency"]);
    expect([enter("other 0"), enter("other 0"), enter("other 0")]).toEqual([undefined, undefined, "concurrency"]);
  });
});
