import { expect } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { ConstantOverrides } from "../constant-overrides.ts";
import { ask } from "./raw-call.ts";
import { startExampleService, type ExampleService } from "../../bounds/example-service.ts";

/** Max wait of another caller's short call on a machine shared by many tests. */
const shortCallMs = 10_000;

/**
 * A gateway in a small process in front of a node in the test's own process; callers specify their addresses in X-Forwarded-For.
 */
export type SmallGateway = AsyncDisposable &
  Readonly<{
    node: FakeNode;
    service: ExampleService;
    url: string;
    /** The other listeners; the admin port is always open. */
    urls: Readonly<{ private: string; internal: string; operations: string }>;
    metric: (line: string) => Promise<number>;
    /** Expects that another caller's short call gets a response, and that the process is the same one and still small. */
    expectOthersServed: () => Promise<void>;
  }>;

export type HeldReads = Readonly<{
  /** First parameters of the reads that the node has not responded to. */
  held: () => readonly unknown[];
  /** Responds to these reads and all later ones. */
  letGo: () => void;
}>;

export const storage = (id: unknown, account = `0x${"ab".repeat(20)}`) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "eth_getStorageAt", params: [account, `0x${String(id)}`, "latest"] });

export const syncing = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';

export async function startSmallGateway(
  env: Readonly<Record<string, string>> = {},
  {
    constants,
    ...options
  }: Readonly<{
    heapMiB?: number;
    descriptors?: number;
    accelerated?: Readonly<{ waits: number }>;
    constants?: ConstantOverrides;
  }> = {},
): Promise<SmallGateway> {
  const node = await startFakeNode();
  const service = await startExampleService(
    "gateway",
    {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "false",
      GATEHOUSE_GATEWAY_PRIVATE_PORT: "0",
      GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "false",
      GATEHOUSE_GATEWAY_INTERNAL_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_CALLERS_TRUSTED_PROXIES: "127.0.0.1",
      // The node shares the test's thread, and the machine is shared, so response times don't matter here.
      GATEHOUSE_GATEWAY_HEALTH_TIMEOUT_MS: "20000",
      ...env,
    },
    { ...options, constants: { "overload.loopDelayMs": 60_000, ...constants } },
  );
  const url = service.urls["gateway"] ?? "";
  const urls = {
    private: service.urls["gateway-private"] ?? "",
    internal: service.urls["gateway-internal"] ?? "",
    operations: service.urls["operations"] ?? "",
  };
  const metric = async (line: string) => {
    const text = await (await fetch(`${urls.operations}/metrics`)).text();
    const found = text.split("\n").find((one) => one.startsWith(line));
    return Number(found?.split(" ").at(-1) ?? 0);
  };
  await until("the gateway is ready", generousMs, async () => {
    const { ok } = await fetch(`${urls.operations}/readyz`);
    return ok;
  });
  return {
    node,
    service,
    url,
    urls,
    metric,
    expectOthersServed: async () => {
      const startedAt = performance.now();
      const { text } = await ask(url, syncing, { address: "192.0.2.200" });
      expect(text).toMatch(/^\{"jsonrpc":"2.0","id":1,"result":/);
      expect(performance.now() - startedAt).toBeLessThan(shortCallMs);
      service.expectWell();
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

/** Makes the node withhold the responses to storage reads until they are released; it responds to all others. */
export function holdReads(node: FakeNode): HeldReads {
  const waiting: { account: unknown; end: () => void }[] = [];
  node.respondAs(({ id, method, params: [account] }, response) => {
    if (method !== "eth_getStorageAt") return "0x1";
    const read = {
      account,
      end: () => void response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"0x1"}`),
    };
    waiting.push(read);
    response.on("close", () => waiting.includes(read) && waiting.splice(waiting.indexOf(read), 1));
    return responseWritten;
  });
  return {
    held: () => waiting.map(({ account }) => account),
    letGo: () => {
      node.respondAs(() => "0x1");
      for (const { end } of waiting.splice(0)) end();
    },
  };
}
