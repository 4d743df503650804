import { replicasEvery } from "../world.ts";
import { replicaMutations } from "./replica-mutations.ts";
import { saleMutations } from "./sale-mutations.ts";
import { settlementMutations, type FaultsByFile } from "./settlement-mutations.ts";

export type Mutation = Readonly<{
  fault: string;
  /** File with the code, relative to the repository's root. */
  file: string;
  /** Text to find, which occurs once in the file, and its replacement. */
  edits: Readonly<Record<string, string>>;
  /** First seed, and the distance between seeds. */
  seeds: Readonly<{ first: number; step: number }>;
  /** Why no run can detect it; undefined if a run does. */
  unnoticed: string | undefined;
}>;

/** Faults that no run detects, and why. */
const unnoticed: Readonly<Record<string, string>> = {
  "nonces in flight are forgotten at startup":
    "the node's pending count has them, too, and a transaction that takes another's nonce is signed again",
  "the signer's next nonce is that of the last block":
    "transactions in flight are tracked, and one that takes another's nonce is signed again",
  "a transaction whose nonce is used is withdrawn":
    "another transaction uses the just signed one's nonce: the payment is reported as not sent, which is true",
  "a transaction is not sent again":
    "a transaction with a higher fee is sent instead, or the gap is closed; decision.test.ts covers it",
  "a third party's transaction needs no confirmations":
    "ours reverts in the same block or later, and is examined once it has its confirmations",
  "a lagging node decides a payment's outcome":
    "only one run in thousands found it, with an earlier set of worlds; tracker.test.ts covers it",
  "a transaction of an expired payment keeps its nonce forever":
    "only one run in thousands found it, with an earlier set of worlds; tracker.test.ts covers it",
  "a stranger's call hides whose payment it is":
    "in so few runs, no thief acts while the ledger is read; an earlier set of worlds had one",
  "amounts spent since a balance was read are forgotten":
    "no buyer has three payments within two seconds of which one completes in that time; payer-funds.test.ts covers it",
  "payments that specify their account share transactions":
    "such a transaction has no gas estimate, so each payment is sent alone",
  "a request is declined although a transaction was sent":
    "no sent transaction ends with an error within a term; shared-ledger-contract.ts covers it",
  "a sale gets the success of another sale's request":
    "in so few runs, no sale waits for a declined request that another sale repeats; shared-settler.test.ts covers it",
  "a payment with the nonce of another counts as requested":
    "it has no record to wait for, so it is checked again and rejected",
  "a payment that another replica has just settled is rejected":
    "in so few runs, no settlement completes between the two queries; if one did, the payment would be found on the chain",
  "a leader sends after its term":
    "in so few runs, none withdraws a transaction and loses the database's response while that transaction is about to be sent",
  "a missing nonce is filled for the first account only":
    "in so few runs, no later account has a gap; tracker.test.ts covers it",
  "a used nonce means that a claim is paid":
    "in so few runs, no buyer cancels a payment whose first settlement was lost before it was sent; sale.test.ts covers it",
};

const list = (faultsByFile: FaultsByFile, seeds: Mutation["seeds"]): readonly Mutation[] =>
  Object.entries(faultsByFile).flatMap(([file, faults]) =>
    Object.entries(faults).map(([fault, edits]) => ({ fault, file, edits, seeds, unnoticed: unnoticed[fault] })),
  );

export const mutations: readonly Mutation[] = [
  ...list(settlementMutations, { first: 1, step: 1 }),
  ...list(saleMutations, { first: 1, step: 1 }),
  ...list(replicaMutations, { first: replicasEvery, step: replicasEvery }),
];

/**
 * Applies a mutation to the text of its file.
 *
 * @throws {Error} if the file does not contain the text exactly once.
 */
export function mutateText({ fault, file, edits }: Mutation, text: string): string {
  let mutatedText = text;
  for (const [from, to] of Object.entries(edits)) {
    const [before, after, ...others] = mutatedText.split(from);
    if (before === undefined || after === undefined || others.length > 0)
      throw new Error(`${file} has not once the text that "${fault}" replaces; change the mutation: ${from}`);
    mutatedText = `${before}${to}${after}`;
  }
  return mutatedText;
}
