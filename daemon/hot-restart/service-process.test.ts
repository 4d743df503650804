import { expect, test } from "vitest";
import { startServiceProcess } from "./service-process.ts";

test("a service whose binary can't be run counts as exited, with the reason", async () => {
  const service = startServiceProcess("gateway", "/nowhere.json5", { LONG: "x".repeat(1_000_000) });
  expect(await service.reached("prepared")).toBe(false);
  expect(await service.ended).toBe(1);
  expect(service.lastWords()).toMatch(/can't be run: spawn E2BIG$/);
});
