import type { Address } from "viem";
import { payingFetch, type Fetch } from "#client/paying-fetch.ts";
import { testAccount } from "./payment-chain.ts";

export type Buyers = Readonly<{
  /** Failed requests; each one counts, even if the client would have resent it. */
  failures: readonly string[];
  bought: readonly string[];
  end: () => Promise<void>;
}>;

export function startBuyers(url: string, token: Address, { everyMs }: Readonly<{ everyMs: number }>): Buyers {
  const failures: string[] = [];
  const bought: string[] = [];
  const watched: Fetch = async (input, init) => {
    const isPaid = new Request(input, init).headers.has("PAYMENT-SIGNATURE");
    const response = await fetch(input, init).catch((error: unknown) => {
      failures.push(`${isPaid ? "a paid" : "an unpaid"} request broke off: ${String((error as Error).cause ?? error)}`);
      throw error;
    });
    if (response.status !== (isPaid ? 200 : 402)) failures.push(`${response.status}: ${await response.clone().text()}`);
    return response;
  };
  const pay = payingFetch(
    {
      account: testAccount(1).account,
      assets: [{ network: "eip155:1672", address: token, decimals: 6 }],
      maxPerPayment: "$0.01",
      maxTotal: "$50",
    },
    { fetch: watched },
  );
  const pending = new Set<Promise<void>>();
  const timer = setInterval(() => {
    const done = pay(`${url}/data`)
      .then(async (response) => void bought.push(await response.text()))
      .catch((error: unknown) => void failures.push(String(error)));
    pending.add(done);
    void done.finally(() => pending.delete(done));
  }, everyMs);
  return {
    failures,
    bought,
    end: async () => {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}
