import { Provider } from "@pulumi/docker";
import { isSecret as isPulumiSecret, output, runtime, type Input } from "@pulumi/pulumi";
import type { Policies } from "@pulumi/policy";
import { DockerHost } from "../../package/pulumi-docker.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { createRecordingMocks, type Recorded } from "#infra/testing/recording-mocks.ts";

export { client as account } from "../support/payments/paying.ts";
export { tokenAddress as token };

/**
 * Names that docstring examples assume: accounts of the devnet, an operator's own policies, and a deployment recorded
 * by Pulumi's mocks.
 */
export const payee = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

export const signerKey = `0x${"4c".repeat(32)}`;

export const key: `0x${string}` = `0x${"4c".repeat(32)}`;

export const url = "http://127.0.0.1:3000";

export const ours: Policies = [];

const recorded: Recorded[] = [];
await runtime.setMocks(createRecordingMocks(recorded), "gatehouse", "test", false);

export const platform = new DockerHost("host", {
  provider: new Provider("engine", { host: "unix:///var/run/docker.sock" }),
  prefix: "pay",
  images: {
    gatehouse: "registry.example/gatehouse:1",
    devnet: "registry.example/devnet:1",
    pushgateway: "pushgateway:1",
  },
  publishAddress: "127.0.0.1",
  hostPorts: {},
  engineSocket: { path: "/var/run/docker.sock", group: undefined },
  protectData: true,
});

/** Whether Pulumi encrypts a value. */
export async function isSecret(value: Input<unknown>): Promise<boolean> {
  return await isPulumiSecret(output(value));
}

/** Waits until Pulumi has created everything that the examples requested, and returns it by type and name. */
export async function finishDeployment(): Promise<readonly string[]> {
  await runtime.disconnect();
  return recorded.map(({ type, name }) => `${type} ${name}`);
}
