import { globSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { toHex, type Address } from "viem";
import { callRpc } from "../../support/call-rpc.ts";
import { repeatAct } from "./repeat-act.ts";

/** The anvil inside a running devnet node, which only a test may call. */
export type NodeChain = Readonly<{
  /** Makes the node produce no block, although it responds. Disposing of it resumes block production. */
  halt: () => Promise<AsyncDisposable>;
  setBalance: (account: Address, wei: bigint) => Promise<void>;
}>;

/**
 * Lead of anvil's clock: a block at the node's own time is rejected then, and retried at the next block's time. So
 * little that payments are still valid then; set again before it runs out.
 */
const aheadSeconds = 20;
const setAgainMs = 5_000;

/** Finds the chain of the devnet node in a workspace. It is a different one after each start of the node. */
export function findNodeChain(workspace: string): NodeChain {
  const ask = async (method: string, params: readonly unknown[]) => {
    const { error } = await callRpc(findAnvilUrl(workspace), method, params);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  };
  const setTime = (aheadBy: number) => ask("evm_setTime", [Math.floor(Date.now() / 1_000) + aheadBy]);
  return {
    halt: async () => {
      await setTime(aheadSeconds);
      const again = repeatAct(setAgainMs, () => setTime(aheadSeconds));
      return {
        [Symbol.asyncDispose]: async () => {
          await again[Symbol.asyncDispose]();
          await setTime(0);
        },
      };
    },
    setBalance: (account, wei) => ask("anvil_setBalance", [account, toHex(wei)]),
  };
}

/** Finds the only port on which the process listens, through proc(5): anvil chooses it by itself. */
function findAnvilUrl(workspace: string): string {
  const [file] = globSync("**/anvil.pid", { cwd: workspace });
  if (file === undefined) throw new Error(`no node runs in ${workspace}`);
  const pid = readFileSync(join(workspace, file), "utf8");
  const own = new Set(listDescriptors(pid));
  const lines = readFileSync(`/proc/${pid}/net/tcp`, "utf8").split("\n").slice(1);
  for (const line of lines) {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state === "0A" && own.has(`socket:[${inode}]`)) {
      return `http://127.0.0.1:${Number.parseInt(local.split(":")[1] ?? "", 16)}`;
    }
  }
  throw new Error(`process ${pid} listens on no port`);
}

function listDescriptors(pid: string): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${descriptor}`)];
    } catch {
      // Closed since it was listed.
      return [];
    }
  });
}
