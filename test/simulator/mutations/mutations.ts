import { replicasEvery } from "../world.ts";

/** A fault in the code of replicas, and how a run detects it. */
export type Mutation = Readonly<{
  fault: string;
  /** File with the code, relative to the repository's root. */
  file: string;
  /** Text to find, which occurs once in the file, and its replacement. */
  edit: readonly [from: string, to: string];
  /** First seed to try: a run with a single replica can't detect the fault. */
  firstSeed: number;
  /** The invariant that the fault violates. */
  violates: RegExp;
}>;

const ledgerFile = "facilitator/settlement/leader/shared-ledger.ts";

export const mutations: readonly Mutation[] = [
  {
    fault: "a leader writes after its term",
    file: ledgerFile,
    edit: [
      "if ((await connection.rows(text, [chainId, term])).length === 0) throw new TermEndedError();",
      "await connection.rows(text, [chainId, term]);",
    ],
    firstSeed: 8 * replicasEvery,
    violates: /was accepted in term/,
  },
  {
    fault: "another term begins between a leader's check and its writes",
    file: ledgerFile,
    edit: ["AND term = $2${store.lockRows}", "AND term = $2"],
    firstSeed: 41 * replicasEvery,
    violates: /was accepted in term/,
  },
  {
    fault: "a replica acquires the lease of another",
    file: ledgerFile,
    edit: ["WHERE settler.expires_at_ms < ${store.nowMs} OR settler.holder = excluded.holder", "WHERE true"],
    firstSeed: replicasEvery,
    violates: /begins term \d+ on \d+ while/,
  },
  {
    fault: "a request that has waited for a second is lost",
    file: "facilitator/settlement/leader/term.ts",
    edit: ["leaving.has(id)) continue;", "leaving.has(id) || settlement.begunAtMs < clock() - 1_000) continue;"],
    firstSeed: 3 * replicasEvery,
    violates: /have no end|in flight for ever/,
  },
];

/**
 * Applies a mutation to the text of its file.
 *
 * @throws {Error} if the file does not contain the text exactly once.
 */
export function mutateText({ fault, file, edit: [from, to] }: Mutation, text: string): string {
  const [before, after, ...others] = text.split(from);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${file} has not once the text that "${fault}" replaces; change the mutation: ${from}`);
  return `${before}${to}${after}`;
}
