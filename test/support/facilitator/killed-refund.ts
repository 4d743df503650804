import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { gatehouseProgram } from "../programs/place.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Point at which a command is killed: a request, by body and number, before it arrives or after its response. */
export type KillPoint = (body: string, number: number, response: string | undefined) => boolean;

export type KilledRun = Readonly<{ status: number | null; stdout: string; stderr: string; requests: number }>;

export async function runKilled(
  args: readonly string[],
  { env, rpcUrl }: Readonly<{ env: Readonly<Record<string, string>>; rpcUrl: string }>,
  point?: KillPoint,
): Promise<KilledRun> {
  let requests = 0;
  const printed = { stdout: "", stderr: "" };
  const proxy = createServer(async (request, response) => {
    const body = await text(request);
    requests += 1;
    const number = requests;
    if (point?.(body, number, undefined) === true) return void child.kill("SIGKILL");
    const answer = await fetch(rpcUrl, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const given = await answer.text();
    if (point?.(body, number, given) === true) return void child.kill("SIGKILL");
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(given);
  });
  const { url, ...local } = await listenLocally(proxy);
  const child = spawn(process.execPath, [gatehouseProgram, ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...env, GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  await local[Symbol.asyncDispose]();
  return { status, ...printed, requests };
}
