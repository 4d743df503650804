/** End of one node's upgrade; `unknown`: it continues without this command, or may not have begun. */
export type MemberEnd = Readonly<{
  kind: "proved" | "rolled-back" | "settled" | "stranded" | "refused" | "unknown";
  words: string;
  /** The same, for programs. */
  document?: object;
}>;

/** Runs an upgrade to its end, and reports each step as it begins. */
export type MemberWork = (say: (text: string) => void, signal: AbortSignal) => Promise<MemberEnd>;

/** State of a node before its turn. */
export type MemberLook = Readonly<
  | { kind: "ready"; shown: string; begin: MemberWork; document?: object }
  /** An earlier run of the command began the requested upgrade, and it has not ended. */
  | { kind: "under-way"; words: string; goOn: MemberWork }
  | { kind: "has-version"; words: string; document?: object }
  /** `shown`: the plan with its problems, if there is one; `mayPass`: the node is not well, which may be temporary. */
  | { kind: "refused"; words: string; shown?: string; mayPass?: boolean; document?: object }
>;

/** One of several nodes that are upgraded one after the other. */
export type Member = Readonly<{
  name: string;
  /** Checks what an upgrade would do; changes nothing. */
  look: () => Promise<MemberLook>;
  /** Says why this node is not well, so that no other node should be stopped now; undefined if it is well. */
  findTrouble: () => Promise<string | undefined>;
}>;

/** Requests something. The message of an expected error, which says what to do, becomes the result; other errors are thrown. */
export type Settle = <T>(request: () => Promise<T>, otherwise: (words: string) => T) => Promise<T>;

/** Creates that function for the expected errors of one kind of member. */
export function createSettle(isExpected: (error: unknown) => error is Error): Settle {
  return async (request, otherwise) => {
    try {
      return await request();
    } catch (error) {
      if (!isExpected(error)) throw error;
      return otherwise(error.message);
    }
  };
}

/** Creates a member that is refused, or in trouble, if its state can't be read. */
export function createMember({ name, look, findTrouble }: Member, settle: Settle): Member {
  return {
    name,
    look: () => settle<MemberLook>(look, (words) => ({ kind: "refused", words })),
    findTrouble: () => settle(findTrouble, (words) => words),
  };
}
