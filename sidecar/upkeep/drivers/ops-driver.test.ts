import { expect, it } from "vitest";
import { createOpsDriver } from "./ops-driver.ts";

const restart = (stop: string, start: string) =>
  createOpsDriver({ stop: [stop], start: [start], timeoutMs: 10_000 }, () => import.meta.dirname).restart(
    AbortSignal.timeout(20_000),
  );

it("names the program once that is not there to stop the node and to start it", async () => {
  await expect(restart("./ops", "./ops")).rejects.toThrow(
    /^\.\/ops is not there; set the program's name or put it there\.$/,
  );
});

it("names what kept the node from stopping, where that is another thing", async () => {
  await expect(restart("./stop", "./start")).rejects.toThrow(
    /^\.\/start is not there; .* \(before that: \.\/stop is not there; .*\)$/,
  );
});
