import { setTimeout as sleep } from "node:timers/promises";
import { createTestClient, http, walletActions, type Hex } from "viem";

/** Transfers logged per transaction, so that a response with a block's logs is about as long as the larger pass-through responses. */
const transfers = 4;
/** Interval between two transactions; shorter than the block time, so that every block has logs. */
const everyMs = 700;
const requestTimeoutMs = 10_000;

const contract = "0x00000000000000000000000000000000000e7e47";
/** keccak256("Transfer(address,address,uint256)"), the event of ERC-20. */
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/**
 * Makes anvil's blocks as eventful as those of a live chain: in each of them a contract logs transfers. The blocks of
 * an unused chain have no logs, and an empty result is never cached. Disposing of it stops the transactions.
 */
export async function makeBlocksEventful(anvilUrl: string): Promise<AsyncDisposable> {
  const chain = createTestClient({ mode: "anvil", transport: http(anvilUrl, { timeout: requestTimeoutMs }) }).extend(
    walletActions,
  );
  await chain.setCode({ address: contract, bytecode: buildLoggingCode() });
  const [account] = await chain.getAddresses();
  if (account === undefined) throw new Error(`the node at ${anvilUrl} has no account; anvil has ten by itself`);
  const stop = new AbortController();
  const sending = (async () => {
    while (!stop.signal.aborted) {
      await chain.sendTransaction({ account, chain: null, to: contract, gas: 100_000n });
      await sleep(everyMs);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await sending;
    },
  };
}

/** Builds EVM code that logs the transfers, from account 1 to accounts 2, 3 and so on, and stops. */
function buildLoggingCode(): Hex {
  return `0x${Array.from({ length: transfers }, (_, index) => logTransfer(index + 2)).join("")}00`;
}

/** Encodes LOG3 of the event's signature, sender and receiver, with 32 bytes of empty memory as the amount. */
function logTransfer(to: number): string {
  return [encodePush(to), encodePush(1), `7f${transferTopic}`, encodePush(32), encodePush(0), "a3"].join("");
}

/** Encodes PUSH1 of a small number. */
function encodePush(number: number): string {
  return `60${number.toString(16).padStart(2, "0")}`;
}
