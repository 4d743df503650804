import type { Purchase } from "./buyers.ts";
import { namePayment, type VirtualChain } from "./virtual-chain.ts";
import { findTransfers, nameTransfer, type Watcher } from "./watcher.ts";
import type { World } from "./world.ts";

export type End = Readonly<{ world: World; chain: VirtualChain; watcher: Watcher; purchases: readonly Purchase[] }>;

/** Checks what the chain has, and what the buyers got, when all is over. */
export function checkEnd({ world, chain, watcher, purchases }: End): void {
  const { report } = world;
  for (const { name, wallet, offers, sold, isGood, refused } of purchases) {
    const names = [...new Set(offers.map(namePayment))];
    const charges = names.flatMap((each) => findTransfers(chain, each));
    if (charges.length > 1) report(`${name} is charged ${charges.length} times`);
    if (sold !== undefined && findTransfers(chain, namePayment(sold)).length === 0)
      report(`${name} is delivered and not charged`);
    if (sold === undefined && charges.length > 0) report(`${name} is charged and not delivered`);
    if (isGood && sold === undefined) report(`${name} with a good payment is not sold: ${refused ?? "without an end"}`);
    const isSent = chain.sent.values().some(({ data }) => names.includes(nameTransfer(data) ?? ""));
    if (wallet === "empty" && isSent) report(`${name} is of a buyer without money, and gas was offered for it`);
  }
  for (const name of watcher.failed)
    if (findTransfers(chain, name).length > 0) report(`${name} was answered as failed, and is charged`);
  checkGas(world, chain);
}

/** Max transactions for one payment that may fail at the signer's cost. */
const wastedMax = 3;

/** Checks that no gas is spent for who does not pay, but for what changed between simulation and block. */
function checkGas({ weather, report }: World, { blocks }: VirtualChain): void {
  const { lagging, unanswered, forgetting } = weather.node;
  const isExact = !weather.hasAdversary && lagging === 0;
  const wasted = new Map<string, number>();
  for (const { transaction, revert } of blocks.flatMap(({ included }) => included)) {
    if (transaction.isForeign || revert === undefined) continue;
    const name = nameTransfer(transaction.data) ?? "another call";
    wasted.set(name, (wasted.get(name) ?? 0) + 1);
    if (revert === "balance" && isExact) report(`gas was spent for ${name}, whose payer had too little`);
    if (revert === "used" && isExact && unanswered + forgetting === 0)
      report(`gas was spent for ${name}, which was charged already`);
    if (revert === "unknown") report("the signer sent something that is no payment");
  }
  for (const [name, times] of wasted) if (times > wastedMax) report(`${times} transactions for ${name} failed`);
}
