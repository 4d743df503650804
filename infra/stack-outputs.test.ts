import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "./stack-config.ts";
import { buildStackOutputs } from "./stack-outputs.ts";

const tokenAddress = "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2";
const dev = { devAccounts: "true", tokenAddress };
/** The test mnemonic's fourth account, whose key is public. */
const key = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6";
const address = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

describe("outputs of a stack on Docker", () => {
  it("list URLs by audience and commands that query them", () => {
    const { urls, tryThis } = buildStackOutputs(
      parseConfig({ ...dev, gatewayPort: "18545", publishAddress: "192.0.2.1" }),
    );
    expect(urls.public).toMatchObject({
      gateway: "http://192.0.2.1:18545",
      gatewayWebSocket: "ws://192.0.2.1:18545",
      resourceServer: "http://192.0.2.1:4021",
    });
    expect(urls.tokenHolders).toEqual({ privateGateway: "http://127.0.0.1:8547" });
    expect(urls.operations).toEqual({
      status: "http://127.0.0.1:9600/status",
      metrics: "http://127.0.0.1:9600/metrics",
      ready: "http://127.0.0.1:9600/readyz",
      resourceServerMetrics: "http://127.0.0.1:9601/metrics",
      resourceServerReady: "http://127.0.0.1:9601/readyz",
      pushgateway: "http://127.0.0.1:9091/metrics",
    });
    expect(tryThis[0]).toMatch(/^curl -s http:\/\/192\.0\.2\.1:18545 .*eth_blockNumber/);
    expect(tryThis.at(-2)).toMatch(/^export GATEHOUSE_PAY_SIGNER_PRIVATE_KEY=0x59c6\w+$/);
    expect(tryThis.at(-3)).toBe(`alias gatehouse=${join(import.meta.dirname, "../cli/gatehouse.sh")}`);
    expect(tryThis.at(-1)).toMatch(/^gatehouse pay http:\/\/192\.0\.2\.1:4021\/data --max-amount 0\.01 /);
  });

  it("include a purchase of the first route with the payer's own key", () => {
    const routes = JSON.stringify({ "POST /report": { accepts: { price: "$0.05" }, upstream: "http://a.example" } });
    const { tryThis } = buildStackOutputs(parseConfig({ tokenAddress, payTo: address, signerPrivateKey: key, routes }));
    expect(tryThis[1]).toBe("curl -si -X POST http://127.0.0.1:4021/report");
    expect(tryThis.at(-1)).toBe(
      `gatehouse pay http://127.0.0.1:4021/report --method POST --max-amount 0.05 --asset ${tokenAddress} --rpc-url http://127.0.0.1:8545 --key-file <payer's key>`,
    );
  });

  it("list an external Pushgateway", () => {
    const config = parseConfig({ ...dev, pushgatewayUrl: "http://push.example:9091" });
    expect(buildStackOutputs(config).urls.operations["pushgateway"]).toBe("http://push.example:9091/metrics");
  });

  it("report the signer's address to fund, without its key", () => {
    expect(buildStackOutputs(parseConfig(dev)).signer).toEqual({
      address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      howToFund: "The devnet funds this account; no action needed.",
    });
    const own = { tokenAddress, payTo: address, signerPrivateKey: key };
    const among = { ...dev, settings: JSON.stringify({ facilitator: { signer: { privateKey: key } } }) };
    const several = { facilitator: { signer: { privateKey: `${key}\n${"51".repeat(32)}` } } };
    for (const config of [own, among, { ...dev, settings: JSON.stringify(several) }]) {
      const outputs = buildStackOutputs(parseConfig(config));
      expect(outputs.signer).toEqual({
        address,
        howToFund: `Send native currency of chain 1672 to ${address}: it pays the gas of every settlement.`,
      });
      expect(JSON.stringify(outputs)).not.toContain(key.slice(2));
    }
  });
});

describe("outputs of a stack on Kubernetes", () => {
  const cluster = { ...dev, target: "kubernetes", gatehouseImage: "x", devnetImage: "y" };

  it("list public hosts, or a port-forward command without them", () => {
    const ingress = JSON.stringify({
      gatewayHost: "rpc.example",
      resourceServerHost: "paid.example",
      tlsSecret: "tls",
    });
    expect(buildStackOutputs(parseConfig({ ...cluster, ingress })).urls.public).toEqual({
      gateway: "https://rpc.example",
      gatewayWebSocket: "wss://rpc.example",
      resourceServer: "https://paid.example",
    });
    expect(buildStackOutputs(parseConfig(cluster)).tryThis[0]).toMatch(
      /^kubectl -n \S+ port-forward service\/gateway 8545/,
    );
  });
});
