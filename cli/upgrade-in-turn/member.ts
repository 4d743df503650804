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
  /** The upgrade that is asked for was begun by an earlier run of the command, and is not over. */
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
