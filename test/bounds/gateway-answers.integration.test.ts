import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { responseWritten } from "#gateway/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, readErrorCode } from "../support/gateway/raw-call.ts";
import { startSmallGateway, storage, type SmallGateway } from "../support/gateway/small-gateway.ts";

const fileBytes = 33_554_432;

const folder = makeSharedDirectory();
let policyPath: string;
let gateway: SmallGateway;
let internal: string;

beforeAll(async () => {
  policyPath = join(folder, "policy.json5");
  writeFileSync(policyPath, "{ ranges: { logsBlocks: 200 } }");
  gateway = await startSmallGateway(
    {
      GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
      GATEHOUSE_GATEWAY_POLICY_PATH: policyPath,
    },
    // Otherwise, the largest allowed response would exceed a connection's memory limit.
    { heapMiB: 256, constants: { "memory.connectionBytes": 40_000_000 } },
  );
  internal = gateway.urls.internal;
});
afterEach(() => gateway.expectOthersServed());
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

const read = (id: number) => ask(internal, storage(id));

it("limits the response size", async () => {
  const most = 134_217_728;
  const filler = Buffer.alloc(1_048_576, "z");
  /** A response of this many bytes, with or without a Content-Length. */
  const respond = (bytes: number, isReported: boolean) =>
    gateway.node.respondAs(({ id, method }, response) => {
      if (method !== "eth_getStorageAt") return "0x1";
      const [start, end] = storageAnswer("_", id).split("_");
      if (isReported) response.setHeader("Content-Length", bytes);
      response.write(start);
      let left = bytes - (start ?? "").length - (end ?? "").length;
      const more = () => {
        while (left > 0 && !response.destroyed) {
          const part = filler.subarray(0, Math.min(left, filler.length));
          left -= part.length;
          if (!response.write(part)) return;
        }
        response.end(end);
      };
      response.on("drain", more);
      more();
      return responseWritten;
    });
  respond(most, true);
  expect((await read(3_000)).text).toHaveLength(most);
  respond(most + 1, true);
  expect(readErrorCode((await read(3_001)).text)).toBe(-32_003);
  // Without a Content-Length, the client has already received a part of it.
  respond(most + 1, false);
  await expect(read(3_002)).rejects.toThrow("aborted");
  gateway.node.respondAs(() => "0x1");
});

const logs = (blocks: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x${blocks.toString(16)}"}]}`;

const isTaken = async (blocks: number) => readErrorCode((await ask(internal, logs(blocks))).text) === undefined;

const change = (text: string) => {
  writeFileSync(`${policyPath}.new`, text);
  renameSync(`${policyPath}.new`, policyPath);
};

/** Reads why the policy file is not active, as an operator sees it. */
const rejection = async () => {
  const { files } = (await (await fetch(`${gateway.urls.operations}/configuration`)).json()) as {
    files: readonly { path: string; rejected?: string }[];
  };
  return files.find(({ path }) => path.endsWith("policy.json5"))?.rejected;
};

it("limits the sizes of files read", async () => {
  change("{ ranges: { logsBlocks: 100 } }".padEnd(fileBytes));
  await until("the largest file is active", generousMs, async () => !(await isTaken(150)));
  change("{ ranges: { logsBlocks: 200 } }".padEnd(fileBytes + 1));
  await until("a larger file is rejected", generousMs, async () => (await rejection()) !== undefined);
  expect(await rejection()).toContain(`it is larger than ${fileBytes} bytes`);
  // The previous content stays active.
  expect([await isTaken(100), await isTaken(150)]).toEqual([true, false]);
});

function storageAnswer(result: string, id: unknown = 1): string {
  return `{"jsonrpc":"2.0","id":${String(id)},"result":"${result}"}`;
}
