/** How the upgrade of one node ended; `unknown`: it goes on without this command, or whether it has begun is not known. */
export type MemberEnd = Readonly<{
  kind: "proved" | "rolled-back" | "settled" | "stranded" | "refused" | "unknown";
  words: string;
  /** The same for programs. */
  document?: object;
}>;

/** Carries an upgrade out to its end, and says each step as it begins. */
export type MemberWork = (say: (text: string) => void, signal: AbortSignal) => Promise<MemberEnd>;

/** How a node is before its turn. */
export type MemberLook = Readonly<
  | { kind: "ready"; shown: string; begin: MemberWork; document?: object }
  /** The upgrade that is requested was begun by an earlier run of the command, and is not over. */
  | { kind: "under-way"; words: string; goOn: MemberWork }
  | { kind: "has-version"; words: string; document?: object }
  /** `shown`: the plan with its problems, where there is one; `mayPass`: the node is not well, which may be over in a moment. */
  | { kind: "refused"; words: string; shown?: string; mayPass?: boolean; document?: object }
>;

/** One of several nodes that are upgraded one after the other. */
export type Member = Readonly<{
  name: string;
  /** Looks at what would be done; changes nothing. */
  look: () => Promise<MemberLook>;
  /** Why no other node should be stopped now, because this one is not well; undefined where it is. */
  findTrouble: () => Promise<string | undefined>;
}>;

/** Requests something; of an error that is expected, the words are the finding, because they say what to do. Other errors are thrown. */
export type Settle = <T>(request: () => Promise<T>, otherwise: (words: string) => T) => Promise<T>;

/** Creates that for what a kind of member can fail with. */
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

/** Creates a member, of which what can't be found out refuses it, or is its trouble. */
export function createMember({ name, look, findTrouble }: Member, settle: Settle): Member {
  return {
    name,
    look: () => settle<MemberLook>(look, (words) => ({ kind: "refused", words })),
    findTrouble: () => settle(findTrouble, (words) => words),
  };
}
