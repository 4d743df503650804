import { expect, it } from "vitest";
import { LateFlow } from "./call-end.ts";

function startFlow() {
  const calls: string[] = [];
  const own = { resume: () => void calls.push("resume"), cancel: () => void calls.push("cancel") };
  return { calls, own, late: new LateFlow() };
}

it("steers the answer once it has begun", () => {
  const { calls, own, late } = startFlow();
  late.resume();
  late.begin(() => own);
  late.resume();
  late.cancel();
  expect(calls).toEqual(["resume", "cancel"]);
});

it("does not begin for a reader that is gone", () => {
  const { calls, own, late } = startFlow();
  late.cancel();
  late.begin(() => {
    calls.push("begun");
    return own;
  });
  expect(calls).toEqual([]);
});

it("cancels an answer whose reader goes while it begins", () => {
  const { calls, own, late } = startFlow();
  late.begin(() => {
    late.cancel();
    return own;
  });
  expect(calls).toEqual(["cancel"]);
});
