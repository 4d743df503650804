import { expect, it } from "vitest";
import { LateFlow } from "./late-flow.ts";

function startFlow() {
  const told: string[] = [];
  const own = { resume: () => void told.push("resume"), cancel: () => void told.push("cancel") };
  return { told, own, late: new LateFlow() };
}

it("steers the answer once it has begun", () => {
  const { told, own, late } = startFlow();
  late.resume();
  late.begin(() => own);
  late.resume();
  late.cancel();
  expect(told).toEqual(["resume", "cancel"]);
});

it("does not begin for a reader that is gone", () => {
  const { told, own, late } = startFlow();
  late.cancel();
  late.begin(() => {
    told.push("begun");
    return own;
  });
  expect(told).toEqual([]);
});

it("cancels an answer whose reader goes while it begins", () => {
  const { told, own, late } = startFlow();
  late.begin(() => {
    late.cancel();
    return own;
  });
  expect(told).toEqual(["cancel"]);
});
