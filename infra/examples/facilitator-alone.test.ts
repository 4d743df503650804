import { runtime } from "@pulumi/pulumi";
import { expect, test } from "vitest";
import { createRecordingMocks, type Recorded } from "../testing/recording-mocks.ts";

test("deploys only a facilitator from a program that uses the components", async () => {
  const recorded: Recorded[] = [];
  await runtime.setMocks(createRecordingMocks(recorded), "shop", "test", false);
  runtime.setAllConfig({
    "shop:chainId": "1672",
    "shop:gatehouseImage": "registry.example/gatehouse:1",
    "shop:rpcUrl": "http://node.example:8545",
    "shop:signerPrivateKey": `0x${"4c".repeat(32)}`,
    "shop:token": "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
    "shop:minAmount": "10000",
    "shop:payee": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  });
  await import("./facilitator-alone.ts");
  await runtime.disconnect();
  const containers = recorded.filter(({ type }) => type === "docker:index/container:Container");
  expect(containers.map(({ name }) => name)).toEqual(["pay-facilitator-files", "pay-facilitator"]);
  expect(containers[1]?.inputs).toMatchObject({ image: "registry.example/gatehouse:1", command: ["facilitator"] });
  expect(JSON.stringify(containers[1]?.inputs)).not.toContain("4c4c4c");
});
