import { Config } from "@pulumi/pulumi";
import { Provider } from "@pulumi/docker";
import { Service } from "../components/service.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { DockerHost } from "../docker/docker-host.ts";
import { facilitatorSpec } from "../services/facilitator-spec.ts";

/** A Pulumi program that deploys only a facilitator to the local Docker engine, for a node that runs elsewhere. */
const config = new Config();
const chainId = config.requireNumber("chainId");

const host = new DockerHost("host", {
  provider: new Provider("engine", { host: "unix:///var/run/docker.sock" }),
  prefix: "pay",
  images: { gatehouse: config.require("gatehouseImage") },
  publishAddress: "127.0.0.1",
  hostPorts: {},
  engineSocket: { path: "/var/run/docker.sock", group: undefined },
  protectData: true,
});

export const facilitator = new Service("Facilitator", "facilitator", {
  platform: host,
  service: facilitatorSpec({
    chainId,
    rpcUrl: config.require("rpcUrl"),
    signerPrivateKey: deploymentSecret(config.require("signerPrivateKey")),
    tokens: [
      { address: config.require("token"), name: "USDC", version: "2", minAmount: config.requireNumber("minAmount") },
    ],
    payees: [config.require("payee")],
  }),
});
