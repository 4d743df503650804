import { expect } from "vitest";
import type { StackRecord } from "../stack-record.ts";
import type { StackWorld } from "./stack-world.ts";
import { newImage, oldBlock, oldImage, torn } from "./world-state.ts";

/** Expects the stack's state before the upgrade: the old image on the old data. */
export function expectOld(world: StackWorld, record: StackRecord | undefined): void {
  expect(record?.end).toBe("rolled-back");
  expect([world.image(), world.state.config["gatehouse:nodeImage"]]).toEqual([oldImage, oldImage]);
  expect(world.areRunning()).toBe(true);
  expect(world.state.live[0]).toBe(oldBlock);
  expect(world.state.live).not.toContain(torn);
  expect(world.state.live.join()).not.toContain(newImage);
}
