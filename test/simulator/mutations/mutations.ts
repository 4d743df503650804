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
  /** Why no run can detect it, if none does. */
  unnoticed: string | undefined;
}>;

/** Faults that no run detects, and why. */
const unnoticed: Readonly<Record<string, string>> = {
  "nonces in flight are forgotten at the start":
    "the pending count of the node has them, too, and what takes another's nonce is signed again",
  "the signer's next nonce is that of the last block":
    "what is in flight is held, and what takes another's nonce is signed again",
  "a transaction whose nonce is used is withdrawn":
    "a transaction that was just signed is not what has its nonce: the payment is answered as not sent, and is not",
  "a transaction is not sent again":
    "one at a higher fee is sent instead, or the gap is closed; decision.test.ts has it",
  "another's transaction needs no confirmations":
    "ours reverts in the same block or later, and is looked into once it has the confirmations",
  "a node that is behind decides what became of a payment":
    "found by one run in thousands, of an earlier draw of worlds; tracker.test.ts has it",
  "a transaction of an expired payment keeps its nonce for ever":
    "found by one run in thousands, of an earlier draw of worlds; tracker.test.ts has it",
  "a stranger's call hides whose payment it is":
    "no thief comes while the ledger is read, in so few runs; an earlier draw of worlds had one",
  "what was spent since a balance was read is forgotten":
    "no buyer has three payments within two seconds one of which ends meanwhile; payer-funds.test.ts has one",
  "payments that name their account share transactions":
    "such a transaction has no estimate, so that each payment goes alone",
  "a request is declined although a transaction was sent":
    "nothing that was sent ends by an error within a term; shared-ledger-contract.ts has it",
  "a sale gets the success of another's request":
    "no sale of so few runs waits for a declined request that another one requests again; shared-settler.test.ts has one",
  "a payment with the nonce of another counts as requested":
    "it has no record to wait for, and so is checked again, and rejected",
  "a payment that another replica settled meanwhile is rejected":
    "no settlement of so few runs ends between the two queries; a verified payment is then found on the chain",
  "a leader sends after its term":
    "no run of so few withdraws a transaction, and loses the database's answer, while the same one is about to be sent",
  "a missing nonce is filled for the first account only":
    "no run of so few leaves a gap of a later account; tracker.test.ts has one",
  "a nonce that is used means that a claim is paid":
    "no buyer of so few runs cancels a payment whose first settlement got lost before it was sent; sale.test.ts has one",
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
  let mutated = text;
  for (const [from, to] of Object.entries(edits)) {
    const [before, after, ...others] = mutated.split(from);
    if (before === undefined || after === undefined || others.length > 0)
      throw new Error(`${file} has not once the text that "${fault}" replaces; change the mutation: ${from}`);
    mutated = `${before}${to}${after}`;
  }
  return mutated;
}
