import { log, runtime } from "@pulumi/pulumi";
import { expect, it, vi } from "vitest";
import { createRecordingMocks } from "../testing/recording-mocks.ts";

const inputs = {
  target: "kubernetes",
  renderTo: "rendered",
  gatehouseImage: "registry.example/gatehouse:1",
  devnetImage: "registry.example/devnet:1",
  devAccounts: true,
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
  observability: { prometheus: {} },
} as const;

it("a component logs warnings about its inputs on itself", async () => {
  await runtime.setMocks(createRecordingMocks([]), "gatehouse", "test", false);
  const warn = vi.spyOn(log, "warn").mockResolvedValue();
  const { Stack } = await import("./stack.ts");
  const stack = new Stack("pay", inputs);
  await stack.deployed();
  await runtime.disconnect();
  expect(warn.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(
      /^observability\.prometheus: .*set the input `observability\.alertmanager\.port` to `9093`\.$/,
    ),
    expect.stringMatching(
      /^observability\.runbookBaseUrl: .*set the input `observability\.runbookBaseUrl` to `<URL>`\.$/,
    ),
  ]);
  expect(warn.mock.calls.map(([, resource]) => resource)).toEqual([stack, stack]);
});
