import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runInTurn } from "./run-in-turn.ts";

async function lockFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-turn-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return join(directory, "lock");
}

test("does one work after the other, and goes on after one that failed", async () => {
  const path = await lockFile();
  const { promise, resolve } = Promise.withResolvers<void>();
  const events: string[] = [];
  const first = runInTurn(path, 10_000, async () => {
    events.push("first begins");
    await promise;
    events.push("first ends");
    throw new Error("no good");
  });
  const second = runInTurn(path, 10_000, async () => void events.push("second"));
  resolve();
  await expect(first).rejects.toThrow("no good");
  await second;
  expect(events).toEqual(["first begins", "first ends", "second"]);
});

test("does nothing when others have it for too long, and says by which file", async () => {
  const path = await lockFile();
  await runInTurn(path, 10_000, async () => {
    await expect(runInTurn(path, 50, () => Promise.reject(new Error("done")))).rejects.toThrow(
      `not within 50 ms: the turn under ${path}`,
    );
  });
});
