import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { tokenAddress } from "#devnet/token/address.ts";

/** A stack's configuration as Pulumi passes it to the program. */
export type RawConfig = Readonly<Record<string, string>>;

export const digest = `sha256:${"a".repeat(64)}`;

/** A remote engine: the machine that runs the tests needs no socket. */
export const onDocker = { dockerEngine: "tcp://engine.example:2376" };

export const onKubernetes = {
  target: "kubernetes",
  gatehouseImage: `registry.example/gatehouse@${digest}`,
  devnetImage: `registry.example/devnet@${digest}`,
};

export const devnet = { devAccounts: "true", tokenAddress };

export const signerPrivateKey = `0x${"17".repeat(32)}`;

/** A real node, complete on Kubernetes; on Docker it needs a `hostIp`. */
export const realNode = {
  nodeImage: `registry.example/node:0.16.2@${digest}`,
  nodeUser: "1000",
  signerPrivateKey,
  domainKey: "the domain key",
  stabilizingKey: "the stabilizing key",
  payTo: `0x${"01".repeat(20)}`,
  tokenAddress: `0x${"02".repeat(20)}`,
};

/** Formats values as Pulumi does, without the project's prefix: lists and objects in JSON. Omits undefined ones. */
export function toRawConfig(values: Readonly<Record<string, unknown>>): RawConfig {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [
        key.replace("gatehouse:", ""),
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
  );
}

/** Reads the configuration in a `Pulumi.<stack>.yaml`. */
export function readStackFile(path: string): RawConfig {
  return toRawConfig((parse(readFileSync(path, "utf8")) as { config: Readonly<Record<string, unknown>> }).config);
}
