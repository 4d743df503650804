import { spawn } from "node:child_process";
import { once } from "node:events";
import { findAnvil } from "#devnet/anvil/anvil-process.ts";
import { within } from "#daemon/time.ts";

const startDeadlineMs = 20_000;

/** An anvil as an operator would start it, with HTTP and WebSocket on one port. Disposing of it kills it immediately. */
export type BareAnvil = AsyncDisposable & Readonly<{ url: string; webSocketUrl: string }>;

/** Starts anvil on a loopback port; it produces a block for each transaction and no others. */
export async function startBareAnvil(port: number, chainId: number): Promise<BareAnvil> {
  const child = spawn(findAnvil(), ["--port", String(port), "--chain-id", String(chainId)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const listening = new Promise<void>((resolve) => {
    let output = "";
    child.stdout.on("data", (part: Buffer) => {
      output = (output + String(part)).slice(-4_096);
      if (output.includes("Listening on")) resolve();
    });
  });
  const ended = exited.then(() => {
    throw new Error(`anvil ended with ${String(child.exitCode ?? child.signalCode)}`);
  });
  ended.catch(() => undefined);
  await within("the start of anvil", startDeadlineMs, Promise.race([listening, ended]));
  return {
    url: `http://127.0.0.1:${port}`,
    webSocketUrl: `ws://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
