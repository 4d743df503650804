// A Pulumi program against mocks: deploys a facilitator to a Docker host, and prints the resources as JSON.
import * as docker from "@pulumi/docker";
import { runtime } from "@pulumi/pulumi";
import { deploymentSecret, facilitatorSpec, Service } from "gatehouse-evm/pulumi";
import { DockerHost } from "gatehouse-evm/pulumi/docker";

const resources = [];
await runtime.setMocks(
  {
    newResource: ({ type, name, inputs }) => {
      resources.push({ type, name, command: inputs.command, image: inputs.image });
      return { id: `${name}-id`, state: { ...inputs, exitCode: 0, mountpoint: `/volumes/${name}` } };
    },
    call: ({ inputs }) => inputs,
  },
  "shop",
  "test",
  false,
);
new Service("Facilitator", "facilitator", {
  platform: new DockerHost("host", {
    provider: new docker.Provider("engine", { host: "unix:///var/run/docker.sock" }),
    prefix: "pay",
    images: { gatehouse: "registry.example/gatehouse:1" },
    publishAddress: "127.0.0.1",
    hostPorts: {},
    engineSocket: { path: "/var/run/docker.sock", group: undefined },
    protectData: true,
  }),
  service: facilitatorSpec({
    chainId: 1672,
    rpcUrl: "http://node.example:8545",
    signerPrivateKey: deploymentSecret(`0x${"4c".repeat(32)}`),
    tokens: [{ address: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2", name: "USDC", version: "2", minAmount: 10_000 }],
    payees: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  }),
});
await runtime.disconnect();
process.stdout.write(JSON.stringify(resources));
