import { readFileSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { balanceOf, client, clientFetch, payee } from "../support/paying.ts";
import { startStack, type RunningStack } from "../support/running-stack.ts";
import { until } from "../support/until.ts";

let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => stack[Symbol.asyncDispose]());

/** The process ids of the stack's children, by subcommand, as the kernel lists them. */
function children(): Map<string, number> {
  const { pid } = stack.process;
  const pids = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  return new Map(
    pids.map((child) => [readFileSync(`/proc/${child}/cmdline`, "utf8").split("\0").at(-2) ?? "", Number(child)]),
  );
}

const at = (port: number, path = "") => `http://127.0.0.1:${port}${path}`;

/** Pays once and checks on the chain that exactly one price went from the client to the payee. */
async function payOnce(): Promise<void> {
  const node = at(stack.ports.node);
  const [payeeBefore, clientBefore] = [await balanceOf(node, payee.address), await balanceOf(node, client.address)];
  const response = await clientFetch()(at(stack.ports.resourceServer, "/data"));
  expect([response.status, await response.json()]).toEqual([
    200,
    expect.objectContaining({ data: "what the client paid for" }),
  ]);
  expect((await balanceOf(node, payee.address)) - payeeBefore).toBe(10_000n);
  expect(clientBefore - (await balanceOf(node, client.address))).toBe(10_000n);
}

describe("kill -9", () => {
  it.each(["pushgateway", "sidecar", "facilitator", "upstream", "resource-server"])(
    "of the %s: it is started again and the next paid request works, charged once",
    async (name) => {
      const pid = children().get(name);
      expect(pid).toBeDefined();
      process.kill(pid!, "SIGKILL");
      await until(`${name} is ready again`, 30_000, () => stack.output().includes(`${name} is ready again`));
      await payOnce();
    },
  );

  it("of the node: the sidecar starts it again and the next paid request works, charged once", async () => {
    const height = async () => {
      const response = await fetch(at(stack.ports.node), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] }),
      });
      return Number(((await response.json()) as { result: string }).result);
    };
    const before = await height();
    const record = JSON.parse(readFileSync(`${stack.stateDirectory}/node/run/node.pid`, "utf8")) as { pid: number };
    process.kill(record.pid, "SIGKILL");
    await until("the node answers again, further on than before", 60_000, async () => (await height()) > before);
    await payOnce();
  });
});
