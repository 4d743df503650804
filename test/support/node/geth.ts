import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

export const gethChainId = 1_337;

export type Geth = AsyncDisposable & Readonly<{ url: string; webSocketUrl: string }>;

export async function startGeth(program: string): Promise<Geth> {
  const [http = 0, webSocket = 0] = await findFreePorts(2);
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-geth-"));
  const apis = "eth,net,web3,debug";
  const args = ["--dev", "--dev.period", "1", "--datadir", folder, "--ipcdisable", "--verbosity", "1"];
  args.push("--http", "--http.port", String(http), "--http.api", apis);
  args.push("--ws", "--ws.port", String(webSocket), "--ws.api", apis);
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
  const exited = once(child, "exit");
  const url = `http://127.0.0.1:${http}`;
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until("geth answers", generousMs, () =>
      fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
        () => true,
        () => false,
      ),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, webSocketUrl: `ws://127.0.0.1:${webSocket}`, [Symbol.asyncDispose]: stop };
}
